# Each target sets up all it needs, on a machine that has only Python, Node, make and apt.

PYTHON ?= python3
CORPUS ?= ../shared/corpus
FUZZ_SECONDS ?= 600
VENV := .venv
PEERS := .peers
BIN := $(VENV)/bin
CODE := src tests benchmarks
# One more than there are cores: tests wait for servers, clocks and processes now and then.
WORKERS := $(shell expr $$(nproc) + 1)
# The server that tests start for themselves.
DATABASE := ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || command -v initdb > /dev/null || \
	(apt-get update && apt-get install -y postgresql)
BROWSER := command -v chromium > /dev/null || (apt-get update && apt-get install -y chromium)
# The same browser without its windows takes half the time for the same tests; what is measured has them.
HEADLESS := command -v chromium-headless-shell > /dev/null || \
	(apt-get update && apt-get install -y chromium-headless-shell) || $(BROWSER)
NODE := web/node_modules/.ready
PAGE := src/turnlog/server/page/index.html
PAGE_SOURCES := $(shell find web/src web/public -type f) web/index.html web/vite.config.ts web/package.json

.PHONY: screenshots setup dist python-check web-check web-test browser-test test lint format docs schema answers bench bench-all fuzz soak serve clean

setup: $(VENV)/.dev $(PAGE)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) || (apt-get update && apt-get install -y python3-venv && $(PYTHON) -m venv $(VENV))

$(VENV)/.dev: pyproject.toml requirements/dev.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	touch $@

$(NODE): web/package-lock.json web/.npmrc
	cd web && npm ci --silent
	touch $@

# The page is built into the package; the wheel has it, git does not.
$(PAGE): $(PAGE_SOURCES) $(NODE)
	cd web && npm run --silent build -- --logLevel warn

$(VENV)/.bench: requirements/bench.txt $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/bench.txt
	touch $@

# Peers that are programs have an environment of their own.
$(PEERS)/.agentsview: requirements/peers.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/peers.txt
	touch $@

$(PEERS)/.ccusage: requirements/npm-peers.txt
	npm install --silent --no-audit --no-fund --prefix $(PEERS) $$(sed s/==/@/ requirements/npm-peers.txt)
	touch $@

# What needs one core each goes side by side; browsers and the tests of Python use all of them.
test:
	$(MAKE) --jobs=2 lint web-test
	$(MAKE) browser-test
	$(DATABASE)
	TURNLOG_CORPUS=$(CORPUS) $(BIN)/pytest -n $(WORKERS)

lint: python-check web-check

python-check: setup
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	PYTHONPATH=tests $(BIN)/python -m unused_code

web-check: $(NODE)
	cd web && npm run --silent check

web-test: $(NODE)
	cd web && npm run --silent test

browser-test: $(PAGE)
	$(HEADLESS)
	cd web && npm run --silent browser

format: setup
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)
	cd web && npm run --silent format

docs: setup
	PYTHONPATH=tests $(BIN)/python -m command_reference docs/cli.md docs/rules.md docs/hook-events.md docs/settings.md
	PYTHONPATH=tests $(BIN)/python -m sdk_losses
	PYTHONPATH=tests $(BIN)/python -m api_reference

# Pictures of every page, light and dark, on the real server with its sample sessions.
screenshots: setup
	$(BROWSER)
	mkdir -p docs/images
	cd web && CHROMIUM=$$(command -v chromium) PICTURES=../docs/images npx playwright test pictures --workers 1

# The page's types are made from it.
schema: $(VENV)/.dev $(NODE)
	$(BIN)/python -m turnlog.server.app > web/openapi.json
	cd web && npm run --silent types

# One table, within ten minutes; ARGS=--write puts it into docs/performance.md.
bench: $(VENV)/.bench $(PEERS)/.agentsview $(PEERS)/.ccusage
	$(BIN)/python benchmarks/bench.py $(CORPUS)/sessions --peers $(PEERS) $(ARGS)

# All that is measured, the page in the browser included; it takes an hour or more.
bench-all: $(VENV)/.bench $(PEERS)/.agentsview $(PEERS)/.ccusage $(PAGE)
	$(BIN)/python benchmarks/bench.py $(CORPUS)/sessions --peers $(PEERS) --growth $(ARGS)
	$(BIN)/python benchmarks/decode.py $(CORPUS)/sessions
	$(BIN)/python benchmarks/build.py $(CORPUS)/sessions
	$(BIN)/python benchmarks/archive.py $(CORPUS)/sessions --peer $(PEERS)/bin/agentsview
	$(BIN)/python benchmarks/export.py $(CORPUS)/sessions
	$(BIN)/python benchmarks/search.py $(CORPUS)/sessions
	$(BIN)/python benchmarks/engines.py $(CORPUS)/sessions
	$(BIN)/python benchmarks/usage_scaled.py $(CORPUS)/sessions
	$(DATABASE)
	PYTHONPATH=tests $(BIN)/python benchmarks/fleet.py $(CORPUS)/sessions
	$(BIN)/python benchmarks/server.py $(CORPUS)/sessions
	$(BIN)/python benchmarks/hooks.py
	$(BIN)/python benchmarks/live.py
	$(BIN)/python benchmarks/collectors.py
	$(BIN)/python benchmarks/mongodb.py $(CORPUS)/sessions
	$(BIN)/python benchmarks/usage.py $(CORPUS)/sessions --peer $(PEERS)/node_modules/.bin/ccusage
	$(BROWSER)
	cd web && CHROMIUM=$$(command -v chromium) npm run --silent measure

# What turnlog answers, compared with what was recorded; `make test` does this, too.
answers: setup
	$(DATABASE)
	PYTHONPATH=tests $(BIN)/python -m recorded_answers --corpus $(CORPUS) $(ARGS)

fuzz: setup
	PYTHONPATH=tests $(BIN)/python -m fuzzing --seconds $(FUZZ_SECONDS)

soak: setup
	$(DATABASE)
	TURNLOG_CORPUS=$(CORPUS) $(BIN)/pytest -m soak
	TURNLOG_CORPUS=$(CORPUS) TURNLOG_EXAMPLES=1000 $(BIN)/pytest -n $(WORKERS) -m "hypothesis and not soak"

# Whoever has no sessions yet is shown samples.
serve: setup
	$(BIN)/turnlog serve $(ARGS) $$(ls "$${CLAUDE_CONFIG_DIR:-$$HOME/.claude}"/projects/*/*.jsonl > /dev/null 2>&1 || echo --demo)

# A wheel with the page in it: whoever installs it needs Python alone.
dist: setup
	rm -rf dist
	$(BIN)/python -m hatchling build --target wheel

clean:
	rm -rf $(VENV) $(PEERS) dist .mypy_cache .pytest_cache .ruff_cache .hypothesis web/node_modules web/.results src/turnlog/server/page

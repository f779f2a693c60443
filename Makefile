# Each target sets up all it needs, on a machine that has only Python, Node, make and apt.

PYTHON ?= python3
CORPUS ?= ../shared/corpus
FUZZ_SECONDS ?= 600
VENV := .venv
PEERS := .peers
BIN := $(VENV)/bin
CODE := src tests benchmarks

.PHONY: setup test lint format docs bench fuzz soak serve clean

setup: $(VENV)/.dev

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) || (apt-get update && apt-get install -y python3-venv && $(PYTHON) -m venv $(VENV))

$(VENV)/.dev: pyproject.toml requirements/dev.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	touch $@

$(VENV)/.bench: requirements/bench.txt $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/bench.txt
	touch $@

# Peers that are programs have an environment of their own.
$(PEERS)/.agentsview: requirements/peers.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/peers.txt
	touch $@

test: lint
	TURNLOG_CORPUS=$(CORPUS) $(BIN)/pytest -n auto

lint: setup
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy

format: setup
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

docs: setup
	$(BIN)/python -m turnlog.cli.reference docs/cli.md docs/transcripts.md

bench: $(VENV)/.bench $(PEERS)/.agentsview
	$(BIN)/python benchmarks/decode.py $(CORPUS)/sessions
	$(BIN)/python benchmarks/build.py $(CORPUS)/sessions
	$(BIN)/python benchmarks/archive.py $(CORPUS)/sessions --peer $(PEERS)/bin/agentsview

fuzz: setup
	PYTHONPATH=tests $(BIN)/python -m fuzzing --seconds $(FUZZ_SECONDS)

soak: setup
	TURNLOG_CORPUS=$(CORPUS) $(BIN)/pytest -m soak

serve: setup
	@echo "turnlog $$($(BIN)/python -c 'from importlib.metadata import version; print(version("turnlog"))') has no server yet; see CHANGELOG.md" >&2; exit 1

clean:
	rm -rf $(VENV) $(PEERS) dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

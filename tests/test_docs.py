"""The documentation is true and short: its examples run, its links lead somewhere, its tables are whole."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from command_line import environment
from command_reference import update
from golden import DATA
from turnlog.cli.program import program
from turnlog.store.search.language import CHOICES, FILTERS
from turnlog.store.usage_report import Breakdown, Grouping
from turnlog.transcripts import Reason, Rule, find_table

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
GUIDES = [DOCS / name for name in ("guide.md", "team.md", "library.md")]
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SECONDS = re.compile(r"in [0-9.]+ s$", re.MULTILINE)


def find_blocks(page: Path, kind: str) -> list[str]:
    return [text for name, text in FENCED.findall(page.read_text()) if name.split(" ")[0] == kind]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_the_page_says(page: Path) -> None:
    examples = "\n".join(find_blocks(page, "pycon"))
    test = doctest.DocTestParser().get_doctest(examples, {}, page.name, str(page), 0)
    assert test.examples or page.name not in ("README.md", "library.md")
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL | doctest.REPORT_NDIFF)
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_commands_print_what_the_guide_says(tmp_path: Path) -> None:
    """They run one after another, in the folder of the sample sessions, with an archive of their own."""
    turnlog = f"{shlex.quote(sys.executable)} -m turnlog"
    env = environment({"TURNLOG_HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")})
    table = find_table()
    commands = [each for block in find_blocks(DOCS / "guide.md", "console") for each in COMMAND.findall(block)]
    assert len(commands) >= 5
    for command, output in commands:
        ran = subprocess.run(
            re.sub(r"\bturnlog\b", lambda _: turnlog, command),
            shell=True,
            capture_output=True,
            env=env,
            cwd=DATA / "transcripts",
            check=True,
            text=True,
        )
        if "prices:" in output and f"{table.version}, latest from {table.newest}" not in output:
            continue  # another price list is installed
        assert SECONDS.sub("in 0.6 s", ran.stdout) == output, command


def list_commands(text: str) -> list[str]:
    """Return what a page tells people to type: in blocks, and in passing."""
    blocks = [block for kind, block in FENCED.findall(text) if kind.split(" ")[0] in ("", "sh", "console")]
    lines = [line.partition(" #")[0] for block in blocks for line in block.splitlines()]
    return [line for line in [*lines, *re.findall(r"`([^`\n]+)`", FENCED.sub("", text))] if "turnlog " in line]


@pytest.mark.parametrize("page", [README, *GUIDES], ids=lambda page: page.name)
def test_commands_and_options_exist(page: Path) -> None:
    for line in list_commands(page.read_text()):
        for typed in re.findall(r"\bturnlog ([a-z]+[^|;&\n]*)", line):
            command: click.Command | None = program
            words = re.findall(r"[\w-]+", typed.partition(" -- ")[0])
            while isinstance(command, click.Group) and words:
                command = command.get_command(click.Context(command), words.pop(0))
            assert command is not None, line
            known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
            assert {word for word in words if word.startswith("--")} <= known | {"--help"}, line


def find_anchors(page: Path) -> set[str]:
    """Return what can be linked to in a page, as GitHub names it."""
    heads = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        target, _, anchor = link.partition("#")
        if target.startswith(("http:", "https:")):
            continue
        there = page.parent / target if target else page
        assert there.exists(), link
        assert not anchor or anchor in find_anchors(there), link


def test_every_page_and_every_picture_is_linked_to() -> None:
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in PAGES
        for link in LINK.findall(page.read_text())
    }
    files = [path for path in DOCS.rglob("*") if path.is_file()]
    assert [path.name for path in files if path.resolve() not in linked] == []


def test_what_fleets_need_is_computed_from_what_was_measured() -> None:
    script = ROOT / "benchmarks" / "scale.py"
    computed = subprocess.run([sys.executable, script], capture_output=True, check=True, text=True).stdout
    told = (DOCS / "scale.md").read_text().partition("<!-- computed -->\n")[2].partition("<!-- end -->")[0]
    assert told == computed


def test_pages_that_code_names_exist() -> None:
    """Descriptions and messages send people to pages."""
    for folder, kind in (("src", "*.py"), ("tests", "*.py"), ("benchmarks", "*.py"), ("web/src", "*.ts*")):
        for path in (ROOT / folder).rglob(kind):
            for name in re.findall(r"\bdocs/([\w-]+\.md)", path.read_text()):
                assert (DOCS / name).exists(), f"{path}: {name}"
    for name in re.findall(r"\bdocs/([\w-]+\.md)", (ROOT / "CHANGELOG.md").read_text()):
        assert (DOCS / name).exists(), name


def test_guides_are_short() -> None:
    assert [page.name for page in GUIDES if len(page.read_text().splitlines()) > 300] == []
    assert len(README.read_text().splitlines()) <= 45


def test_the_table_of_settings_is_current() -> None:
    page = (DOCS / "settings.md").read_text()
    assert page == update(page), "run `make docs`"


def test_every_make_target_is_explained() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    explained = (ROOT / "CONTRIBUTING.md").read_text()
    assert [target for target in targets if f"make {target}" not in explained] == []


def test_every_module_stands_in_the_layout() -> None:
    layout = (ROOT / "CONTRIBUTING.md").read_text()
    modules = sorted((ROOT / "src" / "turnlog" / "messages").glob("*.py"))
    assert [module.name for module in modules if module.name not in layout and module.stem != "__init__"] == []


def test_every_rule_of_messages_and_every_reason_of_the_tree_is_explained() -> None:
    page = (DOCS / "rules.md").read_text()
    assert [rule.value for rule in Rule if f"`{rule.value}`" not in page] == []
    assert [reason.value for reason in Reason if f"`{reason.value}`" not in page] == []


def test_every_filter_and_every_choice_is_explained() -> None:
    page = (DOCS / "guide.md").read_text()
    assert [name for name in (*FILTERS, "case", "accents") if f"`{name}:" not in page] == []
    for name in ("role", "category", "kind"):
        [row] = re.findall(rf"^\| `{name}:.*$", page, re.MULTILINE)
        assert [choice for choice in CHOICES[name] if f"`{choice}`" not in row] == []


def test_every_grouping_and_breakdown_is_explained() -> None:
    page = (DOCS / "guide.md").read_text()
    assert [each for each in (*Grouping, *Breakdown) if f"`{each.value}`" not in page] == []


def test_every_variable_is_explained() -> None:
    """Click makes the one by which shells ask for completions."""
    named = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r"\bTURNLOG_[A-Z_]+\b", path.read_text())
    }
    page = set(re.findall(r"\bTURNLOG_[A-Z_]+\b", (DOCS / "settings.md").read_text()))
    assert page == named - {"TURNLOG_COMPLETE"}

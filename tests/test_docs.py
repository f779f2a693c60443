"""The documentation is true: its examples run, and the README stays short."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from turnlog.transcripts import Reason, Rule

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = re.compile(r"^```pycon\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_the_page_says(page: Path) -> None:
    examples = "\n".join(EXAMPLE.findall(page.read_text()))
    test = doctest.DocTestParser().get_doctest(examples, {}, page.name, str(page), 0)
    assert test.examples or page.name not in ("README.md", "messages.md")
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL | doctest.REPORT_NDIFF)
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_make_target_is_explained() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    explained = (ROOT / "CONTRIBUTING.md").read_text()
    assert [target for target in targets if f"make {target}" not in explained] == []


def test_every_module_stands_in_the_layout() -> None:
    layout = (ROOT / "CONTRIBUTING.md").read_text()
    modules = sorted((ROOT / "src" / "turnlog" / "messages").glob("*.py"))
    assert [module.name for module in modules if module.name not in layout and module.stem != "__init__"] == []


def test_every_rule_of_messages_and_every_reason_of_the_tree_is_explained() -> None:
    page = (ROOT / "docs" / "transcripts.md").read_text()
    assert [rule.value for rule in Rule if f"`{rule.value}`" not in page] == []
    assert [reason.value for reason in Reason if f"`{reason.value}`" not in page] == []

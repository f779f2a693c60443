"""The documentation holds the table of rules as it is now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from turnlog.transcripts.validation.rules import RULES
from turnlog.transcripts.validation.validator import render_table

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"
START, END = "<!-- rules -->\n", "<!-- end of rules -->\n"
COMMAND = "python -m turnlog.transcripts.validation"


def test_the_page_holds_the_table_as_it_is() -> None:
    before, _, rest = PAGE.read_text().partition(START)
    table, _, _ = rest.partition(END)
    assert COMMAND in before
    assert table == render_table(), f"put what `{COMMAND}` prints between the marks of {PAGE.name}"


def test_the_command_prints_the_table() -> None:
    run = subprocess.run([sys.executable, *COMMAND.split()[1:]], capture_output=True, text=True, check=True)
    assert run.stdout == render_table()


def test_the_table_has_a_row_for_each_rule() -> None:
    head, dashes, *rows = render_table().splitlines()
    assert head == "| Rule | Section of the spec | Requirement | Why | Severity |"
    assert dashes == "| --- | --- | --- | --- | --- |"
    assert len(rows) == len(RULES)
    assert rows[0] == (
        "| `line-malformed` | any line | A line is one JSON object, in UTF-8 | "
        "Anything else cannot be read. | error: all |"
    )
    unique = next(row for row in rows if "000-1-unique-uuid" in row)
    assert unique.endswith("| error: spec-000; warning: spec-003; note: claude-code |")
    assert all(row.count(" | ") == 4 for row in rows)

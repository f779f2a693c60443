"""docs/cli.md says what `--help` says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command_line import run
from command_reference import list_names, render_help, update

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_the_reference_is_current() -> None:
    page = PAGE.read_text()
    assert page == update(page), "run `make docs`"


def test_every_command_is_in_the_reference() -> None:
    assert re.findall(r"<!-- help: (.*) -->", PAGE.read_text()) == list_names()


@pytest.mark.parametrize("name", list_names())
def test_the_help_is_what_a_terminal_of_80_columns_shows(name: str) -> None:
    ran = run(*name.split()[1:], "--help", env={"COLUMNS": "80"})
    assert ran.stdout.decode() == render_help(name) + "\n"


def test_what_is_no_command_has_no_help() -> None:
    with pytest.raises(KeyError):
        update("<!-- help: turnlog dance -->\n<!-- end -->")

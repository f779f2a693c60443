"""What is generated in the documentation: the help of commands, and the tables of rules, hooks and settings.

`python -m command_reference docs/cli.md` (with tests/ on the path) writes it, as `make docs` does. Between
`<!-- help: turnlog show -->` and `<!-- end -->` stands what `turnlog show --help` prints, between
`<!-- rules -->` and `<!-- end of rules -->` the table of rules, and so on. The rest is written by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from settings_reference import render_file
from turnlog.cli.program import COMMANDS, NAME, program
from turnlog.transcripts.hooks import render_events, render_notifications
from turnlog.transcripts.validation.validator import render_table

_WIDTH = 78
_PART = re.compile(r"(<!-- help: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_TABLES: Mapping[str, Callable[[], str]] = {
    "rules": render_table,
    "hook events": render_events,
    "notifications": render_notifications,
    "settings": render_file,
}
_TABLE = re.compile(rf"(<!-- ({'|'.join(_TABLES)}) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)


def list_names() -> list[str]:
    """Return what can be asked for help, in order."""
    return [NAME, *(f"{NAME} {name}" for name in COMMANDS)]


def render_help(name: str) -> str:
    """Return the help of a command, as a terminal of 80 columns shows it; raises `KeyError`."""
    if name not in list_names():
        raise KeyError(name)
    context = click.Context(program, info_name=NAME, terminal_width=_WIDTH, **program.context_settings)
    if name == NAME:
        return program.get_help(context)
    command = program.get_command(context, name.removeprefix(f"{NAME} "))
    assert command is not None
    return command.get_help(click.Context(command, context, command.name))


def update(page: str) -> str:
    """Return a page with the help and the tables in it as they are now."""
    page = _PART.sub(lambda part: f"{part[1]}```text\n{render_help(part[2])}\n```\n{part[3]}", page)
    return _TABLE.sub(lambda part: f"{part[1]}{_TABLES[part[2]]()}{part[3]}", page)


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(update(path.read_text()))

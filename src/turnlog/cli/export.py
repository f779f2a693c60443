"""`turnlog export`: sessions as files again."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import Struct

from turnlog.cli.failures import MisuseError
from turnlog.cli.files import path_text
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.stores import find_session, open_for
from turnlog.cli.terminal import clean_line
from turnlog.config import Settings
from turnlog.export.raw import Exported, Outcome, export_raw
from turnlog.store.identity import LOCAL

__all__ = ["ExportedFile", "command", "describe", "list_files"]


class ExportedFile(Struct, frozen=True, gc=False):
    """A file that was given back."""

    path: str
    generation: int
    size: int
    sha256: str
    outcome: Outcome


@click.command(
    "export",
    epilog="""\b
Examples:
  turnlog export 5d1c --raw --output ./session
""",
)
@click.argument("session", metavar="ID")
@click.option("--raw", is_flag=True, help="The files as they were, byte for byte.")
@click.option(
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Where to put them.",
)
@json_option
@color_option
def command(session: str, raw: bool, folder: Path, as_json: bool, color: bool | None) -> None:
    """Give an archived session back as files.

    ID may be the beginning of a session's id. Sub-agents, metadata and tool results come with the transcript,
    each byte for byte, whether they still exist elsewhere or not. Nothing is overwritten.
    """
    if not raw:
        raise MisuseError("say in which form: --raw gives the files as they were")
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with open_for(settings) as store:
        _, known = find_session(store, session)
        done = export_raw(store, LOCAL, known, folder)
    if as_json:
        output.print_json(list_files(done))
    else:
        output.print(describe(done))


def list_files(done: list[Exported]) -> tuple[ExportedFile, ...]:
    """Return what was done, for programs."""
    return tuple(
        ExportedFile(path_text(each.path), each.generation, each.size, each.sha256, each.outcome)
        for each in done
    )


def describe(done: list[Exported]) -> list[str]:
    """Return what was done, for people: a line for each file."""
    return [f"{each.outcome.value:<12}{each.size:>12,}  {clean_line(path_text(each.path))}" for each in done]

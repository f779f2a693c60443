"""`turnlog show`: one session, for people."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click
from rich.console import RenderableType
from rich.text import Text

from turnlog.cli.documents import build_document
from turnlog.cli.failures import NothingFoundError
from turnlog.cli.files import path_text, require_file
from turnlog.cli.options import color_option, json_option, pager_option
from turnlog.cli.output import Output, Row
from turnlog.cli.progress import waiting
from turnlog.cli.raw_lines import escape_lines, read_bytes
from turnlog.cli.rendering.agents import AgentIndex, render_agents
from turnlog.cli.rendering.conversation import Nested, render_conversation
from turnlog.cli.rendering.header import render_header
from turnlog.cli.rendering.messages import Detail
from turnlog.cli.rendering.tree import render_tree
from turnlog.cli.rendering.turns import render_turns
from turnlog.config import Settings
from turnlog.messages import Dialect
from turnlog.transcripts.session import Session, read

__all__ = ["command"]

_View = Literal["conversation", "tree", "turns", "agents", "raw"]


@click.command(
    "show",
    epilog="""\b
Examples:
  turnlog show session.jsonl
  turnlog show session.jsonl --full --thinking      everything that was said
  turnlog show session.jsonl --turns                prompts, times, tokens, cost
  turnlog show session.jsonl --tree                 branches of edited prompts
  turnlog show session.jsonl --json | jq '.messages[].text'
""",
)
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--tree", is_flag=True, help="Draw the tree of messages, with its branches.")
@click.option("--turns", is_flag=True, help="List the turns: prompts, and what answering them took.")
@click.option("--agents", is_flag=True, help="List the sub-agents, each under the one that started it.")
@click.option(
    "--raw", is_flag=True, help="Print the file's bytes; on a terminal, with control characters escaped."
)
@click.option("--thinking", is_flag=True, help="Show what was thought, too.")
@click.option("--full", is_flag=True, help="Show results and notices whole, not just their beginning.")
@json_option
@color_option
@pager_option
def command(
    path: Path,
    tree: bool,
    turns: bool,
    agents: bool,
    raw: bool,
    thinking: bool,
    full: bool,
    as_json: bool,
    color: bool | None,
    pager: bool | None,
) -> None:
    """Show a session as a conversation that a person can follow.

    FILE is a session file of Claude Code, of today or of old, a sub-agent's, or the SDK's stream. Sub-agents
    are shown under the calls that started them. Calls are marked: ✓ done, ✗ failed, ■ interrupted, ⊘ not
    allowed, … without a result.
    """
    view = _choose({"tree": tree, "turns": turns, "agents": agents, "raw": raw})
    if view == "raw" and as_json:
        raise click.UsageError("--raw and --json exclude each other.", click.get_current_context())
    require_file(path)
    output = Output(Settings.from_env(), color, pager)
    if view == "raw":
        _print_raw(path, output)
        return
    with waiting(f"Reading {path_text(path)}"):
        session = read(path)
        _require_content(path, session)
        if as_json:
            output.print_json(build_document(session, view))
            return
    output.print(_render(session, view, Detail(thinking, full, session.project)))


def _choose(flags: dict[_View, bool]) -> _View:
    chosen: list[_View] = [view for view, wanted in flags.items() if wanted]
    if len(chosen) > 1:
        names = " and ".join(f"--{view}" for view in chosen)
        raise click.UsageError(f"{names} exclude each other.", click.get_current_context())
    return chosen[0] if chosen else "conversation"


def _print_raw(path: Path, output: Output) -> None:
    if output.is_terminal:
        output.print(escape_lines(path))
    else:
        output.print_bytes(read_bytes(path))


def _require_content(path: Path, session: Session) -> None:
    if not session.lines:
        raise NothingFoundError(f"{path_text(path)}: no lines in it")
    if all(line.dialect is Dialect.UNKNOWN for line in session.lines):
        reason = session.lines[0].problems[0] if session.lines[0].problems else "unknown"
        raise NothingFoundError(f"{path_text(path)}: no line of it is known; of the first one: {reason}")


def _render(session: Session, view: _View, detail: Detail) -> Iterator[RenderableType | Row]:
    summary = session.summary
    agents = session.agents
    yield from render_header(summary, len(session.turns), len(agents), len(session.problems))
    match view:
        case "tree":
            yield from render_tree(session.tree, session.messages)
        case "turns":
            yield from render_turns(session.turns)
        case "agents":
            yield from render_agents(agents, session.prices) if agents else [Text("no agents")]
        case _:
            yield from _render_conversation(session, detail)


def _render_conversation(session: Session, detail: Detail) -> Iterator[Row]:
    index = AgentIndex(session.agents, session.workflows)
    left = [branch for branch in session.tree.branches if branch.fork is not None and not branch.active]
    remarks = {branch.messages[0]: "a branch that was left" for branch in left}
    main = Nested(Text(), index.list_main(session.messages), session.compactions, remarks)
    yield from render_conversation(main, index.find_nested, detail)
    for nested in index.take_left():
        yield Row(Text())
        yield Row(Text.assemble(nested.title, ("  without a call here", "dim")))
        yield from render_conversation(nested, index.find_nested, detail)

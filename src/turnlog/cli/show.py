"""`turnlog show`: one session, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import click
from msgspec.structs import replace
from rich.console import RenderableType
from rich.text import Text

from turnlog.cli.completing import complete_sessions_or_files
from turnlog.cli.documents import build_document
from turnlog.cli.excerpts import Excerpt, find_excerpt, render_excerpt
from turnlog.cli.failures import MisuseError, NothingFoundError
from turnlog.cli.options import color_option, json_option, pager_option
from turnlog.cli.output import Output, Row
from turnlog.cli.progress import waiting
from turnlog.cli.raw_lines import escape_lines
from turnlog.cli.rendering.agents import nest, render_agents
from turnlog.cli.rendering.conversation import Nested, render_conversation
from turnlog.cli.rendering.header import render_header
from turnlog.cli.rendering.messages import Detail
from turnlog.cli.rendering.sessions import marks_text
from turnlog.cli.rendering.tree import render_tree
from turnlog.cli.rendering.turns import render_turns
from turnlog.cli.shown import Shown, open_shown
from turnlog.cli.terminal import clean
from turnlog.config import Settings
from turnlog.messages import Dialect
from turnlog.store.marks import Marks
from turnlog.store.model import Visibility
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.queries.bodies import decode_lines
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import AgentPlaces, list_abandoned, open_main

_UNKNOWN = "unknown"

_View = Literal["conversation", "tree", "turns", "agents", "raw"]


@click.command(
    "show",
    epilog="""\b
Examples:
  turnlog show 5d1c                               an archived session, by the beginning of its id
  turnlog show session.jsonl
  ssh laptop cat session.jsonl | turnlog show -
  turnlog show 5d1c --full --thinking             everything that was said
  turnlog show 5d1c --turns                       prompts, times, tokens, cost
  turnlog show 5d1c --tree                        branches of edited prompts
  turnlog show 5d1c --message 120 --context 5     message 120, and 5 before and after it
  turnlog show 5d1c --json | jq '.messages[].text'
""",
)
@click.argument("what", metavar="ID|FILE|-", required=False, shell_complete=complete_sessions_or_files)
@click.option("--tree", is_flag=True, help="Draw the tree of messages, with its branches.")
@click.option("--turns", is_flag=True, help="List the turns: prompts, and what answering them used.")
@click.option("--agents", is_flag=True, help="List the sub-agents, each under the one that started it.")
@click.option(
    "--raw", is_flag=True, help="Print the file's bytes; on a terminal, with control characters escaped."
)
@click.option("--session", metavar="ID", help="The session to show, if FILE has several.")
@click.option("--capture", is_flag=True, help="List what turnlog captured itself: control traffic, results.")
@click.option("--message", metavar="ID|INDEX", help="Show one message, and some around it.")
@click.option("--agent", metavar="ID", help="Look for the message in this sub-agent.")
@click.option(
    "--context", type=click.IntRange(0), metavar="N", help="How many messages to show around it.  [default: 3]"
)
@click.option("--thinking", is_flag=True, help="Show thinking, too.")
@click.option("--full", is_flag=True, help="Show results and notices in full, not just their beginning.")
@json_option
@color_option
@pager_option
def command(
    what: str | None,
    tree: bool,
    turns: bool,
    agents: bool,
    raw: bool,
    session: str | None,
    capture: bool,
    message: str | None,
    agent: str | None,
    context: int | None,
    thinking: bool,
    full: bool,
    as_json: bool,
    color: bool | None,
    pager: bool | None,
) -> None:
    """Show a session as a readable conversation.

    ID is the beginning of an archived session's id, or of the name that you gave it, whether its files still
    exist or not. FILE is a session file of any version of Claude Code, a sub-agent's, or the SDK's stream; -
    reads one from standard input. If FILE is a dump with messages of several sessions, --session selects one.
    Sub-agents are shown under the calls that started them. Calls are marked: ✓ done, ✗ failed, ■ interrupted,
    ⊘ not allowed, … without a result.
    """
    if what is None:
        raise MisuseError("name a session or a file; `turnlog sessions` lists what is archived")
    view = _choose({"tree": tree, "turns": turns, "agents": agents, "raw": raw})
    if capture and (view != "conversation" or message is not None):
        raise click.UsageError("--capture cannot be combined with other views.", click.get_current_context())
    _refuse_mixtures(view, message, agent, context, as_json)
    settings = Settings.from_env()
    output = Output(settings, color, pager)
    if capture:
        _print_captures(what, settings, output, as_json)
        return
    with open_shown(what, settings, session) as shown:
        if view == "raw":
            _print_raw(shown, output)
            return
        with shown.open() as found:
            with waiting(f"Reading {shown.name}"):
                _require_content(shown.name, found)
                excerpt = None if message is None else find_excerpt(found, message, agent, context)
                document = build_document(found, shown, view, excerpt) if as_json else None
            if document is not None:
                output.print_json(document)
            else:
                output.print(_render(found, shown, view, Detail(thinking, full), excerpt))


def _print_captures(what: str, settings: Settings, output: Output, as_json: bool) -> None:
    from turnlog.cli.show_capture import load_captures, render_captures

    found = load_captures(what, settings)
    if as_json:
        output.print_json([file for file, _ in found])
    else:
        output.print(render_captures(found))


def _choose(flags: dict[_View, bool]) -> _View:
    chosen: list[_View] = [view for view, wanted in flags.items() if wanted]
    if len(chosen) > 1:
        names = " and ".join(f"--{view}" for view in chosen)
        raise click.UsageError(f"{names} cannot be used together.", click.get_current_context())
    return chosen[0] if chosen else "conversation"


def _refuse_mixtures(
    view: _View, message: str | None, agent: str | None, context: int | None, as_json: bool
) -> None:
    here = click.get_current_context()
    if view == "raw" and as_json:
        raise click.UsageError("--raw and --json cannot be used together.", here)
    if message is not None and view != "conversation":
        raise click.UsageError(f"--message and --{view} cannot be used together.", here)
    if message is None and (agent is not None or context is not None):
        name = "--agent" if agent is not None else "--context"
        raise click.UsageError(f"{name} can only be used with --message.", here)


def _print_raw(shown: Shown, output: Output) -> None:
    if output.is_terminal:
        output.print(escape_lines(shown.read_bytes()))
    else:
        output.print_bytes(shown.read_bytes())


def _require_content(name: str, session: SessionRecords) -> None:
    main = session.main
    chapters = session.chapters if main is None or not main.count_lines else (main,)
    lines = [line.type for chapter in chapters for line in chapter.list_lines(0, 1)]
    if not lines:
        raise NothingFoundError(f"{name}: no lines")
    if any(line.type != _UNKNOWN for chapter in chapters for line in chapter.list_lines()):
        return
    decoded = [
        line for chapter in chapters for line in decode_lines(chapter, range(chapter.count_lines)).values()
    ]
    if all(line.dialect is Dialect.UNKNOWN for line in decoded):
        reason = decoded[0].problems[0] if decoded[0].problems else "unknown"
        raise NothingFoundError(f"{name}: none of its lines are recognised; the first one: {reason}")


def _render(
    session: SessionRecords, shown: Shown, view: _View, detail: Detail, excerpt: Excerpt | None
) -> Iterator[RenderableType | Row]:
    summary = shown.read_summary()
    detail = replace(detail, project=summary.project)
    agents = session.list_agents()
    yield from _render_marks(shown.marks)
    if shown.original is not None:
        yield Text(f"started as a copy of session {clean(shown.original)}", "dim")
    if shown.person is not None:
        shared = "shared with the team" if shown.visibility is Visibility.TEAM else "private"
        yield Text(f"{clean(shown.person)}'s, {shared}", "dim")
    problems = shown.count_problems()
    yield from render_header(summary, session.count_turns(), len(agents), problems, shown.argument)
    if excerpt is not None:
        yield from render_excerpt(excerpt, detail)
        return
    match view:
        case "tree":
            yield from render_tree(open_main(session))
        case "turns":
            yield from render_turns(session)
        case "agents":
            yield from render_agents(session, agents) if agents else [Text("no agents")]
        case _:
            yield from _render_conversation(session, detail)


def _render_marks(marks: Marks) -> Iterator[Text]:
    if marks == Marks():
        return
    told = marks_text(marks, "").strip()
    if told:
        yield Text(told, "bold yellow")
    if marks.note is not None:
        yield Text(clean(marks.note), "yellow")


def _render_conversation(session: SessionRecords, detail: Detail) -> Iterator[Row]:
    thread, places = open_main(session), AgentPlaces(session)
    remarks = dict.fromkeys(list_abandoned(session), "an abandoned branch")
    shown = filter(places.is_main, thread.list_records())

    def find_nested(call: Call) -> Iterator[Nested]:
        return (nest(session, agent) for agent in places.take_started(call))

    yield from render_conversation(
        Nested(Text(), thread, thread.compactions, shown, remarks), find_nested, detail
    )
    for nested in (nest(session, agent) for agent in places.take_left()):
        yield Row(Text())
        yield Row(Text.assemble(nested.title, ("  without a call", "dim")))
        yield from render_conversation(nested, find_nested, detail)

"""`turnlog show`: one session, for people or, with `--json`, as one document.

In the document times are ISO 8601 in UTC, money is dollars to the last digit, and messages are known by their
index among those of their conversation. Inputs of calls are the JSON that stands in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Literal

import click
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace
from rich.console import RenderableType
from rich.text import Text

from turnlog.cli import conversation
from turnlog.cli.completion import complete_sessions_or_files
from turnlog.cli.output import Output, Row, output_options, show_progress
from turnlog.cli.plain_text import marks_text
from turnlog.cli.session_input import OpenedSession, escape_lines, open_session_input
from turnlog.cli.terminal import MisuseError, NothingFoundError, clean
from turnlog.config import Settings
from turnlog.instants import from_microseconds
from turnlog.messages import Dialect
from turnlog.shapes import fill
from turnlog.store.lists import Marks
from turnlog.store.model import Visibility
from turnlog.transcripts.agents import AgentLink, LineProblem
from turnlog.transcripts.calls import Call, TouchedFile
from turnlog.transcripts.conversation.messages import Compaction, Lane, Message, Rule
from turnlog.transcripts.kinds import AgentState, CallState, Category, MessageType, Role
from turnlog.transcripts.lines.content import Author
from turnlog.transcripts.queries import threads
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.segments import MessageRecord
from turnlog.transcripts.session_files import path_text
from turnlog.transcripts.summary import Summary
from turnlog.transcripts.usage.prices import Prices
from turnlog.transcripts.usage.tokens import Totals


class CallItem(Struct, frozen=True, gc=False):
    """A tool call with its result."""

    id: str | None
    name: str
    category: Category
    known: bool
    state: CallState
    input: Raw | None
    result: str | None
    is_error: bool | None
    """What the result itself says; null where it says nothing."""
    images: int
    agent_id: str | None


class MessageItem(Struct, frozen=True, gc=False):
    """A message as people read it."""

    index: int
    id: str
    parent: int | None
    branch: int
    rule: Rule
    role: Role
    types: tuple[MessageType, ...]
    category: Category | None
    author: Author
    lane: Lane
    agent_id: str | None
    time: datetime | None
    model: str | None
    text: str
    thinking: str
    command: str | None
    arguments: str | None
    aborted: bool
    offsets: tuple[int, ...]
    """Where its lines stand in the file."""
    calls: tuple[CallItem, ...]


class TurnItem(Struct, frozen=True, gc=False):
    """A prompt and all that answers it."""

    index: int
    prompt: str
    started: datetime | None
    duration_s: float | None
    messages: tuple[int, ...]
    calls: int
    agents: tuple[str, ...]
    files: tuple[TouchedFile, ...]
    totals: Totals
    cost_usd: Decimal


class AgentItem(Struct, frozen=True, gc=False):
    """A sub-agent and its conversation."""

    id: str
    type: str | None
    description: str | None
    prompt: str | None
    state: AgentState
    depth: int
    parent_id: str | None
    call_id: str | None
    linked_by: AgentLink | None
    run_id: str | None
    background: bool
    inline: bool
    path: str | None
    messages: tuple[MessageItem, ...]


class ProblemItem(Struct, frozen=True, gc=False):
    """Something that is wrong or unknown in a line."""

    source: str | None
    offset: int | None
    kind: str
    message: str


class SessionDocument(Struct, frozen=True, gc=False):
    """A session. What was not asked for is left out."""

    path: str
    id: str | None
    project: str | None
    title: str | None
    summary: Summary
    messages: tuple[MessageItem, ...] | UnsetType = UNSET
    compactions: tuple[Compaction, ...] | UnsetType = UNSET
    tree: threads.MessageTree | UnsetType = UNSET
    turns: tuple[TurnItem, ...] | UnsetType = UNSET
    agents: tuple[AgentItem, ...] | UnsetType = UNSET
    problems: tuple[ProblemItem, ...] | UnsetType = UNSET


def build_document(
    session: SessionRecords,
    shown: OpenedSession,
    view: Literal["conversation", "tree", "turns", "agents", "raw"],
    excerpt: conversation.Excerpt | None = None,
) -> SessionDocument:
    """Return all of a session, or only its tree, its turns, its agents or an excerpt."""
    everything = view == "conversation" and excerpt is None
    summary, main = shown.read_summary(), threads.open_main(session)
    messages: tuple[MessageItem, ...] | UnsetType = UNSET
    if excerpt is not None:
        messages = _list_messages(excerpt.thread, excerpt.records)
    elif everything:
        messages = _list_messages(main)
    return SessionDocument(
        path=shown.path,
        id=summary.id,
        project=summary.project,
        title=None if summary.title is None else summary.title.text,
        summary=summary,
        messages=messages,
        compactions=main.compactions if everything else UNSET,
        tree=threads.build_tree(main) if everything or view == "tree" else UNSET,
        turns=tuple(_list_turns(session)) if everything or view == "turns" else UNSET,
        agents=tuple(_list_agents(session)) if everything or view == "agents" else UNSET,
        problems=tuple(map(_build_problem, shown.list_problems(session))) if everything else UNSET,
    )


def _list_messages(
    thread: threads.Thread, records: Sequence[MessageRecord] | None = None
) -> tuple[MessageItem, ...]:
    """Return messages, known by their places in their conversation."""
    places = thread.list_places()
    rows = thread.list_records() if records is None else records
    found = tuple(_build_message(message, *places[message.index]) for message in thread.read(rows))
    if thread.rest is None or records is not None:
        return found
    branches = len({item.branch for item in found})
    return (*found, *(_shift(item, len(found), branches) for item in _list_messages(thread.rest)))


def _shift(item: MessageItem, places: int, branches: int) -> MessageItem:
    parent = None if item.parent is None else item.parent + places
    return replace(item, index=item.index + places, parent=parent, branch=item.branch + branches)


def _build_message(message: Message, index: int, parent: int | None, branch: int) -> MessageItem:
    return fill(
        MessageItem,
        message,
        index=index,
        parent=parent,
        branch=branch,
        command=None if message.prompt is None else message.prompt.command,
        arguments=None if message.prompt is None else message.prompt.arguments,
        offsets=tuple(line.at.offset for line in message.lines if line.at is not None),
        calls=tuple(map(_build_call, message.calls)),
    )


def _build_call(call: Call) -> CallItem:
    result = call.result
    told = None if result is None else result.is_error
    return fill(
        CallItem,
        call,
        input=call.block.input if isinstance(call.block.input, Raw) else None,
        result=None if result is None else result.text,
        is_error=told if isinstance(told, bool) else None,
        images=0 if result is None else len(result.images),
    )


def _list_turns(session: SessionRecords) -> Iterator[TurnItem]:
    prices = Prices()
    for turn, prompt in zip(threads.list_turn_uses(session), threads.read_prompts(session), strict=True):
        record, bill = turn.record, prices.build_bill(turn.usage)
        yield fill(
            TurnItem,
            turn,
            record,
            prompt=prompt,
            started=None if record.started is None else from_microseconds(record.started),
            duration_s=None if record.duration_ms is None else record.duration_ms / 1000,
            totals=bill.totals,
            cost_usd=bill.cost,
        )


def _list_agents(session: SessionRecords) -> Iterator[AgentItem]:
    for agent in session.list_agents():
        started, file = threads.find_start(session, agent), session.find_chapter(agent.file)
        yield fill(
            AgentItem,
            agent,
            prompt=threads.read_agent_prompt(session, agent),
            state=AgentState(agent.state),
            call_id=None if started is None else started[1].id,
            linked_by=None if agent.linked_by is None else AgentLink(agent.linked_by),
            path=None if agent.file is None or file is None else path_text(file.facts.path),
            messages=_list_messages(threads.open_agent(session, agent)),
        )


def _build_problem(found: LineProblem) -> ProblemItem:
    return ProblemItem(
        source=None if found.at is None else path_text(found.at.source),
        offset=None if found.at is None else found.at.offset,
        kind=found.problem.kind,
        message=str(found.problem),
    )


_UNKNOWN = "unknown"

_View = Literal["conversation", "tree", "turns", "agents", "raw"]


@click.command("show")
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
@output_options(pager=True)
def show_command(
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
    output: Output,
) -> None:
    """Show a session as a readable conversation.

    ID is the beginning of an archived session's id, or of the name that you gave it, whether its files still
    exist or not. FILE is a session file of any version of Claude Code, a sub-agent's, or the SDK's stream; -
    reads one from standard input. If FILE is a dump with messages of several sessions, --session selects one.
    Sub-agents are shown under the calls that started them. Calls are marked: ✓ done, ✗ failed, ■ interrupted,
    ⊘ not allowed, … without a result.

    Examples:
      turnlog show 5d1c                               an archived session, by the beginning of its id
      turnlog show session.jsonl
      ssh laptop cat session.jsonl | turnlog show -
      turnlog show 5d1c --full --thinking             everything that was said
      turnlog show 5d1c --turns                       prompts, times, tokens, cost
      turnlog show 5d1c --tree                        branches of edited prompts
      turnlog show 5d1c --message 120 --context 5     message 120, and 5 before and after it
      turnlog show 5d1c --json | jq '.messages[].text'
    """
    if what is None:
        raise MisuseError("name a session or a file; `turnlog sessions` lists what is archived")
    view = _choose_view({"tree": tree, "turns": turns, "agents": agents, "raw": raw})
    if capture and (view != "conversation" or message is not None):
        raise click.UsageError("--capture cannot be combined with other views.", click.get_current_context())
    _refuse_mixtures(view, message, agent, context, output.as_json)
    settings = output.settings
    if capture:
        _print_captures(what, settings, output)
        return
    with open_session_input(what, settings, session) as shown:
        if view == "raw":
            _print_raw(shown, output)
            return
        with shown.open() as found:
            with show_progress(f"Reading {shown.name}"):
                _require_content(shown.name, found)
                excerpt = None if message is None else conversation.find_excerpt(found, message, agent, context)
                document = build_document(found, shown, view, excerpt) if output.as_json else None
            if document is not None:
                output.print_json(document)
            else:
                output.print(_render_session(found, shown, view, conversation.Detail(thinking, full), excerpt))


def _print_captures(what: str, settings: Settings, output: Output) -> None:
    from turnlog.cli.show_capture import load_captures, render_captures

    found = load_captures(what, settings)
    output.show([file for file, _ in found], render_captures(found))


def _choose_view(flags: dict[_View, bool]) -> _View:
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


def _print_raw(shown: OpenedSession, output: Output) -> None:
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
        line
        for chapter in chapters
        for line in threads.decode_lines(chapter, range(chapter.count_lines)).values()
    ]
    if all(line.dialect is Dialect.UNKNOWN for line in decoded):
        reason = decoded[0].problems[0] if decoded[0].problems else "unknown"
        raise NothingFoundError(f"{name}: none of its lines are recognised; the first one: {reason}")


def _render_session(
    session: SessionRecords,
    shown: OpenedSession,
    view: _View,
    detail: conversation.Detail,
    excerpt: conversation.Excerpt | None,
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
    yield from conversation.render_header(summary, session.count_turns(), len(agents), problems, shown.argument)
    if excerpt is not None:
        yield from conversation.render_excerpt(excerpt, detail)
        return
    match view:
        case "tree":
            yield from conversation.render_tree(threads.open_main(session))
        case "turns":
            yield from conversation.render_turns(session)
        case "agents":
            yield from conversation.render_agents(session, agents) if agents else [Text("no agents")]
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


def _render_conversation(session: SessionRecords, detail: conversation.Detail) -> Iterator[Row]:
    thread, places = threads.open_main(session), threads.AgentPlaces(session)
    remarks = dict.fromkeys(threads.list_abandoned(session), "an abandoned branch")
    shown = filter(places.is_main, thread.list_records())

    def find_nested(call: Call) -> Iterator[conversation.Nested]:
        return (conversation.open_nested(session, agent) for agent in places.take_started(call))

    yield from conversation.render_conversation(
        conversation.Nested(Text(), thread, thread.compactions, shown, remarks), find_nested, detail
    )
    for nested in (conversation.open_nested(session, agent) for agent in places.take_left()):
        yield Row(Text())
        yield Row(Text.assemble(nested.title, ("  without a call", "dim")))
        yield from conversation.render_conversation(nested, find_nested, detail)

"""From a session to the pieces that are given out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from turnlog.export.call_bodies import describe_answer, describe_input, list_pictures
from turnlog.export.pieces import AgentBegins, AgentEnds, Done, Noted, Piece, Said, TurnBegins
from turnlog.export.selection import EVERYTHING, Selection, select
from turnlog.messages import Line
from turnlog.messages.base import UnknownBlock
from turnlog.messages.blocks import ContentBlock
from turnlog.transcripts.actions import report_of
from turnlog.transcripts.agents.states import AgentState
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.topics import topic_of
from turnlog.transcripts.conversation.compactions import Compaction, has_kept
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.lines.kinds import Category, Role
from turnlog.transcripts.lines.passage import value_text
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import AgentPlaces, Thread, open_agent, open_main
from turnlog.transcripts.records import AgentRecord, MessageRecord

_SAID = frozenset(
    {
        Rule.PROMPT, Rule.COMMAND, Rule.QUEUED, Rule.WAITING, Rule.ANSWER, Rule.RAN_COMMAND, Rule.LONE_THINKING,
    }
)  # fmt: skip
_REMARKS: Mapping[Rule, str] = MappingProxyType(
    {
        Rule.QUEUED: "while it was working",
        Rule.WAITING: "still waiting",
        Rule.COMMAND: "a command",
        Rule.RAN_COMMAND: "a command",
    }
)
_KINDS: Mapping[Rule, str] = MappingProxyType(
    {
        Rule.LONE_PROGRESS: "progress",
        Rule.LONE_OUTPUT: "output",
        Rule.LONE_RESULT: "result without its call",
        Rule.CONTEXT_SHOWN: "context",
        Rule.RECAP: "summary of what came before",
        Rule.NOTICE: "background task",
    }
)
"""What notes are called, where their rule says it for those who know the rules."""


def build_pieces(
    session: SessionRecords, selection: Selection = EVERYTHING, project: str | None = None
) -> Iterator[Piece]:
    """Yield a session piece by piece, agents under the calls that started them.

    What is inside `project` is told by its path from there. Raises `SelectionError` if nothing is left to give
    out.
    """
    places = AgentPlaces(session) if selection.agents else None
    records = (row for row in select(session, selection) if places is None or places.is_main(row))
    turns = {prompt: number for number, prompt in enumerate(session.list_prompts(), 1)}
    walk = _Walk(session, places, selection, project)
    yield from walk.run(open_main(session), records, turns)
    for agent in places.take_left() if places is not None and not selection.is_part else ():
        yield from walk.run_agent(agent)


class _Walk:
    """The way through a conversation and all that is inside it, by a stack of its own."""

    def __init__(
        self, session: SessionRecords, places: AgentPlaces | None, selection: Selection, project: str | None
    ) -> None:
        self._session = session
        self._places = places
        self._selection = selection
        self._project = project

    def run(
        self, thread: Thread, records: Iterable[MessageRecord], turns: Mapping[int, int]
    ) -> Iterator[Piece]:
        yield from self._descend([self._tell(thread, records, turns, 0)])

    def run_agent(self, agent: AgentRecord) -> Iterator[Piece]:
        yield _begin(agent, 1)
        yield from self._descend([iter(()), self._open(agent, 1)])

    def _descend(self, levels: list[Iterator[Piece | AgentRecord]]) -> Iterator[Piece]:
        while levels:
            part = next(levels[-1], None)
            if part is None:
                levels.pop()
                if levels:
                    yield AgentEnds(len(levels))
            elif isinstance(part, AgentRecord):
                yield _begin(part, len(levels))
                levels.append(self._open(part, len(levels)))
            else:
                yield part

    def _open(self, agent: AgentRecord, depth: int) -> Iterator[Piece | AgentRecord]:
        thread = open_agent(self._session, agent)
        return self._tell(thread, None, {}, depth)

    def _tell(
        self, thread: Thread, records: Iterable[MessageRecord] | None, turns: Mapping[int, int], depth: int
    ) -> Iterator[Piece | AgentRecord]:
        divided = {each.messages[0]: each for each in thread.compactions}
        begins = thread.messages[0] if thread.messages else None
        for message in thread.read(records):
            if message.index == begins:
                yield from _tell_notes(thread.read_notes(-1), f"{depth}-above")
            if message.is_hidden:
                continue
            anchor = message.id if not depth else f"{depth}-{message.id}"
            if message.index in turns:
                yield TurnBegins(turns[message.index], anchor)
            if message.index in divided:
                compaction = divided[message.index]
                kind, told = f"conversation {compaction.state}", _tell_compaction(compaction)
                yield Noted(kind=kind, text=told, time=message.time, anchor=anchor)
            if message.rule is not Rule.COMPACTION or has_kept(message):
                yield from self._tell_message(message, anchor)
            yield from _tell_notes(thread.read_notes(message.index), anchor)

    def _tell_message(self, message: Message, anchor: str) -> Iterator[Piece | AgentRecord]:
        text, blocks = message.text.strip(), message.blocks
        pictures = list_pictures(blocks)
        thinking = message.thinking if self._selection.thinking else ""
        failed = message.category is Category.ERROR
        if message.rule not in _SAID:
            kind = "error" if failed else _name_note(message)
            yield Noted(kind=kind, text=text, time=message.time, anchor=anchor, failed=failed)
        elif text or thinking or pictures:
            yield Said(
                author=message.author,
                text=text,
                thinking=thinking.strip(),
                time=message.time,
                anchor=anchor,
                model=message.model,
                remark="cut off" if message.aborted else _REMARKS.get(message.rule, ""),
                failed=failed,
                pictures=pictures,
            )
        for block in blocks:
            if isinstance(block, UnknownBlock):
                yield Noted(kind="unknown", text=_show_unknown(block), time=message.time, anchor=anchor)
        for number, call in enumerate(message.calls):
            yield self._tell_call(call, message, f"{anchor}-call-{number}")
            if self._places is not None:
                yield from self._places.take_started(call)

    def _tell_call(self, call: Call, message: Message, anchor: str) -> Done:
        result = call.result
        shown = self._selection.tool_output and result is not None
        return Done(
            name=call.name,
            category=call.category,
            state=call.state,
            topic=topic_of(call.name, call.block.input, self._project),
            given=describe_input(call),
            answered=describe_answer(call) if shown else None,
            pictures=list_pictures(result.images) if shown and result is not None else (),
            time=message.time,
            anchor=anchor,
        )


def _begin(agent: AgentRecord, depth: int) -> AgentBegins:
    return AgentBegins(agent.type or agent.id, agent.description or "", AgentState(agent.state), depth)


def _name_note(message: Message) -> str:
    if message.rule is Rule.COMPACTION:
        return _KINDS[Rule.RECAP] if message.role is Role.SUMMARY else "kept from earlier"
    return _KINDS.get(message.rule, str(message.rule))


def _tell_notes(lines: Iterable[Line], anchor: str) -> Iterator[Noted]:
    for number, line in enumerate(lines):
        time = getattr(line.entry, "time", None)
        yield Noted(kind="note", text=report_of(line.entry), time=time, anchor=f"{anchor}-note-{number}")


def _show_unknown(block: ContentBlock) -> str:
    return value_text(block)


def _tell_compaction(compaction: Compaction) -> str:
    told = [compaction.trigger] if compaction.trigger else []
    if compaction.tokens_before is not None:
        after = "" if compaction.tokens_after is None else f" → {compaction.tokens_after:,}"
        told.append(f"{compaction.tokens_before:,}{after} tokens")
    return ", ".join(told)

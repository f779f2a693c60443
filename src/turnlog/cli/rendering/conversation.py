"""A whole conversation, agents under the calls that started them.

Agents start agents, to any depth; so this goes down and up by a stack of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from types import MappingProxyType

from msgspec import Struct
from rich.text import Text

from turnlog.cli.clock import local_time
from turnlog.cli.output import Row
from turnlog.cli.rendering.calls import render_call
from turnlog.cli.rendering.figures import count_text
from turnlog.cli.rendering.messages import Detail, Heading, heading_of, is_error, render_body, render_heading
from turnlog.cli.terminal import clean_line, shorten
from turnlog.messages import Line
from turnlog.transcripts.actions import join_reports, report_of
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.conversation.compactions import Compaction, has_kept
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.queries.threads import Thread
from turnlog.transcripts.records import MessageRecord

_DEEPEST = 12
_RULE_WIDTH = 4
_LONGEST_NOTE = 200


_DIVIDER = Heading("", "", "")


class Nested(Struct, frozen=True):
    """A conversation inside another."""

    title: Text
    thread: Thread
    compactions: Sequence[Compaction]
    records: Iterable[MessageRecord] | None = None
    """Which of its messages are shown; None for all."""
    remarks: Mapping[int, str] = MappingProxyType({})
    """What to say of some messages, by their index."""
    has_notes: bool = True
    """Whether it is told what happened between messages."""


FindNested = Callable[[Call], Iterable[Nested]]
"""Returns the conversations of the agents that a call started."""


def render_conversation(outermost: Nested, find_nested: FindNested, detail: Detail) -> Iterator[Row]:
    """Yield a conversation and all that is inside it."""
    levels = [_Level(outermost, 0, find_nested, detail).render()]
    while levels:
        part = next(levels[-1], None)
        if part is None:
            levels.pop()
        elif isinstance(part, Row):
            yield part
        else:
            depth = len(levels)
            yield Row(part.title, _gutter(depth))
            levels.append(_Level(part, depth, find_nested, detail).render())


class _Level:
    """One conversation, on its way out."""

    def __init__(self, nested: Nested, depth: int, find_nested: FindNested, detail: Detail) -> None:
        self._thread = nested.thread
        self._records = nested.records
        self._remarks = nested.remarks
        self._notes = sorted(nested.thread.notes, reverse=True) if nested.has_notes else []
        self._compactions = {each.messages[0]: each for each in nested.compactions}
        self._find_nested = find_nested
        self._detail = detail
        self._gutter = _gutter(depth)
        self._heading: Heading | None = None
        self._day: date | None = None

    def render(self) -> Iterator[Row | Nested]:
        for message in self._thread.read(self._records):
            yield from self._render_notes(message.index)
            if message.index in self._compactions:
                if self._heading is not None:
                    yield Row(Text(), self._gutter)
                yield Row(render_compaction(self._compactions[message.index]), self._gutter)
                self._heading = _DIVIDER
            if message.is_hidden and message.index not in self._remarks:
                continue
            if message.rule is not Rule.COMPACTION or has_kept(message):
                yield from self._render_message(message)
        yield from self._render_notes(None)

    def _render_notes(self, below: int | None) -> Iterator[Row]:
        """Yield what happened above a message, or all that is left."""
        lines: list[Line] = []
        while self._notes and (below is None or self._notes[-1] < below):
            lines += self._thread.read_notes(self._notes.pop())
        reports = [report_of(line.entry) for line in lines]
        if not self._detail.full:
            reports = [join_reports(line.entry for line in lines)] if lines else []
        inner = Text.assemble(self._gutter, "  ")
        yield from (Row(Text(f"∙ {shorten(report, _LONGEST_NOTE)}", "dim"), inner) for report in reports)

    def _render_message(self, message: Message) -> Iterator[Row | Nested]:
        body = list(render_body(message, self._detail))
        heading = heading_of(message)
        marked = message.index in self._remarks
        begins = heading != self._heading or message.rule is Rule.PROMPT or marked or is_error(message)
        if self._heading is not None and (begins or body):
            yield Row(Text(), self._gutter)
        if begins:
            remarks = [self._remarks[message.index]] if marked else []
            yield Row(render_heading(message, self._day, *remarks), self._gutter)
        self._heading = heading
        if message.time is not None:
            self._day = local_time(message.time).date()
        inner = Text.assemble(self._gutter, "  ")
        yield from (Row(text, inner) for text in body)
        for call in message.calls:
            yield from (Row(text, inner) for text in render_call(call, self._detail.project, self._detail.full))
            yield from self._find_nested(call)


def render_compaction(compaction: Compaction) -> Text:
    """Return the line that divides what was left out from what follows."""
    rule = "─" * _RULE_WIDTH
    told = [clean_line(str(compaction.state)) + (" a little" if compaction.micro else "")]
    if compaction.trigger:
        told.append(clean_line(compaction.trigger))
    if compaction.tokens_before is not None:
        after = "" if compaction.tokens_after is None else f" → {count_text(compaction.tokens_after)}"
        told.append(f"{count_text(compaction.tokens_before)}{after} tokens")
    return Text(f"{rule} {', '.join(told)} {rule}", "cyan")


def _gutter(depth: int) -> Text:
    return Text("  │ " * min(depth, _DEEPEST), "dim" if depth else "")

"""Windows of a conversation: consecutive messages of one file, selected from anywhere in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from turnlog.ingest.copies import list_shared
from turnlog.messages import Line
from turnlog.server import messages
from turnlog.server.errors import InvalidRequestError, NotFoundError
from turnlog.server.sessions import name_session
from turnlog.server.values import Memo, limit_by_size, one_line, read_lines
from turnlog.store.interface import Store
from turnlog.store.lists import StoredSession
from turnlog.store.model import Scope
from turnlog.transcripts.kinds import Role
from turnlog.transcripts.queries.chapters import Chapter, MessageFilter
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import build_message, is_copied_call
from turnlog.transcripts.segments import CallRecord, MessageRecord
from turnlog.transcripts.usage.prices import to_dollars
from turnlog.transcripts.usage.sightings import name_answer

_END = "end"
_AT_ONCE = 200
"""Messages that are looked through together for results."""
_TAKEN_OUT = re.compile(r"(.+)_(?:tool|result)_\d+", re.DOTALL)
_LONGEST_INDEX = 15
"""Digits; a longer number is no index, and may be an id."""
_MOST_FOLDED = 200
"""Of one message, at its beginning: a call's progress may be thousands of lines that nobody is shown."""
_SHARED: Memo[frozenset[str]] = Memo(64)
"""The uuids that other sessions have, too; they stay the same within a revision."""


class WindowQuery(Struct, frozen=True):
    """Where a window is to be, as people ask for it."""

    source: str | None
    agent: str | None
    around: str | None
    before: int | None
    after: int | None
    limit: int


class Selection(Struct, frozen=True):
    """The messages of one chapter that are wanted."""

    chapter: Chapter | None
    """None if the session has no transcript: then there are no messages."""
    where: MessageFilter
    has_results: bool = False
    """Whether results are asked for, which are no messages: then those are wanted that show some."""

    @property
    def total(self) -> int:
        """How many messages there are, wanted or not."""
        return 0 if self.chapter is None else self.chapter.count_messages

    def list_before(self, last: int, count: int) -> list[MessageRecord]:
        """Return messages above an index."""
        if self.chapter is None:
            return []
        if not self.has_results:
            return self.chapter.list_before(last, count, self.where)
        found: list[MessageRecord] = []
        while rows := self.chapter.list_before(last, _AT_ONCE, self._widen()):
            last = rows[0].index
            if self._take(found, rows[::-1], count):
                break
        return found[::-1]

    def list_after(self, first: int, count: int) -> list[MessageRecord]:
        """Return messages from an index on."""
        if self.chapter is None:
            return []
        if not self.has_results:
            return self.chapter.list_after(first, count, self.where)
        found: list[MessageRecord] = []
        while rows := self.chapter.list_after(first, _AT_ONCE, self._widen()):
            first = rows[-1].index + 1
            if self._take(found, rows, count):
                break
        return found

    def is_wanted(self, row: MessageRecord) -> bool:
        """Tell whether a message is wanted for itself, and not for the results that it shows."""
        return not self.has_results or self.where.accepts(row)

    def is_shown_by(self, row: MessageRecord) -> bool:
        """Tell whether the results are wanted that a message shows; they have no category."""
        lanes = self.where.lanes
        return self.where.categories is None and (lanes is None or messages.name_result_lane(row) in lanes)

    def count_items(self, rows: Sequence[MessageRecord]) -> int:
        """Return how many messages and results are to be returned."""
        return sum(self._count_items(rows)) if self.has_results else len(rows)

    def _take(self, found: list[MessageRecord], rows: Sequence[MessageRecord], count: int) -> bool:
        """Take rows until there are so many items; return whether there are. Results of a row stay together."""
        left = count - self.count_items(found)
        for row, items in zip(rows, self._count_items(rows), strict=True):
            if items > left and found:
                return True
            if items:
                found.append(row)
                left -= items
        return left <= 0

    def _count_items(self, rows: Sequence[MessageRecord]) -> list[int]:
        calls = {} if self.chapter is None else self.chapter.list_calls_of(rows)
        return [
            self.is_wanted(row)
            + self.is_shown_by(row) * sum(call.result_line in row.lines for call in calls.get(row.index, ()))
            for row in rows
        ]

    def _widen(self) -> MessageFilter:
        return replace(self.where, roles=None, lanes=None, categories=None)


class FoundWindow(Struct, frozen=True):
    """The messages of a window."""

    selection: Selection
    rows: Sequence[MessageRecord]
    anchor: int
    """Which of them it is about."""
    at: int
    """The index at which it is, if there are none."""


def find_window(
    session: SessionRecords, asked: WindowQuery, where: MessageFilter, *, has_results: bool = False
) -> FoundWindow:
    """Return the messages of the window that is asked for, which begins at the start by default.

    With `has_results` the role `tool_result` means the results that are shown with messages, too. Raises
    `RequestError` for what cannot be.
    """
    if sum(each is not None for each in (asked.around, asked.before, asked.after)) > 1:
        raise InvalidRequestError("Only one of around, before and after can be given")
    if asked.source is not None and asked.agent is not None:
        raise InvalidRequestError("Only one of source and agent can be given")
    source = asked.source
    if asked.agent is not None:
        agent = next((each for each in session.list_agents() if each.id == asked.agent), None)
        if agent is None:
            raise NotFoundError("There is no such agent")
        source = agent.file
        if source is None:  # its messages are in the transcript, marked with its id
            where = replace(where, agent_id=agent.id)
    chapter = session.find_chapter(source)
    if asked.source is not None and all(file.source != asked.source for file in session.files):
        raise NotFoundError("There is no such file")
    has_results = has_results and where.roles is not None and Role.TOOL_RESULT in where.roles
    selection = Selection(chapter, where, has_results)
    limit = asked.limit
    if asked.before is not None:
        rows = selection.list_before(asked.before, limit)
        return FoundWindow(selection, rows, max(len(rows) - 1, 0), asked.before)
    if asked.around is None:
        first = 0 if asked.after is None else asked.after + 1
        return FoundWindow(selection, selection.list_after(first, limit), 0, first)
    if asked.around == _END:
        at = selection.total
    elif asked.around.isascii() and asked.around.isdigit() and len(asked.around) <= _LONGEST_INDEX:
        at = int(asked.around)
    else:
        chapter, at = _find_message(session, None if source is None else chapter, asked.around)
        selection = replace(selection, chapter=chapter)
    below = selection.list_after(at, limit - limit // 2)
    left = limit - selection.count_items(below)
    above = selection.list_before(at, left) if left > 0 else []
    return FoundWindow(selection, [*above, *below], len(above) if below else max(len(above) - 1, 0), at)


def view_window(
    store: Store, scope: Scope, session: StoredSession, found: FoundWindow
) -> tuple[messages.Message, ...]:
    """Return messages of one chapter with what they say; fewer, around the anchor, if that is very much.

    Where results are asked for, these come behind the message with which they are shown.
    """
    selection, chapter = found.selection, found.selection.chapter
    if chapter is None or not found.rows:
        return ()
    calls = chapter.list_calls_of(found.rows)
    wanted = {row.index: _list_lines(row, calls.get(row.index, ())) for row in found.rows}
    rows = limit_by_size(found.rows, lambda row: chapter.measure(wanted[row.index]), found.anchor)
    lines = read_lines(chapter, (number for row in rows for number in wanted[row.index]))
    lines |= read_lines(chapter, _list_copies(rows, calls, lines))
    window = messages.MessageContext(
        key=session.key,
        session_id=name_session(session),
        chapter=chapter,
        calls=calls,
        ids=_list_ids(chapter, rows),
        answers=_find_answers(store, scope, lines.values()),
        shared=_SHARED.get_or_build(
            store, (scope, session.key, session.revision), lambda: list_shared(store, scope, session)
        ),
        viewer=messages.CallViewer(store, scope, session),
    )
    shown: list[messages.Message] = []
    for row in rows:
        built = build_message(row, lines, calls.get(row.index, ()))
        if selection.is_wanted(row):
            shown.append(messages.view_message(row, built, window))
        if selection.has_results and selection.is_shown_by(row):
            shown += messages.view_results(row, built, window)
    return tuple(shown)


def read_titles(chapter: Chapter, rows: Sequence[MessageRecord]) -> dict[int, str]:
    """Return how messages begin, by their indexes; only of the first, if they are very long together."""
    rows = limit_by_size(rows, lambda row: chapter.measure(row.lines[: row.own_lines]))
    lines = read_lines(chapter, (number for row in rows for number in row.lines[: row.own_lines]))
    return {row.index: one_line(build_message(row, lines).text) for row in rows}


def _find_message(session: SessionRecords, chapter: Chapter | None, id: str) -> tuple[Chapter, int]:
    """Return where the message with an id is, in one chapter or any; raises `NotFoundError`."""
    taken = _TAKEN_OUT.fullmatch(id)
    # What is taken out is a call or a result, which is shown with the message that holds the call.
    for name in (id,) if taken is None else (id, taken[1]):
        if chapter is None:
            found = session.find_message(name)
        else:
            row = chapter.find_message(name)
            found = None if row is None else (chapter, row)
        if found is not None:
            return found[0], found[1].index
    raise NotFoundError("There is no such message")


def _list_lines(row: MessageRecord, calls: Sequence[CallRecord]) -> list[int]:
    results = (call.result_line for call in calls if call.result_line is not None)
    return [*row.lines[: row.own_lines], *results]


def _list_copies(
    rows: Iterable[MessageRecord], calls: Mapping[int, Sequence[CallRecord]], lines: Mapping[int, Line]
) -> Iterator[int]:
    """Yield the folded lines that may contain a copy describing a call; few calls have one."""
    for row in rows:
        if any(is_copied_call(call, lines) for call in calls.get(row.index, ())):
            yield from row.lines[row.own_lines : row.own_lines + _MOST_FOLDED]


def _list_ids(chapter: Chapter, rows: Sequence[MessageRecord]) -> dict[int, str]:
    """Return the ids of messages, and of those that they follow."""
    ids = {row.index: row.id for row in rows}
    above = chapter.list_at(row.parent for row in rows if row.parent is not None and row.parent not in ids)
    return ids | {row.index: row.id for row in above}


def _find_answers(store: Store, scope: Scope, lines: Iterable[Line]) -> dict[str, messages.AnswerUsage]:
    """Return what the answers in some lines used, by what they are known by."""
    ids = {name_answer(line) for line in lines}
    found = store.read_usage(scope).find_answers([each for each in ids if each is not None])
    return {
        use.message_id: messages.AnswerUsage(
            usage=messages.MessageUsage(
                input_tokens=use.input,
                output_tokens=use.output,
                cache_read_input_tokens=use.cache_read,
                cache_creation_input_tokens=use.cache_write,
            ),
            cost=None if use.cost is None else to_dollars(use.cost),
        )
        for use in found
    }

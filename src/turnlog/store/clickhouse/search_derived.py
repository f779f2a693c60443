"""The derived rows around texts: messages, calls, agents, as of the revision in which their session was found.

What is newest among a few rows is found here: to have the engine order them takes longer than to read them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.kinds import AGENTS, CALLS, MESSAGES, PLACEMENTS
from turnlog.store.packing import Cells, unpack_row, unpack_text
from turnlog.store.rows import MessageRow
from turnlog.store.search.text_rows import Call, Chapter, Message

__all__ = ["INPUT", "OUTPUT", "DerivedLookup", "SeenSessions", "spell_places"]

INPUT, OUTPUT = "tool-input", "tool-output"
"""The kinds of texts that calls have."""
_ROWS = """
SELECT session, source, idx, revision, write, gone, {column} FROM rows
WHERE born IN {{days:Array(Date)}} AND (session, kind, source, idx) IN ({spots})
"""
_CALLS = f"""
SELECT session, source, idx, revision, write, gone, name, category, path, at_source, at_generation, at_start,
    block, result_source, result_generation, result_start, result_block
FROM rows WHERE born IN {{days:Array(Date)}} AND session IN {{sessions:Array(UInt128)}}
AND kind = {CALLS.number} AND (at_start IN {{starts:Array(Int64)}} OR result_start IN {{starts:Array(Int64)}})
"""
_AGENTS = f"""
SELECT session, source, idx, revision, write, gone, id, agent_type FROM rows
WHERE born IN {{days:Array(Date)}} AND session IN {{sessions:Array(UInt128)}} AND kind = {AGENTS.number}
AND source = 0
"""
_RowKey = tuple[int, int, int]
"""Session, source, and index; of a line, its number."""


class SeenSessions:
    """Sessions that were found to be such as may be seen: of others nothing is asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._born: dict[int, date] = {}
        self._revisions: dict[int, int] = {}

    def add(self, session: int, born: date, revision: int) -> None:
        """Take a session; all that is asked of it is as of the revision in which it was found first."""
        self._born[session] = born
        self._revisions.setdefault(session, revision)

    def find_revision(self, session: int) -> int:
        """Return the revision in which a session was found."""
        return self._revisions[session]

    def ask(self, statement: str, sessions: Iterable[int], values: Mapping[str, Any]) -> list[Cells]:
        """Return rows of a statement about some sessions; `{days:Array(Date)}` says where these are."""
        wanted = sorted(set(sessions))
        days = sorted({self._born[session] for session in wanted})
        return self._engine.query(statement, {"sessions": wanted, "days": days, **values})


class DerivedLookup:
    """Looks up derived rows; what it has learned it keeps."""

    def __init__(self, seen: SeenSessions) -> None:
        self._seen = seen
        self._messages: dict[_RowKey, Message] = {}
        self._calls: dict[tuple[str, int, int, int, int], Call] = {}
        self._agents: dict[int, dict[str, str | None]] = {}

    def find_message(self, chapter: Chapter, number: int) -> Message | None:
        """Return the message that a line belongs to."""
        return self._messages.get((chapter.session, chapter.source, number))

    def find_call(self, chapter: Chapter, kind: str, start: int, block: int) -> Call | None:
        """Return the call whose input or output a block is."""
        return self._calls.get((kind, chapter.source, chapter.generation, start, block))

    def find_agent_type(self, chapter: Chapter, agent_id: str) -> str | None:
        """Return the type of an agent."""
        return self._agents.get(chapter.session, {}).get(agent_id)

    def load_messages(self, lines: Iterable[tuple[Chapter, int]]) -> None:
        """Look up the messages that lines belong to."""
        wanted = {(chapter.session, chapter.source, number) for chapter, number in lines}
        wanted -= self._messages.keys()
        placed: dict[_RowKey, list[int]] = {}
        for (session, source, number), message in self._list_cells(PLACEMENTS.number, "message", wanted):
            if message is not None:
                placed.setdefault((session, source, message), []).append(number)
        for key, row in self._list_cells(MESSAGES.number, "row", placed.keys()):
            message = _unpack_message(unpack_row(MessageRow, row))
            for number in placed[key]:
                self._messages[key[0], key[1], number] = message

    def load_calls(self, places: Collection[tuple[Chapter, int]]) -> None:
        """Look up the calls whose input or output is in lines, given where these begin."""
        if not places:
            return
        sessions = {chapter.session for chapter, _ in places}
        rows = self._seen.ask(_CALLS, sessions, {"starts": sorted({start for _, start in places})})
        for row in self._list_current(rows):
            _, source, index, _, _, _, name, category, path, *where = row
            call = Call(index, unpack_text(name), unpack_text(category), unpack_text(path))
            at, result = where[:4], where[4:]
            if at[0] == source:  # not one that another file tells of
                self._calls.setdefault((INPUT, *at), call)
            self._calls.setdefault((OUTPUT, *result), call)

    def load_agents(self, lines: Iterable[tuple[Chapter, int]]) -> None:
        """Look up the agents of sessions, if any of some lines is one's; their messages are known by now."""
        sessions = set[int]()
        for chapter, number in lines:
            message = self.find_message(chapter, number)
            if chapter.agent_id is not None or (message is not None and message.agent_id is not None):
                sessions.add(chapter.session)
        sessions -= self._agents.keys()
        if sessions:
            self._agents.update((session, {}) for session in sessions)
            for row in self._list_newest(self._seen.ask(_AGENTS, sessions, {})):
                agent, name = map(unpack_text, row[-2:])
                self._agents[row[0]].setdefault(agent, name)

    def _list_newest(self, rows: Iterable[Cells]) -> list[Cells]:
        """Return rows as of the revisions that were found, those that are there, by index.

        A row begins with its session, source, index, revision and write, and whether it is gone.
        """
        newest: dict[_RowKey, Cells] = {}
        for row in rows:
            key = row[0], row[1], row[2]
            former = newest.get(key)
            if row[3] <= self._seen.find_revision(key[0]) and (former is None or former[3:5] < row[3:5]):
                newest[key] = row
        return [newest[key] for key in sorted(newest) if not newest[key][5]]

    def _list_current(self, rows: Sequence[Cells]) -> list[Cells]:
        """Return those of some calls that are as they are now: a call may have had another result before."""
        newest = self._list_newest(rows)
        # What was written once has no former rows.
        changed = {row[:3] for row in newest if self._seen.find_revision(row[0]) > 1}
        current = dict(self._list_cells(CALLS.number, "revision", changed))
        return [row for row in newest if row[:3] not in changed or current.get(row[:3]) == row[3]]

    def _list_cells(self, kind: int, column: str, wanted: Collection[Cells]) -> list[tuple[_RowKey, Any]]:
        """Return a column of rows, by session, source and index."""
        if not wanted:
            return []
        spots = [(session, kind, source, index) for session, source, index in sorted(wanted)]
        statement = _ROWS.format(column=column, spots=spell_places(spots))
        rows = self._list_newest(self._seen.ask(statement, (session for session, *_ in spots), {}))
        return [((row[0], row[1], row[2]), row[-1]) for row in rows]


def spell_places(places: Iterable[tuple[int, ...]]) -> str:
    """Return tuples of numbers as they stand in a statement: as text, since some are wide."""
    return ", ".join(str(tuple(map(str, place))) for place in places)


def _unpack_message(row: MessageRow) -> Message:
    return Message(row.index, row.id, row.role, row.category, row.model, row.agent_id, row.is_sidechain)

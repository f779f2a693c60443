"""The rows around texts, looked up for many texts at once: each question takes a way to the server and back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from psycopg import Connection

from turnlog.store.identity import Scope
from turnlog.store.packing import Cells, unpack_row, unpack_text
from turnlog.store.postgres.search_frames import FrameReader, Stretch
from turnlog.store.postgres.search_walk import Proposal
from turnlog.store.rows import MessageRow
from turnlog.store.search.packing import KINDS
from turnlog.store.search.text_rows import HOOKS, Call, Chapter, Delivery, Message

__all__ = ["PostgresTextRows"]

_CHAPTERS = """
SELECT g.id, g.month, g.generation, s.id, s.source, s.agent_id, e.id, e.month, e.key, e.session_id,
    t.session_id, t.project, t.title, CASE WHEN s.kind = 'transcript' AND 1 = (
        SELECT count(*) FROM sources WHERE session = e.id AND kind = 'transcript'
    ) THEN t.branches END, x.person, e.origin, {host}
FROM generations AS g JOIN sources AS s ON s.id = g.source JOIN sessions AS e ON e.id = s.session
JOIN access AS x ON x.session = e.id LEFT JOIN summaries AS t ON t.session = e.id {more}
WHERE s.owner = %(owner)s AND {where}
"""
_SOME = _CHAPTERS.format(host="NULL", more="", where="g.id = ANY(%(generations)s::bigint[])")
_NEWEST = _CHAPTERS.format(
    host="h.host",
    more="LEFT JOIN machines AS h ON h.owner = e.owner AND h.origin = e.origin",
    where="g.id = s.newest",
)
# What stands in LATERAL is looked up in an index for each, even by a server that has not counted rows yet.
_LINES = """
SELECT w.generation, w.number, l.start, l.length, l.sidechain
FROM unnest(%s::bigint[], %s::bigint[]) AS w (generation, number) CROSS JOIN LATERAL (
    SELECT l.start, l.length, l.sidechain FROM lines AS l
    WHERE l.month = ANY(%s::integer[]) AND l.generation = w.generation AND l.number = w.number LIMIT 1
) AS l
"""
_MESSAGES = """
SELECT w.session, w.source, w.number, m.row
FROM unnest(%(sessions)s::bigint[], %(sources)s::bigint[], %(numbers)s::bigint[])
    AS w (session, source, number)
CROSS JOIN LATERAL (
    SELECT p.message FROM placements AS p
    WHERE p.month = ANY(%(months)s::integer[]) AND p.session = w.session AND p.source = w.source
    AND p.idx = w.number LIMIT 1
) AS p
CROSS JOIN LATERAL (
    SELECT m.row FROM messages AS m
    WHERE m.month = ANY(%(months)s::integer[]) AND m.session = w.session AND m.source = w.source
    AND m.idx = p.message LIMIT 1
) AS m
"""
_CALL = """
SELECT w.place, c.idx, c.name, c.category, c.path
FROM unnest(
    %(sessions)s::bigint[], %(sources)s::bigint[], %(generations)s::bigint[], %(starts)s::bigint[],
    %(blocks)s::bigint[]
) WITH ORDINALITY AS w (session, source, generation, start, block, place)
CROSS JOIN LATERAL (
    SELECT c.idx, c.name, c.category, c.path FROM calls AS c
    WHERE c.month = ANY(%(months)s::integer[]) AND c.session = w.session AND {} LIMIT 1
) AS c
"""
_CALLS = {
    "tool-input": _CALL.format(
        "c.source = w.source AND c.generation = w.generation AND c.start = w.start AND c.block = w.block "
        "AND c.at_source IS NULL"
    ),
    "tool-output": _CALL.format(
        "c.result_source = w.source AND c.result_generation = w.generation AND c.result_start = w.start "
        "AND c.result_block = w.block"
    ),
}
_AGENTS = """
SELECT a.session, a.id, a.type FROM agents AS a
WHERE a.month = ANY(%s::integer[]) AND a.session = ANY(%s::bigint[]) ORDER BY a.idx
"""
_DELIVERIES = """
SELECT d.id, d.payload, d.delivery_id, d.session_id, d.tool_name, e.key, e.project, e.title,
    coalesce(h.person, e.person), d.origin, h.host
FROM delivery_numbers AS n
JOIN hook_deliveries AS d ON d.id = n.id AND d.received_ns = n.received_ns
LEFT JOIN machines AS h ON h.owner = d.owner AND h.origin = d.origin
LEFT JOIN LATERAL (
    SELECT x.key, t.project, t.title, x.person FROM summaries AS t JOIN access AS x ON x.session = t.session
    WHERE t.owner = d.owner AND substring(t.session_id from 1 for 64) = substring(d.session_id from 1 for 64)
    AND t.session_id = d.session_id AND (h.person IS NULL OR x.person = h.person) ORDER BY x.key LIMIT 1
) AS e ON true
WHERE n.id = ANY(%s::bigint[]) AND n.owner = %s
"""
_SEEN = """
SELECT d.id FROM delivery_numbers AS n
JOIN hook_deliveries AS d ON d.id = n.id AND d.received_ns = n.received_ns
WHERE n.id = ANY(%s::bigint[]) AND n.owner = %s
"""
_Spot = tuple[int, int]
"""A generation and the number of a line."""


class PostgresTextRows:
    """Looks up rows of one owner; what it has learned it keeps."""

    def __init__(self, connection: Connection, scope: Scope, frames: FrameReader) -> None:
        self._connection = connection
        self._owner = scope.owner
        self._frames = frames
        self._chapters: dict[int, Chapter | None] = {}
        self._months: dict[int, int] = {}
        """Of lines and frames, by generation."""
        self._session_months: dict[int, int] = {}
        self._lines: dict[_Spot, tuple[int, int, bool]] = {}
        self._messages: dict[tuple[int, int, int], Message] = {}
        self._calls: dict[tuple[str, int, int, int], Call] = {}
        self._agents: dict[int, dict[str, str | None]] = {}
        self._deliveries: dict[int, tuple[bytes, Delivery]] = {}

    def prepare(self, proposals: Sequence[Proposal]) -> None:
        """Look up all that is asked for some texts, but for the bytes of their lines."""
        own = [proposal for proposal in proposals if proposal.generation != HOOKS]
        self._load_chapters({proposal.generation for proposal in own})
        own = [proposal for proposal in own if self._chapters[proposal.generation] is not None]
        self._load_lines({(proposal.generation, proposal.text.number) for proposal in own})
        self._load_messages(own)
        self._load_calls(own)
        self._load_deliveries({each.text.number for each in proposals if each.generation == HOOKS})

    def list_seen(self, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Return which of some texts may be seen: of files the index says so itself."""
        numbers = [each.text.number for each in proposals if each.generation == HOOKS]
        if not numbers:
            return list(proposals)
        seen = {number for (number,) in self._connection.execute(_SEEN, (numbers, self._owner))}
        return [each for each in proposals if each.generation != HOOKS or each.text.number in seen]

    def prepare_bytes(self, proposals: Iterable[Proposal]) -> None:
        """Fetch the bytes of the lines of some texts."""
        spots = {(proposal.generation, proposal.text.number) for proposal in proposals} & self._lines.keys()
        self._frames.prepare([self._find_stretch(spot) for spot in sorted(spots)])

    def find_chapter(self, generation: int) -> Chapter | None:
        """Return the file that a generation is of; None if it is somebody else's."""
        if generation not in self._chapters:
            self._load_chapters({generation})
        return self._chapters[generation]

    def load_chapters(self) -> None:
        """Look up the newest generations of all files at once."""
        self._take_chapters(self._connection.execute(_NEWEST, {"owner": self._owner}))

    def list_generations(self) -> list[int]:
        """Return the generations that were looked up and are the owner's, and that of hook deliveries."""
        return [HOOKS, *(number for number, chapter in self._chapters.items() if chapter is not None)]

    def find_line(self, generation: int, number: int) -> tuple[int, int, bool] | None:
        """Return where a line begins, how long it is, and whether it calls itself a sidechain's."""
        return self._lines.get((generation, number))

    def find_message(self, chapter: Chapter, number: int) -> Message | None:
        """Return the message that a line belongs to."""
        return self._messages.get((chapter.session, chapter.source, number))

    def find_call(
        self, chapter: Chapter, kind: str, start: int, block: int, *, all_at_once: bool
    ) -> Call | None:
        """Return the call whose input or output a block is."""
        return self._calls.get((kind, chapter.source, start, block))

    def list_agent_names(self, chapter: Chapter, agent_id: str | None) -> tuple[str, ...]:
        """Return the id and the type of an agent."""
        if agent_id is None:
            return ()
        if chapter.session not in self._agents:
            self._load_agents(chapter.session)
        name = self._agents[chapter.session].get(agent_id)
        return (agent_id,) if name is None else (agent_id, name)

    def find_payload(self, number: int) -> bytes | None:
        """Return what a hook was given."""
        found = self._deliveries.get(number)
        return None if found is None else found[0]

    def find_delivery(self, number: int) -> Delivery | None:
        """Return a hook delivery."""
        found = self._deliveries.get(number)
        return None if found is None else found[1]

    def _load_chapters(self, generations: Iterable[int]) -> None:
        missing = [number for number in generations if number not in self._chapters]
        if missing:
            self._chapters.update(dict.fromkeys(missing))
            values = {"owner": self._owner, "generations": missing}
            self._take_chapters(self._connection.execute(_SOME, values))

    def _take_chapters(self, rows: Iterable[Cells]) -> None:
        for number, month, *cells in rows:
            self._chapters[number] = chapter = _unpack_chapter(cells)
            self._months[number] = month
            self._session_months[chapter.session] = cells[5]

    def _load_lines(self, spots: Collection[_Spot]) -> None:
        missing = [spot for spot in spots if spot not in self._lines]
        if missing:
            generations = [generation for generation, _ in missing]
            values = generations, [number for _, number in missing], self._list_months(generations)
            for generation, number, *line in self._connection.execute(_LINES, values):
                self._lines[generation, number] = tuple(line)

    def _list_months(self, generations: Iterable[int]) -> list[int]:
        return sorted({self._months[generation] for generation in generations})

    def _list_session_months(self, sessions: Iterable[int]) -> list[int]:
        return sorted({self._session_months[session] for session in sessions})

    def _find_stretch(self, spot: _Spot) -> Stretch:
        generation, _ = spot
        chapter, (start, length, _) = self._chapters[generation], self._lines[spot]
        name = (chapter.name, chapter.generation) if chapter is not None else ("", 0)
        return Stretch(name, generation, self._months[generation], start, start + length)

    def _load_messages(self, proposals: Iterable[Proposal]) -> None:
        wanted = {
            (chapter.session, chapter.source, proposal.text.number)
            for proposal in proposals
            if (chapter := self._chapters[proposal.generation]) is not None
        }
        wanted -= self._messages.keys()
        if wanted:
            values = _fill(("sessions", "sources", "numbers"), sorted(wanted))
            values["months"] = self._list_session_months(values["sessions"])
            for session, source, number, row in self._connection.execute(_MESSAGES, values):
                self._messages[session, source, number] = _unpack_message(unpack_row(MessageRow, row))

    def _load_calls(self, proposals: Iterable[Proposal]) -> None:
        wanted: dict[str, list[tuple[int, ...]]] = {}
        for proposal in proposals:
            kind, chapter = KINDS[proposal.text.kind], self._chapters[proposal.generation]
            line = self._lines.get((proposal.generation, proposal.text.number))
            if kind in _CALLS and chapter is not None and line is not None:
                place = chapter.session, chapter.source, chapter.generation, line[0], proposal.text.block
                wanted.setdefault(kind, []).append(place)
        for kind, places in wanted.items():
            values = _fill(("sessions", "sources", "generations", "starts", "blocks"), places)
            values["months"] = self._list_session_months(values["sessions"])
            for at, index, name, category, path in self._connection.execute(_CALLS[kind], values):
                _, source, _, start, block = places[at - 1]
                call = Call(index, unpack_text(name), category, unpack_text(path))
                self._calls.setdefault((kind, source, start, block), call)

    def _load_agents(self, session: int) -> None:
        names = self._agents[session] = dict[str, str | None]()
        values = [self._session_months[session]], [session]
        for _, agent, name in self._connection.execute(_AGENTS, values):
            names.setdefault(unpack_text(agent), unpack_text(name))

    def _load_deliveries(self, numbers: Iterable[int]) -> None:
        missing = [number for number in numbers if number not in self._deliveries]
        if missing:
            rows = self._connection.execute(_DELIVERIES, (missing, self._owner))
            for number, payload, *cells in rows:
                self._deliveries[number] = payload, _unpack_delivery(cells)


def _fill(names: Sequence[str], rows: Sequence[tuple[int, ...]]) -> dict[str, list[int]]:
    """Return rows as columns, by name."""
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _unpack_delivery(cells: Sequence[Any]) -> Delivery:
    name, session, tool, key, project, title, person, *machine = cells
    return Delivery(
        unpack_text(name),
        unpack_text(session),
        unpack_text(tool),
        key,
        unpack_text(project),
        unpack_text(title),
        person,
        _name_machine(*machine),
    )


def _name_machine(origin: bytes, host: bytes | None) -> tuple[str, ...]:
    return tuple(map(unpack_text, (origin, host) if host else (origin,)))


def _unpack_chapter(cells: Sequence[Any]) -> Chapter:
    (
        generation, source, name, agent, session, _, key, file_id, own_id, project, title, branches, person,
        *machine,
    ) = cells  # fmt: skip
    file_id, own_id = unpack_text(file_id), unpack_text(own_id)
    names = [each for each in (file_id, own_id, key) if each is not None]
    return Chapter(
        generation,
        source,
        name,
        unpack_text(agent),
        session,
        key,
        tuple(dict.fromkeys(names)),
        own_id or file_id,
        unpack_text(project),
        unpack_text(title),
        None if branches is None else tuple(map(unpack_text, branches)),
        person,
        _name_machine(*machine),
    )


def _unpack_message(row: MessageRow) -> Message:
    return Message(row.index, row.id, row.role, row.category, row.model, row.agent_id, row.is_sidechain)

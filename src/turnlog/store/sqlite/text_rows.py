"""The rows around a text: its file and session, its message, its call, its hook delivery."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import apsw
from msgspec import json
from msgspec.structs import replace

from turnlog.store.identity import Scope
from turnlog.store.search.text_rows import HOOKS, Call, Chapter, Delivery, Message
from turnlog.store.sqlite.values import Cells, unpack_text, unpack_uuid

__all__ = ["SqliteTextRows"]

_CHAPTER = """
SELECT g.id, g.generation, s.id, s.source, s.agent_id, e.id, e.key, e.session_id, t.session_id, t.project,
    t.title, CASE WHEN s.kind = 'transcript' AND 1 = (
        SELECT count(*) FROM sources WHERE session = e.id AND kind = 'transcript'
    ) THEN t.branches END, e.origin, x.person
FROM generations AS g JOIN sources AS s ON s.id = g.source JOIN sessions AS e ON e.id = s.session
LEFT JOIN summaries AS t ON t.session = e.id LEFT JOIN access AS x ON x.session = e.id WHERE s.owner = ?
"""
_ONE = " AND g.id = ?"
_LINE = "SELECT start, length, sidechain FROM lines WHERE generation = ? AND number = ?"
_MESSAGE = """
SELECT m.idx, m.id, m.role, m.category, m.model, m.agent, m.sidechain
FROM placements AS p JOIN messages AS m ON m.session = p.session AND m.source = p.source AND m.idx = p.message
WHERE p.session = ? AND p.source = ? AND p.idx = ?
"""
_CALL = """
SELECT start AS at, block AS inner, idx, name, category, path FROM calls INDEXED BY calls_by_place
WHERE session = ? AND source = ? AND generation = ? AND at_source IS NULL
"""
_RESULT = """
SELECT result_start AS at, result_block AS inner, idx, name, category, path
FROM calls INDEXED BY calls_by_result
WHERE session = ? AND result_source = ? AND result_generation = ? AND result_start IS NOT NULL
"""
_ALL = -1
"""The number of no generation: all are there."""
_AT = " AND at = ? AND inner = ?"
_CALLS = {"tool-input": _CALL, "tool-output": _RESULT}
_PAYLOAD = "SELECT payload FROM hook_deliveries WHERE id = ? AND owner = ?"
_DELIVERY = """
SELECT d.delivery_id, d.session_id, d.tool_name, d.origin, e.key, t.project, t.title, x.person
FROM hook_deliveries AS d LEFT JOIN summaries AS t ON t.owner = d.owner AND t.session_id = d.session_id
LEFT JOIN sessions AS e ON e.id = t.session LEFT JOIN access AS x ON x.session = t.session
WHERE d.id = ? AND d.owner = ? ORDER BY e.key
"""
_MACHINES = "SELECT origin, person, host FROM machines WHERE owner = ?"


_Place = tuple[int, int, int]


class SqliteTextRows:
    """Looks up rows of one owner; what it has learned it keeps."""

    def __init__(
        self,
        connection: apsw.Connection,
        scope: Scope,
        words: Mapping[int | None, Any],
        chapters: dict[int, Chapter | None],
    ) -> None:
        """Begin with nothing looked up but some `chapters`, by the numbers of their generations."""
        self._connection = connection
        self._scope = scope
        self._words = words
        self._chapters = chapters
        self._calls: dict[tuple[str, _Place], dict[tuple[int, int], Call]] = {}
        self._agent_types: dict[tuple[int, str], str | None] = {}

    def find_chapter(self, generation: int) -> Chapter | None:
        """Return the file that a generation is of; None if it is somebody else's."""
        if generation not in self._chapters:
            rows = self._connection.execute(_CHAPTER + _ONE, (self._scope.owner, generation))
            self._chapters[generation] = next((_unpack_chapter(row[1:]) for row in rows), None)
        return self._chapters[generation]

    def load_chapters(self) -> None:
        """Look up all files at once, for a query that asks for each where it is."""
        if _ALL not in self._chapters:
            for number, *row in self._connection.execute(_CHAPTER, (self._scope.owner,)):
                chapter = _unpack_chapter(tuple(row))
                self._chapters[number] = replace(chapter, machine=self._name_machine(*chapter.machine))
            self._chapters[_ALL] = None

    def find_line(self, generation: int, number: int) -> tuple[int, int, bool] | None:
        """Return where a line begins, how long it is, and whether it calls itself a sidechain's."""
        for start, length, is_sidechain in self._connection.execute(_LINE, (generation, number)):
            return start, length, bool(is_sidechain)
        return None

    def find_message(self, chapter: Chapter, number: int) -> Message | None:
        """Return the message that a line belongs to."""
        rows = self._connection.execute(_MESSAGE, (chapter.session, chapter.source, number))
        for index, id, role, category, model, agent, sidechain in rows:
            word = self._words
            return Message(
                index, unpack_uuid(id), word[role], word[category], word[model], word[agent], bool(sidechain)
            )
        return None

    def find_call(
        self, chapter: Chapter, kind: str, start: int, block: int, *, all_at_once: bool
    ) -> Call | None:
        """Return the call whose input or output a block is; `all_at_once` pays if most are asked for."""
        query = _CALLS.get(kind)
        if query is None:
            return None
        place = (chapter.session, chapter.source, chapter.generation)
        if not all_at_once:
            rows = self._connection.execute(query + _AT, (*place, start, block))
            return next((self._unpack_call(*row) for _, _, *row in rows), None)
        if (kind, place) not in self._calls:
            rows = self._connection.execute(query, place)
            self._calls[kind, place] = {(at, inner): self._unpack_call(*row) for at, inner, *row in rows}
        return self._calls[kind, place].get((start, block))

    def list_agent_names(self, chapter: Chapter, agent_id: str | None) -> tuple[str, ...]:
        """Return the id and the type of an agent."""
        if agent_id is None:
            return ()
        key = chapter.session, agent_id
        if key not in self._agent_types:
            query = "SELECT type FROM agents WHERE session = ? AND id = ?"
            names = [self._words[name] for (name,) in self._connection.execute(query, key)]
            self._agent_types[key] = names[0] if names else None
        name = self._agent_types[key]
        return (agent_id,) if name is None else (agent_id, name)

    def is_seen(self, generation: int, number: int) -> bool:
        """Tell whether a text may be seen; of a file it was told before."""
        if generation != HOOKS or self._scope.viewer is None:
            return True
        query = "SELECT 1 FROM hook_deliveries WHERE id = ? AND owner = ?"
        return bool(self._connection.execute(query, (number, self._scope.owner)).fetchall())

    def find_payload(self, number: int) -> bytes | None:
        """Return what a hook was given."""
        rows = self._connection.execute(_PAYLOAD, (number, self._scope.owner))
        return next((bytes(payload) for (payload,) in rows), None)

    def find_delivery(self, number: int) -> Delivery | None:
        """Return a hook delivery."""
        rows: list[Cells] = self._connection.execute(_DELIVERY, (number, self._scope.owner)).fetchall()
        if not rows:
            return None
        delivery_id, session_id, tool, origin = rows[0][:4]
        origin = unpack_text(origin)
        person, _ = self._machines.get(origin, (None, ""))
        # What hooks tell on one person's machine is not of another's session.
        of_sessions = [cells[4:] for cells in rows if person in (None, cells[7])]
        key, project, title, whose = of_sessions[0] if of_sessions else (None, None, None, None)
        machine = self._name_machine(origin)
        return Delivery(
            delivery_id, session_id, tool, key, unpack_text(project), title, person or whose, machine
        )

    @cached_property
    def _machines(self) -> dict[str, tuple[str | None, str]]:
        """All machines that may be known: whose they are, and what they call themselves."""
        rows = self._connection.execute(_MACHINES, (self._scope.owner,))
        return {unpack_text(origin): (person, host) for origin, person, host in rows}

    def _name_machine(self, origin: str) -> tuple[str, ...]:
        _, host = self._machines.get(origin, (None, ""))
        return (origin, host) if host else (origin,)

    def _unpack_call(self, index: int, name: int, category: int | None, path: Any) -> Call:
        return Call(index, self._words[name], self._words[category], unpack_text(path))


def _unpack_chapter(cells: tuple[Any, ...]) -> Chapter:
    (
        generation, source, name, agent_id, session, key, file_id, own_id, project, title, branches, origin,
        person,
    ) = cells  # fmt: skip
    names = [unpack_text(file_id), own_id, key]
    return Chapter(
        generation,
        source,
        name,
        unpack_text(agent_id),
        session,
        key,
        tuple(dict.fromkeys(each for each in names if each is not None)),
        own_id or unpack_text(file_id),
        unpack_text(project),
        title,
        None if branches is None else json.decode(branches, type=tuple[str, ...]),
        person,
        (unpack_text(origin),),
    )

"""Hook events between messages: found by the index of calls and by time, never by going through a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw
from msgspec import Struct, json

from turnlog.store.identity import Place, Scope
from turnlog.store.sqlite.chapters import MAIN, SESSION, Values, build_values, name_chapter
from turnlog.store.sqlite.derived_kinds import PLACEMENTS
from turnlog.store.sqlite.kinds import UnpackContext
from turnlog.store.sqlite.values import Cells
from turnlog.store.timeline import (
    LONGEST_CONTEXT,
    PARENTS_EVENTS,
    EventFact,
    HookFact,
    HookPlace,
    HooksUnder,
    rank_hook,
)
from turnlog.transcripts.hooks.matching import NEAR, Told

__all__ = ["IS_EVENT", "OF_SESSION", "Timelines"]

OF_SESSION = "d.owner = :owner AND d.session_id = :id"
IS_EVENT = f"{OF_SESSION} AND d.event_name <> 'SessionEnd' AND d.notification_type IS NOT 'auth_success'"
"""Which deliveries are events of a session (spec 002)."""
_NAMES = HookFact.__struct_fields__
_FACT = ", ".join(
    f"iif(length(d.context) <= {LONGEST_CONTEXT}, d.context, NULL)" if name == "context" else f"d.{name}"
    for name in _NAMES
)
_SPEAKER = f"iif(d.event_name IN {PARENTS_EVENTS}, NULL, d.agent_id)"
"""The sub-agent whose event it is."""
_SAME_CALL = "substr(c.id, -8) = substr(d.tool_use_id, -8) AND c.id = d.tool_use_id AND c.message IS NOT NULL"
_IN_MAIN = f"""({_SPEAKER} IS NULL OR {_SPEAKER} NOT IN (
    SELECT agent_id FROM sources WHERE session = :session AND agent_id IS NOT NULL
))"""
_IN_AGENT = f"{_SPEAKER} = (SELECT agent_id FROM sources WHERE id = :chapter)"
_BY_TIME = f"""
d INDEXED BY hook_deliveries_by_session ON {IS_EVENT} AND NOT EXISTS (
    SELECT 1 FROM calls AS c INDEXED BY calls_by_id WHERE c.session = :session AND {_SAME_CALL}
)
"""
_END = (1 << 63) - 1

_UNDER_CALLERS = f"""
FROM calls AS t INDEXED BY calls_by_message
CROSS JOIN hook_deliveries AS d INDEXED BY hook_deliveries_by_call ON d.tool_use_id = t.id AND {IS_EVENT}
WHERE t.session = :session AND t.source = :chapter AND t.message IN (SELECT value FROM json_each(:numbers))
    AND t.idx = (
        SELECT min(c.idx) FROM calls AS c INDEXED BY calls_by_id
        WHERE c.session = :session AND c.source = :chapter AND {_SAME_CALL}
    )
"""
_UNDER_LAST = f"""
FROM json_each(:numbers) AS w
CROSS JOIN messages AS t ON t.session = :session AND t.source = :chapter AND t.idx = w.value
LEFT JOIN messages AS n ON n.session = :session AND n.source = :chapter AND n.idx = w.value + 1
CROSS JOIN hook_deliveries AS {_BY_TIME}
    AND d.received_ns >= ifnull(t.reached, 0) * 1000
    AND d.received_ns < iif(n.idx IS NULL, {_END}, ifnull(n.reached, 0) * 1000)
"""
_ABOVE = f"""
FROM (SELECT NULL AS message) AS t CROSS JOIN hook_deliveries AS {_BY_TIME}
    AND d.received_ns < ifnull(
        (
            SELECT ifnull(reached, 0) * 1000 FROM messages
            WHERE session = :session AND source = :chapter AND idx = 0
        ),
        {_END}
    )
"""


class _Chapter(Struct, frozen=True, gc=False):
    """A session and a file of it, by their numbers; None if they are not there."""

    session: int | None
    source: int | None
    main: int | None


class Timelines:
    """Asks one connection."""

    def __init__(self, connection: apsw.Connection, context: UnpackContext) -> None:
        self._connection = connection
        self._context = context

    def list_under(
        self,
        scope: Scope,
        key: str,
        session_id: str,
        messages: Sequence[int],
        source: str | None,
        above: bool,
        count: int,
    ) -> HooksUnder:
        """Return the hook events under messages."""
        chapter = self._find_chapter(scope, key, source)
        values = _name(chapter, scope, session_id)
        values |= {"chapter": chapter.source, "numbers": _pack(sorted(set(messages))), "count": count}
        spoken = _IN_MAIN if chapter.source == chapter.main else _IN_AGENT
        parts = [("t.message", _UNDER_CALLERS, True), ("t.idx", f"{_UNDER_LAST} AND {spoken}", False)]
        if above:
            parts.append(("t.message", f"{_ABOVE} AND {spoken}", False))
        found: list[tuple[int | None, bool, HookFact]] = []
        total = 0
        for message, part, is_of_call in parts:
            order = "ORDER BY d.received_ns, d.delivery_id LIMIT :count"
            rows = self._connection.execute(f"SELECT {message}, {_FACT} {part} {order}", values)
            here = [(at, is_of_call, _build(cells)) for at, *cells in rows]
            total += len(here) if len(here) < count else self._count(part, values)
            found += here
        found.sort(key=lambda each: (each[2].received_ns, each[2].delivery_id))
        kept = sorted(
            found[:count],
            key=lambda each: (-1 if each[0] is None else each[0], rank_hook(each[2], each[1])),
        )
        return HooksUnder(tuple((at, fact) for at, _, fact in kept), total)

    def list_at(self, scope: Scope, session_id: str, ids: Sequence[int]) -> list[HookFact]:
        """Return hook events by their numbers."""
        query = f"""
        SELECT {_FACT} FROM json_each(:numbers) AS w CROSS JOIN hook_deliveries AS d ON d.id = w.value
        WHERE {IS_EVENT} ORDER BY d.id
        """
        values = {"owner": scope.owner, "id": session_id, "numbers": _pack(sorted(set(ids)))}
        return [_build(row) for row in self._connection.execute(query, values)]

    def find_places(self, scope: Scope, key: str, session_id: str, ids: Sequence[int]) -> dict[int, HookPlace]:
        """Return where hook events stand."""
        chapter = self._find_chapter(scope, key, None)
        called = f"""
        SELECT d.id, c.source, c.message FROM json_each(:numbers) AS w
        CROSS JOIN hook_deliveries AS d ON d.id = w.value AND {IS_EVENT}
        CROSS JOIN calls AS c INDEXED BY calls_by_id ON c.session = :session AND {_SAME_CALL}
        CROSS JOIN sources AS s ON s.id = c.source
        ORDER BY d.id, c.source IS NOT :main DESC, s.source DESC, c.idx DESC
        """
        values = _name(chapter, scope, session_id) | {"main": chapter.main, "numbers": _pack(sorted(set(ids)))}
        found = {
            number: (source, message) for number, source, message in self._connection.execute(called, values)
        }
        timed = f"""
        SELECT d.id, s.id, (
            SELECT m.idx FROM messages AS m INDEXED BY messages_by_reached
            WHERE m.session = :session AND m.source = s.id AND ifnull(m.reached, 0) <= d.received_ns / 1000
            ORDER BY ifnull(m.reached, 0) DESC, m.idx DESC LIMIT 1
        )
        FROM json_each(:numbers) AS w CROSS JOIN hook_deliveries AS d ON d.id = w.value AND {IS_EVENT}
        LEFT JOIN sources AS s ON s.id = ifnull(
            (
                SELECT id FROM sources WHERE session = :session AND agent_id = {_SPEAKER}
                ORDER BY source LIMIT 1
            ),
            :main
        )
        """
        values["numbers"] = _pack(sorted(set(ids) - found.keys()))
        found |= {
            number: (source, message) for number, source, message in self._connection.execute(timed, values)
        }
        return {number: HookPlace(self._context.source(source), at) for number, (source, at) in found.items()}

    def list_near(self, scope: Scope, session_id: str, lines: Sequence[Told]) -> list[HookFact]:
        """Return the hook events that lines may tell of."""
        event, at = "json_extract(w.value, '$[0]')", "json_extract(w.value, '$[2]')"
        of_call = f"""
        FROM json_each(:lines) AS w CROSS JOIN hook_deliveries AS d INDEXED BY hook_deliveries_by_call
        ON d.tool_use_id = json_extract(w.value, '$[1]') AND d.event_name = {event} AND {IS_EVENT}
        """
        near = f"""
        FROM json_each(:lines) AS w CROSS JOIN hook_deliveries AS d INDEXED BY hook_deliveries_by_session
        ON d.received_ns >= ({at} - {NEAR}) * 1000 AND d.received_ns < ({at} + {NEAR} + 1) * 1000
            AND d.event_name = {event} AND d.tool_use_id IS NULL AND {IS_EVENT}
        """
        values: Values = {"owner": scope.owner, "id": session_id, "lines": _pack_told(lines)}
        return self._list_distinct((of_call, near), values)

    def list_hook_lines(self, scope: Scope, key: str, hooks: Sequence[Told]) -> list[EventFact]:
        """Return the lines that may tell of hook events."""
        word = "(SELECT id FROM words WHERE word = json_extract(w.value, '$[0]'))"
        at = "json_extract(w.value, '$[2]')"
        parts = (
            f"""
            INDEXED BY hook_lines_by_call ON t.session = :session AND t.hook = {word}
                AND t.tool_use_id = json_extract(w.value, '$[1]')
            """,
            f"""
            INDEXED BY hook_lines_by_time ON t.session = :session AND t.hook = {word}
                AND t.time BETWEEN {at} - {NEAR} AND {at} + {NEAR} AND json_extract(w.value, '$[1]') IS NULL
            """,
        )
        chapter = self._find_chapter(scope, key, None)
        values: Values = {"session": chapter.session, "hooks": _pack_told(hooks)}
        return self._list_events(
            [f"json_each(:hooks) AS w CROSS JOIN placements AS t {part}" for part in parts], values
        )

    def list_events_at(self, scope: Scope, key: str, lines: Sequence[tuple[str, int]]) -> list[EventFact]:
        """Return events by file and number."""
        chapter = self._find_chapter(scope, key, None)
        values: Values = {"session": chapter.session, "lines": json.encode(sorted(set(lines))).decode()}
        part = """
        json_each(:lines) AS w
        CROSS JOIN sources AS s ON s.session = :session AND s.source = json_extract(w.value, '$[0]')
        CROSS JOIN placements AS t ON t.session = :session AND t.source = s.id
            AND t.idx = json_extract(w.value, '$[1]') AND t.category IS NOT NULL
        """
        return self._list_events([part], values)

    def find_turns(self, scope: Scope, key: str, times: Sequence[int]) -> dict[int, int]:
        """Return the turns that were under way."""
        query = """
        SELECT w.value, (
            SELECT m.turn FROM messages AS m INDEXED BY messages_by_reached
            WHERE m.session = :session AND m.source = :main AND ifnull(m.reached, 0) <= w.value
                AND m.turn IS NOT NULL
            ORDER BY ifnull(m.reached, 0) DESC, m.idx DESC LIMIT 1
        ) FROM json_each(:times) AS w
        """
        chapter = self._find_chapter(scope, key, None)
        values = {"session": chapter.session, "main": chapter.main, "times": _pack(sorted(set(times)))}
        rows = self._connection.execute(query, values)
        return {time: turn for time, turn in rows if turn is not None}

    def _list_events(self, parts: Iterable[str], values: Values) -> list[EventFact]:
        found: dict[tuple[str, int], EventFact] = {}
        for part in parts:
            query = f"""
            SELECT g.generation, l.start, {PLACEMENTS.cells} FROM {part}
            CROSS JOIN generations AS g ON g.id = (
                SELECT id FROM generations WHERE source = t.source ORDER BY generation DESC LIMIT 1
            )
            CROSS JOIN lines AS l ON l.generation = g.id AND l.number = t.idx
            """
            for generation, start, *cells in self._connection.execute(query, values):
                row = PLACEMENTS.unpack(tuple(cells), self._context)
                found[row.source, row.index] = EventFact(row, Place(row.source, generation, start))
        return [found[place] for place in sorted(found)]

    def _find_chapter(self, scope: Scope, key: str, source: str | None) -> _Chapter:
        query = f"SELECT {SESSION}, {name_chapter(source)}, {MAIN}"
        [row] = self._connection.execute(query, build_values(scope, key, source))
        return _Chapter(*row)

    def _count(self, part: str, values: Values) -> int:
        given = {name: value for name, value in values.items() if name != "count"}
        [(count,)] = self._connection.execute(f"SELECT count(*) {part}", given)
        return int(count)

    def _list_distinct(self, parts: Iterable[str], values: Values) -> list[HookFact]:
        found = {
            fact.id: fact
            for part in parts
            for fact in map(_build, self._connection.execute(f"SELECT {_FACT} {part}", values))
        }
        return [found[number] for number in sorted(found)]


def _name(chapter: _Chapter, scope: Scope, session_id: str) -> Values:
    return {"owner": scope.owner, "session": chapter.session, "id": session_id}


def _build(cells: Cells | list[object]) -> HookFact:
    return HookFact(**dict(zip(_NAMES, cells, strict=True)))


def _pack(numbers: Sequence[int]) -> str:
    return json.encode(numbers).decode()


def _pack_told(told: Sequence[Told]) -> str:
    """Return what is looked for, as SQL reads it; text that no JSON can say is nowhere."""
    wanted = sorted({(each.event, each.tool_use_id, each.at) for each in told}, key=str)
    return json.encode([each for each in wanted if _is_sayable(each)]).decode()


def _is_sayable(values: Iterable[object]) -> bool:
    try:
        json.encode(list(values))
    except UnicodeEncodeError:
        return False
    return True

"""What the action log is made of, as SQL: calls and events of files, and what hooks told.

Each is a query with the same columns: where an action stands (`at`, `file`, `place`, `line`, `part`), its
`number`, and what is filtered by. Files are numbered in the order in which they stand, and hooks come behind
them. Each table costs more to be looked at than most sessions have rows, so what hooks and lines tell of each
other is found out first, where there is any, and given to the query as values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from turnlog.store.actions import ENDING_EVENTS, ActionFilter, ActionKind
from turnlog.store.clickhouse.chapters import SESSION, build_conditions, rows_like
from turnlog.store.clickhouse.kinds import CALLS, PLACEMENTS
from turnlog.store.clickhouse.timeline_parts import IS_EVENT, OF_SESSION
from turnlog.store.timeline import FIRST_EVENTS
from turnlog.transcripts.actions.states import CALL_STATES, FAILED_HOOKS, TOLD_FAILURES, ActionState
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.hooks.matching import NEAR
from turnlog.transcripts.lines.kinds import Category

__all__ = [
    "COLUMNS",
    "EVENT_SPAN",
    "FILE_SPAN",
    "HOOKS_FILE",
    "ORDER",
    "STARTED",
    "TOLD_LINES",
    "ActionValues",
    "build_every",
    "build_wanted",
]

ORDER = "at, file, place, line, part"
"""All that actions are in order by."""
COLUMNS = f"kind, {ORDER}, number, category, title, state, took"
"""What is known of each."""
HOOKS_FILE = 1 << 40
"""Stands for the number of a file: behind all of them."""
_FAILED = ActionState.FAILED.value
_FAR = 1 << 62
"""Times that are farther away than this are all the same."""
_TOOLS = frozenset({Category.SKILL, Category.MCP, Category.BUILTIN, Category.AGENT})
_TOLD = frozenset({Category.HOOK, Category.ERROR})
"""The categories of what hooks told."""


def _join(words: tuple[str, ...] | frozenset[str]) -> str:
    return ", ".join(f"'{word}'" for word in sorted(words))


def _read_files(kinds: str) -> str:
    """Return the query for calls and lines as they are shown."""
    return f"""
    SELECT * FROM (
        SELECT kind, source, idx, id, name, category, state, block, started, ended, line, duration_ms, hook,
            reached, gone
        FROM rows WHERE {SESSION} AND kind IN ({kinds}) AND revision <= shown
        ORDER BY kind DESC, source DESC, idx DESC, revision DESC, write DESC LIMIT 1 BY kind, source, idx
    ) WHERE NOT gone AND category IS NOT NULL"""


_OPEN = f"SELECT id FROM rows WHERE {SESSION} AND kind = {CALLS.number} AND state = '{CallState.UNRESOLVED}'"
STARTED = f"""
SELECT tool_use_id, argMax(event_name, (received_ns, delivery_id)) AS last_event
FROM deliveries FINAL WHERE {IS_EVENT} AND tool_use_id IN ({_OPEN}) GROUP BY tool_use_id
HAVING last_event IN ({_join(FIRST_EVENTS)}) AND max(received_ns) >= {{ended:Int64}}
"""
"""Calls that are running or wait for a permission, by the last that hooks told of them."""
EVENT_SPAN = f"""
SELECT minOrNull(if({IS_EVENT}, received_ns, NULL)), maxOrNull(if({IS_EVENT}, received_ns, NULL)),
    maxOrNull(if(event_name IN ({_join(ENDING_EVENTS)}), received_ns, NULL)),
    (count(), groupBitXor(sipHash64(number)))
FROM deliveries FINAL WHERE {OF_SESSION}
"""
"""When the first and the last event of a session came, and the last that ended all calls; None without any.

The last says which ones they are: it is another as soon as there is one more or less.
"""
FILE_SPAN = f"""
SELECT minOrNull(at), maxOrNull(at) FROM (
    SELECT ifNull(reached, 0) AS at FROM ({_read_files(f"{CALLS.number}, {PLACEMENTS.number}")})
) WHERE at > 0
"""
"""The first and the last time of calls and events, also of lines that tell of deliveries."""

_BY_CALL = -1
"""Stands for a stretch of time where the call decides."""
_STRETCH = f"intDiv(least(greatest({{at}}, 0), {_FAR}), {NEAR})"
_TELLING = rows_like(
    PLACEMENTS, "source, idx, hook, tool_use_id, time, state, duration_ms", "hook IS NOT NULL", None
)
# A line belongs to the delivery about its call, or to the nearest in a stretch of time or those beside it.
_KEYED_LINES = f"""
SELECT *, arrayJoin(arrayConcat(
    if(tool_use_id IS NULL, [], [(ifNull(tool_use_id, ''), toInt64({_BY_CALL}))]),
    if(time IS NULL, [], arrayMap(
        step -> ('', {_STRETCH.format(at="ifNull(time, 0)")} + step), [toInt64(-1), 0, 1]
    ))
)) AS meant FROM ({_TELLING})
"""
_KEYED_EVENTS = f"""
SELECT number, received_ns, delivery_id, event_name, intDiv(received_ns, 1000) AS at, if(
    tool_use_id IS NULL, ('', {_STRETCH.format(at="intDiv(received_ns, 1000)")}),
    (ifNull(tool_use_id, ''), toInt64({_BY_CALL}))
) AS meant FROM deliveries FINAL WHERE {IS_EVENT}
"""
TOLD_LINES = f"""
SELECT t.source, t.idx, any(t.state) = '{_FAILED}', any(t.duration_ms),
    argMin(d.number, (t.meant.2 <> {_BY_CALL}, ifNull(abs(d.at - t.time), 0), d.received_ns, d.delivery_id))
FROM ({_KEYED_LINES}) AS t INNER JOIN ({_KEYED_EVENTS}) AS d ON d.event_name = t.hook AND d.meant = t.meant
WHERE t.meant.2 = {_BY_CALL} OR abs(d.at - t.time) <= {NEAR} GROUP BY t.source, t.idx
"""
"""Lines that tell of deliveries: whether these failed, how long they took, and their numbers."""


class ActionValues(Struct, frozen=True, kw_only=True):
    """What a query is given."""

    sources: list[int]
    """All files, in order."""
    live: Mapping[bytes, ActionState]
    """Calls that go on, by their ids."""
    hidden: list[tuple[int, int]]
    """Lines that tell of deliveries: the numbers of their sources and their indexes."""
    failed: list[int]
    """Deliveries of which lines say that they failed, by their numbers."""
    took: Mapping[int, int]
    """How long deliveries took, as lines say."""

    @property
    def values(self) -> dict[str, Any]:
        """As they are named."""
        return {
            "sources": self.sources,
            "live": list(self.live),
            "live_states": [state.value for state in self.live.values()],
            "hidden_sources": [source for source, _ in self.hidden],
            "hidden_lines": [line for _, line in self.hidden],
            "failed": self.failed,
            "timed": list(self.took),
            "times": list(self.took.values()),
        }


_STATES = ", ".join(f"t.state = '{call}', '{state}'" for call, state in CALL_STATES.items())
_LIVE = f"""
transform(ifNull(t.id, ''), {{live:Array(String)}}, {{live_states:Array(String)}}, '{ActionState.UNRESOLVED}')
"""
_HIDDEN = """
(t.source, t.idx) NOT IN (
    SELECT each.1, each.2
    FROM (SELECT arrayJoin(arrayZip({hidden_sources:Array(UInt128)}, {hidden_lines:Array(Int64)})) AS each)
)"""


def _build_files(kinds: str, given: ActionValues) -> str:
    is_call = f"t.kind = {CALLS.number}"
    live = f"t.state = '{CallState.UNRESOLVED}', {_LIVE}," if given.live else ""
    return f"""
    SELECT if({is_call}, '{ActionKind.CALL}', '{ActionKind.EVENT}') AS kind, ifNull(t.reached, 0) AS at,
        toInt64(indexOf({{sources:Array(UInt128)}}, t.source)) AS file, '' AS place,
        if({is_call}, t.line, t.idx) AS line,
        if({is_call}, t.block + 1, 0) AS part, t.idx AS number, ifNull(t.category, '') AS category,
        ifNull(t.name, '') AS title,
        multiIf(NOT {is_call}, toString(t.state), {live} {_STATES}, toString(t.state)) AS state,
        if({is_call}, if(t.ended >= t.started, intDiv(t.ended - t.started, 1000), NULL), t.duration_ms) AS took
    FROM ({_read_files(kinds)}) AS t
    WHERE file > 0 AND ({is_call} OR t.hook IS NULL OR {_HIDDEN if given.hidden else "true"})
    """


def _build_hooks(given: ActionValues) -> str:
    told_failed = "number IN {failed:Array(Int64)}" if given.failed else "false"
    took = "nullIf(transform(number, {timed:Array(Int64)}, {times:Array(Int64)}, toInt64(-1)), -1)"
    return f"""
    SELECT '{ActionKind.HOOK}' AS kind, intDiv(received_ns, 1000) AS at, toInt64({HOOKS_FILE}) AS file,
        concat(leftPad(toString(received_ns % 1000), 3, '0'), delivery_id) AS place, toInt64(0) AS line,
        toInt64(0) AS part, number,
        if(event_name IN ({_join(TOLD_FAILURES)}), '{Category.ERROR}', '{Category.HOOK}') AS category,
        toString(event_name) AS title,
        if(event_name IN ({_join(FAILED_HOOKS)}) OR {told_failed}, '{_FAILED}', '{ActionState.NOTE}') AS state,
        {took if given.took else "CAST(NULL, 'Nullable(Int64)')"} AS took
    FROM deliveries FINAL WHERE {IS_EVENT}
    """


def build_every(given: ActionValues, categories: tuple[str, ...] | None, has_events: bool) -> str | None:
    """Return the query for all actions, without lists that have none of some categories; None for none."""
    wanted = frozenset(Category) if categories is None else frozenset(categories)
    kinds = [
        str(kind.number)
        for kind, own in ((CALLS, _TOOLS), (PLACEMENTS, frozenset(Category) - _TOOLS | {Category.AGENT}))
        if not wanted.isdisjoint(own)
    ]
    parts = [_build_files(", ".join(kinds), given)] if kinds and given.sources else []
    if has_events and not wanted.isdisjoint(_TOLD):
        parts.append(_build_hooks(given))
    return " UNION ALL ".join(f"SELECT {COLUMNS} FROM ({part})" for part in parts) or None


def build_wanted(where: ActionFilter) -> tuple[str, dict[str, Any]]:
    """Return a condition for actions, and its values."""
    conditions, values = build_conditions(
        {"category": where.categories, "state": where.states, "title": where.name}
    )
    clauses = [conditions] if conditions else []
    if where.min_ms is not None:
        values["min_ms"] = where.min_ms
        clauses.append("ifNull(took >= {min_ms:Int64}, false)")
    return " AND ".join(clauses) or "true", values

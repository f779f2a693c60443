"""The three lists that the action log is made of, as SQL: calls, events, and what hooks told.

Each is a query with the same columns: where an action stands (`at`, `rank`, `place`, `line`, `part`), its
`number`, and what is filtered by. What lines tell of deliveries is looked up in `told` where a query has that.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from turnlog.store.actions import ENDING_EVENTS, ActionFilter, ActionKind
from turnlog.store.identity import SourceKind
from turnlog.store.packing import as_word, pack_text
from turnlog.store.postgres.chapters import SESSION, head, is_same
from turnlog.store.postgres.hook_spans import IS_EVENT, OF_SESSION
from turnlog.store.postgres.timeline_parts import BY_CALL, BY_TIME, NUMBERED, in_ns
from turnlog.store.timeline import FIRST_EVENTS
from turnlog.transcripts.actions.states import CALL_STATES, FAILED_HOOKS, TOLD_FAILURES, ActionState
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.hooks.matching import NEAR
from turnlog.transcripts.lines.kinds import Category

__all__ = ["COLUMNS", "NOTHING_TOLD", "ORDER", "PARTS", "TOLD", "TOLD_OF_PAGE", "Part", "build_wanted"]

ORDER = "at, rank, place, line, part"
"""All that actions are in order by."""
COLUMNS = f"{ORDER}, number, category, title, state, took"
"""What is known of each."""


class Part(Struct, frozen=True, kw_only=True):
    """One of the lists."""

    kind: ActionKind
    columns: str
    table: str
    joins: str = ""
    where: str
    hidden: str = ""
    """A further condition, for what is told elsewhere."""
    hidden_by_told: str = ""
    """The same where a query has `told_lines`."""
    at: str
    """What it is in order by, as an index has it."""
    scale: int = 1
    """How many of this are a microsecond."""
    from_here: str
    """The condition that it does not come before `at`, so that the index is entered there."""
    order: str = "at"
    """What an index has it in order by; those that are equal in it may come in any."""
    categories: frozenset[Category]
    """Those that there may be."""

    def build(self, is_whole: bool) -> str:
        """Return the query, which may have `told_lines`; further conditions can be added."""
        hidden = self.hidden_by_told if is_whole else self.hidden
        return f"SELECT {self.columns} FROM {self.table} {self.joins} WHERE {self.where}{hidden}"

    @property
    def times(self) -> str:
        """The query for the first and the last time."""
        ends = (f"({end}({self.at}) / {self.scale}) AS {end}" for end in ("min", "max"))
        return f"SELECT {', '.join(ends)} FROM {self.table} WHERE {self.where} AND {self.at} > 0"


def _join(words: tuple[str, ...] | frozenset[str]) -> str:
    return ", ".join(f"'{word}'" for word in sorted(words))


_OF_THIS_CALL = f"FROM hook_deliveries AS d WHERE {is_same('d.tool_use_id', 't.id')} AND {IS_EVENT}"
_NEWEST = f"ORDER BY {head('d.tool_use_id')}, d.received_ns DESC, d.delivery_id DESC LIMIT 1"
_LAST_EVENT = f"(SELECT d.event_name {_OF_THIS_CALL} {_NEWEST})"
_HAS_ENDED = f"""
(SELECT d.received_ns {_OF_THIS_CALL} {_NEWEST}) < (
    SELECT max(d.received_ns) FROM hook_deliveries AS d
    WHERE {OF_SESSION} AND d.event_name IN ({_join(ENDING_EVENTS)})
)
"""
_LIVE = f"""
CASE WHEN coalesce({_LAST_EVENT}, '') NOT IN ({_join(FIRST_EVENTS)}) OR {_HAS_ENDED}
    THEN '{ActionState.UNRESOLVED}'
    WHEN {_LAST_EVENT} = 'PermissionRequest' THEN '{ActionState.WAITING}' ELSE '{ActionState.RUNNING}' END
"""
_STATE = f"""
CASE t.state WHEN '{CallState.UNRESOLVED}' THEN {_LIVE}
    {" ".join(f"WHEN '{call}' THEN '{state}'" for call, state in CALL_STATES.items())} ELSE t.state END
"""
_SOURCE = f"""
(SELECT s.kind <> '{SourceKind.TRANSCRIPT}' FROM sources AS s WHERE s.id = t.source)::int AS rank,
    (SELECT convert_to(s.source, 'UTF8') FROM sources AS s WHERE s.id = t.source) AS place
"""
_REACHED = "coalesce(t.reached, 0)"

_CALLS = f"""
{_REACHED} AS at, {_SOURCE}, t.line AS line, t.block + 1 AS part, t.idx AS number, t.category AS category,
    t.name AS title, {_STATE} AS state,
    CASE WHEN t.ended >= t.started THEN (t.ended - t.started) / 1000 END AS took
"""
_EVENTS = f"""
{_REACHED} AS at, {_SOURCE}, t.idx AS line, 0 AS part, t.idx AS number, t.category AS category, t.name AS title,
    t.state AS state, t.duration_ms AS took
"""
_HOOKS = f"""
d.received_ns / 1000 AS at, 2 AS rank,
    convert_to(lpad((d.received_ns %% 1000)::text, 3, '0'), 'UTF8') || d.delivery_id AS place, 0 AS line,
    0 AS part, d.id AS number,
    CASE WHEN d.event_name IN ({_join(TOLD_FAILURES)}) THEN '{Category.ERROR}'
        ELSE '{Category.HOOK}' END AS category,
    d.event_name AS title,
    CASE WHEN d.event_name IN ({_join(FAILED_HOOKS)}) OR told.failed THEN '{ActionState.FAILED}'
        ELSE '{ActionState.NOTE}' END AS state,
    told.took AS took, d.received_ns AS received
"""

_SAME_CALL = f"""
FROM hook_deliveries AS d
WHERE {is_same("d.tool_use_id", "t.tool_use_id")} AND d.event_name = t.hook AND {IS_EVENT}
"""
_NEAR_LINE = f"""
d.received_ns >= {in_ns(f"t.time - {NEAR}")} AND d.received_ns < {in_ns(f"t.time + {NEAR + 1}")}
AND d.event_name = t.hook AND d.tool_use_id IS NULL
"""
_NEAR = f"FROM hook_deliveries AS d WHERE {_NEAR_LINE} AND {IS_EVENT}"
_IS_TOLD = f"(EXISTS (SELECT 1 {_SAME_CALL} {BY_CALL}) OR EXISTS (SELECT 1 {_NEAR} {BY_TIME}))"
_NEAREST = "abs(d.received_ns / 1000 - t.time), d.received_ns, d.delivery_id LIMIT 1"
_TOLD_OF = f"""
coalesce(
    (SELECT d.id {_SAME_CALL} ORDER BY {head("d.tool_use_id")}, {_NEAREST}),
    (SELECT d.id FROM (SELECT d.* {_NEAR} {BY_TIME}) AS d ORDER BY {_NEAREST})
)
"""
_TOOLS = frozenset({Category.SKILL, Category.MCP, Category.BUILTIN, Category.AGENT})

PARTS = (
    Part(
        kind=ActionKind.CALL,
        columns=_CALLS,
        table="calls AS t",
        where=SESSION,
        at=_REACHED,
        from_here=f"{_REACHED} >= %(at)s",
        categories=_TOOLS,
    ),
    Part(
        kind=ActionKind.EVENT,
        columns=_EVENTS,
        table="placements AS t",
        where=f"{SESSION} AND t.category IS NOT NULL",
        hidden=f" AND (t.hook IS NULL OR NOT {_IS_TOLD})",
        hidden_by_told=" AND (t.hook IS NULL OR (t.source, t.idx) NOT IN (SELECT source, idx FROM told_lines))",
        at=_REACHED,
        from_here=f"{_REACHED} >= %(at)s",
        categories=frozenset(Category) - _TOOLS | {Category.AGENT},
    ),
    Part(
        kind=ActionKind.HOOK,
        columns=_HOOKS,
        table="hook_deliveries AS d",
        joins="LEFT JOIN told ON told.delivery = d.id",
        where=IS_EVENT,
        at="d.received_ns",
        scale=1000,
        order="received",
        from_here=f"d.received_ns >= {in_ns('%(at)s::bigint')}",
        categories=frozenset({Category.HOOK, Category.ERROR}),
    ),
)

_TELLING = "t.source, t.idx, t.hook, t.tool_use_id, t.time, t.state, t.duration_ms"
_LINES = f"""
SELECT * FROM (
    SELECT t.source, t.idx, t.state = '{ActionState.FAILED}' AS failed, t.duration_ms AS took,
        {_TOLD_OF} AS delivery
    FROM {{lines}}
) AS lines WHERE delivery IS NOT NULL
"""
_ALL_LINES = f"placements AS t WHERE {SESSION} AND t.hook IS NOT NULL"
_LINES_OF_PAGE = f"""
(
    SELECT t.* FROM page AS d CROSS JOIN LATERAL (
        SELECT {_TELLING} FROM placements AS t
        WHERE {SESSION} AND {is_same("t.tool_use_id", "d.tool_use_id")} AND t.hook = d.event_name
        ORDER BY {head("t.tool_use_id")} OFFSET 0
    ) AS t
    UNION
    SELECT t.* FROM page AS d CROSS JOIN LATERAL (
        SELECT {_TELLING} FROM placements AS t
        WHERE {SESSION} AND {head("t.hook")} = {head("d.event_name")} AND t.hook = d.event_name
            AND d.tool_use_id IS NULL
            AND t.time BETWEEN d.received_ns / 1000 - {NEAR} AND d.received_ns / 1000 + {NEAR}
        ORDER BY t.time OFFSET 0
    ) AS t
) AS t
"""
_EACH = "SELECT delivery, bool_or(failed) AS failed, max(took) AS took FROM told_lines GROUP BY delivery"
TOLD = f"told_lines AS MATERIALIZED ({_LINES.format(lines=_ALL_LINES)}), told AS MATERIALIZED ({_EACH})"
"""What lines tell of all deliveries: whether they failed, and how long they took."""
NOTHING_TOLD = """
told AS MATERIALIZED (SELECT NULL::bigint AS delivery, false AS failed, NULL::bigint AS took WHERE false)
"""
TOLD_OF_PAGE = f"""
WITH page AS MATERIALIZED (SELECT d.* FROM {NUMBERED}),
told_lines AS MATERIALIZED ({_LINES.format(lines=_LINES_OF_PAGE)}) {_EACH}
"""
"""The same of some deliveries, and of others that the same lines may tell of."""


def build_wanted(where: ActionFilter) -> tuple[str, dict[str, Any]]:
    """Return a condition for rows of any part, and its values."""
    values: dict[str, Any] = {}
    clauses = ["true"]
    for name, words in (("category", where.categories), ("state", where.states)):
        if words is not None:
            values[name] = [word for word in map(as_word, words) if word is not None]
            clauses.append(f"{name} = ANY(%({name})s)")
    if where.name is not None:
        values["title"] = pack_text(where.name)
        clauses.append("title = %(title)s")
    if where.min_ms is not None:
        values["min_ms"] = where.min_ms
        clauses.append("took >= %(min_ms)s")
    return " AND ".join(clauses), values

"""How hook events and the lines that tell of them are looked up, as SQL.

Each is found by an index, one by one: `LATERAL` with `OFFSET 0` keeps the server from joining them in another
way, which goes through all events of a session as soon as it has not counted them well.
"""

from __future__ import annotations

from turnlog.store.postgres.chapters import CHAPTER, SESSION, head, is_at, is_same, look_up
from turnlog.store.postgres.hook_spans import IS_EVENT
from turnlog.store.timeline import LONGEST_CONTEXT, PARENTS_EVENTS, HookFact
from turnlog.transcripts.hooks.matching import NEAR

__all__ = [
    "BY_CALL",
    "BY_TIME",
    "FACT",
    "FACT_NAMES",
    "LINES_ASKED",
    "LINES_NEAR",
    "NEAR_LINES",
    "NUMBERED",
    "PLACES",
    "build_under",
    "in_ns",
]

_END = (1 << 63) - 1
FACT_NAMES = HookFact.__struct_fields__
FACT = ", ".join(
    f"CASE WHEN length(d.context) <= {LONGEST_CONTEXT} THEN d.context END" if name == "context" else f"d.{name}"
    for name in FACT_NAMES
)
"""What of a delivery a `HookFact` has, by `FACT_NAMES`."""
BY_CALL = f"ORDER BY {head('d.tool_use_id')} OFFSET 0"
BY_TIME = "ORDER BY d.received_ns OFFSET 0"


def in_ns(microseconds: str) -> str:
    """Return a time in nanoseconds: one that is too far away is the last that there is."""
    return f"least(greatest({microseconds}, {-_END // 1000 + 1}), {_END // 1000}) * 1000"


_KEYS = "d.id, d.received_ns, d.delivery_id"
_SPEAKER = f"CASE WHEN d.event_name NOT IN {PARENTS_EVENTS} THEN d.agent_id END"
"""The sub-agent whose event it is."""
_IN_MAIN = f"""
(({_SPEAKER}) IS NULL OR ({_SPEAKER}) NOT IN (
    SELECT agent_id FROM sources WHERE session = %(session)s AND agent_id IS NOT NULL
))"""
_IN_AGENT = f"({_SPEAKER}) = (SELECT agent_id FROM sources WHERE id = %(chapter)s)"

_CALLS = "calls AS c WHERE c.month = %(month)s AND c.session = %(session)s AND c.message IS NOT NULL"
_CALLED = f"{_CALLS} AND {is_same('c.id', 'd.tool_use_id')} ORDER BY {head('c.id')} OFFSET 0"
_NO_CALLER = f"(d.tool_use_id IS NULL OR NOT EXISTS (SELECT 1 FROM {_CALLED}))"
_ASKED = "unnest(%(numbers)s::bigint[]) AS w (number)"
_UNDER_CALLERS = f"""
SELECT t.message AS at, true AS of_call, d.* FROM {_ASKED}
CROSS JOIN LATERAL ({look_up("t.id, t.idx, t.message", "calls", "message", "w.number")}) AS t
CROSS JOIN LATERAL (
    SELECT {_KEYS} FROM hook_deliveries AS d WHERE {is_same("d.tool_use_id", "t.id")} AND {IS_EVENT} {BY_CALL}
) AS d
WHERE t.idx = (
    SELECT c.idx FROM {_CALLS} AND c.source = %(chapter)s AND {is_same("c.id", "t.id")}
    ORDER BY {head("c.id")}, c.idx LIMIT 1
)
"""
_UNDER_LAST = f"""
SELECT t.idx, false, d.* FROM {_ASKED}
CROSS JOIN LATERAL ({look_up("t.idx, t.reached", "messages", "idx", "w.number")}) AS t
LEFT JOIN LATERAL ({look_up("t.idx, t.reached", "messages", "idx", "w.number + 1")}) AS n ON true
CROSS JOIN LATERAL (
    SELECT {_KEYS} FROM hook_deliveries AS d WHERE d.received_ns >= {in_ns("coalesce(t.reached, 0)")}
        AND d.received_ns < CASE WHEN n.idx IS NULL THEN {_END} ELSE {in_ns("coalesce(n.reached, 0)")} END
        AND {IS_EVENT} AND {_NO_CALLER} AND {{spoken}} {BY_TIME}
) AS d
"""
_ABOVE = f"""
SELECT NULL, false, {_KEYS} FROM hook_deliveries AS d
WHERE {IS_EVENT} AND {_NO_CALLER} AND {{spoken}} AND d.received_ns < coalesce(
    (SELECT {in_ns("coalesce(t.reached, 0)")} FROM messages AS t WHERE {CHAPTER} AND t.idx = 0), {_END}
)
"""


def build_under(is_main: bool, above: bool) -> str:
    """Return the query for hook events under messages of the transcript, or of an agent's file."""
    parts = [_UNDER_CALLERS, _UNDER_LAST, *([_ABOVE] if above else ())]
    found = " UNION ALL ".join(parts).format(spoken=_IN_MAIN if is_main else _IN_AGENT)
    return f"""
    WITH found AS MATERIALIZED ({found}), first AS MATERIALIZED (
        SELECT * FROM found ORDER BY received_ns, delivery_id LIMIT %(count)s
    )
    SELECT w.total, d.at, d.of_call, {FACT} FROM (SELECT count(*) AS total FROM found) AS w LEFT JOIN (
        SELECT w.at, w.of_call, d.* FROM first AS w {_WHOLE}
    ) AS d ON true
    """


_WHOLE = f"""
CROSS JOIN LATERAL (
    SELECT * FROM hook_deliveries AS d
    WHERE {is_at("d.id", "w.id")} AND d.received_ns = w.received_ns AND {IS_EVENT} ORDER BY d.id OFFSET 0
) AS d
"""
NUMBERED = f"""
unnest(%(numbers)s::bigint[]) AS n (id) CROSS JOIN LATERAL (
    SELECT w.id, w.received_ns FROM delivery_numbers AS w WHERE {is_at("w.id", "n.id")} ORDER BY w.id OFFSET 0
) AS w {_WHOLE}
"""
"""Events by their numbers: when they came tells in which partition they are."""
PLACES = f"""
SELECT d.id, coalesce(called.source, here.source), CASE WHEN called.source IS NULL THEN (
    SELECT t.idx FROM messages AS t
    WHERE {SESSION} AND t.source = here.id AND coalesce(t.reached, 0) <= d.received_ns / 1000
    ORDER BY coalesce(t.reached, 0) DESC, t.idx DESC LIMIT 1
) ELSE called.message END
FROM {NUMBERED}
LEFT JOIN LATERAL (
    SELECT s.source, c.message FROM (SELECT c.* FROM {_CALLED}) AS c JOIN sources AS s ON s.id = c.source
    ORDER BY s.id IS DISTINCT FROM %(main)s, s.source, c.idx LIMIT 1
) AS called ON true
LEFT JOIN sources AS here ON here.id = coalesce(
    (
        SELECT s.id FROM sources AS s WHERE s.session = %(session)s AND s.agent_id = ({_SPEAKER})
        ORDER BY s.source LIMIT 1
    ),
    %(main)s
)
"""
"""Where events stand, by their numbers."""

_TOLD = "unnest(%(events)s::bytea[], %(calls)s::bytea[], %(times)s::bigint[]) AS w (event, call, at)"
NEAR_LINES = f"""
WITH found AS MATERIALIZED (
    SELECT d.* FROM {_TOLD} CROSS JOIN LATERAL (
        SELECT {_KEYS} FROM hook_deliveries AS d
        WHERE {is_same("d.tool_use_id", "w.call")} AND d.event_name = w.event AND {IS_EVENT} {BY_CALL}
    ) AS d
    UNION
    SELECT d.* FROM {_TOLD} CROSS JOIN LATERAL (
        SELECT {_KEYS} FROM hook_deliveries AS d
        WHERE d.received_ns >= {in_ns(f"w.at - {NEAR}")} AND d.received_ns < {in_ns(f"w.at + {NEAR + 1}")}
            AND d.event_name = w.event AND d.tool_use_id IS NULL AND {IS_EVENT} {BY_TIME}
    ) AS d
)
SELECT {FACT} FROM found AS w {_WHOLE} ORDER BY d.id
"""
"""The events that lines may tell of."""

LINES_NEAR = f"""
SELECT t.* FROM {_TOLD} CROSS JOIN LATERAL (
    SELECT t.source, t.idx FROM placements AS t
    WHERE {SESSION} AND t.hook = w.event AND {is_same("t.tool_use_id", "w.call")}
    ORDER BY {head("t.tool_use_id")} OFFSET 0
) AS t
UNION
SELECT t.* FROM {_TOLD} CROSS JOIN LATERAL (
    SELECT t.source, t.idx FROM placements AS t
    WHERE {SESSION} AND {head("t.hook")} = {head("w.event")} AND t.hook = w.event AND w.call IS NULL
        AND t.time BETWEEN w.at - {NEAR} AND w.at + {NEAR}
    ORDER BY t.time OFFSET 0
) AS t
"""
"""The lines that may tell of events."""

LINES_ASKED = """
SELECT s.id AS source, w.idx FROM unnest(%(names)s::text[], %(numbers)s::bigint[]) AS w (name, idx)
JOIN sources AS s ON s.session = %(session)s AND s.source = w.name
"""

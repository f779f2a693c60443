"""How hook events and the lines that tell of them are looked up, as SQL.

What a delivery tells never changes, so those that may be meant are found by few columns, whoever may see them;
then these alone are read as they are now. What is said roughly here is looked at closely by whoever asks.
"""

from __future__ import annotations

from turnlog.store.clickhouse.chapters import SESSION, rows_like, rows_of
from turnlog.store.clickhouse.kinds import CALLS, MESSAGES, PLACEMENTS
from turnlog.store.timeline import LONGEST_CONTEXT, HookFact
from turnlog.transcripts.hooks.matching import NEAR

__all__ = [
    "CALLS_OF_IDS",
    "CALLS_OF_MESSAGES",
    "FACT",
    "FACT_NAMES",
    "HAS_EVENTS",
    "IN_SPANS",
    "IS_EVENT",
    "OF_SESSION",
    "LAST_MESSAGES",
    "LINE_STARTS",
    "LINES_AT",
    "LINES_NEAR",
    "NEAR_LINES",
    "NUMBERED",
    "events_like",
]

FACT_NAMES = HookFact.__struct_fields__
_SPELLED = {
    "id": "number",
    "context": f"if(length(context) <= {LONGEST_CONTEXT}, context, NULL)",
}
FACT = ", ".join(_SPELLED.get(name, name) for name in FACT_NAMES)
"""What of a delivery a `HookFact` has, by `FACT_NAMES`."""
OF_SESSION = "owner = {owner:String} AND session_id = {told:String}"
"""Which deliveries are of a session, by the id that hooks know it by."""
IS_EVENT = f"""
{OF_SESSION} AND event_name <> 'SessionEnd' AND ifNull(notification_type, '') <> 'auth_success'
"""
"""Which of them are events (spec 002)."""
HAS_EVENTS = f"SELECT 1 FROM deliveries FINAL WHERE {IS_EVENT} LIMIT 1"


def events_like(columns: str, like: str) -> str:
    """Return the query for events of a session with a condition on them."""
    return f"""
    SELECT {columns} FROM deliveries FINAL WHERE {IS_EVENT} AND (received_ns, digest) IN (
        SELECT received_ns, digest FROM deliveries WHERE {IS_EVENT} AND ({like})
    )"""


IN_SPANS = """
tool_use_id IN {ids:Array(String)} OR arrayExists(
    (since, until) -> received_ns >= since AND received_ns < until, {since:Array(Int64)}, {until:Array(Int64)}
)"""
"""Events about some calls, or of some stretches of time."""
NUMBERED = "number IN {numbers:Array(Int64)}"
NEAR_LINES = f"""
tool_use_id IN {{calls:Array(String)}} OR (
    tool_use_id IS NULL AND event_name IN {{events:Array(String)}}
    AND arrayExists(at -> abs(intDiv(received_ns, 1000) - at) <= {NEAR}, {{times:Array(Int64)}})
)"""
"""Events that lines may tell of."""

CALLS_OF_MESSAGES = rows_like(CALLS, "id, message", "message IN {numbers:Array(Int64)}")
CALLS_OF_IDS = rows_like(CALLS, "source, idx, id, message", "id IN {ids:Array(String)}", None)

LAST_MESSAGES = f"""
SELECT source, bucket, max(idx), argMax(turn, idx) FROM (
    SELECT source, idx, turn, -roundDown(-ifNull(reached, 0), {{negated:Array(Int64)}}) AS bucket FROM (
        {rows_of(MESSAGES, "source, idx, turn, reached", "source IN {sources:Array(UInt128)}")}
        AND ifNull(reached, 0) <= {{last:Int64}} AND (turn IS NOT NULL OR NOT {{in_turns:Bool}})
    )
) GROUP BY source, bucket ORDER BY source, bucket
"""
"""Of files, by the first of some times that is not before a message was reached: the last such message."""

_LIKE_EVENTS = f"""
hook IN {{events:Array(String)}} AND category IS NOT NULL AND (
    tool_use_id IN {{calls:Array(String)}}
    OR arrayExists(at -> abs(time - at) <= {NEAR}, {{times:Array(Int64)}})
)"""
LINES_NEAR = rows_like(PLACEMENTS, "category, hook, tool_use_id, time, source, row", _LIKE_EVENTS, None)
"""Lines that may tell of events."""
_IN_LINES = "source IN {sources:Array(UInt128)} AND idx IN {numbers:Array(Int64)}"
LINES_AT = f"{rows_of(PLACEMENTS, 'category, source, row', _IN_LINES)} AND category IS NOT NULL"
LINE_STARTS = f"""
SELECT source, generation, number, start FROM lines
WHERE {SESSION} AND source IN {{sources:Array(UInt128)}} AND (source, generation) IN (
    SELECT source, generation FROM sources FINAL WHERE {SESSION} AND source IN {{sources:Array(UInt128)}}
) AND number IN {{numbers:Array(Int64)}}
"""
"""Where lines of the newest generations begin."""

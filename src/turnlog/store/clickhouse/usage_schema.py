"""The tables of usage: each answer once, and what answers come to in quarters of an hour.

They follow from `sightings` and the price list. A row of `answers` that does not hold any more is taken back by
the same row with another sign; a view adds up what comes and goes (`usage_rollup`), so a report of many answers
reads a few sums. A group says what answers are counted by: `digest` stands for its words, which are in columns
of their own; NULL stands for what is not said. Money is in pico-dollars, and sums are exact.
"""

from __future__ import annotations

from turnlog.store.clickhouse.connection import spell_text
from turnlog.store.clickhouse.tables import FEW, FEW_OR_NONE, ID, Table, View
from turnlog.store.identity import Scope

__all__ = [
    "ANSWERS",
    "COUNTED",
    "COUNTED_UP",
    "USAGE_ROLLUP",
    "USAGE_TABLES",
    "USAGE_VIEWS",
    "WORDS",
    "see_usage",
]

_WIDE = "Int128"

WORDS = {
    "session_id": "String", "model": FEW_OR_NONE, "agent": FEW_OR_NONE, "skill": FEW_OR_NONE,
    "mcp_server": FEW_OR_NONE, "terms": FEW,
}  # fmt: skip
"""What a group says, in the order of `electing.Group.words`."""
COUNTED = (
    "input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_searches", "cost", "saved"
)  # fmt: skip
"""What is added up, besides how many there are."""

ANSWERS = Table(
    name="answers",
    key=("owner", "session", "slot", "digest", "answer", "mark"),
    engine="CollapsingMergeTree",
    version="sign",
    by_month=True,
    columns={
        "owner": FEW,
        "session": ID,                   # whose file owns it
        "slot": "Int64",                  # which quarter of an hour since 1970
        "digest": ID,                    # of its words, for whom it counts, and whether it has a price
        "answer": ID,
        "mark": "UInt64",                 # of all that follows: what is taken back is the very same
        "sign": "Int8",
        "born": "Date", "message_id": "String", **WORDS,
        "audience": "UInt8",              # see `electing`
        "time": "Nullable(Int64)",
        "flags": "UInt8",                 # 1: incomplete, 2: unpriced
        "input": "Int64", "output": "Int64", "cache_read": "Int64", "cache_write_5m": "Int64",
        "cache_write_1h": "Int64", "web_searches": "Int64", "cost": _WIDE, "saved": _WIDE,
    },
)  # fmt: skip
"""Read with FINAL."""

USAGE_ROLLUP = Table(
    name="usage_rollup",
    key=("owner", "session", "slot", "digest"),
    engine="AggregatingMergeTree",
    by_month=True,
    columns={
        "owner": FEW, "session": ID, "slot": "Int64", "digest": ID, "born": "Date",
        **{name: f"SimpleAggregateFunction(any, {kind})" for name, kind in WORDS.items()},
        "audience": "SimpleAggregateFunction(any, UInt8)", "priced": "SimpleAggregateFunction(any, Bool)",
        **dict.fromkeys(("messages", "incomplete", "unpriced"), "SimpleAggregateFunction(sum, Int64)"),
        **dict.fromkeys(COUNTED, f"SimpleAggregateFunction(sum, {_WIDE})"),
        "first": "SimpleAggregateFunction(min, Nullable(Int64))",
        "last": "SimpleAggregateFunction(max, Nullable(Int64))",
    },
)  # fmt: skip
"""Several rows of one cell add up to it, so nobody needs FINAL who adds up."""

_CELL = ", ".join(USAGE_ROLLUP.key)
_SAME = ", ".join(f"any(a.{name}) AS {name}" for name in ("born", *WORDS, "audience"))
_SUMS = ", ".join(f"sum(toInt128(a.{name}) * a.sign) AS {name}" for name in COUNTED)
COUNTED_UP = View(
    name="counted_up",
    source="answers",
    target="usage_rollup",
    select=f"""
SELECT {_CELL}, {_SAME}, any(a.flags < 2) AS priced, sum(toInt64(a.sign)) AS messages,
    sum(toInt64(bitAnd(a.flags, 1)) * a.sign) AS incomplete,
    sum(toInt64(bitShiftRight(a.flags, 1)) * a.sign) AS unpriced, {_SUMS},
    minIf(a.time, a.sign > 0) AS first, maxIf(a.time, a.sign > 0) AS last
FROM answers AS a GROUP BY {_CELL}
""",
)
"""All answers of a cell have a price, or none of them."""

USAGE_TABLES = (ANSWERS, USAGE_ROLLUP)
USAGE_VIEWS = (COUNTED_UP,)


def see_usage(scope: Scope, sessions: str) -> dict[str, str]:
    """Return the conditions for rows of these tables that a scope may see.

    `sessions` is the condition for those rows of `sessions`. For whoever sees everything it is about columns
    that these tables have as well; then no session need be looked up. For a link there is none: what is kept is
    elected among sessions that it does not show.
    """
    viewer = scope.viewer
    if viewer is None:
        return dict.fromkeys(("answers", "usage_rollup"), f"{sessions} AND audience != 2")
    seen = f"SELECT id FROM sessions FINAL WHERE {sessions}"
    hidden = "1"
    if viewer.person is not None:
        hidden = f"if(session IN ({seen} AND person = {spell_text(viewer.person)}), 2, 1)"
    mine = f"owner = {spell_text(scope.owner)}"
    condition = f"{mine} AND audience != {hidden} AND session IN ({seen})"
    return dict.fromkeys(("answers", "usage_rollup"), condition)

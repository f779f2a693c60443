"""Usage added up by the server, as far as a report adds it up anyway: what comes from there are its rows.

A report asks for a few words of a cell: what makes a row, what rows are broken down by, and, for its notes, the
terms and the models without a price. The server adds up all that have these in common.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from turnlog.store.clickhouse.connection import Values
from turnlog.store.clickhouse.ids import NOWHERE
from turnlog.store.clickhouse.reading import Reading
from turnlog.store.clickhouse.usage_schema import COUNTED, WORDS
from turnlog.store.packing import pack_text, unpack_text
from turnlog.store.usage.cells import Home, UsageCell
from turnlog.store.usage.grouping import PERIODS, UsageQuery
from turnlog.store.usage.periods import Span
from turnlog.store.usage.report import Grouping
from turnlog.store.usage.segments import DAY, Segments, divide
from turnlog.store.usage.source import UsageSums
from turnlog.store.usage.stored import NO_SLOT, UsageGroup, build_stored_cell

__all__ = ["Asked", "add_up", "ask", "divide_time", "list_counted"]

_HOUR = 4
"""Quarters in it; blocks begin with whole hours."""
_OF_GROUPS = {"model": "model", "agent": "agent", "skill": "skill", "mcp": "mcp_server"}
"""What rows are named or broken down by that groups of answers tell: the columns."""
_OF_HOMES = {"project": "project", "person": "person", "machine": "origin"}
"""What their sessions tell."""
_AMOUNTS = ("messages", "incomplete", "unpriced", *COUNTED)
_SUMS = ", ".join(
    (*(f"sum(u.{name}) AS {name}" for name in _AMOUNTS), "min(u.first) AS first", "max(u.last) AS last")
)
_TOKENS = " + ".join(f"sum(u.{name})" for name in COUNTED[:5])
_DAYS = f"""
SELECT DISTINCT intDiv(u.slot - positiveModulo(u.slot, {DAY}), {DAY}) FROM usage_rollup AS u
WHERE u.slot != {NO_SLOT}
"""
_HOMES = "SELECT session, key, project, title, person, origin FROM summaries FINAL"
_AS_WRITTEN = "SETTINGS query_plan_join_swap_table = 'false'"
"""Of two tables the second is held in memory; the engine would take the one that it thinks has no rows."""
_FEW = 5000
"""How many sessions are asked for by their numbers; of more, all are."""
_IS_REPORTED = "u.session_id IN (SELECT told_id FROM summaries FINAL WHERE tells_cost)"


class Asked(Struct, frozen=True):
    """What is asked of the server."""

    columns: Mapping[str, str]
    """By what cells are told apart: names, and how each is found."""
    where: str
    values: Values


def add_up(reading: Reading, query: UsageQuery) -> UsageSums:
    """Return what a report is made of, unless it is by tool."""
    asked = ask(query, divide_time(reading, query))
    if query.by is Grouping.SESSION and query.most is not None:
        sums = _cut(reading, asked, query.most)
    else:
        sums = UsageSums(cells=_list_cells(reading, asked))
    return replace(sums, sessions=list_counted(reading, query, asked))


def divide_time(reading: Reading, query: UsageQuery) -> Segments:
    """Return how a report divides the days in which there is something."""
    is_timed = query.by in PERIODS or query.span != Span()
    return divide([day for (day,) in reading.query(_DAYS)] if is_timed else [], query)


def ask(query: UsageQuery, segments: Segments) -> Asked:
    """Return what a report asks of the server, of a table `u`."""
    columns: dict[str, str] = {}
    clauses, values = ["true"], dict[str, Any]()
    if query.by in PERIODS:
        columns["slot"] = "roundDown(u.slot, {starts:Array(Int64)})"
        values["starts"] = [NO_SLOT, *segments.starts]
    elif query.by is Grouping.BLOCKS:  # what bears no time is in no block
        columns["slot"] = f"u.slot - positiveModulo(u.slot, {_HOUR})"
        clauses.append(f"u.slot != {NO_SLOT}")
    elif query.by is Grouping.SESSION:
        columns |= {"session_id": "u.session_id", "session": "u.session"}
    for name in (query.by, query.breakdown or ""):
        columns |= {column: f"u.{column}" for column in [_OF_GROUPS.get(name)] if column}
        columns |= {column: f"e.{column}" for column in [_OF_HOMES.get(name)] if column}
    columns = {"terms": "u.terms", "model": "if(u.priced, NULL, u.model)", **columns}
    if segments.ranges is not None:
        ranges = (f"u.slot BETWEEN {first} AND {last}" for first, last in segments.ranges)
        clauses.append(f"({' OR '.join(ranges) or 'false'})")
    if query.project is not None:
        fits = "position(project, {project:String}) > 0" if query.project else "project IS NOT NULL"
        clauses.append(f"u.session IN (SELECT session FROM summaries FINAL WHERE {fits})")
        values["project"] = pack_text(query.project)
    return Asked(columns, " AND ".join(clauses), values)


def _cut(reading: Reading, asked: Asked, most: int) -> UsageSums:
    """Return the dearest sessions, and the others in one."""
    ranked = f"""
    SELECT u.session_id FROM usage_rollup AS u WHERE {asked.where} GROUP BY u.session_id
    HAVING sum(u.messages) > 0 ORDER BY sum(u.cost) DESC, {_TOKENS} DESC, u.session_id DESC LIMIT {most + 1}
    """
    names = [name for (name,) in reading.query(ranked, asked.values)]
    if len(names) <= most:
        return UsageSums(cells=_list_cells(reading, asked))
    values = {**asked.values, "names": names[:most]}
    kept = replace(asked, where=f"{asked.where} AND u.session_id IN {{names:Array(String)}}", values=values)
    rest = {name: asked.columns[name] for name in ("terms", "model")}
    others = Asked(rest, f"{asked.where} AND u.session_id NOT IN {{names:Array(String)}}", values)
    count = f"SELECT uniqExact(u.session_id) FROM usage_rollup AS u WHERE {others.where}"
    [(left_out,)] = reading.query(count, values)
    cells = _list_cells(reading, kept)
    return UsageSums(cells=cells, others=_list_cells(reading, others), left_out=left_out)


def _list_cells(reading: Reading, asked: Asked) -> list[UsageCell]:
    rows = reading.query(_spell(asked), asked.values)
    names, at = list(asked.columns), len(asked.columns)
    homes: dict[int, Home] = {}
    if "session" in names:
        homes = _list_homes(reading, {row[names.index("session")] for row in rows})
    return [
        build_stored_cell(_build_group(told, homes), told.get("slot", NO_SLOT), row[at:])
        for row in rows
        for told in [dict(zip(names, row, strict=False))]
    ]


def _list_homes(reading: Reading, sessions: Collection[int]) -> dict[int, Home]:
    is_few = len(sessions) <= _FEW
    statement = f"{_HOMES} WHERE session IN {{ids:Array(UInt128)}}" if is_few else _HOMES
    found = reading.query(statement, {"ids": sorted(sessions)} if is_few else {})
    return {number: Home(*map(unpack_text, cells)) for number, *cells in found}


def _spell(asked: Asked) -> str:
    """Return the statement."""
    of_homes = [name for name, found in asked.columns.items() if found.startswith("e.")]
    homes = ""
    if of_homes:
        homes = (
            f"JOIN (SELECT session, {', '.join(of_homes)} FROM summaries FINAL) AS e ON e.session = u.session"
        )
    return f"""
    SELECT {_alias(asked.columns)}, {_SUMS} FROM usage_rollup AS u {homes} WHERE {asked.where}
    GROUP BY {", ".join(asked.columns)} HAVING messages > 0
    {_AS_WRITTEN}
    """


def _alias(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{found} AS {name}" for name, found in columns.items())


def _build_group(told: Mapping[str, Any], homes: Mapping[int, Home]) -> UsageGroup:
    home = homes.get(told.get("session", NOWHERE))
    words = {name: unpack_text(told.get(name)) for name in (*WORDS, *_OF_HOMES.values())}
    if home is None:
        home = Home("", words["project"], None, words["person"], words["origin"])
    return UsageGroup(
        home=home,
        session=words["session_id"] or "",
        model=words["model"],
        agent=words["agent"],
        skill=words["skill"],
        mcp_server=words["mcp_server"],
        terms=words["terms"],
    )


def list_counted(reading: Reading, query: UsageQuery, asked: Asked) -> frozenset[str] | None:
    """Return the sessions that count, of those that say themselves what they cost; None if all do."""
    if not query.is_narrowed:
        return None
    statement = f"SELECT DISTINCT u.session_id FROM usage_rollup AS u WHERE {asked.where} AND {_IS_REPORTED}"
    return frozenset(unpack_text(name) for (name,) in reading.query(statement, asked.values))

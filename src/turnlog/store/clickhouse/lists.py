"""Lists of sessions and projects.

What is filtered and ordered by stands in `summaries`. Which sessions a page has is asked first, and then for
what lists tell of these: reading that of all of them would take longest.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, localcontext
from typing import Any

from msgspec import Struct

from turnlog.errors import CursorError
from turnlog.store.clickhouse.list_filters import build_filter
from turnlog.store.clickhouse.reading import Reading
from turnlog.store.clickhouse.record import Session
from turnlog.store.clickhouse.transaction import Connected
from turnlog.store.identity import Scope
from turnlog.store.lists import (
    EVERYTHING_SHOWN,
    FEWEST_ALIKE,
    Cursor,
    Facets,
    ProjectOrder,
    SessionFilter,
    SessionOrder,
    SessionPage,
    StoredProject,
    StoredSession,
    count_facets,
    decode_cursor,
    encode_cursor,
    sort_projects,
)
from turnlog.store.packing import Cells, pack_text, unpack_text
from turnlog.store.people import Visibility

__all__ = ["Lists"]

_LARGEST = (1 << 63) - 1
_DURATION, _TOKENS = (
    f"toInt64(if({sum} > {_LARGEST}, {_LARGEST}, {sum}))"  # `least` leaves out what is missing
    for sum in ("toInt128(last_time) - first_time", "toInt128(input_tokens) + output_tokens")
)
_DIGITS = 100
_PROJECTS = """
SELECT project, count(), countIf(NOT present), countIf(archived), min(first_time), max(last_time),
    sum(toInt128(prompts)), sum(toInt128(answers)), sum(toInt128(input_tokens)), sum(toInt128(output_tokens)),
    countIf(cost IS NULL), sum(amount), max(digits),
    groupArrayIf(assumeNotNull(cost), cost IS NOT NULL AND amount IS NULL)
FROM summaries FINAL
"""
_FACETS = """
SELECT used, ran, said, whose, wherever, sum(sessions),
    grouping(used), grouping(ran), grouping(said), grouping(whose), grouping(wherever)
FROM (
    SELECT any(models) AS used, any(branches) AS ran, any(tags) AS said, count() AS sessions,
        [ifNull(toString(any(person)), '')] AS whose, [toString(any(origin))] AS wherever
    FROM summaries FINAL WHERE {} GROUP BY facets
)
GROUP BY GROUPING SETS ((used), (ran), (said), (whose), (wherever))
"""


class _Rank(Struct, frozen=True):
    """What a list is in order by."""

    value: str
    cell: str = "Int64"
    direction: str = "DESC"
    given: tuple[type, ...] = (int,)
    """What a cursor may have for it."""


_RANKS = {
    SessionOrder.NEWEST: _Rank("last_time"),
    SessionOrder.OLDEST: _Rank("last_time", direction="ASC"),
    SessionOrder.TITLE: _Rank("coalesce(name_key, title_key)", "String", "ASC", (str,)),
    SessionOrder.COST: _Rank("toFloat64OrNull(cost)", "Float64", "DESC", (int, float)),
    SessionOrder.DURATION: _Rank(_DURATION),
    SessionOrder.MESSAGES: _Rank("messages"),
    SessionOrder.TOKENS: _Rank(_TOKENS),
}


class Lists(Connected):
    """What `ClickHouseStore` tells of sessions as a whole."""

    def find_sessions(self, scope: Scope, prefix: str) -> list[StoredSession]:
        """Return the sessions whose id or key begins with a prefix, newest first."""
        where, values = build_filter(SessionFilter(session=prefix, archived=None))
        query = f"SELECT session FROM summaries FINAL WHERE {where} ORDER BY last_time DESC NULLS LAST, key"
        reading = self._reading(scope)
        return _list_stored(reading, {id: 1 for (id,) in reading.query(query, values)})

    def list_sessions(
        self,
        scope: Scope,
        asked: SessionFilter = EVERYTHING_SHOWN,
        *,
        order: SessionOrder = SessionOrder.NEWEST,
        limit: int = 100,
        cursor: str | None = None,
        grouped: bool = False,
    ) -> SessionPage:
        """Return a page of sessions: the first, or the one that begins where another one ended."""
        where, values = build_filter(asked)
        rank, behind = _RANKS[order], "true"
        if cursor is not None:
            behind, more = _build_behind(decode_cursor(cursor, order), rank)
            values |= more
        listed = f"SELECT session, {rank.value} AS rank, key, series, person FROM summaries FINAL WHERE {where}"
        # Where nothing is grouped, nothing is of a series.
        alike = f"""
        SELECT session, count() OVER (PARTITION BY series, person) AS sessions, row_number() OVER (
            PARTITION BY series, person ORDER BY rank {rank.direction} NULLS LAST, key
        ) AS place FROM ({listed} AND {"series IS NOT NULL" if grouped else "false"})
        """
        hidden = f"SELECT session FROM ({alike}) WHERE place > 1 AND sessions >= {FEWEST_ALIKE}"
        counts = f"""
        (SELECT count() FROM summaries FINAL WHERE {where}) AS total, (SELECT count() FROM ({hidden})) AS unseen
        """
        query = f"""
        SELECT session, rank, key, if(a.sessions >= {FEWEST_ALIKE}, a.sessions, 1), {counts}
        FROM ({listed}) AS l LEFT JOIN ({alike}) AS a USING (session)
        WHERE {behind} AND session NOT IN ({hidden})
        ORDER BY rank {rank.direction} NULLS LAST, key LIMIT {{limit:UInt64}}
        """
        reading = self._reading(scope)
        rows = reading.query(query, {**values, "limit": limit + 1})
        if rows:
            *_, total, unseen = rows[0]
        else:
            [(total, unseen)] = reading.query(f"SELECT {counts}", values)
        follow = None
        if len(rows) > limit > 0:
            _, value, key, *_ = rows[limit - 1]
            value = unpack_text(value) if isinstance(value, bytes) else value
            follow = encode_cursor(Cursor(order, value, unpack_text(key)))
        alike_of = {id: sessions for id, _, _, sessions, *_ in rows[:limit]}
        return SessionPage(tuple(_list_stored(reading, alike_of)), follow, total, total - unseen)

    def list_projects(
        self, scope: Scope, *, text: str | None = None, order: ProjectOrder = ProjectOrder.NEWEST
    ) -> list[StoredProject]:
        """Return all projects, or those with a text in their paths."""
        where, values = build_filter(SessionFilter(project_text=text, archived=None))
        rows = self._reading(scope).query(f"{_PROJECTS} WHERE {where} GROUP BY project", values)
        return sort_projects(map(_build_project, rows), order)

    def list_facets(self, scope: Scope, asked: SessionFilter = EVERYTHING_SHOWN) -> Facets:
        """Return what the sessions that are asked for can be told apart by."""
        where, values = build_filter(asked)
        names = Facets.__struct_fields__
        size = len(names)
        lists: dict[str, list[tuple[list[str], int]]] = {name: [] for name in names}
        for row in self._reading(scope).query(_FACETS.format(where), values):
            at = row[size + 1 :].index(_GROUPED)
            lists[names[at]].append((list(map(unpack_text, row[at])), row[size]))
        return Facets(**{name: count_facets(found) for name, found in lists.items()})


_GROUPED = 0
"""What `grouping` says of what a row is of."""


def _list_stored(reading: Reading, alike: Mapping[int, int]) -> list[StoredSession]:
    """Return sessions as they are by now, given by their numbers in order, each with how many it stands for."""
    found = {session.id: session for session in reading.find_listed([*alike])}
    sessions = [found[id] for id in alike if id in found]
    originals = reading.tell_originals([(each.copied_from, each.person) for each in sessions])
    return [
        _build(session, original, alike[session.id])
        for session, original in zip(sessions, originals, strict=True)
        if session.row is not None
    ]


def _build(session: Session, copied_from: bytes | None, alike: int) -> StoredSession:
    row = session.summary
    assert row is not None
    return StoredSession(
        key=unpack_text(session.key),
        revision=session.revision,
        project_folder=unpack_text(session.project_folder),
        path=unpack_text(session.path),
        present=session.transcript_present,
        row=row,
        only_here=not session.present,
        marks=session.marks,
        copied_from=unpack_text(copied_from),
        origin=unpack_text(session.origin),
        person=unpack_text(session.person),
        visibility=Visibility.TEAM if session.shared else Visibility.PRIVATE,
        alike=alike,
    )


def _build_behind(cursor: Cursor, rank: _Rank) -> tuple[str, dict[str, Any]]:
    """Return the condition that a session of a list comes behind the one that a cursor names."""
    values: dict[str, Any] = {"behind_key": pack_text(cursor.key)}
    if cursor.value is None:
        return "(rank IS NULL AND key > {behind_key:String})", values
    if not isinstance(cursor.value, rank.given):
        raise CursorError(f"Expected a cursor that a list by {cursor.order} ended with, got {cursor.value!r}")
    values["behind"] = pack_text(cursor.value) if isinstance(cursor.value, str) else cursor.value
    sign, last = ">" if rank.direction == "ASC" else "<", f"{{behind:{rank.cell}}}"
    return f"(rank {sign} {last} OR (rank = {last} AND key > {{behind_key:String}}) OR rank IS NULL)", values


def _build_project(cells: Cells) -> StoredProject:
    path, sessions, only_here, archived, first, last, *counts, unpriced, cost, digits, odd = cells
    prompts, answers, input, output = counts
    return StoredProject(
        path=unpack_text(path),
        sessions=sessions,
        only_here=only_here,
        archived=archived,
        first_time=first,
        last_time=last,
        prompts=prompts,
        answers=answers,
        input_tokens=input,
        output_tokens=output,
        cost=None if unpriced == sessions else _add_up(cost or Decimal(), digits, odd),
        unpriced=unpriced,
    )


def _add_up(cost: Decimal, digits: int, odd: list[bytes]) -> Decimal:
    """Return a sum with as many digits behind the point as the longest of its amounts."""
    with localcontext() as context:
        context.prec = _DIGITS
        whole = cost.quantize(Decimal(1).scaleb(-digits))
        return sum((Decimal(unpack_text(amount)) for amount in odd), whole)

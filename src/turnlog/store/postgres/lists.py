"""Lists of sessions and projects, each page in one query.

What is filtered and ordered by stands in `summaries` and in the newest entries of `marks`; only the sessions of
the page itself are unpacked. Numbers that are added up are `numeric` meanwhile: two large ones together do not
fit into 64 bits.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from psycopg import Connection

from turnlog.errors import CursorError
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
from turnlog.store.packing import Cells, pack_text, unpack_row, unpack_text
from turnlog.store.people import Visibility
from turnlog.store.postgres.chapters import select
from turnlog.store.postgres.connection import Connected
from turnlog.store.postgres.list_filters import build_filter
from turnlog.store.postgres.marks import MARK_COLUMNS, unpack_marks
from turnlog.store.rows import SessionRow

__all__ = ["Lists", "write_presence"]

_MARKED = """
newest AS MATERIALIZED (
    SELECT DISTINCT ON (session) * FROM marks WHERE owner = %(owner)s ORDER BY session, id DESC
)
"""
_JOINED = (
    "LEFT JOIN newest AS m ON m.session = t.session LEFT JOIN absent_sessions AS a ON a.session = t.session"
)
_OWNED = "access AS x ON x.session = t.session"
_LISTED = f"FROM summaries AS t JOIN sessions AS e ON e.id = t.session JOIN {_OWNED} {_JOINED}"
_TRANSCRIPT = "LEFT JOIN sources AS s ON s.owner = e.owner AND s.source = e.key"
_STORED = ", ".join(
    (
        "e.key, e.revision, e.project_folder, s.path, s.present, a.session, s.copied_from, e.origin, x.person",
        "x.shared, t.row",
        *(f"m.{name}" for name in MARK_COLUMNS),
    )
)
_LARGEST = (1 << 63) - 1

_DURATION = f"""
CASE WHEN num_nulls(t.first_time, t.last_time) = 0
    THEN least(t.last_time::numeric - t.first_time, {_LARGEST})::bigint END
"""  # the least of nothing and something would be something


class _Rank(Struct, frozen=True):
    """What a list is in order by."""

    value: str
    cell: str = "bigint"
    direction: str = "DESC"
    given: tuple[type, ...] = (int,)
    """What a cursor may have for it."""


_RANKS = {
    SessionOrder.NEWEST: _Rank("t.last_time"),
    SessionOrder.OLDEST: _Rank("t.last_time", direction="ASC"),
    SessionOrder.TITLE: _Rank("coalesce(m.name_key, t.title_key)", "bytea", "ASC", (str,)),
    SessionOrder.COST: _Rank("t.cost::float8", "float8", "DESC", (int, float)),
    SessionOrder.DURATION: _Rank(_DURATION),
    SessionOrder.MESSAGES: _Rank("t.messages"),
    SessionOrder.TOKENS: _Rank(f"least(t.input_tokens::numeric + t.output_tokens, {_LARGEST})::bigint"),
}


class Lists(Connected):
    """What `PostgresStore` tells of sessions as a whole."""

    def find_sessions(self, scope: Scope, prefix: str) -> list[StoredSession]:
        """Return the sessions whose id or key begins with a prefix, newest first."""
        where, values = build_filter(scope, SessionFilter(session=prefix, archived=None))
        query = f"""
        WITH {_MARKED} SELECT {_STORED} {_LISTED} {_TRANSCRIPT} WHERE {where}
        ORDER BY t.last_time DESC NULLS LAST, e.key
        """
        return [_unpack(row) for row in self._ask(scope, select, query, values)]

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
        where, values = build_filter(scope, asked)
        rank, behind = _RANKS[order], "true"
        if cursor is not None:
            behind, more = _build_behind(decode_cursor(cursor, order), rank)
            values |= more
        # Where nothing is grouped, nothing is of a series.
        query = f"""
        WITH {_MARKED}, listed AS MATERIALIZED (
            SELECT t.session, {rank.value} AS rank, e.key, t.series, x.person {_LISTED} WHERE {where}
        ), alike AS MATERIALIZED (
            SELECT session, count(*) OVER (PARTITION BY series, person) AS sessions, row_number() OVER (
                PARTITION BY series, person ORDER BY rank {rank.direction} NULLS LAST, key
            ) AS place FROM listed WHERE {"series IS NOT NULL" if grouped else "false"}
        ), firsts AS MATERIALIZED (
            SELECT session, sessions FROM alike WHERE place = 1 AND sessions >= {FEWEST_ALIKE}
        ), hidden AS MATERIALIZED (
            SELECT session FROM alike WHERE place > 1 AND sessions >= {FEWEST_ALIKE}
        ), page AS MATERIALIZED (
            SELECT * FROM listed WHERE {behind} AND session NOT IN (SELECT session FROM hidden)
            ORDER BY rank {rank.direction} NULLS LAST, key LIMIT %(limit)s
        )
        SELECT (SELECT count(*) FROM listed), (SELECT count(*) FROM hidden), page.rank,
            coalesce(firsts.sessions, 1), {_STORED}
        FROM (SELECT) AS whole LEFT JOIN page ON true LEFT JOIN firsts ON firsts.session = page.session
        LEFT JOIN summaries AS t ON t.session = page.session
        LEFT JOIN sessions AS e ON e.id = page.session LEFT JOIN {_OWNED} {_JOINED} {_TRANSCRIPT}
        ORDER BY page.rank {rank.direction} NULLS LAST, page.key
        """
        rows = self._ask(scope, select, query, {**values, "limit": limit + 1})
        found = [(row[2], _unpack(row[4:], row[3])) for row in rows[:limit] if row[4] is not None]
        follow = None
        if len(rows) > limit > 0:
            value, last = found[-1]
            value = unpack_text(value) if isinstance(value, bytes) else value
            follow = encode_cursor(Cursor(order, value, last.key))
        total, hidden, *_ = rows[0]
        return SessionPage(tuple(session for _, session in found), follow, total, total - hidden)

    def list_projects(
        self, scope: Scope, *, text: str | None = None, order: ProjectOrder = ProjectOrder.NEWEST
    ) -> list[StoredProject]:
        """Return all projects, or those with a text in their paths."""
        where, values = build_filter(scope, SessionFilter(project_text=text, archived=None))
        query = f"""
        WITH {_MARKED}
        SELECT t.project, count(*), count(a.session), count(*) FILTER (WHERE m.archived), min(t.first_time),
            max(t.last_time), sum(t.prompts), sum(t.answers), sum(t.input_tokens), sum(t.output_tokens),
            sum(t.cost), count(*) FILTER (WHERE t.cost IS NULL)
        {_LISTED} WHERE {where} GROUP BY t.project
        """
        return sort_projects(map(_unpack_project, self._ask(scope, select, query, values)), order)

    def list_facets(self, scope: Scope, asked: SessionFilter = EVERYTHING_SHOWN) -> Facets:
        """Return what the sessions that are asked for can be told apart by."""
        where, values = build_filter(scope, asked)
        names = Facets.__struct_fields__
        parts = (
            f"SELECT '{name}', {name}, count(*) FROM listed WHERE {name} IS NOT NULL GROUP BY {name}"
            for name in names
        )
        query = f"""
        WITH {_MARKED}, listed AS MATERIALIZED (
            SELECT t.models, t.branches, m.tags, ARRAY[convert_to(coalesce(x.person, ''), 'UTF8')] AS persons,
                ARRAY[e.origin] AS machines {_LISTED} WHERE {where}
        )
        {" UNION ALL ".join(parts)}
        """
        lists: dict[str, list[tuple[list[str], int]]] = {name: [] for name in names}
        for name, cells, found in self._ask(scope, select, query, values):
            lists[name].append((list(map(unpack_text, cells)), found))
        return Facets(**{name: count_facets(found) for name, found in lists.items()})


def write_presence(connection: Connection, session: int, present: bool) -> None:
    """Note whether any file of a session is still outside, in the transaction of the caller."""
    if present:
        connection.execute("DELETE FROM absent_sessions WHERE session = %s", (session,))
    else:
        connection.execute("INSERT INTO absent_sessions VALUES (%s) ON CONFLICT DO NOTHING", (session,))


def _unpack(cells: Cells, alike: int = 1) -> StoredSession:
    key, revision, folder, path, present, absent, copied_from, origin, person, shared, row, *marks = cells
    return StoredSession(
        key=key,
        revision=revision,
        project_folder=unpack_text(folder),
        path=unpack_text(path) or "",
        present=bool(present),
        row=unpack_row(SessionRow, row),
        only_here=absent is not None,
        marks=unpack_marks(marks),
        copied_from=copied_from,
        origin=unpack_text(origin),
        person=person,
        visibility=Visibility.TEAM if shared else Visibility.PRIVATE,
        alike=alike,
    )


def _build_behind(cursor: Cursor, rank: _Rank) -> tuple[str, dict[str, Any]]:
    """Return the condition that a session of `listed` comes behind the one that a cursor names."""
    values: dict[str, Any] = {"behind_key": cursor.key}
    if cursor.value is None:
        return "(rank IS NULL AND key > %(behind_key)s)", values
    if not isinstance(cursor.value, rank.given):
        raise CursorError(f"Expected a cursor that a list by {cursor.order} ended with, got {cursor.value!r}")
    values["behind"] = pack_text(cursor.value) if isinstance(cursor.value, str) else cursor.value
    sign, last = ">" if rank.direction == "ASC" else "<", f"%(behind)s::{rank.cell}"
    return f"(rank {sign} {last} OR (rank = {last} AND key > %(behind_key)s) OR rank IS NULL)", values


def _unpack_project(cells: Cells) -> StoredProject:
    path, sessions, only_here, archived, first, last, prompts, answers, input, output, cost, unpriced = cells
    return StoredProject(
        path=unpack_text(path),
        sessions=sessions,
        only_here=only_here,
        archived=archived,
        first_time=first,
        last_time=last,
        prompts=int(prompts),
        answers=int(answers),
        input_tokens=int(input),
        output_tokens=int(output),
        cost=cost,
        unpriced=unpriced,
    )

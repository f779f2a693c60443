"""Lists of sessions and projects, each page in one query.

The index `summaries_listed` has all that sessions are filtered and ordered by, so that only the sessions of the
page itself are looked up. What of a filter only Python can tell, as text whatever its case, is asked once for
each distinct value.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import apsw
from msgspec import json
from msgspec.structs import astuple

from turnlog.store.frames import compress, decompress
from turnlog.store.identity import Scope
from turnlog.store.lists import (
    FEWEST_ALIKE,
    Cursor,
    Facets,
    SessionFilter,
    SessionOrder,
    SessionPage,
    StoredProject,
    StoredSession,
    count_facets,
    decode_cursor,
    encode_cursor,
    list_model_forms,
)
from turnlog.store.people import Visibility
from turnlog.store.rows import SessionHead, SessionRow
from turnlog.store.sqlite.marks import MARK_COLUMNS, unpack_marks
from turnlog.store.sqlite.values import Cells, pack_text, unpack_text

__all__ = ["Lists", "write_presence", "write_summary"]

_MARKS = "LEFT JOIN marks AS m ON m.id = (SELECT max(id) FROM marks WHERE session = t.session)"
_ABSENT = "LEFT JOIN absent_sessions AS a ON a.session = t.session"
_ACCESS = "LEFT JOIN access AS x ON x.session = t.session"
"""Where nothing is asked of it, SQLite leaves it out."""
_LISTED = f"FROM summaries AS t JOIN sessions AS e ON e.id = t.session {_MARKS} {_ABSENT} {_ACCESS}"
_HALF = 32
"""Sums of 64 bits may not fit into 64 bits, so halves are added up."""

_RANKS = {
    SessionOrder.NEWEST: ("t.last_time", "DESC"),
    SessionOrder.OLDEST: ("t.last_time", "ASC"),
    SessionOrder.TITLE: ("coalesce(m.name_key, t.title_key)", "ASC"),
    SessionOrder.COST: ("CAST(t.cost AS REAL)", "DESC"),
    SessionOrder.DURATION: ("t.last_time - t.first_time", "DESC"),
    SessionOrder.MESSAGES: ("t.messages", "DESC"),
    SessionOrder.TOKENS: ("t.input_tokens + t.output_tokens", "DESC"),
}
_COLUMNS = (
    "session_id", "title", "project", "first_time", "last_time", "prompts", "answers", "calls", "agents",
    "lines", "problems", "input_tokens", "output_tokens", "cost", "messages", "errors", "models", "branches",
    "series", "first_prompt", "forked_from", "is_floor", "is_estimate", "head_uuid", "head_type", "head_time",
    "head_told",
)  # fmt: skip
"""What lists show of a session, as it stands in `summaries`."""
_STORED = ", ".join(
    (
        "e.key, e.revision, e.project_folder, p.path, p.present, a.session, s.copied_from",
        "e.origin, x.person, x.shared",
        *(f"m.{name}" for name in MARK_COLUMNS),
        *(f"t.{name}" for name in _COLUMNS),
    )
)
_HEAD = 10
"""How many columns come before those of the marks."""
_PLACES = """
LEFT JOIN sources AS s ON s.owner = e.owner AND s.source = e.key
LEFT JOIN source_paths AS p ON p.id = (SELECT max(id) FROM source_paths WHERE source = s.id)
"""
_decode_list = json.Decoder(list[str]).decode
_BEGINS = "({column} >= {value} AND {column} < {value} || char(1114111))"
"""A range, unlike LIKE, is about exact characters and can use an index."""
_ANY_WITH = """
t.{column} IN (
    WITH each AS MATERIALIZED (SELECT DISTINCT {column} AS value FROM summaries WHERE owner = :owner)
    SELECT value FROM each WHERE {function}(value, :{name})
)
"""


class Lists:
    """Asks one connection for lists."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        connection.create_scalar_function("has_text", _has_text, 2, deterministic=True)
        connection.create_scalar_function("has_text_in_list", _has_text_in_list, 2, deterministic=True)
        connection.create_aggregate_function("sum_money", _MoneySum, 1)

    def list_sessions(
        self,
        scope: Scope,
        asked: SessionFilter,
        order: SessionOrder,
        limit: int,
        cursor: str | None,
        grouped: bool,
        summaries: bool,
    ) -> SessionPage:
        """Return a page of sessions."""
        summary = "t.summary_length, CAST(t.summary AS BLOB)" if summaries else "NULL, NULL"
        where, values = _build_where(scope, asked)
        rank, direction = _RANKS[order]
        behind = "true"
        if cursor is not None:
            behind, more = _build_behind(decode_cursor(cursor, order), rank, direction)
            values |= more
        # Where nothing is grouped, nothing is of a series.
        query = f"""
        WITH alike AS MATERIALIZED (
            SELECT t.session, count(*) OVER (PARTITION BY t.series, x.person) AS sessions, row_number() OVER (
                PARTITION BY t.series, x.person ORDER BY {rank} {direction} NULLS LAST, e.key
            ) AS place {_LISTED} WHERE {where} AND {"t.series IS NOT NULL" if grouped else "false"}
        ), firsts AS MATERIALIZED (
            SELECT session, sessions FROM alike WHERE place = 1 AND sessions >= {FEWEST_ALIKE}
        ), hidden AS MATERIALIZED (
            SELECT session FROM alike WHERE place > 1 AND sessions >= {FEWEST_ALIKE}
        ), page AS MATERIALIZED (
            SELECT t.session, {rank} AS rank, e.key {_LISTED}
            WHERE {where} AND {behind} AND t.session NOT IN (SELECT session FROM hidden)
            ORDER BY {rank} {direction} NULLS LAST, e.key LIMIT :limit
        ), whole AS MATERIALIZED (
            SELECT count(*) AS total, (SELECT count(*) FROM hidden) AS hidden {_LISTED} WHERE {where}
        )
        SELECT whole.total, whole.hidden, page.rank,
            coalesce(firsts.sessions, 1), {summary}, {_STORED}
        FROM whole LEFT JOIN page ON true LEFT JOIN firsts ON firsts.session = page.session
        LEFT JOIN summaries AS t ON t.session = page.session AND t.idx = 0
        LEFT JOIN sessions AS e ON e.id = page.session {_MARKS} {_ABSENT} {_ACCESS} {_PLACES}
        ORDER BY page.rank {direction} NULLS LAST, page.key
        """
        rows: list[Cells] = self._connection.execute(query, {**values, "limit": limit + 1}).fetchall()
        found = [
            (rank, self._unpack(row, alike, b"" if data is None else decompress(data, length)))
            for _, _, rank, alike, length, data, *row in rows[:limit]
            if row[0] is not None
        ]
        more_follow = len(rows) > limit > 0
        last = Cursor(order, found[-1][0], found[-1][1].key) if more_follow else None
        total, hidden, *_ = rows[0]
        return SessionPage(
            tuple(session for _, session in found),
            None if last is None else encode_cursor(last),
            total,
            total - hidden,
        )

    def list_projects(self, scope: Scope, text: str | None) -> list[StoredProject]:
        """Return all projects, or those with a text in their path."""
        where, values = _build_where(scope, SessionFilter(project_text=text, archived=None))
        halves = ", ".join(
            f"sum(t.{name} >> {_HALF}), sum(t.{name} & {(1 << _HALF) - 1})"
            for name in ("input_tokens", "output_tokens")
        )
        query = f"""
        SELECT t.project, count(*), count(a.session), sum(m.archived IS 1), min(t.first_time),
            max(t.last_time), sum(t.prompts), sum(t.answers), sum_money(t.cost), sum(t.cost IS NULL), {halves}
        {_LISTED} WHERE {where} GROUP BY t.project
        """
        return [_unpack_project(row) for row in self._connection.execute(query, values)]

    def list_facets(self, scope: Scope, asked: SessionFilter) -> Facets:
        """Return what sessions can be told apart by, looking at each distinct list once."""
        where, values = _build_where(scope, asked)

        def count(columns: str) -> list[Cells]:
            query = f"SELECT {columns}, count(*) {_LISTED} WHERE {where} GROUP BY {columns}"
            return self._connection.execute(query, values).fetchall()

        def count_lists(rows: Iterable[Cells]) -> tuple[tuple[str, int], ...]:
            return count_facets((_decode_list(unpack_text(cell) or "[]"), found) for cell, *_, found in rows)

        whose = count("t.models, x.person, e.origin")
        return Facets(
            models=count_lists(whose),
            branches=count_lists(count("t.branches")),
            tags=count_lists(count("m.tags")),
            persons=count_facets(([person or ""], found) for _, person, _, found in whose),
            machines=count_facets(([unpack_text(origin)], found) for _, _, origin, found in whose),
        )

    def _unpack(self, cells: Sequence[Any], alike: int, summary: bytes) -> StoredSession:
        key, revision, folder, path, present, absent, copied_from, origin, person, shared = cells[:_HEAD]
        marks, row = cells[_HEAD : _HEAD + len(MARK_COLUMNS)], cells[_HEAD + len(MARK_COLUMNS) :]
        return StoredSession(
            key=key,
            revision=revision,
            project_folder=unpack_text(folder),
            path=unpack_text(path) or "",
            present=bool(present),
            row=_unpack_row(row, summary),
            only_here=absent is not None,
            marks=unpack_marks(tuple(marks)),
            copied_from=copied_from,
            origin=unpack_text(origin),
            person=person,
            visibility=Visibility.TEAM if shared else Visibility.PRIVATE,
            alike=alike,
        )


def write_summary(connection: apsw.Connection, session: int, owner: str, row: SessionRow) -> bool:
    """Write what lists show of a session; return whether that differs from what is there."""
    title_key = None if row.title is None else row.title.casefold()
    cells = (owner, title_key, len(row.summary), compress(row.summary), *_pack_row(row))
    columns = ", ".join(("owner", "title_key", "summary_length", "summary", *_COLUMNS))
    found = connection.execute(f"SELECT {columns} FROM summaries WHERE session = ?", (session,)).fetchone()
    if found is None:
        marks = ", ".join("?" * len(cells))
        connection.execute(
            f"INSERT INTO summaries (session, idx, revision, {columns}) VALUES (?, 0, 0, {marks})",
            (session, *cells),
        )
        return True
    # An index is written only if one of its columns is among those that are set.
    differing = [at for at, (old, new) in enumerate(zip(found, cells, strict=True)) if old != new]
    if differing:
        names = columns.split(", ")
        connection.execute(
            f"UPDATE summaries SET {', '.join(f'{names[at]} = ?' for at in differing)} WHERE session = ?",
            (*(cells[at] for at in differing), session),
        )
    return bool(differing)


def _pack_row(row: SessionRow) -> tuple[Any, ...]:
    head = (None, None, None, None) if row.head is None else astuple(row.head)
    return (
        pack_text(row.session_id), row.title, pack_text(row.project), row.first_time, row.last_time,
        row.prompts, row.answers, row.calls, row.agents, row.lines, row.problems, row.input_tokens,
        row.output_tokens, row.cost, row.messages, row.errors, json.encode(row.models).decode(),
        json.encode(row.branches).decode(), row.series, pack_text(row.first_prompt),
        pack_text(row.forked_from), int(row.is_floor), int(row.is_estimate),
        *(pack_text(each) if isinstance(each, str) else each for each in head),
    )  # fmt: skip


def _unpack_row(cells: Sequence[Any], summary: bytes) -> SessionRow:
    values = dict(zip(_COLUMNS, cells, strict=True))
    uuid, kind, time, told = (values.pop(f"head_{name}") for name in ("uuid", "type", "time", "told"))
    for name in ("session_id", "project", "first_prompt", "forked_from"):
        values[name] = unpack_text(values[name])
    for name in ("models", "branches"):
        values[name] = tuple(_decode_list(values[name]))
    head = None
    if uuid is not None:
        head = SessionHead(uuid=unpack_text(uuid), type=kind, time=time, told_id=unpack_text(told))
    values["is_floor"], values["is_estimate"] = bool(values["is_floor"]), bool(values["is_estimate"])
    return SessionRow(**values, summary=summary, head=head)


def write_presence(connection: apsw.Connection, session: int, present: bool) -> None:
    """Note whether any file of a session is still outside, in the transaction of the caller."""
    if present:
        connection.execute("DELETE FROM absent_sessions WHERE session = ?", (session,))
    else:
        connection.execute("INSERT OR IGNORE INTO absent_sessions VALUES (?)", (session,))


def _build_where(scope: Scope, asked: SessionFilter) -> tuple[str, dict[str, Any]]:
    """Return a condition on what `_LISTED` joins, and the values of its parameters."""
    values: dict[str, Any] = {"owner": scope.owner}
    clauses = ["t.owner = :owner", *_list_clauses(asked, values), *_list_flags(asked)]
    return " AND ".join(clauses), values


def _list_clauses(asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
    """Yield what is compared with a value, and give that its name."""
    if asked.project is not None:
        values["project"] = pack_text(asked.project)
        yield "t.project = :project"
    if asked.under is not None:
        yield _build_under(asked.under, values)
    if asked.session is not None:
        values["session"] = pack_text(asked.session)
        columns = ("e.key", "e.session_id", "t.session_id")
        yield f"({' OR '.join(_BEGINS.format(column=column, value=':session') for column in columns)})"
    if asked.head is not None:
        values["head"] = pack_text(asked.head)
        yield "t.head_uuid = :head"
    if asked.series is not None:
        values["series"] = pack_text(asked.series)
        yield "t.series = :series"
    if asked.name is not None:
        values["name"] = pack_text(asked.name.casefold())
        yield _BEGINS.format(column="m.name_key", value=":name")
    if asked.text is not None:
        values["text"] = pack_text(asked.text.casefold())
        yield "(instr(t.title_key, :text) > 0 OR instr(m.name_key, :text) > 0)"
    for name, column, function, text in (
        ("project_text", "project", "has_text", asked.project_text),
        ("branch", "branches", "has_text_in_list", asked.branch),
    ):
        if text is not None:
            values[name] = pack_text(text.casefold())
            yield _ANY_WITH.format(column=column, function=function, name=name)
    if asked.model is not None:
        forms = {f"model{number}": form for number, form in enumerate(list_model_forms(asked.model))}
        values |= {name: pack_text(form) for name, form in forms.items()}
        clauses = (_ANY_WITH.format(column="models", function="has_text_in_list", name=name) for name in forms)
        yield f"({' OR '.join(clauses)})"
    for number, tag in enumerate(asked.tags):
        values[f"tag{number}"] = pack_text(tag)
        yield f"EXISTS (SELECT 1 FROM json_each(m.tags) WHERE value = :tag{number})"
    for name, column, wanted in (
        ("persons", "ifnull(x.person, '')", asked.persons),
        ("machines", "e.origin", asked.machines),
    ):
        if wanted:
            names = [f"{name}{number}" for number in range(len(wanted))]
            values |= zip(names, map(pack_text, wanted), strict=True)
            yield f"{column} IN ({', '.join(f':{each}' for each in names)})"
    for name, column, sign in (("since", "last_time", ">="), ("until", "first_time", "<")):
        if (moment := getattr(asked, name)) is not None:
            values[name] = moment
            yield f"t.{column} {sign} :{name}"


def _list_flags(asked: SessionFilter) -> Iterator[str]:
    is_shared = None if asked.visibility is None else asked.visibility is Visibility.TEAM
    for wanted, condition in (
        (is_shared, "x.shared IS 1"),
        (asked.starred, "m.starred IS 1"),
        (asked.archived, "m.archived IS 1"),
        (asked.only_here, "a.session IS NOT NULL"),
        (asked.errors, "t.errors > 0"),
        (asked.problems, "t.problems > 0"),
    ):
        if wanted is not None:
            yield condition if wanted else f"NOT ({condition})"


def _build_under(path: str, values: dict[str, Any]) -> str:
    # A path that is no text is kept as bytes, which come behind all text.
    base = path.rstrip("/\\")
    values["under"] = pack_text(path)
    clauses = ["t.project = :under"]
    for number, (separator, after) in enumerate((("/", "0"), ("\\", "]"))):
        for kind, pack in (("text", pack_text), ("bytes", os.fsencode)):
            name = f"{kind}{number}"
            values[f"from_{name}"], values[f"to_{name}"] = pack(base + separator), pack(base + after)
            clauses.append(f"(t.project >= :from_{name} AND t.project < :to_{name})")
    return f"({' OR '.join(clauses)})"


def _build_behind(cursor: Cursor, rank: str, direction: str) -> tuple[str, dict[str, Any]]:
    """Return the condition that a session comes behind the one that a cursor names."""
    values: dict[str, Any] = {"behind_key": pack_text(cursor.key)}
    if cursor.value is None:
        return f"({rank} IS NULL AND e.key > :behind_key)", values
    sign = ">" if direction == "ASC" else "<"
    values["behind"] = cursor.value
    clauses = (f"{rank} {sign} :behind", f"{rank} = :behind AND e.key > :behind_key", f"{rank} IS NULL")
    return f"({' OR '.join(clauses)})", values


def _unpack_project(cells: Cells) -> StoredProject:
    path, sessions, only_here, archived, first, last, prompts, answers, cost, unpriced, *halves = cells
    return StoredProject(
        path=unpack_text(path),
        sessions=sessions,
        only_here=only_here,
        archived=archived,
        first_time=first,
        last_time=last,
        prompts=prompts,
        answers=answers,
        input_tokens=(halves[0] << _HALF) + halves[1],
        output_tokens=(halves[2] << _HALF) + halves[3],
        cost=None if cost is None else Decimal(cost),
        unpriced=unpriced,
    )


def _has_text(*cells: Any) -> bool:
    value, text = map(unpack_text, cells)
    return isinstance(value, str) and text in value.casefold()


def _has_text_in_list(*cells: Any) -> bool:
    value, wanted = map(unpack_text, cells)
    return any(wanted in each.casefold() for each in _decode_list(value))


class _MoneySum:
    """Adds up dollars to the last digit, which SQL cannot."""

    def __init__(self) -> None:
        self._sum: Decimal | None = None

    def step(self, *cells: Any) -> None:
        [amount] = cells
        if amount is not None:
            try:
                self._sum = (self._sum or Decimal(0)) + Decimal(amount)
            except InvalidOperation as error:
                raise ValueError(f"{amount!r} is no amount") from error

    def final(self) -> str | None:
        return None if self._sum is None else format(self._sum, "f")

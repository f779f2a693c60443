"""Lists of sessions and projects, from their rows alone.

What of a filter only Python can tell, as text whatever its case, is asked first for each distinct value that
there is, and the rest is SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from msgspec import json
from msgspec.structs import astuple

from turnlog.errors import CursorError, StoreError
from turnlog.store.catalogue.database import INDEXED, Connection, Row, begins_with, pack_text, unpack_text
from turnlog.store.catalogue.people import MARK_COLUMNS, unpack_marks
from turnlog.store.frames import compress, open_compressed
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
from turnlog.store.model import Scope, SessionHead, SessionRow, Visibility

_LISTED = "FROM sessions AS e LEFT JOIN marks AS m ON m.id = e.mark"
_RANKS = {
    SessionOrder.NEWEST: ("e.last_time", "DESC"),
    SessionOrder.OLDEST: ("e.last_time", "ASC"),
    SessionOrder.TITLE: ("coalesce(m.name_key, e.title_key)", "ASC"),
    SessionOrder.COST: ("CAST(e.cost AS double precision)", "DESC"),
    SessionOrder.DURATION: ("e.last_time - e.first_time", "DESC"),
    SessionOrder.MESSAGES: ("e.messages", "DESC"),
    SessionOrder.TOKENS: ("e.input_tokens + e.output_tokens", "DESC"),
}
_KINDS: dict[SessionOrder, tuple[type, ...]] = {SessionOrder.TITLE: (str,), SessionOrder.COST: (int, float)}
"""What the values are that lists are ordered by; all others are whole numbers."""
_COLUMNS = (
    "session_id", "title", "project", "first_time", "last_time", "prompts", "answers", "calls", "agents",
    "lines", "problems", "input_tokens", "output_tokens", "cost", "messages", "errors", "models", "branches",
    "series", "first_prompt", "forked_from", "is_floor", "is_estimate", "head_uuid", "head_type", "head_time",
    "head_told",
)  # fmt: skip
"""What lists show of a session."""
_TEXTS = frozenset({
    "session_id", "title", "project", "series", "first_prompt", "forked_from", "head_uuid", "head_type",
    "head_told",
})  # fmt: skip
_WRITTEN = ("title_key", *_COLUMNS)
_STORED = ", ".join(
    (
        "e.key, e.revision, e.project_folder, s.path, s.is_present, e.is_present, s.copied_from",
        "e.origin, e.person, e.is_shared",
        *(f"m.{name}" for name in MARK_COLUMNS),
        *(f"e.{name}" for name in _COLUMNS),
    )
)
_HEAD = 10
"""How many columns come before those of the marks."""
_PLACE = "LEFT JOIN sources AS s ON s.owner = e.owner AND s.source = e.key"
_HALF = 32
"""Sums of 64 bits may not fit into 64 bits, so halves are added up."""
_decode_list = json.Decoder(list[str]).decode


def list_sessions(
    connection: Connection,
    scope: Scope,
    asked: SessionFilter,
    order: SessionOrder,
    limit: int,
    cursor: str | None,
    grouped: bool,
    summaries: bool,
) -> SessionPage:
    """Return a page of sessions."""
    where, values = _build_where(connection, scope, asked)
    rank, direction = _RANKS[order]
    behind = "true"
    if cursor is not None:
        behind, more = _build_behind(decode_cursor(cursor, order), rank, direction)
        values |= more
    order_by = f"{rank} {direction} NULLS LAST, e.key"
    groups = f"""
    alike AS MATERIALIZED (
        SELECT e.id, count(*) OVER (PARTITION BY e.series, e.person) AS sessions, row_number() OVER (
            PARTITION BY e.series, e.person ORDER BY {order_by}
        ) AS place {_LISTED} WHERE {where} AND e.series IS NOT NULL
    ), firsts AS MATERIALIZED (
        SELECT id, sessions FROM alike WHERE place = 1 AND sessions >= {FEWEST_ALIKE}
    ), hidden AS MATERIALIZED (
        SELECT id FROM alike WHERE place > 1 AND sessions >= {FEWEST_ALIKE}
    ),
    """
    query = f"""
    WITH {groups if grouped else ""} page AS MATERIALIZED (
        SELECT e.id, {rank} AS rank, e.key {_LISTED}
        WHERE {where} AND {behind} {"AND e.id NOT IN (SELECT id FROM hidden)" if grouped else ""}
        ORDER BY {order_by} LIMIT :limit
    ), whole AS MATERIALIZED (
        SELECT count(*) AS total, {"(SELECT count(*) FROM hidden)" if grouped else "0"} AS hidden
        {_LISTED} WHERE {where}
    )
    SELECT whole.total, whole.hidden, page.rank, {"coalesce(f.sessions, 1)" if grouped else "1"},
        {"u.data" if summaries else "NULL"}, {_STORED}
    FROM whole LEFT JOIN page ON true {"LEFT JOIN firsts AS f ON f.id = page.id" if grouped else ""}
    LEFT JOIN sessions AS e ON e.id = page.id LEFT JOIN marks AS m ON m.id = e.mark {_PLACE}
    {"LEFT JOIN summaries AS u ON u.session = e.id" if summaries else ""}
    ORDER BY page.rank {direction} NULLS LAST, page.key
    """
    rows = connection.execute(query, {**values, "limit": limit + 1})
    found = [(row[2], _unpack(row[5:], row[3], row[4])) for row in rows[:limit] if row[5] is not None]
    more_follow = len(rows) > limit > 0
    last = Cursor(order, _unpack_rank(found[-1][0]), found[-1][1].key) if more_follow else None
    total, hidden, *_ = rows[0]
    return SessionPage(
        tuple(session for _, session in found),
        None if last is None else encode_cursor(last),
        total,
        total - hidden,
    )


def list_projects(connection: Connection, scope: Scope, text: str | None) -> list[StoredProject]:
    """Return all projects, or those with a text in their path."""
    where, values = _build_where(connection, scope, SessionFilter(project_text=text, archived=None))
    halves = ", ".join(
        f"sum(e.{name} >> {_HALF}), sum(e.{name} & {(1 << _HALF) - 1})"
        for name in ("input_tokens", "output_tokens")
    )
    query = f"""
    SELECT e.project, count(*), count(*) FILTER (WHERE e.is_present = 0), sum(e.is_archived), min(e.first_time),
        max(e.last_time), sum(e.prompts), sum(e.answers), string_agg(e.cost, ' '),
        count(*) FILTER (WHERE e.cost IS NULL), {halves}
    FROM sessions AS e WHERE {where} GROUP BY e.project
    """
    return [_unpack_project(row) for row in connection.execute(query, values)]


def list_facets(connection: Connection, scope: Scope, asked: SessionFilter) -> Facets:
    """Return what sessions can be told apart by, looking at each distinct list once."""
    where, values = _build_where(connection, scope, asked)

    def count(columns: str) -> list[Row]:
        query = f"SELECT {columns}, count(*) {_LISTED} WHERE {where} GROUP BY {columns}"
        return connection.execute(query, values)

    def count_lists(rows: Iterable[Row]) -> tuple[tuple[str, int], ...]:
        return count_facets((_decode_list(cell or b"[]"), found) for cell, *_, found in rows)

    whose = count("e.models, e.person, e.origin")
    return Facets(
        models=count_lists(whose),
        branches=count_lists(count("e.branches")),
        tags=count_lists(count("m.tags")),
        persons=count_facets(([person or ""], found) for _, person, _, found in whose),
        machines=count_facets(([unpack_text(origin)], found) for _, _, origin, found in whose),
    )


def compare_row(connection: Connection, session: int, row: SessionRow, *, is_new: bool) -> dict[str, Any]:
    """Return the columns of a session that are not what lists are to show, each with what it should be."""
    title_key = None if row.title is None else pack_text(row.title.casefold())
    cells = (title_key, *_pack_row(row))
    if is_new:
        return {**dict(zip(_WRITTEN, cells, strict=True)), "is_listed": 1}
    query = f"SELECT is_listed, {', '.join(_WRITTEN)} FROM sessions WHERE id = ?"
    [(is_listed, *known)] = connection.execute(query, (session,))
    # An index is written only if one of its columns is among those that are set.
    differing = {
        name: new for name, old, new in zip(_WRITTEN, known, cells, strict=True) if old != new or not is_listed
    }
    return differing if is_listed else {**differing, "is_listed": 1}


def write_summary(connection: Connection, session: int, row: SessionRow) -> bool:
    """Write the summary of a session; return whether it differs from the one that is there."""
    query = """
    INSERT INTO summaries VALUES (?, ?)
    ON CONFLICT (session) DO UPDATE SET data = excluded.data WHERE summaries.data <> excluded.data
    """
    return bool(connection.change(query, (session, compress(row.summary))))


def _unpack(cells: Sequence[Any], alike: int, summary: bytes | None) -> StoredSession:
    key, revision, folder, path, there, present, copied_from, origin, person, shared = cells[:_HEAD]
    marks, row = cells[_HEAD : _HEAD + len(MARK_COLUMNS)], cells[_HEAD + len(MARK_COLUMNS) :]
    return StoredSession(
        key=key,
        revision=revision,
        project_folder=unpack_text(folder),
        path=unpack_text(path) or "",
        present=bool(there),
        row=_unpack_row(row, b"" if summary is None else open_compressed(summary)),
        only_here=not present,
        marks=unpack_marks(marks),
        copied_from=copied_from,
        origin=unpack_text(origin),
        person=person,
        visibility=Visibility.TEAM if shared else Visibility.PRIVATE,
        alike=alike,
    )


def _pack_row(row: SessionRow) -> tuple[Any, ...]:
    head = (None, None, None, None) if row.head is None else astuple(row.head)
    return (
        pack_text(row.session_id), pack_text(row.title), pack_text(row.project), row.first_time, row.last_time,
        row.prompts, row.answers, row.calls, row.agents, row.lines, row.problems, row.input_tokens,
        row.output_tokens, row.cost, row.messages, row.errors, json.encode(row.models),
        json.encode(row.branches), pack_text(row.series), pack_text(row.first_prompt),
        pack_text(row.forked_from), int(row.is_floor), int(row.is_estimate),
        *(pack_text(each) if isinstance(each, str) else each for each in head),
    )  # fmt: skip


def _unpack_row(cells: Sequence[Any], summary: bytes) -> SessionRow:
    values = {
        name: unpack_text(cell) if name in _TEXTS else cell for name, cell in zip(_COLUMNS, cells, strict=True)
    }
    uuid, kind, time, told = (values.pop(f"head_{name}") for name in ("uuid", "type", "time", "told"))
    for name in ("models", "branches"):
        values[name] = tuple(_decode_list(values[name]))
    head = None if uuid is None else SessionHead(uuid=uuid, type=kind, time=time, told_id=told)
    values["is_floor"], values["is_estimate"] = bool(values["is_floor"]), bool(values["is_estimate"])
    return SessionRow(**values, summary=summary, head=head)


def _build_where(connection: Connection, scope: Scope, asked: SessionFilter) -> tuple[str, dict[str, Any]]:
    """Return a condition on what `_LISTED` joins, and the values of its parameters."""
    values: dict[str, Any] = {"owner": scope.owner}
    clauses = [
        # Where sessions are named, no index is used but those of their names; so it is with their beginnings.
        f"{'coalesce(e.owner, NULL)' if asked.session is not None or asked.heads else 'e.owner'} = :owner",
        "e.is_listed = 1",
        *_list_clauses(asked, values),
        *_list_matches(connection, asked, values),
        *_list_flags(asked),
    ]
    return " AND ".join(clauses), values


def _list_clauses(asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
    """Yield what is compared with a value, and give that its name."""
    if asked.project is not None:
        values["project"] = pack_text(asked.project)
        yield "e.project = :project"
    if asked.under is not None:
        yield _build_under(asked.under, values)
    if asked.session is not None:
        yield _build_session(asked.session, values)
    if asked.heads:
        values["heads"] = heads = list(map(pack_text, asked.heads))
        values["head_starts"] = [head[:INDEXED] for head in heads]
        yield "e.head_uuid IS NOT NULL"
        yield f"substr(e.head_uuid, 1, {INDEXED}) IN @@blobs(:head_starts) AND e.head_uuid IN @@blobs(:heads)"
    if asked.series is not None:
        values["series"] = pack_text(asked.series)
        yield "e.series = :series"
    if asked.name is not None:
        yield begins_with("m.name_key", "name", pack_text(asked.name.casefold()), values)
    if asked.text is not None:
        values["text"] = pack_text(asked.text.casefold())
        yield "(instr(e.title_key, :text) > 0 OR instr(m.name_key, :text) > 0)"
    if asked.persons:
        values["persons"] = list(asked.persons)
        yield "coalesce(e.person, '') IN @@texts(:persons)"
    if asked.machines:
        values["machines"] = list(map(pack_text, asked.machines))
        yield "e.origin IN @@blobs(:machines)"
    for name, column, sign in (("since", "last_time", ">="), ("until", "first_time", "<")):
        if (moment := getattr(asked, name)) is not None:
            values[name] = moment
            yield f"e.{column} {sign} :{name}"


def _list_matches(connection: Connection, asked: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
    """Yield what is decided for each distinct value that there is."""

    def choose(name: str, column: str, table: str, is_wanted: Callable[[Any], bool]) -> str:
        query = f"SELECT DISTINCT {column} FROM {table} WHERE owner = ? AND {column} IS NOT NULL"
        rows = connection.execute(query, (values["owner"],))
        values[name] = [value for (value,) in rows if is_wanted(value)]
        return f"{'m' if table == 'marks' else 'e'}.{column} IN @@blobs(:{name})"

    if asked.project_text is not None:
        part = asked.project_text.casefold()
        yield choose("projects", "project", "sessions", lambda path: part in unpack_text(path).casefold())
    if asked.branch is not None:
        name = asked.branch.casefold()
        yield choose("branches", "branches", "sessions", lambda cell: _has_part(cell, (name,)))
    if asked.model is not None:
        forms = list_model_forms(asked.model)
        yield choose("models", "models", "sessions", lambda cell: _has_part(cell, forms))
    if asked.tags:
        wanted = frozenset(asked.tags)
        yield choose("tags", "tags", "marks", lambda cell: wanted <= set(_decode_list(cell)))


def _has_part(cell: bytes, parts: Iterable[str]) -> bool:
    names = [name.casefold() for name in _decode_list(cell)]
    return any(part in name for part in parts for name in names)


def _list_flags(asked: SessionFilter) -> Iterator[str]:
    is_shared = None if asked.visibility is None else asked.visibility is Visibility.TEAM
    for wanted, yes, no in (
        (is_shared, "e.is_shared = 1", "e.is_shared = 0"),
        (asked.starred, "m.is_starred = 1", "coalesce(m.is_starred, 0) = 0"),
        (asked.archived, "e.is_archived = 1", "e.is_archived = 0"),
        (asked.only_here, "e.is_present = 0", "e.is_present = 1"),
        (asked.errors, "e.errors > 0", "e.errors = 0"),
        (asked.problems, "e.problems > 0", "e.problems = 0"),
    ):
        if wanted is not None:
            yield yes if wanted else no


def _build_session(prefix: str, values: dict[str, Any]) -> str:
    """Return the condition that the id or the key of a session begins with a prefix, each by its own index."""
    clauses = [begins_with(name, name, pack_text(prefix), values) for name in ("file_id", "session_id")]
    if "\0" not in prefix and prefix.isprintable():
        values["key_from"], values["key_to"] = prefix, prefix + chr(0x10FFFF)
        clauses.append("(key >= :key_from AND key < :key_to)")
    found = " UNION ".join(f"SELECT id FROM sessions WHERE owner = :owner AND {each}" for each in clauses)
    return f"e.id IN ({found})"


def _build_under(path: str, values: dict[str, Any]) -> str:
    values["under"] = pack_text(path)
    base = pack_text(path.rstrip("/\\"))
    clauses = ["e.project = :under"]
    for number, (separator, after) in enumerate(((b"/", b"0"), (b"\\", b"]"))):
        values[f"from{number}"], values[f"to{number}"] = base + separator, base + after
        clauses.append(f"(e.project >= :from{number} AND e.project < :to{number})")
    return f"({' OR '.join(clauses)})"


def _build_behind(cursor: Cursor, rank: str, direction: str) -> tuple[str, dict[str, Any]]:
    """Return the condition that a session comes behind the one that a cursor names."""
    if cursor.value is not None and not isinstance(cursor.value, _KINDS.get(cursor.order, (int,))):
        raise CursorError(f"Expected a cursor from a list by {cursor.order}, got one with {cursor.value!r:.40}")
    values: dict[str, Any] = {"behind_key": cursor.key if cursor.key.isprintable() else ""}
    if cursor.value is None:
        return f"({rank} IS NULL AND e.key > :behind_key)", values
    sign = ">" if direction == "ASC" else "<"
    values["behind"] = pack_text(cursor.value) if isinstance(cursor.value, str) else cursor.value
    clauses = (f"{rank} {sign} :behind", f"{rank} = :behind AND e.key > :behind_key", f"{rank} IS NULL")
    return f"({' OR '.join(clauses)})", values


def _unpack_rank(value: Any) -> Any:
    return unpack_text(value) if isinstance(value, bytes) else value


def _unpack_project(cells: Sequence[Any]) -> StoredProject:
    path, sessions, only_here, archived, first, last, prompts, answers, costs, unpriced, *halves = cells
    return StoredProject(
        path=unpack_text(path),
        sessions=sessions,
        only_here=only_here,
        archived=int(archived),
        first_time=first,
        last_time=last,
        prompts=int(prompts),
        answers=int(answers),
        input_tokens=(int(halves[0]) << _HALF) + int(halves[1]),
        output_tokens=(int(halves[2]) << _HALF) + int(halves[3]),
        cost=None if costs is None else _add_up(costs),
        unpriced=unpriced,
    )


def _add_up(costs: str) -> Decimal:
    """Return the sum of dollars to the last digit, which SQL cannot tell."""
    total = Decimal(0)
    for amount in costs.split():
        try:
            total += Decimal(amount)
        except InvalidOperation as error:
            raise StoreError(f"The archive is damaged: {amount!r} is no amount") from error
    return total

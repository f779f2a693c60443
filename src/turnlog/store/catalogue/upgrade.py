"""An archive of an earlier version, made one of today's: what only it knows is copied, all else derived again.

Earlier versions kept rows of messages, calls and turns, and their schema grew by many steps; the tables on a
server were others than those of a file. Of all that, only facts are read here: bytes, hook deliveries,
what people said, what was forgotten, and the feed. They go into tables of today, in a file beside the old one,
or in another schema of the same database. That is done in pieces, each of which is committed with how far it
got, so it can be interrupted anywhere and goes on. Sessions arrive with the derivation 0, by which any sync
derives them again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

from msgspec import Struct, json

from turnlog.errors import StoreError
from turnlog.store.catalogue.database import (
    MONTH_BITS,
    MOST,
    Connection,
    Database,
    OnProgress,
    Row,
    pack_text,
    unpack_text,
)

_AT_ONCE = 1000
"""How many rows are copied in one transaction,"""
_BYTES_AT_ONCE = 8 << 20
"""or of bytes of files so many."""
_STATE = "CREATE TABLE IF NOT EXISTS upgrade_state (name text PRIMARY KEY, done bigint NOT NULL)"

Convert = Callable[[Any], Any]


def _text(value: Any) -> bytes | None:
    """Return text of an earlier version as it is kept today: that was text, or bytes of a file's name."""
    if isinstance(value, str):
        return pack_text(value)
    return None if value is None else bytes(value)


def _file_text(value: Any) -> bytes | None:
    """Return the same, of SQLite: what is bytes there is the name of a file as the system has it."""
    return pack_text(value.decode("utf-8", "surrogateescape")) if isinstance(value, bytes) else _text(value)


def _tags(value: Any) -> bytes:
    if isinstance(value, list):  # as PostgreSQL had them
        return json.encode([unpack_text(bytes(each)) for each in value])
    return pack_text(str(value))


class _Table(Struct, frozen=True):
    """How the rows of a table are made of former ones."""

    name: str
    columns: str
    """Of today's table, in the order in which they are asked for."""
    kinds: str
    """What each of them is: (n)umber or own words, (t)ext, (f)lag, ta(g)s, (v)isibility, (d)igest of text, or
    the number of a (s)ource or a g(e)neration."""
    query: str
    """By the first column, behind `{last}`; one without that is asked once."""


_TABLES = (
    _Table("feed", "epoch", "n", "SELECT epoch FROM feed"),
    _Table(
        "sessions",
        "id, owner, key, origin, file_id, project_folder, revision, is_present, person, chosen, rule, "
        "is_shared, mark, is_archived",
        "nnntttnfnvtfnf",
        """
        SELECT e.id, e.owner, e.key, e.origin, e.session_id, e.project_folder, e.revision,
            CASE WHEN a.session IS NULL THEN 1 ELSE 0 END, x.person, x.chosen, x.rule, x.shared, m.id,
            m.archived
        FROM sessions AS e LEFT JOIN absent_sessions AS a ON a.session = e.id
        LEFT JOIN access AS x ON x.session = e.id
        LEFT JOIN marks AS m ON m.id = (SELECT max(id) FROM marks WHERE session = e.id)
        WHERE e.id > {last} ORDER BY e.id LIMIT {limit}
        """,
    ),
    _Table(
        "sources",
        "id, owner, source, session, kind, agent_id, run_id, copied_from, path, is_present, newest",
        "snnnnttntfe",
        """
        SELECT s.id, s.owner, s.source, s.session, s.kind, s.agent_id, s.run_id, s.copied_from, p.path,
            p.present,
            (SELECT g.id FROM generations AS g WHERE g.source = s.id ORDER BY g.generation DESC LIMIT 1)
        FROM sources AS s
        JOIN source_paths AS p ON p.id = (SELECT max(id) FROM source_paths WHERE source = s.id)
        WHERE s.id > {last} ORDER BY s.id LIMIT {limit}
        """,
    ),
    _Table(
        "generations",
        "id, source, generation, length, sealed, consumed, in_array, lines, checkpoint, tail_start, "
        "tail_digest, tail",
        "esnnnnfnnnnn",
        """
        SELECT g.id, g.source, g.generation, {c}.length, {c}.sealed, {c}.consumed, {c}.in_array, {c}.lines,
            {c}.checkpoint, {tail}
        FROM generations AS g {checkpoints} WHERE g.id > {last} ORDER BY g.id LIMIT {limit}
        """,
    ),
    _Table(
        "marks",
        "id, owner, session, operation, undoes, at_ns, author, name, name_key, tags, is_starred, note, "
        "is_archived",
        "nnnnnnnttgftf",
        """
        SELECT id, owner, session, operation, undoes, at_ns, author, name, name_key, tags, starred, note,
            archived
        FROM marks WHERE id > {last} ORDER BY id LIMIT {limit}
        """,
    ),
    _Table(
        "hook_deliveries",
        "id, owner, digest, delivery_id, received_ns, session_id, event_name, notification_type, tool_name, "
        "label, group_name, context, tool_use_id, agent_id, origin, payload",
        "nndtntttttttttt" + "n",
        """
        SELECT id, owner, delivery_id, delivery_id, received_ns, session_id, event_name, notification_type,
            tool_name, label, group_name, context, tool_use_id, agent_id, origin, payload
        FROM hook_deliveries WHERE id > {last} ORDER BY id LIMIT {limit}
        """,
    ),
    _Table(
        "changes",
        "seq, owner, kind, session, revision, at_ns, person, former, is_shared, origin",
        "nnntnnnnft",
        """
        SELECT seq, owner, kind, session, revision, at_ns, person, former, shared, origin
        FROM changes WHERE seq > {last} ORDER BY seq LIMIT {limit}
        """,
    ),
    _Table(
        "tombstones",
        "owner, key, session_id, at_ns, person, origin",
        "nntnnt",
        """
        SELECT k.owner, k.session, i.value, k.at_ns, k.person, coalesce(k.origin, '') FROM tombstones AS k
        LEFT JOIN tombstones AS i ON i.owner = k.owner AND i.session = k.session AND i.kind = 'session-id'
        WHERE k.kind = 'session-key'
        """,
    ),
    _Table(
        "machines",
        "owner, origin, person, host, account, first_ns, last_ns",
        "ntnttnn",
        "SELECT owner, origin, person, host, {account}, first_ns, last_ns FROM machines",
    ),
    _Table("rules", "owner, pattern, visibility", "ntv", "SELECT owner, pattern, {visibility} FROM rules"),
    _Table("backups", "path, at_ns", "tn", "SELECT path, max(at_ns) FROM backups GROUP BY path"),
)


_CHANGING = (
    "SELECT coalesce(max(seq), 0) FROM changes",
    "SELECT count(*), coalesce(max(id), 0) FROM hook_deliveries",
    "SELECT owner, session, kind, at_ns FROM tombstones ORDER BY owner, session, kind",
    "SELECT owner, origin, person, last_ns FROM machines ORDER BY owner, origin",
    "SELECT owner, pattern, {visibility} FROM rules ORDER BY owner, pattern",
)
"""What is another answer as soon as anything that is copied has changed."""
_COMMON: dict[str, Convert] = {
    "n": lambda value: value,
    "f": lambda value: int(bool(value)),
    "g": _tags,
    "v": lambda value: value if value is None or isinstance(value, str) else ("private", "team")[value],
    "s": lambda value: value,
    "e": lambda value: value,
    "d": lambda value: blake2b(_text(value) or b"", digest_size=16).digest(),
}


class Former:
    """The tables of an earlier version; `name` is as it may be shown."""

    def __init__(
        self, name: str, ask: Callable[[str], list[Row]], words: dict[str, str], text: Convert
    ) -> None:
        """Take what returns the rows of a query, the engine's own words in it, and what makes text of today."""
        self.name = name
        self.ask = ask
        self._words = words
        self._converts = _COMMON | {"t": text}
        self._months: dict[str, dict[int, int]] = {}

    def spell(self, query: str) -> str:
        """Return a query in the engine's own words."""
        return _spell(query, self._words)

    def convert(self, kind: str) -> Convert:
        """Return what makes a value of today of one of some kind."""
        months = self._months.get(kind)
        if months is None:
            return self._converts[kind]
        # A file's number begins with that of its month.
        return lambda number: None if number is None else months[number] << MONTH_BITS | number


class FormerFile(Former):
    """The tables of an earlier version in a file."""

    def __init__(self, name: str, connection: Any) -> None:
        def ask(query: str) -> list[Row]:
            rows: list[Row] = connection.execute(query).fetchall()
            return rows

        columns = ask("SELECT name FROM pragma_table_info('checkpoints')")
        tail = "c.tail_start, c.tail_digest, c.tail" if ("tail",) in columns else "NULL, NULL, NULL"
        words = {"c": "c", "tail": tail, "account": '"user"', "visibility": "visibility", "pruned": ""}
        words["checkpoints"] = "JOIN checkpoints AS c ON c.generation = g.id"
        super().__init__(name, ask, words, _file_text)


class FormerServer(Former):
    """The tables of an earlier version in a database on a server, which `connection` has in its path."""

    def __init__(self, name: str, connection: Any) -> None:
        def ask(query: str) -> list[Row]:
            rows: list[Row] = connection.execute(query, binary=True).fetchall()
            return rows

        words = {"c": "g", "tail": "NULL, NULL, NULL", "account": "account", "visibility": "shared"}
        words |= {"checkpoints": "", "pruned": "month = (SELECT month FROM generations WHERE id = {id}) AND "}
        super().__init__(name, ask, words, _text)
        sources = "SELECT s.id, e.month FROM sources AS s JOIN sessions AS e ON e.id = s.session"
        generations = "SELECT id, month FROM generations"
        self._months = {
            kind: {number: month // 100 * 12 + month % 100 - 1 - 24_000 for number, month in ask(query)}
            for kind, query in (("s", sources), ("e", generations))
        }

    def list_months(self) -> list[int]:
        """Return the months that files are of, counted from 2000 on."""
        return sorted({month for months in self._months.values() for month in months.values()})


def _spell(query: str, words: dict[str, str]) -> str:
    for word, spelled in words.items():
        query = query.replace(f"{{{word}}}", spelled)
    return query


def copy_facts(former: Former, database: Database, on_progress: OnProgress | None = None) -> None:
    """Copy what is not there yet of an earlier version's facts, behind `mark_state`.

    Progress is told in bytes of frames, which take nearly all of the time.
    """
    for table in _TABLES:
        _copy_table(former, database, table)
    sizes = former.ask(
        "SELECT generation, sum(length(data)) FROM ("
        "SELECT generation, data FROM frames UNION ALL SELECT generation, data FROM tail_frames"
        ") AS f GROUP BY generation ORDER BY generation"
    )
    whole, done, last = sum(int(size) for _, size in sizes), 0, _find_state(database, "frames")
    group: list[int] = []
    held = 0
    for at, (generation, size) in enumerate(sizes):
        if generation > last:
            group.append(generation)
            held += int(size)
            if held >= _BYTES_AT_ONCE or at == len(sizes) - 1:
                _copy_frames(former, database, group)
                group, held = [], 0
        done += int(size)
        if on_progress is not None:
            on_progress(done, whole)
    if group:
        _copy_frames(former, database, group)


def check_facts(former: Former, database: Database) -> None:
    """Raise `StoreError` unless all bytes and deliveries are there that were."""
    convert = former.convert("e")
    query = " UNION ALL ".join(
        f"SELECT generation, start, length, digest FROM {table}" for table in ("frames", "tail_frames")
    )
    there = set(database.read(lambda connection: connection.execute(query)))
    lost = [row for row in former.ask(query) if (convert(row[0]), *row[1:]) not in there]
    if lost:
        raise StoreError(f"{len(lost)} frames of {former.name} were not copied")
    count = "SELECT count(*) FROM hook_deliveries"
    if database.read(lambda connection: connection.execute(count)) != former.ask(count):
        raise StoreError(f"Hook deliveries of {former.name} were not copied")


def mark_state(former: Former, database: Database) -> bool:
    """Note in which state the earlier version's tables are; return False if a copy was begun of another one."""
    digest = blake2b(digest_size=7)
    for query in _CHANGING:
        for row in former.ask(former.spell(query)):
            digest.update(repr(tuple(map(_plain, row))).encode("utf-8", "surrogatepass"))
    state = int.from_bytes(digest.digest(), "big")

    def write(connection: Connection) -> bool:
        connection.execute(_STATE)
        rows = connection.execute("SELECT done FROM upgrade_state WHERE name = ?", ("former",))
        if not rows:
            _save_state(connection, "former", state)
        return not rows or rows[0][0] == state

    return database.write(write, is_repeatable=True)


def _plain(cell: Any) -> Any:
    return bytes(cell) if isinstance(cell, memoryview) else cell


def _copy_table(former: Former, database: Database, table: _Table) -> None:
    converts = [former.convert(kind) for kind in table.kinds]
    query = former.spell(table.query)
    places = ", ".join("?" * len(converts))
    last = _find_state(database, table.name)
    while last < MOST:
        rows = former.ask(_spell(query, {"last": str(last), "limit": str(_AT_ONCE)}))
        last = rows[-1][0] if rows and "{last}" in query else MOST

        def write(connection: Connection, rows: list[Row] = rows, last: int = last) -> None:
            if table.name == "feed":  # which has one row, always
                connection.execute("DELETE FROM feed")
            if rows:
                connection.change_many(
                    f"INSERT INTO {table.name} ({table.columns}) VALUES ({places})",
                    [[convert(cell) for convert, cell in zip(converts, row, strict=True)] for row in rows],
                )
            _save_state(connection, table.name, last)

        database.write(write, is_repeatable=False)


def _copy_frames(former: Former, database: Database, generations: Sequence[int]) -> None:
    convert = former.convert("e")

    def write(connection: Connection) -> None:
        for table in ("frames", "tail_frames"):
            for generation in generations:
                query = former.spell(
                    f"SELECT start, length, digest, data FROM {table} WHERE {{pruned}}generation = {{id}}"
                )
                rows = former.ask(_spell(query, {"id": str(generation)}))
                if rows:
                    number = convert(generation)
                    connection.change_many(
                        f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)", [(number, *row) for row in rows]
                    )
        _save_state(connection, "frames", generations[-1])

    database.write(write)


def _find_state(database: Database, name: str) -> int:
    query = "SELECT done FROM upgrade_state WHERE name = ?"
    rows = database.read(lambda connection: connection.execute(query, (name,)))
    return int(rows[0][0]) if rows else -1


def _save_state(connection: Connection, name: str, done: int) -> None:
    connection.execute(
        "INSERT INTO upgrade_state VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET done = excluded.done",
        (name, done),
    )

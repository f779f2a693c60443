"""Writing and deleting what is searched: a row for each text, with the numbers of its words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from psycopg import Connection

from turnlog.store.postgres.partitions import month_of, require_month
from turnlog.store.postgres.words import TextWords, add_words, pack_words
from turnlog.store.search.packing import TextFact, build_text
from turnlog.store.search.reading import read_delivery
from turnlog.store.search.text_rows import HOOKS

__all__ = [
    "add_delivery_texts",
    "delete_delivery_texts",
    "delete_texts",
    "index_deliveries",
    "move_texts",
    "write_texts",
]

_AT_ONCE = 2048
"""How many texts are written at once."""
_COPIED = 128
"""How many of them are sent at once."""
_MOST_WORDS = 100_000
"""How many words are held to be listed together."""
_COPY = """
COPY texts (month, owner, time, id, generation, number, ordinal, block, state, cells, words, counts) FROM STDIN
"""
_DELETE = """
WITH gone AS (DELETE FROM texts AS t WHERE {} RETURNING t.words)
INSERT INTO text_words_gone SELECT DISTINCT unnest(words) FROM gone
"""
_Delivery = tuple[int, int, bytes]
"""Its number, when it came in nanoseconds, and its payload."""


def write_texts(
    connection: Connection, owner: str, month: int, generation: int, texts: Iterable[TextFact]
) -> None:
    """Add texts behind those that a generation has, in the transaction of the caller."""
    found = iter(texts)
    number = None
    while some := list(islice(found, _AT_ONCE)):
        number = _number_owner(connection, owner) if number is None else number
        _write(connection, number, month, generation, some)


def delete_texts(connection: Connection, generations: Iterable[int], *, month: int | None = None) -> None:
    """Delete all texts of some generations; whoever knows their `month` is faster."""
    where = "t.generation = ANY(%(generations)s::bigint[])"
    if month is not None:
        where += " AND t.month = %(month)s"
    connection.execute(_DELETE.format(where), {"generations": list(generations), "month": month})


def move_texts(connection: Connection, generations: Iterable[int], month: int) -> None:
    """Move the texts of some generations to another month."""
    query = "UPDATE texts SET month = %s WHERE generation = ANY(%s::bigint[]) AND month <> %s"
    connection.execute(query, (month, list(generations), month))


def add_delivery_texts(connection: Connection, owner: str, deliveries: Iterable[_Delivery]) -> None:
    """Add what is searched of hook deliveries; raises `MissingMonthError` as all writing does."""
    months: dict[int, list[TextFact]] = {}
    for number, received_ns, payload in deliveries:
        time = received_ns // 1000
        texts = months.setdefault(month_of(time), [])
        texts += (build_text(number, at, passage, time) for at, passage in enumerate(read_delivery(payload)))
    for month, texts in months.items():
        require_month(connection, month)
        write_texts(connection, owner, month, HOOKS, texts)


def delete_delivery_texts(connection: Connection, numbers: Iterable[int]) -> None:
    """Delete what is searched of hook deliveries."""
    where = f"t.generation = {HOOKS} AND t.number = ANY(%s::bigint[])"
    connection.execute(_DELETE.format(where), (list(numbers),))


def index_deliveries(connection: Connection) -> None:
    """Add what is searched of all deliveries that there are."""
    query = """
    SELECT owner, id, received_ns, payload FROM hook_deliveries WHERE (id, received_ns) > (%s, %s)
    ORDER BY id, received_ns LIMIT %s
    """
    last = (-1, -1)
    while rows := connection.execute(query, (*last, _AT_ONCE)).fetchall():
        last = rows[-1][1], rows[-1][2]
        for owner in sorted({row[0] for row in rows}):
            own = ((number, at, payload) for whose, number, at, payload in rows if whose == owner)
            add_delivery_texts(connection, owner, own)


def _write(connection: Connection, owner: int, month: int, generation: int, texts: list[TextFact]) -> None:
    ids = connection.execute("SELECT nextval('text_ids') FROM generate_series(1, %s)", (len(texts),))
    listed: set[str] = set()

    def take(words: Collection[str]) -> None:
        listed.update(words)
        if len(listed) > _MOST_WORDS:
            add_words(connection, listed)
            listed.clear()

    rows = [
        _pack(month, owner, number, generation, text, pack_words(text.cells, take))
        for (number,), text in zip(ids.fetchall(), texts, strict=True)
    ]
    add_words(connection, listed)
    with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        for at in range(0, len(rows), _COPIED):
            copy.write("".join(rows[at : at + _COPIED]))


def _pack(month: int, owner: int, id: int, generation: int, text: TextFact, words: TextWords) -> str:
    """Return a line of what is copied; nothing in it has to be escaped."""
    cells = (
        month, owner, text.time, id, generation, text.number, text.ordinal, text.block,
        text.kind * 2 + text.is_error, len(text.cells), f"{{{','.join(map(str, words.numbers))}}}",
        "\\N" if words.counts is None else f"\\\\x{words.counts.hex()}",
    )  # fmt: skip
    return "\t".join(map(str, cells)) + "\n"


def _number_owner(connection: Connection, owner: str) -> int:
    for number in _list_owner(connection, owner):
        return number
    connection.execute("INSERT INTO text_owners (owner) VALUES (%s) ON CONFLICT DO NOTHING", (owner,))
    [number] = _list_owner(connection, owner)
    return number


def _list_owner(connection: Connection, owner: str) -> Iterator[int]:
    rows = connection.execute("SELECT id FROM text_owners WHERE owner = %s", (owner,))
    return (int(number) for (number,) in rows)

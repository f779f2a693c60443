"""Writing what is searched: a row for each text, with its words.

Rows are staged, and count as soon as the row of their generation is published by the same write. So whoever
stages texts publishes that row, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from itertools import islice
from typing import Any

from turnlog.store.clickhouse.connection import Engine, spell_text
from turnlog.store.clickhouse.ids import NOWHERE, number
from turnlog.store.clickhouse.record import Session
from turnlog.store.clickhouse.search_schema import TEXTS
from turnlog.store.clickhouse.transaction import Write
from turnlog.store.packing import pack_text, unpack_text
from turnlog.store.search.cell_words import MOST_COUNTED, count_words, split_cell
from turnlog.store.search.packing import TextFact, build_text
from turnlog.store.search.reading import read_delivery

__all__ = [
    "FILES",
    "TextWriter",
    "build_delivery_texts",
    "clip_file",
    "find_place",
    "forget_delivery_texts",
    "index_deliveries",
    "name_file",
    "pack_words",
    "place",
]

_ORDINALS = 24
"""How many bits of a place say which passage of its line a text is."""
FILES = (1 << 63) - 1
"""The bits of a file's number that texts have."""
_MOST_WORDS = 400_000
"""How many words are held before they are sent."""
_LONG = 4096
"""From how many cells on it is not counted how many have a word."""
_DELIVERY = "owner, session_id, received_ns, digest"
_DELIVERIES = f"""
SELECT {_DELIVERY}, write, number, payload FROM deliveries FINAL {{after}} ORDER BY {_DELIVERY} LIMIT 2000
"""
_DAY = 86_400_000_000_000
Delivery = tuple[int, int, bytes]
"""The number of a hook delivery, when it came in nanoseconds, and its payload."""


class TextWriter:
    """Stages texts of any sessions, as few times as it can; `close` it before anything is published."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._rows: list[list[Any]] = []
        self._words = 0

    def add(
        self, session: Session, source: str, generation: int, texts: Iterable[TextFact], *, anew: bool = False
    ) -> None:
        """Add texts behind those that a generation of a file has.

        `session` is its row, as it is known or will be published: its owner, number and birth are read. `anew`
        says that the generation was there before and that its texts are told from the beginning: then the
        others are deleted when this is published. Whoever calls this publishes the row of the generation, even
        if nothing else of it is new.
        """
        owner = session.owner.decode("utf-8", "surrogatepass")
        file = name_file(owner, source)
        if anew:
            self._write.publication.deletes.append(
                (TEXTS.name, _spell_former(session.id, file, generation, self._write.number))
            )
        for text in texts:
            words, counts = pack_words(text.cells)
            self._rows.append(
                [
                    session.owner, text.time, file, place(text.number, text.ordinal), generation,
                    self._write.number, session.born, session.id, text.block, text.kind * 2 + text.is_error,
                    len(text.cells), words, counts,
                ]
            )  # fmt: skip
            self._words += len(words)
            if self._words > _MOST_WORDS:
                self.close()

    def close(self) -> None:
        """Stage what is held."""
        if self._rows:
            self._write.stage(TEXTS, self._rows)
        self._rows, self._words = [], 0


def build_delivery_texts(owner: str, write: int, deliveries: Iterable[Delivery]) -> list[list[Any]]:
    """Return the rows of `TEXTS` for hook deliveries: they are published with these, and again does no harm.

    They are found if the delivery of that number is, which is the same for each attempt.
    """
    return [
        [
            pack_text(owner), text.time, id, text.ordinal, 0, write, _find_day(received_ns), NOWHERE,
            text.block, text.kind * 2 + text.is_error, len(text.cells), *pack_words(text.cells),
        ]
        for id, received_ns, payload in deliveries
        for at, passage in enumerate(read_delivery(payload))
        for text in [build_text(0, at, passage, received_ns // 1000)]
    ]  # fmt: skip


def index_deliveries(engine: Engine) -> None:
    """Add what is searched of all deliveries that there are."""
    last = ""
    while True:
        rows = engine.query(_DELIVERIES.format(after=last))
        if not rows:
            return
        texts = [
            text
            for owner, _, received_ns, _, write, *delivery in rows
            for text in build_delivery_texts(
                unpack_text(owner), write, [(delivery[0], received_ns, delivery[1])]
            )
        ]
        engine.insert(TEXTS, texts)
        owner, session_id, received_ns, digest, *_ = rows[-1]
        place = f"{spell_text(owner)}, {spell_text(session_id)}, {received_ns}, toUInt128('{digest}')"
        last = f"WHERE ({_DELIVERY}) > ({place})"


def forget_delivery_texts(write: Write, numbers: Iterable[int]) -> None:
    """Have the texts of hook deliveries deleted when a write is published."""
    left = iter(numbers)
    while some := list(islice(left, 10_000)):
        where = f"session = {NOWHERE} AND file IN ({', '.join(map(str, some))})"
        write.publication.deletes.append((TEXTS.name, where))


def pack_words(cells: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return the words of a text, each once and in order, and in how many cells each is.

    Of a single cell, and of very many, that is not said.
    """
    if len(cells) == 1:
        return sorted(split_cell(cells[0])), []
    if len(cells) > _LONG:
        words = set[str]()
        for cell in cells:
            words |= split_cell(cell)
        return sorted(words), []
    counted = count_words(cells)
    listed = sorted(counted)
    return listed, [min(counted[word], MOST_COUNTED) for word in listed]


def name_file(owner: str, source: str) -> int:
    """Return what texts have of the number of a file, given its name."""
    return clip_file(number(owner, source))


def clip_file(source: int) -> int:
    """Return what texts have of the number of a file."""
    return source & FILES


def place(line: int, ordinal: int) -> int:
    """Return where in its file a text is; texts of one time come in this order."""
    return line << _ORDINALS | ordinal


def find_place(at: int) -> tuple[int, int]:
    """Return what `place` was given."""
    return at >> _ORDINALS, at & (1 << _ORDINALS) - 1


def _spell_former(session: int, file: int, generation: int, write: int) -> str:
    """Return the condition for texts of a generation that are by writes before another one."""
    where = f"session = toUInt128('{session}') AND file = {file} AND generation = {generation}"
    return f"{where} AND write < {write}"


def _find_day(at_ns: int) -> date:
    return datetime.fromtimestamp(at_ns // _DAY * 86_400, UTC).date()

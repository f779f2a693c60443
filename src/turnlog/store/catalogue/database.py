"""What the catalogue and the accounts ask of a database, and the SQL that both engines are asked in.

Statements are written once. Values stand in them as `?` or `:name`; a list of values is asked for with
`@@ints(?)`, `@@texts(?)` or `@@blobs(?)`, which stand for a table with one column, and may be empty. What the
engines spell differently is written `@@bytes`, `@@key` (a number), `@@number` (one that is given by itself),
`@@serial` (one that is never given twice), `@@monthly` (one that begins with the month), `@@compact` (a table
without a number for each row), `@@lock(alias)` (nobody else changes these rows until the transaction ends) and
`@@readable(column)` (bytes as text).

Text that people or data give is kept as bytes: PostgreSQL's text has neither zero characters nor lone
surrogates, and bytes compare the same everywhere. Yes and no are 1 and 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeVar, overload

from msgspec import Struct

from turnlog.errors import NewerStoreError, StoreError
from turnlog.store.model import Scope

T = TypeVar("T")
Row = tuple[Any, ...]
OnProgress = Callable[[int, int], None]
"""Called with how much is done, and how much there is."""
Values = Sequence[object] | Mapping[str, object]
MOST = (1 << 63) - 1
"""The largest number that a column can have; as a limit, it is none."""
MONTH_BITS = 36
"""On PostgreSQL, a file's number is that of its month, counted from 2000 on, and behind it so many bits."""
INDEXED = 64
"""Of text of any length, an index has the first bytes; who looks for one compares all of it, too."""


class Execute(Protocol):
    """Does one statement, and returns its rows."""

    def __call__(self, statement: str, values: Values = ()) -> list[Row]:
        """Raise `StoreError` for what goes wrong."""


class Connection(Protocol):
    """One transaction, and what it is done through; raises `StoreError`."""

    engine: Literal["sqlite", "postgresql"]
    driver: Any
    """The driver's own connection, for the modules that know one engine."""
    cache: dict[str, Any]
    """What modules have learned through this connection; it lasts as long as the connection."""

    def execute(self, statement: str, values: Values = ()) -> list[Row]:
        """Do a statement, and return its rows."""

    def change(self, statement: str, values: Values = ()) -> int:
        """Do a statement, and return how many rows it has inserted, changed or deleted."""

    def change_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Do a statement once for each row of values."""

    def load(self, cells: Sequence[bytes]) -> list[bytes | ValueError]:
        """Return what cells have, in blobs too; what is missing or damaged there as an error."""

    def lock(self, name: str) -> None:
        """Wait until no other transaction has this lock; it is let go when the transaction ends."""

    def notify(self) -> None:
        """Wake whoever waits for changes, as soon as the transaction is committed."""


class Database(Protocol):
    """A database that several threads and processes use at once."""

    name: str
    """As it may be shown: no password is in it."""
    is_read_only: bool

    def make(self) -> None:
        """Make what is missing, and bring the tables up to date; raises `NewerStoreError` for newer ones."""

    def reading(self, scope: Scope | None = None) -> AbstractContextManager[Connection]:
        """See one state of the database, as far as the viewer of a scope may see it.

        Within another one of the same thread and viewer, it is the same state. Without any tables, all are
        empty.
        """

    def writing(self) -> AbstractContextManager[Connection]:
        """Do all of it or nothing; tables that are missing are made."""

    def read(self, work: Callable[[Connection], T], scope: Scope | None = None) -> T:
        """Do what only reads; once more if the connection was lost.

        A value of which nothing can be made is damage, and `StoreError`; so it is in `write`.
        """

    def write(self, work: Callable[[Connection], T], *, is_repeatable: bool = False) -> T:
        """Do all of it or nothing.

        It may be begun again; with `is_repeatable`, also if it may have been committed: then that must change
        nothing.
        """

    def try_write(self, work: Callable[[Connection], object]) -> None:
        """Do all of it or nothing, if that can be done at once: for what is nice to know."""

    def close(self) -> None:
        """Let go of it; again does nothing."""


@overload
def pack_text(text: str) -> bytes: ...


@overload
def pack_text(text: None) -> None: ...


@overload
def pack_text(text: str | None) -> bytes | None: ...


def pack_text(text: str | None) -> bytes | None:
    """Return text as bytes, whatever characters it has; None stays None."""
    return None if text is None else text.encode("utf-8", "surrogatepass")


def unpack_text(value: bytes | None) -> Any:
    """Return what `pack_text` was given; raises `ValueError` for what it cannot have made."""
    try:
        return None if value is None else value.decode("utf-8", "surrogatepass")
    except AttributeError:
        raise ValueError(f"Expected bytes, got {value!r}") from None


def hash_text(text: str) -> int:
    """Return a number by which text of any length is found in an index."""
    return int.from_bytes(blake2b(pack_text(text), digest_size=8).digest(), "big", signed=True)


def is_word(text: str) -> bool:
    """Tell whether text can be a key of ours: what no engine can keep as text is nowhere."""
    return "\0" not in text and text.isprintable()


def same_text(column: str, value: str) -> str:
    """Return the condition that a column of bytes of any length is the same as a value."""
    return f"substr({column}, 1, {INDEXED}) = substr({value}, 1, {INDEXED}) AND {column} = {value}"


def begins_with(column: str, name: str, prefix: bytes, values: dict[str, Any]) -> str:
    """Return the condition that a column of bytes begins with a prefix, whose bounds are put into `values`.

    No UTF-8 has a byte of 0xff, so behind all that begins with a prefix comes the prefix with that byte.
    """
    values[f"{name}_from"], values[f"{name}_to"] = prefix, prefix + b"\xff"
    head = f"substr({column}, 1, {INDEXED})"
    if len(prefix) < INDEXED:
        return f"({head} >= :{name}_from AND {head} < :{name}_to)"
    values[f"{name}_head"] = prefix[:INDEXED]
    return f"({head} = :{name}_head AND {column} >= :{name}_from AND {column} < :{name}_to)"


Migration = Callable[[Connection], None]
"""A step; its name is what is recorded, so neither the name nor the step changes once it is released."""


class Steps(Struct, frozen=True):
    """All steps of some tables, in their order."""

    subject: str
    """What the tables are about, as in "the accounts"."""
    migrations: tuple[Migration, ...]
    additive: frozenset[Migration] = frozenset()
    """Those that programs from before them can live with: what these write without knowing of them is right,
    and what they read is what it was."""
    refused: Mapping[str, str] = MappingProxyType({})
    """What to say of steps that were done for whom these are not enough."""

    @property
    def names(self) -> list[str]:
        """As they are recorded."""
        return [migration.__name__ for migration in self.migrations]

    def check_known(self, connection: Connection, name: str) -> None:
        """Raise `NewerStoreError` if a step is recorded that this program does not know, and must."""
        rows = connection.execute("SELECT name FROM migrations WHERE is_additive = 0")
        unknown = self.list_unknown((step for (step,) in rows), f"The archive in {name}")
        if unknown:
            raise NewerStoreError(
                f"A newer version of turnlog made {self.subject} in {name} (with {', '.join(unknown)}); "
                "nothing was touched"
            )

    def list_unknown(self, done: Iterable[str], where: str) -> list[str]:
        """Return the steps that this program does not know; raises `StoreError` for those that are refused."""
        unknown = sorted(set(done).difference(self.names))
        for step in unknown:
            if step in self.refused:
                raise StoreError(self.refused[step].format(where))
        return unknown

    def list_missing(self, connection: Connection) -> list[str]:
        """Return the names of the steps that are still to be done."""
        applied = {name for (name,) in connection.execute("SELECT name FROM migrations")}
        return [name for name in self.names if name not in applied]

    def migrate(self, connection: Connection) -> None:
        """Do the steps that are missing, in the transaction of the caller, who is alone."""
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations "
            "(name text PRIMARY KEY, applied_ns bigint NOT NULL, is_additive bigint NOT NULL DEFAULT 0)"
        )
        missing = self.list_missing(connection)
        for migration in self.migrations:
            if migration.__name__ in missing:
                migration(connection)
                values = (migration.__name__, time.time_ns(), int(migration in self.additive))
                connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", values)

"""What small things are kept in, whichever engine it is: statements in the SQL that all of them know.

Statements have `?` for values, and `@` before the name of a table, which stands for the schema that the
tables are in. Types that engines spell differently are written `@@bytes` and `@@serial`. Text that people or
data give is stored as bytes: PostgreSQL's text has neither zero characters nor halves of characters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

__all__ = ["Execute", "PortableDatabase", "Row", "pack_text", "unpack_text"]

T = TypeVar("T")
Row = tuple[Any, ...]


class Execute(Protocol):
    """Does one statement, and returns its rows."""

    def __call__(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """Raise what the engine raises."""


class PortableDatabase(Protocol):
    """A database that several threads and processes use at once; raises `StoreError`."""

    def make(self) -> None:
        """Make what is missing, and bring the tables up to date; raises `NewerStoreError` for newer ones."""

    def read(self, work: Callable[[Execute], T]) -> T:
        """Do what only reads, by one statement; without any tables, as if they were empty."""

    def write(self, work: Callable[[Execute], T], *, is_repeatable: bool = False) -> T:
        """Do all of it or nothing; when this returns, it outlasts a loss of power.

        Tables that are missing are made. It may be begun again; with `is_repeatable`, also if it may have been
        committed: that must change nothing.
        """

    def try_write(self, work: Callable[[Execute], object]) -> None:
        """Do all of it or nothing, if that can be done at once: for what is nice to know."""

    def close(self) -> None:
        """Let go of it; again does nothing."""


def pack_text(text: str | None) -> bytes | None:
    """Return text as bytes, whatever characters it has; None stays None."""
    return None if text is None else text.encode("utf-8", "surrogatepass")


def unpack_text(value: bytes | None) -> Any:
    """Return what `pack_text` was given."""
    return None if value is None else bytes(value).decode("utf-8", "surrogatepass")

"""What a kind of derived rows is, and what its rows are written and read with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct

from turnlog.store.identity import Place
from turnlog.store.rows import DerivedRow
from turnlog.store.sqlite.values import Cells

__all__ = ["Kind", "PackContext", "UnpackContext"]

R = TypeVar("R", bound=DerivedRow)


class PackContext(Struct, frozen=True):
    """What rows of one session are written with."""

    owner: str
    numbers: Mapping[str | None, int | None]
    """Of words."""
    sources: Mapping[str, int]
    """The session's own, by name."""

    def source(self, name: str | None) -> int | str | None:
        """Return the number of a source of this session; any other keeps its name."""
        return None if name is None else self.sources.get(name, name)


class UnpackContext(Struct, frozen=True):
    """What rows are read with."""

    words: Mapping[int | None, Any]
    names: Mapping[int, str]

    def source(self, value: int | str | None) -> Any:
        """Return the name of a source."""
        return self.names[value] if isinstance(value, int) else value

    def place(self, source: int | str | None, generation: int, start: int) -> Place | None:
        """Return a place, None if there is no source."""
        return None if source is None else Place(self.source(source), generation, start)


class Kind(Struct, Generic[R], frozen=True, kw_only=True):
    """One kind of derived rows."""

    number: int
    """By which `digests` knows it; it never changes."""
    table: str
    columns: str
    """Those behind `session`, `source`, `idx` and `revision`, as SQL writes them."""
    pack: Callable[[R, PackContext], tuple[Any, ...]]
    unpack: Callable[[Cells, UnpackContext], R]
    """Takes `idx`, `source` and the columns."""
    is_slight: bool = False
    """Whether a row is no larger than its digest would be: it is kept without one, and without a revision."""

    @property
    def names(self) -> list[str]:
        """The columns one by one."""
        return self.columns.split(", ")

    @property
    def insert(self) -> str:
        """The statement that inserts a row; its first values are session, source, index and revision."""
        columns = f"session, source, idx, {'' if self.is_slight else 'revision, '}{self.columns}"
        marks = ", ".join("?" * len(columns.split(", ")))
        return f"INSERT INTO {self.table} ({columns}) VALUES ({marks})"

    @property
    def select(self) -> str:
        """The beginning of a query for whole rows, of the table as `t`."""
        return f"SELECT {self.cells} FROM {self.table} AS t"

    @property
    def cells(self) -> str:
        """What `unpack` takes, of the table as `t`."""
        return ", ".join(f"t.{name}" for name in ("idx", "source", *self.names))

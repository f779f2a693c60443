"""What an engine does for search: its index proposes texts, and all else is the same for every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from turnlog.store.batch import TextFact
from turnlog.store.identity import Place, Scope
from turnlog.store.search.hits import SearchOrder, SearchPage
from turnlog.store.search.language import Query
from turnlog.store.search.text_rows import TextRows

ReadBytes = Callable[[Scope, Place, int], bytes]
"""As `Archive.read`."""


class TextIndex(Protocol):
    """Keeps which words are in which texts, in tables of its own; `connection` is of the catalogue.

    A text is of a generation of a file, by its row's number, or of a hook delivery (`text_rows.HOOKS`).
    """

    def create(self, connection: Any) -> None:
        """Make the tables."""

    def clear(self, connection: Any) -> None:
        """Empty them."""

    def write(self, connection: Any, generation: int, texts: Iterable[TextFact]) -> None:
        """Add texts behind those that a generation has."""

    def flush(self, connection: Any) -> None:
        """Write what is still held of texts, at the latest before the transaction ends."""

    def delete(self, connection: Any, generations: Iterable[int]) -> None:
        """Delete all texts of some generations."""

    def delete_lines(self, connection: Any, generation: int, numbers: Iterable[int]) -> None:
        """Delete the texts of some lines of a generation."""

    def settle(self, connection: Any) -> bool:
        """Put the index in order after much was written; return whether much of it is new."""

    def purge(self, connection: Any) -> None:
        """Leave nothing of what was deleted."""

    def check(self, connection: Any, generation: int, texts: Iterable[TextFact]) -> list[str]:
        """Return how the texts of a generation differ from what they should be."""

    def search(
        self,
        connection: Any,
        rows: TextRows,
        read: ReadBytes,
        scope: Scope,
        query: Query,
        *,
        order: SearchOrder,
        limit: int,
        cursor: str | None,
        cancelled: Callable[[], bool] | None,
    ) -> SearchPage:
        """Return a page of hits; `rows` looks up what is around texts, and `read` the bytes of lines."""

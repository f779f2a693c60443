"""The part of the embedded store that lists sessions and projects, and keeps what people say about them."""

from __future__ import annotations

from collections.abc import Sequence

from turnlog.store.identity import Scope
from turnlog.store.lists import (
    EVERYTHING_SHOWN,
    Facets,
    ProjectOrder,
    SessionFilter,
    SessionOrder,
    SessionPage,
    StoredProject,
    StoredSession,
    sort_projects,
)
from turnlog.store.marks import MarkChange, MarkedSession, Marks
from turnlog.store.sqlite.connection import translate
from turnlog.store.sqlite.marks import find_marks, list_tags, mark_sessions, undo_marks
from turnlog.store.sqlite.upkeep import Upkeep

__all__ = ["Overview"]


class Overview(Upkeep):
    """What `SqliteStore` tells of sessions as a whole."""

    def find_sessions(self, scope: Scope, prefix: str) -> list[StoredSession]:
        """Return the sessions whose id or key begins with a prefix."""
        with translate(self._path):
            return self._ask(scope).lists.find_sessions(scope, prefix)

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
        with translate(self._path):
            return self._ask(scope).lists.list_sessions(scope, asked, order, limit, cursor, grouped)

    def list_projects(
        self, scope: Scope, *, text: str | None = None, order: ProjectOrder = ProjectOrder.NEWEST
    ) -> list[StoredProject]:
        """Return all projects, or those with a text in their paths."""
        with translate(self._path):
            return sort_projects(self._ask(scope).lists.list_projects(scope, text), order)

    def list_facets(self, scope: Scope, asked: SessionFilter = EVERYTHING_SHOWN) -> Facets:
        """Return what the sessions that are asked for can be told apart by."""
        with translate(self._path):
            return self._ask(scope).lists.list_facets(scope, asked)

    def find_marks(self, scope: Scope, key: str) -> Marks | None:
        """Return what people said about a session; None if they never did."""
        with translate(self._path):
            return find_marks(self._ask(scope).connection, scope, key)

    def list_tags(self, scope: Scope) -> dict[str, int]:
        """Return all tags in their order, each with the number of sessions that have it."""
        with translate(self._path):
            return list_tags(self._ask(scope).connection, scope)

    def mark(self, scope: Scope, keys: Sequence[str], change: MarkChange) -> list[MarkedSession]:
        """Change the marks of sessions, and return those that are not as they were."""
        with self._writing() as connection:
            return mark_sessions(connection, scope, keys, change)

    def undo_mark(self, scope: Scope) -> list[MarkedSession]:
        """Take back the last call of `mark` that still stands, and return the sessions that it changed."""
        with self._writing() as connection:
            return undo_marks(connection, scope)

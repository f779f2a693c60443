"""The connections that a thread asks: one that sees everything, and some for viewers.

A connection for viewers is used for one after another, since opening one takes longer than most queries; who
looks is said when that changes. It does not change while a query is still being read through it: then there
is another connection.
"""

from __future__ import annotations

from collections.abc import Callable

import apsw

from turnlog.store.identity import Scope
from turnlog.store.sqlite.queries import Queries
from turnlog.store.sqlite.seen import make_views, set_viewer

__all__ = ["Viewing"]

_KEPT = 3
"""How many connections for viewers a thread has, if none is busy."""


class Viewing:
    """What one thread asks."""

    def __init__(self, connect: Callable[[bool], apsw.Connection]) -> None:
        """Begin without connections; `connect` opens one, and is told whether it is for viewers."""
        self._connect = connect
        self._whole: Queries | None = None
        self._seen: list[tuple[Scope, Queries]] = []
        """Those for viewers, the one that was used last in front."""

    def ask(self, scope: Scope | None = None) -> Queries:
        """Return what answers within a scope; without one, what sees everything."""
        if scope is None or scope.viewer is None:
            if self._whole is None:
                self._whole = Queries(self._connect(False))
            return self._whole
        if not self._seen or self._seen[0][0] != scope:
            self._seen.insert(0, (scope, self._choose(scope)))
        return self._seen[0][1]

    def _choose(self, scope: Scope) -> Queries:
        for at, (known, queries) in enumerate(self._seen):
            if known == scope:
                del self._seen[at]
                return queries
        if len(self._seen) >= _KEPT:
            for at in reversed(range(len(self._seen))):
                queries = self._seen[at][1]
                if queries.connection.txn_state("main") == apsw.SQLITE_TXN_NONE:
                    del self._seen[at]
                    set_viewer(queries.connection, scope)
                    return queries
        connection = self._connect(True)
        make_views(connection)
        set_viewer(connection, scope)
        return Queries(connection)

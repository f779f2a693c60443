"""All runs of texts at hand, newest first: small, and read again only if something was written."""

from __future__ import annotations

import apsw
from msgspec import Struct

from turnlog.store.identity import Scope
from turnlog.store.sqlite.texts import HOOKS

__all__ = ["Directory", "Run"]

_QUERY = f"""
SELECT r.id, r.generation, r.first_cell, r.last_cell, r.newest, r.oldest FROM text_runs AS r
LEFT JOIN generations AS g ON g.id = r.generation LEFT JOIN sources AS s ON s.id = g.source
WHERE s.owner = ?1 OR r.generation = {HOOKS} ORDER BY r.newest DESC, r.id DESC
"""
_KEPT = 4
"""How many scopes' runs are kept."""


class Run(Struct, frozen=True, gc=False):
    """Where a run is."""

    id: int
    generation: int
    first_cell: int
    last_cell: int
    newest: int
    oldest: int


class Directory:
    """The runs that may be seen within a scope, of the last few that were asked for."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._runs: dict[Scope, list[Run]] = {}
        self._version: object = None

    def load(self, scope: Scope) -> list[Run]:
        """Return all runs, newest first."""
        version = self._connection.pragma("data_version")
        if version != self._version or len(self._runs) >= _KEPT:
            self._runs, self._version = {}, version
        if scope not in self._runs:
            self._runs[scope] = [Run(*row) for row in self._connection.execute(_QUERY, (scope.owner,))]
        return self._runs[scope]

"""The steps that lead to the tables of today.

Each step is a function with a name, done in a transaction together with the row that records it. Tables in
which a step is recorded that we don't know were made by a newer program: they are refused, and not touched;
unless the step is recorded as one that only adds what older programs need not know of.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import Struct

from turnlog.errors import NewerStoreError
from turnlog.store.catalogue.database import Connection

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

    @property
    def names(self) -> list[str]:
        """As they are recorded."""
        return [migration.__name__ for migration in self.migrations]

    def check_known(self, connection: Connection, name: str) -> None:
        """Raise `NewerStoreError` if a step is recorded that this program does not know, and must."""
        rows = connection.execute("SELECT name FROM migrations WHERE is_additive = 0")
        unknown = sorted({name for (name,) in rows}.difference(self.names))
        if unknown:
            raise NewerStoreError(
                f"A newer version of turnlog made {self.subject} in {name} (with {', '.join(unknown)}); "
                "nothing was touched"
            )

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

"""Writing sessions of some machines: under the locks of these, and of the persons whose they are."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from turnlog.errors import StoreError
from turnlog.store.clickhouse.transaction import Connected, Write
from turnlog.store.control.machines import list_locks

__all__ = ["write_of_machines"]

_TRIES = 10


@contextmanager
def write_of_machines(parts: Connected, owner: str, origins: Collection[str]) -> Iterator[Write]:
    """Let somebody write sessions of machines, all or nothing."""
    for _ in range(_TRIES):
        names = list_locks(parts._control, owner, origins)
        with parts._writing(owner, names) as write:
            # Whoever gives a machine to somebody else has its lock; that may have been meanwhile.
            if list_locks(parts._control, owner, origins) == names:
                yield write
                return
    raise StoreError("The machines that sessions are written of became others' all the time")

"""Saying in our words what goes wrong with a database, and telling what can be tried again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import psycopg_pool
from msgspec import MsgspecError

from turnlog.errors import BusyStoreError, LostStoreError, StoreError

__all__ = ["CollisionError", "LostError", "is_lost", "translate"]


class LostError(LostStoreError):
    """The connection broke, or there is none."""

    is_unsure = False
    """Whether what was written may be there all the same."""


class CollisionError(StoreError):
    """Others wrote the same at the same time; nothing was written, and it can be tried again."""


@contextmanager
def translate(name: str) -> Iterator[None]:
    """Raise what goes wrong with a database as `StoreError`, in a sentence."""
    try:
        yield
    except psycopg_pool.PoolTimeout as error:
        raise LostError(f"The store {name} cannot be reached, or has no connection left ({error})") from error
    except psycopg_pool.PoolClosed as error:
        raise StoreError(f"The store {name} is closed") from error
    except psycopg.Error as error:
        if is_lost(error):
            raise LostError(f"The store {name} cannot be reached ({_tell(error)})") from error
        kind, reason = next(
            ((kind, reason) for known, kind, reason in _REASONS if isinstance(error, known)),
            (StoreError, "cannot do that"),
        )
        raise kind(f"The store {name} {reason} ({_tell(error)})") from error
    except (ValueError, OverflowError, MsgspecError) as error:
        # Numbers of more than 64 bits, names with zero characters: damage when it is read, else misuse.
        raise StoreError(f"The store {name} cannot hold such a value, or it is damaged ({error})") from error


_REASONS: tuple[tuple[type[psycopg.Error], type[StoreError], str], ...] = (
    (psycopg.errors.UniqueViolation, CollisionError, "already has other rows in that place"),
    (psycopg.errors.SerializationFailure, CollisionError, "was written by others at the same time"),
    (psycopg.errors.DeadlockDetected, CollisionError, "was written by others at the same time"),
    (psycopg.errors.LockNotAvailable, BusyStoreError, "is being written by others, who did not finish in time"),
    (psycopg.errors.QueryCanceled, BusyStoreError, "did not respond in time"),
    (psycopg.errors.TooManyConnections, BusyStoreError, "has no connection left"),
    (psycopg.errors.DiskFull, StoreError, "has no space left: the disk is full, and nothing was written"),
    (psycopg.errors.ReadOnlySqlTransaction, StoreError, "is not writable"),
    (psycopg.errors.InsufficientPrivilege, StoreError, "may not be used in that way"),
    (
        psycopg.errors.UndefinedTable,
        StoreError,
        "has no such table: it is damaged, or belongs to another program",
    ),
    (psycopg.errors.DataCorrupted, StoreError, "is damaged"),
    (psycopg.errors.IndexCorrupted, StoreError, "is damaged"),
    (psycopg.DataError, StoreError, "cannot hold such a value"),
)


def is_lost(error: psycopg.Error) -> bool:
    """Tell whether a connection broke, or could not be made."""
    if isinstance(error, psycopg.InterfaceError):
        return "closed" in str(error)
    if not isinstance(error, psycopg.OperationalError):
        return False
    state = error.sqlstate
    return state is None or state.startswith("08") or state in ("57P01", "57P02", "57P03")


def _tell(error: psycopg.Error) -> str:
    return " ".join(str(error).split()) or type(error).__name__

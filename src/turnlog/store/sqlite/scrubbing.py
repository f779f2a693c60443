"""Removing from a file what was deleted: pages that are free still have what they had."""

from __future__ import annotations

import apsw

__all__ = ["scrub"]


def scrub(connection: apsw.Connection) -> bool:
    """Write the file anew, so that it has nothing but rows that are there, and empty the log.

    Returns False if that cannot be done now, since another process is in the middle of reading or writing.
    """
    before = connection.pragma("temp_store")
    # The copy would not fit into memory.
    connection.execute("PRAGMA temp_store=FILE")
    try:
        connection.execute("VACUUM")
        [(busy, _, _)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except apsw.BusyError:
        return False
    finally:
        connection.execute(f"PRAGMA temp_store={before}")
    return not busy

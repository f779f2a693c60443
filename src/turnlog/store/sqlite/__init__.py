"""The embedded store: everything in one SQLite file, through apsw."""

from turnlog.store.sqlite.connection import Options
from turnlog.store.sqlite.lease import Lease
from turnlog.store.sqlite.store import SqliteStore

__all__ = ["Lease", "Options", "SqliteStore"]

"""The table of marks: what people say about sessions, every entry with all that it led to.

No entry is changed. The newest one of a session counts; entries that were made at once share an operation, and
one that takes another operation back says which.
"""

from __future__ import annotations

__all__ = ["MARK_TABLE"]

MARK_TABLE = """
CREATE TABLE marks (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    owner      TEXT NOT NULL,
    session    INTEGER NOT NULL,
    operation  INTEGER NOT NULL,
    undoes     INTEGER,
    at_ns      INTEGER NOT NULL,
    name       TEXT,
    name_key   TEXT,                   -- by which it is found, whatever its case
    tags       TEXT NOT NULL,          -- a JSON list
    starred    INTEGER NOT NULL,
    note       TEXT,
    archived   INTEGER NOT NULL
);
CREATE INDEX marks_by_session ON marks (session, id);
CREATE INDEX marks_by_operation ON marks (owner, operation);
"""

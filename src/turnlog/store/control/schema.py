"""The tables of a control database, in the SQL that all engines know (`turnlog.store.portable`).

Keys and owners are words, as `turnlog.store.packing.as_word` has them. What is true or false is 1 or 0.
"""

from __future__ import annotations

from uuid import uuid4

from turnlog.store.portable.database import Execute
from turnlog.store.sqlite.connection import Options

__all__ = ["CONTROL_OPTIONS", "CONTROL_TABLES", "create_control_tables"]

_APPLICATION_ID = 0x74757263
"""What tells a control database from other files ("turc")."""
CONTROL_OPTIONS = Options(cache_kib=4 << 10, application_id=_APPLICATION_ID, lasting=True)
"""How a file is opened."""

CONTROL_TABLES = {
    # the last numbers that were given to writes and to changes: whoever takes the next one keeps others from it
    # until it is committed, so that numbers are in the order of commits
    "counters": ("name", "value"),
    "facts": ("name", "value"),
    "feed": ("epoch",),
    "writes": ("id", "owner", "names", "staged", "publication"),
    "changes": (
        "seq", "owner", "kind", "session", "revision", "at_ns", "person", "former", "shared", "origin",
    ),
    "tombstones": ("owner", "session", "kind", "value", "at_ns", "person", "origin"),
    "marks": ("id", "owner", "session", "operation", "undoes", "at_ns", "author", "before", "after"),
    "machines": ("owner", "origin", "person", "host", "account", "first_ns", "last_ns"),
    "rules": ("owner", "pattern", "shared"),
    "leases": ("machine", "holder", "expires_ns"),
    "backups": ("path", "at_ns"),
    "prices": ("list", "name", "version", "newest"),
    "usage_versions": ("session", "version"),
}  # fmt: skip
"""The columns of each table."""

_STATEMENTS = (
    "CREATE TABLE @counters (name text PRIMARY KEY, value bigint NOT NULL)",
    "INSERT INTO @counters VALUES ('writes', 0), ('changes', 0)",
    "CREATE TABLE @facts (name text PRIMARY KEY, value @@bytes NOT NULL)",
    "CREATE TABLE @feed (epoch text NOT NULL)",
    """
CREATE TABLE @writes (
    id bigint PRIMARY KEY, owner text NOT NULL, names @@bytes NOT NULL, staged @@bytes NOT NULL,
    publication @@bytes
)
""",
    """
CREATE TABLE @changes (
    seq bigint PRIMARY KEY, owner text NOT NULL, kind text NOT NULL, session @@bytes NOT NULL,
    revision bigint NOT NULL, at_ns bigint NOT NULL, person text, former text, shared bigint, origin @@bytes
)
""",
    "CREATE INDEX changes_by_owner ON @changes (owner, seq)",
    """
CREATE TABLE @tombstones (
    owner text NOT NULL, session text NOT NULL, kind text NOT NULL, value @@bytes NOT NULL,
    at_ns bigint NOT NULL, person text, origin @@bytes, PRIMARY KEY (owner, session, kind)
)
""",
    """
CREATE TABLE @marks (
    id @@serial, owner text NOT NULL, session text NOT NULL, operation bigint NOT NULL, undoes bigint,
    at_ns bigint NOT NULL, author text, before @@bytes NOT NULL, after @@bytes NOT NULL
)
""",
    "CREATE INDEX marks_by_session ON @marks (owner, session, id)",
    "CREATE INDEX marks_by_operation ON @marks (owner, operation)",
    """
CREATE TABLE @machines (
    owner text NOT NULL, origin @@bytes NOT NULL, person text, host @@bytes NOT NULL,
    account @@bytes NOT NULL, first_ns bigint NOT NULL, last_ns bigint NOT NULL, PRIMARY KEY (owner, origin)
)
""",
    """
CREATE TABLE @rules (
    owner text NOT NULL, pattern @@bytes NOT NULL, shared bigint NOT NULL, PRIMARY KEY (owner, pattern)
)
""",
    "CREATE TABLE @leases (machine text PRIMARY KEY, holder text NOT NULL, expires_ns bigint NOT NULL)",
    "CREATE TABLE @backups (path @@bytes NOT NULL, at_ns bigint NOT NULL)",
    """
CREATE TABLE @prices (
    list text NOT NULL, name text NOT NULL, version text NOT NULL, newest text NOT NULL
)
""",
    "CREATE TABLE @usage_versions (session @@bytes PRIMARY KEY, version bigint NOT NULL)",
)


def create_control_tables(execute: Execute) -> None:
    """Make the tables, and give the store and its feed their names."""
    for statement in _STATEMENTS:
        execute(statement)
    execute("INSERT INTO @facts VALUES ('store', ?)", (uuid4().hex.encode(),))
    execute("INSERT INTO @feed VALUES (?)", (uuid4().hex,))

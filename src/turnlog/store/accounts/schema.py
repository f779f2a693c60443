"""The tables of accounts, and the steps that lead to them.

Each step is a function with a name, done in a transaction together with the row that records it. Tables in
which a step is recorded that we don't know were made by a newer program: they are refused, and not touched;
unless the step is recorded as one that only adds what older programs need not know of.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from turnlog.errors import NewerStoreError
from turnlog.store.accounts.database import Execute

__all__ = ["ADDITIVE", "MIGRATIONS", "Migration", "check_known", "create_tables", "list_missing", "migrate"]

Migration = Callable[[Execute], None]
"""A step; its name is what is recorded, so neither the name nor the step changes once it is released."""

_TABLES = (
    """
CREATE TABLE @state (id bigint PRIMARY KEY, version bigint NOT NULL)
""",
    "INSERT INTO @state VALUES (1, 0)",
    """
CREATE TABLE @users (
    name text PRIMARY KEY, role text NOT NULL, full_name @@bytes NOT NULL, email @@bytes NOT NULL,
    email_key @@bytes UNIQUE, created_ns bigint NOT NULL, disabled_ns bigint, seen_ns bigint
)
""",
    """
CREATE TABLE @identities (
    issuer @@bytes NOT NULL, subject @@bytes NOT NULL, name text NOT NULL, PRIMARY KEY (issuer, subject)
)
""",
    """
CREATE TABLE @tokens (
    id text PRIMARY KEY, digest text NOT NULL UNIQUE, kind text NOT NULL, name text NOT NULL,
    label @@bytes NOT NULL, created_ns bigint NOT NULL, expires_ns bigint, used_ns bigint, revoked_ns bigint,
    origin @@bytes
)
""",
    "CREATE INDEX tokens_by_name ON @tokens (name)",
    """
CREATE TABLE @cookies (
    digest text PRIMARY KEY, name text NOT NULL, created_ns bigint NOT NULL, expires_ns bigint NOT NULL,
    token text
)
""",
    "CREATE INDEX cookies_by_name ON @cookies (name)",
    "CREATE INDEX cookies_by_token ON @cookies (token)",
    """
CREATE TABLE @logins (
    digest text PRIMARY KEY, state @@bytes NOT NULL, nonce @@bytes NOT NULL, verifier @@bytes NOT NULL,
    next @@bytes NOT NULL, expires_ns bigint NOT NULL
)
""",
    "CREATE INDEX logins_by_end ON @logins (expires_ns)",
    """
CREATE TABLE @links (
    id text PRIMARY KEY, digest text NOT NULL UNIQUE, session @@bytes NOT NULL, title @@bytes NOT NULL,
    created_by text, created_ns bigint NOT NULL, expires_ns bigint NOT NULL, revoked_ns bigint,
    words @@bytes NOT NULL, opened bigint NOT NULL, opened_ns bigint
)
""",
    "CREATE INDEX links_by_session ON @links (session)",
    "CREATE INDEX links_by_creator ON @links (created_by)",
    """
CREATE TABLE @audit (
    id @@serial, at_ns bigint NOT NULL, who @@bytes, action text NOT NULL, link @@bytes, session @@bytes,
    person @@bytes, detail @@bytes NOT NULL
)
""",
    "CREATE INDEX audit_by_who ON @audit (who, id)",
    "CREATE INDEX audit_by_person ON @audit (person, id)",
    "CREATE INDEX audit_by_session ON @audit (session, id)",
)
"""With `@@` before a type that engines spell differently."""


def create_tables(execute: Execute) -> None:
    """Make the tables of users, of what lets them in, of links, and of what they did."""
    for statement in _TABLES:
        execute(statement)


MIGRATIONS: tuple[Migration, ...] = (create_tables,)
ADDITIVE: frozenset[Migration] = frozenset()
"""Those that programs from before them can live with."""


def check_known(execute: Execute, name: str) -> None:
    """Raise `NewerStoreError` if a step is recorded that this program does not know, and must."""
    known = {migration.__name__ for migration in MIGRATIONS}
    needed = {name for (name,) in execute("SELECT name FROM @migrations WHERE is_additive = 0")}
    unknown = sorted(needed - known)
    if unknown:
        raise NewerStoreError(
            f"The accounts in {name} were made by a newer version of turnlog (they have {', '.join(unknown)}); "
            "they were not touched"
        )


def list_missing(execute: Execute) -> list[str]:
    """Return the names of the steps that are still to be done."""
    applied = _list_applied(execute)
    return [migration.__name__ for migration in MIGRATIONS if migration.__name__ not in applied]


def migrate(execute: Execute) -> None:
    """Do the steps that are missing, in their order and in the transaction of the caller, who is alone."""
    execute(
        "CREATE TABLE IF NOT EXISTS @migrations "
        "(name text PRIMARY KEY, applied_ns bigint NOT NULL, is_additive bigint NOT NULL DEFAULT 0)"
    )
    missing = list_missing(execute)
    for migration in MIGRATIONS:
        if migration.__name__ in missing:
            migration(execute)
            values = (migration.__name__, time.time_ns(), int(migration in ADDITIVE))
            execute("INSERT INTO @migrations VALUES (?, ?, ?)", values)


def _list_applied(execute: Execute) -> set[str]:
    return {name for (name,) in execute("SELECT name FROM @migrations")}

"""The tables of accounts, and the steps that lead to them."""

from __future__ import annotations

from turnlog.store.catalogue.database import Connection
from turnlog.store.catalogue.migrations import Steps
from turnlog.store.catalogue.sqlite import Options

__all__ = ["ACCOUNT_OPTIONS", "ACCOUNT_STEPS", "create_tables"]

_APPLICATION_ID = 0x7475726F
"""What tells a file of accounts from an archive ("turo")."""
ACCOUNT_OPTIONS = Options(cache_kib=1 << 10, application_id=_APPLICATION_ID, lasting=True)
"""How a file of accounts is opened."""

_TABLES = (
    """
CREATE TABLE state (id bigint PRIMARY KEY, version bigint NOT NULL)
""",
    "INSERT INTO state VALUES (1, 0)",
    """
CREATE TABLE users (
    name text PRIMARY KEY, role text NOT NULL, full_name @@bytes NOT NULL, email @@bytes NOT NULL,
    email_key @@bytes UNIQUE, created_ns bigint NOT NULL, disabled_ns bigint, seen_ns bigint
)
""",
    """
CREATE TABLE identities (
    issuer @@bytes NOT NULL, subject @@bytes NOT NULL, name text NOT NULL, PRIMARY KEY (issuer, subject)
)
""",
    """
CREATE TABLE tokens (
    id text PRIMARY KEY, digest text NOT NULL UNIQUE, kind text NOT NULL, name text NOT NULL,
    label @@bytes NOT NULL, created_ns bigint NOT NULL, expires_ns bigint, used_ns bigint, revoked_ns bigint,
    origin @@bytes
)
""",
    "CREATE INDEX tokens_by_name ON tokens (name)",
    """
CREATE TABLE cookies (
    digest text PRIMARY KEY, name text NOT NULL, created_ns bigint NOT NULL, expires_ns bigint NOT NULL,
    token text
)
""",
    "CREATE INDEX cookies_by_name ON cookies (name)",
    "CREATE INDEX cookies_by_token ON cookies (token)",
    """
CREATE TABLE logins (
    digest text PRIMARY KEY, state @@bytes NOT NULL, nonce @@bytes NOT NULL, verifier @@bytes NOT NULL,
    next @@bytes NOT NULL, expires_ns bigint NOT NULL
)
""",
    "CREATE INDEX logins_by_end ON logins (expires_ns)",
    """
CREATE TABLE links (
    id text PRIMARY KEY, digest text NOT NULL UNIQUE, session @@bytes NOT NULL, title @@bytes NOT NULL,
    created_by text, created_ns bigint NOT NULL, expires_ns bigint NOT NULL, revoked_ns bigint,
    words @@bytes NOT NULL, opened bigint NOT NULL, opened_ns bigint
)
""",
    "CREATE INDEX links_by_session ON links (session)",
    "CREATE INDEX links_by_creator ON links (created_by)",
    """
CREATE TABLE audit (
    id @@serial, at_ns bigint NOT NULL, who @@bytes, action text NOT NULL, link @@bytes, session @@bytes,
    person @@bytes, detail @@bytes NOT NULL
)
""",
    "CREATE INDEX audit_by_who ON audit (who, id)",
    "CREATE INDEX audit_by_person ON audit (person, id)",
    "CREATE INDEX audit_by_session ON audit (session, id)",
)
"""With `@@` before a type that engines spell differently."""


def create_tables(connection: Connection) -> None:
    """Make the tables of users, of what lets them in, of links, and of what they did."""
    for statement in _TABLES:
        connection.execute(statement)


ACCOUNT_STEPS = Steps("the accounts", (create_tables,))
"""What leads to the tables of today."""

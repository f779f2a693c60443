"""Putting a backup of accounts in their place, without letting in again who was let in no longer.

What is known of people now counts more than what the backup knew: users, tokens and links that are there stay
as they are, ended ones included, and what only the backup has is added. What was recorded stays recorded.
Everybody logs in again: the backup cannot know who logged out since.
"""

from __future__ import annotations

from collections import Counter

from turnlog.store.accounts.interface import CarriedAccounts
from turnlog.store.catalogue.database import Execute, Row

_KEYED_COLUMNS = {
    "users": ("name", "role", "full_name", "email", "email_key", "created_ns", "disabled_ns", "seen_ns"),
    "tokens": (
        "id", "digest", "kind", "name", "label", "created_ns", "expires_ns", "used_ns", "revoked_ns", "origin",
    ),
    "links": (
        "id", "digest", "session", "title", "created_by", "created_ns", "expires_ns", "revoked_ns", "words",
        "opened", "opened_ns",
    ),
}  # fmt: skip
"""The columns of tables whose rows are known by the first one."""
_AUDIT_COLUMNS = ("at_ns", "who", "action", "link", "session", "person", "detail")


def carry_over(restored: Execute, present: Execute | None) -> CarriedAccounts:
    """Bring a backup up to what was known before, in the transaction of the caller."""
    restored("DELETE FROM cookies")
    restored("DELETE FROM logins")
    newer = 0
    if present is not None:
        newer = sum(_carry_rows(restored, present, table) for table in _KEYED_COLUMNS)
        _carry_identities(restored, present)
        _carry_audit(restored, present)
        [(version,)] = present("SELECT max(version) FROM state")
        restored("UPDATE state SET version = ? WHERE version < ?", (version, version))
    restored("UPDATE state SET version = version + 1")
    [(users,)] = restored("SELECT count(*) FROM users")
    return CarriedAccounts(users=users, newer=newer)


def _carry_rows(restored: Execute, present: Execute, table: str) -> int:
    """Make the rows of a table what they are now, and return how many were not."""
    columns = _KEYED_COLUMNS[table]
    query = f"SELECT {', '.join(columns)} FROM {table}"
    there = {row[0]: row for row in _list_rows(restored, query)}
    changed = [row for row in _list_rows(present, query) if there.get(row[0]) != row]
    for row in changed:
        restored(f"DELETE FROM {table} WHERE {columns[0]} = ?", row[:1])
    for row in changed:
        if table == "users" and row[4] is not None:  # an address that only the backup has as somebody else's
            restored("UPDATE users SET email = ?, email_key = NULL WHERE email_key = ?", (b"", row[4]))
        places = ", ".join("?" * len(columns))
        restored(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", row)
    return len(changed)


def _carry_identities(restored: Execute, present: Execute) -> None:
    for row in _list_rows(present, "SELECT issuer, subject, name FROM identities"):
        restored("DELETE FROM identities WHERE issuer = ? AND subject = ?", row[:2])
        restored("INSERT INTO identities (issuer, subject, name) VALUES (?, ?, ?)", row)


def _carry_audit(restored: Execute, present: Execute) -> None:
    query = f"SELECT {', '.join(_AUDIT_COLUMNS)} FROM audit ORDER BY id"
    there = Counter(_list_rows(restored, query))
    for row in _list_rows(present, query):
        if there[row]:
            there[row] -= 1
        else:
            places = ", ".join("?" * len(_AUDIT_COLUMNS))
            restored(f"INSERT INTO audit ({', '.join(_AUDIT_COLUMNS)}) VALUES ({places})", row)


def _list_rows(execute: Execute, query: str) -> list[Row]:
    return [
        tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)
        for row in execute(query)
    ]

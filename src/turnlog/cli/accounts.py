"""The accounts that commands work on, and recording what they change.

Commands act on the store itself, as its operator: anyone with access to the files, or to the database.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from datetime import datetime
from typing import Any, TypeVar

from turnlog.cli.plain_text import time_cell
from turnlog.cli.terminal import MisuseError, NothingFoundError
from turnlog.config import Settings
from turnlog.instants import find_moment
from turnlog.store.account_model import Action, AuditEntry, Link, Token, User
from turnlog.store.accounts import Accounts, open_accounts
from turnlog.store.lists import StoredSession

Given = TypeVar("Given", Token, Link)
DAY_NS = 24 * 3600 * 10**9
_NS = 1000


def opened_accounts(settings: Settings) -> AbstractContextManager[Accounts]:
    """Open the accounts, and close them again; nothing is made before there is anything to keep."""
    return closing(open_accounts(settings.place, create=False))


def record(accounts: Accounts, action: Action, **what: Any) -> None:
    """Record something that the operator did: the `person`, the `session`, the `link`, and a `detail`."""
    accounts.record([AuditEntry(at_ns=time.time_ns(), who=None, action=action, **what)])


def note_forgotten(settings: Settings, sessions: Sequence[StoredSession]) -> int:
    """Record that sessions are forgotten, end their links, and return how many ended.

    One person's archive has nothing to record, and no accounts are made for it.
    """
    with opened_accounts(settings) as accounts:
        if accounts.has_users():
            for session in sessions:
                record(accounts, Action.FORGOTTEN, session=session.key, person=session.person)
        return accounts.revoke_links([session.key for session in sessions])


def get_user(accounts: Accounts, name: str) -> User:
    """Return a user; raises `NothingFoundError`."""
    user = accounts.find_user(name)
    if user is None:
        raise NothingFoundError(f"there is no user {name}; `turnlog users list` has all of them")
    return user


def find_by_id(given: Sequence[Given], prefix: str, what: str) -> Given:
    """Return the one thing whose id begins with a prefix; raises `NothingFoundError` or `MisuseError`."""
    found = [each for each in given if prefix and each.id.startswith(prefix)]
    if not found:
        raise NothingFoundError(f"no {what} begins with {prefix or 'nothing'}")
    if len(found) > 1:
        names = ", ".join(each.id for each in found)
        raise MisuseError(f"{len(found)} {what}s begin with {prefix}: {names}")
    return found[0]


def name_state(given: Token | Link) -> str:
    """Return whether a token or a link is `good`, `expired` or `revoked`."""
    if given.revoked_ns is not None:
        return "revoked"
    return "expired" if given.expires_ns is not None and given.expires_ns <= time.time_ns() else "good"


def to_moment(at_ns: int | None) -> datetime | None:
    """Return an instant of the accounts."""
    return None if at_ns is None else find_moment(at_ns // _NS)


def instant_cell(at_ns: int | None, now: datetime | None) -> str:
    """Return when something was: how long ago, or to the minute."""
    return time_cell(to_moment(at_ns), now)

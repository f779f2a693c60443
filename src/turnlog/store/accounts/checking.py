"""Looking whether accounts are sound."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from turnlog.errors import StoreError
from turnlog.store.accounts.file_copies import find_file
from turnlog.store.accounts.interface import UserRole
from turnlog.store.accounts.opening import open_accounts
from turnlog.store.accounts.schema import ACCOUNT_OPTIONS
from turnlog.store.catalogue.sqlite import check_pages, open_to_read, translating
from turnlog.store.places import ServerPlace, StorePlace

__all__ = ["check_accounts"]


def check_accounts(place: StorePlace) -> list[str]:
    """Return what is wrong with the accounts of the store at a place, in words; nothing is changed."""
    try:
        found = [] if isinstance(place, ServerPlace) else _check_file(find_file(place))
        return found or _check_rows(place)
    except StoreError as error:
        return [str(error)]


def _check_file(file: Path) -> list[str]:
    if not file.exists():
        return []
    with closing(open_to_read(file, ACCOUNT_OPTIONS)) as connection, translating(file):
        return [f"{file}: {each}" for each in check_pages(connection)]


def _check_rows(place: StorePlace) -> list[str]:
    with closing(open_accounts(place, create=False)) as accounts:
        users = accounts.list_users()
        named = {token.user for token in accounts.list_tokens()}
        named |= {link.created_by for link in accounts.list_links() if link.created_by is not None}
    flaws = [
        f"There is no user {name}, who has tokens or links" for name in named - {each.name for each in users}
    ]
    if users and not any(user.role is UserRole.ADMIN and user.disabled_ns is None for user in users):
        flaws.append("There are users, but no admin who can log in")
    return sorted(flaws)

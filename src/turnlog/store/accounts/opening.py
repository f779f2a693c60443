"""Opening accounts: in a file beside that of a store, or in a schema of a database on a PostgreSQL server."""

from __future__ import annotations

import time
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import cast

from turnlog.errors import StoreError
from turnlog.store.accounts.copies import find_file
from turnlog.store.accounts.interface import Accounts, UserRole
from turnlog.store.accounts.stored import ACCOUNT_OPTIONS, ACCOUNT_STEPS, Clock, StoredAccounts
from turnlog.store.catalogue.database import Database
from turnlog.store.catalogue.sqlite import SqliteDatabase, check_pages, open_to_read, translating
from turnlog.store.places import ACCOUNTS_SCHEMA, ServerPlace, StorePlace


def open_accounts(place: StorePlace, *, create: bool = True, clock: Clock = time.time_ns) -> Accounts:
    """Open the accounts of the store at a place, or those on a server.

    Raises `StoreError`, and `NewerStoreError` for those of a newer version. Without `create`, nothing is made
    before there is anything to keep.
    """
    database = _find_database(place)
    accounts = StoredAccounts(database, clock)
    try:
        if create:
            database.make()
        else:
            accounts.has_users()
    except BaseException:
        accounts.close()
        raise
    return accounts


def _find_database(place: StorePlace) -> Database:
    if not isinstance(place, ServerPlace):
        return SqliteDatabase(find_file(place), ACCOUNT_STEPS, ACCOUNT_OPTIONS)
    try:
        # Loaded when it is asked for: the driver is optional.
        module = import_module("turnlog.store.catalogue.postgres")
    except ModuleNotFoundError as error:
        raise StoreError(
            f"{place} needs {error.name}, which is not installed: pip install 'turnlog[postgres]'"
        ) from error
    return cast(Database, module.PostgresDatabase(place.address, ACCOUNTS_SCHEMA, ACCOUNT_STEPS))


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

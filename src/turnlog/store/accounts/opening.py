"""Opening accounts: in a file beside that of a store, or in a schema of a database on a PostgreSQL server."""

from __future__ import annotations

import time
from importlib import import_module
from typing import cast

from turnlog.errors import StoreError
from turnlog.store.accounts.audit import Audit
from turnlog.store.accounts.file_copies import find_file
from turnlog.store.accounts.interface import Accounts
from turnlog.store.accounts.keeping import Clock
from turnlog.store.accounts.links import Links
from turnlog.store.accounts.logins import Logins
from turnlog.store.accounts.schema import ACCOUNT_OPTIONS, ACCOUNT_STEPS
from turnlog.store.accounts.tokens import Tokens
from turnlog.store.accounts.users import Users
from turnlog.store.catalogue.database import Database
from turnlog.store.catalogue.sqlite import SqliteDatabase
from turnlog.store.places import ACCOUNTS_SCHEMA, ServerPlace, StorePlace

__all__ = ["StoredAccounts", "open_accounts"]


class StoredAccounts(Users, Tokens, Logins, Links, Audit):
    """Accounts in a database; `open_accounts` opens them."""


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

"""What route handlers may ask for, by the names of their parameters.

def list_turns(store: GivenStore, visible: GivenScope, caller: GivenCaller, accounts: GivenAccounts, …)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from litestar import Request
from litestar.di import NamedDependency, Provide
from litestar.params import SkipValidation

from turnlog.ingest.uploads.receiver import KnownMachines
from turnlog.server.security.callers import CALLER, NOTHING, Caller
from turnlog.server.sync_state import SyncState
from turnlog.store.accounts.interface import Accounts
from turnlog.store.interface import CaredStore
from turnlog.store.model import Scope

GivenStore = NamedDependency[SkipValidation[CaredStore]]
"""Parameter `store`: the archive. A handler that uses it is a plain function with `sync_to_thread=True`."""
GivenAccounts = NamedDependency[SkipValidation[Accounts]]
"""Parameter `accounts`: who may come in. As with the store, its handlers have a thread."""
GivenMachines = NamedDependency[SkipValidation[KnownMachines]]
"""Parameter `machines`: whose machines are that something comes from."""
GivenScope = NamedDependency[SkipValidation[Scope]]
"""Parameter `visible`: what whoever asks may see; nothing, where nobody is asked who they are."""
GivenSync = NamedDependency[SkipValidation[SyncState]]
"""Parameter `syncing`: how far the archive is up to date."""


def build_dependencies(store: CaredStore, accounts: Accounts, syncing: SyncState) -> Mapping[str, Provide]:
    """Return what Litestar gives to route handlers."""
    return {
        "store": _provide(store),
        "accounts": _provide(accounts),
        "machines": _provide(KnownMachines(store)),
        "syncing": _provide(syncing),
        "caller": Provide(_get_caller, sync_to_thread=False),
        "visible": Provide(_get_scope, sync_to_thread=False),
    }


def _provide(value: Any) -> Provide:
    return Provide(lambda: value, sync_to_thread=False)


def _get_caller(request: Request[Any, Any, Any]) -> Caller:
    """Return who asks, as the guard found out; there is nobody where it does not ask."""
    caller: Caller = request.scope["state"][CALLER]
    return caller


def _get_scope(request: Request[Any, Any, Any]) -> Scope:
    caller: Caller | None = request.scope["state"].get(CALLER)
    return NOTHING if caller is None else caller.scope

"""What route handlers may ask for, by the names of their parameters.

def list_turns(store: GivenStore, visible: GivenScope, syncing: GivenSync, …)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from litestar.di import NamedDependency, Provide
from litestar.params import SkipValidation

from turnlog.server.sync_state import SyncState
from turnlog.store.care import CaredStore
from turnlog.store.identity import LOCAL, Scope

__all__ = ["GivenScope", "GivenStore", "GivenSync", "build_dependencies"]

GivenStore = NamedDependency[SkipValidation[CaredStore]]
"""Parameter `store`: the archive. A handler that uses it is a plain function with `sync_to_thread=True`."""
GivenScope = NamedDependency[SkipValidation[Scope]]
"""Parameter `visible`: whose data may be seen."""
GivenSync = NamedDependency[SkipValidation[SyncState]]
"""Parameter `syncing`: how far the archive is up to date."""


def build_dependencies(store: CaredStore, syncing: SyncState) -> Mapping[str, Provide]:
    """Return what Litestar gives to route handlers."""
    return {"store": _provide(store), "visible": _provide(LOCAL), "syncing": _provide(syncing)}


def _provide(value: Any) -> Provide:
    return Provide(lambda: value, sync_to_thread=False)

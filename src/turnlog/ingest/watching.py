"""Which way of watching suits some folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from turnlog.ingest.mounts import MOUNTS, is_silent
from turnlog.ingest.native_watcher import NativeWatcher
from turnlog.ingest.polling_watcher import PollingWatcher
from turnlog.ingest.watcher import Watcher

_FORCE = "WATCHFILES_FORCE_POLLING"
_NO = frozenset({"false", "disable", "disabled"})


def choose_watcher(
    roots: Iterable[Path],
    *,
    polling: bool | None = None,
    env: Mapping[str, str] | None = None,
    mounts: Path = MOUNTS,
) -> Watcher:
    """Return a watcher of some folders: one that polls if asked to, or if any is where nothing is told.

    What `polling` leaves open, `WATCHFILES_FORCE_POLLING` of `env` decides as it does for watchfiles.
    """
    roots = tuple(roots)
    if polling is None:
        polling = _find_wish(env or {})
    if polling is None:
        polling = any(is_silent(root, mounts) for root in roots)
    return PollingWatcher(roots) if polling else NativeWatcher(roots)


def _find_wish(env: Mapping[str, str]) -> bool | None:
    wish = env.get(_FORCE, "")
    return wish.lower() not in _NO if wish else None

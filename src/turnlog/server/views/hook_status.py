"""What is known of hooks, as the status tells it."""

from __future__ import annotations

from pathlib import Path

from turnlog.ingest.hook_install import HookScope, NotSettingsError, find_settings, list_entries
from turnlog.server.receiving import HookReceiver
from turnlog.server.shapes.status import HookStatus
from turnlog.server.surroundings import Surroundings
from turnlog.store.interface import CaredStore
from turnlog.store.model import Scope


def view_hooks(store: CaredStore, scope: Scope, hooks: HookReceiver, around: Surroundings) -> HookStatus:
    """Return whether hooks are installed, and how much they brought; a viewer learns only the latter."""
    if scope.viewer is not None:
        return HookStatus(installed=None, deliveries=store.count_deliveries(scope), spooled=0, aside=0)
    counts = None if hooks.spool is None else hooks.spool.count()
    return HookStatus(
        installed=_are_installed(around),
        deliveries=store.count_deliveries(scope),
        spooled=0 if counts is None else counts.waiting,
        aside=0 if counts is None else counts.aside,
    )


def _are_installed(around: Surroundings) -> bool | None:
    """Tell whether any settings of the user's name turnlog's hooks; None if they cannot be read."""
    try:
        texts = [path.read_bytes() for path in _list_settings(around) if path.exists()]
        return any(list_entries(text) for text in texts)
    except (OSError, NotSettingsError):
        return None


def _list_settings(around: Surroundings) -> list[Path]:
    return find_settings(HookScope.USER, around.config_dirs, Path())

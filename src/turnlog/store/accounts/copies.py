"""Copies of accounts that no copy of the store itself has, wherever they are: in a file beside that copy."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from turnlog.store.accounts import file_copies
from turnlog.store.accounts.carrying import CarriedAccounts
from turnlog.store.places import ServerPlace, StorePlace, control_of

__all__ = ["are_apart", "back_up_accounts", "restore_accounts"]


def are_apart(place: StorePlace) -> bool:
    """Tell whether the accounts of a store are copied apart from it: those of one on PostgreSQL are not."""
    return not isinstance(place, ServerPlace) or control_of(place) != place


def back_up_accounts(place: StorePlace, target: Path, *, force: bool) -> None:
    """Copy the accounts of a store, if it has any, beside a copy of it; raises `StoreError`.

    By `force`, what lies there of a copy before is overwritten, or removed if there are no accounts.
    """
    control = control_of(place)
    if isinstance(control, ServerPlace):
        _load().back_up_accounts(control.address, target, force=force)
    else:
        file_copies.back_up_accounts(control, target, force=force)


def restore_accounts(place: StorePlace, source: Path) -> CarriedAccounts | None:
    """Put the accounts of a copy in their place, as far as they are not newer; None if it has none."""
    control = control_of(place)
    if isinstance(control, ServerPlace):
        found: CarriedAccounts | None = _load().restore_accounts(control.address, source)
        return found
    return file_copies.restore_accounts(control, source)


def _load() -> Any:
    # Loaded when it is asked for: the drivers of servers are optional.
    return import_module("turnlog.store.accounts.server_copies")

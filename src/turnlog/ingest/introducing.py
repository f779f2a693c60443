"""How this machine is called: for people to read, who know it by no other name."""

from __future__ import annotations

import getpass
import platform

from turnlog.store.interface import Store
from turnlog.store.model import LOCAL, Scope


def find_host() -> str:
    """Return what this computer calls itself."""
    return platform.node()


def find_user() -> str:
    """Return what the system calls whoever runs this; nothing if nobody has that number."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def introduce(store: Store, origin: str, scope: Scope = LOCAL) -> None:
    """Tell a store how this machine is called, if it has sessions of it and was never told."""
    for machine in store.list_machines(scope):
        if machine.origin == origin and not machine.host:
            store.save_machine(scope, origin, host=find_host(), user=find_user(), at_ns=machine.last_ns)

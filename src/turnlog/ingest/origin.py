"""Which machine data comes from: a random name, made once and kept in the data directory.

People know the machine by its host name and user instead, which the store is told once.
"""

from __future__ import annotations

import getpass
import os
import platform
import re
from pathlib import Path
from uuid import uuid4

from turnlog.store.interface import Store
from turnlog.store.model import LOCAL, Scope

_NAME = "origin"
_FORM = re.compile(r"[0-9a-f]{32}")


def find_origin(home: Path) -> str:
    """Return the name of this machine, made when it is first asked for; raises `OSError`."""
    path = home / _NAME
    if not path.exists():
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(path)
    name = path.read_text("ascii").strip()
    if _FORM.fullmatch(name):
        return name
    raise OSError(f"{path} does not contain a machine name")


def _make(path: Path) -> None:
    """Make the file, there all at once, unless another process just did."""
    new = path.with_name(f".{_NAME}.{uuid4().hex}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(f"{uuid4().hex}\n")
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def peek_origin(home: Path) -> str | None:
    """Return the name of this machine, if it has one that can be read; nothing is written."""
    try:
        name = (home / _NAME).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return name if _FORM.fullmatch(name) else None


def find_host() -> str:
    """Return what this computer calls itself."""
    return platform.node()


def find_user() -> str:
    """Return what the system calls whoever runs this; nothing if nobody has that number."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def save_machine_name(store: Store, origin: str, scope: Scope = LOCAL) -> None:
    """Tell a store how this machine is called, if it has sessions of it and was never told."""
    for machine in store.list_machines(scope):
        if machine.origin == origin and not machine.host:
            store.save_machine(scope, origin, host=find_host(), user=find_user(), at_ns=machine.last_ns)

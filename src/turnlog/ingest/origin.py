"""Which machine data comes from: a name that is made up once and kept in the data directory."""

from __future__ import annotations

import os
import re
from pathlib import Path
from uuid import uuid4

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

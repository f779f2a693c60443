"""Which project a session belongs to.

Claude Code keeps a project's sessions in a folder named after its path, with `-` for everything that is no
ASCII letter or digit. That cannot be undone (`/a/b`, `/a-b` and `/a.b` share a folder), so a project is named
after the `cwd` that its lines tell.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_LONGEST = 200
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_OTHER = re.compile(r"[^A-Za-z0-9]")


def project_name(cwds: Iterable[str], folder: str) -> str:
    """Return the path of the project, given the `cwd`s of a session in order, and the name of its folder.

    A session may change its directory: the `cwd` that the folder is named after counts, else the first. Without
    any the folder's name stands as it is.
    """
    first = ""
    for cwd in cwds:
        if cwd and is_named_after(folder, cwd):
            return cwd
        first = first or cwd
    return first or folder


def project_folder_name(path: str) -> str:
    """Return the name of the folder that Claude Code keeps the sessions of the directory `path` in.

    `path` is absolute and without symlinks. A long one is cut, and told apart by a hash; native builds of the
    program use another hash than this one, so that for long paths only the part before it can be relied on.
    """
    path = unicodedata.normalize("NFC", path)
    name = _replace(path)
    if len(name) <= _LONGEST:
        return name
    return f"{name[:_LONGEST]}-{_hash(path)}"


@lru_cache(maxsize=1024)  # a project has many sessions
def is_named_after(folder: str, path: str) -> bool:
    """Tell whether `folder` is a name that Claude Code gives to the folder of `path`, with whichever hash."""
    name = _replace(unicodedata.normalize("NFC", path))
    if len(name) <= _LONGEST:
        return folder == name
    return folder.startswith(f"{name[:_LONGEST]}-")


def _replace(path: str) -> str:
    # JavaScript counts in UTF-16: a character beyond the basic plane is two.
    return _OTHER.sub(lambda match: "-" * (1 + (match[0] > "\uffff")), path)


def _hash(path: str) -> str:
    """Return JavaScript's usual 32-bit string hash in base 36."""
    units = memoryview(path.encode("utf-16-le", "surrogatepass")).cast("H")
    value = 0
    for unit in units:
        value = (31 * value + unit) & 0xFFFFFFFF
    return _base_36(min(value, (1 << 32) - value))


def _base_36(value: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"

"""What the files of exported sessions are called."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LONGEST = 80


def name_file(name: str, ending: str) -> str:
    """Return a name that any file system takes, for what a session is called."""
    last = re.split(r"[/\\]", name)[-1].removesuffix(".jsonl")
    kept = re.sub(r"[^\w.-]+", "-", last).strip("-.")
    return f"{kept[:_LONGEST] or 'session'}.{ending}"


def name_files(names: Iterable[str], ending: str) -> list[str]:
    """Return a file name for each of some sessions; those that share a name are numbered from 2 on."""
    found: list[str] = []
    used: set[str] = set()
    for name in names:
        first = name_file(name, ending).removesuffix(f".{ending}")
        file, number = f"{first}.{ending}", 1
        while file.casefold() in used:  # some file systems take `A.md` and `a.md` for the same
            number += 1
            file = f"{first}-{number}.{ending}"
        used.add(file.casefold())
        found.append(file)
    return found

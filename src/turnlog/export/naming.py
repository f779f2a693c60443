"""What the file of an exported session is called."""

from __future__ import annotations

import re

__all__ = ["name_file"]

_LONGEST = 80


def name_file(name: str, ending: str) -> str:
    """Return a name that any file system takes, for what a session is called."""
    last = re.split(r"[/\\]", name)[-1].removesuffix(".jsonl")
    kept = re.sub(r"[^\w.-]+", "-", last).strip("-.")
    return f"{kept[:_LONGEST] or 'session'}.{ending}"

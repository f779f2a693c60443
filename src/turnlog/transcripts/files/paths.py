"""Paths as text: file systems take bytes that no encoding has."""

from __future__ import annotations

import os
from pathlib import Path


def path_text(path: str | Path) -> str:
    """Return a path as text that can be written, whatever bytes it is of."""
    return os.fsencode(path).decode("utf-8", "replace")

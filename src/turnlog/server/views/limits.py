"""How much of a long text is sent at once. All of it is in the raw line, which can be asked for."""

from __future__ import annotations

import re

from msgspec import Raw

LONGEST_SAID = 200_000
"""Characters of what people and models say: nobody writes more by hand."""
LONGEST_SHOWN = 30_000
"""Characters of what a tool answered."""
LONGEST_JSON = 60_000
"""Bytes of an input or of any other JSON."""
LONGEST_TITLE = 240
"""Characters of what stands on one line."""

_HALF = re.compile("[\ud800-\udfff]")


def sayable(text: str) -> str:
    """Return a text that UTF-8 can say: halves of characters, which files have, become U+FFFD."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def say(text: str | None) -> str | None:
    """Return a text that UTF-8 can say, if there is one."""
    return None if text is None else sayable(text)


def cut(text: str, most: int) -> tuple[str, bool]:
    """Return a text, or its beginning, and whether something is missing."""
    return (sayable(text), False) if len(text) <= most else (sayable(text[:most]), True)


def head_of(text: str) -> str:
    """Return how a text begins, on one line."""
    return sayable(" ".join(text[: 4 * LONGEST_TITLE].split())[:LONGEST_TITLE])


def cut_json(value: Raw | None, most: int = LONGEST_JSON) -> Raw | None:
    """Return a JSON value; None if it is too long to be sent with others."""
    return None if value is None or len(bytes(value)) > most else value

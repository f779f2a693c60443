"""Texts, times and money as answers contain them.

Long texts are cut: all of a text is in the raw line, which can be asked for.
"""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import PurePosixPath, PureWindowsPath

from msgspec import Raw

from turnlog.instants import find_moment

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


def moment(microseconds: int | None) -> datetime | None:
    """Return an instant; None also for one that no calendar has."""
    return find_moment(microseconds)


def instant_of(nanoseconds: int) -> datetime:
    """Return the instant of an account, a link or an entry, which count nanoseconds."""
    return datetime.fromtimestamp(nanoseconds // 1000 / 1_000_000, UTC)


def took_ms(started: int | None, ended: int | None) -> int | None:
    """Return how long something took, in milliseconds; None if that is not known or runs backwards."""
    if started is None or ended is None or ended < started:
        return None
    return (ended - started) // 1000


def dollars(amount: str | Decimal | None) -> float | None:
    """Return money as a JSON number; sums are made before, digit for digit."""
    return None if amount is None else float(amount)


_is_id = re.compile("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}").fullmatch


def build_resume(session_id: str, project: str | None) -> str | None:
    """Return the command that goes on with a session; what is not an id is nothing for a shell."""
    if _is_id(session_id) is None:
        return None
    command = f"claude --resume {session_id}"
    # A session that does not tell where it worked has the name of its folder instead of a path.
    if project is None or not (PurePosixPath(project).is_absolute() or PureWindowsPath(project).drive):
        return command
    return f"cd {shlex.quote(project)} && {command}"

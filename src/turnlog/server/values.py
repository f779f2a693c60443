"""What answers are made of: texts, times and money, and the lines of files behind them.

Long texts are cut: all of a text is in the raw line, which can be asked for. Lines may be long, with images in
them, so a page ends before its lines are too long together. What is worked out from many lines is remembered
for each state of the archive (`Memo`).
"""

from __future__ import annotations

import re
import shlex
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import PurePosixPath, PureWindowsPath
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from msgspec import Raw

from turnlog.instants import from_microseconds
from turnlog.messages import Line
from turnlog.server.errors import NotFoundError
from turnlog.shapes import Shape, find_values
from turnlog.store.interface import Store
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.queries.threads import decode_lines

LONGEST_SAID = 200_000
"""Characters of what people and models say: nobody writes more by hand."""
LONGEST_SHOWN = 30_000
"""Characters of what a tool answered."""
LONGEST_JSON = 60_000
"""Bytes of an input or of any other JSON."""
_LONGEST_TITLE = 240
"""Characters of what stands on one line."""

_HALF = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Return a text that UTF-8 can encode: lone surrogates, which files contain, become U+FFFD."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def clean_optional(text: str | None) -> str | None:
    """Return a text that UTF-8 can encode, if there is one."""
    return None if text is None else clean_text(text)


def fill_clean(kind: type[Shape], /, *sources: object, **own: Any) -> Shape:
    """Return a shape as `fill` does, with texts that UTF-8 can encode."""
    values = find_values(kind, sources, own)
    for name, value in values.items():
        if type(value) is str and not value.isascii():
            values[name] = clean_text(value)
    return kind(**values)


def truncate(text: str, most: int) -> tuple[str, bool]:
    """Return a text, cut to a length, and whether it was cut."""
    return (clean_text(text), False) if len(text) <= most else (clean_text(text[:most]), True)


def one_line(text: str) -> str:
    """Return the beginning of a text, on one line."""
    return clean_text(" ".join(text[: 4 * _LONGEST_TITLE].split())[:_LONGEST_TITLE])


def limit_json(value: Raw | None, most: int = LONGEST_JSON) -> Raw | None:
    """Return a JSON value; None if it is too long to be sent with others."""
    return None if value is None or len(bytes(value)) > most else value


def instant_of(nanoseconds: int) -> datetime:
    """Return the instant of an account, a link or an entry, which count nanoseconds."""
    return from_microseconds(nanoseconds // 1000)


def elapsed_ms(started: int | None, ended: int | None) -> int | None:
    """Return how long something took, in milliseconds; None if that is not known or runs backwards."""
    if started is None or ended is None or ended < started:
        return None
    return (ended - started) // 1000


def dollars(amount: str | Decimal | None) -> float | None:
    """Return money as a JSON number; sums are made before, digit for digit."""
    return None if amount is None else float(amount)


_is_id = re.compile("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}").fullmatch


def build_resume(session_id: str, project: str | None) -> str | None:
    """Return the command that resumes a session; None for what is not an id, which must not reach a shell."""
    if _is_id(session_id) is None:
        return None
    command = f"claude --resume {session_id}"
    # A session that does not tell where it worked has the name of its folder instead of a path.
    if project is None or not (PurePosixPath(project).is_absolute() or PureWindowsPath(project).drive):
        return command
    return f"cd {shlex.quote(project)} && {command}"


T = TypeVar("T")

_MOST_BYTES = 32 << 20
"""Of the lines that one response is made from; a single item is returned however long its lines are."""


def limit_by_size(things: Sequence[T], measure: Callable[[T], int], anchor: int = 0) -> Sequence[T]:
    """Return consecutive items around `anchor` whose lines have a limited total size."""
    if not things:
        return things
    start, end = choose_range([measure(thing) for thing in things], anchor, _MOST_BYTES)
    return things[start:end]


def choose_range(sizes: Sequence[int], anchor: int, most: int) -> tuple[int, int]:
    """Return where a range around `anchor` begins and ends: as long as `most` allows, even on both sides."""
    start, end, left = anchor, anchor + 1, most - sizes[anchor]
    goes_down, goes_up = True, True
    while goes_down or goes_up:
        goes_down = goes_down and end < len(sizes) and sizes[end] <= left
        if goes_down:
            left -= sizes[end]
            end += 1
        goes_up = goes_up and start > 0 and sizes[start - 1] <= left
        if goes_up:
            start -= 1
            left -= sizes[start]
    return start, end


def read_lines(chapter: Chapter, numbers: Iterable[int]) -> dict[int, Line]:
    """Return lines of a file, by their numbers; raises `NotFoundError` if they were deleted meanwhile."""
    try:
        return decode_lines(chapter, numbers)
    except KeyError:
        raise NotFoundError("Those lines no longer exist") from None


def read_each(wanted: Iterable[tuple[Chapter, Iterable[int]]]) -> dict[Chapter, dict[int, Line]]:
    """Return lines of several files; raises as `read_lines`. A file may be named more than once."""
    numbers: dict[Chapter, set[int]] = {}
    for chapter, some in wanted:
        numbers.setdefault(chapter, set()).update(some)
    return {chapter: read_lines(chapter, some) for chapter, some in numbers.items()}


K = TypeVar("K")
V = TypeVar("V")


class LruDict(OrderedDict[K, V]):
    """A dictionary of limited size that drops the least recently stored entries."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def put(self, key: K, value: V) -> None:
        """Store a value as the newest entry."""
        self[key] = value
        self.move_to_end(key)
        while len(self) > self._most:
            self.popitem(last=False)


class Memo(Generic[V]):
    """A cache of results for each store, of limited size; thread-safe."""

    def __init__(self, most: int) -> None:
        """`most` is the number of results per store."""
        self._most = most
        self._known: WeakKeyDictionary[Store, dict[Hashable, V]] = WeakKeyDictionary()
        self._lock = Lock()

    def get_or_build(self, store: Store, key: Hashable, build: Callable[[], V]) -> V:
        """Return the cached result for a key, or build it; the key must include the archive's state."""
        with self._lock:
            known = self._known.setdefault(store, {})
            if key in known:
                return known[key]
        built = build()
        with self._lock:
            known[key] = built
            while len(known) > self._most:
                del known[next(iter(known))]
        return built

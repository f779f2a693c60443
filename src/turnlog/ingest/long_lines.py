"""Lines of many megabytes, read without ever being whole in memory.

Their bytes are put aside as they come, and their long strings are taken out (`long_strings`). What is searched
of such a line, and what rows are derived from, is equal to what an ordinary decoder gives; a line that is not
of today's dialect, or odd in any other way, is read by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from turnlog.ingest.long_strings import (
    LongString,
    StringTaker,
    UnusualLineError,
    expand,
    find_string,
    measure,
)
from turnlog.ingest.slim import cut_text, slim_skeleton
from turnlog.ingest.spill import KeptItems, Spill, pack, unpack
from turnlog.messages import Dialect, Line, Position, decode
from turnlog.messages.problems import ProblemKind
from turnlog.messages.salvage import REFUSALS

__all__ = ["HUGE", "LongLine", "ReadLine"]

HUGE = 4 << 20
"""From how many bytes on a line is read in this way."""
_BLANK = b" \t\r\0"
_RESTORED = 16 << 20
"""How many characters of what has to stay whole are put back."""
_TOLERATED = frozenset({ProblemKind.UNKNOWN_FIELD, ProblemKind.UNKNOWN_VALUE})
_MARKUP = re.compile(
    r"<(?:system-reminder|user-prompt-submit-hook|post-tool-use-hook|ide_|local-command|pasted_content"
    r"|command-|bash-|task-notification|teammate-message|user-memory-input)"
)
"""By which a text in the user's place may be something else than it seems from its beginning."""
_NAMES = {
    "agentId:": re.compile(r"(?<=\n)agentId:.{0,1000}"),
    "wf_": re.compile(r"(?<=\W)wf_[\w-]{1,1000}"),
    "saved to:": re.compile(r"saved to:.{0,4000}"),
}
"""What a tool's answer may name; of each the first is looked for."""
_OVERLAP = 5000
_WINDOW = 1 << 18
_encode = msgspec.json.Encoder().encode


class ReadLine(Struct, frozen=True):
    """A line that was read without being whole in memory."""

    line: Line
    """What it says; marks stand for its long strings."""
    slim: Line
    """What rows are derived from, as `slim` gives it."""
    length: int
    """How many bytes it has, without blanks at its end."""
    strings: dict[str, LongString]

    def measure(self, text: str) -> int:
        """Return how long one of its texts really is."""
        return measure(text, self.strings)

    def expand(self, text: str) -> Iterator[str]:
        """Yield what one of its texts really is, in pieces."""
        return expand(text, self.strings)


class LongLine:
    """A line whose bytes are coming in."""

    def __init__(self, spill: Spill) -> None:
        self._kept: KeptItems[bytes] = KeptItems(spill, lambda _, data: unpack(data))
        self._taker: StringTaker | None = StringTaker(spill)
        self.size = 0

    def add(self, piece: bytes) -> None:
        """Take the next bytes of it."""
        self.size += len(piece)
        self._kept.append(pack(piece))
        if self._taker is not None:
            try:
                self._taker.add(piece)
            except UnusualLineError:
                self._taker = None

    def read_back(self) -> Iterator[bytes]:
        """Yield its bytes, for whoever reads it in the ordinary way."""
        return iter(self._kept)

    def read(self, at: Position) -> ReadLine | None:
        """Return what it says; None if it has to be read in the ordinary way."""
        if self._taker is None:
            return None
        try:
            skeleton = self._taker.finish()
            text = skeleton.rstrip(_BLANK)
            length = self.size - (len(skeleton) - len(text))
            return _read(text, at, length, self._taker.strings)
        except UnusualLineError:
            return None


def _read(text: bytes, at: Position, length: int, strings: dict[str, LongString]) -> ReadLine | None:
    if not text.startswith(b"{"):
        return None
    whole = _WholeStrings(strings)
    try:
        slimmed = slim_skeleton(text, whole.cut, whole.settle)
    except REFUSALS:
        return None
    for string in whole.restored.values():
        text = text.replace(string.quoted, _encode(string.read()))
    line = decode(text, at=at)
    if line.dialect is not Dialect.CLAUDE_CODE or line.wire is not None:
        return None
    if any(problem.kind not in _TOLERATED for problem in line.problems):
        return None
    slim = decode(slimmed, at=at)
    if type(slim.entry) is not type(line.entry) or len(slim.problems) != len(line.problems):
        return None
    return ReadLine(line, slim, length, strings)


class _WholeStrings:
    """The strings of a line that have to stay whole, as far as there is room for them."""

    def __init__(self, strings: dict[str, LongString]) -> None:
        self._strings = strings
        self.restored: dict[bytes, LongString] = {}

    def cut(self, text: str) -> str:
        """Return what rows depend on of a text that need not stay whole."""
        string = find_string(text, self._strings)
        return cut_text(text, 0) if string is None else _cut_string(string)

    def settle(self, line: Any) -> Any:
        """Put back what has to stay whole, the shortest first; what is too long is told apart by its mark."""
        telling: dict[bytes, LongString] = {}

        def note(text: str, string: LongString) -> str:
            telling[string.quoted] = string
            return text

        self._replace(line, note)
        room = _RESTORED
        for quoted, string in sorted(telling.items(), key=lambda each: each[1].length):
            room -= string.length
            if room >= 0:
                self.restored[quoted] = string
            elif _has_markup(string):
                raise UnusualLineError
        return self._replace(
            line, lambda text, string: string.read() if string.quoted in self.restored else text
        )

    def _replace(self, value: Any, change: Callable[[str, LongString], str]) -> Any:
        if type(value) is str:
            string = find_string(value, self._strings)
            return value if string is None else change(value, string)
        if type(value) is dict:
            if any(find_string(name, self._strings) for name in value):
                raise UnusualLineError
            return {name: self._replace(inner, change) for name, inner in value.items()}
        if type(value) is list:
            return [self._replace(inner, change) for inner in value]
        return value


def _has_markup(string: LongString) -> bool:
    return any("<" in window and _MARKUP.search(window) for _, window in _list_windows(string))


def _cut_string(string: LongString) -> str:
    """Return how a string begins, and what it names first of what results are asked for."""
    found: list[tuple[int, int, str]] = []
    wanted = dict(_NAMES)
    for start, window in _list_windows(string):
        for name in [name for name in wanted if name in window]:
            match = wanted[name].search(window)
            if match is not None:
                found.append((start + match.start(), start + match.end(), match[0]))
                del wanted[name]
    end = len(string.beginning)
    # One that goes on behind the beginning must not be found there in part.
    end = min([first for first, last, _ in found if first < end < last], default=end)
    return "\n".join((string.beginning[:end], *(name for _, _, name in sorted(found))))


def _list_windows(string: LongString) -> Iterator[tuple[int, str]]:
    """Yield a string in windows that overlap, with a newline before it; each with where it begins."""
    held, start = "\n", -1
    for piece in string.pieces:
        held += piece
        if len(held) > _WINDOW:
            yield start, held
            start += len(held) - _OVERLAP
            held = held[-_OVERLAP:]
    yield start, held

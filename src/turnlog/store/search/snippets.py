"""A line or two of a passage, around what was found."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from turnlog.store.search.normal import Span

__all__ = ["Snippet", "build_snippet"]

_SPACES = re.compile(r"\s+")
_WORD_END = 24
"""How far a cut may move to fall between words."""
_CUT = "…"


class Snippet(Struct, frozen=True, gc=False):
    """A piece of text in one line."""

    text: str
    marks: tuple[Span, ...] = ()
    """Where in it the terms are."""


def build_snippet(text: str, spans: Sequence[Span] = (), width: int = 160) -> Snippet:
    """Return at most `width` characters of a text where most of `spans` are, else its beginning.

    White space becomes one space; `…` stands where text was left out. The spans are in order and apart.
    """
    width = max(width, 16)
    shown = _find_densest(spans, width)
    start = shown[0][0] if shown else 0
    low, high = max(0, start - 2 * width), min(len(text), start + 4 * width)
    low += len(text[low:high]) - len(text[low:high].lstrip())
    line = _collapse(text[low:high].rstrip())
    marks = [(_move(text, low, a), _move(text, low, b)) for a, b in shown if b > low and a < high]
    return _cut(line, marks, width, bool(text[:low].strip()), bool(text[high:].strip()))


def _find_densest(spans: Sequence[Span], width: int) -> Sequence[Span]:
    """Return the spans of the stretch that has the most, the first of them where there are several."""
    best: Sequence[Span] = ()
    last = 0
    for first, (start, _) in enumerate(spans):
        last = max(last, first + 1)
        while last < len(spans) and spans[last][1] <= start + width * 3 // 4:
            last += 1
        if last - first > len(best):
            best = spans[first:last]
    return best


def _collapse(text: str) -> str:
    return _SPACES.sub(" ", text)


def _move(text: str, low: int, place: int) -> int:
    """Return where a place of a text is once the white space before it is collapsed, counted from `low`."""
    return len(_collapse(text[low : max(low, place)]))


def _cut(line: str, marks: list[Span], width: int, has_before: bool, has_behind: bool) -> Snippet:
    room = width - 2 * len(_CUT)
    begin, end = 0, len(line)
    if len(line) > width or has_before or has_behind:
        first, last = (marks[0][0], min(marks[-1][1], marks[0][0] + room)) if marks else (0, 0)
        begin = max(0, min(first - (room - (last - first)) // 3, len(line) - room))
        end = min(len(line), begin + room)
        begin, end = _to_words(line, begin, end, first, last)
    before = _CUT if begin > 0 or has_before else ""
    behind = _CUT if end < len(line) or has_behind else ""
    shift = len(before) - begin
    kept = [(max(a, begin) + shift, min(b, end) + shift) for a, b in marks if a < end and b > begin]
    return Snippet(before + line[begin:end] + behind, tuple(kept))


def _to_words(line: str, begin: int, end: int, first: int, last: int) -> Span:
    """Return a cut that splits no word, if the ends of words are near, and leaves in what is marked."""
    if begin > 0 and line[begin - 1] != " ":
        space = line.find(" ", begin, min(first, begin + _WORD_END))
        begin = begin if space < 0 else space + 1
    if end < len(line) and line[end] != " ":
        space = line.rfind(" ", max(last, end - _WORD_END), end)
        end = end if space < 0 else space
    return begin, end

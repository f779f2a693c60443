"""Snippets without what only a terminal understands: colours, movements of the cursor, titles of windows."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from turnlog.store.search.matcher import Snippet

_ESCAPE = re.compile(
    r"""
    \x1b\[[0-?]*[ -/]*(?:[@-~]|(?=…|$))             # CSI, perhaps cut off at the end
    | \x1b\][^\x07\x1b]*(?:\x07|\x1b\\|(?=…|$)|$)?  # OSC
    | \x1b[PX^_][^\x1b]*(?:\x1b\\)?                 # DCS and the like
    | \x1b[ -/]*[0-~]?                              # two characters, and an escape alone
    | (?<=^…)\[[\d;]+m                              # the end of one that was cut off
    """,
    re.VERBOSE,
)


def strip_escapes(snippet: Snippet) -> Snippet:
    """Return a snippet without terminal escapes; its marks stay with what they mark."""
    found = [match.span() for match in _ESCAPE.finditer(snippet.text)]
    if not found:
        return snippet
    starts = [start for start, _ in found]
    gone = [0, *accumulate(end - start for start, end in found)]

    def move(place: int) -> int:
        before = bisect_right(starts, place)
        inside = max(0, found[before - 1][1] - place) if before else 0
        return place - gone[before] + inside

    marks = [(move(start), move(end)) for start, end in snippet.marks]
    return Snippet(_ESCAPE.sub("", snippet.text), tuple(mark for mark in marks if mark[0] < mark[1]))

"""What is searched of lines: passages as an index takes them.

A text comes as its place, a few facts that filters ask for first, and its cells as the index takes them. A
very long one is taken in pieces, so that memory holds one of them and never all cells. What comes out is what
`index_form` and `cut_cells` give of the whole text: each character changes by itself, a run of letters that is
too long is cut by how far it goes, and where a cell ends is decided by what stands close to it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from turnlog.store.batch import TextFact
from turnlog.store.search.cells import CellCutter, cut_cells
from turnlog.store.search.indexing import cut_runs, index_form, plain_form, split_run
from turnlog.store.search.normal import is_loose

if TYPE_CHECKING:  # it knows all types of lines, which nobody who only opens a store wants to load
    from turnlog.transcripts.lines.passages import Passage

KINDS = (
    "prompt",
    "answer",
    "thinking",
    "tool-input",
    "tool-output",
    "summary",
    "notice",
    "title",
    "hook",
)
"""The kinds of passages by their numbers, which are kept and never change; new ones come last."""
_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}

_LONG = 1 << 20
"""From how many characters on a text is taken in pieces."""
_PIECE = 1 << 18
_NEAR = 4096
_LAST_BREAK = re.compile(r"[\W_](?=[^\W_]*\Z)")


def build_text(number: int, ordinal: int, passage: Passage, time: int | None) -> TextFact:
    """Return a passage as the index takes it."""
    cells: Collection[str]
    if len(passage.text) > _LONG:
        cells = LongText(passage.text)
    else:
        cells = tuple(cut_cells(clean(index_form(passage.text))))
    return TextFact(number, ordinal, passage.block, _NUMBERS[passage.kind], passage.is_error, time or 0, cells)


class LongText(Collection[str]):
    """The cells of a very long text; they are cut whenever somebody goes through them."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __iter__(self) -> Iterator[str]:
        cutter = CellCutter()
        for body in self._list_bodies():
            yield from cutter.add(body)
        yield from cutter.finish()

    def __len__(self) -> int:
        return self._count

    def __contains__(self, cell: object) -> bool:
        return any(each == cell for each in self)

    @cached_property
    def _count(self) -> int:
        return sum(1 for _ in self)

    def _list_bodies(self) -> Iterator[str]:
        pieces = (self._text[start : start + _PIECE] for start in range(0, len(self._text), _PIECE))
        return map(clean, _cut_runs(map(plain_form, _regroup(pieces))))


def clean(body: str) -> str:
    """Return a text without what no engine can keep."""
    if "\0" in body:
        body = body.replace("\0", " ")
    try:
        if not body.isascii():
            body.encode()
    except UnicodeEncodeError:
        body = body.encode("utf-8", "replace").decode()
    return body


def _regroup(pieces: Iterable[str]) -> Iterator[str]:
    """Yield a text in pieces none of which begins with what is composed with the one before."""
    held = ""
    for piece in pieces:
        held += piece
        if len(held) >= _PIECE:
            end = _find_cut(held)
            if end:
                yield held[:end]
                held = held[end:]
    if held:
        yield held


def _find_cut(text: str) -> int:
    found = text.rfind(" ", len(text) - _NEAR)
    if found > 0:
        return found
    near = range(len(text) - 1, len(text) - _NEAR, -1)
    return next((at for at in near if text[at].isascii() or not is_loose(text[at])), 0)


def _cut_runs(pieces: Iterable[str]) -> Iterator[str]:
    """Yield pieces in which no run of letters and digits is too long; none begins in the midst of one."""
    held = ""
    for piece in pieces:
        held += piece
        found = _LAST_BREAK.search(held, max(0, len(held) - _NEAR))
        if found is not None:
            yield cut_runs(held[: found.end()])
            held = held[found.end() :]
        elif len(held) >= _PIECE:
            start = _find_run(held)
            begun, following = split_run(held[start:])
            if following is None:
                begun, following = "", begun
            yield cut_runs(held[:start] + begun)
            if begun:
                yield " "
            held = following
    yield cut_runs(held)


def _find_run(text: str) -> int:
    """Return where the run begins that a text ends with."""
    end = len(text)
    while end > 0:
        start = max(0, end - _NEAR)
        found = _LAST_BREAK.search(text[start:end])
        if found is not None:
            return start + found.end()
        end = start
    return 0

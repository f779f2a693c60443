"""Very long texts as an index takes them: in pieces, so that memory holds one of them and never the text.

What comes out is exactly what `index_form` and `cut_cells` give of the whole text, wherever it was cut into
pieces: each character changes by itself, a run of letters that is too long is cut by how far it goes, and where
a cell ends is decided by what stands close to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from turnlog.store.search.cells import CellCutter
from turnlog.store.search.indexing import cut_runs, plain_form, split_run
from turnlog.store.search.normal import is_loose

__all__ = ["LONG", "LongText", "clean", "cut_text"]

LONG = 1 << 20
"""From how many characters on a text is taken in pieces."""
_PIECE = 1 << 18
_NEAR = 4096
_LAST_BREAK = re.compile(r"[\W_](?=[^\W_]*\Z)")


class LongText:
    """The cells of a text that comes in pieces; the digest is known when they were all taken."""

    def __init__(self, pieces: Iterable[str], digest_size: int) -> None:
        self._pieces = pieces
        self._digest = blake2b(digest_size=digest_size)
        self.length = 0
        """Of the text as it is indexed, in characters."""

    @property
    def digest(self) -> bytes:
        """Of the text as it is indexed."""
        return self._digest.digest()

    def __iter__(self) -> Iterator[str]:
        cutter = CellCutter()
        for piece in _cut_runs(map(plain_form, _regroup(self._pieces))):
            body = clean(piece)
            self.length += len(body)
            self._digest.update(body.encode())
            yield from cutter.add(body)
        yield from cutter.finish()


def cut_text(text: str) -> Iterator[str]:
    """Yield a text in pieces of any size."""
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


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

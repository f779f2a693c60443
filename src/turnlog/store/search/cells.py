"""Texts cut into cells, so that a small index can tell which words stand close to each other.

An index that knows the place of every word is as large as a third of the archive. One that only knows which
words are in which cell of some hundred characters takes half of that, and proposes nearly as few passages for
a phrase: all of its words must be in one cell. Cells overlap, so that whatever is no longer than `OVERLAP` is
whole in one of them; of a longer needle a part is looked for. White space counts as one character here,
however much of it there is.

Characters of scripts without spaces are words of their own in an index, and so common that they tell little.
So each two that stand side by side are a word in their place, and one that no other follows is one by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from turnlog.store.search.characters import SPACELESS, is_spaceless, list_foreign

__all__ = ["OVERLAP", "CellCutter", "cut_cells", "pair_characters"]

OVERLAP = 100
"""How long a needle may be, in characters, to be whole in a cell."""
_RUN = re.compile(rf"(?<!\S)[{SPACELESS}](?: [{SPACELESS}](?!\S))+")
_BLANKS = re.compile(r"\s+")
_HUGE = 1 << 20
"""From how many characters on a text is not taken apart into all of its words at once."""
_SIZE = 800
_LEAST = 300
"""How far a cell goes at least, for the sake of ending between words."""


def cut_cells(body: str) -> list[str]:
    """Return a text, as `index_form` gives it, in cells; a short one is one cell."""
    body = " ".join(body.split()) if len(body) < _HUGE else _BLANKS.sub(" ", body).strip()
    cells = list(_cut(body))
    if body.isascii() or not any(map(is_spaceless, list_foreign(body))):
        return cells
    return list(map(pair_characters, cells))


def pair_characters(body: str) -> str:
    """Return a text, its words one space apart, with pairs of characters in the place of single ones."""
    return _RUN.sub(_pair, body)


def _pair(run: re.Match[str]) -> str:
    characters = run[0][::2]
    # With the last one by itself, each character begins a word.
    return " ".join((*map("".join, pairwise(characters)), characters[-1]))


class CellCutter:
    """Cuts a text that comes in pieces of any size: into the cells that `cut_cells` gives of the whole."""

    def __init__(self) -> None:
        self._held = ""
        self._has_blank = False
        """Whether white space is to come before the next word."""

    def add(self, piece: str) -> list[str]:
        """Take the next piece, and return the cells that are whole now."""
        words = piece.split()
        if not words:
            self._has_blank = self._has_blank or piece != ""
            return []
        blank = " " if self._held and (self._has_blank or piece[0].isspace()) else ""
        self._held = f"{self._held}{blank}{' '.join(words)}"
        self._has_blank = piece[-1].isspace()
        *cells, rest = _cut(self._held)
        # The last is not known to be whole, and the one before it tells where it begins.
        self._held = rest
        return list(map(_pair_all, cells))

    def finish(self) -> list[str]:
        """Return the rest."""
        return list(map(_pair_all, _cut(self._held)))


def _pair_all(cell: str) -> str:
    return cell if cell.isascii() else pair_characters(cell)


def _cut(body: str) -> Iterator[str]:
    start, end = 0, _SIZE
    while end < len(body):
        found = body.rfind(" ", start + _LEAST, end)
        end = end if found < 0 else found
        yield body[start:end]
        # The next one begins at a word, and far enough before the end of this one.
        found = body.rfind(" ", start + 1, end - OVERLAP + 1)
        start = end - OVERLAP if found < 0 else found + 1
        end = start + _SIZE
    yield body[start:]

"""One term of a query, found in normalised text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.store.search.characters import is_word
from turnlog.store.search.language import Term
from turnlog.store.search.normal import Span, normalise

__all__ = ["Needle"]

_SPACES = re.compile(r"\s+")
_LETTER = "[0-9A-Za-z]"
"""Most of what makes words. To compile a pattern of all of it takes longer than to look a few up."""


class Needle:
    """A term in a normal form."""

    def __init__(self, term: Term, *, case: bool = False, accents: bool = False) -> None:
        normal = normalise(term.needle, case=case, accents=accents)
        self._pieces = normal.split()
        self._begins = term.form.begins_word and is_word(normal[:1])
        self._ends = term.form.ends_word and is_word(normal[-1:])
        self._search = re.compile(self._build_pattern(normal)).search
        self._is_plain = self._pieces == [normal] and not self._begins and not self._ends

    def is_in(self, text: str) -> bool:
        """Tell whether it is somewhere in a text of the same normal form."""
        for piece in self._pieces:  # most texts lack one, and this is much faster than a pattern
            if piece not in text:
                return False
        return self._is_plain or next(self.find_spans(text), None) is not None

    def find_spans(self, text: str) -> Iterator[Span]:
        """Yield where it is, one behind the other."""
        at = 0
        while (found := self._search(text, at)) is not None:
            start, end = found.span()
            is_free = self._is_free(text, start, end)
            if is_free:
                yield start, end
            at = end if is_free else start + 1

    def _build_pattern(self, normal: str) -> str:
        """Return a pattern that begins with the text itself, since that is what is searched for fast.

        One white space at either end is enough, and keeps the time in proportion to the length.
        """
        first, *rest = (re.escape(piece) for piece in _SPACES.split(normal))
        if self._begins:
            first += f"(?<!{_LETTER}{first})"
        pattern = r"\s+".join((first, *rest)) if rest else first
        pattern = re.sub(r"^\\s\+|\\s\+$", r"\\s", pattern)
        return pattern + f"(?!{_LETTER})" if self._ends else pattern

    def _is_free(self, text: str, start: int, end: int) -> bool:
        if self._begins and start and is_word(text[start - 1]):
            return False
        return not (self._ends and end < len(text) and is_word(text[end]))

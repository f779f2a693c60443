"""The normal form of text, in which it is compared: lower case, without accents, canonically composed.

- Canonically equal texts are equal here: `é` is one character or two, `각` a syllable or three jamo.
- Accents go: marks on words of combining class 10 to 35 (points of Hebrew and Arabic) and from 200 on (what
  stands above, below or through a letter), and variation selectors. Marks that make another letter stay: the
  voicing of kana, vowels and tones of Thai and Devanagari, the stroke through `≠`.
- Letters become lower-case by simple case folding, one for one: a final sigma is a sigma, a long s an s; `ß`
  stays (it is not `ss`), and so does an i without a dot. `İ` is `i` where accents go, and two characters where
  they stay.

Each character changes by itself, so `normalise(a + b) == normalise(a) + normalise(b)`, unless `b` begins with a
mark or a jamo that is composed with what stands before it. Lone surrogates stay as they are.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from turnlog.store.search.characters import CharacterMap, is_word, list_foreign

__all__ = ["Normaliser", "Span", "is_loose", "normalise", "restore_spans"]

Span = tuple[int, int]
"""From where to where, in characters."""

_UTF8, _SURROGATES = "utf-8", "surrogatepass"


def normalise(text: str, *, case: bool = False, accents: bool = False) -> str:
    """Return the normal form; `case` and `accents` keep what they name."""
    if text.isascii():
        return text if case else text.lower()
    return _FORMS[case, accents].apply(text)


def restore_spans(text: str, spans: Sequence[Span], *, case: bool = False, accents: bool = False) -> list[Span]:
    """Return where spans of a text's normal form stand in the text itself; they grow to whole characters."""
    if text.isascii() or not spans:
        return list(spans)
    return _FORMS[case, accents].restore(text, spans)


class _Stretch(NamedTuple):
    """A part of a text."""

    length: int
    normal: int
    """How long its form is."""
    is_plain: bool
    """Whether each character is one there, too."""


class Normaliser:
    """One of the normal forms; `then` may change each of its characters once more."""

    def __init__(
        self, *, case: bool = False, accents: bool = False, then: Callable[[str], str] | None = None
    ) -> None:
        self._case = case
        self._accents = accents
        self._then = None if then is None else CharacterMap(then)
        self._normal = CharacterMap(self._change)
        self._both = self._normal if then is None else CharacterMap(self._change_both)

    def apply(self, text: str) -> str:
        """Return the form of a text that is not ASCII alone."""
        foreign = list_foreign(text)
        if not _SETTLED.issuperset(foreign) and any(map(is_loose, foreign)):
            return self._compose(text)
        return self._both.apply(self._lower(text), foreign)

    def restore(self, text: str, spans: Sequence[Span]) -> list[Span]:
        """Return where spans of the form stand in the text."""
        foreign = list_foreign(text)
        changes = self._both.list_changes(foreign)
        odd = {each for each in foreign if is_loose(each)} | {each for each, new in changes if len(new) != 1}
        if not odd:
            return list(spans)
        stretches = list(self._measure(text, odd))
        ends = list(accumulate(stretch.normal for stretch in stretches))
        starts = list(accumulate((stretch.length for stretch in stretches), initial=0))

        def restore(place: int, *, is_end: bool) -> int:
            index = min(bisect_right(ends, place - is_end), len(stretches) - 1)
            into = place - (ends[index] - stretches[index].normal)
            if not stretches[index].is_plain:
                into = stretches[index].length if is_end else 0
            return starts[index] + into

        return [(restore(start, is_end=False), restore(end, is_end=True)) for start, end in spans]

    def _measure(self, text: str, odd: set[str]) -> Iterator[_Stretch]:
        """Yield how long stretches of a text are, and of its form: most are of characters that stay one."""
        done = 0
        for found in re.finditer(f"(?s).?[{''.join(odd)}]+", text):
            plain = found.start() - done
            yield _Stretch(plain, plain, True)
            for unit in _split(found[0]):
                yield _Stretch(len(unit), len(self.apply(unit)), False)
            done = found.end()
        yield _Stretch(len(text) - done, len(text) - done, True)

    def _compose(self, text: str) -> str:
        text = unicodedata.normalize("NFC", text)
        text = self._normal.apply(self._lower(text), list_foreign(text))
        text = unicodedata.normalize("NFC", text)  # without accents between them, what is left may meet
        return text if self._then is None else self._then.apply(text, list_foreign(text))

    def _lower(self, text: str) -> str:
        """Return a text with ASCII in lower case: bytes know no other, and are fast."""
        if self._case:
            return text
        return text.encode(_UTF8, _SURROGATES).lower().decode(_UTF8, _SURROGATES)

    def _change(self, character: str) -> str:
        if not self._accents:
            character = _strip(character)
        return character if self._case else "".join(map(_lower, character))

    def _change_both(self, character: str) -> str:
        new = self._change(character)
        return new if self._then is None else new.translate(self._then)


def _split(text: str) -> Iterator[str]:
    """Yield characters with what may be composed with them."""
    start = 0
    for index in range(1, len(text)):
        if not is_loose(text[index]):
            yield text[start:index]
            start = index
    if text:
        yield text[start:]


_SETTLED: set[str] = set()
"""Characters that are known to be composed, and with nothing before them."""


def is_loose(character: str) -> bool:
    """Tell whether a character is not in composed form, or may be composed with what stands before it."""
    if character in _SETTLED:
        return False
    is_jamo = "\u1161" <= character <= "\u11c2"
    is_mark = unicodedata.category(character)[0] == "M"
    if is_jamo or is_mark or unicodedata.normalize("NFC", character) != character:
        return True
    _SETTLED.add(character)
    return False


def _strip(character: str) -> str:
    parts = unicodedata.normalize("NFD", character)
    kept = "".join(part for part in parts if not _is_accent(part))
    return character if kept == parts else unicodedata.normalize("NFC", kept)


def _is_accent(character: str) -> bool:
    if "\ufe00" <= character <= "\ufe0f":  # variation selectors: another look of the same
        return True
    place = unicodedata.combining(character)
    return (10 <= place <= 35 or place >= 200) and is_word(character)


def _lower(character: str) -> str:
    folded = character.casefold() if character.isalnum() else ""
    return folded if len(folded) == 1 else character.lower()


_FORMS = {
    (case, accents): Normaliser(case=case, accents=accents)
    for case in (False, True)
    for accents in (False, True)
}

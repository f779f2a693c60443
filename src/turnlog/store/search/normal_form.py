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
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

SPACELESS = (
    "\u0e00-\u109f"  # Thai, Lao, Tibetan, Burmese
    "\u1100-\u11ff\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f"  # jamo, Khmer, Tai, Balinese
    "\u2e80-\u2fdf\u3000-\ua4cf"  # Chinese, kana, bopomofo, Yi
    "\ua960-\ua9ff\uaa00-\uaadf\uac00-\ud7ff\uf900-\ufaff\uff65-\uffdc"  # Javanese, Cham, Hangul, compatibility
    "\U0001aff0-\U0001b2ff\U00020000-\U0003ffff"
)
"""Characters of scripts that are written without spaces, or are treated so, as a set of a pattern."""
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3"
    "\u07fd\u0816-\u0819\u081b-\u0823\u0825-\u0827\u0829-\u082d\u0859-\u085b\u0897-\u089f\u08ca-\u08e1"
    "\u08e3-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962-\u0963\u0981-\u0983\u09bc\u09be-\u09cd\u09d7"
    "\u09e2-\u09e3\u09fe-\u0a03\u0a3c-\u0a51\u0a70-\u0a71\u0a75\u0a81-\u0a83\u0abc\u0abe-\u0acd\u0ae2-\u0ae3"
    "\u0afa-\u0b03\u0b3c\u0b3e-\u0b57\u0b62-\u0b63\u0b82\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04\u0c3c\u0c3e-\u0c56"
    "\u0c62-\u0c63\u0c81-\u0c83\u0cbc\u0cbe-\u0cd6\u0ce2-\u0ce3\u0cf3\u0d00-\u0d03\u0d3b-\u0d3c\u0d3e-\u0d4d"
    "\u0d57\u0d62-\u0d63\u0d81-\u0d83\u0dca-\u0ddf\u0df2-\u0df3\u135d-\u135f\u1712-\u1715\u1732-\u1734"
    "\u1752-\u1753\u1772-\u1773\u180b-\u180d\u180f\u1885-\u1886\u18a9\u1920-\u193b\u1a17-\u1a1b\u1ab0-\u1aff"
    "\u1b80-\u1b82\u1ba1-\u1bad\u1be6-\u1bf3\u1c24-\u1c37\u1cd0-\u1cd2\u1cd4-\u1ce8\u1ced\u1cf4\u1cf7-\u1cf9"
    "\u1dc0-\u1dff\u20d0-\u20f0\u2cef-\u2cf1\u2d7f\u2de0-\u2dff\ua66f-\ua672\ua674-\ua67d\ua69e-\ua69f"
    "\ua6f0-\ua6f1\ua802\ua806\ua80b\ua823-\ua827\ua82c\ua880-\ua881\ua8b4-\ua8c5\ua8e0-\ua8f1\ua8ff"
    "\ua926-\ua92d\ua947-\ua953\uaaeb-\uaaef\uaaf5-\uaaf6\uabe3-\uabea\uabec-\uabed\ufb1e\ufe00-\ufe0f\ufe20-\ufe2f"
)
"""The marks of scripts that have words, of the first plane."""
_ASCII = bytes(range(128))
LOWER = bytes(range(256)).lower()
"""What becomes of bytes where letters of ASCII are lower-case."""
_FEW = 24
"""Up to so many characters are replaced one after another; each pass is much faster than one of `translate`."""
_UTF8, _SURROGATES = "utf-8", "surrogatepass"


class _Ranges:
    """Stretches of characters. To look one up takes less than to compile a pattern of as many."""

    def __init__(self, written: str) -> None:
        pairs = [(each[0], each[-1]) for each in re.findall(".-.|.", written)]
        self._starts = [start for start, _ in pairs]
        self._ends = [end for _, end in pairs]

    def __contains__(self, character: str) -> bool:
        index = bisect_right(self._starts, character) - 1
        return index >= 0 and character <= self._ends[index]


_spaceless, _marks = _Ranges(SPACELESS), _Ranges(_MARKS)


@lru_cache(maxsize=1 << 12)
def is_word(character: str) -> bool:
    """Tell whether a character belongs to a word."""
    if character.isascii():
        return character.isalnum()
    return character not in _spaceless and (character.isalnum() or character in _marks)


@lru_cache(maxsize=1 << 12)
def is_spaceless(character: str) -> bool:
    """Tell whether a character is of a script that is written without spaces, or is treated so."""
    return character in _spaceless


def split_foreign(text: str) -> tuple[bytes, set[str]]:
    """Return a text as bytes, and its characters that are not ASCII, each once."""
    if text.isascii():
        return text.encode(), set()
    data = text.encode(_UTF8, _SURROGATES)
    return data, set(data.translate(None, _ASCII).decode(_UTF8, _SURROGATES))


class CharacterMap(dict[int, str | int]):
    """What becomes of characters that are not ASCII: asked once for each, and then known."""

    def __init__(self, change: Callable[[str], str]) -> None:
        super().__init__((code, code) for code in range(128))
        self._change = change
        self._unchanged: set[str] = set()

    def __missing__(self, code: int) -> str | int:
        character = chr(code)
        new = self._change(character)
        if new == character:
            self._unchanged.add(character)
        found = self[code] = code if new == character else new
        return found

    def list_changes(self, characters: set[str]) -> list[tuple[str, str]]:
        """Return those of some characters that change, with what they become."""
        found = ((each, self[ord(each)]) for each in characters - self._unchanged)
        return [(each, new) for each, new in found if isinstance(new, str)]

    def apply(self, data: bytes, foreign: set[str]) -> bytes:
        """Return a text with each character changed; `foreign` are those of it that are not ASCII."""
        changes = self.list_changes(foreign)
        if len(changes) > _FEW:
            return data.decode(_UTF8, _SURROGATES).translate(self).encode(_UTF8, _SURROGATES)
        for each, new in changes:
            data = data.replace(each.encode(_UTF8, _SURROGATES), new.encode(_UTF8, _SURROGATES))
        return data


Span = tuple[int, int]
"""From where to where, in characters."""


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
    """One of the normal forms; `then` may change each of its characters once more.

    `plain` says what becomes of ASCII, byte for byte, unless the case is kept.
    """

    def __init__(
        self,
        *,
        case: bool = False,
        accents: bool = False,
        then: Callable[[str], str] | None = None,
        plain: bytes = LOWER,
    ) -> None:
        self._case = case
        self._plain = None if case else plain
        self._accents = accents
        self._then = None if then is None else CharacterMap(then)
        self._normal = CharacterMap(self._change)
        self._both = self._normal if then is None else CharacterMap(self._change_both)

    def apply(self, text: str) -> str:
        """Return the form of a text."""
        return self.apply_to(*split_foreign(text)).decode(_UTF8, _SURROGATES)

    def apply_to(self, data: bytes, foreign: set[str]) -> bytes:
        """Return the form of a text that `split_foreign` gave, as bytes: they are faster to change."""
        if not _SETTLED.issuperset(foreign) and any(map(is_loose, foreign)):
            return self._compose(data.decode(_UTF8, _SURROGATES))
        data = data if self._plain is None else data.translate(self._plain)
        return self._both.apply(data, foreign) if foreign else data

    def restore(self, text: str, spans: Sequence[Span]) -> list[Span]:
        """Return where spans of the form stand in the text."""
        _, foreign = split_foreign(text)
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

    def _compose(self, text: str) -> bytes:
        data, foreign = split_foreign(unicodedata.normalize("NFC", text))
        data = self._normal.apply(data if self._plain is None else data.translate(self._plain), foreign)
        # Without accents between them, what is left may meet.
        text = unicodedata.normalize("NFC", data.decode(_UTF8, _SURROGATES))
        data, foreign = split_foreign(text)
        return data if self._then is None else self._then.apply(data, foreign)

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

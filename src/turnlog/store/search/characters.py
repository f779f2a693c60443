r"""Which characters make words, and a fast way to change some characters of a text.

A word is a run of letters and digits, with the marks on them. Scripts that are written without
spaces (and Korean, whose particles hang on words) have no words here: each of their characters stands for
itself, and ends the word of another script beside it. The tables are written out and not asked of
`unicodedata`, so that an index that one version of Python made is right for the next.

Most text is not ASCII because of arrows, lines and quotes alone. Looking at each character would be slow; what
is left when ASCII is deleted from the bytes is short, and tells which others there are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache

__all__ = ["SPACELESS", "CharacterMap", "is_spaceless", "is_word", "list_foreign"]

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


def is_spaceless(character: str) -> bool:
    """Tell whether a character is of a script that is written without spaces, or is treated so."""
    return character in _spaceless


def list_foreign(text: str) -> set[str]:
    """Return the characters of a text that are not ASCII, each once."""
    rest = text.encode(_UTF8, _SURROGATES).translate(None, _ASCII)
    return set(rest.decode(_UTF8, _SURROGATES))


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

    def apply(self, text: str, foreign: set[str]) -> str:
        """Return a text with each character changed; `foreign` are those of it that are not ASCII."""
        changes = self.list_changes(foreign)
        if len(changes) > _FEW:
            return text.translate(self)
        for each, new in changes:
            text = text.replace(each, new)
        return text

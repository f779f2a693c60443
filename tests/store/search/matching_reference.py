"""What a hit is, slowly and obviously: character by character, without patterns."""

from __future__ import annotations

import unicodedata

from turnlog.store.search.language import And, Filter, Form, Node, Not, Or, Query, Term
from turnlog.store.search.matcher import TextAttributes


def compares(text: str, case: bool, accents: bool) -> str:
    """Return the normal form of a text."""
    kept = ""
    for character in unicodedata.normalize("NFC", text):
        if not accents:
            character = without_accents(character)
        kept += character if case else "".join(small(each) for each in character)
    return unicodedata.normalize("NFC", kept)


def without_accents(character: str) -> str:
    parts = unicodedata.normalize("NFD", character)
    left = [part for part in parts if not is_accent(part)]
    return unicodedata.normalize("NFC", "".join(left)) if len(left) < len(parts) else character


def is_accent(character: str) -> bool:
    place = unicodedata.combining(character)
    if 0xFE00 <= ord(character) <= 0xFE0F:
        return True
    return (10 <= place <= 35 or place >= 200) and makes_word(character)


def small(character: str) -> str:
    folded = character.casefold()
    return folded if character.isalnum() and len(folded) == 1 else character.lower()


SPACELESS = [
    (0x0E00, 0x109F),  # Thai, Lao, Tibetan, Myanmar
    (0x1100, 0x11FF),  # Hangul Jamo
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19FF),  # Tai Le, New Tai Lue, Khmer Symbols
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x1B00, 0x1B7F),  # Balinese
    (0x2E80, 0x2FDF),  # radicals
    (0x3000, 0xA4CF),  # kana, ideographs, Yi
    (0xA960, 0xA9FF),  # Hangul Jamo Extended-A, Javanese, Myanmar Extended-B
    (0xAA00, 0xAADF),  # Cham, Myanmar Extended-A, Tai Viet
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),  # compatibility ideographs
    (0xFF65, 0xFFDC),  # halfwidth kana and jamo
    (0x1AFF0, 0x1B2FF),  # kana, Nushu
    (0x20000, 0x3FFFF),  # ideographs
]


def is_spaceless(character: str) -> bool:
    return any(start <= ord(character) <= end for start, end in SPACELESS)


def makes_word(character: str) -> bool:
    if is_spaceless(character):
        return False
    is_mark = unicodedata.category(character).startswith("M") and ord(character) < 0x10000
    return character.isalnum() or is_mark


def list_places(term: Term, text: str, case: bool, accents: bool) -> list[tuple[int, int]]:
    """Return every place of a term in a normalised text, those that overlap too."""
    needle = compares(term.needle, case, accents)
    found = []
    for start in range(len(text)):
        for end in ends_of(needle, text, start):
            if is_free(term.form, needle, text, start, end):
                found.append((start, end))
    return found


def ends_of(needle: str, text: str, start: int) -> list[int]:
    """Return where the needle may end that begins here: white space in it is as long as it likes."""
    ends = {start}
    at = 0
    while at < len(needle):
        if not needle[at].isspace():
            ends = {end + 1 for end in ends if text[end : end + 1] == needle[at]}
            at += 1
            continue
        while at < len(needle) and needle[at].isspace():
            at += 1
        longer: set[int] = set()
        for end in ends:
            while text[end : end + 1].isspace():
                end += 1
                longer.add(end)
        ends = longer
    return sorted(ends)


def is_free(form: Form, needle: str, text: str, start: int, end: int) -> bool:
    begins = form in (Form.WORD, Form.PREFIX, Form.PHRASE)
    closes = form in (Form.WORD, Form.SUFFIX, Form.PHRASE)
    if begins and makes_word(needle[0]) and start > 0 and makes_word(text[start - 1]):
        return False
    return not (closes and makes_word(needle[-1]) and end < len(text) and makes_word(text[end]))


def is_hit(query: Query, text: str, attributes: TextAttributes) -> bool:
    """Tell whether a passage is a hit."""
    normal = compares(text, query.case, query.accents)

    def holds(node: Node) -> bool:
        if isinstance(node, Term):
            return bool(list_places(node, normal, query.case, query.accents))
        if isinstance(node, Filter):
            return any(is_so(node.name, value, attributes) for value in node.values)
        if isinstance(node, Not):
            return not holds(node.part)
        if isinstance(node, And):
            return all(holds(part) for part in node.parts)
        assert isinstance(node, Or)
        return any(holds(part) for part in node.parts)

    return holds(query.root)


def is_so(name: str, value: str, attributes: TextAttributes) -> bool:
    """Tell whether one value of a filter is true of attributes in which all is known."""
    value = compares(value, False, False)
    if name == "is":
        return bool(attributes.is_error if value == "error" else attributes.is_sidechain)
    if name == "machine":
        assert isinstance(attributes.machine, tuple)
        origin, *hosts = (compares(each, False, False) for each in attributes.machine)
        return origin[: len(value)] == value or any(is_like(host, value) for host in hosts)
    if name in ("session", "agent"):
        names = attributes.session_ids if name == "session" else attributes.agents
        assert isinstance(names, tuple)
        return any(compares(each, False, False)[: len(value)] == value for each in names)
    found = getattr(attributes, name)
    if found is None:
        return False
    found = compares(found, False, False)
    if name in ("project", "branch", "file"):
        return any(found[start:].startswith(value) for start in range(len(found) + 1))
    return is_like(found, value)


def is_like(text: str, pattern: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(is_like(text[start:], pattern[1:]) for start in range(len(text) + 1))
    return text[:1] == pattern[0] and is_like(text[1:], pattern[1:])

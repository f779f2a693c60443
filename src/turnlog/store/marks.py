"""What people say about sessions themselves: names, tags, stars, notes, and what they put away.

Marks are kept apart from what was read: deriving a session again does not touch them, and forgetting it takes
them along. A store keeps every change with what it led to; the newest counts, and the last can be taken back.

Their text comes from anywhere and ends up on terminals and pages, so it is bounded, and has no characters that
act or hide instead of showing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from msgspec import UNSET, Struct, UnsetType

from turnlog.errors import MarkError

LONGEST_NAME = 200
LONGEST_NOTE = 10_000
LONGEST_TAG = 64
MOST_TAGS = 100
"""Of one session."""

_JOINERS = "\u200c\u200d"
"""Which hide, but several scripts and emoji need them."""
_REFUSED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters: control, format, halves of characters, separators of lines and paragraphs."""


class Marks(Struct, frozen=True, gc=False, kw_only=True):
    """What is said about a session."""

    name: str | None = None
    tags: tuple[str, ...] = ()
    """In their order, each once."""
    starred: bool = False
    note: str | None = None
    archived: bool = False
    """Put away: lists leave it out unless it is asked for."""


class MarkChange(Struct, frozen=True, gc=False, kw_only=True):
    """What to change of a session's marks; what is not given stays, an empty name or note takes it away.

    Making one raises `MarkError` for text that may not be kept.
    """

    name: str | None | UnsetType = UNSET
    note: str | None | UnsetType = UNSET
    starred: bool | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    tags: tuple[str, ...] = ()
    """To add."""
    untags: tuple[str, ...] = ()
    """To take away, after that."""

    def __post_init__(self) -> None:
        """Look at the texts."""
        if isinstance(self.name, str):
            _check("name", self.name, LONGEST_NAME)
        if isinstance(self.note, str):
            _check("note", self.note, LONGEST_NOTE, allowed="\n\t")
        for tag in (*self.tags, *self.untags):
            _check_tag(tag)

    def apply(self, marks: Marks) -> Marks:
        """Return the marks as they are behind this; raises `MarkError` for too many tags."""
        gone = {_normalise(tag) for tag in self.untags}
        tags = sorted({*marks.tags, *map(_normalise, self.tags)} - gone)
        if len(tags) > MOST_TAGS:
            raise MarkError(f"Expected at most {MOST_TAGS} tags, got {len(tags)}")
        return Marks(
            name=marks.name if self.name is UNSET else _normalise(self.name or "") or None,
            tags=tuple(tags),
            starred=marks.starred if self.starred is UNSET else self.starred,
            note=marks.note if self.note is UNSET else _normalise(self.note or "") or None,
            archived=marks.archived if self.archived is UNSET else self.archived,
        )


class MarkedSession(Struct, frozen=True, gc=False, kw_only=True):
    """A session whose marks were changed."""

    key: str
    before: Marks
    after: Marks


def take_back(before: Marks, after: Marks, now: Marks) -> Marks:
    """Return marks without what one change made of them; what others changed since then stays."""
    added, removed = {*after.tags} - {*before.tags}, {*before.tags} - {*after.tags}
    return Marks(
        name=before.name if now.name == after.name else now.name,
        tags=tuple(sorted(({*now.tags} - added) | removed)),
        starred=before.starred if now.starred == after.starred else now.starred,
        note=before.note if now.note == after.note else now.note,
        archived=before.archived if now.archived == after.archived else now.archived,
    )


def _normalise(text: str) -> str:
    # The same letters have several spellings in Unicode; a tag that looks the same is the same.
    return unicodedata.normalize("NFC", text).strip()


def _check(what: str, text: str, longest: int, allowed: str = "") -> None:
    if len(text) > longest:
        raise MarkError(f"Expected a {what} of at most {longest:,} characters, got {len(text):,}")
    found = next(_list_refused(text, allowed), None)
    if found is not None:
        raise MarkError(f"Expected a {what} without control characters, got U+{ord(found):04X}")


def _list_refused(text: str, allowed: str) -> Iterator[str]:
    return (
        each
        for each in text
        if each not in allowed and each not in _JOINERS and unicodedata.category(each) in _REFUSED
    )


def _check_tag(tag: str) -> None:
    _check("tag", tag, LONGEST_TAG)
    if not tag.strip():
        raise MarkError("Expected a tag, got only spaces")
    if "," in tag or any(each.isspace() for each in tag.strip()):
        raise MarkError(f"Expected a tag without spaces and commas, got {tag!r}")

"""Lists of sessions and projects, and what people say about sessions themselves: values, no SQL.

A list comes in pages. A page ends with a cursor, which names the last session and what it was ordered by, so
that sessions which come in meanwhile neither shift what follows nor repeat it. All comparing of text is
whatever its case: a part of a title or a path is enough.

A list may be *grouped*: of sessions of one series and one person (`SessionRow.series`), if there are at least
`FEWEST_ALIKE` among those that are listed, it has only the first in its order, and says how many there are.
Both are found out anew for each page, which is always a part of the list as it is by then.

Marks (names, tags, stars, notes, and what was put away) are kept apart from what was read: deriving a session
again does not touch them, and forgetting it takes them along. A store keeps every change with what it led to;
the newest counts, and the last can be taken back. Their text comes from anywhere and ends up on terminals and
pages, so it is bounded, and has no characters that act or hide instead of showing.
"""

from __future__ import annotations

import re
import unicodedata
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, DecodeError, Meta, Struct, UnsetType, json

from turnlog.errors import CursorError, MarkError
from turnlog.store.model import SessionRow, Visibility

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


def undo_change(before: Marks, after: Marks, now: Marks) -> Marks:
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


_FAMILY_AND_NUMBER = re.compile(r"([a-z]+)-(\d+(?:-\d{1,2})?)$")


FEWEST_ALIKE = 3
"""How many sessions of one series are a group."""


class SessionOrder(StrEnum):
    """How sessions are listed; those that lack what they are ordered by come last, among equals keys decide."""

    NEWEST = "newest"
    """By the last thing that happened in it."""
    OLDEST = "oldest"
    TITLE = "title"
    """From A on; a name of one's own counts as title."""
    COST = "cost"
    """The dearest first."""
    DURATION = "duration"
    """The longest first, from the first to the last thing that happened."""
    MESSAGES = "messages"
    """The most first."""
    TOKENS = "tokens"
    """The most first, those in and out together."""


class ProjectOrder(StrEnum):
    """How projects are listed."""

    NEWEST = "newest"
    NAME = "name"
    SESSIONS = "sessions"
    COST = "cost"
    TOKENS = "tokens"


class SessionFilter(Struct, frozen=True, gc=False, kw_only=True):
    """Which sessions are listed: those that all of it is true for. None says nothing."""

    project: str | None = None
    """The very path."""
    under: str | None = None
    """A path that the project is at, or below."""
    project_text: str | None = None
    """A part of the project's path."""
    session: str | None = None
    """The beginning of the session's id, or of its key."""
    name: str | None = None
    """The beginning of one's own name for it."""
    text: str | None = None
    """A part of the title, or of one's own name for it."""
    model: str | None = None
    """A part of the name of one of its models, in any of the forms of `list_model_forms`."""
    branch: str | None = None
    """A part of the name of one of its git branches."""
    tags: tuple[str, ...] = ()
    """It has all of them."""
    persons: tuple[str, ...] = ()
    """It is one of theirs; an empty name stands for nobody."""
    machines: tuple[str, ...] = ()
    """It comes from one of them."""
    visibility: Visibility | None = None
    starred: bool | None = None
    archived: bool | None = False
    """Those that were put away: not at all, only those, or (None) as well."""
    only_here: bool | None = None
    """Whether none of its files is still outside."""
    since: int | None = None
    """Something happened in it at this time or later: microseconds since 1970."""
    until: int | None = None
    """Something happened in it before this time."""
    errors: bool | None = None
    """Whether calls or requests failed."""
    problems: bool | None = None
    """Whether something in its data is wrong or unknown."""
    series: str | None = None
    """It is of this series."""
    heads: tuple[str, ...] = ()
    """Its transcript begins with a message of one of these uuids (`SessionRow.head`)."""


EVERYTHING_SHOWN = SessionFilter()
"""All sessions but those that were put away."""


class StoredSession(Struct, frozen=True, gc=False, kw_only=True):
    """A session in the lists."""

    key: str
    revision: int
    project_folder: str
    path: str
    """Where its transcript was last seen."""
    present: bool
    """Whether its transcript still exists outside."""
    row: SessionRow
    only_here: bool = False
    """Whether none of its files still exists outside."""
    marks: Marks = Marks()
    copied_from: str | None = None
    """The key of the session that its transcript began as a copy of."""
    origin: str = ""
    """The machine that it comes from."""
    person: str | None = None
    """Whose it is, as far as anybody said."""
    visibility: Visibility = Visibility.PRIVATE
    alike: int = 1
    """In a grouped list, how many sessions it stands for, itself included."""


class SessionPage(Struct, frozen=True, gc=False):
    """A part of a list of sessions."""

    sessions: tuple[StoredSession, ...]
    next: str | None
    """The cursor with which the next page begins; None if this is the last."""
    total: int
    """How many sessions the whole list has."""
    rows: int
    """How many it shows: a group is one."""


class StoredProject(Struct, frozen=True, gc=False, kw_only=True):
    """A project in the lists: all of its sessions together, those that were put away as well."""

    path: str | None
    """None for sessions that do not say."""
    sessions: int
    only_here: int
    """Sessions of which no file is still outside."""
    archived: int
    first_time: int | None
    last_time: int | None
    prompts: int
    answers: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None
    """Of all sessions that have a price, in dollars; None if none has."""
    unpriced: int
    """Sessions that the cost leaves out."""


class Facets(Struct, frozen=True, gc=False, kw_only=True):
    """What sessions can be told apart by: each value with the number of sessions that have it.

    The most frequent come first; among equals, by their names.
    """

    models: tuple[tuple[str, int], ...]
    branches: tuple[tuple[str, int], ...]
    tags: tuple[tuple[str, int], ...]
    persons: tuple[tuple[str, int], ...] = ()
    """An empty name stands for nobody."""
    machines: tuple[tuple[str, int], ...] = ()


def list_model_forms(text: str) -> tuple[str, ...]:
    """Return the texts of which a model's id has one, in lower case, for a part of its name as people write it.

    People and the page say `Opus 4.7` and `Sonnet 3.5`; the ids are `claude-opus-4-7` and
    `claude-3-5-sonnet-20241022`.
    """
    as_given = text.strip().casefold()
    spaced = re.sub(r"\s+", "-", as_given)
    dashed = re.sub(r"[\s.]+", "-", as_given)
    return tuple(dict.fromkeys((as_given, spaced, dashed, _FAMILY_AND_NUMBER.sub(r"\2-\1", dashed))))


def count_facets(lists: Iterable[tuple[Iterable[str], int]]) -> tuple[tuple[str, int], ...]:
    """Return how many sessions have each value, given lists of values and how many sessions have that list."""
    counts: Counter[str] = Counter()
    for values, sessions in lists:
        counts.update(dict.fromkeys(values, sessions))
    return tuple(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def sort_projects(projects: Iterable[StoredProject], order: ProjectOrder) -> list[StoredProject]:
    """Return projects in their order; among equals, by their paths."""
    by_name = sorted(projects, key=_name_rank)
    return by_name if order is ProjectOrder.NAME else sorted(by_name, key=_RANKS[order], reverse=True)


def _name_rank(project: StoredProject) -> tuple[bool, str, str]:
    path = project.path or ""
    return project.path is None, path.casefold(), path


_RANKS: dict[ProjectOrder, Callable[[StoredProject], tuple[bool, int | Decimal]]] = {
    ProjectOrder.NEWEST: lambda each: (each.last_time is not None, each.last_time or 0),
    ProjectOrder.SESSIONS: lambda each: (True, each.sessions),
    ProjectOrder.COST: lambda each: (each.cost is not None, each.cost or Decimal(0)),
    ProjectOrder.TOKENS: lambda each: (True, each.input_tokens + each.output_tokens),
}


class Cursor(Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """Behind which session a page begins."""

    order: SessionOrder
    value: Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)] | float | str | None
    """What it was ordered by."""
    key: str


def encode_cursor(cursor: Cursor) -> str:
    """Return a cursor as text without meaning for others."""
    return urlsafe_b64encode(json.encode(cursor)).decode().rstrip("=")


def decode_cursor(text: str, order: SessionOrder) -> Cursor:
    """Return what `encode_cursor` was given; raises `CursorError` for anything else, or for another order."""
    try:
        data = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        cursor = json.decode(data, type=Cursor)
    except (Error, DecodeError, UnicodeError) as error:
        raise CursorError(f"Expected a cursor from a list, got {text[:40]!r}") from error
    if cursor.order is not order:
        raise CursorError(f"Expected a cursor from a list by {order}, got one by {cursor.order}")
    return cursor

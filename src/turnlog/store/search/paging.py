"""From texts that an engine proposes to a page of hits: the same for every engine.

An engine gives candidates in the order in which hits are to come, and may give too many. Here each is read,
held against the query, and shown as a snippet, until the page is full.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from turnlog.errors import ArchiveError, CursorError, SearchCancelledError
from turnlog.store.model import Place
from turnlog.store.search.matcher import LineFilter, Matcher, Snippet, TextAttributes, build_snippet
from turnlog.transcripts.hooks import HookDelivery

if TYPE_CHECKING:
    from turnlog.transcripts.lines.passages import Passage, PlainLine

TextKey = tuple[int, int, int]
"""By which texts are ordered: their time, then two numbers of the engine's own that never change."""


Counts = tuple[int, ...]
"""In how many cells of a text each term of a query may be."""


class Proposal(Struct, frozen=True, gc=False):
    """A text that may match, as an index knows it."""

    key: TextKey
    """By which it is ordered."""
    generation: int
    """The engine's number of its file as it was read; `HOOKS` for hook deliveries."""
    number: int
    """Of its line; of a hook delivery, its own."""
    ordinal: int
    """Which passage of the line it is."""
    block: int
    """Of which block of the line."""
    kind: int
    """Of `KINDS`."""
    is_error: bool
    time: int
    """Microseconds since 1970; 0 if it has none."""
    cells: int
    """How many it has."""
    counts: Counts = ()
    """In how many of its cells each term may be; where texts are not ranked, an engine may leave it out."""
    offset: int = 0
    """Where its line begins in its file."""
    length: int = 0
    """How long its line is; 0 if the index does not know where it is."""


class SearchOrder(StrEnum):
    """In which order hits come."""

    NEWEST = "newest"
    RELEVANCE = "relevance"
    """The best of the newest few thousand first."""


class Hit(Struct, frozen=True, gc=False, kw_only=True):
    """A passage that matches."""

    kind: str
    """A `PassageKind`."""
    session: str | None
    """The session's key; None for a hook delivery of a session that is not known."""
    session_id: str
    project: str | None
    title: str | None
    source: str | None
    """The file it is in; None for a hook delivery."""
    place: Place | None
    """Where its line is."""
    line: int | None
    """Which line of its file it is in, from 0."""
    ordinal: int
    """Which passage of the line it is."""
    message: int | None = None
    """The index of its message, among those of its file; None if the line belongs to none."""
    message_id: str | None = None
    call: int | None = None
    """The index of the call whose input or output it is, among those of its file."""
    tool: str | None = None
    role: str | None = None
    model: str | None = None
    agent_id: str | None = None
    delivery_id: str | None = None
    """Of a hook delivery."""
    is_error: bool = False
    time: int | None = None
    """Microseconds since 1970: of its line, else of the last line before it that has one."""
    snippet: Snippet


class SearchPage(Struct, frozen=True, gc=False, kw_only=True):
    """Some hits, and where to go on."""

    hits: tuple[Hit, ...]
    next: str | None = None
    """The cursor of the next page; None if this is the last."""
    unreadable: int = 0
    """How many texts that may be hits could not be read from the archive, which is damaged."""
    backlog: int = 0
    """How many changes an index elsewhere has yet to learn of: what is new may be missing."""


class Cursor(Struct, frozen=True, gc=False):
    """Where a page ended."""

    key: TextKey
    """Of the last hit; by relevance, of the newest text that counts."""
    count: int | None = None
    """By relevance, how many texts were looked at."""


_NEWEST, _RELEVANCE = "n", "r"


def encode_cursor(cursor: Cursor) -> str:
    """Return a cursor as text."""
    numbers = cursor.key if cursor.count is None else (*cursor.key, cursor.count)
    return ".".join((_NEWEST if cursor.count is None else _RELEVANCE, *map(str, numbers)))


def decode_cursor(text: str | None, order: SearchOrder) -> Cursor | None:
    """Return what `encode_cursor` was given; raises `CursorError` for any other text, and for another order."""
    if text is None:
        return None
    kind, *numbers = text.split(".")
    expected = (_NEWEST, 3) if order is SearchOrder.NEWEST else (_RELEVANCE, 4)
    try:
        time, first, second, *count = map(_decode_number, numbers)
    except ValueError:
        kind, count = "", []
    if (kind, len(numbers)) != expected:
        raise CursorError(f"Expected a cursor of a search by {order}, got {text!r}")
    return Cursor((time, first, second), count[0] if count else None)


def _decode_number(text: str) -> int:
    if len(text) > 20 or not text.removeprefix("-").isdecimal() or not text.isascii():
        raise ValueError(text)
    return int(text)


_KEPT = 64


class LineTexts:
    """What is searched of a line."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._plain: PlainLine | None = _load("turnlog.transcripts.lines.passages").read_plainly(raw)

    @property
    def branch(self) -> str | None:
        """The branch of git, as the line says."""
        return self._read[0] if self._plain is None else self._plain.git_branch

    @property
    def passages(self) -> list[Passage]:
        """All of it."""
        return self._read[1]

    def find(self, kind: str, block: int, ordinal: int) -> str | None:
        """Return the text of a passage; None if there are fewer, since the rules have changed meanwhile."""
        found = None if self._plain is None else self._plain.find_text(kind, block)
        if found is None and ordinal < len(self.passages):
            found = self.passages[ordinal].text
        return found

    @cached_property
    def _read(self) -> tuple[str | None, list[Passage]]:
        line = _load("turnlog.messages").decode(self._raw)
        branch = getattr(line.entry, "git_branch", None)
        passages = _load("turnlog.transcripts.lines.passage_readers").list_passages(line)
        return branch if isinstance(branch, str) else None, passages


class TextReader:
    """Reads lines of one owner."""

    def __init__(self, read: Callable[[int, int, int], bytes]) -> None:
        """Begin with nothing read; `read` is a `ReadBytes`."""
        self._read = read
        self._kept: OrderedDict[tuple[int, int], LineTexts] = OrderedDict()

    def read(self, text: Proposal, wanted: Callable[[bytes], bool]) -> LineTexts | None:
        """Return what is searched of the line of a text; None if its bytes are not `wanted`.

        Raises what `Archive.read` does.
        """
        at = text.generation, text.offset
        found = self._kept.get(at)
        if found is None:
            raw = self._read(*at, text.length)
            if not wanted(raw):
                return None
            found = self._kept[at] = LineTexts(raw)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found


def read_delivery(delivery: HookDelivery) -> list[Passage]:
    """Return what is searched of a hook's payload."""
    found: list[Passage] = _load("turnlog.transcripts.lines.passages").list_hook_passages(delivery)
    return found


_load = cache(import_module)  # with the first hit: lists, which are in the same store, have none
Cancelled = Callable[[], bool]
"""Tells whether nobody waits for the answer any more."""
NO_SNIPPET = Snippet("", ())


class Candidate(Struct, frozen=True):
    """A text that may match."""

    text: Proposal
    """With where its line is, if it is in a file."""
    kind: str
    attributes: TextAttributes
    """As far as it is known without much ado."""
    complete: Callable[[], tuple[Hit, TextAttributes] | None]
    """Looks up where it stands; None if it is not there any more."""
    delivery: HookDelivery | None = None
    """The hook delivery that it is of."""


def stop_if(cancelled: Cancelled | None) -> None:
    """Raise `SearchCancelledError` if nobody waits any more."""
    if cancelled is not None and cancelled():
        raise SearchCancelledError


def collect_page(
    candidates: Iterable[Candidate],
    matcher: Matcher,
    reader: TextReader,
    *,
    limit: int,
    cancelled: Cancelled | None = None,
    base: Cursor | None = None,
) -> SearchPage:
    """Return the first hits among some candidates.

    With `base`, candidates are not in the order of their keys, and it is counted how many were looked at.
    """
    verifier = _Verifier(matcher, reader)
    hits: list[Hit] = []
    last, seen = None, 0 if base is None or base.count is None else base.count
    more = False
    for candidate in candidates:
        if len(hits) >= limit:
            more = True
            break
        stop_if(cancelled)
        seen += 1
        hit = verifier.find(candidate)
        if hit is not None:
            hits.append(hit)
        last = candidate.text.key
    following = None
    if more and last is not None:
        following = encode_cursor(Cursor(last) if base is None else Cursor(base.key, seen))
    return SearchPage(hits=tuple(hits), next=following, unreadable=verifier.unreadable)


class _Verifier:
    """Holds texts against a query."""

    def __init__(self, matcher: Matcher, reader: TextReader) -> None:
        self._matcher = matcher
        self._sieve = LineFilter(matcher.query)
        self._reader = reader
        self.unreadable = 0

    def find(self, candidate: Candidate) -> Hit | None:
        """Return the hit that a candidate is; None if it is none."""
        try:
            text, branch = self._read(candidate)
        except (ArchiveError, KeyError):
            self.unreadable += 1
            return None
        if text is None:
            return None
        normal = self._matcher.normalise(text)
        if not self._matcher.may_match(normal, replace(candidate.attributes, branch=branch)):
            return None
        completed = candidate.complete()
        if completed is None:
            return None
        hit, attributes = completed
        if not self._matcher.matches_normal(normal, replace(attributes, branch=branch)):
            return None
        return replace(hit, snippet=build_snippet(text, self._matcher.find_spans(text)))

    def _read(self, candidate: Candidate) -> tuple[str | None, str | None]:
        """Return a text and its branch of git; no text for what cannot be a hit."""
        kind, text = candidate.kind, candidate.text
        if candidate.delivery is not None:
            told = read_delivery(candidate.delivery)
            return told[text.ordinal].text if text.ordinal < len(told) else None, None
        texts = self._reader.read(text, lambda raw: self._sieve.lets_through(raw, kind))
        return (None, None) if texts is None else (texts.find(kind, text.block, text.ordinal), texts.branch)

"""From texts that an engine proposes to a page of hits: the same for every engine.

An engine gives candidates in the order in which hits are to come, and may give too many. Here each is read,
held against the query, and shown as a snippet, until the page is full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from turnlog.errors import ArchiveError, SearchCancelledError
from turnlog.store.identity import Place
from turnlog.store.search.hits import Cursor, Hit, SearchPage, TextKey, encode_cursor
from turnlog.store.search.matcher import Matcher
from turnlog.store.search.reading import LineTexts, TextReader, read_delivery
from turnlog.store.search.settings import Setting
from turnlog.store.search.sieve import Sieve
from turnlog.store.search.snippets import Snippet, build_snippet
from turnlog.transcripts.hooks.deliveries import HookDelivery

__all__ = ["NO_SNIPPET", "Candidate", "Cancelled", "collect_page", "stop_if"]

Cancelled = Callable[[], bool]
"""Tells whether nobody waits for the answer any more."""
NO_SNIPPET = Snippet("", ())


class Candidate(Struct, frozen=True):
    """A text that may match."""

    key: TextKey
    kind: str
    ordinal: int
    setting: Setting
    """As far as it is known without much ado."""
    complete: Callable[[Candidate], tuple[Hit, Setting] | None]
    """Looks up where it stands; None if it is not there any more."""
    place: Place | None = None
    """Where its line is."""
    length: int = 0
    """Of its line, in bytes."""
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
        last = candidate.key
    following = None
    if more and last is not None:
        following = encode_cursor(Cursor(last) if base is None else Cursor(base.key, seen))
    return SearchPage(hits=tuple(hits), next=following, unreadable=verifier.unreadable)


class _Verifier:
    """Holds texts against a query."""

    def __init__(self, matcher: Matcher, reader: TextReader) -> None:
        self._matcher = matcher
        self._sieve = Sieve(matcher.query)
        self._reader = reader
        self.unreadable = 0

    def find(self, candidate: Candidate) -> Hit | None:
        """Return the hit that a candidate is; None if it is none."""
        try:
            texts = self._read(candidate)
        except (ArchiveError, KeyError):
            self.unreadable += 1
            return None
        # There may be fewer, if the rules have changed since it was indexed.
        if texts is None or candidate.ordinal >= len(texts.passages):
            return None
        text = texts.passages[candidate.ordinal].text
        normal = self._matcher.normalise(text)
        if not self._matcher.may_match(normal, replace(candidate.setting, branch=texts.branch)):
            return None
        completed = candidate.complete(candidate)
        if completed is None:
            return None
        hit, setting = completed
        if not self._matcher.matches_normal(normal, replace(setting, branch=texts.branch)):
            return None
        return replace(hit, snippet=build_snippet(text, self._matcher.find_spans(text)))

    def _read(self, candidate: Candidate) -> LineTexts | None:
        if candidate.delivery is not None:
            return LineTexts(read_delivery(candidate.delivery))
        if candidate.place is None:
            raise KeyError(candidate.key)
        kind = candidate.kind
        return self._reader.read(
            candidate.place, candidate.length, lambda raw: self._sieve.lets_through(raw, kind)
        )

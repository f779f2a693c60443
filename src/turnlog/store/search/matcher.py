"""Whether a passage is a hit, and where in it.

This alone decides, whichever engine proposed the passage. A needle and a text are compared in the normal form
that the query asks for; filters are held against the passage's `Setting`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from turnlog.store.search.filters import build_test
from turnlog.store.search.language import And, Filter, Node, Not, Query, Term, list_terms
from turnlog.store.search.needles import Needle
from turnlog.store.search.normal import Span, normalise, restore_spans
from turnlog.store.search.settings import Setting

__all__ = ["Matcher"]

_Decision = Callable[[str | None, Setting], bool | None]
"""Of a normalised text, or of no text yet, in a setting: yes, no, or None for undecided."""

_MOST = 1000
"""How many places of each term are told; nobody looks at more."""
_NO_SETTING = Setting()


class Matcher:
    """A query that is ready to be held against passages."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self._decide = self._build(query.root)
        self._wanted = [self._build_needle(term) for term in list_terms(query.root, positive_only=True)]

    def normalise(self, text: str) -> str:
        """Return a text as this query compares it."""
        return normalise(text, case=self.query.case, accents=self.query.accents)

    def matches(self, text: str, setting: Setting = _NO_SETTING) -> bool:
        """Tell whether a passage is a hit; one that its setting leaves undecided is none."""
        return self.matches_normal(self.normalise(text), setting)

    def matches_normal(self, normal: str, setting: Setting = _NO_SETTING) -> bool:
        """Tell whether a passage is a hit whose text is `normalise`d already."""
        return self._decide(normal, setting) is True

    def matches_setting(self, setting: Setting) -> bool | None:
        """Tell whether all passages in a setting are hits, or none is; None if that depends on more."""
        return self._decide(None, setting)

    def may_match(self, normal: str, setting: Setting) -> bool:
        """Tell whether a passage, `normalise`d already, may be a hit once more is known of its setting."""
        return self._decide(normal, setting) is not False

    def find_spans(self, text: str) -> list[Span]:
        """Return where in a text the terms are that it should have: in order, and as one where they overlap."""
        normal = self.normalise(text)
        found = sorted(span for needle in self._wanted for span in islice(needle.find_spans(normal), _MOST))
        return restore_spans(text, _merge(found), case=self.query.case, accents=self.query.accents)

    def _build_needle(self, term: Term) -> Needle:
        return Needle(term, case=self.query.case, accents=self.query.accents)

    def _build(self, node: Node) -> _Decision:
        if isinstance(node, Term):
            needle = self._build_needle(node)
            return lambda text, setting: None if text is None else needle.is_in(text)
        if isinstance(node, Filter):
            test = build_test(node)
            return lambda text, setting: test(setting)
        if isinstance(node, Not):
            decide = self._build(node.part)
            return lambda text, setting: None if (said := decide(text, setting)) is None else not said
        # Filters first: they are cheap, and may settle it without the text.
        parts = sorted(node.parts, key=lambda part: not isinstance(part, Filter))
        return _join([self._build(part) for part in parts], settles=not isinstance(node, And))


def _join(decisions: list[_Decision], *, settles: bool) -> _Decision:
    """Return what is settled as soon as one part says so: by True for any of them, by False for all."""

    def decide(text: str | None, setting: Setting) -> bool | None:
        outcome: bool | None = not settles
        for each in decisions:
            said = each(text, setting)
            if said is settles:
                return settles
            if said is None:
                outcome = None
        return outcome

    return decide


def _merge(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged

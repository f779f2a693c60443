"""Texts by relevance: BM25, with cells in the place of words."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Protocol, TypeVar

from turnlog.store.search.asking import Counts

__all__ = ["RANKED", "Ranked", "rank"]

RANKED = 3000
"""How many of the newest texts are ranked."""
_ENOUGH, _LENGTH = 1.2, 0.75
"""The usual constants of BM25: how soon more of the same counts less, and how much longer texts do."""


class Ranked(Protocol):
    """A text that is proposed."""

    @property
    def counts(self) -> Counts:
        """In how many of its cells each term may be."""

    @property
    def cells(self) -> int:
        """How many it has."""


_Item = TypeVar("_Item", bound=Ranked)


def rank(proposals: Sequence[_Item], texts: int) -> list[_Item]:
    """Return texts by relevance, among equals as they are: `texts` is how many there were to choose from."""
    if not proposals:
        return []
    length = sum(proposal.cells for proposal in proposals) / len(proposals)
    having = [sum(map(bool, column)) for column in zip(*(each.counts for each in proposals), strict=True)]
    weights = [log(1 + (texts - count + 0.5) / (count + 0.5)) for count in having]

    def score(proposal: _Item) -> float:
        relative = _ENOUGH * (1 - _LENGTH + _LENGTH * proposal.cells / length)
        return sum(
            weight * count * (_ENOUGH + 1) / (count + relative)
            for weight, count in zip(weights, proposal.counts, strict=True)
        )

    return sorted(proposals, key=score, reverse=True)

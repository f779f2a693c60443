"""Things that follow others of their kind, known by position: which order that makes, and its circles."""

from __future__ import annotations

from collections.abc import Sequence


def list_in_order(parents: Sequence[int | None]) -> list[int]:
    """Return all positions, each behind the one that it follows; from first to last as far as that goes."""
    order: list[int] = []
    done = bytearray(len(parents))
    for start in range(len(parents)):
        trail: list[int] = []
        at: int | None = start
        while at is not None and not done[at]:
            done[at] = True
            trail.append(at)
            at = parents[at]
        order += reversed(trail)
    return order


def cut_circles(parents: list[int | None]) -> list[int]:
    """Take the parent away from the first member of each circle, and return those members."""
    cut: list[int] = []
    seen = [0] * len(parents)
    for start in range(len(parents)):
        at: int | None = start
        while at is not None and not seen[at]:
            seen[at] = start + 1
            at = parents[at]
        if at is not None and seen[at] == start + 1:
            first, here = at, parents[at]
            while here is not None and here != at:
                first, here = min(first, here), parents[here]
            parents[first] = None
            cut.append(first)
    return cut


def is_forward(index: int, parent: int | None) -> bool:
    """Tell whether a parent stands further down."""
    return parent is not None and parent >= index

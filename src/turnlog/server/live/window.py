"""What was told lately, each thing once.

All clients read from one window, each from its own place. An event takes the place of an earlier one about the
same thing, and moves to the end: a client that comes late, or reads slowly, gets what is true now and not all
that led to it. So what one client can have before it is bounded by the number of things, however much happens;
and since an event never moves before another one, whoever goes on from any place misses nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

MOST = 4096
"""How many things are remembered."""


class Window:
    """Events in the order in which they were told last."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._told: OrderedDict[Hashable, tuple[int, bytes]] = OrderedDict()
        self._forgotten = 0
        """The place of the newest event that is no longer here."""
        self.at = 0
        """The place of the newest."""

    def put(self, about: Hashable, data: bytes) -> None:
        """Tell something; an earlier event about the same is no longer told."""
        self.at += 1
        self._told[about] = (self.at, data)
        self._told.move_to_end(about)
        if len(self._told) > self._most:
            _, (place, _) = self._told.popitem(last=False)
            self._forgotten = place

    def read(self, after: int) -> list[bytes] | None:
        """Return what was told behind a place, in order; None if some of it is no longer known."""
        if after < self._forgotten:
            return None
        found: list[bytes] = []
        for place, data in reversed(self._told.values()):
            if place <= after:
                break
            found.append(data)
        found.reverse()
        return found

"""Ids of events: which feed, and how far in it. A client that was cut off says the last one that it got."""

from __future__ import annotations

import re

from msgspec import Struct

_is_id = re.compile("([0-9a-z-]{1,64}):([0-9]{1,18})").fullmatch


class EventId(Struct, frozen=True, gc=False):
    """A place in a feed."""

    epoch: str
    seq: int

    def __str__(self) -> str:
        return f"{self.epoch}:{self.seq}"


def parse_event_id(text: str | None) -> EventId | None:
    """Return what a client says that it has; None if it says nothing, or nothing that was ever an id."""
    found = None if text is None else _is_id(text.strip())
    return None if found is None else EventId(found[1], int(found[2]))

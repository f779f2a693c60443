"""Events as they go over the wire: `text/event-stream`, each with its data in one line of JSON."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from turnlog.server.live.event_ids import EventId

HEARTBEAT = b": \n\n"
"""A comment: it keeps connections open, and tells whether anybody is still there."""


def encode_event(name: str, data: Struct, id: EventId | None = None) -> bytes:
    """Return an event; one without an id leaves the client's place in the feed as it is."""
    head = "" if id is None else f"id: {id}\n"
    return f"{head}event: {name}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n"

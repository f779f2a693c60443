"""All routes: a new module of them has a `HANDLERS`, and a line here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnlog.server.routes import (
    calls,
    contents,
    conversations,
    health,
    lists,
    messages,
    metrics,
    opening,
    search,
    sidechains,
    status,
    usage,
)

__all__ = ["HANDLERS"]

HANDLERS: Sequence[Any] = (
    *health.HANDLERS,
    *opening.HANDLERS,
    *metrics.HANDLERS,
    *status.HANDLERS,
    *lists.HANDLERS,
    *messages.HANDLERS,
    *conversations.HANDLERS,
    *sidechains.HANDLERS,
    *calls.HANDLERS,
    *contents.HANDLERS,
    *search.HANDLERS,
    *usage.HANDLERS,
)

"""All routes: a new module of them has a `HANDLERS`, and a line here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnlog.server.routes import (
    actions,
    archive,
    board,
    calls,
    captures,
    contents,
    conversations,
    exporting,
    health,
    hooks,
    ingest,
    lists,
    live,
    messages,
    metrics,
    notifications,
    opening,
    search,
    sidechains,
    status,
    timeline,
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
    *timeline.HANDLERS,
    *actions.HANDLERS,
    *conversations.HANDLERS,
    *sidechains.HANDLERS,
    *calls.HANDLERS,
    *contents.HANDLERS,
    *captures.HANDLERS,
    *search.HANDLERS,
    *usage.HANDLERS,
    *archive.HANDLERS,
    *exporting.HANDLERS,
    *live.HANDLERS,
    *hooks.HANDLERS,
    *ingest.HANDLERS,
    *board.HANDLERS,
    *notifications.HANDLERS,
)

"""The part of the store that lists sessions, and shows conversations and what happened in them."""

from __future__ import annotations

from turnlog.store.postgres.actions import Actions
from turnlog.store.postgres.line_windows import LineWindows
from turnlog.store.postgres.lists import Lists
from turnlog.store.postgres.marks import Marking
from turnlog.store.postgres.outlines import Outlines
from turnlog.store.postgres.timelines import Timelines
from turnlog.store.postgres.windows import Windows

__all__ = ["Browsing"]


class Browsing(Lists, Marking, Windows, Outlines, LineWindows, Timelines, Actions):
    """What `PostgresStore` tells of sessions, and of parts of them."""

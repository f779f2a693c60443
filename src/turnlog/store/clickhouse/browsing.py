"""The part of the store that shows conversations and what happened in them."""

from __future__ import annotations

from turnlog.store.clickhouse.actions import Actions
from turnlog.store.clickhouse.line_windows import LineWindows
from turnlog.store.clickhouse.outlines import Outlines
from turnlog.store.clickhouse.row_lists import RowLists
from turnlog.store.clickhouse.timelines import Timelines
from turnlog.store.clickhouse.windows import Windows

__all__ = ["Browsing"]


class Browsing(RowLists, Windows, Outlines, LineWindows, Timelines, Actions):
    """What `ClickHouseStore` tells of parts of sessions."""

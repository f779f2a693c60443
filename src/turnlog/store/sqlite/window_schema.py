"""What windows of a conversation are found by."""

from __future__ import annotations

__all__ = ["WINDOW_INDEXES"]

WINDOW_INDEXES = """
CREATE INDEX lines_by_start ON lines (generation, start);
CREATE INDEX messages_by_id ON messages (session, id);
CREATE INDEX calls_by_message ON calls (session, source, message);
"""

"""What windows of a conversation are found by."""

from __future__ import annotations

__all__ = ["PARENT_INDEX", "WINDOW_INDEXES"]

WINDOW_INDEXES = """
CREATE INDEX lines_by_start ON lines (generation, start);
CREATE INDEX messages_by_id ON messages (session, id);
CREATE INDEX calls_by_message ON calls (session, source, message);
"""
PARENT_INDEX = """
DROP INDEX lines_by_parent;
CREATE INDEX lines_by_parent ON lines (substr(parent, -6)) WHERE parent IS NOT NULL;
"""
"""A few bytes of a uuid tell it from nearly all others; whoever asks compares the whole, too."""

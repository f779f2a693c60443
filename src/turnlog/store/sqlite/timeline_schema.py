"""What the timeline and the action log are made from: the order of messages, calls and events, by which what
hooks tell is put between them. A sync fills it.

Times that are not known count as the beginning of time. Ids of calls are found by their ends.
"""

from __future__ import annotations

__all__ = ["TIMELINE_COLUMNS"]

TIMELINE_COLUMNS = """
ALTER TABLE messages ADD COLUMN reached INTEGER;
ALTER TABLE calls ADD COLUMN line INTEGER NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN reached INTEGER;
ALTER TABLE placements ADD COLUMN category INTEGER;    -- a word, as are name, state and hook
ALTER TABLE placements ADD COLUMN name INTEGER;
ALTER TABLE placements ADD COLUMN state INTEGER;
ALTER TABLE placements ADD COLUMN duration_ms INTEGER;
ALTER TABLE placements ADD COLUMN hook INTEGER;
ALTER TABLE placements ADD COLUMN tool_use_id;         -- text, or bytes that are no text
ALTER TABLE placements ADD COLUMN time INTEGER;
ALTER TABLE placements ADD COLUMN reached INTEGER;
CREATE INDEX messages_by_reached ON messages (session, source, ifnull(reached, 0));
CREATE INDEX messages_by_turn ON messages (session, source, turn) WHERE turn IS NOT NULL;
CREATE INDEX calls_by_id ON calls (session, substr(id, -8)) WHERE id IS NOT NULL;
CREATE INDEX calls_in_order ON calls (
    session, ifnull(reached, 0), source, line, block, category, state, name, started, ended, id
);
CREATE INDEX events_in_order ON placements (
    session, ifnull(reached, 0), source, idx, category, state, name, duration_ms, hook
) WHERE category IS NOT NULL;
CREATE INDEX hook_lines_by_call ON placements (session, tool_use_id, hook) WHERE hook IS NOT NULL;
CREATE INDEX hook_lines_by_time ON placements (session, hook, time) WHERE hook IS NOT NULL;
DROP INDEX hook_deliveries_by_session;
CREATE INDEX hook_deliveries_by_session ON hook_deliveries (
    session_id, received_ns, delivery_id, event_name, notification_type, owner
);
"""

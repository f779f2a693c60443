"""What lists of sessions need: columns to filter and order by, one index that has them all, and what is gone.

The rows of lists are wide, as they hold whole summaries; the index is narrow, so that a list of all sessions is
looked through without reading them.
"""

from __future__ import annotations

__all__ = ["LISTED_COLUMNS", "LIST_TABLES", "SERIES_COLUMN"]

LIST_TABLES = """
ALTER TABLE summaries ADD COLUMN messages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE summaries ADD COLUMN errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE summaries ADD COLUMN models TEXT NOT NULL DEFAULT '[]';      -- a JSON list, as branches
ALTER TABLE summaries ADD COLUMN branches TEXT NOT NULL DEFAULT '[]';
DROP INDEX summaries_by_time;
DROP INDEX summaries_by_project;
DROP INDEX summaries_by_title;
CREATE INDEX summaries_listed ON summaries (
    owner, last_time, session, first_time, session_id, title_key, project, models, branches, messages, prompts,
    answers, errors, problems, input_tokens, output_tokens, cost
);
CREATE TABLE absent_sessions (         -- those of which no file is outside any more; operational
    session  INTEGER PRIMARY KEY
);
INSERT INTO absent_sessions
SELECT e.id FROM sessions AS e WHERE NOT EXISTS (
    SELECT 1 FROM sources AS s
    JOIN source_paths AS p ON p.id = (SELECT max(id) FROM source_paths WHERE source = s.id)
    WHERE s.session = e.id AND p.present
);
"""

SERIES_COLUMN = """
ALTER TABLE summaries ADD COLUMN series TEXT;
DROP INDEX summaries_listed;
CREATE INDEX summaries_listed ON summaries (
    owner, last_time, session, first_time, session_id, title_key, project, models, branches, messages, prompts,
    answers, errors, problems, input_tokens, output_tokens, cost, series
);
"""

LISTED_COLUMNS = """
ALTER TABLE summaries ADD COLUMN first_prompt TEXT;
ALTER TABLE summaries ADD COLUMN forked_from TEXT;
ALTER TABLE summaries ADD COLUMN is_floor INTEGER NOT NULL DEFAULT 0;
ALTER TABLE summaries ADD COLUMN is_estimate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE summaries ADD COLUMN head_uuid TEXT;
ALTER TABLE summaries ADD COLUMN head_type TEXT;
ALTER TABLE summaries ADD COLUMN head_time INTEGER;
ALTER TABLE summaries ADD COLUMN head_told TEXT;
CREATE INDEX summaries_by_head ON summaries (head_uuid) WHERE head_uuid IS NOT NULL;
"""

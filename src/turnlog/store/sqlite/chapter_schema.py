"""The tables of derived rows, grouped by chapter: what is appended to one file leaves the others' rows alone.

Rows are known by session, source and index; those of the whole session have the source 0. What was there
before is dropped, but for the rows of the lists: it follows from the archive, and the next sync derives it.
"""

from __future__ import annotations

__all__ = ["CHAPTER_TABLES"]

_DROP = """
DROP TABLE messages;
DROP TABLE calls;
DROP TABLE turns;
DROP TABLE agents;
DROP TABLE sightings;
"""

_SESSIONS = """
ALTER TABLE sessions ADD COLUMN derivation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE summaries ADD COLUMN source INTEGER NOT NULL DEFAULT 0;
ALTER TABLE digests RENAME TO former_digests;
CREATE TABLE digests (                 -- of derived rows, in stretches: what differs is written anew
    session  INTEGER NOT NULL,
    source   INTEGER NOT NULL,
    kind     INTEGER NOT NULL,
    chunk    INTEGER NOT NULL,
    rows     INTEGER NOT NULL,         -- how many there are
    whole    BLOB NOT NULL,            -- of all rows of the stretch together
    digests  BLOB,                     -- of each row; NULL where rows are no larger than a digest
    PRIMARY KEY (session, source, kind, chunk)
) WITHOUT ROWID;
INSERT INTO digests SELECT session, 0, kind, chunk, 1, whole, digests FROM former_digests WHERE kind = 0;
DROP TABLE former_digests;
"""

_ROWS = """
CREATE TABLE messages (
    session INTEGER NOT NULL, source INTEGER NOT NULL, idx INTEGER NOT NULL, revision INTEGER NOT NULL,
    id, generation INTEGER, start INTEGER, lines BLOB, own_lines INTEGER,
    rule INTEGER, role INTEGER, types INTEGER, author INTEGER, lane INTEGER, sidechain INTEGER,
    category INTEGER, agent INTEGER, parent INTEGER, branch INTEGER, active INTEGER, turn INTEGER,
    time INTEGER, model INTEGER, aborted INTEGER, calls INTEGER,
    PRIMARY KEY (session, source, idx)
) WITHOUT ROWID;
CREATE TABLE calls (                   -- at_source is NULL where it is the same as source
    session INTEGER NOT NULL, source INTEGER NOT NULL, idx INTEGER NOT NULL, revision INTEGER NOT NULL,
    id TEXT, name INTEGER, category INTEGER, state INTEGER, at_source, generation INTEGER, start INTEGER,
    block INTEGER, message INTEGER, result_source, result_generation INTEGER, result_start INTEGER,
    result_block INTEGER, agent INTEGER, path TEXT, changes_file INTEGER, started INTEGER, ended INTEGER,
    PRIMARY KEY (session, source, idx)
) WITHOUT ROWID;
CREATE INDEX calls_by_place ON calls (session, source, generation, start);
CREATE INDEX calls_by_result ON calls (session, result_source, result_generation, result_start)
    WHERE result_start IS NOT NULL;
CREATE TABLE placements (              -- idx is the number of a line, message where it went
    session INTEGER NOT NULL, source INTEGER NOT NULL, idx INTEGER NOT NULL, message INTEGER,
    PRIMARY KEY (session, source, idx)
) WITHOUT ROWID;
CREATE TABLE turns (
    session INTEGER NOT NULL, source INTEGER NOT NULL, idx INTEGER NOT NULL, revision INTEGER NOT NULL,
    prompt INTEGER, messages INTEGER, calls INTEGER, agents INTEGER, files_changed INTEGER,
    started INTEGER, ended INTEGER, duration_ms INTEGER, input_tokens INTEGER, output_tokens INTEGER,
    cost TEXT,
    PRIMARY KEY (session, source, idx)
) WITHOUT ROWID;
CREATE TABLE agents (
    session INTEGER NOT NULL, source INTEGER NOT NULL, idx INTEGER NOT NULL, revision INTEGER NOT NULL,
    id TEXT, state INTEGER, depth INTEGER, inline INTEGER, background INTEGER, file, parent_id TEXT,
    run_id TEXT, type INTEGER, description TEXT, call INTEGER, call_source, linked_by INTEGER,
    PRIMARY KEY (session, source, idx)
) WITHOUT ROWID;
CREATE TABLE sightings (
    session INTEGER NOT NULL, source INTEGER NOT NULL, idx INTEGER NOT NULL, revision INTEGER NOT NULL,
    message_id TEXT, session_id INTEGER, start INTEGER, time INTEGER, model INTEGER,
    input INTEGER, output INTEGER, cache_read INTEGER, cache_write_5m INTEGER, cache_write_1h INTEGER,
    web_searches INTEGER, ended INTEGER, service_tier INTEGER, speed INTEGER, inference_geo INTEGER,
    agent INTEGER, agent_id INTEGER, skill INTEGER, plugin INTEGER, mcp_server INTEGER, mcp_tool INTEGER,
    PRIMARY KEY (session, source, idx)
) WITHOUT ROWID;
"""

CHAPTER_TABLES = _DROP + _SESSIONS + _ROWS

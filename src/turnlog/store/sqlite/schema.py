"""The tables, as the first version made them.

Facts are inserted and stay. What is operational (how far a file was read, a session's revision) and what is
derived is replaced by deleting and inserting; no row is updated. (`chapter_schema` has replaced the tables of
derived rows.) Words that repeat are kept once in `words`,
and only columns refer to them, so that SQL can tell which are still needed. UUIDs are 16 bytes where they are
written as usual, else text as it stands. A `source` in a derived row is the number of a source of the same
session, or the name of any other.
"""

from __future__ import annotations

__all__ = ["BACKUP_TABLE", "FIRST_TABLES", "HOOK_CALLS", "HOOK_TABLES", "NEWEST_BYTES"]

_FILES = """
CREATE TABLE words (                   -- no number is given twice: readers keep what they learned
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    word  TEXT NOT NULL UNIQUE
);
CREATE TABLE sessions (
    id              INTEGER PRIMARY KEY,
    owner           TEXT NOT NULL,
    key             TEXT NOT NULL,
    origin          TEXT NOT NULL,
    session_id      NOT NULL,          -- as its file is called: text, or bytes that are no text
    project_folder  NOT NULL,          -- likewise
    revision        INTEGER NOT NULL,
    UNIQUE (owner, key)
);
CREATE INDEX sessions_by_id ON sessions (owner, session_id);
CREATE TABLE sources (                 -- likewise
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    owner        TEXT NOT NULL,
    source       TEXT NOT NULL,
    session      INTEGER NOT NULL,
    kind         TEXT NOT NULL,
    agent_id     TEXT,
    run_id       TEXT,
    copied_from  TEXT,
    UNIQUE (owner, source)
);
CREATE INDEX sources_by_session ON sources (session);
CREATE TABLE source_paths (            -- the last row of a source counts
    id       INTEGER PRIMARY KEY,
    source   INTEGER NOT NULL,
    path     NOT NULL,                 -- text, or bytes that are no text
    present  INTEGER NOT NULL,
    at_ns    INTEGER NOT NULL
);
CREATE INDEX source_paths_by_source ON source_paths (source);
CREATE TABLE generations (
    id          INTEGER PRIMARY KEY,
    source      INTEGER NOT NULL,
    generation  INTEGER NOT NULL,
    UNIQUE (source, generation)
);
CREATE TABLE checkpoints (             -- how far a generation was read; operational
    generation  INTEGER PRIMARY KEY,
    length      INTEGER NOT NULL,
    sealed      INTEGER NOT NULL,
    consumed    INTEGER NOT NULL,
    in_array    INTEGER NOT NULL,
    lines       INTEGER NOT NULL,
    checkpoint  BLOB
);
CREATE TABLE frames (                  -- sealed: they stay as they are
    id          INTEGER PRIMARY KEY,
    generation  INTEGER NOT NULL,
    start       INTEGER NOT NULL,
    length      INTEGER NOT NULL,
    digest      BLOB NOT NULL,
    data        BLOB NOT NULL
);
CREATE UNIQUE INDEX frames_by_place ON frames (generation, start);
CREATE TABLE tail_frames (             -- behind the sealed ones, until there are enough bytes for a full frame
    id          INTEGER PRIMARY KEY,
    generation  INTEGER NOT NULL,
    start       INTEGER NOT NULL,
    length      INTEGER NOT NULL,
    digest      BLOB NOT NULL,
    data        BLOB NOT NULL
);
CREATE UNIQUE INDEX tail_frames_by_place ON tail_frames (generation, start);
CREATE TABLE lines (
    generation  INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    start       INTEGER NOT NULL,
    length      INTEGER NOT NULL,
    dialect     INTEGER NOT NULL,      -- a word, as are type, session and agent
    type        INTEGER NOT NULL,
    uuid,
    parent,
    session     INTEGER,
    agent       INTEGER,
    message_id  TEXT,
    time        INTEGER,
    sidechain   INTEGER NOT NULL,
    problems    INTEGER NOT NULL,
    PRIMARY KEY (generation, number)
) WITHOUT ROWID;
CREATE INDEX lines_by_parent ON lines (parent) WHERE parent IS NOT NULL;
CREATE INDEX lines_by_type ON lines (type);
CREATE INDEX lines_by_sidechain ON lines (sidechain) WHERE sidechain = 1;
CREATE INDEX lines_by_session ON lines (session, time) WHERE session IS NOT NULL;
"""

_DERIVED = """
CREATE TABLE digests (                 -- of derived rows, in stretches: what differs is written anew
    session  INTEGER NOT NULL,
    kind     INTEGER NOT NULL,
    chunk    INTEGER NOT NULL,
    whole    BLOB NOT NULL,            -- of all rows of the stretch together
    digests  BLOB NOT NULL,            -- of each row
    PRIMARY KEY (session, kind, chunk)
) WITHOUT ROWID;
CREATE TABLE summaries (
    session INTEGER NOT NULL, idx INTEGER NOT NULL, revision INTEGER NOT NULL,
    owner TEXT NOT NULL, session_id TEXT, title TEXT, title_key TEXT, project, first_time INTEGER,
    last_time INTEGER, prompts INTEGER, answers INTEGER, calls INTEGER, agents INTEGER, lines INTEGER,
    problems INTEGER, input_tokens INTEGER, output_tokens INTEGER, cost TEXT, summary_length INTEGER,
    summary BLOB,
    PRIMARY KEY (session, idx)
);
CREATE INDEX summaries_by_time ON summaries (owner, last_time);
CREATE INDEX summaries_by_project ON summaries (owner, project, last_time);
CREATE INDEX summaries_by_title ON summaries (owner, title_key);
CREATE INDEX summaries_by_id ON summaries (owner, session_id);
CREATE TABLE messages (
    session INTEGER NOT NULL, idx INTEGER NOT NULL, revision INTEGER NOT NULL,
    id, source, number INTEGER, generation INTEGER, start INTEGER, lines BLOB, own_lines INTEGER,
    rule INTEGER, role INTEGER, types INTEGER, author INTEGER, lane INTEGER, sidechain INTEGER,
    category INTEGER, agent INTEGER, parent INTEGER, branch INTEGER, active INTEGER, turn INTEGER,
    time INTEGER, model INTEGER, aborted INTEGER, calls INTEGER,
    PRIMARY KEY (session, idx)
) WITHOUT ROWID;
CREATE TABLE calls (
    session INTEGER NOT NULL, idx INTEGER NOT NULL, revision INTEGER NOT NULL,
    id TEXT, name INTEGER, category INTEGER, state INTEGER, source, generation INTEGER, start INTEGER,
    block INTEGER, message INTEGER, result_source, result_generation INTEGER, result_start INTEGER,
    agent INTEGER, path TEXT, changes_file INTEGER, started INTEGER, ended INTEGER,
    PRIMARY KEY (session, idx)
) WITHOUT ROWID;
CREATE TABLE turns (
    session INTEGER NOT NULL, idx INTEGER NOT NULL, revision INTEGER NOT NULL,
    prompt INTEGER, messages INTEGER, calls INTEGER, agents INTEGER, files_changed INTEGER,
    started INTEGER, ended INTEGER, duration_ms INTEGER, input_tokens INTEGER, output_tokens INTEGER,
    cost TEXT,
    PRIMARY KEY (session, idx)
) WITHOUT ROWID;
CREATE TABLE agents (
    session INTEGER NOT NULL, idx INTEGER NOT NULL, revision INTEGER NOT NULL,
    id TEXT, state INTEGER, depth INTEGER, inline INTEGER, background INTEGER, source, parent_id TEXT,
    run_id TEXT, type INTEGER, description TEXT, call INTEGER, linked_by INTEGER,
    PRIMARY KEY (session, idx)
) WITHOUT ROWID;
CREATE TABLE sightings (
    session INTEGER NOT NULL, idx INTEGER NOT NULL, revision INTEGER NOT NULL,
    message_id TEXT, session_id INTEGER, source, start INTEGER, time INTEGER, model INTEGER,
    input INTEGER, output INTEGER, cache_read INTEGER, cache_write_5m INTEGER, cache_write_1h INTEGER,
    web_searches INTEGER, ended INTEGER, service_tier INTEGER, speed INTEGER, inference_geo INTEGER,
    agent INTEGER, agent_id INTEGER, skill INTEGER, plugin INTEGER, mcp_server INTEGER, mcp_tool INTEGER,
    PRIMARY KEY (session, idx)
) WITHOUT ROWID;
"""

_FEED = """
CREATE TABLE changes (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    owner     TEXT NOT NULL,
    kind      TEXT NOT NULL,
    session   TEXT NOT NULL,
    revision  INTEGER NOT NULL,
    at_ns     INTEGER NOT NULL
);
CREATE TABLE tombstones (              -- what was forgotten and must not come back
    owner    TEXT NOT NULL,
    session  TEXT NOT NULL,            -- its key
    kind     TEXT NOT NULL,            -- what is recognised by: session-key or session-id
    value    NOT NULL,                 -- text, or bytes that are no text
    at_ns    INTEGER NOT NULL,
    PRIMARY KEY (owner, kind, value, session)
) WITHOUT ROWID;
CREATE TABLE lease (                   -- who writes now
    name        TEXT PRIMARY KEY,
    holder      TEXT NOT NULL,
    expires_ns  INTEGER NOT NULL
) WITHOUT ROWID;
"""

NEWEST_BYTES = """
ALTER TABLE checkpoints ADD COLUMN tail_start INTEGER;
ALTER TABLE checkpoints ADD COLUMN tail_digest BLOB;
ALTER TABLE checkpoints ADD COLUMN tail BLOB;          -- the newest bytes, while they are few
"""
FIRST_TABLES = _FILES + _DERIVED + _FEED

HOOK_TABLES = """
CREATE TABLE hook_deliveries (
    id                 INTEGER PRIMARY KEY,
    owner              TEXT NOT NULL,
    delivery_id        TEXT NOT NULL UNIQUE,
    received_ns        INTEGER NOT NULL,
    session_id         TEXT NOT NULL,
    event_name         TEXT NOT NULL,
    notification_type  TEXT,
    tool_name          TEXT,
    label              TEXT,
    group_name         TEXT,
    context            TEXT,
    payload            BLOB NOT NULL    -- as it came
);
CREATE INDEX hook_deliveries_by_session ON hook_deliveries (session_id, received_ns);
CREATE VIEW hook_events AS              -- spec 002, section 4.1
SELECT
    id,
    session_id,
    received_ns / 1000000000 AS timestamp,
    event_name,
    tool_name,
    coalesce(label, event_name) AS label,
    coalesce(group_name, 'autonomous') AS group_name,
    context
FROM hook_deliveries
WHERE event_name <> 'SessionEnd' AND notification_type IS NOT 'auth_success';
"""

HOOK_CALLS = """
ALTER TABLE hook_deliveries ADD COLUMN tool_use_id TEXT;
ALTER TABLE hook_deliveries ADD COLUMN agent_id TEXT;
CREATE INDEX hook_deliveries_by_call ON hook_deliveries (session_id, tool_use_id)
WHERE tool_use_id IS NOT NULL;
"""

BACKUP_TABLE = """
CREATE TABLE backups (                 -- copies of this file that were made, there or not
    path   PRIMARY KEY NOT NULL,       -- text, or bytes that are no text
    at_ns  INTEGER NOT NULL
) WITHOUT ROWID;
"""

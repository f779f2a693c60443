"""The tables that the migrations make, and what later ones change of them.

Facts are inserted and stay. What is operational (how far a file was read, a session's revision) and what is
derived is replaced. Words that repeat are kept once in `words`, and only columns refer to them, so that SQL can
tell which are still needed. UUIDs are 16 bytes where they are written as usual, else text as it stands.
"""

from __future__ import annotations

import apsw

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


MARK_TABLE = """
CREATE TABLE marks (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    owner      TEXT NOT NULL,
    session    INTEGER NOT NULL,
    operation  INTEGER NOT NULL,
    undoes     INTEGER,
    at_ns      INTEGER NOT NULL,
    name       TEXT,
    name_key   TEXT,                   -- by which it is found, whatever its case
    tags       TEXT NOT NULL,          -- a JSON list
    starred    INTEGER NOT NULL,
    note       TEXT,
    archived   INTEGER NOT NULL
);
CREATE INDEX marks_by_session ON marks (session, id);
CREATE INDEX marks_by_operation ON marks (owner, operation);
"""


_PEOPLE = """
CREATE TABLE machines (
    owner     TEXT NOT NULL,
    origin    NOT NULL,                -- text, or bytes that are no text
    person    TEXT,
    host      TEXT NOT NULL,
    user      TEXT NOT NULL,
    first_ns  INTEGER NOT NULL,
    last_ns   INTEGER NOT NULL,
    PRIMARY KEY (owner, origin)
) WITHOUT ROWID;
CREATE TABLE rules (
    owner       TEXT NOT NULL,
    pattern     TEXT NOT NULL,
    visibility  TEXT NOT NULL,
    PRIMARY KEY (owner, pattern)
) WITHOUT ROWID;
CREATE TABLE access (
    session  INTEGER PRIMARY KEY,
    person   TEXT,
    chosen   TEXT,                     -- what the person said
    rule     TEXT,                     -- the pattern that fits the project
    shared   INTEGER NOT NULL          -- what follows
);
INSERT INTO machines
SELECT e.owner, e.origin, NULL, '', '', ifnull(min(p.at_ns), 0), ifnull(max(p.at_ns), 0) FROM sessions AS e
LEFT JOIN sources AS s ON s.session = e.id LEFT JOIN source_paths AS p ON p.source = s.id
GROUP BY e.owner, e.origin;
"""

_AUDIENCES = """
ALTER TABLE hook_deliveries ADD COLUMN origin NOT NULL DEFAULT '';
ALTER TABLE changes ADD COLUMN person TEXT;             -- whose session it was, and before that
ALTER TABLE changes ADD COLUMN former TEXT;
ALTER TABLE changes ADD COLUMN shared INTEGER NOT NULL DEFAULT 0;
ALTER TABLE changes ADD COLUMN origin;                  -- of a hook delivery
ALTER TABLE tombstones ADD COLUMN person TEXT;
ALTER TABLE tombstones ADD COLUMN origin NOT NULL DEFAULT '';
ALTER TABLE marks ADD COLUMN author TEXT;
"""

_USAGE = """
ALTER TABLE usage_groups RENAME TO former_groups;
CREATE TABLE usage_groups (
    id          INTEGER PRIMARY KEY,
    session     INTEGER NOT NULL,      -- whose file owns the answers
    session_id  INTEGER NOT NULL,      -- as the lines name it: a word, as are the others
    model       INTEGER NOT NULL,
    agent       INTEGER NOT NULL,
    skill       INTEGER NOT NULL,
    mcp_server  INTEGER NOT NULL,
    terms       TEXT NOT NULL,         -- what the price list has no price for
    audience    INTEGER NOT NULL,      -- for whom they count: 0 all, 1 who sees all of the person's, 2 others
    UNIQUE (session, session_id, model, agent, skill, mcp_server, terms, audience)
);
INSERT INTO usage_groups SELECT *, 0 FROM former_groups;
DROP TABLE former_groups;
"""

PEOPLE_TABLES = _PEOPLE + _AUDIENCES + _USAGE


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


USAGE_TABLES = """
CREATE INDEX sightings_by_message ON sightings (substr(message_id, -10));  -- the end tells most apart
CREATE TABLE usage_groups (
    id          INTEGER PRIMARY KEY,
    session     INTEGER NOT NULL,      -- whose file owns the answers
    session_id  INTEGER NOT NULL,      -- as the lines name it: a word, as are the others
    model       INTEGER NOT NULL,
    agent       INTEGER NOT NULL,
    skill       INTEGER NOT NULL,
    mcp_server  INTEGER NOT NULL,
    terms       TEXT NOT NULL,         -- what the price list has no price for
    UNIQUE (session, session_id, model, agent, skill, mcp_server, terms)
);
CREATE TABLE answers (                 -- each message of each owner once
    id              INTEGER PRIMARY KEY,
    message_id      TEXT NOT NULL,
    grp             INTEGER NOT NULL,
    time            INTEGER,
    flags           INTEGER NOT NULL,  -- 1: incomplete, 2: unpriced
    input           INTEGER NOT NULL,
    output          INTEGER NOT NULL,
    cache_read      INTEGER NOT NULL,
    cache_write_5m  INTEGER NOT NULL,
    cache_write_1h  INTEGER NOT NULL,
    web_searches    INTEGER NOT NULL,
    cost            INTEGER NOT NULL,  -- in pico-dollars, as is the next
    saved           INTEGER NOT NULL
);
CREATE INDEX answers_by_message ON answers (substr(message_id, -10));
CREATE INDEX answers_by_group ON answers (grp, time);
CREATE TABLE usage_rollup (
    grp             INTEGER NOT NULL,
    slot            INTEGER NOT NULL,  -- which quarter of an hour since 1970
    messages        INTEGER NOT NULL,
    incomplete      INTEGER NOT NULL,
    unpriced        INTEGER NOT NULL,
    input           INTEGER NOT NULL,
    output          INTEGER NOT NULL,
    cache_read      INTEGER NOT NULL,
    cache_write_5m  INTEGER NOT NULL,
    cache_write_1h  INTEGER NOT NULL,
    web_searches    INTEGER NOT NULL,
    cost            INTEGER NOT NULL,
    saved           INTEGER NOT NULL,
    first           INTEGER,
    last            INTEGER,
    PRIMARY KEY (grp, slot)
) WITHOUT ROWID;
CREATE TABLE reported_costs (          -- what the program itself says that a session cost
    session     INTEGER PRIMARY KEY,
    session_id  TEXT NOT NULL,
    kind        TEXT NOT NULL,
    cost        TEXT NOT NULL,         -- in dollars, as is the next
    computed    TEXT NOT NULL
);
CREATE TABLE usage_prices (            -- which price list the costs are by: one row
    list     TEXT NOT NULL,
    name     TEXT NOT NULL,
    version  TEXT NOT NULL,
    newest   TEXT NOT NULL
);
"""

USAGE_VERSIONS = """
CREATE TABLE usage_versions (          -- how often answers of a session were counted otherwise; operational
    session  INTEGER PRIMARY KEY,      -- 0 for those of all
    version  INTEGER NOT NULL
);
"""

NEW_ANSWERS = """
ALTER TABLE answers ADD COLUMN is_new INTEGER NOT NULL DEFAULT 0;   -- not yet in the index by messages
DROP INDEX answers_by_message;
CREATE INDEX answers_by_message ON answers (substr(message_id, -10)) WHERE is_new = 0;
"""
SHARED_ANSWERS = """
CREATE TABLE shared_answers (          -- those that several sessions tell of
    message_id  TEXT NOT NULL,
    session     INTEGER NOT NULL,
    PRIMARY KEY (message_id, session)
) WITHOUT ROWID;
CREATE INDEX shared_answers_by_session ON shared_answers (session);
"""


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


CELL_INDEX = """fts5 (
    body, content='', contentless_delete=1, detail=none, tokenize="unicode61 remove_diacritics 0"
)"""
SEARCH_TABLES = f"""
CREATE VIRTUAL TABLE cells USING {CELL_INDEX};
INSERT INTO cells (cells, rank) VALUES ('hashsize', 4194304);
INSERT INTO cells (cells, rank) VALUES ('usermerge', 2);
CREATE TABLE text_runs (               -- no number is given twice: cursors name them
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    generation  INTEGER NOT NULL,      -- 0 for hook deliveries
    first_cell  INTEGER NOT NULL,      -- all own cells are from here
    last_cell   INTEGER NOT NULL,      -- to here, but others may be between them
    newest      INTEGER NOT NULL,      -- the latest time of a text
    oldest      INTEGER NOT NULL,
    texts       BLOB NOT NULL
);
CREATE INDEX text_runs_by_generation ON text_runs (generation);
CREATE TABLE new_cells (               -- behind all that are indexed
    first_cell  INTEGER PRIMARY KEY,
    cells       INTEGER NOT NULL,
    bodies      BLOB NOT NULL
);
CREATE TABLE vocabulary (              -- the words of all cells up to the last one, in portions
    last_cell  INTEGER PRIMARY KEY,
    length     INTEGER NOT NULL,
    words      BLOB NOT NULL
);
CREATE TABLE search_state (
    name   TEXT PRIMARY KEY,
    value  INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO search_state VALUES ('next-cell', 1);
"""

DROP_SEARCH_TABLES = "".join(
    f"DROP TABLE IF EXISTS {name};\n"
    for name in (
        *("cells", "new_cells", "text_runs", "vocabulary", "search_state"),
        *("text_repeats", "text_orphans", "text_digests"),  # as they were before
    )
)


_NAME = "lower(hex(randomblob(8)))"

FEED_TABLE = f"""
CREATE TABLE feed (                    -- one row
    epoch  TEXT NOT NULL
);
INSERT INTO feed VALUES ({_NAME});
"""

CHANGES = """
ALTER TABLE changes RENAME TO former_changes;
CREATE TABLE changes (                 -- none is ever deleted, so no number is given twice
    seq       INTEGER PRIMARY KEY,
    owner     TEXT NOT NULL,
    kind      TEXT NOT NULL,
    session   TEXT NOT NULL,
    revision  INTEGER NOT NULL,
    at_ns     INTEGER NOT NULL,
    person    TEXT,                    -- whose session it was, and before that
    former    TEXT,
    shared    INTEGER NOT NULL DEFAULT 0,
    origin                             -- of a hook delivery
);
INSERT INTO changes SELECT * FROM former_changes;
DROP TABLE former_changes;
"""


def renew_epoch(connection: apsw.Connection) -> None:
    """Give the feed another name, in the transaction of the caller."""
    connection.execute("DELETE FROM feed")
    connection.execute(f"INSERT INTO feed VALUES ({_NAME})")

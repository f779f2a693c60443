"""The tables of usage: each answer once, and what answers come to in quarters of an hour.

They follow from what segments say about usage and the price list, and are kept up with them. A group says what
answers are counted by; 0 stands for what is not said, other numbers are words.
"""

from __future__ import annotations

__all__ = ["NEW_ANSWERS", "SHARED_ANSWERS", "USAGE_TABLES", "USAGE_VERSIONS"]

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

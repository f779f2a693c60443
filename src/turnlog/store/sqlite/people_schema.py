"""The tables of people: machines, rules, who may see which session, and who is to learn of what.

`access` has a row for a session only if there is something to say: whose it is, what that person chose, or
which rule fits. A store of one person's own has none. `changes` and `tombstones` keep whom an entry is for,
since the session that it is about is gone, or others could see it before.
"""

from __future__ import annotations

__all__ = ["PEOPLE_TABLES"]

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

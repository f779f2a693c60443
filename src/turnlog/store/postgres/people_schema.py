"""The tables of people: whose machines there are, who may see which session, and the rules for projects.

`access` has a row for each session, which follows from the others and from what its person chose; so a query
compares one row, and need not know why. The server itself makes it with the session, private and the machine's
person's, so that there is one whichever version of the program wrote the session. Columns that came later to
tables of others may be left out by whoever does not know them.
"""

from __future__ import annotations

from turnlog.store.postgres.wire import SCHEMA

__all__ = [
    "CHANGE_AUDIENCES",
    "DELIVERY_ORIGINS",
    "MARK_AUTHORS",
    "PEOPLE_TABLES",
    "TOMBSTONE_PERSONS",
    "USAGE_AUDIENCES",
]

PEOPLE_TABLES = f"""
CREATE TABLE machines (
    owner     text COLLATE "C" NOT NULL,
    origin    bytea NOT NULL,
    person    text COLLATE "C",
    host      bytea NOT NULL,
    account   bytea NOT NULL,             -- as the system there calls its user
    first_ns  bigint NOT NULL,
    last_ns   bigint NOT NULL,
    PRIMARY KEY (owner, origin)
);
CREATE TABLE rules (
    owner    text COLLATE "C" NOT NULL,
    pattern  bytea NOT NULL,
    shared   boolean NOT NULL,
    PRIMARY KEY (owner, pattern)
);
CREATE TABLE access (
    session  bigint PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
    owner    text COLLATE "C" NOT NULL,
    key      text COLLATE "C" NOT NULL,
    person   text COLLATE "C",            -- whose machine it comes from
    chosen   boolean,                     -- whether that person shares it; NULL if the rules decide
    rule     bytea,                       -- the pattern of the rule that fits its project
    shared   boolean NOT NULL             -- what follows from both
);
CREATE INDEX access_by_person ON access (owner, person);
CREATE FUNCTION add_access() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO {SCHEMA}.access (session, owner, key, person, shared) VALUES (NEW.id, NEW.owner, NEW.key, (
        SELECT person FROM {SCHEMA}.machines WHERE owner = NEW.owner AND origin = NEW.origin
    ), false);
    RETURN NULL;
END
$$;
CREATE TRIGGER add_access AFTER INSERT ON sessions FOR EACH ROW EXECUTE FUNCTION add_access();
INSERT INTO access (session, owner, key, shared) SELECT id, owner, key, false FROM sessions;
INSERT INTO machines (owner, origin, host, account, first_ns, last_ns)
SELECT e.owner, e.origin, '', '', coalesce(min(p.at_ns), 0), coalesce(max(p.at_ns), 0) FROM sessions AS e
LEFT JOIN sources AS s ON s.session = e.id LEFT JOIN source_paths AS p ON p.source = s.id
GROUP BY e.owner, e.origin;
"""

DELIVERY_ORIGINS = "ALTER TABLE hook_deliveries ADD COLUMN origin bytea NOT NULL DEFAULT ''"

CHANGE_AUDIENCES = """
ALTER TABLE changes
    ADD COLUMN person text COLLATE "C",   -- to whom it is told, where that does not follow from the session
    ADD COLUMN former text COLLATE "C",   -- whose it was before
    ADD COLUMN shared boolean,
    ADD COLUMN origin bytea               -- the machine that a hook told it on
"""

TOMBSTONE_PERSONS = """
ALTER TABLE tombstones ADD COLUMN person text COLLATE "C", ADD COLUMN origin bytea
"""

MARK_AUTHORS = 'ALTER TABLE marks ADD COLUMN author text COLLATE "C"'

# 0: for everybody who sees the session; 1: for its person, and who sees everything; 2: for all others. It is
# a part of the digest, unless it is 0.
USAGE_AUDIENCES = "ALTER TABLE usage_groups ADD COLUMN audience smallint NOT NULL DEFAULT 0"

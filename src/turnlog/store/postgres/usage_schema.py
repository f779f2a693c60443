"""The tables of usage: each answer once, and what answers come to in quarters of an hour.

They follow from `sightings` and the price list, and are kept up with them, under the feed's lock. A group says
what answers are counted by; NULL stands for what is not said. Sums are whole numbers of any size.
"""

from __future__ import annotations

__all__ = ["USAGE_TABLES"]

USAGE_TABLES = """
CREATE TABLE usage_groups (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session     bigint NOT NULL,         -- whose file owns the answers
    digest      bytea NOT NULL,          -- of all that follows
    session_id  bytea NOT NULL,          -- as the lines name it
    model       bytea,
    agent       bytea,
    skill       bytea,
    mcp_server  bytea,
    terms       bytea NOT NULL,          -- what the price list has no price for
    UNIQUE (session, digest)
);
CREATE TABLE answers (                   -- each message of each owner once
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id      bytea NOT NULL,
    grp             bigint NOT NULL,
    time            bigint,
    flags           smallint NOT NULL,   -- 1: incomplete, 2: unpriced
    input           bigint NOT NULL,
    output          bigint NOT NULL,
    cache_read      bigint NOT NULL,
    cache_write_5m  bigint NOT NULL,
    cache_write_1h  bigint NOT NULL,
    web_searches    bigint NOT NULL,
    cost            numeric NOT NULL,    -- in pico-dollars, as is the next
    saved           numeric NOT NULL
);
CREATE INDEX answers_by_message ON answers USING hash (message_id);
CREATE INDEX answers_by_group ON answers (grp, time);
CREATE TABLE usage_rollup (
    grp             bigint NOT NULL,
    slot            bigint NOT NULL,     -- which quarter of an hour since 1970
    messages        bigint NOT NULL,
    incomplete      bigint NOT NULL,
    unpriced        bigint NOT NULL,
    input           numeric NOT NULL,
    output          numeric NOT NULL,
    cache_read      numeric NOT NULL,
    cache_write_5m  numeric NOT NULL,
    cache_write_1h  numeric NOT NULL,
    web_searches    numeric NOT NULL,
    cost            numeric NOT NULL,
    saved           numeric NOT NULL,
    first           bigint,
    last            bigint,
    PRIMARY KEY (grp, slot)
);
CREATE TABLE reported_costs (            -- what the program itself says that a session cost
    session     bigint PRIMARY KEY,
    session_id  bytea NOT NULL,
    kind        text COLLATE "C" NOT NULL,
    cost        numeric NOT NULL,        -- in dollars, as is the next
    computed    numeric NOT NULL
);
CREATE TABLE usage_prices (              -- which price list the costs are by: one row
    list     text NOT NULL,
    name     text NOT NULL,
    version  text NOT NULL,
    newest   text NOT NULL
);
CREATE TABLE usage_versions (            -- how often answers of a session were counted otherwise; operational
    session  bigint PRIMARY KEY,         -- 0 for those of all
    version  bigint NOT NULL
);
"""

"""The tables of files, lines, derived rows, the feed and hooks.

Text that comes from data is bytes (`packing`); our own words are text, in the order of their bytes. Ids may be
of any length, and an index may not: indexes have the first 64 bytes, and who looks for an id compares both.

What there is much of lies in partitions by the month of its session (`partitions`). Facts are inserted and
stay, derived rows are replaced by deleting and inserting: `row` is the whole row, packed, and the other columns
are what queries look for. Rows of a whole session have the source 0. What is operational is updated: the
revision of a session, where a file was last seen, how far it was read.
"""

from __future__ import annotations

__all__ = ["FEED_TABLES", "FILE_TABLES", "HOOK_EVENTS", "HOOK_TABLES", "ROW_TABLES"]

FILE_TABLES = """
CREATE TABLE sessions (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner           text COLLATE "C" NOT NULL,
    key             text COLLATE "C" NOT NULL,
    origin          bytea NOT NULL,
    session_id      bytea NOT NULL,       -- as its file is called
    project_folder  bytea NOT NULL,
    month           integer NOT NULL,     -- in whose partitions its rows are, as 202611; it never changes
    revision        bigint NOT NULL,
    derivation      bigint NOT NULL,
    UNIQUE (owner, key)
);
CREATE INDEX sessions_by_id ON sessions (owner, substring(session_id from 1 for 64));
CREATE TABLE sources (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner        text COLLATE "C" NOT NULL,
    source       text COLLATE "C" NOT NULL,
    session      bigint NOT NULL,
    kind         text COLLATE "C" NOT NULL,
    agent_id     bytea,
    run_id       bytea,
    copied_from  text COLLATE "C",
    path         bytea NOT NULL,          -- where it was last seen
    present      boolean NOT NULL,        -- whether it was still there
    newest       bigint,                  -- its newest generation: the number of that row
    UNIQUE (owner, source)
);
CREATE INDEX sources_by_session ON sources (session);
CREATE TABLE source_paths (               -- where it was seen, and when that changed
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source   bigint NOT NULL,
    path     bytea NOT NULL,
    present  boolean NOT NULL,
    at_ns    bigint NOT NULL
);
CREATE INDEX source_paths_by_source ON source_paths (source);
CREATE TABLE generations (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source      bigint NOT NULL,
    generation  bigint NOT NULL,
    month       integer NOT NULL,         -- of its lines and frames
    length      bigint NOT NULL,
    sealed      bigint NOT NULL,          -- up to where frames are of full size
    consumed    bigint NOT NULL,
    in_array    boolean NOT NULL,
    lines       bigint NOT NULL,
    checkpoint  bytea,
    UNIQUE (source, generation)
);
CREATE TABLE frames (                     -- sealed: they stay as they are
    month       integer NOT NULL,
    generation  bigint NOT NULL,
    start       bigint NOT NULL,
    length      bigint NOT NULL,
    digest      bytea NOT NULL,
    data        bytea NOT NULL,
    PRIMARY KEY (generation, start, month)
) PARTITION BY RANGE (month);
ALTER TABLE frames ALTER COLUMN data SET STORAGE EXTERNAL;   -- it is compressed already
CREATE TABLE tail_frames (                -- behind those, until there are enough bytes for a full frame
    month       integer NOT NULL,
    generation  bigint NOT NULL,
    start       bigint NOT NULL,
    length      bigint NOT NULL,
    digest      bytea NOT NULL,
    data        bytea NOT NULL,
    PRIMARY KEY (generation, start, month)
) PARTITION BY RANGE (month);
ALTER TABLE tail_frames ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE lines (
    month       integer NOT NULL,
    generation  bigint NOT NULL,
    number      bigint NOT NULL,
    start       bigint NOT NULL,
    length      bigint NOT NULL,
    dialect     bytea NOT NULL,
    type        bytea NOT NULL,
    uuid        bytea,                    -- as packing.pack_uuid has it, as has parent
    parent      bytea,
    session_id  bytea,
    agent_id    bytea,
    message_id  bytea,
    time        bigint,
    sidechain   boolean NOT NULL,
    problems    bigint NOT NULL,
    PRIMARY KEY (generation, number, month)
) PARTITION BY RANGE (month);
CREATE INDEX lines_by_start ON lines (generation, start);
CREATE INDEX lines_with_problems ON lines (generation, number) WHERE problems > 0;
CREATE INDEX lines_of_beginnings ON lines (substring(parent from 1 for 64))
    WHERE number < 64 AND parent IS NOT NULL;
"""

ROW_TABLES = """
CREATE TABLE digests (                    -- of derived rows, in stretches: what differs is written anew
    session  bigint NOT NULL,
    source   bigint NOT NULL,
    kind     smallint NOT NULL,
    chunk    bigint NOT NULL,
    rows     bigint NOT NULL,             -- how many there are
    whole    bytea NOT NULL,              -- of all rows of the stretch together
    digests  bytea NOT NULL,              -- of each row
    PRIMARY KEY (session, source, kind, chunk)
);
CREATE TABLE messages (
    month integer NOT NULL, session bigint NOT NULL, source bigint NOT NULL, idx bigint NOT NULL,
    revision bigint NOT NULL, id bytea NOT NULL, role text COLLATE "C" NOT NULL, lane text COLLATE "C" NOT NULL,
    category text COLLATE "C", agent bytea, parent bigint, branch bigint NOT NULL, active boolean NOT NULL,
    turn bigint, reached bigint, row bytea NOT NULL,
    PRIMARY KEY (session, source, idx, month)
) PARTITION BY RANGE (month);
CREATE INDEX messages_by_id ON messages (session, substring(id from 1 for 64));
CREATE INDEX messages_by_reached ON messages (session, source, coalesce(reached, 0), idx);
CREATE INDEX messages_by_turn ON messages (session, source, turn, idx) WHERE turn IS NOT NULL;
CREATE TABLE calls (                      -- at_source and result_source are numbers: 0 if of another session,
    month integer NOT NULL, session bigint NOT NULL, source bigint NOT NULL, idx bigint NOT NULL,
    revision bigint NOT NULL, id bytea, name bytea NOT NULL, category text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL, at_source bigint,               -- and at_source NULL if it is this source
    generation bigint NOT NULL, start bigint NOT NULL, block bigint NOT NULL, message bigint,
    result_source bigint, result_generation bigint, result_start bigint, result_block bigint,
    path bytea, started bigint, ended bigint, line bigint NOT NULL, reached bigint, row bytea NOT NULL,
    PRIMARY KEY (session, source, idx, month)
) PARTITION BY RANGE (month);
CREATE INDEX calls_by_message ON calls (session, source, message);
CREATE INDEX calls_by_id ON calls (session, substring(id from 1 for 64)) WHERE id IS NOT NULL;
CREATE INDEX calls_in_order ON calls (session, coalesce(reached, 0), source, line, block);
CREATE INDEX calls_by_place ON calls (session, source, generation, start);
CREATE INDEX calls_by_result ON calls (session, result_source, result_generation, result_start)
    WHERE result_start IS NOT NULL;
CREATE TABLE placements (                 -- idx is the number of a line, message where it went
    month integer NOT NULL, session bigint NOT NULL, source bigint NOT NULL, idx bigint NOT NULL,
    revision bigint NOT NULL, message bigint, category text COLLATE "C", name bytea, state text COLLATE "C",
    duration_ms bigint, hook bytea, tool_use_id bytea, time bigint, reached bigint, row bytea NOT NULL,
    PRIMARY KEY (session, source, idx, month)
) PARTITION BY RANGE (month);
CREATE INDEX events_in_order ON placements (session, coalesce(reached, 0), source, idx)
    WHERE category IS NOT NULL;
CREATE INDEX hook_lines_by_call ON placements (session, substring(tool_use_id from 1 for 64))
    WHERE hook IS NOT NULL;
CREATE INDEX hook_lines_by_time ON placements (session, substring(hook from 1 for 64), time)
    WHERE hook IS NOT NULL;
CREATE TABLE turns (
    month integer NOT NULL, session bigint NOT NULL, source bigint NOT NULL, idx bigint NOT NULL,
    revision bigint NOT NULL, row bytea NOT NULL,
    PRIMARY KEY (session, source, idx, month)
) PARTITION BY RANGE (month);
CREATE TABLE agents (
    month integer NOT NULL, session bigint NOT NULL, source bigint NOT NULL, idx bigint NOT NULL,
    revision bigint NOT NULL, id bytea NOT NULL, type bytea, row bytea NOT NULL,
    PRIMARY KEY (session, source, idx, month)
) PARTITION BY RANGE (month);
CREATE TABLE sightings (                  -- not by month: what an answer used is told by all months together
    month integer NOT NULL, session bigint NOT NULL, source bigint NOT NULL, idx bigint NOT NULL,
    revision bigint NOT NULL, message_id bytea NOT NULL, row bytea NOT NULL,
    PRIMARY KEY (session, source, idx)
);
CREATE INDEX sightings_by_message ON sightings USING hash (message_id);
"""

FEED_TABLES = """
CREATE TABLE feed (                       -- one row: the name of the feed
    epoch  text NOT NULL
);
INSERT INTO feed VALUES (md5(random()::text || clock_timestamp()::text));
CREATE TABLE changes (                    -- numbers are given under the feed's lock: in the order of commits
    seq       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner     text COLLATE "C" NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    session   bytea NOT NULL,             -- a key, or the id that hooks told
    revision  bigint NOT NULL,
    at_ns     bigint NOT NULL
);
CREATE INDEX changes_by_owner ON changes (owner, seq);
CREATE TABLE tombstones (                 -- what was forgotten and must not come back
    owner    text COLLATE "C" NOT NULL,
    session  text COLLATE "C" NOT NULL,   -- its key
    kind     text COLLATE "C" NOT NULL,   -- what it is recognised by: session-key or session-id
    value    bytea NOT NULL,
    at_ns    bigint NOT NULL,
    PRIMARY KEY (owner, session, kind)
);
CREATE INDEX tombstones_by_value ON tombstones (owner, kind, substring(value from 1 for 64));
CREATE TABLE backups (                    -- copies that were made, there or not
    path   bytea NOT NULL,
    at_ns  bigint NOT NULL
);
"""

HOOK_EVENTS = """
SELECT
    id,
    readable(session_id) AS session_id,
    received_ns / 1000000000 AS timestamp,
    readable(event_name) AS event_name,
    readable(tool_name) AS tool_name,
    readable(coalesce(label, event_name)) AS label,
    coalesce(readable(group_name), 'autonomous') AS group_name,
    readable(context) AS context
FROM hook_deliveries
WHERE event_name <> 'SessionEnd' AND notification_type IS DISTINCT FROM 'auth_success'
"""
"""The table of spec 002, section 4.1, as a view."""

HOOK_TABLES = f"""
CREATE TABLE delivery_numbers (           -- each delivery once, in whichever month
    owner        text COLLATE "C" NOT NULL,
    digest       bytea NOT NULL,          -- of its id
    id           bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    received_ns  bigint NOT NULL,
    PRIMARY KEY (owner, digest)
);
CREATE TABLE hook_deliveries (
    id                 bigint NOT NULL,
    owner              text COLLATE "C" NOT NULL,
    delivery_id        bytea NOT NULL,
    received_ns        bigint NOT NULL,
    session_id         bytea NOT NULL,
    event_name         bytea NOT NULL,
    notification_type  bytea,
    tool_name          bytea,
    label              bytea,
    group_name         bytea,
    context            bytea,
    tool_use_id        bytea,
    agent_id           bytea,
    payload            bytea NOT NULL,    -- as it came
    PRIMARY KEY (id, received_ns)
) PARTITION BY RANGE (received_ns);
CREATE INDEX hook_deliveries_by_session
    ON hook_deliveries (owner, substring(session_id from 1 for 64), received_ns, id);
CREATE INDEX hook_deliveries_by_call
    ON hook_deliveries (owner, substring(session_id from 1 for 64), substring(tool_use_id from 1 for 64))
    WHERE tool_use_id IS NOT NULL;
CREATE INDEX hook_deliveries_by_time ON hook_deliveries (owner, received_ns);
CREATE FUNCTION readable(data bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN convert_from(data, 'UTF8');
EXCEPTION WHEN OTHERS THEN
    RETURN encode(data, 'escape');
END
$$;
CREATE VIEW hook_events AS {HOOK_EVENTS};
"""

"""The tables of the catalogue, the same for every engine, and what viewers see of them.

Facts are inserted and stay: files with their bytes, hook deliveries, what people said. What is operational
(how far a file was read, a session's revision) and what follows from the bytes is replaced. A session is one
row with all that lists show, sort and filter by; its summary as a whole is in a table of its own, so that lists
never touch it. On PostgreSQL, what there is much of lies in partitions by the month in which its file was first
kept. That is a part of the file's number, so statements need not know of months.

A transaction for somebody who may not see everything finds views where others find the tables, by the same
names, and who looks is said beside it: in a table of the connection's own on SQLite, in settings of the
transaction on PostgreSQL. So all statements stay as they are, and none can forget it. What has no view is found
only by numbers of sessions, files and groups, which nobody learns but from a view.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct

from turnlog.store.catalogue.database import INDEXED, Connection, Steps
from turnlog.store.interface import ChangeKind

_FILES = f"""
CREATE TABLE sessions (
    id              @@number,
    owner           text NOT NULL,
    key             text NOT NULL,
    origin          @@bytes NOT NULL,         -- the machine that it comes from
    file_id         @@bytes NOT NULL,         -- as its file is called
    project_folder  @@bytes NOT NULL,
    revision        bigint NOT NULL DEFAULT 0,
    derivation      bigint NOT NULL DEFAULT 0,
    is_present      smallint NOT NULL DEFAULT 1,   -- whether any of its files is still outside
    counted         bigint NOT NULL DEFAULT 0,     -- how often its answers were counted otherwise
    person          text,                     -- whose machine it comes from
    chosen          text,                     -- what that person said of who sees it
    rule            @@bytes,                  -- the pattern that fits its project
    is_shared       smallint NOT NULL DEFAULT 0,   -- what follows from both
    mark            bigint,                   -- the newest entry of its marks
    is_archived     smallint NOT NULL DEFAULT 0,   -- as that says
    is_listed       smallint NOT NULL DEFAULT 0,   -- whether all that follows is known
    session_id      @@bytes,
    title           @@bytes,
    title_key       @@bytes,                  -- casefolded, as it is looked for and ordered by
    project         @@bytes,
    first_time      bigint,
    last_time       bigint,
    prompts         bigint NOT NULL DEFAULT 0,
    answers         bigint NOT NULL DEFAULT 0,
    calls           bigint NOT NULL DEFAULT 0,
    agents          bigint NOT NULL DEFAULT 0,
    lines           bigint NOT NULL DEFAULT 0,
    problems        bigint NOT NULL DEFAULT 0,
    input_tokens    bigint NOT NULL DEFAULT 0,
    output_tokens   bigint NOT NULL DEFAULT 0,
    cost            text,                     -- in dollars
    messages        bigint NOT NULL DEFAULT 0,
    errors          bigint NOT NULL DEFAULT 0,
    models          @@bytes,                  -- a JSON list, as are branches
    branches        @@bytes,
    series          @@bytes,
    first_prompt    @@bytes,
    forked_from     @@bytes,
    is_floor        smallint NOT NULL DEFAULT 0,
    is_estimate     smallint NOT NULL DEFAULT 0,
    head_uuid       @@bytes,                  -- the first message that another line follows
    head_type       @@bytes,
    head_time       bigint,
    head_told       @@bytes,
    UNIQUE (owner, key)
);
CREATE INDEX sessions_by_time ON sessions (owner, is_listed, is_archived, last_time);
CREATE INDEX sessions_by_file_id ON sessions (owner, substr(file_id, 1, {INDEXED}));
CREATE INDEX sessions_by_session_id ON sessions (owner, substr(session_id, 1, {INDEXED}));
CREATE INDEX sessions_by_head ON sessions (substr(head_uuid, 1, {INDEXED})) WHERE head_uuid IS NOT NULL;
CREATE TABLE summaries (                      -- `transcripts.Summary` as JSON, compressed
    session  @@key,
    data     @@bytes NOT NULL
);
CREATE TABLE outlines (                       -- a session's turns and agents, in parts
    session  bigint NOT NULL,
    kind     text NOT NULL,
    number   bigint NOT NULL,
    data     @@bytes NOT NULL,
    PRIMARY KEY (session, kind, number)
)@@compact;
CREATE TABLE sources (
    id           @@monthly,
    owner        text NOT NULL,
    source       text NOT NULL,
    session      bigint NOT NULL,
    kind         text NOT NULL,
    agent_id     @@bytes,
    run_id       @@bytes,
    copied_from  text,
    path         @@bytes NOT NULL,            -- where it was last seen
    is_present   smallint NOT NULL,           -- whether it was still there
    newest       bigint,                      -- its newest generation: the number of that row
    UNIQUE (owner, source)
);
CREATE INDEX sources_by_session ON sources (session);
CREATE TABLE generations (                    -- a file that was rewritten begins another one
    id           @@monthly,
    source       bigint NOT NULL,
    generation   bigint NOT NULL,
    length       bigint NOT NULL,
    sealed       bigint NOT NULL,             -- up to where frames are of full size
    consumed     bigint NOT NULL,             -- up to where lines were made of it
    in_array     smallint NOT NULL,
    lines        bigint NOT NULL,
    checkpoint   @@bytes,
    tail_start   bigint,                      -- the newest bytes, while they are few
    tail_digest  @@bytes,
    tail         @@bytes,
    UNIQUE (source, generation)
);
CREATE TABLE frames (                         -- sealed: they stay as they are
    generation  bigint NOT NULL,
    start       bigint NOT NULL,
    length      bigint NOT NULL,
    digest      @@bytes NOT NULL,
    data        @@blob NOT NULL,
    PRIMARY KEY (generation, start)
)@@by_month(generation);
CREATE TABLE tail_frames (                    -- behind those, until there are enough bytes for a full frame
    generation  bigint NOT NULL,
    start       bigint NOT NULL,
    length      bigint NOT NULL,
    digest      @@bytes NOT NULL,
    data        @@blob NOT NULL,
    PRIMARY KEY (generation, start)
);
CREATE TABLE segments (                       -- the heads of a file's records
    source     bigint NOT NULL,
    number     bigint NOT NULL,
    lines      bigint NOT NULL,
    message    bigint NOT NULL,
    messages   bigint NOT NULL,
    call       bigint NOT NULL,
    calls      bigint NOT NULL,
    events     bigint NOT NULL,
    hooks      bigint NOT NULL,
    sightings  bigint NOT NULL,
    start      bigint NOT NULL,
    reached    bigint NOT NULL,
    problems   bigint NOT NULL,
    stamp      bigint NOT NULL,               -- by which readers tell what they unpacked
    patch      @@bytes,                       -- what the records became since they were packed
    PRIMARY KEY (source, number)
)@@compact;
CREATE TABLE segment_data (
    source  bigint NOT NULL,
    number  bigint NOT NULL,
    packed  @@blob NOT NULL,
    PRIMARY KEY (source, number)
)@@by_month(source);
"""
_PEOPLE = """
CREATE TABLE marks (                          -- none is changed: the newest of a session counts
    id           @@serial,
    owner        text NOT NULL,
    session      bigint NOT NULL,
    operation    bigint NOT NULL,             -- entries that were made at once share it
    undoes       bigint,
    at_ns        bigint NOT NULL,
    author       text,
    name         @@bytes,
    name_key     @@bytes,
    tags         @@bytes NOT NULL,            -- a JSON list
    is_starred   smallint NOT NULL,
    note         @@bytes,
    is_archived  smallint NOT NULL
);
CREATE INDEX marks_by_session ON marks (session, id);
CREATE INDEX marks_by_operation ON marks (owner, operation);
CREATE TABLE machines (
    owner     text NOT NULL,
    origin    @@bytes NOT NULL,
    person    text,
    host      @@bytes NOT NULL,
    account   @@bytes NOT NULL,               -- as the system there calls its user
    first_ns  bigint NOT NULL,
    last_ns   bigint NOT NULL,
    PRIMARY KEY (owner, origin)
)@@compact;
CREATE TABLE rules (
    owner       text NOT NULL,
    pattern     @@bytes NOT NULL,
    visibility  text NOT NULL,
    PRIMARY KEY (owner, pattern)
)@@compact;
"""
_FEED = f"""
CREATE TABLE feed (                           -- one row: its name
    epoch  text NOT NULL
);
CREATE TABLE changes (                        -- numbers are given in the order of commits
    seq        @@number,
    owner      text NOT NULL,
    kind       text NOT NULL,
    session    @@bytes NOT NULL,              -- a key, or the id that hooks told
    revision   bigint NOT NULL,
    at_ns      bigint NOT NULL,
    person     text,                          -- to whom it is told, where that follows from no session
    former     text,                          -- whose it was before
    is_shared  smallint NOT NULL DEFAULT 0,
    origin     @@bytes                        -- the machine that a hook told it on
);
CREATE TABLE tombstones (                     -- what was forgotten and must not come back
    owner       text NOT NULL,
    key         text NOT NULL,
    session_id  @@bytes,
    at_ns       bigint NOT NULL,
    person      text,
    origin      @@bytes NOT NULL,
    PRIMARY KEY (owner, key)
)@@compact;
CREATE INDEX tombstones_by_session_id ON tombstones (owner, substr(session_id, 1, {INDEXED}));
CREATE TABLE leases (
    name        text PRIMARY KEY,
    holder      text NOT NULL,
    expires_ns  bigint NOT NULL
)@@compact;
CREATE TABLE backups (                        -- copies that were made, there or not
    path   @@bytes PRIMARY KEY,
    at_ns  bigint NOT NULL
)@@compact;
"""
_HOOKS = f"""
CREATE TABLE hook_deliveries (
    id                 @@number,
    owner              text NOT NULL,
    digest             @@bytes NOT NULL UNIQUE,    -- of its id, by which it is there once
    delivery_id        @@bytes NOT NULL,
    received_ns        bigint NOT NULL,
    session_id         @@bytes NOT NULL,
    event_name         @@bytes NOT NULL,
    notification_type  @@bytes,
    tool_name          @@bytes,
    label              @@bytes,
    group_name         @@bytes,
    context            @@bytes,
    tool_use_id        @@bytes,
    agent_id           @@bytes,
    origin             @@bytes NOT NULL,
    payload            @@bytes NOT NULL            -- as it came
);
CREATE INDEX hook_deliveries_by_session
    ON hook_deliveries (owner, substr(session_id, 1, {INDEXED}), received_ns);
CREATE INDEX hook_deliveries_by_call
    ON hook_deliveries (owner, substr(session_id, 1, {INDEXED}), substr(tool_use_id, 1, {INDEXED}))
    WHERE tool_use_id IS NOT NULL;
CREATE INDEX hook_deliveries_by_time ON hook_deliveries (owner, received_ns, substr(session_id, 1, {INDEXED}));
"""
HOOK_EVENTS = """
SELECT
    id,
    @@readable(session_id) AS session_id,
    received_ns / 1000000000 AS timestamp,
    @@readable(event_name) AS event_name,
    @@readable(tool_name) AS tool_name,
    @@readable(coalesce(label, event_name)) AS label,
    coalesce(@@readable(group_name), 'autonomous') AS group_name,
    @@readable(context) AS context
FROM hook_deliveries
WHERE @@readable(event_name) <> 'SessionEnd'
    AND coalesce(@@readable(notification_type), '') <> 'auth_success'
"""
"""The table of spec 002, section 4.1, as a view."""
_USAGE = """
CREATE TABLE usage_groups (                   -- what answers are counted by
    id          @@number,
    session     bigint NOT NULL,              -- whose file owns them
    session_id  @@bytes NOT NULL,             -- as the lines name it
    model       @@bytes,
    agent       @@bytes,
    skill       @@bytes,
    mcp_server  @@bytes,
    terms       @@bytes NOT NULL,             -- what the price list has no price for
    audience    smallint NOT NULL             -- for whom: 0 all, 1 who sees all of the person's, 2 others
);
CREATE INDEX usage_groups_by_session ON usage_groups (session);
CREATE TABLE answers (                        -- each of each person once
    id              @@number,
    hash            bigint NOT NULL,          -- of its id, by which it is found
    message_id      @@bytes NOT NULL,
    grp             bigint NOT NULL,
    time            bigint,
    flags           smallint NOT NULL,        -- 1: incomplete, 2: unpriced
    input           bigint NOT NULL,
    output          bigint NOT NULL,
    cache_read      bigint NOT NULL,
    cache_write_5m  bigint NOT NULL,
    cache_write_1h  bigint NOT NULL,
    web_searches    bigint NOT NULL,
    cost            bigint NOT NULL,          -- in pico-dollars, as is the next
    saved           bigint NOT NULL
);
CREATE INDEX answers_by_hash ON answers (hash);
CREATE INDEX answers_by_group ON answers (grp, time);
CREATE TABLE shared_answers (                 -- those that several sessions tell of
    hash        bigint NOT NULL,
    message_id  @@bytes NOT NULL,
    session     bigint NOT NULL
);
CREATE INDEX shared_answers_by_hash ON shared_answers (hash, session);
CREATE INDEX shared_answers_by_session ON shared_answers (session);
CREATE TABLE usage_rollup (                   -- what the answers of a group come to
    grp             bigint NOT NULL,
    slot            bigint NOT NULL,          -- in a quarter of an hour since 1970
    messages        bigint NOT NULL,
    incomplete      bigint NOT NULL,
    unpriced        bigint NOT NULL,
    input           bigint NOT NULL,
    output          bigint NOT NULL,
    cache_read      bigint NOT NULL,
    cache_write_5m  bigint NOT NULL,
    cache_write_1h  bigint NOT NULL,
    web_searches    bigint NOT NULL,
    cost            bigint NOT NULL,
    saved           bigint NOT NULL,
    first           bigint,
    last            bigint,
    PRIMARY KEY (grp, slot)
)@@compact;
CREATE TABLE reported_costs (                 -- what the program itself says that a session cost
    session     @@key,
    session_id  @@bytes NOT NULL,
    kind        text NOT NULL,
    cost        text NOT NULL,                -- in dollars, as is the next
    computed    text NOT NULL
);
CREATE TABLE usage_prices (                   -- which price list the costs are by: one row
    list     text NOT NULL,
    name     text NOT NULL,
    version  text NOT NULL,
    newest   text NOT NULL
);
"""
_FUNCTIONS = """
CREATE SEQUENCE ids;
CREATE FUNCTION next_id() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT month_of(now()) << 36 | nextval('ids')
$$;
CREATE FUNCTION readable(data bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN convert_from(data, 'UTF8');
EXCEPTION WHEN OTHERS THEN
    RETURN encode(data, 'escape');
END
$$;
CREATE FUNCTION instr(whole bytea, part bytea) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT position(part IN whole)
$$;
"""
"""What PostgreSQL lacks."""
_MONTH = """
CREATE FUNCTION month_of(moment timestamptz) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT ((extract(year FROM moment AT TIME ZONE 'UTC') - 2000) * 12
        + extract(month FROM moment AT TIME ZONE 'UTC') - 1)::bigint
$$;
"""
"""Months since 2000; a file's number is that of its month, times 2 to the 36th, and one of its own."""


def create_tables(connection: Connection) -> None:
    """Make all tables."""
    if connection.engine == "postgresql":
        connection.execute(_MONTH)
        connection.execute(_FUNCTIONS)
    for tables in (_FILES, _PEOPLE, _FEED, _HOOKS, _USAGE):
        connection.execute(tables)
    if connection.engine == "postgresql":
        for table, column in (("frames", "data"), ("tail_frames", "data"), ("segment_data", "packed")):
            # It is compressed already.
            connection.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")
    else:  # PostgreSQL has no index of texts of any length, and no scan of a file that is as slow
        connection.execute(
            "CREATE INDEX hook_events_by_session ON hook_deliveries (CAST(session_id AS TEXT), received_ns)"
        )
    connection.execute(f"CREATE VIEW hook_events AS {HOOK_EVENTS}")
    connection.execute("INSERT INTO feed VALUES (?)", (os.urandom(8).hex(),))


STEPS = Steps("the archive", (create_tables,))
"""What leads to the tables of today; the engines add those of search."""


class ViewerTerms(Struct, frozen=True, gc=False):
    """How an engine spells who looks, and what the tables themselves are called."""

    owner: str
    person: str
    team: str
    """1 or 0."""
    key: str
    """Of the one session that somebody with a link sees."""
    tables: str
    """What stands before the name of a table, as `main.`."""
    views: str
    """And before that of a view."""


def list_views(terms: ViewerTerms) -> Mapping[str, str]:
    """Return the tables of which not everybody sees everything, each with the condition for its rows `t`.

    Those that others are made of come first.
    """
    tables = terms.tables

    def sees(session: str) -> str:
        """Return the condition that a row of `sessions` may be seen."""
        return (
            f"({session}.owner = {terms.owner} AND ({session}.person = {terms.person} "
            f"OR ({terms.team} = 1 AND {session}.is_shared = 1) OR {session}.key = {terms.key}))"
        )

    def of_session(number: str) -> str:
        return f"EXISTS (SELECT 1 FROM {tables}sessions AS e WHERE e.id = {number} AND {sees('e')})"

    def told_by(id: str) -> str:
        """Return the condition that a hook told something that may be seen, of the session with an id.

        The machine is the viewer's, or they see a session with that id whose person the machine's is.
        """
        machine = f"{tables}machines AS m WHERE m.owner = t.owner AND m.origin = t.origin"
        of_sessions = " OR ".join(
            f"""EXISTS (
                SELECT 1 FROM {tables}sessions AS e WHERE e.owner = t.owner
                AND substr(e.{name}, 1, {INDEXED}) = substr({id}, 1, {INDEXED}) AND e.{name} = {id}
                AND e.person IS NOT DISTINCT FROM (SELECT m.person FROM {machine}) AND {sees("e")}
            )"""
            for name in ("file_id", "session_id")
        )
        own = f"EXISTS (SELECT 1 FROM {machine} AND m.person = {terms.person})"
        return f"t.owner = {terms.owner} AND ({own} OR {of_sessions})"

    return {
        "sessions": sees("t"),
        "sources": of_session("t.session"),
        "marks": of_session("t.session"),
        "reported_costs": of_session("t.session"),
        "usage_groups": f"""EXISTS (
            SELECT 1 FROM {tables}sessions AS e WHERE e.id = t.session AND {sees("e")}
            AND t.audience IN (0, CASE WHEN e.person = {terms.person} THEN 1 ELSE 2 END)
        )""",
        "usage_prices": f"EXISTS (SELECT 1 FROM {terms.views}usage_groups)",
        "hook_deliveries": told_by("t.session_id"),
        "changes": f"""t.owner = {terms.owner} AND CASE
            WHEN t.kind IN ('{ChangeKind.SESSION_FORGOTTEN}', '{ChangeKind.SESSION_ACCESS}') THEN
                t.person = {terms.person} OR t.former = {terms.person}
                OR ({terms.team} = 1 AND t.is_shared = 1) OR @@readable(t.session) = {terms.key}
            WHEN t.kind = '{ChangeKind.HOOK_DELIVERED}' THEN {told_by("t.session")}
            ELSE EXISTS (
                SELECT 1 FROM {tables}sessions AS e
                WHERE e.owner = t.owner AND e.key = @@readable(t.session) AND {sees("e")}
            )
        END""",
        "tombstones": f"t.owner = {terms.owner} AND t.person = {terms.person}",
        "machines": f"""t.owner = {terms.owner} AND (
            t.person = {terms.person} OR t.origin IN (SELECT origin FROM {terms.views}sessions)
        )""",
        "backups": "1 = 0",
        "leases": "1 = 0",
    }


def replace_columns(terms: ViewerTerms) -> Mapping[tuple[str, str], str]:
    """Return the columns that do not show what they have, by table and name."""
    return {
        # Of whom a session was copied is told only within one person's own.
        ("sources", "copied_from"): f"""(
            SELECT c.key FROM {terms.views}sessions AS c WHERE c.owner = t.owner AND c.key = t.copied_from
            AND c.person IS NOT DISTINCT FROM (
                SELECT e.person FROM {terms.tables}sessions AS e WHERE e.id = t.session
            )
        )""",
        ("usage_groups", "audience"): "CAST(0 AS smallint)",
    }


UNSEEN = frozenset({
    "migrations", "feed", "rules", "summaries", "outlines", "generations", "frames", "tail_frames", "segments",
    "segment_data", "answers", "shared_answers", "usage_rollup",
    "cells", "new_cells", "text_runs", "vocabulary", "search_state",
    "texts", "text_words", "text_words_gone", "text_state",
})  # fmt: skip
"""The other tables: everybody may know what is in them, or it is found only by a number that a view gave."""


def build_view(terms: ViewerTerms, table: str, columns: list[str]) -> str:
    """Return the statement that shows a table's columns as its viewer sees them."""
    instead = replace_columns(terms)
    shown = ", ".join(f"{instead.get((table, name), f't.{name}')} AS {name}" for name in columns)
    return f"SELECT {shown} FROM {terms.tables}{table} AS t WHERE {list_views(terms)[table]}"


def build_hook_events(terms: ViewerTerms) -> str:
    """Return spec 002's view of the deliveries that are seen."""
    return HOOK_EVENTS.replace("FROM hook_deliveries", f"FROM {terms.views}hook_deliveries")

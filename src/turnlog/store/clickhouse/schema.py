"""The tables.

Text that comes from data is bytes (`turnlog.store.packing`), which ClickHouse's `String` takes as they are.
What has a name has a number that follows from it (`ids`), 128 bits wide.

*Published* tables have one row for each key, the newest, by `write`: readers say `FINAL`. *Staged* tables have
facts, which never change, and derived rows by revision: of each row the newest counts that is not newer than
the revision that the session's row names. What is staged and was never published is deleted by its `write`.

A session belongs to the day on which it was first written, `born`, with all that is kept of it: partitions and
retention go by it, so that a session is kept or dropped as a whole.
"""

from __future__ import annotations

from turnlog.store.clickhouse.hook_schema import HOOK_TABLES, HOOK_VIEWS
from turnlog.store.clickhouse.search_schema import SEARCH_TABLES, SEARCH_VIEWS
from turnlog.store.clickhouse.session_schema import SESSIONS, SUMMARIES, SUMMARISED
from turnlog.store.clickhouse.tables import FEW, FEW_OR_NONE, ID, SOME, TEXT, WHOLE, Table, View
from turnlog.store.clickhouse.usage_schema import USAGE_TABLES, USAGE_VIEWS

__all__ = ["PUBLISHED", "STAGED", "TABLES", "VIEWS"]

_RAW = "String CODEC(ZSTD(3))"

SOURCES = Table(
    name="sources",
    key=("session", "source"),
    version="write",
    columns={
        "session": ID, "source": ID, "write": "UInt64", "born": "Date", "name": "String", "kind": FEW,
        "agent_id": TEXT, "run_id": TEXT, "copied_from": TEXT, "path": "String", "present": "Bool",
        "generation": WHOLE,           # the newest
    },
    indexes=("by_source source TYPE bloom_filter GRANULARITY 1",),
)  # fmt: skip
PATHS = Table(
    name="source_paths",                  # where a file was seen, and when that changed
    key=("session", "source", "at_ns"),
    version="write",
    columns={
        "session": ID, "source": ID, "at_ns": WHOLE, "write": "UInt64", "born": "Date", "path": "String",
        "present": "Bool",
    },
)  # fmt: skip
GENERATIONS = Table(
    name="generations",
    key=("session", "source", "generation"),
    version="write",
    columns={
        "session": ID, "source": ID, "generation": WHOLE, "write": "UInt64", "born": "Date",
        "length": WHOLE, "sealed": WHOLE, "consumed": WHOLE, "in_array": "Bool", "lines": WHOLE,
        "checkpoint": TEXT,
        # The frames behind `sealed`: start, length, digest, blob, where it begins there, how many bytes it has.
        "tail": "Array(Tuple(Int64, Int64, String, String, Int64, Int64))",
    },
)  # fmt: skip
FRAMES = Table(
    name="frames",                        # sealed ones; the bytes are in blobs
    key=("session", "source", "generation", "start"),
    version="write",
    by_month=True,
    columns={
        "session": ID, "source": ID, "generation": WHOLE, "start": WHOLE, "write": "UInt64",
        "born": "Date", "length": WHOLE, "digest": "String", "blob": "String", "at": WHOLE,
        "size": WHOLE,
    },
)  # fmt: skip
LINES = Table(
    name="lines",
    key=("session", "source", "generation", "number"),
    version="write",
    by_month=True,
    columns={
        "session": ID, "source": ID, "generation": WHOLE, "number": WHOLE, "write": "UInt64",
        "born": "Date", "start": "Int64 CODEC(Delta, ZSTD)", "length": WHOLE, "dialect": FEW, "type": FEW,
        "uuid": TEXT, "parent": TEXT,   # as packing.pack_uuid has them
        "session_id": FEW_OR_NONE, "agent_id": FEW_OR_NONE, "message_id": TEXT,
        "time": "Nullable(Int64) CODEC(Delta, ZSTD)", "sidechain": "Bool", "problems": WHOLE,
        "twin": f"Nullable({ID})",       # of the first lines, the number of the parent: see `list_twins`
    },
    indexes=("by_twin twin TYPE bloom_filter GRANULARITY 4",),
)  # fmt: skip
ROWS = Table(
    name="rows",                          # derived ones of all kinds: see `kinds`
    key=("session", "kind", "source", "idx", "revision"),
    version="write",
    by_month=True,
    columns={
        "session": ID, "kind": "UInt8", "source": ID, "idx": WHOLE, "revision": "UInt64",
        "write": "UInt64", "born": "Date",
        "gone": "Bool",                   # from this revision on there is no such row
        "digest": "UInt64",               # by which rows are compared
        "row": _RAW,                      # all of it, packed
        # what queries look for; each kind has some of them
        "id": TEXT, "name": TEXT, "role": FEW, "lane": FEW, "category": FEW_OR_NONE, "state": FEW,
        "agent": FEW_OR_NONE, "agent_type": FEW_OR_NONE, "parent": SOME, "branch": WHOLE, "active": "Bool",
        "turn": SOME, "message": SOME, "reached": SOME, "line": WHOLE,
        "at_source": ID, "at_generation": WHOLE, "at_start": WHOLE, "block": WHOLE,
        "result_source": f"Nullable({ID})", "result_generation": WHOLE, "result_start": WHOLE,
        "result_block": SOME,
        "path": TEXT, "started": SOME, "ended": SOME, "duration_ms": SOME, "hook": FEW_OR_NONE,
        "tool_use_id": TEXT, "time": SOME,
        "answer": ID,                    # of a sighting: the number of the message that it is of
    },
)  # fmt: skip
SIGHTINGS = Table(
    name="sightings",                     # those of `rows`, by the answer that they are of
    key=("answer", "session", "source", "idx", "revision"),
    version="write",
    columns={
        "answer": ID, "session": ID, "source": ID, "idx": WHOLE, "revision": "UInt64", "write": "UInt64",
        "born": "Date", "gone": "Bool", "row": _RAW,
    },
)  # fmt: skip
SIGHTED = View(
    name="sighted",
    source="rows",
    target="sightings",
    select="SELECT answer, session, source, idx, revision, write, born, gone, row FROM rows WHERE kind = 6",
)

ABOUT = Table(
    name="about",                         # whose tables these are: the name of the store
    key=("name",),
    columns={"name": "String", "value": "String"},
    expires=False,
)  # fmt: skip

TABLES: tuple[Table, ...] = (
    SESSIONS, SUMMARIES, SOURCES, PATHS, GENERATIONS, FRAMES, LINES, ROWS, SIGHTINGS, *SEARCH_TABLES,
    *USAGE_TABLES, *HOOK_TABLES, ABOUT,
)  # fmt: skip
VIEWS: tuple[View, ...] = (SUMMARISED, SIGHTED, *SEARCH_VIEWS, *USAGE_VIEWS, *HOOK_VIEWS)
PUBLISHED = frozenset({"sessions", "sources", "source_paths", "generations", "deliveries"})
STAGED = frozenset({"frames", "lines", "rows", "sightings", "texts"})

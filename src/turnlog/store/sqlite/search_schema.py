"""The tables of search: which words are in which cells, and which texts the cells are of.

Texts are kept in runs of up to some hundred of one file, packed: a row for each would take more room than the
index of its words. The index has no texts: those are in the archive. Cells that wait to be indexed have them.
"""

from __future__ import annotations

__all__ = ["CELL_INDEX", "DROP_SEARCH_TABLES", "SEARCH_TABLES"]

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

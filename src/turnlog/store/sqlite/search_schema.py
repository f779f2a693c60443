"""The tables of search: which words are in which cells, and which texts the cells are of.

Texts are kept in runs of up to some hundred of one file, packed: a row for each would take more room than the
index of its words. The cells of each distinct text are indexed once; a repeated text refers to those of the
first. The index has no texts: those are in the archive.
"""

from __future__ import annotations

__all__ = ["DROP_SEARCH_TABLES", "SEARCH_TABLES"]

SEARCH_TABLES = """
CREATE VIRTUAL TABLE cells USING fts5 (
    body, content='', contentless_delete=1, detail=none, tokenize="unicode61 remove_diacritics 0"
);
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
CREATE TABLE text_repeats (            -- which runs have a text whose cells are those of another
    first_cell  INTEGER NOT NULL,
    run         INTEGER NOT NULL,
    cells       INTEGER NOT NULL,
    PRIMARY KEY (first_cell, run)
) WITHOUT ROWID;
CREATE TABLE text_orphans (            -- cells whose own text is gone, and that others refer to
    first_cell  INTEGER PRIMARY KEY
);
CREATE TABLE text_digests (            -- of texts that are long enough to be kept once
    digest      BLOB PRIMARY KEY,
    first_cell  INTEGER NOT NULL,
    cells       INTEGER NOT NULL
) WITHOUT ROWID;
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

DROP_SEARCH_TABLES = """
DROP TABLE cells;
DROP TABLE text_runs;
DROP TABLE text_repeats;
DROP TABLE text_orphans;
DROP TABLE text_digests;
DROP TABLE vocabulary;
DROP TABLE search_state;
"""

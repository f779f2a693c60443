"""The tables of search: which words are in which texts, and which words there are.

A text has one row, with the numbers of its words (`words.number_word`), each once and in order. There is an
index by number, and one by time. Two words may have the same number: then a text is proposed that has no hit,
which the matcher finds out. The words themselves are listed, so that fragments of words can be looked for; the
list may have a word twice, if two processes added it at once, which does no harm and lets nobody wait.

What is new waits beside an index until there is enough to merge; with the usual 4 MB for each month, the
indexes would be twice as large, and a search would have to read all of it.
"""

from __future__ import annotations

__all__ = ["SEARCH_TABLES", "SEARCH_TABLE_NAMES"]

SEARCH_TABLES = """
CREATE SEQUENCE text_ids;              -- no number is given twice: cursors name them
CREATE TABLE texts (
    month       integer NOT NULL,      -- of its file's rows, or when a hook delivered it
    owner       integer NOT NULL,
    time        bigint NOT NULL,       -- microseconds since 1970, 0 if it has none
    id          bigint NOT NULL,
    generation  bigint NOT NULL,       -- 0 for hook deliveries
    number      bigint NOT NULL,       -- of its line; of a hook delivery, its own
    ordinal     integer NOT NULL,
    block       integer NOT NULL,
    state       smallint NOT NULL,     -- its kind, times two, and one for an error
    cells       integer NOT NULL,      -- how long it is
    words       integer[] NOT NULL,
    counts      bytea                  -- in how many cells each word is, up to 255; NULL if there is one cell
) PARTITION BY RANGE (month);
CREATE INDEX texts_by_time ON texts (owner, time, id);
CREATE INDEX texts_by_line ON texts (generation, number);
CREATE INDEX texts_by_word ON texts USING gin (words) WITH (gin_pending_list_limit = 256);
CREATE TABLE text_owners (
    id     integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner  text COLLATE "C" NOT NULL UNIQUE
);
CREATE TABLE text_words (              -- but for those of scripts without spaces
    number  integer NOT NULL,
    word    text COLLATE "C" NOT NULL
);
CREATE INDEX text_words_by_number ON text_words (number);
CREATE INDEX text_words_by_fragment ON text_words
    USING gin (word gin_trgm_ops) WITH (gin_pending_list_limit = 256);
CREATE TABLE text_words_gone (         -- numbers of words that some text lost: nobody may have them any more
    number  integer NOT NULL
);
CREATE TABLE text_state (
    settled  bigint NOT NULL           -- up to which text everything was put in order
);
INSERT INTO text_state VALUES (0);
"""

SEARCH_TABLE_NAMES = ("texts", "text_words", "text_words_gone")
"""What is emptied when everything is to be written anew."""

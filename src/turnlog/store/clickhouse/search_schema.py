"""The tables of search: which words are in which texts, and which words there are.

A text has one row, in the order in which texts are found: by time. The index by word tells which rows have a
word without reading them, and is asked together with the order, so that a search reads the newest rows that
have its words, and no others.

Texts are staged, and nobody takes them away when their file begins anew. Which of them count is told by the
rows of their file: those of its newest generation, by writes that are published (`search_rows`).

The words themselves are listed, so that fragments of words can be looked for. A view lists them as texts come;
those that no text has any more are deleted when everything is put in order (`words.purge_words`).
"""

from __future__ import annotations

from turnlog.store.clickhouse.tables import WHOLE, Table, View

__all__ = ["SEARCH_TABLES", "SEARCH_VIEWS", "TEXTS", "WORDS"]


TEXTS = Table(
    name="texts",
    key=("owner", "time", "file", "at", "generation", "write"),
    by_month=True,
    columns={
        "owner": "LowCardinality(String)",
        "time": "Int64 CODEC(Delta, ZSTD)",     # microseconds since 1970, 0 if it has none
        "file": WHOLE,                         # 63 bits of the file's number; of a hook delivery, its own
        "at": WHOLE,                           # its line, and which passage of that it is: see `texts.place`
        "generation": WHOLE, "write": "UInt64", "born": "Date",
        "session": "UInt128",                   # 0 for hook deliveries
        "block": WHOLE,
        "state": "UInt8",                       # its kind, times two, and one for an error
        "cells": WHOLE,                        # how long it is
        "words": "Array(String) CODEC(ZSTD)",   # each once, in order
        "counts": "Array(UInt8) CODEC(ZSTD)",   # in how many cells each word is, up to 255; empty: in one each
    },
    indexes=(
        "by_word words TYPE text(tokenizer = 'array')",
        "by_session session TYPE bloom_filter GRANULARITY 1",
        "by_write write TYPE minmax GRANULARITY 1",
    ),
)  # fmt: skip
WORDS = Table(
    name="words",
    key=("word",),
    version="write",
    by_month=True,
    columns={"word": "String", "write": "UInt64", "born": "Date"},
    indexes=("by_fragment word TYPE text(tokenizer = ngrams(3))",),
)
"""All words: of each month as if of its last day, so that they stay as long as any text of that month."""
LISTED = View(
    name="listed",
    source="texts",
    target="words",
    select=(
        "SELECT arrayJoin(t.words) AS word, max(t.write) AS write, toLastDayOfMonth(t.born) AS born "
        "FROM texts AS t GROUP BY word, born"
    ),
)

SEARCH_TABLES: tuple[Table, ...] = (TEXTS, WORDS)
SEARCH_VIEWS: tuple[View, ...] = (LISTED,)

"""Prices that were asked for before, kept in a file.

Loading the price list takes longer than counting the tokens of a month. A program that starts often remembers
what it was told, for as long as the list that is installed is the same file.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import date
from pathlib import Path

import msgspec
from msgspec import Struct

from turnlog.transcripts.usage.price_list import PriceTable, Quote, find_quote, find_table, identify_list
from turnlog.transcripts.usage.tokens import Terms

__all__ = ["QuoteMemory"]

_MOST = 4096
"""How many prices are remembered: names of models are anybody's."""
_Key = tuple[str, date, Terms]


class _Kept(Struct, frozen=True, array_like=True):
    installed: str
    table: PriceTable
    quotes: list[tuple[_Key, Quote | None]]


class QuoteMemory:
    """Prices by model, day and terms; `save` keeps those that were new."""

    def __init__(self, path: Path) -> None:
        """Begin with what is in a file, which need not be there."""
        self._path = path
        self._list = identify_list()
        self._table: PriceTable | None = None
        self._quotes: dict[_Key, Quote | None] = {}
        self._is_new = False
        with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
            kept = msgspec.msgpack.decode(path.read_bytes(), type=_Kept)
            if kept.installed == self._list:
                self._table, self._quotes = kept.table, dict(kept.quotes)

    def find(self, model: str, day: date, terms: Terms) -> Quote | None:
        """Return the prices of a model on a day; None if the list does not have it."""
        key = model, day, terms
        if key not in self._quotes:
            self._quotes[key] = find_quote(model, day, terms)
            self._is_new = True
        return self._quotes[key]

    def find_table(self) -> PriceTable:
        """Return which table is installed."""
        if self._table is None:
            self._table = find_table()
            self._is_new = True
        return self._table

    def save(self) -> None:
        """Keep what was asked for; where nothing can be written, it is asked for again the next time."""
        if not self._is_new:
            return
        kept = _Kept(self._list, self.find_table(), list(self._quotes.items())[-_MOST:])
        with suppress(OSError, UnicodeEncodeError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = self._path.with_name(f"{self._path.name}.{os.getpid()}")
            new.write_bytes(msgspec.msgpack.encode(kept))
            os.replace(new, self._path)
        self._is_new = False

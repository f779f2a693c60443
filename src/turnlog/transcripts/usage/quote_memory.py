"""Prices that were asked for before, kept in a file.

Loading the price list takes longer than counting the tokens of a month. A program that starts often remembers
what it was told, for as long as the list that is installed is the same file.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import date
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Struct

from turnlog.transcripts.usage.price_list import PriceTable, Quote, find_quote, find_table, identify_list
from turnlog.transcripts.usage.tokens import Terms

_MOST = 4096
"""How many prices are remembered: names of models are anybody's."""
_Key = tuple[str, date, Terms]


class _Kept(Struct, frozen=True, array_like=True):
    installed: str
    table: PriceTable | None
    quotes: list[tuple[_Key, Quote | None]]


class QuoteMemory:
    """Prices by model, day and terms; `save` keeps those that were new."""

    def __init__(self, path: Path) -> None:
        """Begin with what is in a file, which need not be there, and is read for the first price."""
        self._path = path
        self._is_new = False

    @cached_property
    def _kept(self) -> _Kept:
        installed = identify_list()
        with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
            kept = msgspec.msgpack.decode(self._path.read_bytes(), type=_Kept)
            if kept.installed == installed:
                return kept
        return _Kept(installed, None, [])

    @cached_property
    def _quotes(self) -> dict[_Key, Quote | None]:
        return dict(self._kept.quotes)

    @cached_property
    def _table(self) -> PriceTable:
        if self._kept.table is not None:
            return self._kept.table
        self._is_new = True
        return find_table()

    def find(self, model: str, day: date, terms: Terms) -> Quote | None:
        """Return the prices of a model on a day; None if the list does not have it."""
        key = model, day, terms
        if key not in self._quotes:
            self._quotes[key] = find_quote(model, day, terms)
            self._is_new = True
        return self._quotes[key]

    def find_table(self) -> PriceTable:
        """Return which table is installed."""
        return self._table

    def save(self) -> None:
        """Keep what was asked for; where nothing can be written, it is asked for again the next time."""
        if not self._is_new:
            return
        kept = _Kept(self._kept.installed, self._table, list(self._quotes.items())[-_MOST:])
        with suppress(OSError, UnicodeEncodeError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = self._path.with_name(f"{self._path.name}.{os.getpid()}")
            new.write_bytes(msgspec.msgpack.encode(kept))
            os.replace(new, self._path)
        self._is_new = False

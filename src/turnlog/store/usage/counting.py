"""Cells of many answers at once: what is priced alike is added up first, and priced together.

The figures are those of `build_cell` one by one, in a fraction of its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from turnlog.instants import to_microseconds
from turnlog.store.usage.cells import QUARTER, Home, UsageCell, join_terms, name_agent
from turnlog.transcripts.usage.charges import Charger, charge, number_band
from turnlog.transcripts.usage.election import MessageUsage
from turnlog.transcripts.usage.price_list import Quote
from turnlog.transcripts.usage.tokens import Attribution, Sighting, Terms, Tokens

__all__ = ["build_cells"]


_Key = tuple[int | None, str, str, str | None, Attribution, Terms, int, bool]
"""Slot, session, source, model, attribution, terms, band of prices, whether the web was searched."""


class _Sum:
    """What some answers come to, that are priced alike."""

    __slots__ = ("counts", "first", "incomplete", "last", "messages", "quote")

    def __init__(self, quote: Quote | None, time: int | None) -> None:
        self.quote = quote
        self.messages = self.incomplete = 0
        self.counts = [0, 0, 0, 0, 0, 0]
        self.first = self.last = time

    def add(self, answer: MessageUsage | Sighting, time: int | None) -> None:
        """Take an answer in."""
        tokens, counts = answer.tokens, self.counts
        self.messages += 1
        self.incomplete += not (answer.ended if isinstance(answer, Sighting) else answer.complete)
        counts[0] += tokens.input
        counts[1] += tokens.output
        counts[2] += tokens.cache_read
        counts[3] += tokens.cache_write_5m
        counts[4] += tokens.cache_write_1h
        counts[5] += tokens.web_searches
        if time is not None and self.first is not None and self.last is not None:
            if time < self.first:
                self.first = time
            elif time > self.last:
                self.last = time


def build_cells(
    answers: Iterable[MessageUsage | Sighting], charger: Charger, homes: Mapping[str, Home]
) -> list[UsageCell]:
    """Return what answers used and cost in quarters of an hour; `homes` are those of sources.

    An answer that was seen in one place alone may be given as it was seen there.
    """
    sums: dict[_Key, _Sum] = {}
    for answer in answers:
        moment, tokens, model, terms = answer.time, answer.tokens, answer.model, answer.terms
        time = None if moment is None else to_microseconds(moment)
        quote = charger.find_quote(model, time, terms)
        band = 0 if quote is None else number_band(quote, tokens)
        slot, searched = None if time is None else time // QUARTER, tokens.web_searches > 0
        key = slot, answer.session, answer.source, model, answer.attribution, terms, band, searched
        found = sums.get(key)
        if found is None:
            found = sums[key] = _Sum(quote, time)
        found.add(answer, time)
    return [_build(key, found, homes[key[2]]) for key, found in sums.items()]


def _build(key: _Key, found: _Sum, home: Home) -> UsageCell:
    slot, session, _, model, behalf, _, band, _ = key
    tokens = Tokens(*found.counts)
    charged = None if found.quote is None else charge(found.quote, band, tokens)
    return UsageCell(
        slot=slot,
        session=session,
        home=home,
        model=model,
        agent=name_agent(behalf.agent, behalf.agent_id),
        skill=behalf.skill,
        mcp_server=behalf.mcp_server,
        terms="" if charged is None else join_terms(charged.unpriced_terms),
        messages=found.messages,
        incomplete=found.incomplete,
        unpriced=found.messages if charged is None else 0,
        input=tokens.input,
        output=tokens.output,
        cache_read=tokens.cache_read,
        cache_write_5m=tokens.cache_write_5m,
        cache_write_1h=tokens.cache_write_1h,
        web_searches=tokens.web_searches,
        cost=0 if charged is None else charged.cost,
        saved=0 if charged is None else charged.saved,
        first=found.first,
        last=found.last,
    )

"""What messages cost.

A message is priced as of its own day, in the band of its own prompt. A model that the price list does not have
is named as unpriced. So are terms (speed, tier, geography) that it has no price for: the message is then priced
as if served the standard way. Whoever has prices of their own can put them in place of the list's.

Money is `Decimal`, exact to the last digit, and never rounded here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from datetime import UTC, date
from decimal import Decimal, localcontext

from msgspec import Struct

from turnlog.transcripts.usage.election import MessageUsage
from turnlog.transcripts.usage.ledger import Bill, Ledger, list_unpriced, trim
from turnlog.transcripts.usage.price_list import (
    EXACT,
    PriceTable,
    Quote,
    Rates,
    UnitPrices,
    find_quote,
    find_table,
    quote_rates,
    strip_context,
)
from turnlog.transcripts.usage.quote_memory import QuoteMemory
from turnlog.transcripts.usage.tokens import Terms, Tokens


class Price(Struct, frozen=True, gc=False):
    """What one message cost, in dollars."""

    total: Decimal
    input: Decimal
    """Cache reads and writes included."""
    output: Decimal
    web_searches: Decimal
    unpriced_terms: tuple[str, ...] = ()
    """What the list has no price for, as `speed=fast` or `web_searches`: the real price differs."""


class Prices:
    """A price list: the table that is installed, and over it the caller's own prices by model."""

    def __init__(self, overrides: Mapping[str, Rates] | None = None, memory: QuoteMemory | None = None) -> None:
        """Raise `ValueError` for a rate that is no amount of money."""
        self._overrides = dict(overrides or {})
        self._memory = memory
        for model, rates in self._overrides.items():
            quote_rates(model, rates, Terms())
        self._quotes: dict[tuple[str, date, Terms], Quote | None] = {}

    def find_price(self, message: MessageUsage) -> Price | None:
        """Return what a message cost; None if its model has no price."""
        quote = self._find_quote(message)
        if quote is None:
            return None
        prices, tokens = find_band(quote, message.tokens), message.tokens
        with localcontext(EXACT):
            input_, output = prices.price_input(tokens), tokens.output * prices.output
            searches = tokens.web_searches * prices.web_search
            total = input_ + output + searches
        return Price(
            total=trim(total),
            input=trim(input_),
            output=trim(output),
            web_searches=trim(searches),
            unpriced_terms=list_unpriced(quote, tokens),
        )

    def build_bill(self, messages: Iterable[MessageUsage]) -> Bill:
        """Price messages together: the same to the last digit as one by one, but faster."""
        ledger = self.open_ledger()
        for message in messages:
            ledger.add(message)
        return ledger.build()

    def open_ledger(self) -> Ledger:
        """Return a ledger in which messages are priced by this list."""
        return Ledger(self._find_quote)

    def find_quote(self, model: str, day: date | None, terms: Terms) -> Quote | None:
        """Return the prices of a model on a day of UTC; None if it has none.

        Lists change from one day to the next. What bears no time is priced by the newest.
        """
        key = model, self.find_table().newest if day is None else day, terms
        if key not in self._quotes:
            self._quotes[key] = self._quote(*key)
        return self._quotes[key]

    def find_table(self) -> PriceTable:
        """Return which table is used, where there are no prices of one's own."""
        return find_table() if self._memory is None else self._memory.find_table()

    def _find_quote(self, message: MessageUsage) -> Quote | None:
        if message.model is None:
            return None
        day = None if message.time is None else message.time.astimezone(UTC).date()
        return self.find_quote(message.model, day, message.terms)

    def _quote(self, model: str, day: date, terms: Terms) -> Quote | None:
        own = self._overrides.get(model) or self._overrides.get(strip_context(model))
        if own is not None:
            return quote_rates(model, own, terms)
        return find_quote(model, day, terms) if self._memory is None else self._memory.find(model, day, terms)


def find_band(quote: Quote, tokens: Tokens) -> UnitPrices:
    """Return the prices that hold for a prompt of such a length."""
    return quote.bands[bisect_left(quote.starts, tokens.prompt)]

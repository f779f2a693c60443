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

from turnlog.transcripts.usage.fold import MessageUsage, Totals, build_total
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
from turnlog.transcripts.usage.sightings import Terms, Tokens

__all__ = ["Bill", "Price", "PriceTable", "Prices", "Rates", "find_table"]

_WEB_SEARCHES = "web_searches"


class Price(Struct, frozen=True, gc=False):
    """What one message cost, in dollars."""

    total: Decimal
    input: Decimal
    """Cache reads and writes included."""
    output: Decimal
    web_searches: Decimal
    unpriced_terms: tuple[str, ...] = ()
    """What the list has no price for, as `speed=fast` or `web_searches`: the real price differs."""


class Bill(Struct, frozen=True, gc=False):
    """What several messages cost together, and what is not in the sum."""

    totals: Totals
    cost: Decimal
    unpriced: dict[str | None, Totals]
    """Messages whose model has no price, by model: the cost does not include them."""
    unpriced_terms: dict[str, Totals]
    """Messages whose price leaves something out, by what that is: the cost includes the rest of them."""


class Prices:
    """A price list: the table that is installed, and over it the caller's own prices by model."""

    def __init__(self, overrides: Mapping[str, Rates] | None = None) -> None:
        """Raise `ValueError` for a rate that is no amount of money."""
        self._overrides = dict(overrides or {})
        for model, rates in self._overrides.items():
            quote_rates(model, rates, Terms())
        self._quotes: dict[tuple[str, date, Terms], Quote | None] = {}

    def find_price(self, message: MessageUsage) -> Price | None:
        """Return what a message cost; None if its model has no price."""
        quote = self._find_quote(message)
        if quote is None:
            return None
        prices, tokens = _find_band(quote, message.tokens), message.tokens
        with localcontext(EXACT):
            input_, output = prices.price_input(tokens), tokens.output * prices.output
            searches = tokens.web_searches * prices.web_search
            total = input_ + output + searches
        return Price(
            total=_trim(total),
            input=_trim(input_),
            output=_trim(output),
            web_searches=_trim(searches),
            unpriced_terms=_list_unpriced(quote, tokens),
        )

    def build_bill(self, messages: Iterable[MessageUsage]) -> Bill:
        """Price messages together: the same to the last digit as one by one, but faster."""
        billed = list(messages)
        used: dict[tuple[int, int], tuple[UnitPrices, Tokens]] = {}
        unpriced: dict[str | None, list[MessageUsage]] = {}
        partly: dict[str, list[MessageUsage]] = {}
        for message in billed:
            quote = self._find_quote(message)
            if quote is None:
                unpriced.setdefault(message.model, []).append(message)
                continue
            for term in _list_unpriced(quote, message.tokens):
                partly.setdefault(term, []).append(message)
            band = bisect_left(quote.starts, message.tokens.prompt)
            prices, tokens = used.get((id(quote), band), (quote.bands[band], Tokens()))
            used[id(quote), band] = prices, tokens + message.tokens
        return Bill(
            totals=build_total(billed),
            cost=_sum(used.values()),
            unpriced={model: build_total(unpriced[model]) for model in sorted(unpriced, key=_by_name)},
            unpriced_terms={term: build_total(partly[term]) for term in sorted(partly)},
        )

    def _find_quote(self, message: MessageUsage) -> Quote | None:
        if message.model is None:
            return None
        # Lists change from one day to the next. What bears no time is priced by the newest.
        day = find_table().newest if message.time is None else message.time.astimezone(UTC).date()
        key = message.model, day, message.terms
        if key not in self._quotes:
            self._quotes[key] = self._quote(*key)
        return self._quotes[key]

    def _quote(self, model: str, day: date, terms: Terms) -> Quote | None:
        own = self._overrides.get(model) or self._overrides.get(strip_context(model))
        return find_quote(model, day, terms) if own is None else quote_rates(model, own, terms)


def _find_band(quote: Quote, tokens: Tokens) -> UnitPrices:
    return quote.bands[bisect_left(quote.starts, tokens.prompt)]


def _list_unpriced(quote: Quote, tokens: Tokens) -> tuple[str, ...]:
    if tokens.web_searches and not quote.searches:
        return (*quote.unpriced_terms, _WEB_SEARCHES)
    return quote.unpriced_terms


def _by_name(model: str | None) -> tuple[bool, str]:
    return model is None, model or ""


def _sum(used: Iterable[tuple[UnitPrices, Tokens]]) -> Decimal:
    amount = Decimal(0)
    with localcontext(EXACT):
        for prices, tokens in used:
            amount += prices.price_input(tokens) + tokens.output * prices.output
            amount += tokens.web_searches * prices.web_search
    return _trim(amount)


def _trim(amount: Decimal) -> Decimal:
    """Return an amount without zeros at its end, but never as a power of ten."""
    whole = amount.to_integral_value()
    return whole.quantize(Decimal(1), context=EXACT) if amount == whole else amount.normalize(EXACT)

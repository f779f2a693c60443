"""What answers cost in whole numbers: millionths of a millionth of a dollar.

Whole numbers add up exactly, in any order and in any engine. Prices of the list are so many whole pico-dollars
for a token; where prices of one's own are not, each answer is rounded by itself.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from msgspec import Struct

from turnlog.transcripts.usage.ledger import list_unpriced, trim
from turnlog.transcripts.usage.price_list import Quote, UnitPrices
from turnlog.transcripts.usage.pricing import Prices
from turnlog.transcripts.usage.tokens import Terms, Tokens

_PICO = 10**12
_DAY = 86_400_000_000
_EPOCH = date(1970, 1, 1).toordinal()

_UNKNOWN = Quote((), (), (), False)
"""Stands for prices that were not asked for yet."""

_Amount = int | Fraction


class Charge(Struct, frozen=True, gc=False):
    """What one answer cost, in pico-dollars."""

    cost: int
    saved: int
    """What cached reads would have cost as plain input, less what writing to the cache cost more than that."""
    unpriced_terms: tuple[str, ...] = ()
    """What the list has no price for: the real price differs."""


class Charger:
    """Charges answers by a price list."""

    def __init__(self, prices: Prices | None = None) -> None:
        self._prices = Prices() if prices is None else prices
        self._quotes: dict[tuple[str | None, int | None, Terms], Quote | None] = {}

    def find_charge(self, model: str | None, time: int | None, tokens: Tokens, terms: Terms) -> Charge | None:
        """Return what an answer of a time (in microseconds since 1970) cost; None if its model has no price."""
        quote = self.find_quote(model, time, terms)
        return None if quote is None else charge(quote, number_band(quote, tokens), tokens)

    def find_quote(self, model: str | None, time: int | None, terms: Terms) -> Quote | None:
        """Return the prices of a model at a time; None if it has none."""
        day = None if time is None else time // _DAY
        key = model, day, terms
        quote = self._quotes.get(key, _UNKNOWN)
        if quote is _UNKNOWN:
            found = None if model is None else self._prices.find_quote(model, _find_date(day), terms)
            self._quotes[key] = quote = found
        return quote


def number_band(quote: Quote, tokens: Tokens) -> int:
    """Return which prices hold for a prompt of such a length."""
    return bisect_left(quote.starts, tokens.prompt) if quote.starts else 0


def charge(quote: Quote, band: int, tokens: Tokens) -> Charge:
    """Return what tokens cost whose prompts are in one band of prices."""
    of = _scale(quote.bands[band])
    cost = (
        tokens.input * of[0]
        + tokens.output * of[1]
        + tokens.cache_read * of[2]
        + tokens.cache_write_5m * of[3]
        + tokens.cache_write_1h * of[4]
        + tokens.web_searches * of[5]
    )
    saved = (
        tokens.cache_read * (of[0] - of[2])
        - tokens.cache_write_5m * (of[3] - of[0])
        - tokens.cache_write_1h * (of[4] - of[0])
    )
    return Charge(round(cost), round(saved), list_unpriced(quote, tokens))


def to_dollars(amount: int) -> Decimal:
    """Return pico-dollars in dollars, to the last digit."""
    return trim(Decimal(amount).scaleb(-12))


@lru_cache(maxsize=4096)
def _scale(prices: UnitPrices) -> tuple[_Amount, ...]:
    """Return what one of each costs in pico-dollars."""
    amounts = (Fraction(getattr(prices, name)) * _PICO for name in prices.__struct_fields__)
    return tuple(int(each) if each.denominator == 1 else each for each in amounts)


def _find_date(day: int | None) -> date | None:
    if day is None:
        return None
    return date.fromordinal(min(max(_EPOCH + day, date.min.toordinal()), date.max.toordinal()))

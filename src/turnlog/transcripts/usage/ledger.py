"""Sums over messages that can be taken back: what they used, what it cost, and what of that is not known.

All of it are sums of whole numbers, priced at the end. So it makes no difference in which order messages come
and go, and a message that turns out to be another is taken out and put in again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import TypeVar

from msgspec import Struct

from turnlog.transcripts.usage.election import MessageUsage, Totals
from turnlog.transcripts.usage.price_list import EXACT, Quote, UnitPrices
from turnlog.transcripts.usage.tokens import Tokens

_WEB_SEARCHES = "web_searches"
_SMALLEST = Decimal("0.0001")
_Key = TypeVar("_Key", str, str | None)


class Bill(Struct, frozen=True, gc=False):
    """What several messages cost together, and what is not in the sum."""

    totals: Totals
    cost: Decimal
    unpriced: dict[str | None, Totals]
    """Messages whose model has no price, by model: the cost does not include them."""
    unpriced_terms: dict[str, Totals]
    """Messages whose price leaves something out, by what that is: the cost includes the rest of them."""


class _Sum:
    """Messages, and what they used, in the making."""

    __slots__ = ("cache_read", "cache_write_1h", "cache_write_5m", "incomplete", "input", "messages", "output",
                 "web_searches")  # fmt: skip

    def __init__(self) -> None:
        self.messages = self.incomplete = self.input = self.output = 0
        self.cache_read = self.cache_write_5m = self.cache_write_1h = self.web_searches = 0

    def add(self, message: MessageUsage, sign: int) -> None:
        tokens = message.tokens
        self.messages += sign
        if not message.complete:
            self.incomplete += sign
        self.input += sign * tokens.input
        self.output += sign * tokens.output
        self.cache_read += sign * tokens.cache_read
        self.cache_write_5m += sign * tokens.cache_write_5m
        self.cache_write_1h += sign * tokens.cache_write_1h
        self.web_searches += sign * tokens.web_searches

    def build_tokens(self) -> Tokens:
        return Tokens(
            self.input,
            self.output,
            self.cache_read,
            self.cache_write_5m,
            self.cache_write_1h,
            self.web_searches,
        )

    def build(self) -> Totals:
        return Totals(self.messages, self.incomplete, self.build_tokens())


class Ledger:
    """What messages amount to, as they come and go."""

    __slots__ = ("_all", "_find_quote", "_partly", "_unpriced", "_used")

    def __init__(self, find_quote: Callable[[MessageUsage], Quote | None]) -> None:
        """Begin with nothing; `find_quote` returns the prices for a message, the same ones each time."""
        self._find_quote = find_quote
        self._all = _Sum()
        self._used: dict[tuple[int, int], tuple[UnitPrices, _Sum]] = {}
        self._unpriced: dict[str | None, _Sum] = {}
        self._partly: dict[str, _Sum] = {}

    @property
    def totals(self) -> Totals:
        """All messages, and what they used."""
        return self._all.build()

    def add(self, message: MessageUsage) -> None:
        """Put a message in."""
        self._add(message, 1)

    def remove(self, message: MessageUsage) -> None:
        """Take a message out that was put in."""
        self._add(message, -1)

    def build(self) -> Bill:
        """Return what all messages cost that are in."""
        return Bill(
            totals=self.totals,
            cost=self._price(),
            unpriced={model: self._unpriced[model].build() for model in sorted(self._unpriced, key=_by_name)},
            unpriced_terms={term: self._partly[term].build() for term in sorted(self._partly)},
        )

    def _add(self, message: MessageUsage, sign: int) -> None:
        self._all.add(message, sign)
        quote = self._find_quote(message)
        if quote is None:
            _count(self._unpriced, message.model, message, sign)
            return
        for term in list_unpriced(quote, message.tokens):
            _count(self._partly, term, message, sign)
        band = bisect_left(quote.starts, message.tokens.prompt)
        found = self._used.get((id(quote), band))
        if found is None:
            found = self._used[id(quote), band] = quote.bands[band], _Sum()
        found[1].add(message, sign)

    def _price(self) -> Decimal:
        amount = Decimal(0)
        with localcontext(EXACT):
            for prices, used in self._used.values():
                amount += prices.price_input(used.build_tokens()) + used.output * prices.output
                amount += used.web_searches * prices.web_search
        return trim(amount)


def join_bills(bills: Iterable[Bill]) -> Bill:
    """Return what messages cost together that are on different bills."""
    totals, cost = Totals(), Decimal(0)
    unpriced: dict[str | None, Totals] = {}
    terms: dict[str, Totals] = {}
    for bill in bills:
        totals += bill.totals
        with localcontext(EXACT):
            cost += bill.cost
        for model, used in bill.unpriced.items():
            unpriced[model] = unpriced.get(model, Totals()) + used
        for term, used in bill.unpriced_terms.items():
            terms[term] = terms.get(term, Totals()) + used
    named = sorted(unpriced.items(), key=lambda item: _by_name(item[0]))
    return Bill(totals, trim(cost), dict(named), dict(sorted(terms.items())))


def list_unpriced(quote: Quote, tokens: Tokens) -> tuple[str, ...]:
    """Return what a message used or was served with that has no price, as `speed=fast` or `web_searches`."""
    if tokens.web_searches and not quote.searches:
        return (*quote.unpriced_terms, _WEB_SEARCHES)
    return quote.unpriced_terms


def trim(amount: Decimal) -> Decimal:
    """Return an amount without zeros at its end, but never as a power of ten."""
    whole = amount.to_integral_value()
    return whole.quantize(Decimal(1), context=EXACT) if amount == whole else amount.normalize(EXACT)


def _count(sums: dict[_Key, _Sum], key: _Key, message: MessageUsage, sign: int) -> None:
    """Count a message in one of several sums; one of no messages is none."""
    found = sums.get(key)
    if found is None:
        found = sums[key] = _Sum()
    found.add(message, sign)
    if not found.messages:
        del sums[key]


def _by_name(model: str | None) -> tuple[bool, str]:
    return model is None, model or ""


def money_text(amount: Decimal) -> str:
    """Return dollars, with four decimals: answers cost fractions of a cent."""
    if 0 < amount < _SMALLEST:
        return f"<${_SMALLEST}"
    return f"${amount.quantize(_SMALLEST, ROUND_HALF_UP):,}"


def cost_text(amount: Decimal, estimated: bool, floor: bool) -> str:
    """Return what something cost, marked where that is only about right, or at least so much."""
    return ("≈" if estimated else "≥" if floor else "") + money_text(amount)


def bill_text(bill: Bill) -> str:
    """Return what messages cost together; nothing if there are none."""
    if not bill.totals.messages:
        return ""
    if sum(totals.messages for totals in bill.unpriced.values()) == bill.totals.messages:
        return "unpriced"
    return cost_text(bill.cost, bool(bill.unpriced_terms), bool(bill.totals.incomplete or bill.unpriced))

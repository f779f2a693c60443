"""What messages cost.

A message is priced as of its own day, in the band of its own prompt. A model that the price list does not have
is named as unpriced. So are terms (speed, tier, geography) that it has no price for: the message is then priced
as if served the standard way. Whoever has prices of their own can put them in place of the list's.

Money is `Decimal`, exact to the last digit, and never rounded here.

The price list is what `genai-prices` knows of Claude's models, as prices of single tokens. Only the table that
is installed is asked, never one that was fetched: the library's own updates are not used, not even those that
other code in the process has started, so the same lines cost the same everywhere and nothing here opens a
connection. Only the list that a model's name points to is asked: Bedrock's or Vertex's for names in their
spelling, else Anthropic's. Models of other makers can be had from several hosts at different prices, and
transcripts do not say from which.

The library and its table take a third of a second to load. They are loaded when the first price is asked for:
nobody else waits for them. It is asked once for each model, day and band, since within a band prices are
proportional.

Loading the list takes longer than counting the tokens of a month, so a program that starts often keeps the
prices it has asked for in a file (`QuoteMemory`), for as long as the same list is installed.

A `Ledger` holds sums of whole numbers, priced at the end. So the order in which messages come and go makes no
difference, and a message that turns out to be another is taken out and put in again.

A `Charger` counts in whole pico-dollars, which add up exactly, in any order and in any engine. The list's
prices are whole pico-dollars for a token; where your own prices are not, each answer is rounded by itself.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from turnlog.transcripts.usage.tokens import MessageUsage, PricingTerms, Tokens, Totals

if TYPE_CHECKING:
    from fractions import Fraction

    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, StartDateConstraint, TieredPrices, Usage

EXACT = Context(prec=60)
"""Enough digits for any sum."""
_LONG_CONTEXT = "[1m]"
_STANDARD: dict[str, frozenset[str | None]] = {
    "service_tier": frozenset({None, "standard", "default"}),
    "speed": frozenset({None, "standard"}),
    "inference_geo": frozenset({None, "not_available", "global"}),
}


class PriceTable(Struct, frozen=True, gc=False):
    """Which prices are used."""

    name: str
    version: str
    newest: date
    """The latest effective date among Anthropic's prices; the table itself has no date."""


class Rates(Struct, frozen=True, gc=False, kw_only=True):
    """Prices of one model, in dollars per million tokens; what is left out costs as much as input."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write_5m: Decimal | None = None
    cache_write_1h: Decimal | None = None
    """If left out, as much as 5-minute writes."""
    web_searches: Decimal | None = None
    """Per thousand; unpriced if left out."""


class UnitPrices(Struct, frozen=True, gc=False):
    """What one of each costs, in dollars."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    web_search: Decimal

    def price_input(self, tokens: Tokens) -> Decimal:
        """Return what went in, from the cache or to it or past it."""
        return (
            tokens.input * self.input
            + tokens.cache_read * self.cache_read
            + tokens.cache_write_5m * self.cache_write_5m
            + tokens.cache_write_1h * self.cache_write_1h
        )


class Quote(Struct, frozen=True, gc=False):
    """The prices of a model on a day: one for each band, and where the bands after the first begin."""

    starts: tuple[int, ...]
    bands: tuple[UnitPrices, ...]
    unpriced_terms: tuple[str, ...]
    """The terms that the list has no price for."""
    searches: bool
    """Whether it has a price for web searches."""


def quote_rates(model: str, rates: Rates, terms: PricingTerms) -> Quote:
    """Return prices of one's own; raise `ValueError` for a rate that is no amount of money."""
    price = _own_price(model, rates)
    special = tuple(f"{key}={value}" for key, value in _special(terms))
    return Quote((), (_measure(price),), special, rates.web_searches is not None)


@lru_cache(maxsize=4096)  # the list does not change while we run; names of models are anybody's
def find_quote(model: str, day: date, terms: PricingTerms) -> Quote | None:
    """Return the prices of a model on a day; None if the list does not have it."""
    listed = _find_model(strip_context(model))
    if listed is None:
        return None
    moment = datetime.combine(day, time(), UTC)
    price = listed.get_prices(moment, _context(terms))
    # The table has one object for all days on which a price holds, and keeps it.
    _, starts, bands = _bands.get(id(price)) or _bands.setdefault(id(price), _measure_bands(price))
    return Quote(
        starts,
        bands,
        tuple(f"{key}={value}" for key, value in _special(terms) if not _is_listed(listed, key, terms, moment)),
        price.web_searches_kcount is not None,
    )


@lru_cache(maxsize=4096)
def find_context_window(model: str) -> int | None:
    """Return how many tokens a model can have in its context; None if the list does not say."""
    listed = _find_model(strip_context(model))
    return None if listed is None else listed.context_window


def strip_context(model: str) -> str:
    """Return a model's name without the mark of a long context, which has no list of its own."""
    return model.removesuffix(_LONG_CONTEXT)


@cache
def find_table() -> PriceTable:
    """Return which table is installed."""
    return PriceTable("genai-prices", _library().version, _newest())


@cache
def identify_list() -> str:
    """Return what changes when another table is installed, without loading it."""
    found = find_spec("genai_prices")
    if found is None or found.origin is None:
        return ""
    home = os.path.dirname(found.origin)
    size = os.stat(os.path.join(home, "data.py")).st_size
    # The library asks `importlib.metadata` for its version, which takes as long as all else together.
    versions = sorted(name for name in os.listdir(os.path.dirname(home)) if name.startswith("genai_prices-"))
    return " ".join((*versions, str(size)))


@cache
def _library() -> _Library:
    # Import statements would load it with this module, or stand inside a function.
    types, table = import_module("genai_prices.types"), import_module("genai_prices.data")
    snapshot = import_module("genai_prices.data_snapshot").DataSnapshot
    return _Library(
        import_module("genai_prices").__version__,
        snapshot(providers=table.providers, from_auto_update=False),
        types.Usage,
        types.ModelPrice,
        types.StartDateConstraint,
    )


class _Library(NamedTuple):
    """What is used of the library: the table that is installed, and types."""

    version: str
    installed: DataSnapshot
    usage: type[Usage]
    price: type[ModelPrice]
    since: type[StartDateConstraint]


_bands: dict[int, tuple[ModelPrice, tuple[int, ...], tuple[UnitPrices, ...]]] = {}


def _measure_bands(price: ModelPrice) -> tuple[ModelPrice, tuple[int, ...], tuple[UnitPrices, ...]]:
    tiered = (value for value in vars(price).values() if not isinstance(value, Decimal | None))
    starts = tuple(sorted({tier.start for value in tiered for tier in value.tiers}))
    bands: list[UnitPrices] = []
    for prompt in (0, *(start + 1 for start in starts)):
        # All tokens of a prompt of this length cost the same.
        flat = {key: _tier(value, prompt) for key, value in vars(price).items()}
        bands.append(_measure(_library().price(**flat)))
    return price, starts, tuple(bands)


def _measure(price: ModelPrice) -> UnitPrices:
    """Return what one of each costs: the library is asked for each by itself."""
    units = (
        Tokens(input=1),
        Tokens(output=1),
        Tokens(cache_read=1),
        Tokens(cache_write_5m=1),
        Tokens(cache_write_1h=1),
        Tokens(web_searches=1),
    )
    with localcontext(EXACT):
        return UnitPrices(*(price.calc_price(_library_usage(unit))["total_price"] for unit in units))


def _library_usage(tokens: Tokens) -> Usage:
    return _library().usage(
        input_tokens=tokens.prompt,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write_5m + tokens.cache_write_1h,
        cache_write_5m_tokens=tokens.cache_write_5m,
        cache_write_1h_tokens=tokens.cache_write_1h,
        web_searches=tokens.web_searches,
    )


def _own_price(model: str, rates: Rates) -> ModelPrice:
    for name in rates.__struct_fields__:
        rate = getattr(rates, name)
        if rate is not None and not (isinstance(rate, Decimal) and rate.is_finite() and rate >= 0):
            raise ValueError(f"expected a Decimal of at least 0, got {rate!r} - at `{model}`, `{name}`")
    writes = rates.input if rates.cache_write_5m is None else rates.cache_write_5m
    return _library().price(
        input_mtok=rates.input,
        output_mtok=rates.output,
        cache_read_mtok=rates.input if rates.cache_read is None else rates.cache_read,
        cache_write_mtok=writes,
        cache_write_1h_mtok=writes if rates.cache_write_1h is None else rates.cache_write_1h,
        web_searches_kcount=rates.web_searches,
    )


@lru_cache(maxsize=4096)
def _find_model(name: str) -> ModelInfo | None:
    provider = "aws" if "anthropic." in name else "google" if "@" in name else "anthropic"
    try:
        return _library().installed.find_provider_model(name, None, provider, None)[1]
    except LookupError:
        return None


def _special(terms: PricingTerms) -> list[tuple[str, str]]:
    """Return the terms that are not the standard ones."""
    found = ((key, getattr(terms, key)) for key in _STANDARD)
    return [(key, value) for key, value in found if value not in _STANDARD[key]]


def _context(terms: PricingTerms) -> dict[str, str]:
    """Return the special terms as the library names them."""
    context = dict(_special(terms))
    if context.get("service_tier") == "batch":
        context["processing"] = "batch"
    return context


def _is_listed(model: ModelInfo, key: str, terms: PricingTerms, moment: datetime) -> bool:
    """Tell whether the list has prices for one of the terms."""
    context = _context(terms)
    names = {key, "processing"} if context[key] == "batch" else {key}
    return any(
        names & variant.when.keys()
        and variant.when.items() <= context.items()
        and (variant.constraint is None or variant.constraint.active(moment))
        for variant in model.price_variants or ()
    )


def _tier(value: Decimal | TieredPrices | None, prompt: int) -> Decimal | None:
    if isinstance(value, Decimal | None):
        return value
    return next((tier.price for tier in reversed(value.tiers) if prompt > tier.start), value.base)


def _newest() -> date:
    models = _library().installed.find_provider(None, "anthropic", None).models
    conditional = [each for model in models if isinstance(model.prices, list) for each in model.prices]
    variants = [each for model in models for each in model.price_variants or ()]
    constraints = [*(each.constraint for each in conditional), *(each.constraint for each in variants)]
    return max(each.start_date for each in constraints if isinstance(each, _library().since))


_MOST = 4096
"""How many prices are remembered: names of models are anybody's."""
_Key = tuple[str, date, PricingTerms]


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

    def find(self, model: str, day: date, terms: PricingTerms) -> Quote | None:
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


_WEB_SEARCHES = "web_searches"
_SMALLEST = Decimal("0.0001")
_Grouped = TypeVar("_Grouped", str, str | None)


class Bill(Struct, frozen=True, gc=False):
    """What several messages cost together, and what is not in the sum."""

    totals: Totals
    cost: Decimal
    unpriced: dict[str | None, Totals]
    """Messages whose model has no price, by model: the cost does not include them."""
    unpriced_terms: dict[str, Totals]
    """Messages whose price leaves something out, by what that is: the cost includes the rest of them."""


class _Sum(Struct, eq=False, gc=False):
    """Messages, and what they used, in the making."""

    messages: int = 0
    incomplete: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    web_searches: int = 0

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
        _, _, *tokens = astuple(self)
        return Tokens(*tokens)

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


def _count(sums: dict[_Grouped, _Sum], key: _Grouped, message: MessageUsage, sign: int) -> None:
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
            quote_rates(model, rates, PricingTerms())
        self._quotes: dict[tuple[str, date, PricingTerms], Quote | None] = {}

    def find_price(self, message: MessageUsage) -> Price | None:
        """Return what a message cost; None if its model has no price."""
        quote = self._find_quote(message)
        if quote is None:
            return None
        prices, tokens = quote.bands[number_band(quote, message.tokens)], message.tokens
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

    def find_quote(self, model: str, day: date | None, terms: PricingTerms) -> Quote | None:
        """Return the prices of a model on a day of UTC; None if it has none.

        Lists change from one day to the next. What bears no time is priced by the newest.
        """
        key = model, self.find_table().newest if day is None else day, terms
        if key not in self._quotes:
            own = self._overrides.get(model) or self._overrides.get(strip_context(model))
            find = find_quote if self._memory is None else self._memory.find
            self._quotes[key] = find(*key) if own is None else quote_rates(model, own, terms)
        return self._quotes[key]

    def find_table(self) -> PriceTable:
        """Return which table is used, where there are no prices of one's own."""
        return find_table() if self._memory is None else self._memory.find_table()

    def _find_quote(self, message: MessageUsage) -> Quote | None:
        if message.model is None:
            return None
        day = None if message.time is None else message.time.astimezone(UTC).date()
        return self.find_quote(message.model, day, message.terms)


_PICO = 10**12
_DAY = 86_400_000_000
_EPOCH = date(1970, 1, 1).toordinal()


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
        self._quotes: dict[tuple[str | None, int | None, PricingTerms], Quote | None] = {}

    def find_charge(
        self, model: str | None, time: int | None, tokens: Tokens, terms: PricingTerms
    ) -> Charge | None:
        """Return what an answer of a time (in microseconds since 1970) cost; None if its model has no price."""
        quote = self.find_quote(model, time, terms)
        return None if quote is None else charge(quote, number_band(quote, tokens), tokens)

    def find_quote(self, model: str | None, time: int | None, terms: PricingTerms) -> Quote | None:
        """Return the prices of a model at a time; None if it has none."""
        day = None if time is None else time // _DAY
        key = model, day, terms
        if key not in self._quotes:
            date_ = None if day is None else date.fromordinal(min(max(_EPOCH + day, 1), date.max.toordinal()))
            self._quotes[key] = None if model is None else self._prices.find_quote(model, date_, terms)
        return self._quotes[key]


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
def _scale(prices: UnitPrices) -> tuple[int | Fraction, ...]:
    """Return what one of each costs in pico-dollars."""
    ratios = [amount.as_integer_ratio() for amount in astuple(prices)]
    if all(top * _PICO % bottom == 0 for top, bottom in ratios):
        return tuple(top * _PICO // bottom for top, bottom in ratios)
    fraction = import_module("fractions").Fraction  # only prices of one's own may need them
    return tuple(fraction(top * _PICO, bottom) for top, bottom in ratios)

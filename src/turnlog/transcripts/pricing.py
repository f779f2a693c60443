"""What messages cost, by the price lists that come with `genai-prices`.

Prices are looked up in the table that is installed, never in one that was fetched: the library's own updates
are not used, not even those that other code in the process has started, so the same lines cost the same
everywhere and nothing here opens a connection. A message is priced as of its own day, in the band of its own
prompt.

Only the list that a model's name points to is asked: Bedrock's or Vertex's for names in their spelling, else
Anthropic's. Models of other makers can be had from several hosts at different prices, and transcripts do not
say from which; such a model, like any other that is not listed, is named as unpriced. So are terms (speed,
tier, geography) that the list has no price for: the message is then priced as if served the standard way.

The library and its table take a third of a second to load. They are loaded when the first price is asked for:
nobody else waits for them.

Money is `Decimal`, exact to the last digit, and never rounded here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal, localcontext
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from turnlog.transcripts.sightings import Terms, Tokens
from turnlog.transcripts.usage import MessageUsage, Totals, build_total

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, StartDateConstraint, TieredPrices, Usage

__all__ = ["Bill", "Price", "PriceTable", "Prices", "Rates", "find_table"]

_EXACT = Context(prec=60)
_LONG_CONTEXT = "[1m]"
_WEB_SEARCHES = "web_searches"
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
    """The latest day from which a price of Anthropic's list holds; the table as a whole bears no date."""


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


class _Library(NamedTuple):
    """What is used of the library: the table that is installed, and types."""

    version: str
    installed: DataSnapshot
    usage: type[Usage]
    price: type[ModelPrice]
    since: type[StartDateConstraint]


class _Quote(NamedTuple):
    """The prices of a model on a day: one for each band, and where the bands after the first begin."""

    starts: tuple[int, ...]
    bands: tuple[ModelPrice, ...]
    unpriced_terms: tuple[str, ...]

    def list_unpriced(self, tokens: Tokens) -> tuple[str, ...]:
        if tokens.web_searches and self.bands[0].web_searches_kcount is None:
            return (*self.unpriced_terms, _WEB_SEARCHES)
        return self.unpriced_terms


class Prices:
    """A price list: the table that is installed, and over it the caller's own prices by model."""

    def __init__(self, overrides: Mapping[str, Rates] | None = None) -> None:
        """Raise `ValueError` for a rate that is no amount of money."""
        self._overrides = {model: _own_price(model, rates) for model, rates in (overrides or {}).items()}
        self._quotes: dict[tuple[str, date, Terms], _Quote | None] = {}

    def find_price(self, message: MessageUsage) -> Price | None:
        """Return what a message cost; None if its model has no price."""
        quote = self._find_quote(message)
        if quote is None:
            return None
        price = quote.bands[bisect_left(quote.starts, message.tokens.prompt)]
        with localcontext(_EXACT):
            found = price.calc_price(_library_usage(message.tokens))
            searches = found["total_price"] - found["input_price"] - found["output_price"]
        return Price(
            total=found["total_price"],
            input=found["input_price"],
            output=found["output_price"],
            web_searches=searches,
            unpriced_terms=quote.list_unpriced(message.tokens),
        )

    def build_bill(self, messages: Iterable[MessageUsage]) -> Bill:
        """Price messages together: the same to the last digit as one by one, but much faster."""
        billed = list(messages)
        # Within a band prices are proportional, so one multiplication does for all of its messages.
        used: dict[tuple[int, int], tuple[ModelPrice, Tokens]] = {}
        unpriced: dict[str | None, list[MessageUsage]] = {}
        partly: dict[str, list[MessageUsage]] = {}
        for message in billed:
            quote = self._find_quote(message)
            if quote is None:
                unpriced.setdefault(message.model, []).append(message)
                continue
            for term in quote.list_unpriced(message.tokens):
                partly.setdefault(term, []).append(message)
            band = bisect_left(quote.starts, message.tokens.prompt)
            price, tokens = used.get((id(quote), band), (quote.bands[band], Tokens()))
            used[id(quote), band] = price, tokens + message.tokens
        return Bill(
            totals=build_total(billed),
            cost=_sum(used.values()),
            unpriced={model: build_total(unpriced[model]) for model in sorted(unpriced, key=_by_name)},
            unpriced_terms={term: build_total(partly[term]) for term in sorted(partly)},
        )

    def _find_quote(self, message: MessageUsage) -> _Quote | None:
        if message.model is None:
            return None
        # Lists change from one day to the next. What bears no time is priced by the newest.
        day = find_table().newest if message.time is None else message.time.astimezone(UTC).date()
        key = message.model, day, message.terms
        if key not in self._quotes:
            self._quotes[key] = self._quote(*key)
        return self._quotes[key]

    def _quote(self, model: str, day: date, terms: Terms) -> _Quote | None:
        name = model.removesuffix(_LONG_CONTEXT)
        own = self._overrides.get(model) or self._overrides.get(name)
        if own is not None:
            return _Quote((), (own,), tuple(f"{key}={value}" for key, value in _special(terms)))
        listed = _find_model(name)
        if listed is None:
            return None
        moment = datetime.combine(day, time(), UTC)
        price = listed.get_prices(moment, _context(terms))
        starts = _band_starts(price)
        return _Quote(
            starts,
            tuple(_in_band(price, prompt) for prompt in (0, *(start + 1 for start in starts))),
            tuple(
                f"{key}={value}" for key, value in _special(terms) if not _is_listed(listed, key, terms, moment)
            ),
        )


@cache
def find_table() -> PriceTable:
    """Return which table is installed."""
    return PriceTable("genai-prices", _library().version, _newest())


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


def _by_name(model: str | None) -> tuple[bool, str]:
    return model is None, model or ""


def _sum(used: Iterable[tuple[ModelPrice, Tokens]]) -> Decimal:
    with localcontext(_EXACT):
        prices = (price.calc_price(_library_usage(tokens)) for price, tokens in used)
        return sum((price["total_price"] for price in prices), Decimal(0))


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


def _find_model(name: str) -> ModelInfo | None:
    provider = "aws" if "anthropic." in name else "google" if "@" in name else "anthropic"
    try:
        return _library().installed.find_provider_model(name, None, provider, None)[1]
    except LookupError:
        return None


def _special(terms: Terms) -> list[tuple[str, str]]:
    """Return the terms that are not the standard ones."""
    found = ((key, getattr(terms, key)) for key in _STANDARD)
    return [(key, value) for key, value in found if value not in _STANDARD[key]]


def _context(terms: Terms) -> dict[str, str]:
    """Return the special terms as the library names them."""
    context = dict(_special(terms))
    if context.get("service_tier") == "batch":
        context["processing"] = "batch"
    return context


def _is_listed(model: ModelInfo, key: str, terms: Terms, moment: datetime) -> bool:
    """Tell whether the list has prices for one of the terms."""
    context = _context(terms)
    names = {key, "processing"} if context[key] == "batch" else {key}
    return any(
        names & variant.when.keys()
        and variant.when.items() <= context.items()
        and (variant.constraint is None or variant.constraint.active(moment))
        for variant in model.price_variants or ()
    )


def _band_starts(price: ModelPrice) -> tuple[int, ...]:
    tiered = (value for value in vars(price).values() if not isinstance(value, Decimal | None))
    return tuple(sorted({tier.start for value in tiered for tier in value.tiers}))


def _in_band(price: ModelPrice, prompt: int) -> ModelPrice:
    """Return the prices that hold for a prompt of a length: all of its tokens cost the same."""
    return _library().price(**{key: _tier(value, prompt) for key, value in vars(price).items()})


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

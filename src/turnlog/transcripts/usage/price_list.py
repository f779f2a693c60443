"""The price list: what `genai-prices` knows of Claude's models, as prices of single tokens.

Only the table that is installed is asked, never one that was fetched: the library's own updates are not used,
not even those that other code in the process has started, so the same lines cost the same everywhere and
nothing here opens a connection. Only the list that a model's name points to is asked: Bedrock's or Vertex's for
names in their spelling, else Anthropic's. Models of other makers can be had from several hosts at different
prices, and transcripts do not say from which.

The library and its table take a third of a second to load. They are loaded when the first price is asked for:
nobody else waits for them. It is asked once for each model, day and band, since within a band prices are
proportional.
"""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal, localcontext
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from turnlog.transcripts.usage.tokens import Terms, Tokens

if TYPE_CHECKING:
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


def quote_rates(model: str, rates: Rates, terms: Terms) -> Quote:
    """Return prices of one's own; raise `ValueError` for a rate that is no amount of money."""
    price = _own_price(model, rates)
    special = tuple(f"{key}={value}" for key, value in _special(terms))
    return Quote((), (_measure(price),), special, rates.web_searches is not None)


@lru_cache(maxsize=4096)  # the list does not change while we run; names of models are anybody's
def find_quote(model: str, day: date, terms: Terms) -> Quote | None:
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
    starts = _band_starts(price)
    prompts = (0, *(start + 1 for start in starts))
    return price, starts, tuple(_measure(_in_band(price, prompt)) for prompt in prompts)


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

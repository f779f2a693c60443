from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import genai_prices
import pytest
from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot
from hypothesis import given
from hypothesis import strategies as st

import golden
import turnlog
import usage_reference as reference
from turnlog.transcripts.usage.prices import Bill, Price, Prices, Rates, find_table
from turnlog.transcripts.usage.sightings import UsageFold, find_reported_cost
from turnlog.transcripts.usage.tokens import MessageUsage, PricingTerms, Tokens, Totals, build_total

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
SONNET = "claude-sonnet-4-5-20250929"
NO_MONEY = Decimal(0)


def read(name: str) -> UsageFold:
    return UsageFold(turnlog.decode(line) for line in golden.lines(f"transcripts/{name}"))


def message(
    tokens: Tokens,
    model: str | None = SONNET,
    time: datetime | None = MARCH,
    terms: PricingTerms | None = None,
    name: str = "m",
) -> MessageUsage:
    return MessageUsage(
        message=name,
        session="s",
        sessions=("s",),
        time=time,
        model=model,
        tokens=tokens,
        terms=terms or PricingTerms(),
    )


def get_price(priced: MessageUsage, prices: Prices | None = None) -> Price:
    price = (prices or Prices()).find_price(priced)
    assert price is not None
    return price


# In millionths of a dollar, by hand, from the prices on Anthropic's pages.
BY_HAND: dict[str, Decimal | None] = {
    "msg_5m": 1000 * 3 + 10_000 * Decimal("3.75") + 100 * 15,
    "msg_1h": 1000 * 3 + 4000 * Decimal("3.75") + 6000 * 6 + 100 * 15,
    "msg_unsplit": 1000 * 3 + 10_000 * Decimal("3.75") + 100 * 15,
    "msg_below": 200_000 * Decimal("0.3") + 100 * 15,
    "msg_above": 1 * 6 + 200_000 * Decimal("0.6") + 100 * Decimal("22.5"),
    "msg_search": Decimal(1000 * 3 + 100 * 15 + 2 * 10_000),
    "msg_fast": Decimal(1000 * 5 + 100 * 25),
    "msg_plain": Decimal(1000 * 5 + 100 * 25),
    "msg_batch": 1000 * Decimal("2.5") + 100 * Decimal("12.5"),
    "msg_batch_early": Decimal(1000 * 5 + 100 * 25),
    "msg_band_gone": Decimal(300_000 * 5 + 100 * 25),
    "msg_band_there": 300_000 * 10 + 100 * Decimal("37.5"),
    "msg_long": Decimal(1000 * 5 + 100 * 25),
    "msg_bedrock": 1000 * Decimal("3.3") + 100 * Decimal("16.5"),
    "msg_vertex": Decimal(1000 * 3 + 100 * 15),
    "msg_other": None,
}
UNPRICED_TERMS = {
    "msg_fast": ("speed=fast", "inference_geo=us"),
    "msg_batch_early": ("service_tier=batch",),
}


def test_prices_are_those_made_by_hand() -> None:
    found = {each.message: Prices().find_price(each) for each in read("usage-prices/session").list_messages()}
    assert {name: price and price.total * 1_000_000 for name, price in found.items()} == BY_HAND


def test_terms_that_have_no_price_are_named() -> None:
    found = {each.message: Prices().find_price(each) for each in read("usage-prices/session").list_messages()}
    named = {name: price.unpriced_terms for name, price in found.items() if price and price.unpriced_terms}
    assert named == UNPRICED_TERMS


def test_a_term_that_has_a_price_does_not_hide_one_that_has_none() -> None:
    served = message(
        Tokens(1000, 100), "claude-opus-5", datetime(2026, 11, 1, tzinfo=UTC), PricingTerms("batch", "fast")
    )
    price = get_price(served)
    assert price.total == Decimal("0.00375")
    assert price.unpriced_terms == ("speed=fast",)


def test_a_bill_names_what_it_leaves_out() -> None:
    messages = read("usage-prices/session").list_messages()
    bill = Prices().build_bill(messages)
    assert bill == Bill(
        totals=build_total(messages),
        cost=sum((cost for cost in BY_HAND.values() if cost is not None), NO_MONEY) / 1_000_000,
        unpriced={"glm-5": Totals(1, 0, Tokens(1000, 100))},
        unpriced_terms={
            "inference_geo=us": Totals(1, 0, Tokens(1000, 100)),
            "service_tier=batch": Totals(1, 0, Tokens(1000, 100)),
            "speed=fast": Totals(1, 0, Tokens(1000, 100)),
        },
    )


def test_the_computed_cost_is_what_cost_state_says() -> None:
    usage = read("usage-cost-state/session")
    [session] = usage.list_sessions()
    assert session.cost_state is not None
    assert Prices().build_bill(usage.list_messages()).cost == find_reported_cost(session.cost_state)


def test_the_parts_of_a_price_make_the_whole() -> None:
    price = get_price(message(Tokens(1000, 100, 1000, 1000, 1000, 2)))
    assert price.input == Decimal("0.01305")
    assert price.output == Decimal("0.0015")
    assert price.web_searches == Decimal("0.02")
    assert price.total == price.input + price.output + price.web_searches


@pytest.mark.parametrize("model", ["glm-5", "haiku", "anthropic/claude-opus-4.5", "", None])
def test_a_model_that_is_not_listed_has_no_price(model: str | None) -> None:
    unlisted = message(Tokens(1000, 100), model)
    assert Prices().find_price(unlisted) is None
    bill = Prices().build_bill([unlisted, message(Tokens(1000, 100))])
    assert bill.unpriced == {model: Totals(1, 0, Tokens(1000, 100))}
    assert bill.cost == Decimal("0.0045")


def test_unlisted_models_come_in_order() -> None:
    bill = Prices().build_bill([message(Tokens(), model) for model in ("b", None, "a")])
    assert list(bill.unpriced) == ["a", "b", None]


def test_nothing_costs_nothing() -> None:
    assert Prices().build_bill([]) == Bill(Totals(), NO_MONEY, {}, {})
    assert get_price(message(Tokens())).total == 0


def test_what_bears_no_time_is_priced_by_the_newest_prices() -> None:
    long = Tokens(input=300_000)
    assert get_price(message(long, "claude-opus-4-6", None)).total == Decimal("1.5")
    assert get_price(message(long, "claude-opus-4-6", MARCH)).total == Decimal(3)


def test_web_searches_without_a_price_are_named() -> None:
    searched = message(Tokens(1000, 100, web_searches=2), "claude-sonnet-4-5@20250929")
    price = get_price(searched)
    assert price.web_searches == 0
    assert price.unpriced_terms == ("web_searches",)
    assert Prices().build_bill([searched]).unpriced_terms == {"web_searches": build_total([searched])}


OWN = Rates(
    input=Decimal(1),
    output=Decimal(2),
    cache_read=Decimal(3),
    cache_write_5m=Decimal(4),
    cache_write_1h=Decimal(5),
    web_searches=Decimal(6000),
)
ONE_EACH = Tokens(1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000, 1)


@pytest.mark.parametrize("model", ["house-model", SONNET, "house-model[1m]"])
def test_the_callers_prices_come_first(model: str) -> None:
    prices = Prices({"house-model": OWN, SONNET: OWN})
    price = get_price(message(ONE_EACH, model), prices)
    assert [price.total, price.input, price.output, price.web_searches] == [21, 13, 2, 6]
    assert prices.build_bill([message(ONE_EACH, model)]).cost == 21


def test_what_the_callers_prices_leave_out_costs_as_input() -> None:
    prices = Prices({"house-model": Rates(input=Decimal(1), output=Decimal(2))})
    price = get_price(message(ONE_EACH, "house-model", terms=PricingTerms(speed="fast")), prices)
    assert [price.input, price.output, price.web_searches] == [4, 2, 0]
    assert price.unpriced_terms == ("speed=fast", "web_searches")
    long = Rates(input=Decimal(1), output=Decimal(2), cache_write_5m=Decimal(4))
    assert get_price(message(Tokens(cache_write_1h=1_000_000), "x"), Prices({"x": long})).total == 4


def test_a_price_of_nothing_is_a_price() -> None:
    free = Rates(input=NO_MONEY, output=NO_MONEY, cache_read=NO_MONEY, cache_write_5m=NO_MONEY)
    price = get_price(message(ONE_EACH, "house-model"), Prices({"house-model": free}))
    assert price.total == 0


@pytest.mark.parametrize("rate", [Decimal(-1), Decimal("NaN"), Decimal("Infinity"), 1.5])
def test_a_rate_that_is_no_money_is_refused(rate: Any) -> None:
    with pytest.raises(ValueError, match="at `x`, `output`"):
        Prices({"x": Rates(input=Decimal(1), output=rate)})


def test_the_table_says_what_it_is() -> None:
    table = find_table()
    assert (table.name, table.version) == ("genai-prices", version("genai-prices"))
    assert table.newest >= date(2026, 10, 14)


@pytest.fixture
def foreign_snapshot() -> Iterator[None]:
    """Other code in the process has made the library use other prices."""
    set_custom_snapshot(DataSnapshot(providers=[], from_auto_update=True))
    yield
    set_custom_snapshot(None)


@pytest.mark.usefixtures("foreign_snapshot")
def test_updates_that_others_started_change_nothing() -> None:
    with pytest.raises(LookupError):
        genai_prices.calc_price(genai_prices.Usage(input_tokens=1), SONNET, provider_id="anthropic")
    assert get_price(message(Tokens(1000, 100), "claude-haiku-4-5-20251001")).total == Decimal("0.0015")


OFFLINE = """
import sys, threading
def hook(event, args):
    if event.startswith(("socket.", "urllib.", "http.")):
        raise SystemExit(f"the network was used: {event} {args}")
sys.addaudithook(hook)
from turnlog.transcripts.usage.prices import Prices, find_table
from turnlog.transcripts.usage.tokens import MessageUsage, Tokens
message = MessageUsage("m", "s", ("s",), None, "claude-opus-5", Tokens(1000, 100))
unknown = MessageUsage("m", "s", ("s",), None, "claude-opus-99", Tokens(1000, 100))
bill = Prices().build_bill([message, unknown])
print(bill.cost, Prices().find_price(message).total, threading.active_count())
"""


def test_no_connection_is_opened() -> None:
    run = subprocess.run([sys.executable, "-c", OFFLINE], capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("0.0075 0.0075 1\n", "")


def test_the_library_itself_is_not_loaded_until_prices_are_asked_for() -> None:
    code = "import sys, turnlog.transcripts.usage.sightings; print('genai_prices' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_the_library_is_loaded_with_the_first_price_and_not_before() -> None:
    code = (
        "import sys, turnlog.transcripts.usage.prices as pricing\n"
        "prices = pricing.Prices()\n"
        "before = 'genai_prices' in sys.modules\n"
        "pricing.find_table()\n"
        "print(before, 'genai_prices' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False True\n"


def test_the_callers_decimal_context_changes_nothing() -> None:
    messages = read("usage-prices/session").list_messages()
    with localcontext(prec=2):
        assert Prices().build_bill(messages) == exact_bill(messages)


def exact_bill(messages: list[MessageUsage]) -> Bill:
    with localcontext(prec=60):
        return Prices().build_bill(messages)


# Properties.

counts = st.one_of(
    st.integers(0, 300_000), st.sampled_from([99_999, 100_000, 100_001, 199_999, 200_000, 200_001])
)
models = st.sampled_from(
    [SONNET, "claude-opus-4-6", "claude-opus-5-5", "claude-haiku-5-5", "claude-2", "claude-fable-5-1", "glm-5"]
)
messages_made = st.builds(
    message,
    st.builds(Tokens, counts, counts, counts, counts, counts, st.integers(0, 3)),
    models,
    st.sampled_from([None, MARCH, datetime(2026, 3, 13, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)]),
    st.builds(
        PricingTerms, st.sampled_from([None, "standard", "batch", "priority"]), st.sampled_from([None, "fast"])
    ),
)


@given(st.lists(messages_made, max_size=8))
def test_a_bill_is_the_sum_of_its_messages(made: list[MessageUsage]) -> None:
    prices = Prices()
    found = [prices.find_price(each) for each in made]
    bill = prices.build_bill(made)
    assert bill.cost == sum((price.total for price in found if price is not None), NO_MONEY)
    assert bill.totals == build_total(made)
    assert sum(each.messages for each in bill.unpriced.values()) == found.count(None)


@given(messages_made)
def test_a_price_is_what_the_library_says(made: MessageUsage) -> None:
    tokens = made.tokens
    usage = genai_prices.Usage(
        input_tokens=tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write_5m + tokens.cache_write_1h,
        cache_write_1h_tokens=tokens.cache_write_1h,
        web_searches=tokens.web_searches,
    )
    day = made.time or datetime.combine(find_table().newest, datetime.min.time(), UTC)
    batch = {"processing": "batch"} if made.terms.service_tier == "batch" else None
    price = Prices().find_price(made)
    if price is None:
        assert made.model == "glm-5"
        return
    assert made.model is not None
    expected = genai_prices.calc_price(
        usage, made.model, provider_id="anthropic", genai_request_timestamp=day, price_context=batch
    )
    assert price.total == expected.total_price
    assert (price.input, price.output) == (expected.input_price, expected.output_price)


@given(st.integers(0, 10**40), st.text())
def test_no_count_and_no_model_raises(count: int, model: str) -> None:
    Prices().find_price(message(Tokens(count, count, count, count, count, count)))
    Prices().find_price(message(Tokens(count), model))


def test_costs_of_real_sessions_equal_the_slow_reference(corpus: Path, report: Callable[[str], None]) -> None:
    found = reference.corpus_lines(corpus)
    messages = UsageFold(reference.decoded(found)).list_messages()
    expected = {key: reference.cost(each) for key, each in reference.messages(reference.parsed(found)).items()}
    prices = Prices()
    for each in messages:
        price = prices.find_price(each)
        assert (None if price is None else Fraction(price.total)) == expected[each.message], each
    bill = prices.build_bill(messages)
    assert Fraction(bill.cost) == sum(cost for cost in expected.values() if cost is not None)
    named = {each.model for each in messages if expected[each.message] is None}
    assert set(bill.unpriced) == named
    report(f"${bill.cost}; unpriced: {bill.unpriced}; terms: {bill.unpriced_terms}")

"""Tokens and money of the real program: what turnlog counts is what was served, and what the program says.

The program's own total (`cost-state` on disk, `result` in the stream) differs from what its transcripts hold
in known ways only, each of which is pinned down here: it includes the answers that became summaries, guesses
where a model has no price, and leaves out answers that were cut off and runs that were killed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal

import pytest

from real_program.recordings import Recording, tokens_of
from real_program.scenarios import MODELS, UNHEARD_OF
from real_program.stand_in_api import Served
from turnlog.messages.metadata import ModelUsage
from turnlog.messages.sdk.messages import ResultMessage
from turnlog.transcripts import (
    MessageUsage,
    Tokens,
    build_total,
    find_reported_cost,
    group_by_model,
)
from turnlog.transcripts.usage.prices import Prices

_NOTHING = Decimal("0.000000001")
"""Less than what sums of floats are off by; a thousandth of a micro-dollar."""


def _is_same(one: Decimal, other: Decimal) -> bool:
    return abs(one - other) < _NOTHING


def _cost(messages: Iterable[MessageUsage]) -> Decimal:
    return Prices().build_bill(messages).cost


def _own(recording: Recording) -> list[MessageUsage]:
    return recording.usage.list_messages(recording.scenario.session_id)


def _price(served: Iterable[Served]) -> Decimal:
    """Return what answers cost, whether a transcript has them or not."""
    return _cost(MessageUsage(each.message, "", (), None, each.model, tokens_of(each)) for each in served)


def test_each_answer_is_counted_once_with_all_of_its_tokens(any_recording: Recording) -> None:
    served = {each.message: each for each in any_recording.ledger if each.finished}
    complete = [each for each in any_recording.usage.list_messages() if each.complete]
    assert {each.message: each.tokens for each in complete} == {
        each.message: tokens_of(served[each.message]) for each in complete
    }
    assert len({each.message for each in complete}) == len(complete)


@pytest.mark.parametrize("name", ["tools", "agents", "failures"])
def test_the_cost_is_the_programs_own(record: Callable[[str], Recording], name: str) -> None:
    recording = record(name)
    assert len(_own(recording)) == sum(each.finished for each in recording.ledger)
    assert _is_same(_cost(_own(recording)), recording.reported_cost)


@pytest.mark.parametrize("model", MODELS)
def test_each_models_cost_is_the_programs_own(prices: Recording, model: str) -> None:
    used = _model_usage(prices)[model]
    messages = group_by_model(_own(prices))[model]
    assert _tokens_of(used) == build_total(messages).tokens
    assert _is_same(_cost(messages), Decimal(str(used.cost_usd)))


def test_long_prompts_and_web_searches_are_paid_for(prices: Recording) -> None:
    long, searched = prices.find_served("Read a whole library.", "Search the web.")
    tokens = {each.message: each.tokens for each in _own(prices)}
    assert tokens[long.message].prompt > 250_000
    assert tokens[searched.message].web_searches == 3


def test_a_model_without_a_price_is_named_where_the_program_guesses(prices: Recording) -> None:
    bill = Prices().build_bill(_own(prices))
    assert list(bill.unpriced) == [UNHEARD_OF]
    state = prices.session_usage.cost_state
    assert state is not None
    assert state.has_unknown_model_cost is True
    guess = Decimal(str(_model_usage(prices)[UNHEARD_OF].cost_usd))
    assert guess > 0
    assert _is_same(bill.cost + guess, prices.reported_cost)


def test_trying_a_model_is_neither_written_nor_paid_for(prices: Recording) -> None:
    tries = {each.message for each in prices.find_served("")}
    assert tries
    assert tries.isdisjoint(each.message for each in _own(prices))


def test_the_total_includes_summaries_that_no_transcript_holds(compaction: Recording) -> None:
    written = {each.message for each in _own(compaction)}
    missing = [each for each in compaction.ledger if each.message not in written]
    assert [each.cue for each in missing] == ["and keep the word alpha", "Fill the window."]
    assert _is_same(_cost(_own(compaction)) + _price(missing), compaction.reported_cost)


def test_the_total_leaves_out_what_was_cut_off_and_what_was_killed(interruption: Recording) -> None:
    own = _own(interruption)
    cut_off = [each.message for each in own if not each.complete]
    assert cut_off == [each.message for each in interruption.ledger if not each.finished]
    complete = _cost(each for each in own if each.complete)
    assert _is_same(complete - _price(interruption.find_served("Hang to the end.")), interruption.reported_cost)


def test_a_fork_costs_only_what_is_new_in_it(interruption: Recording) -> None:
    sessions = interruption.usage.list_sessions()
    own, fork = sorted(each.own.messages for each in sessions)
    assert fork == own + 2
    # Copies keep their times, so which of the two owns what they share is not to be seen from here.
    assert sum(each.unique.messages for each in sessions) == len(interruption.usage.list_messages()) == fork


def test_the_streams_last_total_is_that_on_disk(any_recording: Recording) -> None:
    on_disk = any_recording.session_usage
    assert on_disk.cost_state is not None
    session_id = any_recording.scenario.session_id
    last = [each for each in any_recording.results if each.session_id == session_id][-1]
    assert find_reported_cost(last) == find_reported_cost(on_disk.cost_state)
    assert isinstance(last.model_usage, dict)
    on_disk_usage = _model_usage(any_recording)
    assert {model: _tokens_of(used) for model, used in last.model_usage.items()} == {
        model: _tokens_of(used) for model, used in on_disk_usage.items()
    }


def test_totals_of_the_stream_only_grow(any_recording: Recording) -> None:
    for stream in any_recording.streams:
        results = [line.entry for line in stream if isinstance(line.entry, ResultMessage)]
        costs = [find_reported_cost(each) for each in results]
        assert costs == sorted(costs, key=lambda each: each or Decimal(0))


def _model_usage(recording: Recording) -> dict[str, ModelUsage]:
    state = recording.session_usage.cost_state
    assert state is not None
    assert isinstance(state.model_usage, dict)
    return state.model_usage


def _tokens_of(used: ModelUsage) -> Tokens:
    return Tokens(
        input=used.input_tokens or 0,
        output=used.output_tokens or 0,
        cache_read=used.cache_read_input_tokens or 0,
        cache_write_5m=used.cache_creation_ephemeral_5m_input_tokens or 0,
        cache_write_1h=used.cache_creation_ephemeral_1h_input_tokens or 0,
        web_searches=used.web_search_requests or 0,
    )

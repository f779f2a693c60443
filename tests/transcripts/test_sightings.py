from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden
import turnlog
import usage_reference as reference
from turnlog.messages.metadata import CostState
from turnlog.transcripts.usage.sightings import (
    UsageFold,
    find_reported_cost,
    find_sighting,
    group_by_attribution,
    group_by_day,
    group_by_model,
    group_by_session,
)
from turnlog.transcripts.usage.tokens import (
    Attribution,
    MessageUsage,
    PricingTerms,
    Tokens,
    Totals,
    build_total,
)

SONNET = "claude-sonnet-4-5-20250929"


def read(*names: str) -> list[turnlog.Line]:
    """Return the lines of golden files, each where it stands."""
    found = []
    for name in names:
        for place, raw in enumerate(golden.lines(f"transcripts/{name}")):
            line = turnlog.decode(raw, at=turnlog.Position(name, place))
            assert line.problems == ()
            found.append(line)
    return found


def fold(*names: str) -> UsageFold:
    return UsageFold(read(*names))


def assistant(message: dict[str, Any], place: int | None = 0, source: str = "a", **line: Any) -> turnlog.Line:
    raw = json.dumps(
        {
            "type": "assistant",
            "sessionId": "s-1",
            "timestamp": "2026-03-01T10:00:00Z",
            "message": {"role": "assistant", "content": [], **message},
            **line,
        }
    )
    at = None if place is None else turnlog.Position(source, place)
    return turnlog.decode(raw, at=at)


def only(found: list[MessageUsage]) -> MessageUsage:
    [message] = found
    return message


# Golden files: one pitfall each, with sums made by hand.


def test_a_message_on_several_lines_counts_once_with_its_last_output() -> None:
    first, second = fold("usage-split-message/session").list_messages()
    assert first.tokens == Tokens(input=10, output=57, cache_read=500, cache_write_5m=40)
    assert first.complete
    assert second.tokens == Tokens(input=12, output=3)


def test_a_message_whose_lines_never_say_why_it_stopped_is_incomplete() -> None:
    messages = fold("usage-split-message/session").list_messages()
    assert [message.complete for message in messages] == [True, False]
    assert build_total(messages) == Totals(2, 1, Tokens(22, 60, 500, 40))


def test_a_request_id_that_is_absent_or_changed_makes_no_second_message() -> None:
    found = {each.message: each.tokens for each in fold("usage-request-ids/session").list_messages()}
    assert found["msg_1"] == Tokens(input=10, output=30)


def test_lines_without_a_message_id_count_each_by_its_uuid() -> None:
    found = {each.message: each.tokens for each in fold("usage-request-ids/session").list_messages()}
    assert found["uuid:u-a"] == found["uuid:u-b"] == Tokens(input=4, output=5)
    assert len(found) == 3


FORK = ("usage-fork/a-original", "usage-fork/b-fork", "usage-fork/agent-a1")


def test_a_copied_message_is_owned_by_one_session_and_stands_in_both() -> None:
    found = {each.message: each for each in fold(*FORK).list_messages()}
    assert {key: (each.session, each.sessions) for key, each in found.items()} == {
        "msg_1": ("s-1", ("s-1", "s-2")),
        "msg_2": ("s-1", ("s-1", "s-2")),
        "msg_3": ("s-2", ("s-2",)),
        "msg_4": ("s-1", ("s-1",)),
    }
    assert found["msg_2"].tokens.output == 40, "the fork holds the whole of it"
    assert found["msg_2"].complete


def test_a_session_has_a_total_of_its_own_and_a_unique_one() -> None:
    one, two = fold(*FORK).list_sessions()
    assert one.own == Totals(3, 2, Tokens(input=10 + 30 + 7, output=20 + 4 + 8))
    assert one.unique == Totals(3, 1, Tokens(input=10 + 30 + 7, output=20 + 40 + 8))
    assert two.own == Totals(3, 0, Tokens(input=10 + 30 + 50, output=20 + 40 + 60))
    assert two.unique == Totals(1, 0, Tokens(input=50, output=60))


def test_the_messages_of_a_session_are_those_that_stand_in_it() -> None:
    usage = fold(*FORK)
    assert [each.message for each in usage.list_messages("s-2")] == ["msg_1", "msg_2", "msg_3"]
    assert build_total(usage.list_messages("s-1")) == usage.list_sessions()[0].own
    assert usage.list_messages("s-9") == []


def test_a_sub_agent_counts_in_its_parents_session() -> None:
    agents = group_by_attribution(fold(*FORK).list_messages(), "agent")
    assert [each.message for each in agents["Explore"]] == ["msg_4"]
    assert [each.message for each in agents[None]] == ["msg_1", "msg_2", "msg_3"]
    assert list(group_by_attribution(fold(*FORK).list_messages(), "agent_id")) == ["a1", None]


def test_only_searches_that_the_api_billed_are_counted() -> None:
    found = fold("usage-web-search/session").list_messages()
    assert [each.tokens.web_searches for each in found] == [0, 3]


def test_synthetic_answers_are_no_messages() -> None:
    assert {each.model for each in fold("usage-web-search/session").list_messages()} == {SONNET}


def test_cache_writes_are_kept_apart_and_a_remainder_lives_five_minutes() -> None:
    found = {each.message: each.tokens for each in fold("usage-prices/session").list_messages()}
    assert (found["msg_5m"].cache_write_5m, found["msg_5m"].cache_write_1h) == (10_000, 0)
    assert (found["msg_1h"].cache_write_5m, found["msg_1h"].cache_write_1h) == (4_000, 6_000)
    assert (found["msg_unsplit"].cache_write_5m, found["msg_unsplit"].cache_write_1h) == (10_000, 0)


def test_terms_are_those_of_the_message() -> None:
    found = {each.message: each.terms for each in fold("usage-prices/session").list_messages()}
    assert found["msg_fast"] == PricingTerms("standard", "fast", "us")
    assert found["msg_5m"] == PricingTerms()


def test_the_last_cost_state_of_a_session_stands_beside_its_totals() -> None:
    session = fold("usage-cost-state/session").list_sessions()[0]
    assert session.own.tokens == Tokens(input=3000, output=300)
    assert session.cost_state is not None
    assert find_reported_cost(session.cost_state) == Decimal("0.0135")
    assert session.result is None


def test_messages_nested_in_progress_are_not_counted() -> None:
    found = fold("usage-progress/session").list_messages()
    assert only(found).message == "msg_1"


def test_results_of_the_stream_are_running_totals_and_never_added() -> None:
    session = fold("usage-result/stream").list_sessions()[0]
    assert session.own == Totals(2, 2, Tokens(input=3000, output=2))
    assert session.result is not None
    assert find_reported_cost(session.result) == Decimal("0.0135")


# Rules that the golden files leave open.


def test_of_lines_with_equal_output_the_last_one_speaks() -> None:
    lines = [assistant({"id": "m", "usage": {"input_tokens": n, "output_tokens": 5}}, n) for n in (1, 2, 3)]
    for order in (lines, lines[::-1]):
        assert only(UsageFold(order).list_messages()).tokens.input == 3


def test_the_earliest_time_owns_before_the_smallest_source() -> None:
    usage = {"output_tokens": 1}
    late = assistant({"id": "m", "usage": usage}, 0, "a", sessionId="s-late", timestamp="2026-03-02T00:00:00Z")
    early = assistant({"id": "m", "usage": usage}, 0, "b", sessionId="s-early")
    same = assistant({"id": "m", "usage": usage}, 0, "c", sessionId="s-same")
    timeless = assistant({"id": "m", "usage": usage}, 0, "0", sessionId="s-0", timestamp="soon")
    assert only(UsageFold([late, early, same, timeless]).list_messages()).session == "s-early"


def test_a_line_that_has_no_stop_reason_is_not_incomplete() -> None:
    assert only(UsageFold([assistant({"id": "m", "usage": {"output_tokens": 1}})]).list_messages()).complete


def test_a_line_without_usage_says_nothing() -> None:
    assert find_sighting(assistant({"id": "m", "usage": None})) is None
    assert find_sighting(assistant({"id": "m"})) is None
    assert find_sighting(turnlog.decode(b"{")) is None


def test_the_second_copy_of_usage_of_old_serves_where_there_is_no_first() -> None:
    line = assistant({"id": "m"}, usage={"input_tokens": 3, "output_tokens": 4})
    assert only(UsageFold([line]).list_messages()).tokens == Tokens(input=3, output=4)


def test_lines_without_any_name_are_known_by_their_place_or_their_bytes() -> None:
    usage = {"usage": {"output_tokens": 1}}
    placed = [assistant(usage, 0), assistant(usage, 1), assistant(usage, 1)]
    assert [each.message for each in UsageFold(placed).list_messages()] == ["at:0:a", "at:1:a"]
    loose = [assistant(usage, None), assistant(usage, None), assistant({**usage, "model": "x"}, None)]
    assert len(UsageFold(loose).list_messages()) == 2


def test_a_line_that_names_no_session_belongs_to_its_source() -> None:
    line = assistant({"id": "m", "usage": {"output_tokens": 1}}, 0, "file", sessionId=None)
    assert only(UsageFold([line]).list_messages()).session == "file"


def test_counts_that_cannot_be_are_none() -> None:
    usage = {"input_tokens": -5, "output_tokens": None, "cache_creation": None, "server_tool_use": None}
    assert only(UsageFold([assistant({"id": "m", "usage": usage})]).list_messages()).tokens == Tokens()


def test_a_split_that_exceeds_the_total_is_believed() -> None:
    split = {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 20}
    usage = {"cache_creation_input_tokens": 10, "cache_creation": split}
    tokens = only(UsageFold([assistant({"id": "m", "usage": usage})]).list_messages()).tokens
    assert (tokens.cache_write_5m, tokens.cache_write_1h) == (30, 20)


def test_attribution_is_gathered_from_all_lines_of_a_message() -> None:
    usage = {"id": "m", "usage": {"output_tokens": 1}}
    first = assistant(usage, 0, attributionSkill="brew", attributionPlugin="tea")
    second = assistant(usage, 1, attributionMcpServer="pot", attributionMcpTool="boil")
    third = assistant({"id": "n", "usage": {"output_tokens": 1}}, 2)
    messages = UsageFold([first, second, third]).list_messages()
    assert messages[0].attribution == Attribution(skill="brew", plugin="tea", mcp_server="pot", mcp_tool="boil")
    assert list(group_by_attribution(messages, "mcp_server")) == ["pot", None]


def test_a_copy_in_another_file_adds_its_attribution() -> None:
    usage = {"id": "m", "usage": {"output_tokens": 1}}
    lines = [assistant(usage, 0, "a"), assistant(usage, 0, "b", attributionSkill="brew")]
    assert only(UsageFold(lines).list_messages()).attribution.skill == "brew"


def test_an_agent_of_the_stream_is_named() -> None:
    line = turnlog.decode(
        b'{"type":"assistant","message":{"id":"m","role":"assistant","content":[],"usage":{"output_tokens":1}},'
        b'"parent_tool_use_id":"t","session_id":"s","agent_id":"a1","subagent_type":"Explore"}'
    )
    message = only(UsageFold([line]).list_messages())
    assert message.attribution == Attribution(agent="Explore", agent_id="a1")
    assert (message.session, message.time) == ("s", None)


def test_days_are_those_of_the_timezone() -> None:
    times = ["2026-03-01T23:30:00Z", "2026-03-02T00:30:00Z", "0001-01-01T00:00:00Z", "soon"]
    lines = [
        assistant({"id": f"m{n}", "usage": {"output_tokens": 1}}, n, timestamp=time)
        for n, time in enumerate(times)
    ]
    messages = UsageFold(lines).list_messages()
    assert [(day, len(found)) for day, found in group_by_day(messages, UTC).items()] == [
        (date(1, 1, 1), 1),
        (date(2026, 3, 1), 1),
        (date(2026, 3, 2), 1),
        (None, 1),
    ]
    west = group_by_day(messages, timezone(timedelta(hours=-1)))
    assert [(day, len(found)) for day, found in west.items()] == [
        (date(1, 1, 1), 1),
        (date(2026, 3, 1), 2),
        (None, 1),
    ]


def test_groups_come_in_order_and_lose_nothing() -> None:
    messages = fold("usage-prices/session").list_messages()
    models = group_by_model(messages)
    assert list(models) == sorted(model for model in models if model is not None)
    assert sum((build_total(found) for found in models.values()), Totals()) == build_total(messages)
    unnamed = UsageFold([assistant({"id": "m", "usage": {}})]).list_messages()
    assert list(group_by_model([*unnamed, *messages]))[-1] is None


def cost_state(cost: float | None, place: int | None, source: str = "a") -> turnlog.Line:
    told = {} if cost is None else {"totalCostUSD": cost}
    at = None if place is None else turnlog.Position(source, place)
    return turnlog.decode(json.dumps({"type": "cost-state", "sessionId": "s", **told}), at=at)


@pytest.mark.parametrize(
    ("lines", "cost"),
    [
        ([cost_state(3, 0), cost_state(1, 1)], Decimal(1)),
        ([cost_state(1, 0, "a"), cost_state(0.1, 5, "b")], Decimal(1)),
        ([cost_state(1, None), cost_state(2, None)], Decimal(2)),
        ([cost_state(1, 0), cost_state(None, 1)], None),
    ],
)
def test_the_last_report_of_a_file_wins_and_of_files_the_furthest(
    lines: list[turnlog.Line], cost: Decimal | None
) -> None:
    for order in (lines, lines[::-1]):
        [session] = UsageFold(order).list_sessions()
        assert session.cost_state is not None
        assert find_reported_cost(session.cost_state) == cost
        assert session.own == session.unique == Totals()


def test_merging_brings_the_results_of_the_stream() -> None:
    usage = UsageFold()
    usage.merge(fold("usage-result/stream"))
    assert outcome(usage) == outcome(fold("usage-result/stream"))


def test_a_reported_cost_that_is_no_money_is_none() -> None:
    assert find_reported_cost(CostState(total_cost_usd=float("inf"))) is None


# Properties.

times = st.sampled_from(["2026-03-01T10:00:00Z", "2026-03-01T10:00:01Z", "2026-03-02T10:00:00Z"])
counts = st.integers(0, 3)
optional = {"cache_creation_input_tokens": counts, "cache_read_input_tokens": counts}


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(["m1", "m2", None]))
    message: dict[str, Any] = {
        "model": draw(st.sampled_from(["claude-opus-5", "other", "<synthetic>"])),
        "stop_reason": draw(st.sampled_from([None, "end_turn"])),
        "usage": draw(
            st.fixed_dictionaries({"input_tokens": counts, "output_tokens": counts}, optional=optional)
        ),
    }
    return {
        "type": "assistant",
        "uuid": draw(st.sampled_from(["u1", "u2"])),
        "sessionId": draw(st.sampled_from(["s1", "s2"])),
        "timestamp": draw(times),
        "attributionSkill": draw(st.sampled_from([None, "brew", "pour"])),
        "message": {"role": "assistant", "content": [], **message, **({"id": name} if name else {})},
    }


reports = st.builds(
    lambda session, cost: {"type": "cost-state", "sessionId": session, "totalCostUSD": cost},
    st.sampled_from(["s1", "s2"]),
    st.sampled_from([0.1, 1, 2.5]),
)


@st.composite
def files(draw: st.DrawFn) -> list[tuple[str, int, bytes]]:
    """Lines of two files, each at its own place."""
    lines = draw(st.lists(st.tuples(st.sampled_from("ab"), st.one_of(answers(), reports)), max_size=12))
    return [(source, place, json.dumps(line).encode()) for place, (source, line) in enumerate(lines)]


def outcome(usage: UsageFold) -> tuple[object, ...]:
    return usage.list_messages(), usage.list_sessions(), usage.list_messages("s1")


@given(files(), st.randoms(use_true_random=False), st.booleans())
def test_any_order_gives_the_same(
    found: list[tuple[str, int, bytes]], order: random.Random, placed: bool
) -> None:
    lines = reference.decoded(found) if placed else [turnlog.decode(line) for _, _, line in found]
    expected = outcome(UsageFold(lines))
    order.shuffle(lines)
    assert outcome(UsageFold(lines)) == expected


@given(files(), st.lists(st.integers(0, 2), min_size=12, max_size=12), st.permutations([0, 1, 2]))
def test_merging_parts_gives_the_same_as_the_whole(
    found: list[tuple[str, int, bytes]], parts: list[int], order: list[int]
) -> None:
    lines = reference.decoded(found)
    folds = [UsageFold(), UsageFold(), UsageFold()]
    for line, part in zip(lines, parts, strict=False):
        folds[part].add(line)
    merged = UsageFold()
    for part in order:
        merged.merge(folds[part])
    assert outcome(merged) == outcome(UsageFold(lines))
    merged.merge(merged)
    assert outcome(merged) == outcome(UsageFold(lines)), "adding a line twice does no harm"


@given(files())
def test_the_unique_totals_of_sessions_add_up(found: list[tuple[str, int, bytes]]) -> None:
    usage = UsageFold(reference.decoded(found))
    unique = sum((each.unique for each in usage.list_sessions()), Totals())
    assert unique == build_total(usage.list_messages())


@given(files())
def test_totals_equal_the_slow_reference(found: list[tuple[str, int, bytes]]) -> None:
    assert_equals_reference(UsageFold(reference.decoded(found)).list_messages(), found)


def assert_equals_reference(messages: list[MessageUsage], found: list[tuple[str, int, bytes]]) -> None:
    expected = reference.messages(reference.parsed(found))
    assert {message.message for message in messages} == set(expected)
    for message in messages:
        one = expected[message.message]
        assert {name: getattr(message.tokens, name) for name in reference.COUNTS} == one["used"]
        assert (message.model, message.session) == (one["model"], one["session"])
        assert message.complete == one["complete"]
        assert message.time == datetime.fromisoformat(one["time"])


def test_totals_of_real_sessions_equal_the_slow_reference(corpus: Path, report: Callable[[str], None]) -> None:
    found = reference.corpus_lines(corpus)
    usage = UsageFold(reference.decoded(found))
    messages = usage.list_messages()
    assert_equals_reference(messages, found)
    total = build_total(messages)
    assert sum((each.unique for each in usage.list_sessions()), Totals()) == total
    own = sum((each.own for each in usage.list_sessions()), Totals())
    sessions = len(group_by_session(messages))
    report(f"{total.messages} messages in {sessions} sessions, {total.incomplete} incomplete: {total.tokens}")
    assert own.messages >= total.messages

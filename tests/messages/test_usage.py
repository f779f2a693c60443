from __future__ import annotations

import golden
import turnlog
from turnlog import UNSET, ProblemKind
from turnlog.messages import message
from turnlog.messages.base import Raw
from turnlog.messages.entries import AssistantEntry
from turnlog.messages.message import CacheCreation, Iteration, OutputTokensDetails, ServerToolUse, Usage


def usage_of(answer: AssistantEntry) -> Usage:
    assert isinstance(answer.message.usage, Usage)
    return answer.message.usage


def only_usage(name: str) -> Usage:
    return usage_of(golden.entry(name, AssistantEntry))


def test_every_field_of_usage_is_set_by_a_golden_line() -> None:
    assert golden.fields_declared(message) - golden.fields_set(golden.values()) == set()


def test_cache_writes_are_split_by_how_long_they_live() -> None:
    used = only_usage("usage-cache-split")

    assert (used.input_tokens, used.output_tokens) == (4, 9)
    assert (used.cache_creation_input_tokens, used.cache_read_input_tokens) == (300, 1200)
    assert used.cache_creation == CacheCreation(ephemeral_5m_input_tokens=100, ephemeral_1h_input_tokens=200)
    assert (used.service_tier, used.inference_geo, used.speed) == ("standard", "not_available", "fast")


def test_server_tools_are_counted() -> None:
    used = only_usage("usage-server-tools")

    assert used.server_tool_use == ServerToolUse(web_search_requests=2, web_fetch_requests=1)
    assert used.output_tokens_details == OutputTokensDetails(thinking_tokens=6)
    assert isinstance(used.fallback_credit, Raw)


def test_each_iteration_has_counters_of_its_own() -> None:
    used = only_usage("usage-iterations")

    assert isinstance(used.iterations, tuple)
    first, second = used.iterations
    assert (first.type, first.model, first.output_tokens) == ("message", "claude-opus-4-1", 12)
    assert first.cache_creation == CacheCreation(ephemeral_5m_input_tokens=1, ephemeral_1h_input_tokens=0)
    assert second == Iteration(type="compaction", input_tokens=3, output_tokens=8)


def test_counters_may_be_null_and_so_may_usage() -> None:
    nulls, nothing = golden.entries("usage-null", AssistantEntry)

    assert usage_of(nulls).input_tokens is None
    assert usage_of(nulls).iterations is None
    assert nothing.message.usage is None


def test_a_counter_that_is_not_there_is_not_zero() -> None:
    answer = golden.entry("assistant-text", AssistantEntry)

    assert usage_of(answer).cache_read_input_tokens is UNSET


def test_each_line_of_a_split_answer_keeps_its_own_counters() -> None:
    parts = golden.entries("assistant-split-message", AssistantEntry)

    assert [usage_of(part).output_tokens for part in parts] == [2, 2, 57]


def test_a_second_copy_of_old_is_read() -> None:
    answer = golden.entry("assistant-legacy-cost", AssistantEntry)

    assert answer.usage == Usage(input_tokens=3, output_tokens=5)
    assert (answer.cost_usd, answer.duration_ms) == (0.0123, 2100)


def test_a_new_counter_is_a_problem_and_the_others_stay_typed() -> None:
    line = b'{"type":"assistant","message":{"content":[],"usage":{"input_tokens":1,"tea_tokens":2}}}'
    decoded = turnlog.decode(line)
    [problem] = decoded.problems

    assert isinstance(decoded.entry, AssistantEntry)
    assert decoded.entry.message.usage == Usage(input_tokens=1)
    assert (problem.kind, problem.path) == (ProblemKind.UNKNOWN_FIELD, "$.message.usage.tea_tokens")
    assert turnlog.encode(decoded) == line

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden
import strategies
import summary_reference
import turnlog
import usage_reference
from turnlog import Line, Position
from turnlog.transcripts.call_builder import CallBuilder, build_calls
from turnlog.transcripts.kinds import CallState
from turnlog.transcripts.summary import (
    CallTally,
    Counts,
    PullRequest,
    Summary,
    SummaryFold,
    Worktree,
    build_summary,
)
from turnlog.transcripts.titles import Title, TitleSource
from turnlog.transcripts.usage.prices import Prices
from turnlog.transcripts.usage.sightings import ModelTotals, UsageBook, UsageFold
from turnlog.transcripts.usage.tokens import Tokens, Totals

SONNET, OPUS = "claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101"
PRICES = Prices()


def read(name: str) -> list[Line]:
    raws = golden.lines(f"transcripts/summary/{name}")
    return [turnlog.decode(raw, at=Position(name, place)) for place, raw in enumerate(raws)]


def line(kind: str, **members: object) -> Line:
    return turnlog.decode(json.dumps({"type": kind, "sessionId": "s", **members}))


def user(content: object, **members: object) -> Line:
    return line("user", message={"role": "user", "content": content}, **members)


def answer(**members: object) -> Line:
    return line("assistant", message={"role": "assistant", "content": [], "model": OPUS, **members})


# One session with a bit of everything, counted by hand.


def test_everything_is_counted() -> None:
    assert build_summary(read("session")).counts == Counts(
        lines=45,
        types={
            "agent-color": 1,
            "agent-name": 1,
            "agent-setting": 1,
            "ai-title": 1,
            "assistant": 7,
            "attachment": 2,
            "continued-in": 1,
            "cost-state": 3,
            "last-prompt": 1,
            "mode": 1,
            "permission-mode": 1,
            "pr-link": 2,
            "system/api_error": 1,
            "system/compact_boundary": 1,
            "tag": 2,
            "unknown": 2,
            "user": 15,
            "worktree-state": 2,
        },
        prompts=4,
        commands=1,
        shell_commands=1,
        answers=4,
        calls=4,
        failed_calls=1,
        unresolved_calls=1,
        agents=1,
        compactions=1,
        api_errors=1,
        api_retries=1,
        interruptions=1,
        aborted=1,
        deleted=1,
        unknown=2,
        problems=2,
    )


def test_what_the_session_is_and_where_it_ran_is_told() -> None:
    summary = build_summary(read("session"))

    assert (summary.id, summary.other_ids) == ("s-1", ("s-0",))
    assert summary.title == Title("Boiling the kettle", TitleSource.AI)
    assert summary.models == (SONNET, OPUS)
    assert summary.branches == ("main", "tea"), "`HEAD` is no branch"
    assert summary.versions == ("2.1.90", "2.1.91")
    assert summary.cwds == ("/home/ada/kettle", "/home/ada/kettle/lid")
    assert summary.entrypoints == ("cli",)
    assert summary.agents == ("a7",)
    assert summary.forked_from == "s-0"
    assert summary.last_prompt == "And the pot, please."


def test_times_are_the_earliest_and_the_latest_wherever_they_stand() -> None:
    summary = build_summary(read("session"))

    assert summary.first_time == datetime(2026, 3, 1, 9, 59, tzinfo=UTC)
    assert summary.last_time == datetime(2026, 3, 1, 10, 4, 11, tzinfo=UTC)


def test_the_last_word_about_the_session_counts() -> None:
    summary = build_summary(read("session"))

    assert (summary.tag, summary.mode, summary.permission_mode) == ("tea", "normal", "acceptEdits")
    assert (summary.agent_name, summary.agent_color, summary.agent_setting) == (
        "kettle-north",
        "blue",
        "butler",
    )
    assert summary.worktree == Worktree("/home/ada/kettle/.worktrees/u", "u", None)
    assert summary.continued_in == "s-2"
    assert summary.pull_requests == (PullRequest(7, "https://example.org/kettle/pull/7", "ada/kettle"),)


def test_tokens_and_costs_are_added_up_by_model() -> None:
    summary = build_summary(read("session"), prices=PRICES)
    opus = Decimal(20 * 5 + 5 * 25) / 1_000_000
    sonnet = Decimal(14 * 3 + 42 * 15) / 1_000_000

    assert summary.totals == Totals(4, 1, Tokens(input=34, output=47))
    assert summary.model_totals == (
        ModelTotals(OPUS, Totals(1, 1, Tokens(input=20, output=5)), opus),
        ModelTotals(SONNET, Totals(3, 0, Tokens(input=14, output=42)), sonnet),
    )
    assert summary.cost == opus + sonnet
    assert summary.reported_cost == Decimal("0.0123"), "the last of this session"


def test_without_prices_there_is_no_cost() -> None:
    summary = build_summary(read("session"))

    assert summary.cost is None
    assert [each.cost for each in summary.model_totals] == [None, None]


def test_what_has_no_price_is_named() -> None:
    usage = {"input_tokens": 1, "output_tokens": 1}
    lines = [
        answer(model="teapot-1", id="m-1", usage=usage),
        answer(id="m-2", usage={**usage, "speed": "fast"}),
    ]
    summary = build_summary(lines, prices=PRICES)

    assert [(each.model, each.cost is None) for each in summary.model_totals] == [
        (OPUS, False),
        ("teapot-1", True),
    ]
    assert summary.cost == summary.model_totals[0].cost
    assert summary.unpriced_terms == ("speed=fast",)


def test_a_stream_is_summed_up_too() -> None:
    summary = build_summary(read("stream"), prices=PRICES)
    counts = summary.counts

    assert (summary.id, summary.project, summary.versions) == ("s-9", "/home/ada/kettle", ("2.1.99",))
    assert (summary.models, summary.permission_mode) == ((OPUS,), "plan")
    assert (counts.prompts, counts.answers, counts.calls, counts.unresolved_calls) == (1, 2, 1, 0)
    assert (counts.api_errors, counts.api_retries, counts.aborted, counts.compactions) == (1, 1, 1, 1)
    assert counts.types["system/init"] == 1
    assert summary.reported_cost == Decimal("0.5")


def test_nothing_is_summed_up_as_nothing() -> None:
    assert build_summary([], prices=PRICES) == Summary(cost=Decimal(0))
    assert SummaryFold().build() == Summary()


# Rules, one by one.


def test_a_copied_line_is_a_line_but_no_second_message() -> None:
    lines = [user("Boil.", uuid="u-1"), user("[Request interrupted by user]", uuid="u-2"), answer(id="m-1")]
    counts = build_summary([*lines, *lines]).counts

    assert (counts.lines, counts.types["user"]) == (6, 4)
    assert (counts.prompts, counts.interruptions, counts.answers) == (1, 1, 1)


def test_lines_without_a_uuid_count_each() -> None:
    assert build_summary([user("Boil."), user("Boil.")]).counts.prompts == 2
    assert build_summary([answer(), answer(), answer(id="m")]).counts.answers == 3


def test_the_session_that_most_lines_name_is_the_session_and_of_equals_the_first() -> None:
    lines = [user("x", sessionId=name) for name in ("a", "b", "c", "b", "c", "")]

    assert build_summary(lines[:3]).id == "a"
    assert (build_summary(lines).id, build_summary(lines).other_ids) == ("b", ("a", "c"))


def test_asking_again_changes_nothing() -> None:
    fold = SummaryFold()
    for name in ("a", "a", "b"):
        fold.add(user("x", sessionId=name))

    assert {fold.build().id for _ in range(5)} == {"a"}


def test_the_project_is_the_directory_that_the_folder_is_named_after() -> None:
    lines = [user("x", cwd="/home/ada/cup"), user("x", cwd="/home/ada/kettle")]

    assert build_summary(lines).project == "/home/ada/cup"
    assert build_summary(lines, folder="-home-ada-kettle").project == "/home/ada/kettle"
    assert build_summary([], folder="-home-ada-kettle").project == "-home-ada-kettle"


@pytest.mark.parametrize(
    ("content", "members", "counted"),
    [
        ("Boil.", {}, (1, 0, 0)),
        ("Boil.", {"isMeta": True}, (0, 0, 0)),
        ("Boil.", {"isSidechain": True}, (0, 0, 0)),
        ("Boil.", {"isCompactSummary": True}, (0, 0, 0)),
        ("Boil.", {"isDeleted": True}, (0, 0, 0)),
        ("Boil.", {"origin": {"kind": "task-notification"}}, (0, 0, 0)),
        ("<user-memory-input>milk last</user-memory-input>", {}, (1, 0, 0)),
        ('<teammate-message teammate_id="a">Boil.</teammate-message>', {}, (0, 0, 0)),
        ("<command-name>/x</command-name>", {}, (0, 1, 0)),
        ("<bash-input>ls</bash-input>", {}, (0, 0, 1)),
        ("<bash-stdout>x</bash-stdout>", {}, (0, 0, 0)),
        ("<ide_opened_file>x</ide_opened_file>", {}, (0, 0, 0)),
        ("", {}, (0, 0, 0)),
        ([{"type": "text", "text": "<ide_opened_file>x</ide_opened_file>"}, {"type": "image"}], {}, (1, 0, 0)),
        (
            [{"type": "text", "text": "<ide_opened_file>x</ide_opened_file>"}, {"type": "text", "text": "y"}],
            {},
            (1, 0, 0),
        ),
        ([{"type": "tool_result", "tool_use_id": "c", "content": "Boil."}], {}, (0, 0, 0)),
    ],
)
def test_prompts_are_what_people_typed_or_showed(
    content: object, members: dict[str, object], counted: tuple[int, int, int]
) -> None:
    counts = build_summary([user(content, **members)]).counts

    assert (counts.prompts, counts.commands, counts.shell_commands) == counted


def test_an_interruption_counts_beside_a_result_too() -> None:
    result = {"type": "tool_result", "tool_use_id": "c", "content": "[Request interrupted by user]"}
    marker = {"type": "text", "text": "[Request interrupted by user for tool use]"}

    assert build_summary([user([result])]).counts.interruptions == 0, "it was a tool that said so"
    counts = build_summary([user([result, marker]), user([result, {"type": "text", "text": "note"}])]).counts
    assert (counts.interruptions, counts.prompts) == (1, 0)


def test_queued_prompts_count_unless_the_program_queued_them() -> None:
    def queued(**members: object) -> Line:
        return line("attachment", attachment={"type": "queued_command", **members})

    image = [{"type": "image", "source": {"type": "url", "url": "x"}}]
    assert build_summary([queued(prompt="Boil."), queued(prompt=image)]).counts.prompts == 2
    assert build_summary([queued(prompt="Boil.", isMeta=True), queued(prompt="")]).counts.prompts == 0
    assert build_summary([queued(prompt="Boil.", origin={"kind": "peer"})]).counts.prompts == 0


def test_a_prompt_without_words_leaves_the_last_prompt_as_it_is() -> None:
    image = [{"type": "image", "source": {"type": "url", "url": "x"}}]

    assert build_summary([user("Boil.\nNow."), user(image)]).last_prompt == "Boil."
    assert build_summary([user("a"), user("<command-name>/brew</command-name>")]).last_prompt == "/brew"


def test_the_first_prompt_is_the_first_that_has_words() -> None:
    image = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]
    assert build_summary([user(image), user("Boil.\nNow."), user("And pour.")]).first_prompt == "Boil."
    assert build_summary([user(image)]).first_prompt is None


def test_synthetic_answers_are_neither_answers_nor_models() -> None:
    summary = build_summary([answer(model="<synthetic>", id="m-1"), answer(model=None, id="m-2")])

    assert (summary.counts.answers, summary.models) == (1, ())


def test_compaction_counts_once_in_older_dialects() -> None:
    for dialect in ("spec-000", "spec-004"):
        lines = [turnlog.decode(raw) for raw in golden.legacy_lines(dialect)]
        assert build_summary(lines).counts.compactions == 1, dialect


def test_an_empty_tag_or_name_takes_it_away_and_a_worktree_can_be_left() -> None:
    lines = [
        line("tag", tag="tea"),
        line("agent-name", agentName="north"),
        line("worktree-state", worktreeSession={"worktreePath": "/w"}),
        line("tag", tag=""),
        line("agent-name", agentName=""),
        line("worktree-state", worktreeSession=None),
    ]

    assert build_summary(lines[:3]).worktree == Worktree("/w")
    assert build_summary(lines) == msgspec.structs.replace(
        build_summary(lines), tag=None, agent_name=None, worktree=None
    )


def test_pull_requests_are_listed_once_each() -> None:
    lines = [line("pr-link", prNumber=1), line("pr-link", prNumber=2), line("pr-link", prNumber=1)]

    assert [each.number for each in build_summary(lines).pull_requests] == [1, 2]


def test_a_fork_of_old_names_its_origin_by_a_string() -> None:
    assert build_summary([user("x", forkedFrom="s-0"), user("x", forkedFrom="s-9")]).forked_from == "s-0"
    assert build_summary([user("x", forkedFrom=None), user("x", forkedFrom={})]).forked_from is None


def test_a_time_that_is_none_is_left_out() -> None:
    summary = build_summary(
        [user("x", timestamp="2026-99-99T00:00:00.000Z"), user("x", timestamp="2026-01-01")]
    )

    assert summary.first_time == summary.last_time == datetime(2026, 1, 1, tzinfo=UTC)


def test_usage_and_calls_of_others_are_asked_and_not_fed() -> None:
    lines = read("session")
    usage, calls = UsageFold(), CallBuilder()
    fold = SummaryFold(usage=lambda: UsageBook(usage), calls=lambda: CallTally(calls.build().calls))
    ready = SummaryFold(
        usage=lambda: UsageBook(UsageFold(lines)), calls=lambda: CallTally(build_calls(lines).calls)
    )
    for each in lines:
        fold.add(each)
        ready.add(each)

    assert (fold.build().totals, fold.build().counts.calls) == (Totals(), 0)
    for each in lines:
        usage.add(each)
        calls.add(each)
    assert fold.build() == ready.build() == build_summary(lines)


def test_models_that_only_agents_used_are_listed_behind() -> None:
    usage = UsageFold([answer(id="m-1", model="teapot-1", usage={"input_tokens": 1})])
    fold = SummaryFold(usage=lambda: UsageBook(usage), calls=CallTally)
    fold.add(answer(id="m-2"))

    assert fold.build().models == (OPUS, "teapot-1")


# The fold is one: at every cut, and in every form.


def assert_same_at_every_cut(lines: list[Line]) -> None:
    fold = SummaryFold()
    for end in range(len(lines) + 1):
        assert fold.build() == build_summary(lines[:end])
        if end < len(lines):
            fold.add(lines[end])


def test_the_golden_sessions_give_the_same_at_every_cut() -> None:
    for name in ("session", "stream"):
        assert_same_at_every_cut(read(name))


def test_a_summary_can_be_written_and_read_back() -> None:
    summary = build_summary(read("session"), prices=PRICES)
    written = msgspec.json.encode(summary)

    assert msgspec.json.decode(written, type=Summary) == summary
    assert json.loads(written)["cost"] == str(summary.cost)


@given(st.lists(st.sampled_from(golden.lines("transcripts/summary/session")), max_size=12))
def test_lines_in_any_order_give_the_same_at_every_cut(raws: list[bytes]) -> None:
    assert_same_at_every_cut([turnlog.decode(raw) for raw in raws])


@given(st.one_of(strategies.sessions, st.lists(strategies.lines, max_size=5)))
def test_any_lines_are_summed_up(raws: list[bytes]) -> None:
    lines = [turnlog.decode(raw, at=Position("x", place)) for place, raw in enumerate(raws)]
    summary = build_summary(lines)

    assert_same_at_every_cut(lines)
    assert summary.counts.lines == sum(summary.counts.types.values()) == len(lines)
    assert msgspec.json.decode(msgspec.json.encode(summary), type=Summary) == summary


def test_ten_times_the_lines_take_ten_times_as_long() -> None:
    def seconds(times: int) -> float:
        lines = [user(f"Boil {i}.", uuid=f"u-{i}") for i in range(100 * times)]
        best = 9.0
        for _ in range(3):
            began = time.process_time()
            build_summary(lines)
            best = min(best, time.process_time() - began)
        return best

    assert seconds(100) < 40 * seconds(10)


# Real sessions, against plain loops over plain JSON.


def sessions(corpus: Path) -> Iterator[tuple[Path, list[bytes], list[Line]]]:
    for path in sorted((corpus / "sessions").rglob("*.jsonl")):
        raws = [raw for raw in path.read_bytes().split(b"\n") if raw.strip()]
        yield path, raws, [turnlog.decode(raw, at=Position(str(path), i)) for i, raw in enumerate(raws)]


def test_every_number_of_real_sessions_equals_the_slow_reference(
    corpus: Path, report: Callable[[str], None]
) -> None:
    totals: dict[str, int] = {}
    for path, raws, lines in sessions(corpus):
        records = summary_reference.parse(raws)
        summary = build_summary(lines)
        counts = msgspec.structs.asdict(summary.counts)
        failed = sum(call.state is CallState.FAILED for call in build_calls(lines).calls)
        expected = summary_reference.count(records) | {
            "failed_calls": failed,
            "problems": sum(len(each.problems) for each in lines),
        }
        assert counts == expected, path
        assert_features(summary, records)
        for name, value in counts.items():
            totals[name] = totals.get(name, 0) + (len(value) if isinstance(value, dict) else value)
    assert totals["problems"] == totals["unknown"]
    report(str(totals))


def assert_features(summary: Summary, records: list[summary_reference.Record | None]) -> None:
    names = summary_reference.sessions(records)
    times = summary_reference.times(records)
    own = names.most_common(1)[0][0] if names else None

    assert summary.id == own
    assert set(summary.other_ids) == set(names) - {own}
    assert (summary.first_time, summary.last_time) == ((times[0], times[-1]) if times else (None, None))
    assert summary.models == summary_reference.models(records)
    assert summary.cwds == summary_reference.distinct(records, "cwd")
    assert summary.versions == summary_reference.distinct(records, "version")
    assert summary.entrypoints == summary_reference.distinct(records, "entrypoint")
    assert summary.branches == tuple(
        each for each in summary_reference.distinct(records, "gitBranch") if each != "HEAD"
    )
    assert set(summary.agents) == summary_reference.agents([each for each in records if each is not None])


def test_tokens_and_costs_of_real_sessions_equal_the_slow_reference(corpus: Path) -> None:
    for path, raws, lines in sessions(corpus):
        summary = build_summary(lines, prices=PRICES)
        found = [(str(path), place, raw) for place, raw in enumerate(raws)]
        messages = usage_reference.messages(usage_reference.parsed(found)).values()
        costs = [usage_reference.cost(message) for message in messages]
        used = {name: sum(each["used"][name] for each in messages) for name in usage_reference.COUNTS}

        assert msgspec.structs.asdict(summary.totals.tokens) == used, path
        assert summary.totals.messages == len(messages)
        assert summary.totals.incomplete == sum(not each["complete"] for each in messages)
        assert Fraction(summary.cost or 0) == sum(cost for cost in costs if cost is not None), path


def test_a_sample_of_real_sessions_gives_the_same_at_every_cut(corpus: Path) -> None:
    small = [lines for _, _, lines in sessions(corpus) if 20 <= len(lines) <= 150]

    assert len(small) > 10
    for lines in small[::4]:
        assert_same_at_every_cut(lines)

"""A prompt and all that answers it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from hypothesis import given

import turnlog
from strategies import sessions
from turnlog.transcripts import Author, Lane, Session, TouchedFile, Turn
from turnlog.transcripts.usage.prices import Prices, Rates

DATA = Path(__file__).parents[1] / "data" / "transcripts"


def read(name: str) -> Session:
    return turnlog.read(DATA / name / "session.jsonl")


def ids(turn: Turn) -> list[str]:
    return [message.id for message in turn.messages]


def test_a_turn_is_a_prompt_and_all_that_answers_it() -> None:
    first, woken, last = read("turns").turns
    assert ids(first) == ["u1", "a1", "a2", "a3", "u2"]
    assert ids(woken) == ["n1", "a4"]
    assert ids(last) == ["u3", "a5"]
    assert [turn.index for turn in (first, woken, last)] == [0, 1, 2]


def test_a_command_that_is_not_answered_begins_no_turn() -> None:
    assert "u2" in ids(read("turns").turns[0])


def test_news_that_wakes_the_model_begins_a_turn_of_the_system() -> None:
    assert read("turns").turns[1].prompt.author is Author.SYSTEM


def test_the_program_says_how_long_a_turn_took() -> None:
    assert read("turns").turns[0].duration == timedelta(seconds=61)


def test_else_a_turn_lasts_from_its_first_to_its_last_line() -> None:
    turn = read("turns").turns[2]
    assert turn.started == datetime(2026, 5, 1, 10, 0, 13, tzinfo=UTC)
    assert turn.ended == datetime(2026, 5, 1, 10, 0, 14, tzinfo=UTC)
    assert turn.duration == timedelta(seconds=1)


def test_a_turn_knows_its_calls_and_the_files_they_touched() -> None:
    turn = read("turns").turns[0]
    assert [call.name for call in turn.calls] == ["Read", "Edit", "Read"]
    assert turn.files == (TouchedFile("/home/ada/app/p.py", True), TouchedFile("/home/ada/app/q.py", False))


def test_calls_that_failed_touched_nothing() -> None:
    [turn] = read("spec-000-recovery").turns
    assert turn.files == ()


def test_a_turn_counts_each_answer_once_and_knows_its_cost() -> None:
    rates = Rates(input=Decimal(1), output=Decimal(100))
    prices = Prices({"claude-sonnet-4-5-20250929": rates})
    session = turnlog.read(DATA / "turns" / "session.jsonl", prices=prices)
    turn = session.turns[0]
    assert (turn.totals.messages, turn.totals.tokens.input, turn.totals.tokens.output) == (3, 15, 60)
    assert turn.cost == Decimal("0.006015")
    assert sum(each.cost for each in session.turns) == session.bill.cost


def test_what_is_delivered_within_a_turn_belongs_to_it() -> None:
    [turn] = read("steering").turns
    assert ids(turn)[:4] == ["u1", "a1", "q1", "a2"]
    first, second = read("interruption").turns
    assert ids(first) == ["u1", "a1", "i1"]
    assert ids(second) == ["u2", "a2"]
    [whole] = read("compaction").turns
    assert ids(whole) == ["u1", "a1", "b1", "u2", "a2"]


def test_what_a_compaction_kept_stays_in_its_turn() -> None:
    first, second = read("compaction-within-a-turn").turns
    assert ids(first) == ["u1", "a1", "b1", "u3"]
    assert ids(second) == ["u2", "a2"]


def test_branches_have_turns_of_their_own() -> None:
    assert [ids(turn) for turn in read("fork").turns] == [
        ["u1", "a1"],
        ["u2", "a2"],
        ["u3", "a3"],
        ["u4", "a4"],
    ]


def test_messages_of_agents_are_with_the_agents() -> None:
    [turn] = read("spec-004-delegation").turns
    assert ids(turn) == ["h1", "a1", "a4"]


@given(sessions)
def test_no_message_is_in_two_turns(raw: list[bytes]) -> None:
    session = Session(turnlog.decode(line) for line in raw)
    seen = [message.index for turn in session.turns for message in turn.messages]
    assert len(seen) == len(set(seen))
    for turn in session.turns:
        assert turn.messages
        assert all(message.lane is not Lane.AGENT for message in turn.messages)
        assert (turn.duration, turn.files, turn.totals) is not None

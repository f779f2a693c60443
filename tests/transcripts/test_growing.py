"""A conversation that grows is, at any time, the one that all its lines at once would give."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnlog
from golden import DATA
from made_up_lines import build_answer, made_up_lines
from turnlog.messages import Line
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.conversation.messages import Rule
from turnlog.transcripts.conversation.timeline import Growth
from turnlog.transcripts.line_reader import read_lines
from turnlog.transcripts.session import Session

GOLDEN = sorted((DATA / "transcripts").rglob("*.jsonl"))
Look = tuple[object, ...]


def look_at(conversation: Conversation) -> Look:
    """Return all that follows from the lines of a conversation."""
    return (
        conversation.lines,
        conversation.calls,
        conversation.orphans,
        conversation.messages,
        conversation.placements,
        conversation.tree,
        conversation.compactions,
    )


def list_rows(conversation: Conversation) -> list[Look]:
    """Return all that is said of each message."""
    tree = conversation.live_tree
    return [
        (message, tree.edges.parents[at], tree.branch_of[at], at in tree.active_path)
        for at, message in enumerate(conversation.live_messages)
    ]


def grow(conversation: Conversation, lines: Sequence[Line]) -> Growth:
    """Extend a conversation; what it does not say is new must be as it was."""
    rows, placements, calls = list_rows(conversation), conversation.placements, conversation.calls
    growth = conversation.extend(lines)
    after = list_rows(conversation)
    for at in range(growth.message):
        assert at in growth.touched or rows[at][:3] == after[at][:3]
        assert at in growth.touched or at in growth.flipped or rows[at] == after[at]
    assert growth.line == len(placements)
    if growth.message:
        for at in set(range(growth.line)) - set(growth.moved):
            assert placements[at] == conversation.placements[at]
    for at in set(range(len(calls))) - set(growth.calls):
        assert calls[at] is conversation.calls[at]
    assert set(range(len(calls), len(conversation.calls))) <= set(growth.calls)
    return growth


def cut(lines: Sequence[Line], cuts: Sequence[int]) -> list[Sequence[Line]]:
    edges = [0, *sorted(cuts), len(lines)]
    return [lines[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_line_by_line_is_the_same_as_all_at_once(path: Path) -> None:
    lines = list(read_lines(path))
    conversation = Conversation([])
    for at, line in enumerate(lines):
        grow(conversation, [line])
        assert look_at(conversation) == look_at(Conversation(lines[: at + 1]))


@given(st.data())
def test_in_any_pieces_it_is_the_same_as_all_at_once(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(GOLDEN))
    lines = list(read_lines(path))
    order = data.draw(st.permutations(range(len(lines)))) if data.draw(st.booleans()) else range(len(lines))
    lines = [lines[at] for at in order]
    conversation = Conversation([])
    for piece in cut(lines, data.draw(st.lists(st.integers(0, len(lines)), max_size=8))):
        grow(conversation, piece)
    assert look_at(conversation) == look_at(Conversation(lines))


@given(made_up_lines(), st.lists(st.integers(0, 24), max_size=6))
def test_whatever_lines_have_to_do_with_each_other_growing_is_the_same(
    lines: list[Line], cuts: list[int]
) -> None:
    session, conversation = Session([]), Conversation([])
    for piece in cut(lines, [min(each, len(lines)) for each in cuts]):
        grow(conversation, piece)
        look_at_session(session)
        session.extend(piece)
    assert look_at(conversation) == look_at(Conversation(lines))
    assert look_at_session(session) == look_at_session(Session(lines))


def look_at_session(session: Session) -> Look:
    """Return what a session amounts to; turns have prices, which are compared by what they come to."""
    turns = [(turn.messages, turn.usage, turn.agents, turn.told_duration, turn.cost) for turn in session.turns]
    agents = [(agent.id, agent.state, agent.lines, agent.call, agent.linked_by) for agent in session.agents]
    used = session.usage.list_messages()
    return turns, agents, used, session.summary, session.bill, session.problems, session.count_problems()


def test_thinking_that_waits_for_its_answer_over_several_lines_is_handed_on() -> None:
    thinking = {"type": "thinking", "thinking": "Hm."}
    contents = [[thinking], [thinking], [{"type": "text", "text": "Done."}]]
    lines = [
        turnlog.decode(json.dumps(build_answer(blocks, f"m{number}", []) | {"uuid": f"u{number}"}))
        for number, blocks in enumerate(contents)
    ]
    conversation = Conversation(lines[:1])
    for line in lines[1:]:
        grow(conversation, [line])
    [message] = conversation.messages
    assert len(message.lines) == 3
    assert [placement.rule for placement in conversation.placements] == [
        Rule.THINKING,
        Rule.THINKING,
        Rule.ANSWER,
    ]


def test_a_command_makes_a_fork_as_soon_as_it_is_answered() -> None:
    command = {"role": "user", "content": "<command-name>/go</command-name>"}
    said: list[dict[str, Any]] = [
        {"type": "user", "message": {"role": "user", "content": "Go on"}},
        build_answer([{"type": "text", "text": "Done."}], "m1", []),
        {"type": "user", "message": command},
        build_answer([{"type": "text", "text": "Gone."}], "m2", []),
        {"type": "user", "message": command},
        build_answer([{"type": "text", "text": "Gone again."}], "m3", []),
    ]
    parents = (None, "u0", "u1", "u2", "u1", "u4")
    times = [f"2026-05-01T10:00:0{number}.000Z" for number in range(6)]
    lines = [
        turnlog.decode(json.dumps(each | {"uuid": f"u{at}", "parentUuid": parents[at], "timestamp": times[at]}))
        for at, each in enumerate(said)
    ]
    conversation = Conversation(lines[:5])
    assert conversation.tree.forks == {}
    grow(conversation, lines[5:])
    assert conversation.tree.forks == {1: (2, 4)}
    assert conversation.tree.branch_of == (0, 0, 1, 1, 2, 2)


def test_real_sessions_grow_and_are_hardly_ever_built_anew(corpus: Path, report: Callable[[str], None]) -> None:
    chance = random.Random(1)
    steps = anew = 0
    for path in sorted(corpus.rglob("*.jsonl")):
        lines = list(read_lines(path))[:600]
        conversation = Conversation([])
        for at, line in enumerate(lines):
            growth = conversation.extend([line])
            conversation.live_tree  # noqa: B018
            steps, anew = steps + 1, anew + (not growth.message and at > 3)
            if chance.random() < 0.02 or at == len(lines) - 1:
                assert look_at(conversation) == look_at(Conversation(lines[: at + 1]))
    report(f"{steps} lines, {anew} times all was built anew")
    assert anew < steps * 0.2

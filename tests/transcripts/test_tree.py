"""Which message follows which, where the conversation forks, and which branch is in use."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given

import turnlog
from strategies import sessions
from turnlog.transcripts import Conversation, Reason, Tree, read_lines

DATA = Path(__file__).parents[1] / "data" / "transcripts"


def read(name: str) -> turnlog.Session:
    return turnlog.read(DATA / name / "session.jsonl")


def edges(session: turnlog.Session | Conversation) -> dict[str, str | None]:
    """Return the parent of each message, both by their ids."""
    ids = [message.id for message in session.messages]
    parents = session.tree.parents
    return {own: None if parent is None else ids[parent] for own, parent in zip(ids, parents, strict=True)}


def names(session: turnlog.Session, indexes: tuple[int, ...]) -> list[str]:
    return [session.messages[index].id for index in indexes]


def mismatches(session: turnlog.Session) -> list[tuple[int, str, str]]:
    return [(each.index, each.told, each.reason.value) for each in session.tree.lineage.mismatches]


def test_parallel_calls_are_no_fork() -> None:
    session = read("split-message")
    assert edges(session) == {"u1": None, "a1": "u1", "a5": "a1"}
    assert session.tree.forks == {}
    assert len(session.tree.branches) == 1


def test_two_prompts_typed_at_different_times_under_one_parent_are_a_fork() -> None:
    session = read("fork")
    tree = session.tree
    assert tree.forks == {1: (2, 4)}
    trunk, first, second = tree.branches
    assert [names(session, branch.messages) for branch in tree.branches] == [
        ["u1", "a1"],
        ["u2", "a2"],
        ["u3", "a3", "u4", "a4"],
    ]
    assert (first.parent, first.fork, second.parent, second.fork) == (0, 1, 0, 1)
    assert [branch.active for branch in (trunk, first, second)] == [True, False, True]
    assert names(session, tree.active) == ["u1", "a1", "u3", "a3", "u4", "a4"]


def test_commands_that_nothing_follows_and_prompts_of_one_instant_are_no_fork() -> None:
    session = read("no-fork")
    assert session.tree.forks == {}
    assert names(session, session.tree.active) == ["u1", "a1", "u3", "a2"]


def test_editing_a_message_makes_a_branch_in_spec_000() -> None:
    session = read("spec-000-branch")
    assert session.tree.forks == {1: (2, 4)}
    assert names(session, session.tree.active) == ["msg-001", "msg-002", "msg-005", "msg-006"]


def test_the_branch_that_calls_itself_active_is_the_active_one() -> None:
    session = read("spec-004-branch")
    assert session.tree.forks == {1: (2, 4)}
    assert names(session, session.tree.active) == ["h1", "a1", "h2", "a2"]
    assert [branch.active for branch in session.tree.branches] == [True, True, False]


def test_a_line_whose_parent_is_missing_is_a_root_and_says_so() -> None:
    session = read("parents-missing")
    assert edges(session) == {"u1": None, "a1": "u1"}
    assert mismatches(session) == [(0, "nowhere", "missing")]


def test_a_parent_may_stand_further_down() -> None:
    session = read("parents-later")
    assert edges(session) == {"u1": None, "a1": "u1", "a2": "u2", "u2": "a1", "a3": "a2"}
    assert mismatches(session) == []


def test_circles_are_cut_at_their_first_line() -> None:
    session = read("parents-cycle")
    assert edges(session) == {"u1": None, "a1": "u1", "a2": "a1", "u2": None}
    assert mismatches(session) == [(0, "a2", "cycle"), (3, "u2", "cycle")]


def test_several_roots_are_kept_and_are_no_fork() -> None:
    session = read("several-roots")
    assert names(session, session.tree.roots) == ["u1", "u2"]
    assert session.tree.forks == {}
    assert len(session.tree.branches) == 2


def test_a_copy_has_its_place_at_the_first_one() -> None:
    session = read("copies")
    assert session.tree.lineage.copies == {2: 0, 3: 1}
    assert edges(session) == {"u1": None, "a1": "u1", "u2": "a1"}
    assert mismatches(session) == [(3, "u1", "copy")]


def test_results_hang_under_their_calls_and_not_under_progress() -> None:
    session = read("progress")
    assert edges(session)["a2"] == "a1"
    assert mismatches(session) == [(4, "p1", "call")]


def test_a_compaction_follows_what_it_names_as_its_logical_parent() -> None:
    assert edges(read("compaction")) == {"u1": None, "a1": "u1", "b1": "a1", "u2": "b1", "a2": "u2"}


def test_a_compaction_whose_logical_parent_is_gone_follows_the_line_before_it() -> None:
    session = read("compaction-dangling")
    assert edges(session) == {"u1": None, "a1": "u1", "b1": "a1", "u2": "b1"}
    assert mismatches(session) == [(2, "elsewhere", "missing")]


@pytest.mark.parametrize("name", ["compaction-preserved", "compaction-segment"])
def test_what_a_compaction_kept_is_linked_behind_its_summary(name: str) -> None:
    session = read(name)
    assert names(session, session.tree.active)[:7] == ["u1", "a1", "b1", "u3", "u2", "a2", "u4"]
    assert mismatches(session) == [(2, "a1", "preserved")]


def test_what_was_written_behind_the_summary_follows_what_was_kept() -> None:
    session = read("compaction-within-a-turn")
    assert names(session, session.tree.active) == ["u1", "b1", "u3", "a1", "u2", "a2"]
    assert mismatches(session) == [(1, "u1", "preserved"), (5, "u3", "preserved")]


def test_old_and_new_parents_of_stored_calls_make_the_same_tree() -> None:
    new, old = read("spec-003-chain"), read("spec-003-old-parents")
    assert edges(new) == edges(old)
    assert edges(new) == {"u1": None, "x0": "u1"} | {f"x{n}": f"x{n - 1}" for n in range(1, 6)} | {"x9": "x5"}
    assert {each.reason for each in old.tree.lineage.mismatches} == {Reason.CALL}


def test_sidechains_hang_where_their_lines_say() -> None:
    assert edges(read("spec-000-sidechain"))["msg-003"] == "msg-002"
    session = read("spec-004-delegation")
    assert names(session, session.tree.active) == ["h1", "a1", "a4"]


def chain(length: int) -> Conversation:
    """A conversation in which each line follows the one before."""
    return Conversation(
        turnlog.decode(
            json.dumps(
                {
                    "type": "user" if number % 2 == 0 else "assistant",
                    "uuid": f"n{number}",
                    "parentUuid": f"n{number - 1}" if number else None,
                    "sessionId": "s",
                    "message": {"id": f"m{number}", "content": "text"},
                }
            )
        )
        for number in range(length)
    )


def test_a_chain_of_100000_works() -> None:
    talk = chain(100_000)
    assert len(talk.tree.active) == 100_000
    assert talk.tree.list_path(99_999)[0] == 0
    assert len(talk.tree.branches) == 1


def test_a_chain_that_runs_backwards_works_too() -> None:
    talk = Conversation(reversed(chain(20_000).lines))
    assert talk.tree.roots == (19_999,)
    assert talk.tree.list_path(0) == list(range(19_999, -1, -1))


def check(tree: Tree, talk: Conversation) -> None:
    messages = range(len(talk.messages))
    assert sorted(index for branch in tree.branches for index in branch.messages) == list(messages)
    assert set(tree.roots) == {index for index in messages if tree.parents[index] is None}
    assert sorted(index for found in tree.children.values() for index in found) == [
        index for index in messages if tree.parents[index] is not None
    ]
    for index in messages:
        assert tree.list_path(index)[0] in tree.roots
    by_uuid = {
        line.entry.uuid: at for at, line in reversed([*enumerate(talk.lines)]) if hasattr(line.entry, "uuid")
    }
    listed = {each.index for each in tree.lineage.mismatches}
    for at, line in enumerate(talk.lines):
        told = getattr(line.entry, "parent_uuid", None)
        if isinstance(told, str) and at not in listed:
            assert tree.lineage.parents[at] == by_uuid[told]


@given(sessions)
def test_every_parent_is_an_edge_or_listed_with_its_reason(raw: list[bytes]) -> None:
    talk = Conversation(turnlog.decode(line) for line in raw)
    check(talk.tree, talk)


def test_the_trees_of_the_corpus_hold_together(corpus: Path, report: Callable[[str], None]) -> None:
    reasons: dict[str, int] = {}
    forks = several = 0
    for path in sorted(corpus.glob("sessions/**/*.jsonl")):
        talk = Conversation(read_lines(path))
        check(talk.tree, talk)
        forks += len(talk.tree.forks)
        several += sum(len(found) > 1 for found in talk.tree.children.values())
        for each in talk.tree.lineage.mismatches:
            reasons[each.reason.value] = reasons.get(each.reason.value, 0) + 1
    report(f"{forks} forks among {several} messages with several children; mismatches {reasons}")
    assert (forks, reasons) == (4, {"call": 390, "missing": 98})

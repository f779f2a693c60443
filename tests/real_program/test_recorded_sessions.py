"""Sessions of the real program as people read them: messages, tree, turns, agents, compactions, summary."""

from __future__ import annotations

from itertools import pairwise

import turnlog
from real_program.recordings import Recording
from real_program.script import Interrupt, Run, Say, Stop
from turnlog.transcripts import AgentLink, Author, Lane, LineDisplay, Message, Rule


def _texts(messages: tuple[Message, ...], rule: Rule) -> list[str]:
    return [message.text for message in messages if message.rule is rule]


def _list_prompts(recording: Recording) -> list[str]:
    """Return what the script said in the session, but for commands."""
    runs: list[Run] = [run for run in recording.scenario.runs if run.session != "forked"]
    steps = [step for run in runs for step in run.steps if isinstance(step, Say | Interrupt | Stop)]
    return [step.prompt for step in steps if not step.prompt.startswith("/")]


def test_nothing_is_wrong_in_any_file(any_recording: Recording) -> None:
    assert sorted({str(each.problem) for each in any_recording.whole.problems}) == []


def test_the_session_knows_its_name_and_its_project(any_recording: Recording) -> None:
    session = any_recording.whole
    assert session.id == any_recording.scenario.session_id
    assert session.project == str(any_recording.folder / "project")


def test_all_prompts_and_answers_are_shown_once(any_recording: Recording) -> None:
    session = any_recording.whole
    prompts = [each for each in session.messages if each.rule is Rule.PROMPT]
    assert [each.text for each in prompts] == _list_prompts(any_recording)
    assert {each.author for each in prompts} == {Author.HUMAN}
    shown = [*session.messages, *(each for agent in session.agents for each in session.open(agent).messages)]
    answers = [each for each in shown if each.rule is Rule.ANSWER and each.author is not Author.SYSTEM]
    used = [each.message for each in session.usage.list_messages()]
    assert sorted(str(each.message_id) for each in answers) == sorted(used)


def test_each_line_has_a_place_and_what_is_shown_is_known(any_recording: Recording) -> None:
    session = any_recording.whole
    assert len(session.placements) == len(session.lines)
    assert Rule.UNKNOWN not in {each.rule for each in session.placements}
    assert {each.display for each in session.placements if each.message is None} <= {
        LineDisplay.HIDDEN,
        LineDisplay.STATE,
    }


def test_the_tree_has_one_root_and_no_forks(any_recording: Recording) -> None:
    tree = any_recording.whole.tree
    assert tree.roots == (0,)
    assert tree.forks == {}
    assert [branch.active for branch in tree.branches] == [True]


def test_an_uninterrupted_conversation_is_a_chain(tools: Recording) -> None:
    tree = tools.whole.tree
    assert all(tree.parents[after] == before for before, after in pairwise(tree.active))
    assert tree.active == tuple(range(len(tools.whole.messages)))


def test_each_answer_is_counted_in_one_turn(any_recording: Recording) -> None:
    session = any_recording.whole
    counted = [each.message for turn in session.turns for each in turn.usage]
    assert sorted(counted) == sorted(each.message for each in session.usage.list_messages())
    assert sum(turn.bill.cost for turn in session.turns) == session.bill.cost


def test_turns_hold_their_calls_and_files(tools: Recording) -> None:
    turns = tools.whole.turns
    assert [turn.prompt.text for turn in turns[:-1]] == _list_prompts(tools)
    assert [[call.id for call in turn.calls] for turn in turns] == [
        ["toolu_read", "toolu_shell"],
        ["toolu_fails"],
        ["toolu_denied"],
        ["toolu_unheard_of", "toolu_misused"],
        ["toolu_much"],
        ["toolu_edit"],
        ["toolu_picture"],
        ["toolu_behind"],
        [],
    ]
    # The program was given relative paths, which are those of the folder that it works in.
    folder = tools.whole.project
    assert {turn.prompt.text: [file.path for file in turn.files] for turn in turns if turn.files} == {
        "Read both files.": [f"{folder}/a.txt"],
        "Change a file.": [f"{folder}/a.txt"],
        "Look at the picture.": [f"{folder}/dot.png"],
    }


def test_an_answer_that_only_calls_tools_is_in_the_tools_lane(tools: Recording) -> None:
    first, second = (each for each in tools.whole.messages if each.calls and each.index < 5)
    assert (first.lane, first.thinking, first.text) == (Lane.MAIN, "Both at once.", "I read both.")
    assert second.lane is Lane.TOOL


def test_news_from_the_background_begins_a_turn(tools: Recording, agents: Recording) -> None:
    for recording in (tools, agents):
        last = recording.whole.turns[-1]
        assert (last.prompt.rule, last.prompt.author) == (Rule.NOTICE, Author.SYSTEM)
        assert len(last.messages) == 2


def test_agents_hang_under_their_calls_at_any_depth(agents: Recording) -> None:
    found = {str(agent.call.id): agent for agent in agents.whole.agents if agent.call is not None}
    assert {name: (agent.depth, agent.background) for name, agent in found.items()} == {
        "toolu_first": (1, False),
        "toolu_second": (1, False),
        "toolu_outer": (1, False),
        "toolu_inner": (2, False),
        "toolu_away": (1, True),
    }
    assert found["toolu_inner"].parent_id == found["toolu_outer"].id
    assert found["toolu_outer"].children == (found["toolu_inner"].id,)
    assert {agent.linked_by for agent in found.values()} == {AgentLink.META}


def test_agents_were_asked_and_have_answered(agents: Recording) -> None:
    found = {str(agent.call.id): agent for agent in agents.whole.agents if agent.call is not None}
    assert {name: (agent.prompt, agent.answer) for name, agent in found.items()} == {
        "toolu_first": ("Echo one.", "One was echoed."),
        "toolu_second": ("Echo two.", "Two was echoed."),
        "toolu_outer": ("Send the inner one.", "The inner one is back."),
        "toolu_inner": ("Be the inner one.", "I am within."),
        "toolu_away": ("Wait for the file.", "The file is there."),
    }
    assert {agent.type for agent in found.values()} == {"general-purpose"}


def test_agents_have_conversations_of_their_own(agents: Recording) -> None:
    session = agents.whole
    for agent in session.agents:
        messages = session.open(agent).messages
        assert messages[0].text == agent.prompt
        assert {each.lane for each in messages} == {Lane.AGENT}


def test_a_turn_counts_the_agents_that_it_started(agents: Recording) -> None:
    session = agents.whole
    started = {str(agent.call.id): agent.id for agent in session.agents if agent.call is not None}
    assert [set(turn.agents) for turn in session.turns] == [
        {started["toolu_first"], started["toolu_second"]},
        {started["toolu_outer"], started["toolu_inner"]},
        {started["toolu_away"]},
        set(),
    ]


def test_compactions_say_who_asked_and_what_was_kept(compaction: Recording) -> None:
    asked, full = compaction.whole.compactions
    assert (asked.trigger, full.trigger) == ("manual", "auto")
    assert asked.summary is not None
    assert "The first half was about alpha." in asked.summary
    assert full.summary is not None
    assert "The second half was about nothing." in full.summary
    assert (full.tokens_before or 0) > 170_000 > (full.tokens_after or 0)


def test_the_conversation_goes_on_behind_a_compaction(compaction: Recording) -> None:
    session = compaction.whole
    assert _texts(session.messages, Rule.COMMAND) == ["/compact and keep the word alpha"]
    answers = {turn.prompt.text: _texts(turn.messages, Rule.ANSWER) for turn in session.turns}
    assert answers["Say something."] == ["Something."]
    assert answers["Go on."] == ["I go on."]
    assert answers["Fill the window."] == ["It is full."]
    assert answers["Go on again."] == ["I go on again."]


def test_interruptions_are_shown_and_what_they_cut_off_is_marked(interruption: Recording) -> None:
    session = interruption.whole
    assert len(_texts(session.messages, Rule.INTERRUPTION)) == session.summary.counts.interruptions == 3
    aborted = [each for each in session.messages if each.aborted]
    assert [each.text for each in aborted] == ["I try.", "I could go on for ever", ""]


def test_a_fork_repeats_the_session_and_goes_its_own_way(interruption: Recording) -> None:
    path = interruption.sessions[1].path
    assert path is not None
    fork, own = turnlog.read(path), interruption.whole
    assert fork.id != own.id
    shared = [each.id for each in own.messages]
    assert [each.id for each in fork.messages[: len(shared)]] == shared
    assert [turn.prompt.text for turn in fork.turns[len(own.turns) :]] == ["Go another way.", "Hang for good."]


def test_errors_of_the_api_are_shown_and_counted(failures: Recording) -> None:
    session = failures.whole
    assert (session.summary.counts.api_retries, session.summary.counts.api_errors) == (1, 1)
    said = [each for each in session.messages if each.rule is Rule.ANSWER and each.author is Author.SYSTEM]
    assert len(said) == 1
    assert [turn.totals.messages for turn in session.turns] == [1, 0, 1]


def test_the_summary_agrees_with_the_whole(any_recording: Recording) -> None:
    session = any_recording.whole
    summary = session.summary
    assert summary.title is not None
    assert summary.title.text == _list_prompts(any_recording)[0]
    assert summary.cost == session.bill.cost
    assert summary.reported_cost == any_recording.reported_cost
    assert summary.counts.prompts == len(_list_prompts(any_recording))
    assert summary.counts.calls == len(session.calls)
    assert (summary.counts.unknown, summary.counts.problems) == (0, 0)
    assert summary.models[0] == any_recording.ledger[0].model
    assert len(summary.versions) == 1

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden
import strategies
import turnlog
from turnlog import UNSET, Line
from turnlog.messages.legacy import Document003
from turnlog.messages.system import SystemNotice
from turnlog.messages.tool_io.files import GlobResult
from turnlog.transcripts.call_builder import CallBuilder, Calls, build_calls
from turnlog.transcripts.calls import Call, Pairing, extract, map_parents
from turnlog.transcripts.kinds import CallState, Category
from turnlog.transcripts.lines.content import list_texts

NAMES = sorted(path.stem for path in (golden.DATA / "transcripts" / "tools").glob("*.jsonl"))


def lines(name: str) -> list[Line]:
    return [turnlog.decode(line) for line in golden.lines(f"transcripts/tools/{name}")]


def calls(name: str) -> tuple[Call, ...]:
    built = build_calls(lines(name))
    assert built.orphans == ()
    return built.calls


def states(name: str) -> list[CallState]:
    return [call.state for call in calls(name)]


def joined(found: Calls) -> list[tuple[str | None, str | None]]:
    """Return which line holds the call and which one its result."""
    return [(call.place.uuid, call.result.place.uuid if call.result else None) for call in found.calls]


def test_a_result_may_come_before_its_call() -> None:
    [call] = calls("result-before-call")

    assert (call.id, call.state, call.paired_by) == ("c-1", CallState.RESOLVED, Pairing.ID)
    assert call.result is not None
    assert (call.place.uuid, call.result.place.uuid) == ("a-1", "u-1")


def test_a_result_without_a_call_is_kept_as_an_orphan() -> None:
    built = build_calls(lines("result-without-call"))

    assert [(orphan.tool_use_id, orphan.place.uuid) for orphan in built.orphans] == [("c-gone", "u-1")]
    assert joined(built) == [("a-1", "u-2")]


def test_a_call_without_a_result_is_unresolved_and_no_error() -> None:
    [call] = calls("unresolved")

    assert (call.state, call.result, call.paired_by) == (CallState.UNRESOLVED, None, None)
    assert call.view_result() is None


def test_parallel_calls_are_joined_by_id_whatever_the_parents_say() -> None:
    built = build_calls(lines("parallel-calls"))

    assert joined(built) == [("a-1", "u-1"), ("a-2", "u-2"), ("a-3", "u-3")]
    assert [call.place.index for call in built.calls] == [0, 0, 1]
    assert [call.extracted_id for call in built.calls] == ["a-1_tool_0", "a-2_tool_0", "a-3_tool_1"]


def test_without_an_id_on_one_side_the_source_line_decides() -> None:
    found = calls("joined-by-source")

    assert [(call.paired_by, call.result and call.result.text) for call in found] == [
        (Pairing.SOURCE, "one"),
        (Pairing.SOURCE, "two"),
    ]


def test_without_a_source_the_parent_decides_even_if_it_comes_later() -> None:
    found = calls("joined-by-parent")

    assert [(call.id, call.paired_by, call.result and call.result.text) for call in found] == [
        ("c-1", Pairing.PARENT, "early"),
        ("c-2", Pairing.PARENT, "second"),
    ]


def test_ids_that_differ_are_never_joined() -> None:
    built = build_calls(lines("ids-differ"))

    assert [call.state for call in built.calls] == [CallState.UNRESOLVED]
    assert [orphan.tool_use_id for orphan in built.orphans] == ["c-other"]


def test_an_absent_is_error_is_not_false() -> None:
    found = calls("is-error")

    assert [call.result.is_error for call in found if call.result] == [True, False, UNSET, UNSET, UNSET, False]
    assert [call.state for call in found] == [
        CallState.FAILED,
        CallState.RESOLVED,
        CallState.RESOLVED,
        CallState.FAILED,  # it does not say so, but its text is a tool's error
        CallState.FAILED,  # nor does this one, but what was shown is an error
        CallState.RESOLVED,
    ]


def test_a_denial_says_whether_a_call_was_stopped_or_refused() -> None:
    assert states("denial-kinds") == [
        CallState.REJECTED,
        CallState.INTERRUPTED,
        CallState.INTERRUPTED,
        CallState.REJECTED,
        CallState.REJECTED,
    ]
    assert [call.result.denial for call in calls("denial-kinds") if call.result][::4] == [
        "user-rejected",
        "omen",
    ]


def test_older_versions_tell_a_denial_by_its_text() -> None:
    assert states("denial-texts") == [
        CallState.INTERRUPTED,
        CallState.INTERRUPTED,
        CallState.REJECTED,
        CallState.REJECTED,
        CallState.INTERRUPTED,
        CallState.RESOLVED,  # a file may say anything
        CallState.REJECTED,
        CallState.INTERRUPTED,
    ]


def test_a_background_call_is_a_placeholder_until_its_task_ends() -> None:
    launched = build_calls(lines("background")[:10]).calls
    ended = calls("background")

    assert [call.state for call in launched] == [CallState.PLACEHOLDER] * 5
    assert [call.state for call in ended] == [
        CallState.RESOLVED,
        CallState.FAILED,  # told by the task's id alone
        CallState.PLACEHOLDER,  # an event is no end
        CallState.PLACEHOLDER,
        CallState.INTERRUPTED,
    ]
    assert [call.notice.status for call in ended if call.notice] == ["completed", "failed", "killed"]
    assert [call.result.task_id for call in ended if call.result] == [None, "b2", "b3", None, None]


def test_an_end_that_is_told_before_the_call_is_not_lost() -> None:
    backwards = build_calls(reversed(lines("background"))).calls

    assert {call.id: call.state for call in backwards}["c-1"] is CallState.RESOLVED


def test_an_agent_is_named_by_the_result_or_by_its_text() -> None:
    assert [(call.name, call.agent_id) for call in calls("agents")] == [
        ("Task", "ag1"),
        ("Agent", "ag2"),
        ("Read", None),
        ("Agent", "ag4"),
    ]


def test_the_path_of_an_offloaded_result_is_given_and_not_read() -> None:
    assert [call.result.offloaded_path for call in calls("offloaded") if call.result] == [
        "/home/ada/.claude/projects/-home-ada-tea/s-1/tool-results/b1.txt",
        "../../etc/passwd",
        None,
    ]


def test_images_of_a_result_are_given() -> None:
    [call] = calls("images")

    assert call.result is not None
    assert (call.result.text, len(call.result.images)) == ("Two pots:", 2)


def test_the_display_copy_is_an_object_a_string_or_a_list_and_typed_on_demand() -> None:
    found = calls("tool-use-result-forms")
    views = [call.view_result() for call in found]

    assert [view and type(view.value) for view in views] == [GlobResult, str, tuple, None, None]
    assert views[2] is not None
    assert isinstance(views[2].value, tuple)
    assert views[2].problems == ()
    # One display copy beside two results belongs to neither.
    assert [call.result.display for call in found[3:] if call.result] == [UNSET, UNSET]


def test_an_input_is_typed_on_demand() -> None:
    [call] = calls("unresolved")

    assert call.view_input().problems == ()
    assert getattr(call.view_input().value, "file_path", None) == "/tea/pot.txt"


def test_copies_of_a_call_are_one_call_and_an_outcome_beats_an_interruption() -> None:
    first, second = calls("copies")

    assert (first.state, first.result and first.result.text) == (CallState.RESOLVED, "whole")
    assert [place.line.entry.session_id for place in first.copies] == ["s-2"]  # type: ignore[union-attr]
    assert [other.state for other in first.other_results] == [CallState.INTERRUPTED]
    assert second.result is not None
    assert (second.result.text, [other.text for other in second.other_results]) == ("last", ["first"])


def test_an_outcome_beats_a_placeholder_whichever_comes_first() -> None:
    use, launch = lines("background")[1], lines("background")[6]
    outcome = turnlog.decode(golden.lines("transcripts/tools/copies")[5].replace(b'"u-2"', b'"u-7"'))

    for order in ([use, launch, outcome], [outcome, launch, use]):
        [call] = build_calls(order).calls
        assert (call.state, call.result and call.result.text) == (CallState.RESOLVED, "first")


def test_lines_that_share_a_uuid_but_not_their_ids_hold_two_calls() -> None:
    line = golden.lines("transcripts/tools/unresolved")[0]
    found = build_calls(turnlog.decode(each) for each in (line, line.replace(b'"c-1"', b'"c-2"')))

    assert [call.id for call in found.calls] == ["c-1", "c-2"]


def test_results_that_wait_for_a_line_answer_its_calls_in_order() -> None:
    early, use, second = lines("joined-by-parent")
    found = build_calls([early, second, use]).calls

    assert [call.result and call.result.text for call in found] == ["early", "second"]


def test_the_order_of_files_does_not_change_which_result_tells_most() -> None:
    first, *_ = build_calls(reversed(lines("copies"))).calls[::-1]

    assert (first.id, first.state, first.result and first.result.text) == ("c-1", CallState.RESOLVED, "whole")


def test_tools_of_the_api_are_calls_too() -> None:
    found = calls("server-tools")

    assert [(call.name, call.category, call.known, call.state) for call in found] == [
        ("web_search", Category.BUILTIN, True, CallState.RESOLVED),
        ("web_fetch", Category.BUILTIN, True, CallState.FAILED),
        ("boil", Category.MCP, True, CallState.RESOLVED),
    ]
    assert found[0].result is not None
    assert json.loads(found[0].result.text)[0]["url"] == "https://tea.example"


def test_an_unknown_tool_is_built_in_and_flagged() -> None:
    assert [(call.name, call.category.value, call.known) for call in calls("tool-names")] == [
        ("Skill", "skill", True),
        ("mcp__kettle__boil", "mcp", True),
        ("Read", "builtin", True),
        ("Task", "agent", True),
        ("Agent", "agent", True),
        ("Workflow", "builtin", True),
        ("StirTea", "builtin", False),
    ]


def test_000_the_nth_result_after_n_parallel_calls_answers_the_nth() -> None:
    built = build_calls(lines("spec-000-parallel"))

    assert joined(built) == [
        ("m-1", "m-4"),
        ("m-2", "m-5"),
        ("m-3", "m-6"),
        ("m-7", "m-9"),
        ("m-8", "m-12"),  # late, but its parent says whose it is
        ("m-10", "m-11"),
    ]
    assert [call.paired_by for call in built.calls].count(Pairing.ORDER) == 4  # m-11 names its call, too
    assert [call.state for call in built.calls][:2] == [CallState.RESOLVED, CallState.FAILED]
    assert [orphan.place.uuid for orphan in built.orphans] == ["m-13"]


def test_000_a_sub_agents_calls_do_not_take_its_callers_result() -> None:
    built = build_calls(lines("spec-000-delegation"))

    assert joined(built) == [("m-1", "m-6"), ("m-3", "m-4")]


def test_000_an_error_under_a_call_is_what_came_of_it() -> None:
    first, second = calls("spec-000-error")

    assert (first.state, first.result and first.result.text) == (CallState.FAILED, "Error: the shelf is locked")
    assert (second.state, second.other_results) == (CallState.RESOLVED, ())


def test_003_an_extracted_call_is_a_copy_of_the_one_in_its_message() -> None:
    [call] = calls("spec-003-flow")

    assert (call.id, call.extracted_id, call.paired_by) == ("call-1", "k-3_tool_0", Pairing.PARENT)
    assert [place.uuid for place in call.copies] == ["k-3_tool_0"]
    assert call.result is not None
    assert (call.result.extracted_id, call.result.text) == ("k-3_result_0", '{"degrees": 80}')


def test_003_an_extracted_call_before_its_message_is_the_same_call() -> None:
    [call] = build_calls(reversed(lines("spec-003-flow"))).calls

    assert (call.id, call.state) == ("call-1", CallState.RESOLVED)


def test_003_siblings_belong_together_by_their_names() -> None:
    assert joined(build_calls(lines("spec-003-siblings"))) == [
        ("k-3_tool_1", "k-3_result_1"),
        ("k-3_tool_0", "k-3_result_0"),
    ]


def test_004_a_delegated_task_is_answered_after_its_agents_calls() -> None:
    found = calls("spec-004-delegation")

    assert [(call.name, call.category, call.result and call.result.text) for call in found] == [
        ("Task", Category.AGENT, "Three bugs."),
        ("Read", Category.BUILTIN, "O tea"),
    ]
    assert [call.result.is_error for call in found if call.result] == [UNSET, False]


def test_the_stream_has_calls_refusals_and_ends_of_tasks() -> None:
    assert [(call.id, call.state, call.agent_id) for call in calls("stream")] == [
        ("c-1", CallState.RESOLVED, "ag1"),
        ("c-2", CallState.RESOLVED, None),
        ("c-3", CallState.REJECTED, None),
        ("c-4", CallState.RESOLVED, None),
    ]


def test_a_refusal_may_be_told_by_the_result_of_a_run_or_before_the_call() -> None:
    *said, denied, answer = lines("stream")[4:7]
    told = (
        b'{"type":"result","subtype":"success","session_id":"s-5","permission_denials":[{"tool_use_id":"c-3"}]}'
    )

    for order in ([*said, answer, turnlog.decode(told)], [denied, *said, answer]):
        assert [call.state for call in build_calls(order).calls] == [CallState.REJECTED]
    assert build_calls([*said, denied]).calls[0].state is CallState.UNRESOLVED


def test_a_result_that_was_joined_by_its_source_stays_when_a_call_with_its_id_comes() -> None:
    nameless, _, answer, _ = lines("joined-by-source")
    later = turnlog.decode(golden.lines("transcripts/tools/unresolved")[0].replace(b'"a-1"', b'"a-7"'))

    for order in ([nameless, answer, later], [answer, nameless, later]):
        assert [call.paired_by for call in build_calls(order).calls] == [Pairing.SOURCE, None]


def test_lines_without_uuids_are_joined_by_id_and_have_no_extracted_ids() -> None:
    use = b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c-1","name":"Read"}]}}'
    answer = b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c-1"}]}}'
    found = [turnlog.decode(use), turnlog.decode(answer)]
    [call] = build_calls(found).calls

    assert (call.state, call.extracted_id) == (CallState.RESOLVED, None)
    assert map_parents([call]) == {}
    assert [document.uuid for line in found for document in extract(line)] == [UNSET, UNSET]


def test_orphans_are_listed_until_their_call_comes() -> None:
    builder = CallBuilder()
    answer, use = lines("result-before-call")

    builder.add(answer)
    assert [orphan.tool_use_id for orphan in builder.list_orphans()] == ["c-1"]
    builder.add(use)
    assert builder.list_orphans() == []


def test_a_line_says_which_calls_it_made_or_changed() -> None:
    builder = CallBuilder()

    assert [builder.add(line) for line in lines("parallel-calls")] == [(0,), (1,), (2,), (1,), (0,), (2,)]
    found = builder.find_call("c-2")
    assert found == builder.get_call(1)
    assert builder.find_call("c-9") is None
    with pytest.raises(IndexError):
        builder.get_call(3)


@pytest.mark.parametrize("name", NAMES)
def test_appended_lines_update_to_what_all_at_once_gives(name: str) -> None:
    found, builder = lines(name), CallBuilder()
    before: tuple[Call, ...] = ()
    for count, line in enumerate(found, 1):
        touched = builder.add(line)
        assert builder.build() == build_calls(found[:count])
        now = builder.build().calls
        changed = [i for i, call in enumerate(now) if i >= len(before) or call != before[i]]
        assert set(changed) <= set(touched)
        before = now


@pytest.mark.parametrize("name", NAMES)
def test_reading_the_same_lines_twice_changes_no_pair(name: str) -> None:
    once, twice = build_calls(lines(name)), build_calls(lines(name) * 2)

    assert [call.extracted_id for call in twice.calls] == [call.extracted_id for call in once.calls]
    assert [call.state for call in twice.calls] == [call.state for call in once.calls]
    assert len(twice.orphans) == 2 * len(once.orphans)


_IDS = st.sampled_from([None, "c-1", "c-2", "c-3"])
_UUIDS = st.sampled_from(["x-1", "x-2", "x-3", None])


@st.composite
def tool_lines(draw: st.DrawFn) -> bytes:
    """A line with calls and results that refer to few others, so that they meet in all ways."""
    kind = draw(st.sampled_from(["assistant", "user"]))
    block = st.builds(
        lambda use, i, failed: (
            {"type": "tool_use", "name": "Read", "input": {}} | ({"id": i} if i else {})
            if use
            else {"type": "tool_result", "content": "x", "is_error": failed} | ({"tool_use_id": i} if i else {})
        ),
        st.booleans(),
        _IDS,
        st.booleans(),
    )
    blocks = draw(st.lists(block, max_size=3))
    line = {
        "type": kind,
        "message": {"role": kind, "content": blocks},
        "sessionId": "s-1",
        "isSidechain": False,
    }
    line |= {"parentUuid": draw(_UUIDS), "timestamp": "2026-03-01T10:00:00Z", "uuid": draw(_UUIDS) or "x-9"}
    if kind == "user":
        line["sourceToolAssistantUUID"] = draw(_UUIDS)
    return json.dumps(line).encode()


@st.composite
def spec_000_lines(draw: st.DrawFn) -> bytes:
    call = draw(st.booleans())
    line: dict[str, object] = {
        "type": "assistant",
        "subtype": "tool_use",
        "toolName": "Read",
        "toolArguments": {},
    }
    if not call:
        subtype = draw(st.sampled_from(["tool_result", "error"]))
        line = {"type": "system", "subtype": subtype, "message": "x", "isError": draw(st.booleans())}
    line |= {"uuid": f"m-{draw(st.integers(0, 9))}", "parentUuid": f"m-{draw(st.integers(0, 9))}"}
    return json.dumps(line | {"isSidechain": draw(st.booleans()), "sessionId": "s-0"}).encode()


any_lines = st.lists(st.one_of(tool_lines(), spec_000_lines(), strategies.lines), max_size=14)


@given(any_lines)
def test_any_lines_give_the_same_step_by_step_as_at_once(raw: list[bytes]) -> None:
    found, builder = [turnlog.decode(line) for line in raw], CallBuilder()
    for count, line in enumerate(found, 1):
        builder.add(line)
        assert builder.build() == build_calls(found[:count])


@given(any_lines)
def test_every_result_is_somewhere_and_ids_never_contradict(raw: list[bytes]) -> None:
    found = [turnlog.decode(line) for line in raw]
    built = build_calls(found)
    results = [call.result for call in built.calls if call.result] + list(built.orphans)
    results += [other for call in built.calls for other in call.other_results]
    taken = [(id(result.place.line), result.place.index) for result in results]

    assert len(set(taken)) == len(taken)
    blocks = [result for result in results if not isinstance(result.place.line.entry, SystemNotice)]
    copies = sum(1 + len(call.copies) for call in built.calls)
    assert sum(len(extract(line)) for line in found) == len(blocks) + copies
    for call in built.calls:
        if call.result and call.paired_by is Pairing.ID:
            assert call.result.tool_use_id == call.id
        assert (call.result is None) == (call.state is CallState.UNRESOLVED)
    known = {call.id for call in built.calls if call.id}
    assert not [orphan for orphan in built.orphans if orphan.tool_use_id in known]


@given(st.permutations(range(6)))
def test_calls_with_ids_are_joined_in_any_order_of_lines(order: list[int]) -> None:
    found = lines("parallel-calls")
    built = build_calls(found[i] for i in order)

    assert sorted(joined(built)) == [("a-1", "u-1"), ("a-2", "u-2"), ("a-3", "u-3")]
    assert built.orphans == ()


def test_a_long_chain_of_calls_takes_time_in_proportion() -> None:
    call, result = golden.lines("transcripts/tools/unresolved")[0], golden.lines("transcripts/tools/images")[1]
    chain = [turnlog.decode(line) for i in range(20_000) for line in _numbered(call, result, i)]
    built = build_calls(chain)

    assert len(built.calls) == 20_000
    assert all(call.state is CallState.RESOLVED for call in built.calls)


def _numbered(call: bytes, result: bytes, number: int) -> Iterator[bytes]:
    for line in (call, result):
        yield line.replace(b'"c-1"', b'"c-%d"' % number).replace(b'"a-1"', b'"a-%d"' % number)


def test_extracted_documents_are_spec_003s() -> None:
    found = lines("parallel-calls")
    parents = map_parents(build_calls(found).calls)
    documents = [json.loads(turnlog.encode(document)) for line in found for document in extract(line, parents)]

    assert documents[2] == {
        "type": "tool_use",
        "uuid": "a-3_tool_1",
        "parentUuid": "a-3",
        "sessionId": "s-1",
        "timestamp": "2026-03-01T10:00:03.250Z",
        "content": '{"type":"tool_use","id":"c-3","name":"Bash","input":{"command":"ls"}}',
        "isSidechain": True,
    }
    assert documents[5] == {
        "type": "tool_result",
        "uuid": "a-3_result_1",
        "parentUuid": "a-3_tool_1",
        "sessionId": "s-1",
        "timestamp": "2026-03-01T10:00:06.250Z",
        "content": "three",
        "isSidechain": True,
    }


def test_a_result_whose_call_is_not_told_hangs_under_the_line_that_its_line_names() -> None:
    [by_source] = extract(lines("parallel-calls")[3])
    [by_parent] = extract(lines("result-before-call")[0])

    assert (by_source.parent_uuid, by_parent.parent_uuid) == ("a-2", "a-1")


def test_blocks_of_a_result_are_extracted_as_json_text() -> None:
    [document] = extract(lines("agents")[1])

    assert isinstance(document.content, str)
    assert json.loads(document.content) == [{"type": "text", "text": "All well."}]


def test_extracting_a_document_gives_the_document() -> None:
    found = lines("spec-003-flow")
    parents = map_parents(build_calls(found).calls)

    for line in found[3:5]:
        [document] = extract(line, parents)
        assert isinstance(line.wire, Document003)
        assert (document.uuid, document.parent_uuid, document.type) == (
            line.wire.uuid,
            line.wire.parent_uuid,
            line.wire.type,
        )


@pytest.mark.parametrize("name", [name for name in NAMES if name != "spec-000-error"])
def test_extracted_documents_give_the_same_pairs_again(name: str) -> None:
    found = lines(name)
    built = build_calls(found)
    parents = map_parents(built.calls)
    documents = [turnlog.decode(turnlog.encode(doc)) for line in found for doc in extract(line, parents)]
    again = build_calls(documents)

    assert all(line.problems == () for line in documents)
    assert {call.extracted_id: call.result_id for call in again.calls} == {
        call.extracted_id: call.result_id for call in built.calls
    }


def test_text_and_lines_without_blocks_give_no_documents() -> None:
    assert extract(lines("unresolved")[1]) == []
    mode = turnlog.decode(b'{"type":"mode","mode":"normal"}')
    assert (extract(mode), list_texts(mode.entry)) == ([], [])


def sessions(corpus: Path) -> Iterator[list[bytes]]:
    for path in sorted((corpus / "sessions").rglob("*")):
        if path.is_file():
            yield records(path.read_bytes())


def records(data: bytes) -> list[bytes]:
    if data.lstrip().startswith(b"["):
        return [json.dumps(record).encode() for record in json.loads(data)]
    return [line for line in data.split(b"\n") if line.strip()]


def brute_force(raw: list[bytes]) -> tuple[dict[str, set[str]], set[str]]:
    """Return the lines of each call's results by the call's id, and the ids of results without a call."""
    called: set[str] = set()
    answers: dict[str, set[str]] = {}
    for record in raw:
        try:
            line = json.loads(record)
        except ValueError:
            continue
        message = line.get("message") if isinstance(line, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_use":
                called.add(block["id"])
            elif block.get("type") == "tool_result":
                answers.setdefault(block["tool_use_id"], set()).add(line["uuid"])
    return {i: answers.get(i, set()) for i in called}, answers.keys() - called


def test_real_calls_are_those_that_a_join_of_ids_finds(corpus: Path) -> None:
    seen = 0
    for raw in sessions(corpus):
        expected, orphans = brute_force(raw)
        built = build_calls(turnlog.decode(record) for record in raw)
        found = {
            call.id: {result.place.uuid for result in (call.result, *call.other_results) if result}
            for call in built.calls
        }
        unresolved = {call.id for call in built.calls if call.state is CallState.UNRESOLVED}

        assert found == expected
        assert len(built.calls) == len(expected)
        assert unresolved == {i for i, answers in expected.items() if not answers}
        assert {orphan.tool_use_id for orphan in built.orphans} == orphans
        seen += len(built.calls)
    assert seen > 3_000

"""Where stored tool messages belong: what each of their ids is worth."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stored_documents import call_block, call_text, document, joined, migrated, result_block
from turnlog.transcripts.migration import LeftReason


def parents(*documents: dict[str, Any]) -> dict[str, str | None]:
    """Return the parents of tool messages when they were migrated, and check that order does not matter."""
    found: list[dict[str, str | None]] = []
    for order in (documents, documents[::-1]):
        after, _ = migrated(joined(order))
        members = [json.loads(line) for line in after.splitlines()]
        found.append({each.get("uuid"): each.get("parentUuid") for each in members if "isSidechain" in each})
    assert found[0] == found[1]
    return found[0]


def left(*documents: dict[str, Any]) -> dict[str | None, LeftReason]:
    return {each.uuid: each.reason for each in migrated(joined(documents))[1].left}


def test_an_id_says_more_than_a_name() -> None:
    found = parents(
        document("assistant", "a-1", "u-1"),
        document("tool_use", "a-1_tool_0", "a-1", content=call_text(id="c-1")),
        document("tool_use", "a-1_tool_1", "a-1", content=call_text(id="c-2")),
        document("tool_result", "a-1_result_0", "a-1", messageData={"content": [result_block("c-2")]}),
    )
    assert found["a-1_result_0"] == "a-1_tool_1"


def test_a_name_says_more_than_a_parent() -> None:
    found = parents(
        document("assistant", "a-1", "u-1"),
        document("tool_use", "a-1_tool_0", "a-1", content=call_text()),
        document("tool_use", "a-1_tool_1", "a-1", content=call_text()),
        document("tool_result", "a-1_result_0", "a-1_tool_1"),
    )
    assert found["a-1_result_0"] == "a-1_tool_0"


def test_a_parent_that_is_a_call_is_believed_where_nothing_else_tells() -> None:
    found = parents(
        document("assistant", "a-1", "u-1"),
        document("tool_use", "a-1_tool_0", "a-1", content=call_text()),
        document("tool_use", "a-1_tool_1", "a-1", content=call_text()),
        document("tool_result", "u-2_result_0", "a-1_tool_1"),
    )
    assert found["u-2_result_0"] == "a-1_tool_1"


def test_the_only_call_of_the_parent_is_the_one() -> None:
    found = parents(
        document("assistant", "a-1", "u-1"),
        document("tool_use", "a-1_tool_0", "a-1", content=call_text()),
        document("tool_result", "u-2_result_0", "a-1"),
    )
    assert found["u-2_result_0"] == "a-1_tool_0"


def test_a_call_that_is_no_document_may_be_the_one() -> None:
    blocks = {"content": [call_block("c-1"), call_block("c-2")]}
    found = parents(
        document("assistant", "a-1", "u-1", messageData=blocks),
        document("tool_use", "a-1_tool_0", "a-1", content=call_text()),
        document("tool_result", "u-2_result_0", "a-1"),
    )
    assert found["u-2_result_0"] == "a-1"


def test_a_call_is_found_by_its_id_where_its_name_leads_nowhere() -> None:
    found = parents(
        document("assistant", "a-1", "u-1", messageData={"content": [call_block("c-1")]}),
        document("tool_use", "t-1", "u-1", content=call_text(id="c-1")),
        document("tool_use", "gone_tool_0", "u-1", messageData={"content": [call_block("c-1")]}),
    )
    assert found == {"t-1": "a-1", "gone_tool_0": "a-1"}


def test_a_call_that_two_assistants_hold_stays_unless_it_is_under_one() -> None:
    documents = [
        document("assistant", "a-1", "u-1", messageData={"content": [call_block("c-1")]}),
        document("assistant", "a-2", "u-1", messageData={"content": [call_block("c-1")]}),
        document("tool_use", "t-1", "u-1", content=call_text(id="c-1")),
        document("tool_use", "t-2", "a-2", content=call_text(id="c-1")),
    ]
    assert parents(*documents) == {"t-1": "u-1", "t-2": "a-2"}
    assert left(*documents) == {"t-1": LeftReason.AMBIGUOUS}


def test_of_two_documents_of_a_call_its_parent_or_else_its_name_decides() -> None:
    answer = {"messageData": {"content": [result_block("c-1")]}}
    documents = [
        document("tool_use", "a-1_tool_0", "a-1", content=call_text(id="c-1")),
        document("tool_use", "a-2_tool_0", "a-2", content=call_text(id="c-1")),
        document("tool_result", "a-1_result_0", "a-2_tool_0", **answer),
        document("tool_result", "a-2_result_0", "u-1", **answer),
        document("tool_result", "u-2_result_0", "u-1", **answer),
    ]
    found = parents(*documents)
    assert (found["a-1_result_0"], found["a-2_result_0"]) == ("a-2_tool_0", "a-2_tool_0")
    assert left(*documents) == {"u-2_result_0": LeftReason.AMBIGUOUS}


def test_a_call_whose_id_is_another_does_not_compete() -> None:
    found = parents(
        document("assistant", "a-1", "u-1"),
        document("tool_use", "a-1_tool_0", "a-1", content=call_text(id="c-1")),
        document("tool_use", "a-1_tool_1", "a-1", content=call_text()),
        document("tool_result", "u-2_result_0", "a-1", messageData={"content": [result_block("c-2")]}),
    )
    assert found["u-2_result_0"] == "a-1_tool_1"


def test_what_a_call_says_counts_more_than_the_message_around_it() -> None:
    asked = {"content": [call_block("c-1")]}
    found = parents(
        document("tool_use", "t-1", "a-1", messageData=asked, content=call_text(id="c-1")),
        document("tool_use", "t-2", "a-1", messageData=asked, content=call_text(id="c-2")),
        document("tool_result", "r-2", "a-1", messageData={"content": [result_block("c-2")]}),
    )
    assert found["r-2"] == "t-2"


def test_a_call_under_a_user_whose_uuid_is_no_name_is_left() -> None:
    documents = [document("user", "u-1", None), document("tool_use", "t-1", "u-1", content=call_text())]

    assert left(*documents) == {"t-1": LeftReason.CONTAINER_MISSING}


def test_a_document_may_hold_the_whole_message_that_it_was_taken_out_of() -> None:
    asked = {"content": [{"type": "text", "text": "Look:"}, call_block("c-1"), call_block("c-2")]}
    answered = {"content": [result_block("c-2"), result_block("c-1")]}
    found = parents(
        document("tool_use", "a-1_tool_1", "u-1", messageData=asked, content=None),
        document("tool_use", "a-1_tool_2", "u-1", messageData=asked, content=call_text(id="c-2")),
        document("assistant", "a-1", "u-1"),
        document("tool_result", "u-2_result_0", "a-1", messageData=answered),
        document("tool_result", "u-2_result_1", "a-1", messageData=answered),
        document("tool_result", "r-9", "a-1", messageData=answered),
    )
    assert found == {
        "a-1_tool_1": "a-1",
        "a-1_tool_2": "a-1",
        "u-2_result_0": "a-1_tool_2",
        "u-2_result_1": "a-1_tool_1",
        "r-9": "a-1",
    }


@pytest.mark.parametrize("told", [True, False])
def test_numbers_that_count_something_else_than_blocks_say_nothing_of_ids(told: bool) -> None:
    # The calls are the blocks 1 and 2 of their message, and the results those of theirs.
    text = {"type": "text", "text": "Look:"}
    calls = [text, call_block("c-1"), call_block("c-2")]
    results = [text, result_block("c-1"), result_block("c-2")]
    texts = [call_text(id="c-1"), call_text(id="c-2")] if told else [call_text(), call_text()]
    found = parents(
        document("assistant", "a-1", "u-1", messageData={"content": calls}),
        document("tool_use", "a-1_tool_0", "u-1", content=texts[0]),
        document("tool_use", "a-1_tool_1", "u-1", content=texts[1]),
        document("user", "u-2", "a-1", messageData={"content": results}),
        document("tool_result", "u-2_result_0", "a-1"),
        document("tool_result", "u-2_result_1", "a-1"),
        document("tool_result", "r-1", "a-1", messageData={"content": [result_block("c-1")]}),
    )
    assert found == {
        "a-1_tool_0": "a-1",
        "a-1_tool_1": "a-1",
        "u-2_result_0": "a-1",
        "u-2_result_1": "a-1",
        "r-1": "a-1_tool_0" if told else "a-1",
    }


def test_copies_of_a_call_in_another_session_are_not_its_own() -> None:
    found = parents(
        document("tool_use", "a-1_tool_0", "a-1", content=call_text(id="c-1")),
        document("tool_use", "b-1_tool_0", "b-1", content=call_text(id="c-1"), sessionId="s-2"),
        document("tool_result", "u-2_result_0", "a-1", messageData={"content": [result_block("c-1")]}),
        document(
            "tool_result",
            "v-2_result_0",
            "b-1",
            messageData={"content": [result_block("c-1")]},
            sessionId="s-2",
        ),
        document(
            "tool_result",
            "w-2_result_0",
            "a-1",
            messageData={"content": [result_block("c-1")]},
            sessionId="s-3",
        ),
    )
    assert (found["u-2_result_0"], found["v-2_result_0"]) == ("a-1_tool_0", "b-1_tool_0")
    assert found["w-2_result_0"] == "a-1"


@pytest.mark.parametrize("bare", ["assistant", "tool_use", "tool_result"])
def test_documents_that_name_no_session_may_belong_to_any(bare: str) -> None:
    # In the spec's own examples only the tool messages have a session.
    documents = [
        document("assistant", "a-1", "u-1"),
        document("tool_use", "a-1_tool_0", "u-1", content=call_text()),
        document("tool_result", "a-1_result_0", "u-1"),
    ]
    for each in documents:
        if each["type"] == bare:
            del each["sessionId"]
    assert parents(*documents) == {"a-1_tool_0": "a-1", "a-1_result_0": "a-1_tool_0"}


def test_a_user_is_no_container() -> None:
    found = parents(
        document("user", "u-1", None), document("tool_use", "u-1_tool_0", "u-0", content=call_text())
    )
    assert found == {"u-1_tool_0": "u-0"}


@pytest.mark.parametrize("uuid", ["a-1_tool_", "a-1_tool_01", "a-1_tool_x", "a-1_result_0", "_tool_0", None])
def test_a_uuid_that_is_no_name_tells_nothing(uuid: str | None) -> None:
    found = parents(document("assistant", "a-1", "u-1"), document("tool_use", uuid, "u-1", content=call_text()))
    assert found == {uuid: "u-1"}


def test_a_name_within_a_name_is_split_at_its_end() -> None:
    found = parents(
        document("assistant", "a_tool_1", "u-1"),
        document("tool_use", "a_tool_1_tool_0", "u-1", content=call_text()),
    )
    assert found == {"a_tool_1_tool_0": "a_tool_1"}


def test_a_document_without_any_content_is_corrected_by_its_name() -> None:
    found = parents(
        document("assistant", "a-1", "u-1"),
        document("tool_use", "a-1_tool_0", "u-1", content=None),
        document("tool_result", "a-1_result_0", "u-1", content=None),
    )
    assert found == {"a-1_tool_0": "a-1", "a-1_result_0": "a-1_tool_0"}


@pytest.mark.parametrize(
    "text",
    [
        "{oops",
        "{}",
        '{"type": 1}',
        '{"type": "tool_use", "tool_use_id": "c-2"}',
        '{"type": "tool_result", "tool_use_id": ["c-2"]}',
    ],
)
def test_a_text_that_quotes_no_id_decides_nothing(text: str) -> None:
    found = parents(
        document("assistant", "a-1", "u-1"),
        document("tool_use", "a-1_tool_0", "a-1", content=call_text(id="c-1")),
        document("tool_use", "a-1_tool_1", "a-1", content=call_text(id="c-2")),
        document("tool_result", "u-2_result_0", "a-1", content=text),
    )
    assert found["u-2_result_0"] == "a-1"


def test_a_text_that_quotes_the_id_of_a_call_elsewhere_decides_nothing() -> None:
    quote = json.dumps(result_block("c-9"))
    found = parents(
        document("tool_use", "a-9_tool_0", "a-9", content=call_text(id="c-9")),
        document("assistant", "a-1", "u-1"),
        document("tool_use", "a-1_tool_0", "a-1", content=call_text(id="c-1")),
        document("tool_use", "a-1_tool_1", "a-1", content=call_text()),
        document("tool_use", "a-1_tool_2", "a-1", content=call_text()),
        document("tool_result", "u-2_result_0", "a-1", content=quote),
        # What the message says of itself counts more than what the tool said.
        document(
            "tool_result",
            "u-3_result_0",
            "a-1",
            content=json.dumps(result_block("c-1")),
            messageData={"content": [result_block("c-2")]},
        ),
    )
    assert (found["u-2_result_0"], found["u-3_result_0"]) == ("a-1", "a-1")


def test_a_result_does_not_follow_itself() -> None:
    found = parents(
        document("tool_use", "x_tool_0", "x", content=call_text()),
        document("tool_result", "x_tool_0", "x"),
    )
    assert found == {"x_tool_0": "x"}


def test_a_call_that_is_right_though_it_goes_round_in_a_circle_is_not_left() -> None:
    documents = [
        document("assistant", "a-1", "a-1_tool_0"),
        document("tool_use", "a-1_tool_0", "a-1", content=call_text()),
    ]
    assert left(*documents) == {}

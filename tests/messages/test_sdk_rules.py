"""The stream's rules: what counts, what goes, what takes whose place, when a turn is over."""

from __future__ import annotations

import pytest

from turnlog.messages.base import UNSET, Raw, Value
from turnlog.messages.blocks import TextBlock, ThinkingBlock
from turnlog.messages.message import Message, StopReason, Usage
from turnlog.messages.metadata import ModelUsage
from turnlog.messages.sdk.messages import (
    AssistantMessage,
    HookProgressMessage,
    HookStartedMessage,
    InformationalMessage,
    MessageStop,
    ModelRefusalFallbackMessage,
    PartialAssistantMessage,
    ResultMessage,
    ResultSubtype,
    SessionState,
    SessionStateChangedMessage,
    Status,
    StatusMessage,
    TaskEnd,
    TaskNotificationMessage,
    TaskPatch,
    TaskProgressMessage,
    TaskStartedMessage,
    TaskState,
    TaskUpdatedMessage,
    TaskUsage,
    ToolProgressMessage,
    UserMessage,
    UserMessageReplay,
    has_failed,
)
from turnlog.messages.sdk.stream import (
    Effect,
    Role,
    RunTotals,
    Task,
    drop_retracted,
    effect_of,
    ends_turn,
    is_detached,
    is_idle,
    list_retracted,
    merge_answers,
    merge_task,
    total,
)


def result(**fields: object) -> ResultMessage:
    return ResultMessage(**{"subtype": ResultSubtype.SUCCESS} | fields)  # type: ignore[arg-type]


def answer(uuid: str, *blocks: object, **fields: object) -> AssistantMessage:
    return AssistantMessage(uuid=uuid, message=Message(id="m1", content=blocks), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("message", "failed"),
    [
        (result(is_error=False), False),
        (result(is_error=True), True),
        (result(), False),
        (result(subtype=ResultSubtype.ERROR_MAX_TURNS), True),
        (result(subtype=ResultSubtype.ERROR_MAX_TURNS, is_error=False), True),
    ],
)
def test_a_turn_failed_if_either_field_says_so(message: ResultMessage, failed: bool) -> None:
    assert has_failed(message) is failed


def test_a_result_ends_the_turn_and_idle_is_for_certain() -> None:
    assert ends_turn(result())
    assert not ends_turn(answer("a"))
    assert is_idle(SessionStateChangedMessage(state=SessionState.IDLE))
    assert not is_idle(SessionStateChangedMessage(state=SessionState.RUNNING))
    assert not is_idle(result())


def test_running_totals_are_never_added_and_turns_are_kept_apart() -> None:
    first = result(
        total_cost_usd=0.5, model_usage={"m": ModelUsage(output_tokens=5)}, usage=Usage(output_tokens=5)
    )
    second = result(
        total_cost_usd=0.75, model_usage={"m": ModelUsage(output_tokens=7)}, usage=Usage(output_tokens=2)
    )
    third = result()
    assert total([first, answer("a"), second, third]) == RunTotals(
        cost_usd=0.75,
        model_usage={"m": ModelUsage(output_tokens=7)},
        turns=(Usage(output_tokens=5), Usage(output_tokens=2), UNSET),
    )
    assert total([]) == RunTotals()


def test_messages_that_are_taken_back_go() -> None:
    one, two, three = answer("1"), answer("2"), answer("3", supersedes=("1",))
    refusal = ModelRefusalFallbackMessage(uuid="4", retracted_message_uuids=("3", "9"))
    assert list_retracted(one) == ()
    assert drop_retracted([one, two, three]) == [two, three]
    assert drop_retracted([one, two, three, refusal]) == [two, refusal]


@pytest.mark.parametrize(
    ("raw", "detached"),
    [
        (Raw(b'{"detachedToolCall":true,"x":1}'), True),
        (Raw(b'{"detachedToolCall":false}'), False),
        (Raw(b'{"stdout":""}'), False),
        (Raw(b'"Error: no"'), False),
        (Raw(b"[" * 5000), False),
        (UNSET, False),
    ],
)
def test_a_placeholder_of_a_result_is_recognised(raw: Raw, detached: bool) -> None:
    assert is_detached(UserMessage(message=Message(content="x"), tool_use_result=raw)) is detached


def test_the_parts_of_an_answer_are_one_message() -> None:
    thought, text = ThinkingBlock(thinking="hm"), TextBlock(text="yes")
    first = answer("1", thought)
    second = AssistantMessage(
        uuid="2",
        message=Message(
            id="m1", content=(text,), stop_reason=StopReason.END_TURN, usage=Usage(output_tokens=9)
        ),
    )
    merged = merge_answers(first, second)
    assert merged.message.content == (thought, text)
    assert (merged.message.stop_reason, merged.message.usage) == (StopReason.END_TURN, Usage(output_tokens=9))
    assert merge_answers(merged, second).message.content == (thought, text)


def test_a_later_null_does_not_undo_what_is_known() -> None:
    known = AssistantMessage(message=Message(id="m1", content=(), stop_reason=StopReason.TOOL_USE))
    later = AssistantMessage(message=Message(id="m1", content="text", stop_reason=None))
    assert merge_answers(known, later).message.stop_reason is StopReason.TOOL_USE


@pytest.mark.parametrize(
    ("message", "effect"),
    [
        (answer("1"), Effect(Role.PART, ("answer", "m1"))),
        (AssistantMessage(message=Message(content=())), Effect(Role.ROW)),
        (UserMessage(message=Message(content="hi")), Effect(Role.ROW)),
        (UserMessageReplay(message=Message(content="hi")), Effect(Role.ECHO)),
        (
            PartialAssistantMessage(event=MessageStop(), parent_tool_use_id="t"),
            Effect(Role.PART, ("partial", "t")),
        ),
        (
            PartialAssistantMessage(event=MessageStop(), parent_tool_use_id=None),
            Effect(Role.PART, ("partial",)),
        ),
        (StatusMessage(status=Status.COMPACTING), Effect(Role.STATE, ("status",))),
        (ToolProgressMessage(tool_use_id="t1"), Effect(Role.STATE, ("tool", "t1"))),
        (HookStartedMessage(hook_id="h"), Effect(Role.PART, ("hook", "h"))),
        (HookProgressMessage(), Effect(Role.ROW)),
        (TaskStartedMessage(task_id="k"), Effect(Role.PART, ("task", "k"))),
        (InformationalMessage(content="x"), Effect(Role.ROW)),
        (result(), Effect(Role.ROW)),
    ],
)
def test_what_a_message_does_to_what_is_known(message: Value, effect: Effect) -> None:
    assert effect_of(message) == effect


def test_a_task_is_put_together_from_its_messages() -> None:
    task = merge_task(
        None, TaskStartedMessage(task_id="k", run_id="1", description="look", task_type="local_agent")
    )
    assert (task.status, task.ended) == (TaskState.RUNNING, False)
    task = merge_task(
        task, TaskProgressMessage(task_id="k", usage=TaskUsage(tool_uses=2), last_tool_name="Read")
    )
    task = merge_task(task, TaskUpdatedMessage(task_id="k", patch=TaskPatch(is_backgrounded=True)))
    task = merge_task(task, TaskUpdatedMessage(task_id="k"))
    assert (task.description, task.last_tool_name, task.is_backgrounded) == ("look", "Read", True)
    task = merge_task(task, TaskNotificationMessage(task_id="k", status=TaskEnd.COMPLETED, summary="done"))
    assert (task.status, task.summary, task.ended) == (TaskEnd.COMPLETED, "done", True)


def test_a_new_run_of_a_task_starts_afresh() -> None:
    old = Task(task_id="k", run_id="1", status=TaskEnd.FAILED, summary="no")
    task = merge_task(old, TaskStartedMessage(task_id="k", run_id="2"))
    assert task == Task(task_id="k", run_id="2", status=TaskState.RUNNING)


def test_a_task_killed_by_a_patch_has_ended() -> None:
    killed = TaskUpdatedMessage(task_id="k", patch=TaskPatch(status=TaskState.KILLED))
    assert merge_task(None, killed).ended

"""Every message of the stream: how to tell them apart, and how they relate.

The decoder cannot tell them apart: it knows one tag, and the stream has three (`type`, then `subtype` or
`isReplay`). So a reader takes the `StreamHead` first and asks `find_class` what the whole is. The tables are
the inventory.

The stream is not a list of rows. An answer comes in parts that are one message; states replace states; tasks
change bit by bit; some messages take others back; a result ends a turn. These rules are the protocol's, not a
viewer's, so they stand here as functions over the typed messages, with no state of their own.

Making messages is the other half. A reader takes what comes; a writer owes the other side what the protocol
demands. These constructors leave no mandatory field out, even where ours would allow it: counters are zero,
not absent, and a thread that has no parent says so with null. Arguments come in spec 001's order; what is
obviously in another is refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turnlog.messages.base import UNSET, Number, Raw, Snake, UnsetType, Value, field
from turnlog.messages.blocks import ContentBlock
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.message import Message, StopReason, Usage
from turnlog.messages.metadata import ModelUsage
from turnlog.messages.options import QueryOptions
from turnlog.messages.sdk.messages import (
    AssistantMessage,
    PartialAssistantMessage,
    PermissionDenial,
    RateLimitEvent,
    ResultMessage,
    ResultSubtype,
    StreamMessage,
    SystemMessage,
    ToolProgressMessage,
    ToolUseSummaryMessage,
    TypedMessage,
    UnknownMessage,
    UserMessage,
    UserMessageReplay,
)
from turnlog.messages.sdk.system_messages import (
    ActiveGoalMessage,
    ApiKeySource,
    ApiRetryMessage,
    AuthStatusMessage,
    BackgroundTasksChangedMessage,
    CommandLifecycleMessage,
    CommandsChangedMessage,
    CompactBoundaryMessage,
    CompactDetails,
    ControlRequestProgressMessage,
    ConversationResetMessage,
    HookProgressMessage,
    HookResponseMessage,
    HookStartedMessage,
    ModelRefusalFallbackMessage,
    NotificationMessage,
    PluginInstallMessage,
    PromptSuggestionMessage,
    SessionState,
    SessionStateChangedMessage,
    StatusMessage,
    SystemInitMessage,
    SystemSubtypeMessage,
    TaskEnd,
    TaskNotificationMessage,
    TaskProgressMessage,
    TaskStartedMessage,
    TaskState,
    TaskSummaryMessage,
    TaskUpdatedMessage,
    TaskUsage,
    ThinkingTokensMessage,
    TranscriptMirrorMessage,
)
from turnlog.messages.system import CompactTrigger

__all__ = [
    "Effect",
    "Role",
    "RunTotals",
    "STREAM_TYPES",
    "SYSTEM_SUBTYPES",
    "SdkMessage",
    "StreamHead",
    "Task",
    "TaskMessage",
    "add_result",
    "drop_retracted",
    "effect_of",
    "ends_turn",
    "fill_model_usage",
    "fill_usage",
    "find_class",
    "has_failed",
    "is_detached",
    "is_idle",
    "list_retracted",
    "merge_answers",
    "merge_task",
    "new_assistant_message",
    "new_compact_boundary",
    "new_result_error",
    "new_result_success",
    "new_system_init",
    "new_user_message",
    "new_uuid",
    "total",
]

_TypeMessage = (
    AssistantMessage
    | UserMessage
    | ResultMessage
    | PartialAssistantMessage
    | ToolProgressMessage
    | AuthStatusMessage
    | ToolUseSummaryMessage
    | RateLimitEvent
    | PromptSuggestionMessage
    | ConversationResetMessage
    | CommandLifecycleMessage
    | ActiveGoalMessage
    | TranscriptMirrorMessage
)

SdkMessage = _TypeMessage | UserMessageReplay | SystemSubtypeMessage | UnknownMessage
"""Any message of the stream, without the control protocol."""

STREAM_TYPES: Mapping[str, type[TypedMessage]] = MappingProxyType(
    {str(cls.__struct_config__.tag): cls for cls in get_args(_TypeMessage)}
)
"""The classes by `type`; of the two for `user`, the one that is no echo."""

SYSTEM_SUBTYPES: Mapping[str, type[SystemMessage]] = MappingProxyType(
    {str(cls.__struct_config__.tag): cls for cls in get_args(SystemSubtypeMessage)}
)
"""The classes of `type: system` by `subtype`."""


class StreamHead(Snake, forbid_unknown_fields=False):
    """What tells messages of the stream apart."""

    type: str | None | UnsetType = UNSET
    subtype: str | None | UnsetType = UNSET
    is_replay: bool | None | UnsetType = field(name="isReplay", default=UNSET)


def find_class(head: StreamHead) -> type[StreamMessage] | None:
    """Return the class of the message with this head, or None if nobody declared it."""
    if head.type == "system":
        return SYSTEM_SUBTYPES.get(head.subtype) if isinstance(head.subtype, str) else None
    if head.type == "user" and head.is_replay is True:
        return UserMessageReplay
    return STREAM_TYPES.get(head.type) if isinstance(head.type, str) else None


def has_failed(result: ResultMessage) -> bool:
    """Tell whether a turn failed: a success can be an error, and running out of turns is no `is_error`."""
    return result.is_error is True or result.subtype is not ResultSubtype.SUCCESS


def ends_turn(message: object) -> bool:
    """Tell whether a message ends its turn. Remarks and task notifications may still follow it."""
    return isinstance(message, ResultMessage)


def is_idle(message: object) -> bool:
    """Tell whether a message says for certain that nothing is running any more."""
    return isinstance(message, SessionStateChangedMessage) and message.state is SessionState.IDLE


class RunTotals(Struct, frozen=True):
    """What a run has cost so far."""

    cost_usd: Number | UnsetType = UNSET
    """The program's running total: the last one counts, they are never added."""
    model_usage: dict[str, ModelUsage] | UnsetType = UNSET
    """The same, by model."""
    turns: tuple[Usage | UnsetType, ...] = ()
    """The usage of each turn's main loop, which is that turn's alone."""


def add_result(totals: RunTotals, result: ResultMessage) -> RunTotals:
    """Return the totals after one more turn."""
    cost = totals.cost_usd if result.total_cost_usd is UNSET else result.total_cost_usd
    models = totals.model_usage if result.model_usage is UNSET else result.model_usage
    return RunTotals(cost, models, (*totals.turns, result.usage))


def total(messages: Iterable[object]) -> RunTotals:
    """Return the totals of a stream."""
    totals = RunTotals()
    for message in messages:
        if isinstance(message, ResultMessage):
            totals = add_result(totals, message)
    return totals


def list_retracted(message: object) -> tuple[str, ...]:
    """Return the uuids of the earlier messages that this one takes back."""
    match message:
        case AssistantMessage(supersedes=tuple(uuids)):
            return uuids
        case ModelRefusalFallbackMessage(retracted_message_uuids=tuple(uuids)):
            return uuids
    return ()


def drop_retracted(messages: Iterable[Value]) -> list[Value]:
    """Return the messages that no later one takes back, in order."""
    kept: list[Value] = []
    for message in messages:
        gone = frozenset(list_retracted(message))
        if gone:
            kept = [earlier for earlier in kept if getattr(earlier, "uuid", UNSET) not in gone]
        kept.append(message)
    return kept


class _Detached(Struct, rename="camel"):
    detached_tool_call: bool = False


def is_detached(message: UserMessage | UserMessageReplay) -> bool:
    """Tell whether a tool's result is only a placeholder: what came of the call follows as a notification."""
    if not isinstance(message.tool_use_result, Raw):
        return False
    try:
        return msgspec.json.decode(message.tool_use_result, type=_Detached).detached_tool_call
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def merge_answers(first: AssistantMessage, second: AssistantMessage) -> AssistantMessage:
    """Return two parts of one answer (equal `message.id`) as one: all blocks, and what the later part knows.

    The blocks of a part that is repeated are not doubled.
    """
    blocks = [block for part in (first, second) for block in _blocks(part)]
    distinct = [block for index, block in enumerate(blocks) if block not in blocks[:index]]
    later = {name: value for name, value in _known(second.message).items() if value is not None}
    message = replace(first.message, **later | {"content": tuple(distinct)})
    return replace(first, **_known(second) | {"message": message})


def _blocks(message: AssistantMessage) -> tuple[Any, ...]:
    content = message.message.content
    return content if isinstance(content, tuple) else ()


def _known(value: Struct) -> dict[str, Any]:
    fields = {name: getattr(value, name) for name in value.__struct_fields__}
    return {name: held for name, held in fields.items() if held is not UNSET}


class Role(StrEnum):
    """What a message does to what is known."""

    ROW = "row"
    """It stands for itself."""
    PART = "part"
    """It joins the others with its key: parts of an answer, the life of a task or a hook."""
    STATE = "state"
    """It takes the place of the one before with its key."""
    ECHO = "echo"
    """It repeats a prompt that is known, and is not shown again."""


class Effect(Struct, frozen=True):
    """What a message does, and to what."""

    role: Role
    key: tuple[str, ...] = ()


_STATES: dict[type, tuple[str, str | None]] = {
    SystemInitMessage: ("init", None),
    StatusMessage: ("status", None),
    ApiRetryMessage: ("api_retry", None),
    AuthStatusMessage: ("auth_status", None),
    ActiveGoalMessage: ("active_goal", None),
    ThinkingTokensMessage: ("thinking_tokens", None),
    SessionStateChangedMessage: ("session_state", None),
    CommandsChangedMessage: ("commands", None),
    BackgroundTasksChangedMessage: ("background_tasks", None),
    TaskSummaryMessage: ("task_summary", None),
    PluginInstallMessage: ("plugin_install", None),
    RateLimitEvent: ("rate_limit", None),
    ToolProgressMessage: ("tool", "tool_use_id"),
    ControlRequestProgressMessage: ("control_request", "request_id"),
    NotificationMessage: ("notification", "key"),
}
_PARTS: dict[type, tuple[str, str]] = {
    TaskStartedMessage: ("task", "task_id"),
    TaskUpdatedMessage: ("task", "task_id"),
    TaskProgressMessage: ("task", "task_id"),
    TaskNotificationMessage: ("task", "task_id"),
    HookStartedMessage: ("hook", "hook_id"),
    HookProgressMessage: ("hook", "hook_id"),
    HookResponseMessage: ("hook", "hook_id"),
}


def effect_of(message: Value) -> Effect:
    """Return what a message does to what is known: what replaces, what merges, and by which key."""
    if isinstance(message, UserMessageReplay):
        return Effect(Role.ECHO)
    if isinstance(message, AssistantMessage):
        return _keyed(Role.PART, "answer", message.message.id)
    if isinstance(message, PartialAssistantMessage):
        return _keyed(Role.PART, "partial", message.parent_tool_use_id or "")
    if type(message) in _PARTS:
        subject, name = _PARTS[type(message)]
        return _keyed(Role.PART, subject, getattr(message, name))
    if type(message) in _STATES:
        subject, key = _STATES[type(message)]
        return _keyed(Role.STATE, subject, "" if key is None else getattr(message, key))
    return Effect(Role.ROW)


def _keyed(role: Role, subject: str, key: str | UnsetType) -> Effect:
    """Return the effect, or that of a plain row where the key is absent."""
    if isinstance(key, UnsetType):
        return Effect(Role.ROW)
    return Effect(role, (subject, key) if key else (subject,))


TaskMessage = TaskStartedMessage | TaskProgressMessage | TaskUpdatedMessage | TaskNotificationMessage


class Task(Struct, frozen=True, kw_only=True):
    """What is known of a task so far: it starts, makes progress, changes by patches and ends."""

    task_id: str
    run_id: str | UnsetType = UNSET
    status: TaskState | TaskEnd | UnsetType = UNSET
    description: str | UnsetType = UNSET
    task_type: str | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    tool_use_id: str | None | UnsetType = UNSET
    parent_task_id: str | UnsetType = UNSET
    is_backgrounded: bool | UnsetType = UNSET
    usage: TaskUsage | UnsetType = UNSET
    last_tool_name: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    output_file: str | UnsetType = UNSET
    end_time: Number | UnsetType = UNSET
    total_paused_ms: Number | UnsetType = UNSET
    error: str | UnsetType = UNSET

    @property
    def ended(self) -> bool:
        """Whether the task is over."""
        return isinstance(self.status, TaskEnd) or self.status in (
            TaskState.COMPLETED,
            TaskState.FAILED,
            TaskState.KILLED,
        )


def merge_task(task: Task | None, message: TaskMessage) -> Task:
    """Return what is known of a task after one more message; a patch changes only what it names.

    A task that is resumed keeps its id and gets a new run, which starts afresh.
    """
    if task is None or (message.run_id is not UNSET and message.run_id != task.run_id):
        task = Task(task_id=message.task_id, run_id=message.run_id)
    told: Struct | UnsetType = message.patch if isinstance(message, TaskUpdatedMessage) else message
    if not isinstance(told, Struct):
        return task
    news = {name: getattr(told, name) for name in told.__struct_fields__ if name in Task.__struct_fields__}
    known = {name: value for name, value in news.items() if value is not UNSET}
    if isinstance(message, TaskStartedMessage):
        known.setdefault("status", TaskState.RUNNING)
    return replace(task, **known)


_COUNTERS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_FIGURES = (*_COUNTERS, "web_search_requests", "cost_usd", "context_window", "max_output_tokens")
_KINDS = {str: "a string", int: "an integer"}


def new_uuid() -> str:
    """Return a fresh UUID (RFC 4122, version 4) in its text form."""
    return str(uuid.uuid4())


def fill_usage(usage: Usage) -> Usage:
    """Return `usage` with zero for each of the four counters that is absent or null."""
    return replace(usage, **{name: getattr(usage, name) or 0 for name in _COUNTERS})


def fill_model_usage(usage: ModelUsage) -> ModelUsage:
    """Return `usage` with zero for each mandatory figure that is absent."""
    return replace(usage, **{name: getattr(usage, name) or 0 for name in _FIGURES})


def new_assistant_message(
    message: Message, parent_tool_use_id: str | None, session_id: str
) -> AssistantMessage:
    """Make an answer; only `id`, `model` and `content` of its message are the caller's to fill."""
    _expect(Message, message=message)
    _expect(str, session_id=session_id)
    filled = replace(
        message,
        type=message.type or "message",
        role=message.role or "assistant",
        stop_reason=message.stop_reason or None,
        stop_sequence=message.stop_sequence or None,
        usage=fill_usage(message.usage or Usage()),
    )
    return AssistantMessage(
        uuid=new_uuid(), session_id=session_id, message=filled, parent_tool_use_id=parent_tool_use_id
    )


def new_user_message(
    content: str | tuple[ContentBlock, ...] | None, session_id: str, *, parent_tool_use_id: str | None = None
) -> UserMessage:
    """Make a prompt; null content stays null."""
    _expect(str, session_id=session_id)
    message = Message(role="user", content=content)
    return UserMessage(
        uuid=new_uuid(), session_id=session_id, message=message, parent_tool_use_id=parent_tool_use_id
    )


def new_result_success(
    result: str,
    num_turns: int,
    total_cost_usd: Number,
    usage: Usage,
    model_usage: Mapping[str, ModelUsage],
    duration_ms: Number,
    duration_api_ms: Number,
    session_id: str,
    *,
    stop_reason: StopReason | None = None,
    permission_denials: Iterable[PermissionDenial] = (),
) -> ResultMessage:
    """Make the end of a turn that succeeded."""
    _expect(str, session_id=session_id)
    return ResultMessage(
        uuid=new_uuid(),
        session_id=session_id,
        subtype=ResultSubtype.SUCCESS,
        is_error=False,
        result=result,
        num_turns=num_turns,
        total_cost_usd=total_cost_usd,
        usage=fill_usage(usage),
        model_usage={model: fill_model_usage(used) for model, used in model_usage.items()},
        duration_ms=duration_ms,
        duration_api_ms=duration_api_ms,
        stop_reason=stop_reason,
        permission_denials=tuple(permission_denials),
    )


def new_result_error(
    subtype: ResultSubtype,
    errors: Iterable[str],
    num_turns: int,
    total_cost_usd: Number,
    usage: Usage,
    model_usage: Mapping[str, ModelUsage],
    duration_ms: Number,
    duration_api_ms: Number,
    session_id: str,
    *,
    stop_reason: StopReason | None = None,
    permission_denials: Iterable[PermissionDenial] = (),
) -> ResultMessage:
    """Make the end of a turn that failed."""
    if subtype is ResultSubtype.SUCCESS:
        raise ValueError("an error has one of the error subtypes")
    success = new_result_success(
        "",
        num_turns,
        total_cost_usd,
        usage,
        model_usage,
        duration_ms,
        duration_api_ms,
        session_id,
        stop_reason=stop_reason,
        permission_denials=permission_denials,
    )
    return replace(success, subtype=subtype, is_error=True, errors=tuple(errors), result=UNSET)


def new_system_init(options: QueryOptions, version: str, session_id: str) -> SystemInitMessage:
    """Make the first message of a session that runs with `options`."""
    _expect(QueryOptions, options=options)
    _expect(str, version=version, session_id=session_id)
    return SystemInitMessage(
        uuid=new_uuid(),
        session_id=session_id,
        model=options.model or "",
        cwd=options.cwd or "",
        permission_mode=options.permission_mode or PermissionMode.DEFAULT,
        claude_code_version=version,
        api_key_source=ApiKeySource.NONE,
        tools=(),
        mcp_servers=(),
        slash_commands=(),
        output_style="default",
        skills=(),
        plugins=(),
    )


def new_compact_boundary(trigger: CompactTrigger, pre_tokens: int, session_id: str) -> CompactBoundaryMessage:
    """Make the mark of a compaction."""
    _expect(int, pre_tokens=pre_tokens)
    _expect(str, session_id=session_id)
    details = CompactDetails(trigger=trigger, pre_tokens=pre_tokens)
    return CompactBoundaryMessage(uuid=new_uuid(), session_id=session_id, compact_metadata=details)


def _expect(kind: type, **arguments: object) -> None:
    """Refuse what is of another type, as arguments in another order than the spec's are."""
    for name, value in arguments.items():
        if not isinstance(value, kind):
            wanted = _KINDS.get(kind, f"a {kind.__name__}")
            found = "None" if value is None else type(value).__name__
            raise TypeError(f"{name} must be {wanted}, got {found}")

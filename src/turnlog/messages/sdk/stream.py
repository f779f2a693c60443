"""How the messages of the stream relate, how they are put together from their events, and how they are made.

The stream is not a list of rows. An answer comes in parts that are one message; states replace states; tasks
change bit by bit; some messages take others back; a result ends a turn. These rules are the protocol's, not a
viewer's, so they stand here as functions over the typed messages, with no state of their own.

`MessageAssembler` is a fold: events go in, in the order of the stream, and out comes the same `Message` that
the complete answer carries. The stream of one session mixes the messages of the main thread with those of
sub-agents, each of which writes one message at a time; so events are kept apart by session and
`parent_tool_use_id`. What does not fit stays visible as a `Problem`, and nothing raises.

Making messages is the other half. A reader takes what comes; a writer owes the other side what the protocol
demands. These constructors leave no mandatory field out, even where ours would allow it: counters are zero,
not absent, and a thread that has no parent says so with null. Arguments come in spec 001's order; what is
obviously in another is refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple, assert_never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turnlog.messages import blocks as block_types
from turnlog.messages.base import UNSET, Number, Raw, Unknown, UnknownTagged, UnsetType, Value, encode_value
from turnlog.messages.blocks import ContentBlock
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.message import Message, MessageError, StopReason, Usage
from turnlog.messages.metadata import ModelUsage
from turnlog.messages.options import QueryOptions
from turnlog.messages.salvage import REFUSALS, Problem, ProblemKind, decoder
from turnlog.messages.sdk import messages as wire
from turnlog.messages.system import CompactTrigger


def ends_turn(message: object) -> bool:
    """Tell whether a message ends its turn. Remarks and task notifications may still follow it."""
    return isinstance(message, wire.ResultMessage)


def is_idle(message: object) -> bool:
    """Tell whether a message says for certain that nothing is running any more."""
    return isinstance(message, wire.SessionStateChangedMessage) and message.state is wire.SessionState.IDLE


class RunTotals(Struct, frozen=True):
    """What a run has cost so far."""

    cost_usd: Number | UnsetType = UNSET
    """The program's running total: the last one counts, they are never added."""
    model_usage: dict[str, ModelUsage] | UnsetType = UNSET
    """The same, by model."""
    turns: tuple[Usage | UnsetType, ...] = ()
    """The usage of each turn's main loop, which is that turn's alone."""


def add_result(totals: RunTotals, result: wire.ResultMessage) -> RunTotals:
    """Return the totals after one more turn."""
    cost = totals.cost_usd if result.total_cost_usd is UNSET else result.total_cost_usd
    models = totals.model_usage if result.model_usage is UNSET else result.model_usage
    return RunTotals(cost, models, (*totals.turns, result.usage))


def total(messages: Iterable[object]) -> RunTotals:
    """Return the totals of a stream."""
    totals = RunTotals()
    for message in messages:
        if isinstance(message, wire.ResultMessage):
            totals = add_result(totals, message)
    return totals


def list_retracted(message: object) -> tuple[str, ...]:
    """Return the uuids of the earlier messages that this one takes back."""
    match message:
        case wire.AssistantMessage(supersedes=tuple(uuids)):
            return uuids
        case wire.ModelRefusalFallbackMessage(retracted_message_uuids=tuple(uuids)):
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


def is_detached(message: wire.UserMessage | wire.UserMessageReplay) -> bool:
    """Tell whether a tool's result is only a placeholder: what came of the call follows as a notification."""
    if not isinstance(message.tool_use_result, Raw):
        return False
    try:
        return msgspec.json.decode(message.tool_use_result, type=_Detached).detached_tool_call
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def merge_answers(first: wire.AssistantMessage, second: wire.AssistantMessage) -> wire.AssistantMessage:
    """Return two parts of one answer (equal `message.id`) as one: all blocks, and what the later part knows.

    The blocks of a part that is repeated are not doubled.
    """
    blocks = [block for part in (first, second) for block in _blocks(part)]
    distinct = [block for index, block in enumerate(blocks) if block not in blocks[:index]]
    later = {name: value for name, value in _known(second.message).items() if value is not None}
    message = replace(first.message, **later | {"content": tuple(distinct)})
    return replace(first, **_known(second) | {"message": message})


def _blocks(message: wire.AssistantMessage) -> tuple[Any, ...]:
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
    wire.SystemInitMessage: ("init", None),
    wire.StatusMessage: ("status", None),
    wire.ApiRetryMessage: ("api_retry", None),
    wire.AuthStatusMessage: ("auth_status", None),
    wire.ActiveGoalMessage: ("active_goal", None),
    wire.ThinkingTokensMessage: ("thinking_tokens", None),
    wire.SessionStateChangedMessage: ("session_state", None),
    wire.CommandsChangedMessage: ("commands", None),
    wire.BackgroundTasksChangedMessage: ("background_tasks", None),
    wire.TaskSummaryMessage: ("task_summary", None),
    wire.PluginInstallMessage: ("plugin_install", None),
    wire.RateLimitEvent: ("rate_limit", None),
    wire.ToolProgressMessage: ("tool", "tool_use_id"),
    wire.ControlRequestProgressMessage: ("control_request", "request_id"),
    wire.NotificationMessage: ("notification", "key"),
}
_PARTS: dict[type, tuple[str, str]] = {
    wire.TaskStartedMessage: ("task", "task_id"),
    wire.TaskUpdatedMessage: ("task", "task_id"),
    wire.TaskProgressMessage: ("task", "task_id"),
    wire.TaskNotificationMessage: ("task", "task_id"),
    wire.HookStartedMessage: ("hook", "hook_id"),
    wire.HookProgressMessage: ("hook", "hook_id"),
    wire.HookResponseMessage: ("hook", "hook_id"),
}


def effect_of(message: Value) -> Effect:
    """Return what a message does to what is known: what replaces, what merges, and by which key."""
    if isinstance(message, wire.UserMessageReplay):
        return Effect(Role.ECHO)
    if isinstance(message, wire.AssistantMessage):
        return _keyed(Role.PART, "answer", message.message.id)
    if isinstance(message, wire.PartialAssistantMessage):
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


TaskMessage = (
    wire.TaskStartedMessage | wire.TaskProgressMessage | wire.TaskUpdatedMessage | wire.TaskNotificationMessage
)


class Task(Struct, frozen=True, kw_only=True):
    """What is known of a task so far: it starts, makes progress, changes by patches and ends."""

    task_id: str
    run_id: str | UnsetType = UNSET
    status: wire.TaskState | wire.TaskEnd | UnsetType = UNSET
    description: str | UnsetType = UNSET
    task_type: str | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    tool_use_id: str | None | UnsetType = UNSET
    parent_task_id: str | UnsetType = UNSET
    is_backgrounded: bool | UnsetType = UNSET
    usage: wire.TaskUsage | UnsetType = UNSET
    last_tool_name: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    output_file: str | UnsetType = UNSET
    end_time: Number | UnsetType = UNSET
    total_paused_ms: Number | UnsetType = UNSET
    error: str | UnsetType = UNSET

    @property
    def ended(self) -> bool:
        """Whether the task is over."""
        return isinstance(self.status, wire.TaskEnd) or self.status in (
            wire.TaskState.COMPLETED,
            wire.TaskState.FAILED,
            wire.TaskState.KILLED,
        )


def merge_task(task: Task | None, message: TaskMessage) -> Task:
    """Return what is known of a task after one more message; a patch changes only what it names.

    A task that is resumed keeps its id and gets a new run, which starts afresh.
    """
    if task is None or (message.run_id is not UNSET and message.run_id != task.run_id):
        task = Task(task_id=message.task_id, run_id=message.run_id)
    told: Struct | UnsetType = message.patch if isinstance(message, wire.TaskUpdatedMessage) else message
    if not isinstance(told, Struct):
        return task
    news = {name: getattr(told, name) for name in told.__struct_fields__ if name in Task.__struct_fields__}
    known = {name: value for name, value in news.items() if value is not UNSET}
    if isinstance(message, wire.TaskStartedMessage):
        known.setdefault("status", wire.TaskState.RUNNING)
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
) -> wire.AssistantMessage:
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
    return wire.AssistantMessage(
        uuid=new_uuid(), session_id=session_id, message=filled, parent_tool_use_id=parent_tool_use_id
    )


def new_user_message(
    content: str | tuple[ContentBlock, ...] | None, session_id: str, *, parent_tool_use_id: str | None = None
) -> wire.UserMessage:
    """Make a prompt; null content stays null."""
    _expect(str, session_id=session_id)
    message = Message(role="user", content=content)
    return wire.UserMessage(
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
    permission_denials: Iterable[wire.PermissionDenial] = (),
) -> wire.ResultMessage:
    """Make the end of a turn that succeeded."""
    _expect(str, session_id=session_id)
    return wire.ResultMessage(
        uuid=new_uuid(),
        session_id=session_id,
        subtype=wire.ResultSubtype.SUCCESS,
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
    subtype: wire.ResultSubtype,
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
    permission_denials: Iterable[wire.PermissionDenial] = (),
) -> wire.ResultMessage:
    """Make the end of a turn that failed."""
    if subtype is wire.ResultSubtype.SUCCESS:
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


def new_system_init(options: QueryOptions, version: str, session_id: str) -> wire.SystemInitMessage:
    """Make the first message of a session that runs with `options`."""
    _expect(QueryOptions, options=options)
    _expect(str, version=version, session_id=session_id)
    return wire.SystemInitMessage(
        uuid=new_uuid(),
        session_id=session_id,
        model=options.model or "",
        cwd=options.cwd or "",
        permission_mode=options.permission_mode or PermissionMode.DEFAULT,
        claude_code_version=version,
        api_key_source=wire.ApiKeySource.NONE,
        tools=(),
        mcp_servers=(),
        slash_commands=(),
        output_style="default",
        skills=(),
        plugins=(),
    )


def new_compact_boundary(
    trigger: CompactTrigger, pre_tokens: int, session_id: str
) -> wire.CompactBoundaryMessage:
    """Make the mark of a compaction."""
    _expect(int, pre_tokens=pre_tokens)
    _expect(str, session_id=session_id)
    details = wire.CompactDetails(trigger=trigger, pre_tokens=pre_tokens)
    return wire.CompactBoundaryMessage(uuid=new_uuid(), session_id=session_id, compact_metadata=details)


def _expect(kind: type, **arguments: object) -> None:
    """Refuse what is of another type, as arguments in another order than the spec's are."""
    for name, value in arguments.items():
        if not isinstance(value, kind):
            wanted = _KINDS.get(kind, f"a {kind.__name__}")
            found = "None" if value is None else type(value).__name__
            raise TypeError(f"{name} must be {wanted}, got {found}")


_Call = block_types.ToolUseBlock | block_types.ServerToolUseBlock | block_types.McpToolUseBlock


class _BlockDraft:
    """One content block in the making."""

    def __init__(self, start: ContentBlock) -> None:
        self._start = start
        self._pieces: list[str] = []
        self._citations: list[block_types.Citation] = []
        self._late: dict[str, object] = {}

    def grow(self, delta: wire.Delta) -> bool:
        """Take a delta; return False if this block cannot grow by it."""
        match self._start, delta:
            case block_types.TextBlock(), wire.TextDelta(text=piece):
                self._pieces.append(piece)
            case block_types.TextBlock(), wire.CitationsDelta(citation=citation):
                self._citations.append(citation)
            case block_types.ThinkingBlock(), wire.ThinkingDelta(thinking=piece):
                self._pieces.append(piece)
            case block_types.ThinkingBlock(), wire.SignatureDelta(signature=signature):
                self._late["signature"] = signature
            case (
                block_types.ToolUseBlock() | block_types.ServerToolUseBlock() | block_types.McpToolUseBlock(),
                wire.InputJsonDelta(partial_json=piece),
            ):
                self._pieces.append(piece)
            case block_types.CompactionBlock(), wire.CompactionDelta(
                content=content, encrypted_content=encrypted
            ):
                self._pieces += [content] if isinstance(content, str) else []
                self._late |= {} if encrypted is UNSET else {"encrypted_content": encrypted}
            case _:
                return False
        return True

    @property
    def unfinished_input(self) -> str | None:
        """The text so far of a call's input, while it is not JSON."""
        if not isinstance(self._start, _Call):
            return None
        text = "".join(self._pieces)
        return text if text.strip() and _parse(text) is None else None

    def build(self) -> ContentBlock:
        """Return the block as far as it has come."""
        text = "".join(self._pieces)
        match self._start:
            case block_types.TextBlock() as start:
                return replace(start, text=start.text + text, **self._cited(start))
            case block_types.ThinkingBlock() as start:
                return replace(start, thinking=start.thinking + text, **self._late)
            case block_types.CompactionBlock() as start:
                return replace(
                    start, content=(start.content or "") + text if text else start.content, **self._late
                )
            case (
                block_types.ToolUseBlock()
                | block_types.ServerToolUseBlock()
                | block_types.McpToolUseBlock() as start
            ):
                return replace(start, input=_parse(text) or UNSET) if text.strip() else start
            case start:
                return start

    def _cited(self, start: block_types.TextBlock) -> dict[str, object]:
        return {"citations": (*(start.citations or ()), *self._citations)} if self._citations else {}


class _Draft:
    """One message in the making."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.error: MessageError | None = None
        self.is_complete = False
        self._start: Message | None = None
        self._blocks: dict[int, _BlockDraft] = {}
        self._late: dict[str, object] = {}
        self._usage: Usage | None | UnsetType = UNSET

    @property
    def is_begun(self) -> bool:
        """Tell whether anything of a message has come."""
        return bool(self._start or self._blocks or self._late or self.error)

    @property
    def unfinished_inputs(self) -> dict[int, str]:
        """The text so far of each call's input that is not JSON yet, by the block's index."""
        texts = ((index, self._blocks[index].unfinished_input) for index in sorted(self._blocks))
        return {index: text for index, text in texts if text is not None}

    def build(self) -> Message:
        """Return the message as far as it has come."""
        content = tuple(self._blocks[index].build() for index in sorted(self._blocks))
        return replace(self._start or Message(), content=content, usage=self._usage, **self._late)

    def add(self, event: wire.StreamEvent) -> None:
        """Take the next event."""
        match event:
            case wire.MessageStart(message=message):
                self._begin(message)
            case wire.ContentBlockStart(index=index, content_block=block):
                self._add_block(index, block)
            case wire.ContentBlockDelta(index=index, delta=delta):
                self._grow(index, delta)
            case wire.ContentBlockStop(index=index):
                self._end_block(index)
            case wire.MessageDelta():
                self._change(event)
            case wire.MessageStop():
                self.is_complete = True
            case wire.ErrorEvent(error=error):
                self.error = error
            case UnknownTagged():
                self._report(ProblemKind.UNKNOWN_TYPE, "a known event", f"`{event.type}`", unknown=event)
            case wire.Ping():
                pass
            case _:
                assert_never(event)

    def _begin(self, message: Message) -> None:
        self._start = message
        self._usage = message.usage
        if isinstance(message.content, tuple):
            self._blocks = {index: _BlockDraft(block) for index, block in enumerate(message.content)}

    def _add_block(self, index: int, block: ContentBlock) -> None:
        if index in self._blocks:
            old = self._blocks[index].build()
            self._report(ProblemKind.WRONG_TYPE, "a new block", "another one", index, _keep(old))
        self._blocks[index] = _BlockDraft(block)

    def _grow(self, index: int, delta: wire.Delta) -> None:
        if isinstance(delta, UnknownTagged):
            self._report(ProblemKind.UNKNOWN_TYPE, "a known delta", f"`{delta.type}`", index, delta)
        elif index not in self._blocks:
            self._report(ProblemKind.MISSING_FIELD, "the start of the block", "a delta", index, _keep(delta))
        elif not self._blocks[index].grow(delta):
            found = f"`{delta.type}`"
            self._report(ProblemKind.WRONG_TYPE, "a delta that fits the block", found, index, _keep(delta))

    def _end_block(self, index: int) -> None:
        if index not in self._blocks:
            self._report(ProblemKind.MISSING_FIELD, "the start of the block", "its end", index)
        elif (text := self._blocks[index].unfinished_input) is not None:
            self._report(ProblemKind.MALFORMED, "JSON", "text", index, Unknown(_encode(text)))

    def _change(self, event: wire.MessageDelta) -> None:
        changes = () if event.delta is UNSET else event.delta.__struct_fields__
        values = {name: getattr(event.delta, name) for name in changes}
        values["context_management"] = event.context_management
        self._late |= {name: value for name, value in values.items() if value is not UNSET}
        self._usage = _merge(self._usage, event.usage)

    def _report(
        self,
        kind: ProblemKind,
        expected: str,
        found: str,
        index: int | None = None,
        unknown: Unknown | None = None,
    ) -> None:
        steps = () if index is None else ("content", index)
        self.problems.append(Problem(kind, expected, found, steps, unknown))


def _merge(old: Usage | None | UnsetType, new: Usage | None | UnsetType) -> Usage | None | UnsetType:
    """Return `old` with the counters that `new` gives; those that it leaves out or nulls stay."""
    if not isinstance(new, Usage):
        return old
    if not isinstance(old, Usage):
        return new
    counters = {name: getattr(new, name) for name in new.__struct_fields__}
    return replace(
        old, **{name: each for name, each in counters.items() if each is not UNSET and each is not None}
    )


def _parse(text: str) -> Raw | None:
    try:
        raw: Raw = decoder(Raw).decode(_encode(text))
    except REFUSALS:
        return None
    return raw


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _keep(value: Struct | Unknown) -> Unknown:
    return Unknown(encode_value(value))


class Thread(NamedTuple):
    """Where messages come one after the other: a session's main thread, or one of its sub-agents."""

    session_id: str | None = None
    parent_tool_use_id: str | None = None

    @classmethod
    def of(cls, part: wire.PartialAssistantMessage) -> Thread:
        """Return the thread that an event belongs to."""
        return cls(part.session_id or None, part.parent_tool_use_id or None)


_MAIN = Thread()


class AssembledMessage(Struct, frozen=True):
    """A message as far as its events tell."""

    thread: Thread
    message: Message
    is_complete: bool
    """Whether the stream said that nothing more comes."""
    unfinished_inputs: Mapping[int, str]
    """By the block's index, the text so far of each call's input that is not JSON yet; its block has none."""
    problems: tuple[Problem, ...]
    error: MessageError | None = None
    """Why the API broke off."""


class MessageAssembler:
    """Builds messages from stream events, one at a time on each thread."""

    def __init__(self) -> None:
        self._drafts: dict[Thread, _Draft] = {}

    @property
    def threads(self) -> tuple[Thread, ...]:
        """The threads on which a message is being written."""
        return tuple(self._drafts)

    def add(self, part: wire.PartialAssistantMessage) -> AssembledMessage | None:
        """Take the next event; return the message that it ended, if it ended one.

        A message ends with `message_stop`, or cut off where the next one starts on its thread.
        """
        return self.add_event(part.event, Thread.of(part))

    def add_event(self, event: wire.StreamEvent, thread: Thread = _MAIN) -> AssembledMessage | None:
        """Take the next event of a thread; return the message that it ended, if it ended one."""
        if isinstance(event, wire.Ping):
            return None
        ended = None
        if isinstance(event, wire.MessageStart) and self._drafts.get(thread, _Draft()).is_begun:
            ended = self.finish(thread)
        draft = self._drafts.setdefault(thread, _Draft())
        draft.add(event)
        return self.finish(thread) if draft.is_complete else ended

    def snapshot(self, thread: Thread = _MAIN) -> AssembledMessage | None:
        """Return the message in the making on a thread, as far as it has come; None if there is none."""
        draft = self._drafts.get(thread)
        return None if draft is None else _assembled(thread, draft)

    def finish(self, thread: Thread = _MAIN) -> AssembledMessage | None:
        """Wait no longer: forget the message in the making on a thread, and return it as it is."""
        draft = self._drafts.pop(thread, None)
        return None if draft is None else _assembled(thread, draft)


def _assembled(thread: Thread, draft: _Draft) -> AssembledMessage:
    return AssembledMessage(
        thread=thread,
        message=draft.build(),
        is_complete=draft.is_complete,
        unfinished_inputs=draft.unfinished_inputs,
        problems=tuple(draft.problems),
        error=draft.error,
    )

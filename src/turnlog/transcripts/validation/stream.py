"""Checks the messages of the stream against spec 001, §3 to §5."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from turnlog.messages import UNSET, Line, Problem, ProblemKind, sdk
from turnlog.messages.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from turnlog.messages.entries import UnknownEntry
from turnlog.messages.envelope import instant
from turnlog.messages.message import Message, Usage
from turnlog.messages.sdk.messages import (
    AssistantMessage,
    ResultMessage,
    ResultSubtype,
    StreamMessage,
    UserFields,
)
from turnlog.messages.sdk.stream import StreamHead, find_class
from turnlog.messages.sdk.system_messages import (
    CompactBoundaryMessage,
    CompactDetails,
    FilesPersistedEvent,
    HookProgressMessage,
    HookResponseMessage,
    HookStartedMessage,
    SystemInitMessage,
)
from turnlog.messages.spans import Path
from turnlog.transcripts.validation.rules import (
    Check,
    Demand,
    LineReport,
    Report,
    Rule,
    Spot,
    get_rule,
    join,
    quote,
)

_STATUS = get_rule("001-4.9-status")
_COMPACTION = get_rule("001-4.10-compact-boundary")
_HOOK_FIELDS = get_rule("001-4.11-hook-fields")
HOOK_LIFECYCLE = get_rule("001-4.11-hook-lifecycle")
_TOOL_PROGRESS = get_rule("001-4.12-tool-progress")
_AUTH_STATUS = get_rule("001-4.13-auth-status")
_TASK = get_rule("001-4.14-task-notification")
_FILES = get_rule("001-4.15-files-persisted")
_SUMMARY = get_rule("001-4.16-tool-use-summary")

_HOOK = ("hook_id", "hook_name", "hook_event")
_OUTPUT = ("stdout", "stderr", "output")
_PROGRESS = ("tool_use_id", "tool_name", "parent_tool_use_id", "elapsed_time_seconds")
_DETAILS = Demand(_COMPACTION, "a compaction", ("trigger", "pre_tokens"))
_FILE = Demand(_FILES, "a file", ("filename", "file_id"))
_FAILURE = Demand(_FILES, "a failed file", ("filename", "error"))


def _check_boundary(message: CompactBoundaryMessage, here: LineReport) -> None:
    if isinstance(message.compact_metadata, CompactDetails):
        here.check_given(_DETAILS, message.compact_metadata, ("compact_metadata",))


def _check_files(message: FilesPersistedEvent, here: LineReport) -> None:
    for name, demand in (("files", _FILE), ("failed", _FAILURE)):
        for index, file in enumerate(getattr(message, name) or ()):
            here.check_given(demand, file, (name, index))
    time = message.processed_at
    if time is not UNSET and instant(time) is None:
        here.add(_FILES, f"Expected a time in ISO 8601, found {quote(time)}", ("processed_at",))


RESULT_SUBTYPE = get_rule("001-4.1-result-subtype")
_RESULT_FIELDS = get_rule("001-4.7-result-fields")
_SUCCESS = get_rule("001-4.7-result-success")
_ERROR = get_rule("001-4.7-result-error")
_IS_ERROR = get_rule("001-4.7-is-error")
_MODEL_USAGE = get_rule("001-4.7-model-usage")
_DENIALS = get_rule("001-4.7-permission-denials")
_INIT_FIELDS = get_rule("001-4.8-init-fields")
INIT_FIRST = get_rule("001-4.8-init-first")
_SERVERS = get_rule("001-4.8-mcp-servers")
_PLUGINS = get_rule("001-4.8-plugins")

_RESULT = Demand(
    _RESULT_FIELDS,
    "a result",
    (
        "duration_ms",
        "duration_api_ms",
        "is_error",
        "num_turns",
        "stop_reason",
        "total_cost_usd",
        "usage",
        "model_usage",
        "permission_denials",
    ),
)
_INIT = Demand(
    _INIT_FIELDS,
    "an init message",
    (
        "api_key_source",
        "claude_code_version",
        "cwd",
        "tools",
        "mcp_servers",
        "model",
        "permission_mode",
        "slash_commands",
        "output_style",
        "skills",
        "plugins",
    ),
)
_MODEL = Demand(
    _MODEL_USAGE,
    "a model's usage",
    (
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "web_search_requests",
        "cost_usd",
        "context_window",
        "max_output_tokens",
    ),
)
_DENIAL = Demand(_DENIALS, "a denial", ("tool_name", "tool_use_id", "tool_input"))
_GOOD = Demand(_SUCCESS, "a success", ("result",))
_BAD = Demand(_ERROR, "an error", ("errors",))
_SERVER = Demand(_SERVERS, "a server", ("name", "status"))
_PLUGIN = Demand(_PLUGINS, "a plugin", ("name", "path"))
_STATES = ("connected", "failed", "needs-auth", "pending", "disabled")


def _check_result(message: ResultMessage, here: LineReport) -> None:
    _check_outcome(message, here)
    check_usage(message.usage, ("usage",), here)
    models = message.model_usage if isinstance(message.model_usage, dict) else {}
    for name, usage in models.items():
        here.check_given(_MODEL, usage, ("modelUsage", name))
    for index, denial in enumerate(message.permission_denials or ()):
        here.check_given(_DENIAL, denial, ("permission_denials", index))


def _check_outcome(message: ResultMessage, here: LineReport) -> None:
    good = message.subtype is ResultSubtype.SUCCESS
    if not message.subtype.known:
        return
    here.check_given(_GOOD if good else _BAD, message)
    surplus = ("errors",) if good else ("result", "structured_output")
    found = [name for name in surplus if getattr(message, name) is not UNSET]
    if found:
        rule, what = (_SUCCESS, "a success") if good else (_ERROR, "an error")
        here.add(rule, f"Expected no {join(found)} in {what}, found some")
    if message.is_error is good:
        expected = "false" if good else "true"
        found_word = "true" if good else "false"
        what = quote(message.subtype)
        here.add(_IS_ERROR, f"Expected `{expected}` for {what}, found `{found_word}`", ("is_error",))


def _check_init(message: SystemInitMessage, here: LineReport) -> None:
    for index, server in enumerate(message.mcp_servers or ()):
        steps = ("mcp_servers", index)
        here.check_given(_SERVER, server, steps)
        if server.status is not UNSET and server.status not in _STATES:
            found = f"Expected {join(_STATES, 'or')}, found {quote(server.status)}"
            here.add(_SERVERS, found, (*steps, "status"))
    for index, plugin in enumerate(message.plugins or ()):
        here.check_given(_PLUGIN, plugin, ("plugins", index))


_BASE_FIELDS = get_rule("001-4.2-base-fields")
_UUID_FORM = get_rule("001-4.2-uuid-form")
_ASSISTANT = get_rule("001-4.3-assistant")
MESSAGE_FIELDS = get_rule("001-4.4-message-fields")
_USAGE = get_rule("001-4.4-usage")
BLOCK_FIELDS = get_rule("001-4.4-block-fields")
_BLOCK_ORDER = get_rule("001-4.4-block-order")
_STREAM_EVENT = get_rule("001-4.5-stream-event")
_USER = get_rule("001-4.6-user")
BLOCK_SURPLUS = get_rule("001-5.2-block-surplus")

_USER_DEMAND = Demand(_USER, "a user message", ("parent_tool_use_id",))
_ANSWER = Demand(
    MESSAGE_FIELDS,
    "an answer",
    ("id", "type", "role", "content", "model", "stop_reason", "stop_sequence", "usage"),
)
_PROMPT = Demand(_USER, "a message", ("role", "content"))
_CALL = Demand(BLOCK_FIELDS, "a `tool_use`", ("id", "input"))
_COUNTERS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_RANKS: Mapping[type, int] = MappingProxyType({ThinkingBlock: 0, TextBlock: 1, ToolUseBlock: 2})


def check_base(message: StreamMessage, here: LineReport) -> None:
    """Check the fields that all messages have."""
    names = ("session_id",) if isinstance(message, UserFields) else ("uuid", "session_id")
    here.check_given(Demand(_BASE_FIELDS, "a message", names), message)
    if isinstance(message.uuid, str) and not _UUID.fullmatch(message.uuid):
        here.add(_UUID_FORM, f"Expected a UUID, found {quote(message.uuid)}", ("uuid",))


def check_usage(usage: object, steps: Path, here: LineReport) -> None:
    """Check that usage has all counters."""
    if not isinstance(usage, Usage):
        return
    missing = [
        name
        for name in _COUNTERS
        if getattr(usage, name) in (UNSET, None) and (*steps, name) not in here.faults
    ]
    if missing:
        here.add(_USAGE, f"Expected a number in {join(missing)}, found none", steps)


def _check_assistant(message: AssistantMessage, here: LineReport) -> None:
    answer, steps = message.message, ("message",)
    here.check_given(_ANSWER, answer, steps)
    for name, expected in (("type", "message"), ("role", "assistant")):
        found = getattr(answer, name)
        if found is not UNSET and found != expected:
            here.add(MESSAGE_FIELDS, f"Expected `{expected}`, found {quote(found)}", (*steps, name))
    if isinstance(answer.content, str):
        here.add(MESSAGE_FIELDS, "Expected an array of blocks, found a string", (*steps, "content"))
    check_usage(answer.usage, (*steps, "usage"), here)
    _check_blocks(answer, here)


def _check_blocks(answer: Message, here: LineReport) -> None:
    last = 0
    for index, block in enumerate(answer.content if isinstance(answer.content, tuple) else ()):
        steps = ("message", "content", index)
        rank = _RANKS.get(type(block), last)
        if rank < last:
            here.add(_BLOCK_ORDER, "Expected thinking, then text, then tool uses, found another order", steps)
        last = rank
        if isinstance(block, ToolUseBlock):
            here.check_given(_CALL, block, steps)


def _check_user(message: UserFields, here: LineReport) -> None:
    prompt = message.message
    here.check_given(_PROMPT, prompt, ("message",))
    if prompt.role is not UNSET and prompt.role not in ("user", "assistant"):
        here.add(_USER, f"Expected `user` or `assistant`, found {quote(prompt.role)}", ("message", "role"))
    if prompt.content is None:
        here.add(_USER, "Expected a string or an array, found null", ("message", "content"))


_KNOWN_TYPE = get_rule("001-3-known-type")
_SYSTEM_SUBTYPE = get_rule("001-5.1-system-subtype")

_DEMANDS: Mapping[type[Struct], Demand] = MappingProxyType(
    {
        AssistantMessage: Demand(_ASSISTANT, "an assistant message", ("parent_tool_use_id",)),
        sdk.PartialAssistantMessage: Demand(_STREAM_EVENT, "a stream event", ("parent_tool_use_id",)),
        sdk.UserMessage: _USER_DEMAND,
        sdk.UserMessageReplay: _USER_DEMAND,
        ResultMessage: _RESULT,
        SystemInitMessage: _INIT,
        sdk.StatusMessage: Demand(_STATUS, "a status message", ("status",)),
        CompactBoundaryMessage: Demand(_COMPACTION, "a compact_boundary", ("compact_metadata",)),
        HookStartedMessage: Demand(_HOOK_FIELDS, "a hook_started", _HOOK),
        HookProgressMessage: Demand(_HOOK_FIELDS, "a hook_progress", (*_HOOK, *_OUTPUT)),
        HookResponseMessage: Demand(_HOOK_FIELDS, "a hook_response", (*_HOOK, *_OUTPUT, "outcome")),
        sdk.ToolProgressMessage: Demand(_TOOL_PROGRESS, "a tool_progress", _PROGRESS),
        sdk.AuthStatusMessage: Demand(_AUTH_STATUS, "an auth_status", ("is_authenticating", "output")),
        sdk.TaskNotificationMessage: Demand(
            _TASK, "a task_notification", ("task_id", "status", "output_file", "summary")
        ),
        FilesPersistedEvent: Demand(_FILES, "a files_persisted", ("files", "failed", "processed_at")),
        sdk.ToolUseSummaryMessage: Demand(
            _SUMMARY, "a tool_use_summary", ("summary", "preceding_tool_use_ids")
        ),
    }
)
_CHECKS: Mapping[type[Struct], Check] = MappingProxyType(
    {
        AssistantMessage: _check_assistant,
        sdk.UserMessage: _check_user,
        sdk.UserMessageReplay: _check_user,
        ResultMessage: _check_result,
        SystemInitMessage: _check_init,
        CompactBoundaryMessage: _check_boundary,
        FilesPersistedEvent: _check_files,
    }
)
_BLOCK_KEYS = frozenset({"text", "id", "name", "input", "thinking"})
_ANSWERS = frozenset({AssistantMessage, sdk.PartialAssistantMessage, ResultMessage})


def claim(line: Line, problem: Problem) -> Rule | None:
    """Return the rule that a problem breaks, or None."""
    entry, steps = line.entry, problem.steps
    in_block = steps[:2] == ("message", "content") and len(steps) > 2
    match problem.kind:
        case ProblemKind.UNKNOWN_TYPE if isinstance(entry, ResultMessage):
            return RESULT_SUBTYPE
        case ProblemKind.UNKNOWN_TYPE if isinstance(entry, UnknownEntry):
            no_subtype = entry.type == "system" and entry.subtype is None
            return _SYSTEM_SUBTYPE if no_subtype else _KNOWN_TYPE
        case ProblemKind.UNKNOWN_FIELD if in_block and len(steps) == 4 and steps[-1] in _BLOCK_KEYS:
            return BLOCK_SURPLUS
        case ProblemKind.MISSING_FIELD | ProblemKind.WRONG_TYPE if in_block:
            return BLOCK_FIELDS
        case ProblemKind.MISSING_FIELD | ProblemKind.WRONG_TYPE:
            cls = _class_of(entry)
            inside = cls is AssistantMessage and len(steps) > 1 and steps[0] == "message"
            demand = _DEMANDS.get(cls) if cls is not None else None
            return MESSAGE_FIELDS if inside else demand.rule if demand is not None else None
    return None


def _class_of(entry: object) -> type[Struct] | None:
    """Return what a message is, or would be if nothing were missing."""
    if isinstance(entry, UnknownEntry):
        return find_class(StreamHead(type=entry.type, subtype=entry.subtype))
    return type(entry) if isinstance(entry, StreamMessage) else None


class Stream:
    """Checks messages one by one, and remembers which sessions and hooks have started."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._sessions: set[str] = set()
        self._hooks: dict[str, Spot] = {}

    def add(self, line: Line, here: LineReport) -> None:
        """Take the next message."""
        message = line.entry
        if not isinstance(message, StreamMessage):
            return
        check_base(message, here)
        demand = _DEMANDS.get(type(message))
        if demand is not None:
            here.check_given(demand, message)
        check = _CHECKS.get(type(message))
        if check is not None:
            check(message, here)
        self._check_start(message, here)
        if isinstance(message, HookStartedMessage | HookProgressMessage | HookResponseMessage):
            self._check_hook(message, here)

    def finish(self) -> None:
        """Report the hooks that have not ended."""
        for hook, spot in self._hooks.items():
            self._report.add(HOOK_LIFECYCLE, spot, f"Expected a hook_response for {quote(hook)}, found none")

    def _check_start(self, message: StreamMessage, here: LineReport) -> None:
        session = message.session_id if isinstance(message.session_id, str) else ""
        if session in self._sessions:
            return
        if isinstance(message, SystemInitMessage):
            self._sessions.add(session)
        elif type(message) in _ANSWERS:
            self._sessions.add(session)
            found = f"found none before the first answer of session {quote(session)}"
            here.add(INIT_FIRST, f"Expected an init message, {found}")

    def _check_hook(
        self, message: HookStartedMessage | HookProgressMessage | HookResponseMessage, here: LineReport
    ) -> None:
        hook = message.hook_id
        if not isinstance(hook, str):
            return
        if isinstance(message, HookStartedMessage):
            self._hooks[hook] = here.spot
            return
        if hook not in self._hooks:
            here.add(HOOK_LIFECYCLE, f"Expected an earlier hook_started for {quote(hook)}, found none")
        if isinstance(message, HookResponseMessage):
            self._hooks.pop(hook, None)

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
from turnlog.messages.sdk import (
    AssistantMessage,
    CompactBoundaryMessage,
    FilesPersistedEvent,
    HookProgressMessage,
    HookResponseMessage,
    HookStartedMessage,
    ResultMessage,
    ResultSubtype,
    StreamHead,
    StreamMessage,
    SystemInitMessage,
    UserFields,
    find_class,
)
from turnlog.messages.sdk.system_messages import CompactDetails
from turnlog.messages.spans import Path
from turnlog.transcripts.validation.rules import (
    Check,
    Demand,
    LineReport,
    Report,
    Rule,
    Severity,
    Spot,
    declare_stream,
    join,
    quote,
)

_STATUS = declare_stream(
    "4.9-status",
    "§4.9",
    Severity.ERROR,
    "A status message has a status, which may be null",
    "Null means that Claude Code is no longer busy; a missing status means nothing.",
)
_COMPACTION = declare_stream(
    "4.10-compact-boundary",
    "§4.10",
    Severity.ERROR,
    "A compact_boundary says what triggered it, and how many tokens there were before",
    "What came before it was summarized.",
)
_HOOK_FIELDS = declare_stream(
    "4.11-hook-fields",
    "§4.11",
    Severity.WARNING,
    "A hook message names the hook and its event; progress also has its output, and a response its outcome",
    "The id links the messages of one run. Early versions have none.",
)
HOOK_LIFECYCLE = declare_stream(
    "4.11-hook-lifecycle",
    "§4.11",
    Severity.NOTE,
    "A hook starts before it reports progress or responds, and responds in the end",
    "A capture may start late or end early.",
)
_TOOL_PROGRESS = declare_stream(
    "4.12-tool-progress",
    "§4.12",
    Severity.ERROR,
    "A tool_progress names the call and its tool, the call it is under, and the time elapsed",
    "Otherwise nobody knows what is still running.",
)
_AUTH_STATUS = declare_stream(
    "4.13-auth-status",
    "§4.13",
    Severity.ERROR,
    "An auth_status says whether a login is in progress, and what it printed",
    "It has no other content.",
)
_TASK = declare_stream(
    "4.14-task-notification",
    "§4.14",
    Severity.ERROR,
    "A task_notification names the task, how it ended, where its output is, and a summary",
    "It is the only notice that a background task has ended.",
)
_FILES = declare_stream(
    "4.15-files-persisted",
    "§4.15",
    Severity.ERROR,
    "A files_persisted lists the files by name and id, the failed ones by name and error, and says when",
    "Otherwise nobody knows which files are safe.",
)
_SUMMARY = declare_stream(
    "4.16-tool-use-summary",
    "§4.16",
    Severity.ERROR,
    "A tool_use_summary has a summary, and the calls that it summarizes",
    "It is shown in their place.",
)

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


RESULT_SUBTYPE = declare_stream(
    "4.1-result-subtype",
    "§4.1",
    Severity.WARNING,
    "A result's subtype is one of the five",
    "It says whether the turn succeeded.",
)
_RESULT_FIELDS = declare_stream(
    "4.7-result-fields",
    "§4.7",
    Severity.WARNING,
    "A result has its times, turns, cost, usage, stop reason and denials",
    "They summarize the turn. Early versions have no stop reason.",
)
_SUCCESS = declare_stream(
    "4.7-result-success",
    "§4.7",
    Severity.ERROR,
    "A successful result has `result`, and no `errors`",
    "It is the answer that the caller is waiting for.",
)
_ERROR = declare_stream(
    "4.7-result-error",
    "§4.7",
    Severity.ERROR,
    "An error result has `errors`, and neither `result` nor `structured_output`",
    "They say what went wrong.",
)
_IS_ERROR = declare_stream(
    "4.7-is-error",
    "§4.7",
    Severity.NOTE,
    "`is_error` is true for errors, and false for success",
    "Claude Code reports an API error as a success with `is_error: true`, so both have to be checked.",
)
_MODEL_USAGE = declare_stream(
    "4.7-model-usage",
    "§4.7",
    Severity.WARNING,
    "The usage of a model has all its counters, its cost and its limits",
    "It is Claude Code's own record of what was spent.",
)
_DENIALS = declare_stream(
    "4.7-permission-denials",
    "§4.7",
    Severity.ERROR,
    "A denial names the tool, the call and its input",
    "Otherwise nobody knows what was denied.",
)
_INIT_FIELDS = declare_stream(
    "4.8-init-fields",
    "§4.8",
    Severity.WARNING,
    "An init message says what the session runs with: version, model, directory, mode, tools, servers and more",
    "Versions without skills or plugins leave those out.",
)
INIT_FIRST = declare_stream(
    "4.8-init-first",
    "§4.8",
    Severity.NOTE,
    "A session starts with an init message",
    "A capture that starts later does not show how the session was set up.",
)
_SERVERS = declare_stream(
    "4.8-mcp-servers",
    "§4.8",
    Severity.WARNING,
    "A server has a name and one of five states",
    "Otherwise nobody knows which servers are connected.",
)
_PLUGINS = declare_stream(
    "4.8-plugins",
    "§4.8",
    Severity.WARNING,
    "A plugin has a name and a path",
    "Otherwise nobody knows which plugins are loaded.",
)

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


_BASE_FIELDS = declare_stream(
    "4.2-base-fields",
    "§4.2",
    Severity.WARNING,
    "A message has a uuid and a session_id",
    "They identify the message and say where it belongs. Hosts may leave out the uuid of messages they send.",
)
_UUID_FORM = declare_stream(
    "4.2-uuid-form",
    "§4.2",
    Severity.NOTE,
    "A uuid has the form of RFC 4122",
    "Strict readers refuse any other form.",
)
_ASSISTANT = declare_stream(
    "4.3-assistant",
    "§4.3",
    Severity.ERROR,
    "An assistant message has a message and a parent_tool_use_id, which is null for the main agent",
    "Only the id says which agent answered.",
)
MESSAGE_FIELDS = declare_stream(
    "4.4-message-fields",
    "§4.4",
    Severity.WARNING,
    "An answer has id, type, role, content, model, stop_reason, stop_sequence and usage",
    "Parts of an answer are put together by its id, and its tokens are counted by model.",
)
_USAGE = declare_stream(
    "4.4-usage",
    "§4.4, §4.7",
    Severity.WARNING,
    "Usage has all four counters, and none is null",
    "A missing counter counts as zero, and the cost comes out too low.",
)
BLOCK_FIELDS = declare_stream(
    "4.4-block-fields",
    "§4.4",
    Severity.ERROR,
    "A block has the fields of its type: text; id, name and input; thinking",
    "Without them it has no content, and a call cannot be matched with its result.",
)
_BLOCK_ORDER = declare_stream(
    "4.4-block-order",
    "§4.4",
    Severity.NOTE,
    "Thinking comes before text, and text before tool uses",
    "Models that think between calls use another order; the order of the blocks counts.",
)
_STREAM_EVENT = declare_stream(
    "4.5-stream-event",
    "§4.5",
    Severity.ERROR,
    "A stream_event has an event in the API's form, and a parent_tool_use_id",
    "Otherwise the partial answer cannot be assembled.",
)
_USER = declare_stream(
    "4.6-user",
    "§4.6",
    Severity.ERROR,
    "A user message has a message with role and content, and a parent_tool_use_id",
    "They say what was asked or answered, and in which conversation.",
)
BLOCK_SURPLUS = declare_stream(
    "5.2-block-surplus",
    "§5.2",
    Severity.WARNING,
    "A block has no fields of other block types",
    "The API refuses such a block when the conversation is sent again.",
)

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


_KNOWN_TYPE = declare_stream(
    "3-known-type",
    "§3, §4.1, §5.1",
    Severity.WARNING,
    "The type and the subtype belong to the union",
    "The spec calls any other an error; newer versions add some, which are kept and shown as unknown.",
)
_SYSTEM_SUBTYPE = declare_stream(
    "5.1-system-subtype",
    "§5.1",
    Severity.ERROR,
    "A system message has a subtype",
    "Nothing else says what the message is.",
)

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

"""Checks what spec 001 says of the stream (§3 to §5) and of the control protocol beside it (§6 and §7.2).

A reply does not say what it is a reply to: its request is remembered, by id and subtype alone, until it is
answered or withdrawn. A capture of one side holds only half of the pairs, so a missing half is a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

import turnlog.messages.control.frames as frames
import turnlog.messages.sdk.messages as sdk
from turnlog.messages import UNSET, Line, Problem, ProblemKind, Raw, UnsetType
from turnlog.messages.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from turnlog.messages.control.frames import REQUESTS, ControlRequest
from turnlog.messages.control.requests import CanUseToolRequest, HookCallbackRequest
from turnlog.messages.entries import UnknownEntry
from turnlog.messages.envelope import instant
from turnlog.messages.message import Message, Usage
from turnlog.messages.permissions import AddRules, PermissionAllow, PermissionAsk, RemoveRules, ReplaceRules
from turnlog.messages.sdk.messages import StreamHead, find_class
from turnlog.messages.spans import Path
from turnlog.transcripts.validation import rules
from turnlog.transcripts.validation.rules import LineRef, LineReport, Report, join, quote


def _check_boundary(message: sdk.CompactBoundaryMessage, here: LineReport) -> None:
    if isinstance(message.compact_metadata, sdk.CompactDetails):
        here.check_given(message.compact_metadata, ("compact_metadata",))


def _check_files(message: sdk.FilesPersistedEvent, here: LineReport) -> None:
    for name in ("files", "failed"):
        for index, file in enumerate(getattr(message, name) or ()):
            here.check_given(file, (name, index))
    time = message.processed_at
    if time is not UNSET and instant(time) is None:
        here.add(
            "001-4.15-files-persisted", f"Expected a time in ISO 8601, found {quote(time)}", ("processed_at",)
        )


_STATES = ("connected", "failed", "needs-auth", "pending", "disabled")


def _check_result(message: sdk.ResultMessage, here: LineReport) -> None:
    _check_outcome(message, here)
    check_usage(message.usage, ("usage",), here)
    models = message.model_usage if isinstance(message.model_usage, dict) else {}
    for name, usage in models.items():
        here.check_given(usage, ("modelUsage", name))
    for index, denial in enumerate(message.permission_denials or ()):
        here.check_given(denial, ("permission_denials", index))


def _check_outcome(message: sdk.ResultMessage, here: LineReport) -> None:
    good = message.subtype is sdk.ResultSubtype.SUCCESS
    if not message.subtype.known:
        return
    here.check_given(message, what="success" if good else "error")
    surplus = ("errors",) if good else ("result", "structured_output")
    found = [name for name in surplus if getattr(message, name) is not UNSET]
    if found:
        rule, what = ("001-4.7-result-success", "a success") if good else ("001-4.7-result-error", "an error")
        here.add(rule, f"Expected no {join(found)} in {what}, found some")
    if message.is_error is good:
        expected = "false" if good else "true"
        found_word = "true" if good else "false"
        what = quote(message.subtype)
        here.add("001-4.7-is-error", f"Expected `{expected}` for {what}, found `{found_word}`", ("is_error",))


def _check_init(message: sdk.SystemInitMessage, here: LineReport) -> None:
    for index, server in enumerate(message.mcp_servers or ()):
        steps = ("mcp_servers", index)
        here.check_given(server, steps)
        if server.status is not UNSET and server.status not in _STATES:
            found = f"Expected {join(_STATES, 'or')}, found {quote(server.status)}"
            here.add("001-4.8-mcp-servers", found, (*steps, "status"))
    for index, plugin in enumerate(message.plugins or ()):
        here.check_given(plugin, ("plugins", index))


_COUNTERS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_RANKS: Mapping[type, int] = {ThinkingBlock: 0, TextBlock: 1, ToolUseBlock: 2}


def check_base(message: sdk.StreamMessage, here: LineReport) -> None:
    """Check the fields that all messages have."""
    here.check_given(message, what="sent message" if isinstance(message, sdk.UserFields) else "message")
    if isinstance(message.uuid, str) and not _UUID.fullmatch(message.uuid):
        here.add("001-4.2-uuid-form", f"Expected a UUID, found {quote(message.uuid)}", ("uuid",))


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
        here.add("001-4.4-usage", f"Expected a number in {join(missing)}, found none", steps)


def _check_assistant(message: sdk.AssistantMessage, here: LineReport) -> None:
    answer, steps = message.message, ("message",)
    here.check_given(answer, steps, "answer")
    for name, expected in (("type", "message"), ("role", "assistant")):
        found = getattr(answer, name)
        if found is not UNSET and found != expected:
            here.add("001-4.4-message-fields", f"Expected `{expected}`, found {quote(found)}", (*steps, name))
    if isinstance(answer.content, str):
        here.add("001-4.4-message-fields", "Expected an array of blocks, found a string", (*steps, "content"))
    check_usage(answer.usage, (*steps, "usage"), here)
    _check_blocks(answer, here)


def _check_blocks(answer: Message, here: LineReport) -> None:
    last = 0
    for index, block in enumerate(answer.content if isinstance(answer.content, tuple) else ()):
        steps = ("message", "content", index)
        rank = _RANKS.get(type(block), last)
        if rank < last:
            here.add(
                "001-4.4-block-order",
                "Expected thinking, then text, then tool uses, found another order",
                steps,
            )
        last = rank
        if isinstance(block, ToolUseBlock):
            here.check_given(block, steps)


def _check_user(message: sdk.UserFields, here: LineReport) -> None:
    prompt = message.message
    here.check_given(prompt, ("message",), "prompt")
    if prompt.role is not UNSET and prompt.role not in ("user", "assistant"):
        here.add(
            "001-4.6-user", f"Expected `user` or `assistant`, found {quote(prompt.role)}", ("message", "role")
        )
    if prompt.content is None:
        here.add("001-4.6-user", "Expected a string or an array, found null", ("message", "content"))


_CHECKS: Mapping[type[Struct], rules.Check] = {
    sdk.AssistantMessage: _check_assistant,
    sdk.UserMessage: _check_user,
    sdk.UserMessageReplay: _check_user,
    sdk.ResultMessage: _check_result,
    sdk.SystemInitMessage: _check_init,
    sdk.CompactBoundaryMessage: _check_boundary,
    sdk.FilesPersistedEvent: _check_files,
}
_BLOCK_KEYS = frozenset({"text", "id", "name", "input", "thinking"})
_ANSWERS = frozenset({sdk.AssistantMessage, sdk.PartialAssistantMessage, sdk.ResultMessage})


def find_rule(line: Line, problem: Problem) -> str | None:
    """Return the rule that a problem breaks, or None."""
    entry, steps = line.entry, problem.steps
    in_block = steps[:2] == ("message", "content") and len(steps) > 2
    match problem.kind:
        case ProblemKind.UNKNOWN_TYPE if isinstance(entry, sdk.ResultMessage):
            return "001-4.1-result-subtype"
        case ProblemKind.UNKNOWN_TYPE if isinstance(entry, UnknownEntry):
            no_subtype = entry.type == "system" and entry.subtype is None
            return "001-5.1-system-subtype" if no_subtype else "001-3-known-type"
        case ProblemKind.UNKNOWN_FIELD if in_block and len(steps) == 4 and steps[-1] in _BLOCK_KEYS:
            return "001-5.2-block-surplus"
        case ProblemKind.MISSING_FIELD | ProblemKind.WRONG_TYPE if in_block:
            return "001-4.4-block-fields"
        case ProblemKind.MISSING_FIELD | ProblemKind.WRONG_TYPE:
            cls = _class_of(entry)
            inside = cls is sdk.AssistantMessage and len(steps) > 1 and steps[0] == "message"
            demand = rules.REQUIRED.get(cls.__name__) if cls is not None else None
            return "001-4.4-message-fields" if inside else demand["rule"] if demand is not None else None
    return None


def _class_of(entry: object) -> type[Struct] | None:
    """Return what a message is, or would be if nothing were missing."""
    if isinstance(entry, UnknownEntry):
        return find_class(StreamHead(type=entry.type, subtype=entry.subtype))
    return type(entry) if isinstance(entry, sdk.StreamMessage) else None


class Stream:
    """Checks messages one by one, and remembers which sessions and hooks have started."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._sessions: set[str] = set()
        self._hooks: dict[str, LineRef] = {}

    def add(self, line: Line, here: LineReport) -> None:
        """Take the next message."""
        message = line.entry
        if not isinstance(message, sdk.StreamMessage):
            return
        check_base(message, here)
        here.check_given(message)
        check = _CHECKS.get(type(message))
        if check is not None:
            check(message, here)
        self._check_start(message, here)
        if isinstance(message, sdk.HookStartedMessage | sdk.HookProgressMessage | sdk.HookResponseMessage):
            self._check_hook(message, here)

    def finish(self) -> None:
        """Report the hooks that have not ended."""
        for hook, spot in self._hooks.items():
            self._report.add(
                "001-4.11-hook-lifecycle", spot, f"Expected a hook_response for {quote(hook)}, found none"
            )

    def _check_start(self, message: sdk.StreamMessage, here: LineReport) -> None:
        session = message.session_id if isinstance(message.session_id, str) else ""
        if session in self._sessions:
            return
        if isinstance(message, sdk.SystemInitMessage):
            self._sessions.add(session)
        elif type(message) in _ANSWERS:
            self._sessions.add(session)
            found = f"found none before the first answer of session {quote(session)}"
            here.add("001-4.8-init-first", f"Expected an init message, {found}")

    def _check_hook(
        self,
        message: sdk.HookStartedMessage | sdk.HookProgressMessage | sdk.HookResponseMessage,
        here: LineReport,
    ) -> None:
        hook = message.hook_id
        if not isinstance(hook, str):
            return
        if isinstance(message, sdk.HookStartedMessage):
            self._hooks[hook] = here.spot
            return
        if hook not in self._hooks:
            here.add(
                "001-4.11-hook-lifecycle", f"Expected an earlier hook_started for {quote(hook)}, found none"
            )
        if isinstance(message, sdk.HookResponseMessage):
            self._hooks.pop(hook, None)


_BROKEN = (ProblemKind.MISSING_FIELD, ProblemKind.WRONG_TYPE, ProblemKind.UNKNOWN_TYPE)


def find_frame_rule(line: Line, problem: Problem) -> str | None:
    """Return the rule that a problem of a frame breaks, or None."""
    if problem.kind not in _BROKEN:
        return None
    frame = line.entry.type if isinstance(line.entry, UnknownEntry) else line.entry.__struct_config__.tag
    if frame == "control_response":
        return "001-6.2-response-form"
    if frame == "control_cancel_request":
        return "001-6.3-cancel"
    if problem.steps in ((), ("request_id",)):
        return "001-6.1-request-form"
    if problem.kind is ProblemKind.UNKNOWN_TYPE:
        if problem.steps != ("request",):
            return None
        return "001-6.1-request-form" if problem.found == "nothing" else "001-6.1-known-request"
    is_body = problem.steps == ("request",) and problem.kind is ProblemKind.WRONG_TYPE
    return "001-6.1-request-form" if is_body else "001-6.1-request-fields"


def find_hook_rule(line: Line, problem: Problem) -> str | None:
    """Return the rule that a problem of what a hook is told breaks, or None."""
    return "001-7.2-hook-event" if problem.steps == ("hook_event_name",) else None


class Control:
    """Matches replies with requests; remembers only what is open."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._open: dict[str, tuple[LineRef, str | None]] = {}

    def add(self, line: Line, here: LineReport) -> None:
        """Take the next frame."""
        match line.entry:
            case ControlRequest() as request:
                self._add_request(request, here)
            case frames.ControlResponse(response=frames.SuccessBody() as body):
                self._add_reply(body.request_id, body.response, ("response", "response"), here)
            case frames.ControlResponse(response=frames.ErrorBody(request_id=request_id)):
                self._settle(request_id, here)
            case frames.FlatControlResponse(response=flat):
                if flat.result is not UNSET and isinstance(flat.error, str):
                    message = "Expected either `result` or `error`, found both"
                    here.add("001-6.2-response-form", message, ("response",))
                if isinstance(flat.error, str):
                    self._settle(flat.request_id, here)
                else:
                    self._add_reply(flat.request_id, flat.result, ("response", "result"), here)
            case frames.ControlCancelRequest(request_id=request_id):
                if self._open.pop(request_id, None) is None:
                    message = f"Expected the id of an open request, found {quote(request_id)}"
                    here.add("001-6.3-cancel", message, ("request_id",))

    def finish(self) -> None:
        """Report the requests that are still open."""
        for request_id, (spot, _) in self._open.items():
            self._report.add(
                "001-6.2-answered", spot, f"Expected a response to request {quote(request_id)}, found none"
            )

    def _add_request(self, frame: ControlRequest, here: LineReport) -> None:
        subtype = frames.subtype_of(frame.request)
        open_request = self._open.get(frame.request_id)
        if open_request is not None:
            number = open_request[0].number
            message = f"Expected an unused id, found {quote(frame.request_id)}, which line {number} uses"
            here.add("001-6.1-unique-request", message, ("request_id",))
        self._open[frame.request_id] = (here.spot, subtype)
        request = frame.request
        if isinstance(request, CanUseToolRequest | HookCallbackRequest):
            here.check_given(request, ("request",))
        if isinstance(request, CanUseToolRequest):
            suggestions = request.permission_suggestions or ()
            self._check_updates(suggestions, ("request", "permission_suggestions"), here)

    def _settle(self, request_id: str, here: LineReport) -> str | None:
        """Take a request off the open ones, and return its subtype."""
        found = self._open.pop(request_id, None)
        if found is None:
            message = f"Expected the id of an open request, found {quote(request_id)}"
            here.add("001-6.2-correlated", message, ("response", "request_id"))
        return None if found is None else found[1]

    def _add_reply(self, request_id: str, payload: Raw | UnsetType, steps: Path, here: LineReport) -> None:
        subtype = self._settle(request_id, here)
        if subtype is None or subtype not in REQUESTS:
            return
        reply = frames.view_reply(subtype, payload)
        rule = "001-7.2-permission-result" if subtype == "can_use_tool" else "001-6.2-reply"
        broken = [problem for problem in reply.problems if problem.kind in _BROKEN]
        for problem in broken:
            message = f"Expected {rules.clean(problem.expected)}, found {rules.clean(problem.found)}"
            here.add(rule, f"{message}, in the response to `{subtype}`", (*steps, *problem.steps))
        if isinstance(reply.value, PermissionAllow | PermissionAsk):
            here = replace(here, faults=frozenset((*steps, *problem.steps) for problem in broken))
            updates = reply.value.updated_permissions or ()
            self._check_updates(updates, (*steps, "updatedPermissions"), here)

    def _check_updates(self, updates: Iterable[object], steps: Path, here: LineReport) -> None:
        for index, update in enumerate(updates):
            if not isinstance(update, Struct):
                continue
            here.check_given(update, (*steps, index))
            if isinstance(update, AddRules | ReplaceRules | RemoveRules) and not update.values:
                message = "Expected `rules` in a permission update, found none"
                here.add("001-7.2-permission-update", message, (*steps, index))

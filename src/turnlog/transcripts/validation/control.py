"""Checks the frames of the control protocol against spec 001.

A reply does not say what it is a reply to: its request is remembered, by id and subtype alone, until it is
answered or withdrawn.

These are §6 and §7.2, on the control protocol and on hooks. A capture of one side holds only half of the pairs,
so a missing half is a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from turnlog.messages import UNSET, Line, Problem, ProblemKind, Raw, UnsetType, permissions
from turnlog.messages.control.frames import (
    REQUESTS,
    ControlCancelRequest,
    ControlRequest,
    ControlResponse,
    ErrorBody,
    FlatControlResponse,
    SuccessBody,
    subtype_of,
    view_reply,
)
from turnlog.messages.control.requests import CanUseToolRequest, HookCallbackRequest
from turnlog.messages.entries import UnknownEntry
from turnlog.messages.permissions import AddRules, PermissionAllow, PermissionAsk, RemoveRules, ReplaceRules
from turnlog.messages.spans import Path
from turnlog.transcripts.validation.rules import (
    Demand,
    LineReport,
    Report,
    Rule,
    Spot,
    clean,
    get_rule,
    quote,
)

REQUEST_FORM = get_rule("001-6.1-request-form")
KNOWN_REQUEST = get_rule("001-6.1-known-request")
REQUEST_FIELDS = get_rule("001-6.1-request-fields")
UNIQUE_REQUEST = get_rule("001-6.1-unique-request")
RESPONSE_FORM = get_rule("001-6.2-response-form")
CORRELATED = get_rule("001-6.2-correlated")
ANSWERED = get_rule("001-6.2-answered")
REPLY = get_rule("001-6.2-reply")
CANCEL = get_rule("001-6.3-cancel")
PERMISSION_RESULT = get_rule("001-7.2-permission-result")
PERMISSION_UPDATE = get_rule("001-7.2-permission-update")
HOOK_EVENT = get_rule("001-7.2-hook-event")

_BROKEN = (ProblemKind.MISSING_FIELD, ProblemKind.WRONG_TYPE, ProblemKind.UNKNOWN_TYPE)
_REQUESTS: Mapping[type[Struct], Demand] = MappingProxyType(
    {
        CanUseToolRequest: Demand(REQUEST_FIELDS, "`can_use_tool`", ("input",)),
        HookCallbackRequest: Demand(REQUEST_FIELDS, "`hook_callback`", ("input",)),
    }
)
"""What the types leave open and the spec does not."""
_DIRECTORIES = Demand(PERMISSION_UPDATE, "a permission update", ("destination", "directories"))
_MODE = Demand(PERMISSION_UPDATE, "a permission update", ("destination", "mode"))
_RULES = Demand(PERMISSION_UPDATE, "a permission update", ("destination",))
_UPDATES: Mapping[type[Struct], Demand] = MappingProxyType(
    {
        AddRules: _RULES,
        ReplaceRules: _RULES,
        RemoveRules: _RULES,
        permissions.SetMode: _MODE,
        permissions.AddDirectories: _DIRECTORIES,
        permissions.RemoveDirectories: _DIRECTORIES,
    }
)


def claim(line: Line, problem: Problem) -> Rule | None:
    """Return the rule that a problem of a frame breaks, or None."""
    if problem.kind not in _BROKEN:
        return None
    frame = line.entry.type if isinstance(line.entry, UnknownEntry) else line.entry.__struct_config__.tag
    if frame == "control_response":
        return RESPONSE_FORM
    if frame == "control_cancel_request":
        return CANCEL
    if problem.steps in ((), ("request_id",)):
        return REQUEST_FORM
    if problem.kind is ProblemKind.UNKNOWN_TYPE:
        if problem.steps != ("request",):
            return None
        return REQUEST_FORM if problem.found == "nothing" else KNOWN_REQUEST
    is_body = problem.steps == ("request",) and problem.kind is ProblemKind.WRONG_TYPE
    return REQUEST_FORM if is_body else REQUEST_FIELDS


def claim_hook(line: Line, problem: Problem) -> Rule | None:
    """Return the rule that a problem of what a hook is told breaks, or None."""
    return HOOK_EVENT if problem.steps == ("hook_event_name",) else None


class Control:
    """Matches replies with requests; remembers only what is open."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._open: dict[str, tuple[Spot, str | None]] = {}

    def add(self, line: Line, here: LineReport) -> None:
        """Take the next frame."""
        match line.entry:
            case ControlRequest() as request:
                self._add_request(request, here)
            case ControlResponse(response=SuccessBody() as body):
                self._add_reply(body.request_id, body.response, ("response", "response"), here)
            case ControlResponse(response=ErrorBody(request_id=request_id)):
                self._settle(request_id, here)
            case FlatControlResponse(response=flat):
                if flat.result is not UNSET and isinstance(flat.error, str):
                    message = "Expected either `result` or `error`, found both"
                    here.add(RESPONSE_FORM, message, ("response",))
                if isinstance(flat.error, str):
                    self._settle(flat.request_id, here)
                else:
                    self._add_reply(flat.request_id, flat.result, ("response", "result"), here)
            case ControlCancelRequest(request_id=request_id):
                if self._open.pop(request_id, None) is None:
                    message = f"Expected the id of an open request, found {quote(request_id)}"
                    here.add(CANCEL, message, ("request_id",))

    def finish(self) -> None:
        """Report the requests that are still open."""
        for request_id, (spot, _) in self._open.items():
            self._report.add(ANSWERED, spot, f"Expected a response to request {quote(request_id)}, found none")

    def _add_request(self, frame: ControlRequest, here: LineReport) -> None:
        subtype = subtype_of(frame.request)
        open_request = self._open.get(frame.request_id)
        if open_request is not None:
            number = open_request[0].number
            message = f"Expected an unused id, found {quote(frame.request_id)}, which line {number} uses"
            here.add(UNIQUE_REQUEST, message, ("request_id",))
        self._open[frame.request_id] = (here.spot, subtype)
        request = frame.request
        if isinstance(request, CanUseToolRequest | HookCallbackRequest):
            here.check_given(_REQUESTS[type(request)], request, ("request",))
        if isinstance(request, CanUseToolRequest):
            suggestions = request.permission_suggestions or ()
            self._check_updates(suggestions, ("request", "permission_suggestions"), here)

    def _settle(self, request_id: str, here: LineReport) -> str | None:
        """Take a request off the open ones, and return its subtype."""
        found = self._open.pop(request_id, None)
        if found is None:
            message = f"Expected the id of an open request, found {quote(request_id)}"
            here.add(CORRELATED, message, ("response", "request_id"))
        return None if found is None else found[1]

    def _add_reply(self, request_id: str, payload: Raw | UnsetType, steps: Path, here: LineReport) -> None:
        subtype = self._settle(request_id, here)
        if subtype is None or subtype not in REQUESTS:
            return
        reply = view_reply(subtype, payload)
        rule = PERMISSION_RESULT if subtype == "can_use_tool" else REPLY
        broken = [problem for problem in reply.problems if problem.kind in _BROKEN]
        for problem in broken:
            message = f"Expected {clean(problem.expected)}, found {clean(problem.found)}"
            here.add(rule, f"{message}, in the response to `{subtype}`", (*steps, *problem.steps))
        if isinstance(reply.value, PermissionAllow | PermissionAsk):
            here = replace(here, faults=frozenset((*steps, *problem.steps) for problem in broken))
            updates = reply.value.updated_permissions or ()
            self._check_updates(updates, (*steps, "updatedPermissions"), here)

    def _check_updates(self, updates: Iterable[object], steps: Path, here: LineReport) -> None:
        for index, update in enumerate(updates):
            if not isinstance(update, Struct) or type(update) not in _UPDATES:
                continue
            here.check_given(_UPDATES[type(update)], update, (*steps, index))
            if isinstance(update, AddRules | ReplaceRules | RemoveRules) and not update.values:
                message = "Expected `rules` in a permission update, found none"
                here.add(PERMISSION_UPDATE, message, (*steps, index))

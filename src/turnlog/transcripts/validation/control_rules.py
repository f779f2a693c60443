"""Spec 001, §6 and §7.2: what it asks of the control protocol and of hooks.

A capture of one side holds only half of the pairs, so a missing half is a note.
"""

from __future__ import annotations

from turnlog.messages import Dialect
from turnlog.transcripts.validation.rules import Rule, Severity, declare


def _rule(id: str, section: str, severity: Severity, title: str, why: str) -> Rule:
    graded = {severity.value: (Dialect.CONTROL,)}
    return declare(f"001-{id}", section, title, why, **graded)


REQUEST_FORM = _rule(
    "6.1-request-form",
    "§6.1",
    Severity.ERROR,
    "A control_request has a request_id, and a request with a subtype",
    "The response refers to the id, and the subtype says what is requested.",
)
KNOWN_REQUEST = _rule(
    "6.1-known-request",
    "§6.1",
    Severity.NOTE,
    "A request's subtype is known",
    "Newer versions have more than the spec's 13; an unknown one is kept.",
)
REQUEST_FIELDS = _rule(
    "6.1-request-fields",
    "§6.1",
    Severity.ERROR,
    "A request has the fields of its subtype",
    "It cannot be carried out without them.",
)
UNIQUE_REQUEST = _rule(
    "6.1-unique-request",
    "§6.1",
    Severity.WARNING,
    "A request_id is not used again while its request is open",
    "It would be unclear which of the two a response answers.",
)
RESPONSE_FORM = _rule(
    "6.2-response-form",
    "§6.2",
    Severity.ERROR,
    "A control_response names its request, and has either a result or an error",
    "The spec's form is flat; current versions nest it and add a subtype. Both are read.",
)
CORRELATED = _rule(
    "6.2-correlated",
    "§6.2",
    Severity.NOTE,
    "A control_response answers a request that is open",
    "The request may be missing from the capture.",
)
ANSWERED = _rule(
    "6.2-answered",
    "§6.2",
    Severity.NOTE,
    "Every request is eventually answered or cancelled",
    "The response may be missing from the capture.",
)
REPLY = _rule(
    "6.2-reply",
    "§6.2",
    Severity.WARNING,
    "The result has the form that its request calls for",
    "Otherwise the requester cannot read it. A hook's output is such a result.",
)
CANCEL = _rule(
    "6.3-cancel",
    "§6.3",
    Severity.NOTE,
    "A control_cancel_request names a request that is open",
    "Otherwise there is nothing to cancel.",
)
PERMISSION_RESULT = _rule(
    "7.2-permission-result",
    "§7.2, PermissionResult",
    Severity.ERROR,
    "The response to `can_use_tool` says allow, deny or ask, each in its own form",
    "Without it the tool does not run.",
)
PERMISSION_UPDATE = _rule(
    "7.2-permission-update",
    "§7.2, PermissionUpdate",
    Severity.WARNING,
    "A permission update says where it is stored, and what it changes",
    "Otherwise it changes nothing.",
)
HOOK_EVENT = declare(
    "001-7.2-hook-event",
    "§7.2, HookEvent",
    "A hook's event is known",
    "Newer versions have more than the spec's 15; an unknown one is kept.",
    note=(Dialect.HOOK,),
)

CONTROL_RULES = (
    REQUEST_FORM,
    KNOWN_REQUEST,
    REQUEST_FIELDS,
    UNIQUE_REQUEST,
    RESPONSE_FORM,
    CORRELATED,
    ANSWERED,
    REPLY,
    CANCEL,
    PERMISSION_RESULT,
    PERMISSION_UPDATE,
    HOOK_EVENT,
)

"""Spec 001, §6 and §7.2: the control protocol, and the names of hooks."""

from __future__ import annotations

from typing import Any

from validation_cases.base import Case, without


def ask(subtype: str, request_id: str = "r-1", **more: Any) -> dict[str, Any]:
    """Return a request."""
    return {"type": "control_request", "request_id": request_id, "request": {"subtype": subtype, **more}}


def grant(request_id: str = "r-1", **more: Any) -> dict[str, Any]:
    """Return an answer in today's form."""
    body = {"subtype": "success", "request_id": request_id, **more}
    return {"type": "control_response", "response": body}


def flat(request_id: str = "r-1", **more: Any) -> dict[str, Any]:
    """Return an answer in the spec's form."""
    return {"type": "control_response", "response": {"request_id": request_id, **more}}


_CANCEL = {"type": "control_cancel_request", "request_id": "r-1"}
_MAY = ask("can_use_tool", tool_name="Bash", input={"command": "brew"})
_RULES = {"type": "addRules", "destination": "session", "rules": [{"toolName": "Bash"}], "behavior": "allow"}

CASES = [
    Case(
        "001-6.1-request-form",
        [
            without(ask("interrupt"), "request_id"),
            without(ask("interrupt"), "request"),
            {**ask("interrupt"), "request": {}},
            {**ask("interrupt"), "request": "stop"},
            flat("r-1"),
            flat("r-1"),
        ],
        [
            "1 error 001-6.1-request-form: Expected field `request_id`, found nothing",
            "2 error 001-6.1-request-form: Expected field `request`, found nothing",
            "3 error 001-6.1-request-form: Expected a known `subtype`, found nothing - at $.request",
            "4 error 001-6.1-request-form: Expected an object, found a string - at $.request",
            "4 warning 001-6.1-unique-request: Expected an unused id, found `r-1`, which line 3 uses "
            "- at $.request_id",
            "6 note 001-6.2-correlated: Expected the id of an open request, found `r-1` "
            "- at $.response.request_id",
        ],
        [ask("interrupt"), grant()],
    ),
    Case(
        "001-6.1-known-request",
        [ask("brew"), grant()],
        ["1 note 001-6.1-known-request: Expected a known `subtype`, found `brew` - at $.request"],
        [ask("mcp_status"), grant(response={"mcpServers": []})],
    ),
    Case(
        "001-6.1-request-fields",
        [
            ask("set_permission_mode"),
            grant(),
            without(_MAY, "request") | {"request": {"subtype": "can_use_tool", "tool_name": "Bash"}},
            grant(response={"behavior": "deny", "message": "no"}),
            ask("mcp_toggle", serverName="pot", enabled="yes"),
            grant(),
        ],
        [
            "1 error 001-6.1-request-fields: Expected field `mode`, found nothing - at $.request",
            "3 error 001-6.1-request-fields: Expected `input` in `can_use_tool`, found nothing - at $.request",
            "5 error 001-6.1-request-fields: Expected true or false, found a string - at $.request.enabled",
        ],
        [
            ask("set_permission_mode", mode="plan"),
            grant(),
            ask("mcp_toggle", serverName="pot", enabled=True),
            grant(),
        ],
    ),
    Case(
        "001-6.1-unique-request",
        [ask("interrupt"), ask("interrupt"), grant()],
        [
            "2 warning 001-6.1-unique-request: Expected an unused id, found `r-1`, which line 1 uses "
            "- at $.request_id"
        ],
        [ask("interrupt"), grant(), ask("interrupt"), grant()],
    ),
    Case(
        "001-6.2-response-form",
        [
            ask("interrupt"),
            flat("r-1", result={}, error="no tea"),
            {"type": "control_response"},
            {"type": "control_response", "response": {"subtype": "success"}},
            {"type": "control_response", "response": {"subtype": "maybe", "request_id": "r-1"}},
        ],
        [
            "2 error 001-6.2-response-form: Expected either `result` or `error`, found both - at $.response",
            "3 error 001-6.2-response-form: Expected field `response`, found nothing",
            "4 error 001-6.2-response-form: Expected field `request_id`, found nothing - at $.response",
            "5 error 001-6.2-response-form: Expected a known `subtype`, found `maybe` - at $.response",
        ],
        [ask("interrupt"), flat("r-1", result={}), ask("interrupt"), flat("r-1", error="no tea")],
    ),
    Case(
        "001-6.2-correlated",
        [
            grant("r-9"),
            {"type": "control_response", "response": {"subtype": "error", "request_id": "r-8", "error": "no"}},
        ],
        [
            "1 note 001-6.2-correlated: Expected the id of an open request, found `r-9` "
            "- at $.response.request_id",
            "2 note 001-6.2-correlated: Expected the id of an open request, found `r-8` "
            "- at $.response.request_id",
        ],
        [ask("interrupt", "r-9"), grant("r-9")],
    ),
    Case(
        "001-6.2-answered",
        [ask("interrupt")],
        ["1 note 001-6.2-answered: Expected a response to request `r-1`, found none"],
        [ask("interrupt"), grant()],
    ),
    Case(
        "001-6.2-reply",
        [
            ask("mcp_status"),
            grant(response={"mcpServers": "none"}),
            ask("hook_callback", callback_id="h-1", input={}),
            grant(response={"continue": "yes"}),
        ],
        [
            "2 warning 001-6.2-reply: Expected an array, found a string, in the response to `mcp_status` "
            "- at $.response.response.mcpServers",
            "4 warning 001-6.2-reply: Expected true or false or null, found a string, in the response "
            "to `hook_callback` - at $.response.response.continue",
        ],
        [ask("hook_callback", callback_id="h-1", input={}), grant(response={"continue": True})],
    ),
    Case(
        "001-6.3-cancel",
        [_CANCEL, {"type": "control_cancel_request"}],
        [
            "1 note 001-6.3-cancel: Expected the id of an open request, found `r-1` - at $.request_id",
            "2 note 001-6.3-cancel: Expected field `request_id`, found nothing",
        ],
        [ask("interrupt"), _CANCEL],
    ),
    Case(
        "001-7.2-permission-result",
        [_MAY, grant(response={"behavior": "shrug"}), _MAY, flat(result={}), _MAY, grant()],
        [
            "2 error 001-7.2-permission-result: Expected a known `behavior`, found `shrug`, in the response "
            "to `can_use_tool` - at $.response.response",
            "4 error 001-7.2-permission-result: Expected a known `behavior`, found nothing, in the response "
            "to `can_use_tool` - at $.response.result",
            "6 error 001-7.2-permission-result: Expected a known `behavior`, found nothing, in the response "
            "to `can_use_tool` - at $.response.response",
        ],
        [
            _MAY,
            grant(response={"behavior": "allow", "updatedInput": {}}),
            _MAY,
            flat(result={"behavior": "ask"}),
            _MAY,
            flat(error="no tea"),
        ],
    ),
    Case(
        "001-7.2-permission-update",
        [
            ask("can_use_tool", tool_name="Bash", input={}, permission_suggestions=[{"type": "addRules"}]),
            grant(
                response={
                    "behavior": "allow",
                    "updatedPermissions": [{"type": "setMode", "destination": "session"}],
                }
            ),
        ],
        [
            "1 warning 001-7.2-permission-update: Expected `destination` in a permission update, "
            "found nothing "
            "- at $.request.permission_suggestions[0]",
            "1 warning 001-7.2-permission-update: Expected `rules` in a permission update, found none "
            "- at $.request.permission_suggestions[0]",
            "2 warning 001-7.2-permission-update: Expected `mode` in a permission update, found nothing "
            "- at $.response.response.updatedPermissions[0]",
        ],
        [
            ask("can_use_tool", tool_name="Bash", input={}, permission_suggestions=[_RULES]),
            grant(response={"behavior": "allow", "updatedPermissions": [_RULES]}),
        ],
    ),
    Case(
        "001-7.2-hook-event",
        [{"hook_event_name": "TeaTime", "session_id": "s-1"}],
        [
            "1 note 001-7.2-hook-event: Expected a known `hook_event_name`, found `TeaTime` "
            "- at $.hook_event_name"
        ],
        [{"hook_event_name": "SessionEnd", "session_id": "s-1", "reason": "clear"}],
    ),
]

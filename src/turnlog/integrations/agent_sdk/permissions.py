"""Permissions in the SDK's classes and in ours: what is asked, what is answered, and which rules change.

The SDK has one class for all changes, with None for what a change does not say; ours are six. None there is
absent here. What a class of the other side has no place for raises.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import claude_agent_sdk as sdk
from claude_agent_sdk.types import PermissionRuleValue as SdkRuleValue
from msgspec import structs

from turnlog.errors import ChangeError
from turnlog.integrations.agent_sdk.wire import read_members, refuse, to_members, to_wire
from turnlog.messages.base import UNSET, Raw, UnsetType, Value
from turnlog.messages.control import CanUseToolRequest
from turnlog.messages.permissions import (
    AddDirectories,
    AddRules,
    PermissionAllow,
    PermissionDeny,
    PermissionResult,
    PermissionRuleValue,
    PermissionUpdate,
    RemoveDirectories,
    RemoveRules,
    ReplaceRules,
    SetMode,
)

_CONTEXT = (
    "tool_use_id",
    "agent_id",
    "blocked_path",
    "decision_reason",
    "title",
    "display_name",
    "description",
)


def permission_rule_from_sdk(theirs: SdkRuleValue) -> PermissionRuleValue:
    """Return a rule of the SDK's as ours."""
    content = UNSET if theirs.rule_content is None else theirs.rule_content
    return PermissionRuleValue(tool_name=theirs.tool_name, rule_content=content)


def permission_rule_to_sdk(rule: PermissionRuleValue) -> SdkRuleValue:
    """Return a rule, in whichever spelling it came, as the SDK's; `ChangeError` for one without a tool."""
    if rule.tool is None:
        raise ChangeError("a permission rule of the SDK needs the name of a tool")
    return SdkRuleValue(tool_name=rule.tool, rule_content=rule.content)


def permission_update_from_sdk(theirs: sdk.PermissionUpdate) -> PermissionUpdate:
    """Return a change of permissions as ours; `DecodeError` for one that says what its kind cannot say."""
    members = {each.name: getattr(theirs, each.name) for each in fields(theirs)}
    if theirs.rules is not None:
        members["rules"] = [to_members(permission_rule_from_sdk(rule)) for rule in theirs.rules]
    update: PermissionUpdate = read_members(PermissionUpdate, _said(members))
    return update


def permission_update_to_sdk(update: PermissionUpdate) -> sdk.PermissionUpdate:
    """Return a change of permissions as the SDK's; `ChangeError` for one of an unknown kind."""
    match update:
        case AddRules() | ReplaceRules() | RemoveRules():
            said = update.rules is not UNSET or isinstance(update.rule, PermissionRuleValue)
            rules = [permission_rule_to_sdk(rule) for rule in update.values] if said else None
            return sdk.PermissionUpdate(rules=rules, **_plain(update, "type", "destination", "behavior"))
        case SetMode() | AddDirectories() | RemoveDirectories():
            return sdk.PermissionUpdate(**to_members(update))
    raise ChangeError(f"the SDK has no such permission update: {update!r}")


def permission_result_from_sdk(theirs: sdk.PermissionResult) -> PermissionResult:
    """Return the SDK's answer to "may this tool run?" as ours, saying what the SDK would write."""
    if isinstance(theirs, sdk.PermissionResultAllow):
        updates = theirs.updated_permissions
        return PermissionAllow(
            updated_input=UNSET if theirs.updated_input is None else Raw(to_wire(theirs.updated_input)),
            updated_permissions=UNSET
            if updates is None
            else tuple(permission_update_from_sdk(update) for update in updates),
        )
    if isinstance(theirs, sdk.PermissionResultDeny):
        return PermissionDeny(message=theirs.message, interrupt=theirs.interrupt or UNSET)
    raise TypeError(f"not a permission result of the SDK: {type(theirs).__name__}")


def permission_result_to_sdk(result: PermissionResult) -> sdk.PermissionResult:
    """Return an answer as the SDK's; `ChangeError` for what only ours can say, such as `ask`."""
    match result:
        case PermissionAllow():
            _refuse_fields(result, "message", "tool_use_id", "decision_classification")
            updates = result.updated_permissions
            return sdk.PermissionResultAllow(
                updated_input=_object(result.updated_input),
                updated_permissions=[permission_update_to_sdk(update) for update in updates]
                if isinstance(updates, tuple)
                else None,
            )
        case PermissionDeny():
            _refuse_fields(result, "tool_use_id", "decision_classification")
            return sdk.PermissionResultDeny(message=result.message or "", interrupt=result.interrupt is True)
    raise ChangeError(f"the SDK has no such permission result: {result!r}")


def permission_request_from_sdk(
    tool_name: str, tool_input: Mapping[str, Any], context: sdk.ToolPermissionContext
) -> CanUseToolRequest:
    """Return what the SDK's `can_use_tool` is called with as the request that it was made from.

    Raises `ChangeError` for a `signal`: the SDK keeps it for later, and it has no JSON form.
    """
    if context.signal is not None:
        raise ChangeError("the `signal` of a ToolPermissionContext has no JSON form")
    said = _said({name: getattr(context, name) for name in _CONTEXT})
    return CanUseToolRequest(
        tool_name=tool_name,
        input=Raw(to_wire(tool_input)),
        permission_suggestions=tuple(permission_update_from_sdk(each) for each in context.suggestions) or UNSET,
        **said,
    )


def permission_request_to_sdk(
    request: CanUseToolRequest,
) -> tuple[str, dict[str, Any], sdk.ToolPermissionContext]:
    """Return a request as the three values that the SDK would call `can_use_tool` with.

    As with the SDK's own reader, what its context has no field for is left out: `docs/protocol.md` lists it.
    """
    suggestions = [permission_update_to_sdk(update) for update in request.permission_suggestions or ()]
    context = sdk.ToolPermissionContext(suggestions=suggestions, **_plain(request, *_CONTEXT))
    return request.tool_name, _object(request.input) or {}, context


def _said(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _plain(value: Value, *names: str) -> dict[str, Any]:
    members = to_members(value)
    return {name: members[name] for name in names if name in members}


def _object(raw: Raw | UnsetType) -> dict[str, Any] | None:
    found = None if raw is UNSET else json.loads(bytes(raw))
    if found is None or isinstance(found, dict):
        return found
    raise ChangeError(f"the SDK expects an object as a tool's input, not {found!r}")


def _refuse_fields(result: PermissionAllow | PermissionDeny, *names: str) -> None:
    said = structs.asdict(result)
    refuse((name for name in names if said[name] not in (UNSET, None)), type(result).__name__)

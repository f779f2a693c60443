"""Functions, hooks and permissions in the SDK's types and in ours: what they are given, and what they answer.

The SDK's dicts are spelled almost as the wire is (but for `async_` and `continue_`, which are words of Python),
so both sides meet in JSON. What our types cannot hold must not vanish on the way: `settle` raises for it, and
lets pass only what stays visible, unknown types and new words. What comes from outside may hold what nobody
declared, so hooks read it into a `View`, which never raises.

The SDK has one class for all changes of permissions, with None for what a change does not say; ours are six.
None there is absent here. What a class of the other side has no place for raises.

A function of the one side is wrapped for the other, and the wrapper remembers it: there and back gives the same
function, not one wrapped twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import Any, TypeVar, cast

import claude_agent_sdk as sdk
from claude_agent_sdk.types import PermissionRuleValue as SdkRuleValue
from msgspec import structs

from turnlog.errors import ChangeError
from turnlog.messages import ProblemKind, Unknown, Value, View, encode, view
from turnlog.messages.base import UNSET, Raw, UnsetType
from turnlog.messages.control import CanUseToolRequest
from turnlog.messages.hook_events import HookInput, HookJSONOutput, view_output
from turnlog.messages.options import CanUseTool, HookCallback
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

T = TypeVar("T")

_KEPT = frozenset({ProblemKind.UNKNOWN_TYPE, ProblemKind.UNKNOWN_VALUE})


def to_wire(members: Any) -> bytes:
    """Write a value of the SDK's as JSON, and paths as their text; `ChangeError` for what has no JSON form."""
    try:
        return json.dumps(members, allow_nan=False, default=_text).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ChangeError(f"cannot be written as JSON: {error}") from error


def to_members(value: Value | Unknown) -> Any:
    """Return a value of ours as the dict that the SDK would hold, in the wire's spelling."""
    return json.loads(encode(value))


def read_members(type_: Any, members: Any) -> Any:
    """Return a dict of the SDK's as a value of ours; raises for what the type has no place for."""
    return settle(view(type_, to_wire(members)))


def settle(seen: View[T]) -> T | Unknown:
    """Return the value of a view that holds everything; raise `DecodeError` for what it lacks."""
    for problem in seen.problems:
        if problem.kind not in _KEPT:
            raise problem.error()
    return seen.value


def refuse(names: Iterable[str], where: str) -> None:
    """Raise `ChangeError` if there are any names: they say what the SDK has no place for."""
    listed = ", ".join(f"`{name}`" for name in names)
    if listed:
        raise ChangeError(f"the SDK has no field for {listed} of {where}")


def _text(value: object) -> str:
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


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

    As with the SDK's own reader, what its context has no field for is left out: `docs/agent-sdk.md` lists it.
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


_PYTHON = {"async": "async_", "continue": "continue_"}
_WIRE = {python: wire for wire, python in _PYTHON.items()}


def hook_input_from_sdk(theirs: sdk.HookInput | Mapping[str, Any]) -> View[HookInput]:
    """Look at what the SDK tells a hook as the event's type; only what has no JSON form raises."""
    return view(HookInput, to_wire(theirs))


def hook_input_to_sdk(event: HookInput) -> sdk.HookInput:
    """Return an event as the dict that the SDK calls a hook with, whether or not it knows the event."""
    return cast("sdk.HookInput", to_members(event))


def hook_output_from_sdk(theirs: sdk.HookJSONOutput | Mapping[str, Any]) -> View[HookJSONOutput]:
    """Look at what a hook of the SDK answers as its type; only what has no JSON form raises."""
    return view_output(to_wire(_renamed(theirs, _WIRE)))


def hook_output_to_sdk(output: HookJSONOutput) -> sdk.HookJSONOutput:
    """Return an answer as the dict that the SDK wants from a hook."""
    return cast("sdk.HookJSONOutput", _renamed(to_members(output), _PYTHON))


def _renamed(members: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in members.items()}


@dataclass(frozen=True)
class _HookOfSdk:
    """A hook of the SDK's that takes and gives our types."""

    function: sdk.HookCallback

    async def __call__(self, event: HookInput, tool_use_id: str | None) -> HookJSONOutput:
        answer = await self.function(hook_input_to_sdk(event), tool_use_id, {"signal": None})
        return cast("HookJSONOutput", settle(hook_output_from_sdk(answer)))


@dataclass(frozen=True)
class _HookForSdk:
    """A hook of ours that takes and gives the SDK's dicts."""

    function: HookCallback

    async def __call__(
        self, event: sdk.HookInput, tool_use_id: str | None, _: sdk.HookContext
    ) -> sdk.HookJSONOutput:
        # A newer version may tell more than we know: no reason not to run the hook.
        told = cast("HookInput", hook_input_from_sdk(event).value)
        return hook_output_to_sdk(await self.function(told, tool_use_id))


@dataclass(frozen=True)
class _PermissionOfSdk:
    """A `can_use_tool` of the SDK's that takes and gives our types."""

    function: sdk.CanUseTool

    async def __call__(self, request: CanUseToolRequest) -> PermissionResult:
        return permission_result_from_sdk(await self.function(*permission_request_to_sdk(request)))


@dataclass(frozen=True)
class _PermissionForSdk:
    """A `can_use_tool` of ours that takes and gives the SDK's types."""

    function: CanUseTool

    async def __call__(
        self, tool_name: str, tool_input: dict[str, Any], context: sdk.ToolPermissionContext
    ) -> sdk.PermissionResult:
        request = permission_request_from_sdk(tool_name, tool_input, context)
        return permission_result_to_sdk(await self.function(request))


def hook_from_sdk(function: sdk.HookCallback) -> HookCallback:
    """Return a hook of the SDK's as one that is called with our types."""
    return function.function if isinstance(function, _HookForSdk) else _HookOfSdk(function)


def hook_to_sdk(function: HookCallback) -> sdk.HookCallback:
    """Return a hook as one that the SDK can call."""
    return function.function if isinstance(function, _HookOfSdk) else _HookForSdk(function)


def can_use_tool_from_sdk(function: sdk.CanUseTool) -> CanUseTool:
    """Return a `can_use_tool` of the SDK's as one that is called with a `CanUseToolRequest`."""
    return function.function if isinstance(function, _PermissionForSdk) else _PermissionOfSdk(function)


def can_use_tool_to_sdk(function: CanUseTool) -> sdk.CanUseTool:
    """Return a `can_use_tool` as one that the SDK can call."""
    return function.function if isinstance(function, _PermissionOfSdk) else _PermissionForSdk(function)

"""Options, hooks and permissions in the SDK's types and in ours: what they are given, and what they answer.

The SDK's dicts are spelled almost as the wire is (but for `async_` and `continue_`, which are words of Python),
so both sides meet in JSON. What our types cannot hold must not vanish on the way: `settle` raises for it, and
lets pass only what stays visible, unknown types and new words. What comes from outside may hold what nobody
declared, so hooks read it into a `View`, which never raises.

The SDK has one class for all changes of permissions, with None for what a change does not say; ours are six.
None there is absent here. What a class of the other side has no place for raises. A function of the one side is
wrapped for the other, and the wrapper remembers it: there and back gives the same function, not one wrapped
twice.

Of `ClaudeAgentOptions`, functions and live objects go to `Callbacks`, and a few fields that `QueryOptions` has
no place for to `Leftover`, so nothing is lost: `options_to_sdk(*options_from_sdk(theirs))` equals `theirs`,
except that a `Path` comes back as its text. What the SDK would assume anyway is left absent. Options that are
more than plain values (agents, servers, hooks, prompts, thinking, plugins) have a function to the wire's form
and one back each.

Three things keep a difference. `env` is left over although ours has that name: the SDK adds it to the
environment of its own process, while ours is all that Claude Code gets. A `session_store` is handed on as it is
and so speaks the SDK's dicts. A system prompt in a file, which only the SDK knows, is an `UnknownSystemPrompt`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from itertools import count
from pathlib import Path, PurePath
from typing import Any, NamedTuple, TypeVar, cast

import claude_agent_sdk as sdk
from claude_agent_sdk.types import HookEvent
from claude_agent_sdk.types import PermissionRuleValue as SdkRuleValue
from msgspec import structs

from turnlog.errors import ChangeError
from turnlog.messages import ProblemKind, Unknown, Value, View, encode, permissions, view
from turnlog.messages.base import UNSET, Raw, UnsetType
from turnlog.messages.control.requests import CanUseToolRequest
from turnlog.messages.hook_events import HookInput, HookJSONOutput, view_output
from turnlog.messages.options import Callbacks, CanUseTool, HookCallback, QueryOptions

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


def permission_rule_from_sdk(theirs: SdkRuleValue) -> permissions.PermissionRuleValue:
    """Return a rule of the SDK's as ours."""
    content = UNSET if theirs.rule_content is None else theirs.rule_content
    return permissions.PermissionRuleValue(tool_name=theirs.tool_name, rule_content=content)


def permission_rule_to_sdk(rule: permissions.PermissionRuleValue) -> SdkRuleValue:
    """Return a rule, in whichever spelling it came, as the SDK's; `ChangeError` for one without a tool."""
    if rule.tool is None:
        raise ChangeError("a permission rule of the SDK needs the name of a tool")
    return SdkRuleValue(tool_name=rule.tool, rule_content=rule.content)


def permission_update_from_sdk(theirs: sdk.PermissionUpdate) -> permissions.PermissionUpdate:
    """Return a change of permissions as ours; `DecodeError` for one that says what its kind cannot say."""
    members = {each.name: getattr(theirs, each.name) for each in fields(theirs)}
    if theirs.rules is not None:
        members["rules"] = [to_members(permission_rule_from_sdk(rule)) for rule in theirs.rules]
    update: permissions.PermissionUpdate = read_members(permissions.PermissionUpdate, _list_present(members))
    return update


def permission_update_to_sdk(update: permissions.PermissionUpdate) -> sdk.PermissionUpdate:
    """Return a change of permissions as the SDK's; `ChangeError` for one of an unknown kind."""
    match update:
        case permissions.AddRules() | permissions.ReplaceRules() | permissions.RemoveRules():
            said = update.rules is not UNSET or isinstance(update.rule, permissions.PermissionRuleValue)
            rules = [permission_rule_to_sdk(rule) for rule in update.values] if said else None
            return sdk.PermissionUpdate(rules=rules, **_plain(update, "type", "destination", "behavior"))
        case permissions.SetMode() | permissions.AddDirectories() | permissions.RemoveDirectories():
            return sdk.PermissionUpdate(**to_members(update))
    raise ChangeError(f"the SDK has no such permission update: {update!r}")


def permission_result_from_sdk(theirs: sdk.PermissionResult) -> permissions.PermissionResult:
    """Return the SDK's answer to "may this tool run?" as ours, saying what the SDK would write."""
    if isinstance(theirs, sdk.PermissionResultAllow):
        updates = theirs.updated_permissions
        return permissions.PermissionAllow(
            updated_input=UNSET if theirs.updated_input is None else Raw(to_wire(theirs.updated_input)),
            updated_permissions=UNSET
            if updates is None
            else tuple(permission_update_from_sdk(update) for update in updates),
        )
    if isinstance(theirs, sdk.PermissionResultDeny):
        return permissions.PermissionDeny(message=theirs.message, interrupt=theirs.interrupt or UNSET)
    raise TypeError(f"not a permission result of the SDK: {type(theirs).__name__}")


def permission_result_to_sdk(result: permissions.PermissionResult) -> sdk.PermissionResult:
    """Return an answer as the SDK's; `ChangeError` for what only ours can say, such as `ask`."""
    match result:
        case permissions.PermissionAllow():
            _refuse_fields(result, "message", "tool_use_id", "decision_classification")
            updates = result.updated_permissions
            return sdk.PermissionResultAllow(
                updated_input=_object(result.updated_input),
                updated_permissions=[permission_update_to_sdk(update) for update in updates]
                if isinstance(updates, tuple)
                else None,
            )
        case permissions.PermissionDeny():
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
    said = _list_present({name: getattr(context, name) for name in _CONTEXT})
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


def _list_present(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _plain(value: Value, *names: str) -> dict[str, Any]:
    members = to_members(value)
    return {name: members[name] for name in names if name in members}


def _object(raw: Raw | UnsetType) -> dict[str, Any] | None:
    found = None if raw is UNSET else json.loads(bytes(raw))
    if found is None or isinstance(found, dict):
        return found
    raise ChangeError(f"the SDK expects an object as a tool's input, not {found!r}")


def _refuse_fields(result: permissions.PermissionAllow | permissions.PermissionDeny, *names: str) -> None:
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

    async def __call__(self, request: CanUseToolRequest) -> permissions.PermissionResult:
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


_Hooks = dict[HookEvent, list[sdk.HookMatcher]]


def hooks_from_sdk(theirs: _Hooks) -> tuple[dict[str, Any], dict[str, HookCallback]]:
    """Return the matchers in the wire's form, and their functions by the ids that the SDK would give them."""
    functions: dict[str, HookCallback] = {}
    ids = (f"hook_{number}" for number in count())
    matchers = {
        event: [_matcher_from_sdk(each, functions, ids) for each in group] for event, group in theirs.items()
    }
    return {str(event): group for event, group in matchers.items()}, functions


def hooks_to_sdk(matchers: Mapping[str, Any], functions: Mapping[str, HookCallback]) -> dict[str, Any]:
    """Return matchers with their functions in place; `ChangeError` where either is missing."""
    named = {name for group in matchers.values() for each in group for name in each.get("hookCallbackIds", ())}
    if missing := sorted(named - set(functions)):
        raise ChangeError(f"no function for the hooks {', '.join(missing)}")
    if unused := sorted(set(functions) - named):
        raise ChangeError(f"no matcher names the hooks {', '.join(unused)}")
    return {event: [_matcher_to_sdk(each, functions) for each in group] for event, group in matchers.items()}


def servers_from_sdk(theirs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, object]]:
    """Return the servers without what has no JSON form, and the live ones by name."""
    told = {
        name: {key: value for key, value in config.items() if key != "instance"}
        for name, config in theirs.items()
    }
    return told, {name: config["instance"] for name, config in theirs.items() if "instance" in config}


def servers_to_sdk(told: Mapping[str, Any], instances: Mapping[str, object]) -> dict[str, Any]:
    """Return the servers with the live ones in place; `ChangeError` where either is missing."""
    inside = {name for name, config in told.items() if config.get("type") == "sdk"}
    if missing := sorted(inside - set(instances)):
        raise ChangeError(f"no instance for the servers {', '.join(missing)}")
    if unused := sorted(set(instances) - set(told)):
        raise ChangeError(f"no options for the servers {', '.join(unused)}")
    return {
        name: config | {"instance": instances[name]} if name in instances else config
        for name, config in told.items()
    }


def _matcher_from_sdk(
    theirs: sdk.HookMatcher, functions: dict[str, HookCallback], ids: Iterator[str]
) -> dict[str, Any]:
    mine = {next(ids): hook_from_sdk(function) for function in theirs.hooks}
    functions.update(mine)
    said = {"matcher": theirs.matcher, "timeout": theirs.timeout, "onFailure": theirs.on_failure}
    return {name: value for name, value in said.items() if value is not None} | {"hookCallbackIds": [*mine]}


def _matcher_to_sdk(matcher: Mapping[str, Any], functions: Mapping[str, HookCallback]) -> sdk.HookMatcher:
    return sdk.HookMatcher(
        matcher=matcher.get("matcher"),
        hooks=[hook_to_sdk(functions[name]) for name in matcher.get("hookCallbackIds", ())],
        timeout=matcher.get("timeout"),
        on_failure=matcher.get("onFailure"),
    )


def _agents_from_sdk(theirs: Mapping[str, sdk.AgentDefinition]) -> dict[str, Any]:
    members = {
        name: {each.name: getattr(agent, each.name) for each in fields(agent)} for name, agent in theirs.items()
    }
    return {name: _list_present(agent) for name, agent in members.items()}


def _agents_to_sdk(told: Mapping[str, Any]) -> dict[str, sdk.AgentDefinition]:
    known = {each.name for each in fields(sdk.AgentDefinition)}
    for name, agent in told.items():
        refuse(sorted(set(agent) - known), f"agent `{name}`")
        if missing := sorted({"description", "prompt"} - set(agent)):
            raise ChangeError(f"agent `{name}` needs {', '.join(missing)}")
    return {name: sdk.AgentDefinition(**agent) for name, agent in told.items()}


def _rename_key(told: Any, type_: str, old: str, new: str) -> Any:
    """Return an object of one type with a key renamed; anything else as it is."""
    if not isinstance(told, dict) or told.get("type") != type_:
        return told
    return {new if key == old else key: value for key, value in told.items()}


def _prompt_to_sdk(told: Any) -> Any:
    text = told.get("prompt") if isinstance(told, dict) else told
    if isinstance(text, list):
        raise ChangeError("the SDK accepts a system prompt as one text, not as several")
    return _rename_key(told, "preset", "excludeDynamicSections", "exclude_dynamic_sections")


def _plugins_to_sdk(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for plugin in told:
        if plugin.get("type") == "local":
            refuse(sorted(set(plugin) - set(sdk.SdkPluginConfig.__annotations__)), "a plugin")
    return told


FROM_SDK: Mapping[str, Callable[[Any], Any]] = {
    "agents": _agents_from_sdk,
    "system_prompt": lambda theirs: _rename_key(
        theirs, "preset", "exclude_dynamic_sections", "excludeDynamicSections"
    ),
    "thinking": lambda theirs: _rename_key(theirs, "enabled", "budget_tokens", "budgetTokens"),
}
"""How an option gets the wire's form, by its name in the SDK; the others have it already."""

TO_SDK: Mapping[str, Callable[[Any], Any]] = {
    "agents": _agents_to_sdk,
    "plugins": _plugins_to_sdk,
    "settings": lambda told: told if isinstance(told, str) else json.dumps(told),
    "system_prompt": _prompt_to_sdk,
    "thinking": lambda told: _rename_key(told, "enabled", "budgetTokens", "budget_tokens"),
}
"""How an option gets the SDK's form, by its name there; the others have it already."""


_RENAMED = {
    "continue_conversation": "continue_",
    "cli_path": "path_to_claude_code_executable",
    "add_dirs": "additional_directories",
}
_FUNCTIONS = ("can_use_tool", "session_store", "stderr")
_OURS_ALONE = ("abort_controller", "on_elicitation", "on_user_dialog", "spawn_claude_code_process")
_WIRE_NAMES = dict(zip(QueryOptions.__struct_fields__, QueryOptions.__struct_encode_fields__, strict=True))


@dataclass(frozen=True, kw_only=True)
class Leftover:
    """What of the SDK's options has no place in ours, under the SDK's names; by default nothing."""

    client_app: str | None = None
    debug_stderr: Any = sdk.ClaudeAgentOptions.debug_stderr
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of the SDK's process; `QueryOptions.env` would replace it."""
    max_buffer_size: int | None = None
    mcp_servers: str | Path | None = None
    """The path of a file, or JSON as text; servers in a dict are options."""
    user: str | None = None


class ConvertedOptions(NamedTuple):
    """The SDK's options in our terms: what can be written, what cannot, and what has no place."""

    options: QueryOptions
    callbacks: Callbacks
    leftover: Leftover


def options_from_sdk(theirs: sdk.ClaudeAgentOptions) -> ConvertedOptions:
    """Return the SDK's options as ours, functions apart, and the rest as `Leftover`.

    Raises `DecodeError` for a value that our types cannot hold, such as a field that nobody declared, and
    `ChangeError` for what has no JSON form or for an option that a newer SDK brought.
    """
    said = dict(_list_said(theirs))
    left = {each.name: said.pop(each.name) for each in fields(Leftover) if _is_left(each.name, said)}
    functions = {name: said.pop(name) for name in _FUNCTIONS if name in said}
    if "can_use_tool" in functions:
        functions["can_use_tool"] = can_use_tool_from_sdk(functions["can_use_tool"])
    hooks: dict[str, HookCallback] = {}
    instances: dict[str, object] = {}
    if "hooks" in said:
        said["hooks"], hooks = hooks_from_sdk(said["hooks"])
    if "mcp_servers" in said:
        said["mcp_servers"], instances = servers_from_sdk(said["mcp_servers"])
    options: QueryOptions = read_members(QueryOptions, {_wire_name(name): _told(name, said) for name in said})
    return ConvertedOptions(
        options, Callbacks(hooks=hooks, mcp_instances=instances, **functions), Leftover(**left)
    )


def options_to_sdk(
    options: QueryOptions, callbacks: Callbacks | None = None, leftover: Leftover | None = None
) -> sdk.ClaudeAgentOptions:
    """Return options with their functions, and what was left over, as the SDK's.

    Raises `ChangeError` for what the SDK has no place for; `docs/agent-sdk.md` lists it. To give the SDK an
    `env`, put it into `leftover`, where it means what the SDK means by it.
    """
    callbacks = callbacks or Callbacks()
    refuse((name for name in _OURS_ALONE if getattr(callbacks, name) is not None), "Callbacks")
    placed = _placed(options)
    hooks = hooks_to_sdk(placed.get("hooks", {}), callbacks.hooks)
    servers = servers_to_sdk(placed.get("mcp_servers", {}), callbacks.mcp_instances)
    live = {name: made for name, made in (("hooks", hooks), ("mcp_servers", servers)) if name in placed}
    left = _left(leftover, has_servers=bool(servers))
    return sdk.ClaudeAgentOptions(**(placed | live | _functions_to_sdk(callbacks) | left))


def _list_said(theirs: sdk.ClaudeAgentOptions) -> Iterator[tuple[str, Any]]:
    """Yield the options that differ from what the SDK would assume."""
    for each in fields(theirs):
        value = getattr(theirs, each.name)
        default = each.default if each.default_factory is MISSING else each.default_factory()
        if value is not default and value != default:
            yield each.name, value


def _is_left(name: str, said: Mapping[str, Any]) -> bool:
    return name in said and (name != "mcp_servers" or isinstance(said[name], str | Path))


def _wire_name(name: str) -> str:
    try:
        return _WIRE_NAMES[_RENAMED.get(name, name)]
    except KeyError:
        raise ChangeError(f"the SDK's option `{name}` is not known to turnlog") from None


def _told(name: str, said: Mapping[str, Any]) -> Any:
    return FROM_SDK[name](said[name]) if name in FROM_SDK else said[name]


def _placed(options: QueryOptions) -> dict[str, Any]:
    """Return options in the SDK's form by the SDK's names; functions and live servers are missing yet."""
    told = {name: value for name, value in to_members(options).items() if value is not None}
    elsewhere = {*_FUNCTIONS, *(each.name for each in fields(Leftover))} - {"mcp_servers"}
    names = [each.name for each in fields(sdk.ClaudeAgentOptions) if each.name not in elsewhere]
    known = {name: _wire_name(name) for name in names if _RENAMED.get(name, name) in _WIRE_NAMES}
    placed = {name: told.pop(wire) for name, wire in known.items() if wire in told}
    refuse(sorted(told), "QueryOptions")
    return {name: TO_SDK[name](value) if name in TO_SDK else value for name, value in placed.items()}


def _functions_to_sdk(callbacks: Callbacks) -> dict[str, Any]:
    found = {name: getattr(callbacks, name) for name in _FUNCTIONS}
    if callbacks.can_use_tool is not None:
        found["can_use_tool"] = can_use_tool_to_sdk(callbacks.can_use_tool)
    return found


def _left(leftover: Leftover | None, has_servers: bool) -> dict[str, Any]:
    leftover = leftover or Leftover()
    found = {each.name: getattr(leftover, each.name) for each in fields(leftover)}
    found["env"] = dict(leftover.env)
    if leftover.mcp_servers is None:
        del found["mcp_servers"]
    elif has_servers:
        raise ChangeError("the SDK reads servers from options or from a file, not from both")
    return found

"""The SDK's `ClaudeAgentOptions` as our `QueryOptions`, and back.

Functions and live objects go to `Callbacks`, and a few fields that `QueryOptions` has no place for to
`Leftover`, so nothing is lost: `options_to_sdk(*options_from_sdk(theirs))` equals `theirs`, except that a
`Path` comes back as its text. What the SDK would assume anyway is left absent. Options that are more than plain
values (agents, servers, hooks, prompts, thinking, plugins) have a function to the wire's form and one back
each.

Three things keep a difference. `env` is left over although ours has that name: the SDK adds it to the
environment of its own process, while ours is all that Claude Code gets. A `session_store` is handed on as it is
and so speaks the SDK's dicts. A system prompt in a file, which only the SDK knows, is an `UnknownSystemPrompt`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import claude_agent_sdk as sdk
from claude_agent_sdk.types import HookEvent

from turnlog.errors import ChangeError
from turnlog.integrations.agent_sdk.callbacks import (
    can_use_tool_from_sdk,
    can_use_tool_to_sdk,
    hook_from_sdk,
    hook_to_sdk,
    read_members,
    refuse,
    to_members,
)
from turnlog.messages.options import Callbacks, HookCallback, QueryOptions

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
    return {name: _agent_from_sdk(agent) for name, agent in theirs.items()}


def _agent_from_sdk(theirs: sdk.AgentDefinition) -> dict[str, Any]:
    members = {each.name: getattr(theirs, each.name) for each in fields(theirs)}
    return {name: value for name, value in members.items() if value is not None}


def _agents_to_sdk(told: Mapping[str, Any]) -> dict[str, sdk.AgentDefinition]:
    return {name: _agent_to_sdk(name, agent) for name, agent in told.items()}


def _agent_to_sdk(name: str, told: Mapping[str, Any]) -> sdk.AgentDefinition:
    refuse(sorted(set(told) - {each.name for each in fields(sdk.AgentDefinition)}), f"agent `{name}`")
    if missing := sorted({"description", "prompt"} - set(told)):
        raise ChangeError(f"agent `{name}` needs {', '.join(missing)}")
    return sdk.AgentDefinition(**told)


def _renamed(told: Any, type_: str, old: str, new: str) -> Any:
    """Return an object of one type with a key renamed; anything else as it is."""
    if not isinstance(told, dict) or told.get("type") != type_:
        return told
    return {new if key == old else key: value for key, value in told.items()}


def _prompt_from_sdk(theirs: Any) -> Any:
    return _renamed(theirs, "preset", "exclude_dynamic_sections", "excludeDynamicSections")


def _prompt_to_sdk(told: Any) -> Any:
    text = told.get("prompt") if isinstance(told, dict) else told
    if isinstance(text, list):
        raise ChangeError("the SDK accepts a system prompt as one text, not as several")
    return _renamed(told, "preset", "excludeDynamicSections", "exclude_dynamic_sections")


def _thinking_from_sdk(theirs: Any) -> Any:
    return _renamed(theirs, "enabled", "budget_tokens", "budgetTokens")


def _thinking_to_sdk(told: Any) -> Any:
    return _renamed(told, "enabled", "budgetTokens", "budget_tokens")


def _plugins_to_sdk(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for plugin in told:
        if plugin.get("type") == "local":
            refuse(sorted(set(plugin) - set(sdk.SdkPluginConfig.__annotations__)), "a plugin")
    return told


def _settings_to_sdk(told: str | dict[str, Any]) -> str:
    return told if isinstance(told, str) else json.dumps(told)


FROM_SDK: Mapping[str, Callable[[Any], Any]] = {
    "agents": _agents_from_sdk,
    "system_prompt": _prompt_from_sdk,
    "thinking": _thinking_from_sdk,
}
"""How an option gets the wire's form, by its name in the SDK; the others have it already."""

TO_SDK: Mapping[str, Callable[[Any], Any]] = {
    "agents": _agents_to_sdk,
    "plugins": _plugins_to_sdk,
    "settings": _settings_to_sdk,
    "system_prompt": _prompt_to_sdk,
    "thinking": _thinking_to_sdk,
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
    said = dict(_said(theirs))
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


def _said(theirs: sdk.ClaudeAgentOptions) -> Iterator[tuple[str, Any]]:
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

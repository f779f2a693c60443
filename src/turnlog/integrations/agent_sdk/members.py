"""The options that are more than plain values: agents, servers, hooks, prompts, thinking, plugins.

Each has a function to the wire's form and one back. Functions and live servers are taken out on the way there,
under the names that `Callbacks` wants, and put in again on the way back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from itertools import count
from typing import Any

import claude_agent_sdk as sdk
from claude_agent_sdk.types import HookEvent

from turnlog.errors import ChangeError
from turnlog.integrations.agent_sdk.functions import hook_from_sdk, hook_to_sdk
from turnlog.integrations.agent_sdk.wire import refuse
from turnlog.messages.options import HookCallback

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

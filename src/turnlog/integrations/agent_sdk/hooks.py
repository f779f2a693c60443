"""What hooks are told and what they answer, in the SDK's dicts and in our types.

The SDK's dicts are spelled as the wire is, but for `async_` and `continue_`, which are words of Python. What
comes from outside may hold what nobody declared, so it is read into a `View`, which never raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import claude_agent_sdk as sdk

from turnlog.integrations.agent_sdk.wire import to_members, to_wire
from turnlog.messages import View, view
from turnlog.messages.hook_events import HookInput, HookJSONOutput, view_output

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

"""The official Agent SDK for Python (`pip install turnlog[agent-sdk]`)."""

from turnlog.integrations.agent_sdk.callbacks import (
    can_use_tool_from_sdk,
    can_use_tool_to_sdk,
    hook_from_sdk,
    hook_input_from_sdk,
    hook_input_to_sdk,
    hook_output_from_sdk,
    hook_output_to_sdk,
    hook_to_sdk,
    permission_request_from_sdk,
    permission_request_to_sdk,
    permission_result_from_sdk,
    permission_result_to_sdk,
    permission_rule_from_sdk,
    permission_rule_to_sdk,
    permission_update_from_sdk,
    permission_update_to_sdk,
)
from turnlog.integrations.agent_sdk.messages import from_sdk, to_sdk
from turnlog.integrations.agent_sdk.options import ConvertedOptions, Leftover, options_from_sdk, options_to_sdk
from turnlog.integrations.agent_sdk.session_store import TurnlogSessionStore

__all__ = [
    "ConvertedOptions",
    "Leftover",
    "TurnlogSessionStore",
    "can_use_tool_from_sdk",
    "can_use_tool_to_sdk",
    "from_sdk",
    "hook_from_sdk",
    "hook_input_from_sdk",
    "hook_input_to_sdk",
    "hook_output_from_sdk",
    "hook_output_to_sdk",
    "hook_to_sdk",
    "options_from_sdk",
    "options_to_sdk",
    "permission_request_from_sdk",
    "permission_request_to_sdk",
    "permission_result_from_sdk",
    "permission_result_to_sdk",
    "permission_rule_from_sdk",
    "permission_rule_to_sdk",
    "permission_update_from_sdk",
    "permission_update_to_sdk",
    "to_sdk",
]

"""The official Agent SDK for Python (`pip install turnlog[agent-sdk]`)."""

from turnlog.integrations.agent_sdk.convert import from_sdk, to_sdk

__all__ = ["from_sdk", "to_sdk"]

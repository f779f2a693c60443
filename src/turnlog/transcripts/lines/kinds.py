"""The sorts of lines by their names (spec 002): roles (§3), kinds of messages to show (§5), categories (§6)."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a line is in the conversation (spec 002 §3)."""

    __hash__ = str.__hash__  # that of enums is written in Python

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    SYSTEM = "system"
    PROGRESS = "progress"
    SUMMARY = "summary"


class MessageType(StrEnum):
    """How a message is shown (spec 002 §5)."""

    __hash__ = str.__hash__  # that of enums is written in Python

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    THINKING = "thinking"
    ERROR = "error"
    HOOK = "hook"
    SYSTEM = "system"
    PROGRESS = "progress"
    SUMMARY = "summary"


class Category(StrEnum):
    """What sort of action a call or an event is (spec 002 §6)."""

    __hash__ = str.__hash__  # that of enums is written in Python

    SKILL = "skill"
    MCP = "mcp"
    BUILTIN = "builtin"
    AGENT = "agent"
    HOOK = "hook"
    HOOK_PROGRESS = "hook_progress"
    ERROR = "error"
    SYSTEM = "system"
    SNAPSHOT = "snapshot"
    QUEUE = "queue"

"""Names of roles, kinds of messages and categories (spec 002, §3, §5 and §6), states of calls, their topics.

Lists and commands that only show them load nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec
from msgspec import Raw


class HashedEnum(StrEnum):
    """Words with the hash of their text: that of other enums is written in Python."""

    __hash__ = str.__hash__


class Role(HashedEnum):
    """What a line is in the conversation (spec 002 §3)."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    SYSTEM = "system"
    PROGRESS = "progress"
    SUMMARY = "summary"


class MessageType(HashedEnum):
    """How a message is shown (spec 002 §5)."""

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


class Category(HashedEnum):
    """What sort of action a call or an event is (spec 002 §6)."""

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


class CallState(HashedEnum):
    """What is known about a call's outcome."""

    UNRESOLVED = "unresolved"
    """There is no result. That is no error: the session may be live, or was ended."""
    PLACEHOLDER = "placeholder"
    """It goes on in the background; what came of it is told later."""
    RESOLVED = "resolved"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """It was stopped, or never got to run."""
    REJECTED = "rejected"
    """It was not allowed, by the user or by a rule."""


class AgentState(StrEnum):
    """What is known of an agent's or a workflow's end."""

    RUNNING = "running"
    """No end was told: it may be at work, or went down with its session."""
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    """It was interrupted, killed, or never allowed."""
    UNKNOWN = "unknown"
    """Nothing tells."""


CALL_STATES: Mapping[CallState, AgentState] = {
    CallState.UNRESOLVED: AgentState.RUNNING,
    CallState.PLACEHOLDER: AgentState.RUNNING,
    CallState.RESOLVED: AgentState.DONE,
    CallState.FAILED: AgentState.FAILED,
    CallState.INTERRUPTED: AgentState.STOPPED,
    CallState.REJECTED: AgentState.STOPPED,
}
"""What the state of its call means for an agent."""

_ENDS: Mapping[str, AgentState] = {
    "completed": AgentState.DONE,
    "done": AgentState.DONE,
    "failed": AgentState.FAILED,
    "error": AgentState.FAILED,
}


def state_of_end(status: str) -> AgentState:
    """Return what the word for an end means; any other than those for success and failure is a stop."""
    return _ENDS.get(status, AgentState.STOPPED)


_TELLING: Mapping[str, tuple[str, ...]] = {
    "Agent": ("subagent_type", "description"),
    "Task": ("subagent_type", "description"),
    "Glob": ("pattern", "path"),
    "Grep": ("pattern", "path"),
    "Skill": ("skill", "args"),
}
"""What to tell of a tool's input, where it takes more than one value to say what is done."""

_USUAL = ("file_path", "notebook_path", "path", "command", "pattern", "query", "url", "description", "prompt")


_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode


def topic_of(name: str, given: object, project: str | None = None) -> str:
    """Return what a tool was asked for, as it stands; paths as seen from the project. Never raises."""
    if not isinstance(given, Raw):
        return ""
    try:
        values = _decode_fields(given)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode(given)
    names = _TELLING.get(name) or next(((usual,) for usual in _USUAL if usual in values), ())
    told = [text for each in names if (text := _text(values.get(each)))]
    if not told:
        told = [f"{each}={_decode(value)}" for each, value in values.items()]
    return " ".join(text.removeprefix(f"{project}/") if project else text for text in told)


def _text(value: Raw | None) -> str | None:
    try:
        return None if value is None else _decode_text(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _decode(value: Raw) -> str:
    return bytes(value).decode("utf-8", "replace")

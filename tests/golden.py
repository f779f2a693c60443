"""Golden lines: small, made up, one phenomenon to a file.

A file's lines are split on LF alone, because U+2028 and its like stand raw inside strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import turnlog
from turnlog.messages.base import UNSET, Value
from turnlog.messages.blocks import BlockBase
from turnlog.messages.envelope import Envelope
from turnlog.messages.system import SystemFields

DATA = Path(__file__).parent / "data"
LEGACY = ("spec-000", "spec-003-document", "spec-003-extracted", "spec-003-api", "spec-004")

SPEC_001_OPTIONS = [
    "agent",
    "agents",
    "allowedTools",
    "disallowedTools",
    "tools",
    "model",
    "fallbackModel",
    "maxThinkingTokens",
    "maxTurns",
    "maxBudgetUsd",
    "cwd",
    "continue",
    "resume",
    "resumeSessionAt",
    "sessionId",
    "persistSession",
    "forkSession",
    "enableFileCheckpointing",
    "additionalDirectories",
    "permissionMode",
    "allowDangerouslySkipPermissions",
    "permissionPromptToolName",
    "systemPrompt",
    "mcpServers",
    "strictMcpConfig",
    "hooks",
    "plugins",
    "includePartialMessages",
    "betas",
    "outputFormat",
    "settingSources",
    "sandbox",
    "debug",
    "debugFile",
]
"""What spec 001 lets a query be started with (§7.1), but for functions."""

SPEC_001_HOOKS = [
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PermissionRequest",
    "Setup",
    "TeammateIdle",
    "TaskCompleted",
]
SPEC_001_REQUESTS = [
    "interrupt",
    "can_use_tool",
    "set_permission_mode",
    "set_model",
    "set_max_thinking_tokens",
    "mcp_status",
    "mcp_reconnect",
    "mcp_toggle",
    "mcp_set_servers",
    "mcp_message",
    "rewind_files",
    "hook_callback",
    "initialize",
]

T = TypeVar("T")

# The fields of these are inherited by many classes; one line that sets such a field speaks for all.
_SHARED: tuple[type[Value], ...] = (Envelope, SystemFields, BlockBase)


def lines(name: str) -> list[bytes]:
    """Return the lines of `tests/data/<name>.jsonl`."""
    *whole, rest = (DATA / f"{name}.jsonl").read_bytes().split(b"\n")
    assert rest == b"", f"{name} does not end with a newline"
    return whole


def envelope(line: turnlog.Line) -> Envelope:
    """Return the entry of a line of a session file, as what all of them have."""
    assert isinstance(line.entry, Envelope)
    return line.entry


def entry_lines(name: str) -> list[bytes]:
    return lines(f"entries/{name}")


def legacy_lines(dialect: str) -> list[bytes]:
    return lines(f"legacy/{dialect}")


def all_entry_lines() -> dict[str, bytes]:
    """Return all lines of today's dialect by `<phenomenon>:<number>`."""
    names = sorted(path.stem for path in (DATA / "entries").glob("*.jsonl"))
    return {f"{name}:{i}": line for name in names for i, line in enumerate(entry_lines(name), 1)}


def all_legacy_lines() -> dict[str, bytes]:
    """Return all lines of the older dialects by `<dialect>:<number>`."""
    return {f"{name}:{i}": line for name in LEGACY for i, line in enumerate(legacy_lines(name), 1)}


def entries(name: str, cls: type[T]) -> list[T]:
    """Return the decoded entries of one phenomenon, each of which must be a `cls`."""
    found = [turnlog.decode(line).entry for line in entry_lines(name)]
    assert [type(entry) for entry in found] == [cls] * len(found)
    return [entry for entry in found if isinstance(entry, cls)]


def entry(name: str, cls: type[T]) -> T:
    """Return the only entry of one phenomenon."""
    [found] = entries(name, cls)
    return found


def values() -> Iterator[Value]:
    """Yield every decoded value of every golden line."""
    for line in (*all_entry_lines().values(), *all_legacy_lines().values()):
        decoded = turnlog.decode(line)
        yield from walk((decoded.entry, decoded.wire))


def walk(value: object) -> Iterator[Value]:
    """Yield every struct within `value`, itself included."""
    if isinstance(value, Value):
        yield value
        for name in value.__struct_fields__:
            yield from walk(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from walk(item)
    elif isinstance(value, dict):
        yield from walk(tuple(value.values()))


def fields_set(found: Iterable[Value]) -> set[str]:
    """Return `Class.field` for each field that one of the values sets."""
    return {
        _qualified(type(value), name)
        for value in found
        for name in value.__struct_fields__
        if getattr(value, name) is not UNSET
    }


def fields_declared(*modules: ModuleType) -> set[str]:
    """Return `Class.field` for each field of each public struct of the modules."""
    return {_qualified(cls, name) for cls in structs(*modules) for name in cls.__struct_fields__}


def structs(*modules: ModuleType) -> list[type[Value]]:
    """Return the public structs of the modules, without those that only others build on."""
    public: list[Any] = [each for module in modules for each in _list_public(module)]
    found = [each for each in public if isinstance(each, type) and issubclass(each, Value)]
    return [each for each in found if each in _SHARED or not each.__subclasses__()]


def _list_public(module: ModuleType) -> list[Any]:
    own = (name for name, each in vars(module).items() if getattr(each, "__module__", "") == module.__name__)
    names = getattr(module, "__all__", own)
    return [getattr(module, name) for name in names if not name.startswith("_")]


def _qualified(cls: type[Value], name: str) -> str:
    owner = next((base for base in _SHARED if issubclass(cls, base) and name in base.__struct_fields__), cls)
    return f"{owner.__name__}.{name}"

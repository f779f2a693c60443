"""Lines without their long texts, for sessions that would not fit in memory otherwise.

Nearly all that a large session weighs is what tools were given and what they answered. Rows do not hold any of
it, and of such a text they depend on how it begins, if at all. So only that is kept, and all rows come out
equal. What is compared or searched as a whole stays whole: prompts, names, and any text that may name an agent,
a workflow's run or a file that holds the rest of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from turnlog.messages import Dialect, Line, Position, decode
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, ProgressEntry, UserEntry
from turnlog.messages.salvage import REFUSALS

__all__ = ["cut_text", "slim", "slim_all", "slim_skeleton"]

_LIGHT = 2 << 10
"""Lines up to this size stay as they are."""
_HUGE = 4 << 20
_LONG = 1 << 10
_BEGINNING = 256
"""Longer than all beginnings by which results are told apart."""
_NAMES = ("agentId:", "wf_", "saved to:")
_WHOLE = frozenset({"prompt", "file_path", "notebook_path"})
_TELLING_TOOLS = frozenset({"Agent", "Task", "Workflow", "SendMessage"})
"""Whose inputs and results say which agents they started."""
_KINDS = frozenset({UserEntry, AssistantEntry, AttachmentEntry, ProgressEntry})
_HEAVY = frozenset({"user", "assistant", "attachment", "progress"})
"""The types of those."""
_MUTE = frozenset({"tool_result", "image", "document"})
"""Blocks in the user's place that nobody typed."""
_Cut = Callable[[str], str]

_NOTHING = decode(b"")
_decode_json = msgspec.json.Decoder().decode
_encode_json = msgspec.json.Encoder().encode


def slim(line: Line) -> Line:
    """Return a line that rows are derived from as from this one; its problems and its place are the same."""
    if not _is_heavy(line):
        return line
    return _slim(line.raw, type(line.entry), line.at) or line


def slim_all(lines: list[Line]) -> list[Line]:
    """Slim all lines in their list, and return it; of a huge one only one form is in memory at a time."""
    for number, line in enumerate(lines):
        if len(line.raw) > _HUGE and _is_heavy(line):
            raw, kind, at = line.raw, type(line.entry), line.at
            lines[number] = line = _NOTHING
            lines[number] = _slim(raw, kind, at) or decode(raw, at=at)
        else:
            lines[number] = slim(line)
    return lines


def _is_heavy(line: Line) -> bool:
    if len(line.raw) <= _LIGHT or line.problems or type(line.entry) not in _KINDS:
        return False
    return line.dialect is Dialect.CLAUDE_CODE and line.wire is None


def _slim(raw: bytes, kind: type, at: Position | None) -> Line | None:
    try:
        found = _decode_json(raw)
        _cut_line(found, cut_text)
        data = _encode_json(found)
    except (
        REFUSALS
    ):  # a number that is too large, or what is nested too deeply: inside a tool's answer, nobody minds
        return None
    less = decode(data, at=at)
    return less if type(less.entry) is kind and not less.problems else None


def slim_skeleton(raw: bytes, cut: _Cut, settle: Callable[[Any], Any]) -> bytes:
    """Return a line without long texts as `slim` does, by another rule for how they are cut.

    `settle` is given the line when that is done, as a decoded value, and does whatever is left to do.
    Raises what a decoder raises.
    """
    found = _decode_json(raw)
    if isinstance(found, dict) and found.get("type") in _HEAVY:
        _cut_line(found, cut)
    return _encode_json(settle(found))


def _cut_line(line: dict[str, Any], cut: _Cut) -> None:
    kind = line.get("type")
    if kind in ("attachment", "progress"):
        for name in ("attachment", "data"):
            if name in line:
                line[name] = _cut_value(line[name], cut)
        return
    if "toolUseResult" in line:
        line["toolUseResult"] = _cut_value(line["toolUseResult"], cut)
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        for position, block in enumerate(content):
            if isinstance(block, dict) and not _is_telling(block, kind):
                content[position] = _cut_value(block, cut)


def _is_telling(block: dict[str, Any], kind: object) -> bool:
    """Tell whether a block has to stay whole: what people typed, and calls that start agents."""
    if block.get("type") == "tool_use":
        return block.get("name") in _TELLING_TOOLS
    return kind == "user" and block.get("type") not in _MUTE


def _cut_value(value: Any, cut: _Cut) -> Any:
    """Return a JSON value without its long texts. JSON is no deeper than its decoder bears."""
    if type(value) is str:
        return cut(value) if len(value) > _BEGINNING else value
    if type(value) is dict:
        return {name: inner if name in _WHOLE else _cut_value(inner, cut) for name, inner in value.items()}
    if type(value) is list:
        return [_cut_value(inner, cut) for inner in value]
    return value


def cut_text(text: str, longest: int = _LONG) -> str:
    """Return how a text begins that is longer than some; all of a text that may name something."""
    if len(text) <= longest:
        return text
    beginning = text[:_BEGINNING]
    if beginning.isspace() or any(name in text for name in _NAMES):
        return text
    return beginning

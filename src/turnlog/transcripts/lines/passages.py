"""A piece of a line's text that is searched, and what it is; and the text in JSON, without names of members.

Whoever keeps passages knows which block of its line each is, and of which kind. With that, the text of nearly
any is found by six small types. All others, and what a line has in the first place, `passage_readers` says,
which needs the types of all lines: loading them takes longer than a search.
"""

from __future__ import annotations

import re
from contextlib import suppress
from enum import StrEnum
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from turnlog.messages.base import REFUSALS, encode_value
from turnlog.transcripts.hooks import HookDelivery

TECHNICAL_MEMBERS = frozenset(
    {
        "type",
        "toolUseID",
        "tool_use_id",
        "session_id",
        "sessionId",
        "transcript_path",
        "agent_transcript_path",
        "permission_mode",
        "cwd",
        "signature",
        "encrypted_content",
        "encrypted_stdout",
        "citations",
        "cache_control",
        "media_type",
        "base64",
    }
)
"""Members that say nothing to anybody."""

_LONG = 512
_BASE64 = re.compile(r"[A-Za-z0-9+/_=\r\n-]+").fullmatch
_decode = msgspec.json.Decoder(float_hook=str).decode  # numbers as they are written


def json_text(data: bytes | Raw, skipped: frozenset[str] = frozenset()) -> str:
    """Return the text in JSON, a line for each leaf; what cannot be decoded is text as a whole."""
    try:
        found = _decode(data)
    except REFUSALS:  # a number that is too large, or what is nested too deeply
        return bytes(data).decode("utf-8", "replace")
    return "\n".join(list_leaves(found, skipped))


def value_text(value: object) -> str:
    """Return the text of a typed value, each leaf once: many say the same in several places."""
    if value is None or value is UNSET:
        return ""
    return "\n".join(dict.fromkeys(list_leaves(_decode(encode_value(value)), TECHNICAL_MEMBERS)))


def list_leaves(value: Any, skipped: frozenset[str] = frozenset()) -> list[str]:
    """Return the strings and numbers in a decoded value, in order; base64 is neither."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind is str:
            if len(value) < _LONG or not _BASE64(value):
                found.append(value)
        elif kind is dict:
            if skipped and value.get("type") == "base64":  # an image, or a document
                continue
            names = [name for name in value if name not in skipped] if skipped else [*value]
            waiting += [value[name] for name in reversed(names)]
        elif kind is list:
            waiting += reversed(value)
        elif kind is int:
            found.append(str(value))
    return found


_FAILED_EVENTS = ("PostToolUseFailure", "StopFailure")
_LONG_LINE = 1 << 20
"""Of lines that are much longer, not all is read."""


class PassageKind(StrEnum):
    """What a passage is."""

    __hash__ = str.__hash__  # that of enums is written in Python

    PROMPT = "prompt"
    ANSWER = "answer"
    THINKING = "thinking"
    TOOL_INPUT = "tool-input"
    TOOL_OUTPUT = "tool-output"
    SUMMARY = "summary"
    """What a compaction left."""
    NOTICE = "notice"
    """What the program says, or put in the user's mouth."""
    TITLE = "title"
    HOOK = "hook"
    """What a hook was told or said."""


class Passage(Struct, frozen=True, gc=False):
    """A piece of a line's text."""

    kind: PassageKind
    block: int
    """Which block of the line's content it is; 0 where there are none."""
    text: str
    is_error: bool = False


def build_passages(kind: PassageKind, text: object, is_error: bool = False) -> list[Passage]:
    """Return the one passage of a line that says one thing; none if it says nothing."""
    return [Passage(kind, 0, text, is_error)] if isinstance(text, str) and text.strip() else []


def list_hook_passages(delivery: HookDelivery) -> list[Passage]:
    """Return what of a hook's payload is searched; whatever is in it, this does not raise."""
    fields = None
    if delivery.is_readable:
        with suppress(*REFUSALS):
            fields = {name: _decode(raw) for name, raw in delivery.fields.items()}
    if fields is None:
        return build_passages(PassageKind.HOOK, delivery.payload.decode("utf-8", "replace"))
    failed = fields.get("hook_event_name") in _FAILED_EVENTS
    return build_passages(PassageKind.HOOK, "\n".join(list_leaves(fields, TECHNICAL_MEMBERS)), failed)


class _Part(Struct, frozen=True, gc=False):
    type: str
    text: str | None = None


class _Block(Struct, frozen=True, gc=False):
    type: str
    text: str | None = None
    thinking: str | None = None
    input: Raw | UnsetType = UNSET
    content: Raw | UnsetType = UNSET


class _Message(Struct, frozen=True, gc=False):
    content: str | list[_Block] | None = None


class _Hook(Struct, frozen=True, gc=False, rename="camel"):
    """What hooks said, in the order in which their types have it."""

    type: Literal["hook_success", "hook_system_message", "hook_additional_context"]
    hook_name: str | UnsetType = UNSET
    hook_event: str | UnsetType = UNSET
    command: str | None | UnsetType = UNSET
    duration_ms: int | None | UnsetType = UNSET
    stdout: str | None | UnsetType = UNSET
    stderr: str | None | UnsetType = UNSET
    exit_code: int | None | UnsetType = UNSET
    content: str | None | UnsetType = UNSET

    @property
    def text(self) -> str:
        """All of it."""
        ran = (self.command, self.duration_ms, self.stdout, self.stderr, self.exit_code)
        told = (self.hook_name, self.hook_event, *(ran if self.type == "hook_success" else ()), self.content)
        return "\n".join(dict.fromkeys(list_leaves([*told])))


class PlainLine(Struct, frozen=True, gc=False, rename="camel"):
    """A line of today's program, as far as it matters for its texts."""

    type: str
    session_id: str | None = None
    git_branch: str | None = None
    message: _Message | None = None
    content: Raw | UnsetType = UNSET
    subtype: str | None = None
    attachment: Raw | UnsetType = UNSET
    summary: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    agent_name: str | None = None

    @property
    def title(self) -> str | None:
        """The title that the line is about."""
        return getattr(self, _TITLES[self.type]) if self.type in _TITLES else None

    def find_text(self, kind: str, block: int) -> str | None:
        """Return the text of a passage that the line has; None if that takes the types of all lines."""
        if kind == PassageKind.TITLE:
            return self.title
        if kind == PassageKind.PROMPT and self.type == "queue-operation":
            return _leave_commands(_decode_text(self.content))
        if kind == PassageKind.NOTICE and self.type == "system" and self.subtype in _TOLD:
            return _decode_text(self.content)
        if kind == PassageKind.HOOK and self.type == "attachment":
            return _read_hook(self.attachment)
        if self.message is None or self.type not in _SPOKEN:
            return None
        content = self.message.content
        if not isinstance(content, list):
            found = content if block == 0 and kind in _SAID else None
        else:
            found = _find_in_block(content[block], kind) if block < len(content) else None
        return _leave_commands(found) if kind == PassageKind.PROMPT else found


_SPOKEN = frozenset({"user", "assistant"})
_SAID = frozenset({PassageKind.PROMPT, PassageKind.ANSWER, PassageKind.SUMMARY, PassageKind.NOTICE})
_TOLD = frozenset({"away_summary", "informational", "local_command"})
_TITLES = {
    "summary": "summary",
    "custom-title": "custom_title",
    "ai-title": "ai_title",
    "agent-name": "agent_name",
}
_COMMAND = "<command-"
"""How tags begin that are taken out of what people typed."""
_decode_line = msgspec.json.Decoder(PlainLine).decode
_decode_hook = msgspec.json.Decoder(_Hook).decode
_decode_output = msgspec.json.Decoder(str | list[_Part]).decode


def read_plainly(raw: bytes) -> PlainLine | None:
    """Return a line as today's program writes them; None for any other."""
    try:
        line = _decode_line(raw) if len(raw) <= _LONG_LINE else None
    except REFUSALS:
        return None
    # Older dialects and the stream name their session in another way, if at all.
    return None if line is None or (line.session_id is None and line.title is None) else line


def _find_in_block(block: _Block, kind: str) -> str | None:
    if block.type == "text":
        return block.text if kind in _SAID else None
    match kind, block.type:
        case PassageKind.THINKING, "thinking":
            return block.thinking
        case PassageKind.TOOL_INPUT, "tool_use":
            return None if block.input is UNSET else json_text(block.input)
        case PassageKind.TOOL_OUTPUT, "tool_result":
            return _join_output(block.content)
    return None


def _join_output(content: Raw | UnsetType) -> str | None:
    try:
        found = None if content is UNSET else _decode_output(content)
    except REFUSALS:
        return None
    if found is None or isinstance(found, str):
        return found
    if any(
        part.type not in ("text", "image") or (part.text is None) is (part.type == "text") for part in found
    ):
        return None
    return "\n".join(part.text for part in found if part.text)


def _decode_text(content: Raw | UnsetType) -> str | None:
    try:
        found = None if content is UNSET else _decode_output(content)
    except REFUSALS:
        return None
    return found if isinstance(found, str) and found.strip() else None


def _read_hook(attachment: Raw | UnsetType) -> str | None:
    try:
        return None if attachment is UNSET else _decode_hook(attachment).text
    except REFUSALS:
        return None


def _leave_commands(text: str | None) -> str | None:
    return None if text is None or _COMMAND in text else text

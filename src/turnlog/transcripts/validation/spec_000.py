"""Spec 000: six rules of integrity, and the table of required and conditional fields.

Spec 003 says nothing of its own about uuids and the form of times, so its documents are held to these, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from turnlog.messages import UNSET, Dialect, Line, Problem, ProblemKind, Raw
from turnlog.messages.compaction import CompactionPhase
from turnlog.messages.legacy import (
    Assistant000,
    AssistantAction,
    CompactSystem000,
    System000,
    SystemNote,
    User000,
)
from turnlog.messages.salvage import describe
from turnlog.messages.spans import Path
from turnlog.transcripts.validation.findings import Report, Spot, join, quote, show_flag
from turnlog.transcripts.validation.rules import CODE, STORED, Rule, declare

_OWN = (Dialect.SPEC_000,)

UNIQUE_UUID = declare(
    "000-1-unique-uuid",
    "Integrity Rules, 1",
    "A uuid identifies one message of its session",
    "Parents are identified by uuid. Claude Code repeats lines when it resumes; the first one counts.",
    error=_OWN,
    warning=STORED,
    note=CODE,
)
ISO_TIME = declare(
    "000-2-iso-timestamp",
    "Integrity Rules, 2",
    "Timestamps are in ISO 8601",
    "Anything else could be a number of seconds or milliseconds, and is shown as no time at all.",
    error=_OWN,
    warning=(*STORED, *CODE),
)
PARENT_EXISTS = declare(
    "000-3-parent-exists",
    "Integrity Rules, 3",
    "A parent is a message in the file, or null",
    "Without its parent a message starts a new thread. In real files the parent can be in another file.",
    error=_OWN,
    note=CODE,
)
STRUCTURE = declare(
    "000-4-structure",
    "Integrity Rules, 4",
    "A message has the structure of its type",
    "A field that belongs to another type, or has another form, is ignored.",
    error=(*_OWN, *STORED, *CODE),
)
TOOL_FIELDS = declare(
    "000-5-tool-fields",
    "Integrity Rules, 5; Field Requirements, assistant",
    "A tool invocation has a name and arguments",
    "Without them nobody knows what was done.",
    error=_OWN,
    warning=(*STORED, *CODE),
)
SIDECHAIN = declare(
    "000-6-sidechain",
    "Integrity Rules, 6",
    "Messages that follow a sidechain message are in the sidechain",
    "A sidechain's user is Claude; without the flag it is mistaken for the human. Only its answer leads back.",
    error=_OWN,
    note=CODE,
)
REQUIRED_FIELDS = declare(
    "000-F1-required-fields",
    "Field Requirements",
    "A message has a type, a uuid, a timestamp and a session; a compaction a message, too",
    "They identify the message, and say when it was sent and where it belongs.",
    error=_OWN,
    note=CODE,
)
_USER_MESSAGE = declare(
    "000-F2-user-message",
    "Field Requirements, user",
    "A user message has text, unless it is a command",
    "The spec does not mark commands, so a message without text may be one.",
    warning=_OWN,
)
_SYSTEM_MESSAGE = declare(
    "000-F3-system-message",
    "Field Requirements, system",
    "A system message has text",
    "The text is its only content.",
    error=_OWN,
)
_METADATA = declare(
    "000-F4-compacted-metadata",
    "Field Requirements, compact_system",
    "A finished compaction has its statistics",
    "They say how much of the conversation was kept.",
    error=_OWN,
)
_CONTENTS = declare(
    "000-S1-subtype-contents",
    "Assistant Messages, System Messages: Subtypes",
    "A message has the fields that the table lists for its subtype",
    "Otherwise readers that go by the flag and readers that go by the subtype show it differently.",
    warning=_OWN,
)

RULES_000 = (
    UNIQUE_UUID,
    ISO_TIME,
    PARENT_EXISTS,
    STRUCTURE,
    TOOL_FIELDS,
    SIDECHAIN,
    REQUIRED_FIELDS,
    _USER_MESSAGE,
    _SYSTEM_MESSAGE,
    _METADATA,
    _CONTENTS,
)

_VOCABULARY = frozenset(
    name
    for cls in (User000, Assistant000, System000, CompactSystem000)
    for name in cls.__struct_encode_fields__
)
_FLAGS: Mapping[SystemNote, tuple[str, str]] = MappingProxyType(
    {SystemNote.ERROR: ("is_error", "isError"), SystemNote.META: ("is_meta", "isMeta")}
)


def claim(line: Line, problem: Problem) -> Rule | None:
    """Return the rule that a problem breaks, or None."""
    match problem.kind:
        case ProblemKind.MISSING_FIELD if not problem.steps:
            return REQUIRED_FIELDS
        case ProblemKind.UNKNOWN_TYPE if line.wire is None:  # it says no type at all
            return REQUIRED_FIELDS
        case ProblemKind.MISSING_FIELD | ProblemKind.WRONG_TYPE | ProblemKind.UNKNOWN_TYPE:
            return STRUCTURE
        case ProblemKind.UNKNOWN_FIELD if problem.steps[0] in _VOCABULARY:
            return STRUCTURE
    return None


def claim_today(line: Line, problem: Problem) -> Rule | None:
    """Return the rule that a problem of one of today's lines breaks: a call without a name, no real message."""
    if problem.kind is ProblemKind.WRONG_TYPE and problem.steps == ("message",):
        return STRUCTURE
    nameless = problem.kind is ProblemKind.MISSING_FIELD and problem.expected == "field `name`"
    return TOOL_FIELDS if nameless else None


def check_fields(line: Line, faults: Collection[Path], spot: Spot, report: Report) -> None:
    """Check what a message of each type has to have, besides the envelope."""
    match line.wire:
        case User000(message=text) if text is UNSET and ("message",) not in faults:
            report.add(_USER_MESSAGE, spot, "Expected `message`, found nothing; it may be a command")
        case Assistant000() as answer:
            _check_answer(answer, faults, spot, report)
        case System000() as note:
            _check_note(note, faults, spot, report)
        case CompactSystem000(message=CompactionPhase.COMPACTED, metadata=numbers):
            if numbers in (UNSET, None) and ("metadata",) not in faults:
                report.add(_METADATA, spot, "Expected `metadata` in a finished compaction, found none")


def _check_answer(answer: Assistant000, faults: Collection[Path], spot: Spot, report: Report) -> None:
    fields = {"toolName": answer.tool_name, "toolArguments": answer.tool_arguments}
    if answer.subtype is AssistantAction.TOOL_USE or any(value is not UNSET for value in fields.values()):
        missing = [key for key, value in fields.items() if value is UNSET and (key,) not in faults]
        if missing:
            report.add(TOOL_FIELDS, spot, f"Expected {join(missing)} in a tool invocation, found nothing")
        elif isinstance(answer.tool_arguments, Raw) and not _is_object(answer.tool_arguments):
            found = describe(bytes(answer.tool_arguments))
            report.add(TOOL_FIELDS, spot, f"Expected an object, found {found}", ("toolArguments",))
    elif answer.subtype is not UNSET and answer.message is UNSET and ("message",) not in faults:
        report.add(_CONTENTS, spot, f"Expected `message` for subtype {quote(answer.subtype)}, found nothing")


def _check_note(note: System000, faults: Collection[Path], spot: Spot, report: Report) -> None:
    if note.message is UNSET and ("message",) not in faults:
        report.add(_SYSTEM_MESSAGE, spot, "Expected `message`, found nothing")
    if isinstance(note.subtype, SystemNote) and note.subtype in _FLAGS:
        name, key = _FLAGS[note.subtype]
        flag = getattr(note, name)
        if flag is not True and (key,) not in faults:
            expected = f"Expected `{key}: true` for subtype {quote(note.subtype)}"
            report.add(_CONTENTS, spot, f"{expected}, found {show_flag(flag)}")


def _is_object(raw: Raw) -> bool:
    return bytes(raw).lstrip(b" \t\n\r").startswith(b"{")

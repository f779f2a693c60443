"""Spec 004: seven rules, and the table of fields."""

from __future__ import annotations

from collections.abc import Collection

from turnlog.messages import UNSET, Dialect, Line, Problem, ProblemKind
from turnlog.messages.blocks import ToolResultBlock, ToolUseBlock
from turnlog.messages.legacy import Assistant004, Human004, LegacyLine, Line004, ToolResult004, User004
from turnlog.messages.spans import Path
from turnlog.transcripts.validation.findings import Report, Spot, join
from turnlog.transcripts.validation.rules import CODE, STORED, Rule, declare

_OWN = (Dialect.SPEC_004,)

REQUIRED_FIELDS_004 = declare(
    "004-1-required-fields",
    "Validation Rules, 1",
    "A message has uuid, parentUuid (null for roots), sessionId, type, timestamp and message",
    "They say which message it is, what it answers, where it belongs, when it was sent, and what it says.",
    error=_OWN,
)
UNIQUE_UUID_004 = declare(
    "004-2-unique-uuid",
    "Validation Rules, 2",
    "A uuid identifies one message of its session",
    "Parents are identified by uuid.",
    error=_OWN,
)
PARENTS = declare(
    "004-3-parents",
    "Validation Rules, 3",
    "Parents are messages in the session, and do not form a cycle",
    "Together they form the conversation, which is an acyclic graph.",
    error=_OWN,
)
CORRELATION = declare(
    "004-4-tool-correlation",
    "Validation Rules, 4",
    "A tool result refers to an earlier call",
    "The id is the definitive way to match the two. In real files results can come first, or without a call.",
    error=_OWN,
    note=CODE,
)
SIDECHAIN_MARKER = declare(
    "004-5-sidechain-marker",
    "Validation Rules, 5",
    "Messages of a sidechain have `isSidechain: true`",
    "A sidechain's human is Claude; without the mark it is mistaken for the user. Only its answer leads back.",
    error=_OWN,
)
CONTENT = declare(
    "004-6-content",
    "Validation Rules, 6; Message Content Structures",
    "The content of a message is a string, or an array of content objects with all their fields",
    "Nothing else can be shown.",
    error=_OWN,
)
IMAGES = declare(
    "004-7-image-encoding",
    "Validation Rules, 7",
    "Images are in base64, with the media type of an image",
    "Otherwise they cannot be shown.",
    error=_OWN,
    warning=(*CODE, *STORED, Dialect.STREAM),
)
FIELD_TYPES = declare(
    "004-F1-field-types",
    "Field Definitions; Optional Fields",
    "Fields have the type that the table gives; a timestamp is a number of Unix milliseconds",
    "A field with any other value is ignored.",
    error=_OWN,
)
_VERSION = declare(
    "004-F2-version",
    "Field Definitions, version",
    "A message says which version wrote it, unless it is a special message",
    "It helps to explain why a file looks the way it does.",
    note=_OWN,
)

RULES_004 = (
    REQUIRED_FIELDS_004,
    UNIQUE_UUID_004,
    PARENTS,
    CORRELATION,
    SIDECHAIN_MARKER,
    CONTENT,
    IMAGES,
    FIELD_TYPES,
    _VERSION,
)

_ORDINARY: tuple[type[LegacyLine], ...] = (Human004, User004, Assistant004, ToolResult004)


def claim(line: Line, problem: Problem) -> Rule | None:
    """Return the rule that a problem breaks, or None."""
    inside = problem.steps[:1] == ("message",)
    match problem.kind:
        case ProblemKind.MISSING_FIELD if not problem.steps:
            return REQUIRED_FIELDS_004
        case ProblemKind.UNKNOWN_TYPE if line.wire is None and not inside:  # it says no type at all
            return REQUIRED_FIELDS_004
        case ProblemKind.MISSING_FIELD | ProblemKind.WRONG_TYPE:
            return CONTENT if inside else FIELD_TYPES
        case ProblemKind.UNKNOWN_TYPE if inside and problem.found == "nothing":
            return CONTENT
    return None


def check_message(line: Line, faults: Collection[Path], spot: Spot, report: Report) -> None:
    """Check what a message has to have, besides the envelope."""
    wire = line.wire
    if not isinstance(wire, Line004):
        return
    if wire.version is UNSET and isinstance(wire, _ORDINARY) and ("version",) not in faults:
        report.add(_VERSION, spot, "Expected `version`, found nothing")
    content = wire.message.content
    if content in (UNSET, None) and ("message", "content") not in faults:
        found = "null" if content is None else "nothing"
        report.add(CONTENT, spot, f"Expected a string or an array, found {found}", ("message", "content"))
    blocks = content if isinstance(content, tuple) else ()
    if isinstance(wire, ToolResult004) and not any(isinstance(block, ToolResultBlock) for block in blocks):
        report.add(CORRELATION, spot, "Expected a `tool_result` with a `tool_use_id`, found none", ("message",))
    for index, block in enumerate(blocks):
        if isinstance(block, ToolUseBlock):
            _check_call(block, ("message", "content", index), faults, spot, report)


def _check_call(block: ToolUseBlock, steps: Path, faults: Collection[Path], spot: Spot, report: Report) -> None:
    missing = [
        name for name in ("id", "input") if getattr(block, name) is UNSET and (*steps, name) not in faults
    ]
    if missing:
        report.add(CONTENT, spot, f"Expected {join(missing)} in a `tool_use`, found nothing", steps)

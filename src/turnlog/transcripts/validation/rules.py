"""The rules of the specs, what breaks them and where, in words that are safe to print.

A transcript is untrusted: what a message quotes of it is cut short, and what is no printable character in it
is escaped. Line numbers in messages count the lines that were given, from 1.

A rule says which spec asks for it, and how serious it is to break it, dialect by dialect. In the dialects of
specs 000, 003 and 004 a broken "must" is an error. Claude Code's own files break many of those rules every
day, and readers cope: there the same thing is a note, or nothing at all. So a rule has no severity of its own,
but one for each dialect it applies to.

Spec 000 has six rules of integrity, and a table of required and conditional fields. Spec 003 says nothing of
its own about uuids and the form of times, so its documents are held to these, too.

Spec 001 is a set of type declarations: a field that they do not call optional has to be there. The stream is
also what today's versions write, and where these are known to differ from the spec the rule is milder: what
some versions leave out is a warning, what newer versions add or do otherwise is a note.

Spec 003 has five rules for messages and four checks of consistency. They speak of messages as a database keeps
them, with calls and results taken out of their messages; `threads` finds what breaks them. A tool message
whose parent is not there is an orphan, and is reported as that alone. Calls without a result and times that
run backwards occur wherever the documents were made from real sessions, and only "should" and "checks" forbid
them: they are warnings.

Spec 004 has seven rules, and a table of fields.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from turnlog.messages import UNSET, Dialect, Line, Position, Problem, ProblemKind, Raw, UnsetType, legacy
from turnlog.messages.blocks import ToolResultBlock, ToolUseBlock
from turnlog.messages.entries import CompactionPhase
from turnlog.messages.legacy import (
    Assistant000,
    AssistantAction,
    CompactSystem000,
    Line004,
    StoredType,
    System000,
    SystemNote,
    ToolResult004,
    User000,
)
from turnlog.messages.salvage import describe
from turnlog.messages.spans import Path, render_path
from turnlog.transcripts.lines.blocks import find_stored_type


class Severity(StrEnum):
    """How serious a finding is, the gravest first."""

    ERROR = "error"
    """The data is broken, or breaks what its own spec demands."""
    WARNING = "warning"
    """Something is probably wrong, or missing."""
    NOTE = "note"
    """Worth knowing, and normal in real data."""


CODE = (Dialect.CLAUDE_CODE,)
STORED = (Dialect.SPEC_003_EXTRACTED, Dialect.SPEC_003_DOCUMENT, Dialect.SPEC_003_API)
ALL = tuple(Dialect)


class Rule(Struct, frozen=True, gc=False):
    """Something that lines are held to."""

    id: str
    spec: str
    """The spec that asks for it; empty where it is about any line."""
    section: str
    title: str
    """The requirement."""
    why: str
    severities: tuple[tuple[Dialect, Severity], ...]
    """The dialects it applies to, and how serious it is to break it there."""

    @property
    def dialects(self) -> frozenset[Dialect]:
        """The dialects it applies to."""
        return frozenset(dialect for dialect, _ in self.severities)

    @property
    def severity(self) -> Severity:
        """The gravest of its severities."""
        graded = {severity for _, severity in self.severities}
        return next(severity for severity in Severity if severity in graded)

    def find_severity(self, dialect: Dialect) -> Severity | None:
        """Return how serious it is to break the rule in a dialect; None where it does not apply."""
        for each, severity in self.severities:
            if each is dialect:
                return severity
        return None


def _read_rules() -> Iterator[Rule]:
    """Yield the rules of `rules.toml`; the spec of each is told by its id."""
    groups = {"all": ALL, "spec-003": STORED} | {dialect.value: (dialect,) for dialect in Dialect}
    text = files("turnlog.transcripts.validation").joinpath("rules.toml").read_text("utf-8")
    for id, row in tomllib.loads(text).items():
        spec = id[:3] if id[:3].isdigit() else ""
        graded = {each: grade for grade in Severity for name in row.get(grade, ()) for each in groups[name]}
        severities = tuple((dialect, graded[dialect]) for dialect in Dialect if dialect in graded)
        yield Rule(id, spec, row.get("section", ""), row["title"], row["why"], severities)


RULES = tuple(_read_rules())
"""Every rule: those of any line first, then spec by spec."""
get_rule = {rule.id: rule for rule in RULES}.__getitem__

_LONGEST_VALUE = 60
_LONGEST_TEXT = 200


class Finding(Struct, frozen=True, gc=False, kw_only=True):
    """One thing that breaks a rule."""

    rule: Rule
    severity: Severity
    """How serious it is in the line's dialect."""
    message: str
    """What is wrong and where: what was expected, and what was found."""
    index: int
    """Which of the lines, from 0."""
    at: Position | None
    """Where that line stands, as far as it says so."""
    path: str
    """Where in the line: a JSON path."""
    dialect: Dialect

    @property
    def number(self) -> int:
        """Which of the lines, from 1, as messages count them."""
        return self.index + 1


class Spot(Struct, frozen=True, gc=False):
    """A line, without its body: all that a finding needs of it."""

    index: int
    at: Position | None
    dialect: Dialect

    @property
    def number(self) -> int:
        """Which of the lines, from 1."""
        return self.index + 1


class Report:
    """Collects findings."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []

    def add(self, rule: Rule, spot: Spot, message: str, steps: Path = ()) -> None:
        """Note that a line breaks a rule, if the rule applies to the line's dialect."""
        severity = rule.find_severity(spot.dialect)
        if severity is None:
            return
        path = clean(render_path(steps), _LONGEST_TEXT)
        if steps:
            message = f"{message} - at {path}"
        self._findings.append(
            Finding(
                rule=rule,
                severity=severity,
                message=message,
                index=spot.index,
                at=spot.at,
                path=path,
                dialect=spot.dialect,
            )
        )

    def take(self) -> list[Finding]:
        """Return what was found since the last time."""
        found, self._findings = self._findings, []
        return found


class Demand(Struct, frozen=True):
    """The fields that an object has to have."""

    rule: Rule
    what: str
    """What to call the object."""
    fields: tuple[str, ...]


class LineReport(Struct, frozen=True):
    """Where what is wrong with one line is reported."""

    report: Report
    spot: Spot
    faults: Collection[Path]
    """The places of what decoding found wrong, which is reported as that."""

    def add(self, rule: Rule, message: str, steps: Path = ()) -> None:
        """Note that the line breaks a rule."""
        self.report.add(rule, self.spot, message, steps)

    def check_given(self, demand: Demand, value: Struct, steps: Path = ()) -> None:
        """Report the fields of an object that are not there."""
        keys = _keys(type(value))
        missing = [
            keys[name]
            for name in demand.fields
            if getattr(value, name) is UNSET and (*steps, keys[name]) not in self.faults
        ]
        if missing:
            self.add(demand.rule, f"Expected {join(missing)} in {demand.what}, found nothing", steps)


@cache
def _keys(cls: type[Struct]) -> Mapping[str, str]:
    return dict(zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True))


def clean(text: str, longest: int = _LONGEST_TEXT) -> str:
    """Return a text that is safe to print, and not too long."""
    cut = text[:longest]
    if not cut.isprintable():
        escaped = (sign.encode("unicode_escape").decode("ascii") for sign in cut)
        cut = "".join(sign if sign.isprintable() else code for sign, code in zip(cut, escaped, strict=True))
    return cut if len(text) <= longest else cut + "…"


def quote(value: object) -> str:
    """Return a value of the data as a message shows it."""
    return f"`{clean(str(value), _LONGEST_VALUE)}`"


def show_flag(value: bool | None | UnsetType) -> str:
    """Return a flag as a message shows it: `nothing` if it is not there."""
    return "nothing" if value is UNSET else "null" if value is None else "`true`" if value else "`false`"


def join(names: Sequence[str], word: str = "and") -> str:
    """Return names, of which there is at least one, as a list in words."""
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"


_OWN_000 = (Dialect.SPEC_000,)

UNIQUE_UUID = get_rule("000-1-unique-uuid")
ISO_TIME = get_rule("000-2-iso-timestamp")
PARENT_EXISTS = get_rule("000-3-parent-exists")
STRUCTURE = get_rule("000-4-structure")
TOOL_FIELDS = get_rule("000-5-tool-fields")
SIDECHAIN = get_rule("000-6-sidechain")
REQUIRED_FIELDS = get_rule("000-F1-required-fields")
_USER_MESSAGE = get_rule("000-F2-user-message")
_SYSTEM_MESSAGE = get_rule("000-F3-system-message")
_METADATA = get_rule("000-F4-compacted-metadata")
_CONTENTS = get_rule("000-S1-subtype-contents")

_VOCABULARY = frozenset(
    name
    for cls in (User000, Assistant000, System000, CompactSystem000)
    for name in cls.__struct_encode_fields__
)
_FLAGS: Mapping[SystemNote, tuple[str, str]] = MappingProxyType(
    {SystemNote.ERROR: ("is_error", "isError"), SystemNote.META: ("is_meta", "isMeta")}
)


def claim_000(line: Line, problem: Problem) -> Rule | None:
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


def check_fields(line: Line, here: LineReport) -> None:
    """Check what a message of each type has to have, besides the envelope."""
    match line.wire:
        case User000(message=text) if text is UNSET and ("message",) not in here.faults:
            here.add(_USER_MESSAGE, "Expected `message`, found nothing; it may be a command")
        case Assistant000() as answer:
            _check_answer(answer, here)
        case System000() as note:
            _check_note(note, here)
        case CompactSystem000(message=CompactionPhase.COMPACTED, metadata=numbers):
            if numbers in (UNSET, None) and ("metadata",) not in here.faults:
                here.add(_METADATA, "Expected `metadata` in a finished compaction, found none")


def _check_answer(answer: Assistant000, here: LineReport) -> None:
    fields = {"toolName": answer.tool_name, "toolArguments": answer.tool_arguments}
    if answer.subtype is AssistantAction.TOOL_USE or any(value is not UNSET for value in fields.values()):
        missing = [key for key, value in fields.items() if value is UNSET and (key,) not in here.faults]
        if missing:
            here.add(TOOL_FIELDS, f"Expected {join(missing)} in a tool invocation, found nothing")
        elif isinstance(answer.tool_arguments, Raw) and not _is_object(answer.tool_arguments):
            found = describe(bytes(answer.tool_arguments))
            here.add(TOOL_FIELDS, f"Expected an object, found {found}", ("toolArguments",))
    elif answer.subtype is not UNSET and answer.message is UNSET and ("message",) not in here.faults:
        here.add(_CONTENTS, f"Expected `message` for subtype {quote(answer.subtype)}, found nothing")


def _check_note(note: System000, here: LineReport) -> None:
    if note.message is UNSET and ("message",) not in here.faults:
        here.add(_SYSTEM_MESSAGE, "Expected `message`, found nothing")
    if isinstance(note.subtype, SystemNote) and note.subtype in _FLAGS:
        name, key = _FLAGS[note.subtype]
        flag = getattr(note, name)
        if flag is not True and (key,) not in here.faults:
            expected = f"Expected `{key}: true` for subtype {quote(note.subtype)}"
            here.add(_CONTENTS, f"{expected}, found {show_flag(flag)}")


def _is_object(raw: Raw) -> bool:
    return bytes(raw).lstrip(b" \t\n\r").startswith(b"{")


Check = Callable[[Any, LineReport], None]
"""Checks one message."""


_OLD = (Dialect.SPEC_000, Dialect.SPEC_004)

PARENT_GIVEN = get_rule("003-1-parent-given")
PARENT_IN_SESSION = get_rule("003-2-parent-in-session")
TOOL_SIDECHAIN = get_rule("003-3-tool-sidechain")
RESULT_PARENT = get_rule("003-4-result-parent")
TOOL_CHILDREN = get_rule("003-5-tool-children")
NO_CYCLES = get_rule("003-C1-no-cycles")
ORPHANED_TOOL = get_rule("003-C2-orphaned-tool")
PAIRED = get_rule("003-C3-paired")
CHRONOLOGY = get_rule("003-C4-chronology")


def claim_003(line: Line, problem: Problem) -> Rule | None:
    """Return the rule that a problem breaks, or None."""
    unread = problem.kind not in (ProblemKind.UNKNOWN_FIELD, ProblemKind.UNKNOWN_VALUE)
    if unread and problem.steps[:1] == ("content",) and find_stored_type(line) is StoredType.TOOL_USE:
        return TOOL_FIELDS
    if problem.kind is ProblemKind.WRONG_TYPE and problem.steps == ("message",):
        return STRUCTURE
    return None


_OWN_004 = (Dialect.SPEC_004,)

REQUIRED_FIELDS_004 = get_rule("004-1-required-fields")
UNIQUE_UUID_004 = get_rule("004-2-unique-uuid")
PARENTS = get_rule("004-3-parents")
CORRELATION = get_rule("004-4-tool-correlation")
SIDECHAIN_MARKER = get_rule("004-5-sidechain-marker")
CONTENT = get_rule("004-6-content")
IMAGES = get_rule("004-7-image-encoding")
FIELD_TYPES = get_rule("004-F1-field-types")
_VERSION = get_rule("004-F2-version")

_ORDINARY: tuple[type[legacy.LegacyLine], ...] = (
    legacy.Human004,
    legacy.User004,
    legacy.Assistant004,
    ToolResult004,
)


def claim_004(line: Line, problem: Problem) -> Rule | None:
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


def check_message(line: Line, here: LineReport) -> None:
    """Check what a message has to have, besides the envelope."""
    wire = line.wire
    if not isinstance(wire, Line004):
        return
    if wire.version is UNSET and isinstance(wire, _ORDINARY) and ("version",) not in here.faults:
        here.add(_VERSION, "Expected `version`, found nothing")
    content = wire.message.content
    if content in (UNSET, None) and ("message", "content") not in here.faults:
        found = "null" if content is None else "nothing"
        here.add(CONTENT, f"Expected a string or an array, found {found}", ("message", "content"))
    blocks = content if isinstance(content, tuple) else ()
    if isinstance(wire, ToolResult004) and not any(isinstance(block, ToolResultBlock) for block in blocks):
        here.add(CORRELATION, "Expected a `tool_result` with a `tool_use_id`, found none", ("message",))
    for index, block in enumerate(blocks):
        if isinstance(block, ToolUseBlock):
            _check_call(block, ("message", "content", index), here)


def _check_call(block: ToolUseBlock, steps: Path, here: LineReport) -> None:
    missing = [
        name for name in ("id", "input") if getattr(block, name) is UNSET and (*steps, name) not in here.faults
    ]
    if missing:
        here.add(CONTENT, f"Expected {join(missing)} in a `tool_use`, found nothing", steps)

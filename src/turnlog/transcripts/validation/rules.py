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
from typing import Any

from msgspec import Struct

from turnlog.messages import UNSET, Dialect, Line, Position, Problem, ProblemKind, Raw, UnsetType, legacy
from turnlog.messages.blocks import ToolResultBlock, ToolUseBlock
from turnlog.messages.entries import CompactionPhase
from turnlog.messages.salvage import describe
from turnlog.messages.spans import Path, render_path
from turnlog.transcripts.lines.content import find_stored_type


class Severity(StrEnum):
    """How serious a finding is, the gravest first."""

    ERROR = "error"
    """The data is broken, or breaks what its own spec demands."""
    WARNING = "warning"
    """Something is probably wrong, or missing."""
    NOTE = "note"
    """Worth knowing, and normal in real data."""


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


_TABLES = tomllib.loads(files("turnlog.transcripts.validation").joinpath("rules.toml").read_text("utf-8"))
REQUIRED: Mapping[str, Mapping[str, Any]] = _TABLES.pop("required")
"""The fields that objects must have, by the name of their type, or by what they are there for."""


def _read_rules() -> Iterator[Rule]:
    """Yield the rules of `rules.toml`; the spec of each is told by its id."""
    groups = {"all": ALL, "spec-003": STORED} | {dialect.value: (dialect,) for dialect in Dialect}
    for id, row in _TABLES.items():
        spec = id[:3] if id[:3].isdigit() else ""
        graded = {each: grade for grade in Severity for name in row.get(grade, ()) for each in groups[name]}
        severities = tuple((dialect, graded[dialect]) for dialect in Dialect if dialect in graded)
        yield Rule(id, spec, row.get("section", ""), row["title"], row["why"], severities)


RULES = tuple(_read_rules())
"""Every rule: those of any line first, then spec by spec."""
_BY_ID = {rule.id: rule for rule in RULES}

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


class LineRef(Struct, frozen=True, gc=False):
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

    def add(self, rule_id: str, spot: LineRef, message: str, steps: Path = ()) -> None:
        """Note that a line breaks a rule, if the rule applies to the line's dialect."""
        rule = _BY_ID[rule_id]
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


class LineReport(Struct, frozen=True):
    """Where what is wrong with one line is reported."""

    report: Report
    spot: LineRef
    faults: Collection[Path]
    """The places of what decoding found wrong, which is reported as that."""

    def add(self, rule: str, message: str, steps: Path = ()) -> None:
        """Note that the line breaks a rule."""
        self.report.add(rule, self.spot, message, steps)

    def check_given(self, value: Struct, steps: Path = (), what: str = "") -> None:
        """Report the fields of an object that must be there and are not; `what` says which, if not its type."""
        demand = REQUIRED.get(what or type(value).__name__)
        if demand is None:
            return
        keys = _keys(type(value))
        missing = [
            keys[name]
            for name in demand["fields"]
            if getattr(value, name) is UNSET and (*steps, keys[name]) not in self.faults
        ]
        if missing:
            self.add(demand["rule"], f"Expected {join(missing)} in {demand['of']}, found nothing", steps)


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


_VOCABULARY = frozenset(
    name
    for cls in (legacy.User000, legacy.Assistant000, legacy.System000, legacy.CompactSystem000)
    for name in cls.__struct_encode_fields__
)
_FLAGS: Mapping[legacy.SystemNote, tuple[str, str]] = {
    legacy.SystemNote.ERROR: ("is_error", "isError"),
    legacy.SystemNote.META: ("is_meta", "isMeta"),
}


def find_rule_000(line: Line, problem: Problem) -> str | None:
    """Return the rule that a problem breaks, or None."""
    match problem.kind:
        case ProblemKind.MISSING_FIELD if not problem.steps:
            return "000-F1-required-fields"
        case ProblemKind.UNKNOWN_TYPE if line.wire is None:  # it says no type at all
            return "000-F1-required-fields"
        case ProblemKind.MISSING_FIELD | ProblemKind.WRONG_TYPE | ProblemKind.UNKNOWN_TYPE:
            return "000-4-structure"
        case ProblemKind.UNKNOWN_FIELD if problem.steps[0] in _VOCABULARY:
            return "000-4-structure"
    return None


def find_rule_today(line: Line, problem: Problem) -> str | None:
    """Return the rule that a problem of one of today's lines breaks: a call without a name, no real message."""
    if problem.kind is ProblemKind.WRONG_TYPE and problem.steps == ("message",):
        return "000-4-structure"
    nameless = problem.kind is ProblemKind.MISSING_FIELD and problem.expected == "field `name`"
    return "000-5-tool-fields" if nameless else None


def check_fields(line: Line, here: LineReport) -> None:
    """Check what a message of each type has to have, besides the envelope."""
    match line.wire:
        case legacy.User000(message=text) if text is UNSET and ("message",) not in here.faults:
            here.add("000-F2-user-message", "Expected `message`, found nothing; it may be a command")
        case legacy.Assistant000() as answer:
            _check_answer(answer, here)
        case legacy.System000() as note:
            _check_note(note, here)
        case legacy.CompactSystem000(message=CompactionPhase.COMPACTED, metadata=numbers):
            if numbers in (UNSET, None) and ("metadata",) not in here.faults:
                here.add(
                    "000-F4-compacted-metadata", "Expected `metadata` in a finished compaction, found none"
                )


def _check_answer(answer: legacy.Assistant000, here: LineReport) -> None:
    fields = {"toolName": answer.tool_name, "toolArguments": answer.tool_arguments}
    if answer.subtype is legacy.AssistantAction.TOOL_USE or any(
        value is not UNSET for value in fields.values()
    ):
        missing = [key for key, value in fields.items() if value is UNSET and (key,) not in here.faults]
        if missing:
            here.add("000-5-tool-fields", f"Expected {join(missing)} in a tool invocation, found nothing")
        elif isinstance(answer.tool_arguments, Raw) and not _is_object(answer.tool_arguments):
            found = describe(bytes(answer.tool_arguments))
            here.add("000-5-tool-fields", f"Expected an object, found {found}", ("toolArguments",))
    elif answer.subtype is not UNSET and answer.message is UNSET and ("message",) not in here.faults:
        here.add(
            "000-S1-subtype-contents", f"Expected `message` for subtype {quote(answer.subtype)}, found nothing"
        )


def _check_note(note: legacy.System000, here: LineReport) -> None:
    if note.message is UNSET and ("message",) not in here.faults:
        here.add("000-F3-system-message", "Expected `message`, found nothing")
    if isinstance(note.subtype, legacy.SystemNote) and note.subtype in _FLAGS:
        name, key = _FLAGS[note.subtype]
        flag = getattr(note, name)
        if flag is not True and (key,) not in here.faults:
            expected = f"Expected `{key}: true` for subtype {quote(note.subtype)}"
            here.add("000-S1-subtype-contents", f"{expected}, found {show_flag(flag)}")


def _is_object(raw: Raw) -> bool:
    return bytes(raw).lstrip(b" \t\n\r").startswith(b"{")


Check = Callable[[Any, LineReport], None]
"""Checks one message."""


def find_rule_003(line: Line, problem: Problem) -> str | None:
    """Return the rule that a problem breaks, or None."""
    unread = problem.kind not in (ProblemKind.UNKNOWN_FIELD, ProblemKind.UNKNOWN_VALUE)
    if unread and problem.steps[:1] == ("content",) and find_stored_type(line) is legacy.StoredType.TOOL_USE:
        return "000-5-tool-fields"
    if problem.kind is ProblemKind.WRONG_TYPE and problem.steps == ("message",):
        return "000-4-structure"
    return None


_ORDINARY: tuple[type[legacy.LegacyLine], ...] = (
    legacy.Human004,
    legacy.User004,
    legacy.Assistant004,
    legacy.ToolResult004,
)


def find_rule_004(line: Line, problem: Problem) -> str | None:
    """Return the rule that a problem breaks, or None."""
    inside = problem.steps[:1] == ("message",)
    match problem.kind:
        case ProblemKind.MISSING_FIELD if not problem.steps:
            return "004-1-required-fields"
        case ProblemKind.UNKNOWN_TYPE if line.wire is None and not inside:  # it says no type at all
            return "004-1-required-fields"
        case ProblemKind.MISSING_FIELD | ProblemKind.WRONG_TYPE:
            return "004-6-content" if inside else "004-F1-field-types"
        case ProblemKind.UNKNOWN_TYPE if inside and problem.found == "nothing":
            return "004-6-content"
    return None


def check_message(line: Line, here: LineReport) -> None:
    """Check what a message has to have, besides the envelope."""
    wire = line.wire
    if not isinstance(wire, legacy.Line004):
        return
    if wire.version is UNSET and isinstance(wire, _ORDINARY) and ("version",) not in here.faults:
        here.add("004-F2-version", "Expected `version`, found nothing")
    content = wire.message.content
    if content in (UNSET, None) and ("message", "content") not in here.faults:
        found = "null" if content is None else "nothing"
        here.add("004-6-content", f"Expected a string or an array, found {found}", ("message", "content"))
    blocks = content if isinstance(content, tuple) else ()
    if isinstance(wire, legacy.ToolResult004) and not any(
        isinstance(block, ToolResultBlock) for block in blocks
    ):
        here.add(
            "004-4-tool-correlation", "Expected a `tool_result` with a `tool_use_id`, found none", ("message",)
        )
    for index, block in enumerate(blocks):
        if isinstance(block, ToolUseBlock):
            _check_call(block, ("message", "content", index), here)


def _check_call(block: ToolUseBlock, steps: Path, here: LineReport) -> None:
    missing = [
        name for name in ("id", "input") if getattr(block, name) is UNSET and (*steps, name) not in here.faults
    ]
    if missing:
        here.add("004-6-content", f"Expected {join(missing)} in a `tool_use`, found nothing", steps)

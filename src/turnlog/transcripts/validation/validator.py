"""Holds lines to the rules of their dialects, one after another.

Each line costs the same, however many came before, and nothing is kept of it but its names and its place. What
a line breaks by itself is known at once; what it breaks together with lines that may yet come, at the end.

Any line, whatever its dialect, must be readable and all of it known. Decoding has found all of this already. A
problem that a spec has a rule of its own for is reported under that rule, and only the rest under these.

A line of a conversation must have its dialect's required fields and a time in the right form. Today's lines
beside the conversation (titles, modes, checkpoints) have no uuid and no time by design, so only those of the
conversation are asked.

Of the blocks of a message, images must be such that can be shown, and calls must say what they call.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import get_args

from turnlog.messages import UNSET, Dialect, Line, Position, Problem, ProblemKind
from turnlog.messages.blocks import Base64Source, ContentBlock, ImageBlock, ToolResultBlock, ToolUseBlock
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, ProgressEntry, UnknownEntry, UserEntry
from turnlog.messages.envelope import Envelope, instant
from turnlog.messages.legacy import Api003, Document003, StoredDate, StoredType
from turnlog.messages.message import Message
from turnlog.messages.spans import Path
from turnlog.messages.system import SystemNotice, SystemSubtype
from turnlog.transcripts.line_reader import LineReader, Tail
from turnlog.transcripts.lines.content import is_call, is_result, list_blocks
from turnlog.transcripts.validation import rules, stream
from turnlog.transcripts.validation.rules import LineRef, LineReport, Report, Rule, join, quote
from turnlog.transcripts.validation.threads import CallPairing, Node, Threads, kind_of

_CONVERSATION = frozenset(
    {UserEntry, AssistantEntry, AttachmentEntry, ProgressEntry, SystemNotice, *get_args(SystemSubtype)}
)
_FIELDS = {"uuid": "uuid", "session_id": "sessionId", "timestamp": "timestamp"}
_REQUIRED: Mapping[Dialect, tuple[str, Mapping[str, str]]] = {
    Dialect.CLAUDE_CODE: ("000-F1-required-fields", _FIELDS),
    Dialect.SPEC_000: ("000-F1-required-fields", _FIELDS),
    Dialect.SPEC_004: ("004-1-required-fields", {"parent_uuid": "parentUuid", **_FIELDS}),
}
_ISO = frozenset({Dialect.CLAUDE_CODE, Dialect.SPEC_000, *rules.STORED})
_ABSENT = (UNSET, None, "")


def check_envelope(entry: Envelope, here: LineReport, *, is_date: bool = False) -> datetime | None:
    """Check a line's envelope, and return its time; a database's own `$date` may be a number."""
    if here.spot.dialect is Dialect.CLAUDE_CODE and type(entry) not in _CONVERSATION:
        return None
    stamp = entry.timestamp
    if not (entry.uuid and entry.session_id and stamp) or entry.parent_uuid is UNSET:
        _check_required(entry, here)
    time = instant(stamp)
    if stamp is UNSET:
        return None
    if here.spot.dialect in _ISO:
        if time is None or (type(stamp) is not str and not is_date):
            here.add(
                "000-2-iso-timestamp", f"Expected a time in ISO 8601, found {quote(stamp)}", ("timestamp",)
            )
    elif here.spot.dialect is Dialect.SPEC_004 and (time is None or type(stamp) is str):
        message = f"Expected Unix milliseconds, found {quote(stamp)}"
        here.add("004-F1-field-types", message, ("timestamp",))
    return time


def _check_required(entry: Envelope, here: LineReport) -> None:
    if here.spot.dialect not in _REQUIRED:
        return
    rule, fields = _REQUIRED[here.spot.dialect]
    missing = []
    for name, key in fields.items():
        value = getattr(entry, name)
        absent = value is UNSET if name == "parent_uuid" else value in _ABSENT
        if absent and (key,) not in here.faults:
            missing.append(key)
    if missing:
        here.add(rule, f"Expected {join(missing)}, found nothing")


_CONTENT: Path = ("message", "content")
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def place_of(line: Line) -> Path:
    """Return where the blocks of a line's message stand."""
    wire = line.wire
    if not isinstance(wire, Document003 | Api003):
        return _CONTENT
    if isinstance(wire.message_data, Message):
        return ("messageData" if isinstance(wire, Document003) else "message_data", "content")
    whole = isinstance(wire, Document003) and isinstance(wire.message, Message)
    return _CONTENT if whole else ("content",)


def check_blocks(line: Line, blocks: Sequence[ContentBlock], here: LineReport) -> None:
    """Check the blocks of a line's message, and those of the results among them."""
    waiting: list[tuple[Sequence[ContentBlock], Path | None]] = [(blocks, None)]
    for inner, told in waiting:  # grows while it is walked: results may hold blocks
        for index, block in enumerate(inner):
            kind = type(block)
            if kind is not ToolUseBlock and kind is not ToolResultBlock and kind is not ImageBlock:
                continue
            steps = (*(place_of(line) if told is None else told), index)
            match block:
                case ImageBlock():
                    _check_image(block, steps, here)
                case ToolUseBlock():
                    _check_call(line, block, steps, here)
                case ToolResultBlock():
                    _check_result(block, steps, here)
                    if isinstance(block.content, tuple):
                        waiting.append((block.content, (*steps, "content")))


def _check_call(line: Line, block: ToolUseBlock, steps: Path, here: LineReport) -> None:
    if block.input is not UNSET or here.spot.dialect is Dialect.SPEC_000:
        return
    if isinstance(line.wire, Document003 | Api003) and line.wire.type is StoredType.TOOL_USE:
        steps = ("content",)  # which is a text: the block is in it
    here.add("000-5-tool-fields", "Expected `input` in a `tool_use`, found nothing", steps)


def _check_result(block: ToolResultBlock, steps: Path, here: LineReport) -> None:
    if not block.tool_use_id and (*steps, "tool_use_id") not in here.faults:
        here.add("004-4-tool-correlation", "Expected `tool_use_id` in a `tool_result`, found nothing", steps)


def _check_image(block: ImageBlock, steps: Path, here: LineReport) -> None:
    source = block.source
    if not isinstance(source, Base64Source):
        if here.spot.dialect is Dialect.SPEC_004:  # the API has come to know addresses and files, too
            here.add(
                "004-7-image-encoding",
                f"Expected a `base64` source, found {quote(source.type)}",
                (*steps, "source"),
            )
        return
    if source.media_type not in _IMAGE_TYPES:
        found = "nothing" if source.media_type is UNSET else quote(source.media_type)
        message = f"Expected one of {join(_IMAGE_TYPES, 'or')}, found {found}"
        here.add("004-7-image-encoding", message, (*steps, "source", "media_type"))
    flaw = _find_flaw(source.data)
    if flaw is not None:
        here.add("004-7-image-encoding", f"Expected base64, found {flaw}", (*steps, "source", "data"))


def _find_flaw(data: str) -> str | None:
    """Return what is wrong with a text that should be base64; None if nothing is."""
    if not data:
        return "nothing"
    try:
        binascii.a2b_base64(data, strict_mode=True)
    except ValueError as error:  # `binascii.Error` is one
        return f"other text ({error})"
    return None


RuleFinder = Callable[[Line, Problem], str | None]
"""Returns the rule of a spec that a problem of a line breaks, or None if the spec has none for it."""


def report_problems(line: Line, here: LineReport) -> None:
    """Report what decoding found wrong or unknown."""
    find_rule = _RULE_FINDERS.get(line.dialect)
    for problem in line.problems:
        rule = None if find_rule is None else find_rule(line, problem)
        if rule is None and isinstance(line.entry, UnknownEntry) and line.entry.type is None:
            rule = "line-missing-type" if problem.kind is ProblemKind.UNKNOWN_TYPE else None
        message = f"Expected {rules.clean(problem.expected)}, found {rules.clean(problem.found)}"
        # Where it is not known, finding the offset would take a scan of the line for each problem.
        if problem.known_offset is not None:
            message = f"{message} (byte {problem.known_offset})"
        here.add(rule or f"line-{problem.kind.value}", message, problem.steps)


def report_tail(tail: Tail, here: LineReport) -> None:
    """Report what stands at the end of a file and is no line."""
    here.add("line-torn", f"Expected the end of the line, found the end of the file after {tail.size} bytes")


_ORDER: Mapping[str, int] = {rule.id: index for index, rule in enumerate(rules.RULES)}
_ROW = "| {} |"


def sort_findings(findings: list[rules.Finding]) -> list[rules.Finding]:
    """Return findings line by line, for each line in the order of the rules, and else as they came."""
    return sorted(findings, key=lambda finding: (finding.index, _ORDER[finding.rule.id]))


def render_table() -> str:
    """Return the table of all rules in Markdown, with a line break at its end."""
    heads = ("Rule", "Section of the spec", "Requirement", "Why", "Severity")
    rows = [heads, tuple("---" for _ in heads), *map(_cells, rules.RULES)]
    return "".join(_ROW.format(" | ".join(cells)) + "\n" for cells in rows)


def _cells(rule: Rule) -> tuple[str, ...]:
    source = f"{rule.spec}: {rule.section}" if rule.spec else "any line"
    return f"`{rule.id}`", source, rule.title, rule.why, _render_severities(rule)


def _render_severities(rule: Rule) -> str:
    parts = []
    for severity in rules.Severity:
        dialects = [dialect for dialect, each in rule.severities if each is severity]
        if dialects:
            parts.append(f"{severity}: {_render_dialects(dialects)}")
    return "; ".join(parts)


def _render_dialects(dialects: list[Dialect]) -> str:
    if len(dialects) == len(rules.ALL):
        return "all"
    names = [dialect.value for dialect in dialects if dialect not in rules.STORED]
    if set(rules.STORED) <= set(dialects):
        names.append("spec-003")
    return ", ".join(sorted(names))


_RULE_FINDERS: Mapping[Dialect, RuleFinder] = {
    Dialect.CLAUDE_CODE: rules.find_rule_today,
    Dialect.SPEC_000: rules.find_rule_000,
    **dict.fromkeys(rules.STORED, rules.find_rule_003),
    Dialect.SPEC_004: rules.find_rule_004,
    Dialect.STREAM: stream.find_rule,
    Dialect.CONTROL: stream.find_frame_rule,
    Dialect.HOOK: stream.find_hook_rule,
}


def validate(lines: Iterable[Line]) -> list[rules.Finding]:
    """Return all that breaks a rule, line by line. Of a file that is read here, a torn tail is told, too."""
    validator = Validator()
    findings = [finding for line in lines for finding in validator.add(line)]
    tail = lines.tail if isinstance(lines, LineReader) else None
    return sort_findings(findings + validator.finish(tail))


class Validator:
    """Validates lines as they come in: one for each file."""

    def __init__(self) -> None:
        self._report = Report()
        self._threads = Threads(self._report)
        self._pairs = CallPairing(self._report)
        self._stream = stream.Stream(self._report)
        self._control = stream.Control(self._report)
        self._count = 0
        self._source = ""

    def add(self, line: Line) -> list[rules.Finding]:
        """Take the next line, and return what is known by it to break a rule; also of lines before it."""
        spot = LineRef(self._count, line.at, line.dialect)
        self._count += 1
        if line.at is not None:
            self._source = line.at.source
        here = LineReport(self._report, spot, frozenset([problem.steps for problem in line.problems]))
        if line.problems:
            report_problems(line, here)
        self._check(line, here)
        return sort_findings(self._report.take())

    def finish(self, tail: Tail | None = None) -> list[rules.Finding]:
        """Return what is known only now that no line follows. Nothing can be added after that."""
        self._threads.finish()
        self._pairs.finish()
        self._stream.finish()
        self._control.finish()
        if tail is not None:
            spot = LineRef(self._count, Position(self._source, tail.offset), Dialect.UNKNOWN)
            report_tail(tail, LineReport(self._report, spot, ()))
        return sort_findings(self._report.take())

    def _check(self, line: Line, here: LineReport) -> None:
        entry = line.entry
        if isinstance(entry, Envelope):
            self._check_message(line, entry, here)
        elif here.spot.dialect is Dialect.STREAM:
            blocks = list_blocks(entry)
            if blocks:
                check_blocks(line, blocks, here)
            self._stream.add(line, here)
        elif here.spot.dialect is Dialect.CONTROL:
            self._control.add(line, here)

    def _check_message(self, line: Line, entry: Envelope, here: LineReport) -> None:
        """Check a line of a session file, or one of whatever dialect of which only the envelope is known."""
        is_date = isinstance(getattr(line.wire, "timestamp", None), StoredDate)
        time = check_envelope(entry, here, is_date=is_date)
        blocks = list_blocks(line.entry)
        calls = answers = False
        if blocks:
            calls, answers = any(map(is_call, blocks)), any(map(is_result, blocks))
            check_blocks(line, blocks, here)
        if line.wire is not None:
            rules.check_fields(line, here)
            rules.check_message(line, here)
        self._threads.add(Node(entry, kind_of(line, calls, answers), time, here.spot))
        if calls or answers or here.spot.dialect is Dialect.SPEC_000:
            self._pairs.add(line, blocks, here.spot)

"""Holds lines to the rules of their dialects, one after another.

Each line costs the same, however many came before, and nothing is kept of it but its names and its place. What
a line breaks by itself is known at once; what it breaks together with lines that may yet come, at the end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from turnlog.messages import Dialect, Line, Position
from turnlog.messages.envelope import Envelope
from turnlog.messages.legacy import StoredDate
from turnlog.messages.spans import Path
from turnlog.transcripts.files.reader import LineReader, Tail
from turnlog.transcripts.lines.blocks import is_call, is_result, list_blocks
from turnlog.transcripts.validation import control, specs, stream
from turnlog.transcripts.validation.control import CONTROL_RULES
from turnlog.transcripts.validation.findings import ALL, STORED, Finding, Report, Rule, Severity, Spot
from turnlog.transcripts.validation.lines import (
    LINE_RULES,
    Claim,
    Node,
    check_blocks,
    check_envelope,
    kind_of,
    report_problems,
    report_tail,
)
from turnlog.transcripts.validation.specs import RULES_000, RULES_003, RULES_004
from turnlog.transcripts.validation.stream import STREAM_RULES
from turnlog.transcripts.validation.threads import Pairs, Threads


def _position(rule: Rule) -> tuple[int, ...]:
    """Return where a rule of spec 001 stands: by its section, and as declared within that."""
    return tuple(int(part) for part in rule.id.split("-")[1].split("."))


RULES: tuple[Rule, ...] = (
    *LINE_RULES,
    *RULES_000,
    *sorted((*STREAM_RULES, *CONTROL_RULES), key=_position),
    *RULES_003,
    *RULES_004,
)
"""Every rule: those of any line first, then spec by spec."""

_ORDER: Mapping[str, int] = MappingProxyType({rule.id: index for index, rule in enumerate(RULES)})
_ROW = "| {} |"


def sort_findings(findings: list[Finding]) -> list[Finding]:
    """Return findings line by line, for each line in the order of the rules, and else as they came."""
    return sorted(findings, key=lambda finding: (finding.index, _ORDER[finding.rule.id]))


def render_table() -> str:
    """Return the table of all rules in Markdown, with a line break at its end."""
    heads = ("Rule", "Section of the spec", "Requirement", "Why", "Severity")
    rows = [heads, tuple("---" for _ in heads), *map(_cells, RULES)]
    return "".join(_ROW.format(" | ".join(cells)) + "\n" for cells in rows)


def _cells(rule: Rule) -> tuple[str, ...]:
    source = f"{rule.spec}: {rule.section}" if rule.spec else "any line"
    return f"`{rule.id}`", source, rule.title, rule.why, _render_severities(rule)


def _render_severities(rule: Rule) -> str:
    parts = []
    for severity in Severity:
        dialects = [dialect for dialect, each in rule.severities if each is severity]
        if dialects:
            parts.append(f"{severity}: {_render_dialects(dialects)}")
    return "; ".join(parts)


def _render_dialects(dialects: list[Dialect]) -> str:
    if len(dialects) == len(ALL):
        return "all"
    names = [dialect.value for dialect in dialects if dialect not in STORED]
    if set(STORED) <= set(dialects):
        names.append("spec-003")
    return ", ".join(sorted(names))


_CLAIMS: Mapping[Dialect, Claim] = MappingProxyType(
    {
        Dialect.CLAUDE_CODE: specs.claim_today,
        Dialect.SPEC_000: specs.claim_000,
        **dict.fromkeys(STORED, specs.claim_003),
        Dialect.SPEC_004: specs.claim_004,
        Dialect.STREAM: stream.claim,
        Dialect.CONTROL: control.claim,
        Dialect.HOOK: control.claim_hook,
    }
)
_NO_FAULTS: Collection[Path] = frozenset()


def validate(lines: Iterable[Line]) -> list[Finding]:
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
        self._pairs = Pairs(self._report)
        self._stream = stream.Stream(self._report)
        self._control = control.Control(self._report)
        self._count = 0
        self._source = ""

    def add(self, line: Line) -> list[Finding]:
        """Take the next line, and return what is known by it to break a rule; also of lines before it."""
        spot = Spot(self._count, line.at, line.dialect)
        self._count += 1
        if line.at is not None:
            self._source = line.at.source
        faults = _NO_FAULTS
        if line.problems:
            faults = frozenset(problem.steps for problem in line.problems)
            report_problems(line, spot, self._report, _CLAIMS)
        self._check(line, faults, spot)
        return sort_findings(self._report.take())

    def finish(self, tail: Tail | None = None) -> list[Finding]:
        """Return what is known only now that no line follows. Nothing can be added after that."""
        self._threads.finish()
        self._pairs.finish()
        self._stream.finish()
        self._control.finish()
        if tail is not None:
            spot = Spot(self._count, Position(self._source, tail.offset), Dialect.UNKNOWN)
            report_tail(tail, spot, self._report)
        return sort_findings(self._report.take())

    def _check(self, line: Line, faults: Collection[Path], spot: Spot) -> None:
        entry = line.entry
        if isinstance(entry, Envelope):
            self._check_message(line, entry, faults, spot)
        elif spot.dialect is Dialect.STREAM:
            blocks = list_blocks(entry)
            if blocks:
                check_blocks(line, blocks, faults, spot, self._report)
            self._stream.add(line, faults, spot)
        elif spot.dialect is Dialect.CONTROL:
            self._control.add(line, faults, spot)

    def _check_message(self, line: Line, entry: Envelope, faults: Collection[Path], spot: Spot) -> None:
        """Check a line of a session file, or one of whatever dialect of which only the envelope is known."""
        is_date = isinstance(getattr(line.wire, "timestamp", None), StoredDate)
        time = check_envelope(entry, faults, spot, self._report, is_date=is_date)
        blocks = list_blocks(line.entry)
        calls = answers = False
        if blocks:
            calls, answers = any(map(is_call, blocks)), any(map(is_result, blocks))
            check_blocks(line, blocks, faults, spot, self._report)
        if line.wire is not None:
            specs.check_fields(line, faults, spot, self._report)
            specs.check_message(line, faults, spot, self._report)
        self._threads.add(Node(entry, kind_of(line, calls, answers), time, spot))
        if calls or answers or spot.dialect is Dialect.SPEC_000:
            self._pairs.add(line, blocks, spot)

"""What `turnlog validate` says, as a value: its JSON is this value as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from turnlog.cli.files import STDIN_NAME, read_stdin
from turnlog.messages import Dialect, Line
from turnlog.transcripts.files.reader import LineSplitter, Tail, read_lines
from turnlog.transcripts.files.session_files import path_text
from turnlog.transcripts.queries.bodies import decode_all
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.validation.findings import Finding, Severity
from turnlog.transcripts.validation.validator import Validator

_SEVERITIES = tuple(Severity)


class FindingItem(Struct, frozen=True, gc=False):
    """One thing that breaks a rule."""

    severity: Severity
    rule: str
    message: str
    line: int
    """Which of the file's lines that are not blank, from 1."""
    offset: int | None
    """Where in the file that line begins."""
    path: str
    """Where in the line: a JSON path."""
    dialect: Dialect


class FileReport(Struct, frozen=True, gc=False):
    """What was found in one file."""

    path: str
    lines: int
    counts: dict[Severity, int]
    """Of all findings, listed or not."""
    findings: tuple[FindingItem, ...]


class ValidationReport(Struct, frozen=True, gc=False):
    """What was found in some files."""

    files: tuple[FileReport, ...]
    lines: int
    counts: dict[Severity, int]


def reaches(severity: Severity, threshold: Severity) -> bool:
    """Tell whether something is at least as serious as the threshold."""
    return _SEVERITIES.index(severity) <= _SEVERITIES.index(threshold)


def validate_file(path: Path, threshold: Severity) -> FileReport:
    """Read a file, and return all that breaks a rule in it, down to the threshold. Raises `OSError`."""
    reader = read_lines(path, source=path_text(path))
    return _validate(path_text(path), reader, lambda: reader.tail, threshold)


def validate_stdin(threshold: Severity) -> FileReport:
    """Read standard input, and return all that breaks a rule in it, down to the threshold."""
    splitter = LineSplitter(STDIN_NAME)

    def read() -> Iterator[Line]:
        for chunk in read_stdin():
            yield from splitter.feed(chunk)
        yield from splitter.finish()

    return _validate(STDIN_NAME, read(), lambda: splitter.tail, threshold)


def validate_session(name: str, session: SessionRecords, threshold: Severity) -> Iterator[FileReport]:
    """Yield what breaks a rule in the transcript of a session, and in each file of its sub-agents."""
    for chapter in session.list_conversations():
        own = name if chapter.facts.is_main else f"{name}, agent {chapter.facts.agent_id}"
        if chapter.count_lines or not chapter.facts.is_main:
            yield _validate(own, decode_all(chapter), lambda: None, threshold)


def _validate(
    name: str, given: Iterable[Line], find_tail: Callable[[], Tail | None], threshold: Severity
) -> FileReport:
    validator = Validator()
    counts: Counter[Severity] = Counter()
    items: list[FindingItem] = []
    lines = 0

    def take(findings: Iterable[Finding]) -> None:
        for finding in findings:
            counts[finding.severity] += 1
            if reaches(finding.severity, threshold):
                items.append(_item(finding))

    for line in given:
        lines += 1
        take(validator.add(line))
    take(validator.finish(find_tail()))
    items.sort(key=lambda item: item.line)
    return FileReport(name, lines, _in_order(counts), tuple(items))


def build_report(files: Iterable[FileReport]) -> ValidationReport:
    """Return what all files come to."""
    reports = tuple(files)
    counts: Counter[Severity] = Counter()
    for report in reports:
        counts.update(report.counts)
    return ValidationReport(reports, sum(report.lines for report in reports), _in_order(counts))


def _item(finding: Finding) -> FindingItem:
    return FindingItem(
        severity=finding.severity,
        rule=finding.rule.id,
        message=finding.message,
        line=finding.number,
        offset=None if finding.at is None else finding.at.offset,
        path=finding.path,
        dialect=finding.dialect,
    )


def _in_order(counts: Counter[Severity]) -> dict[Severity, int]:
    return {severity: counts[severity] for severity in Severity}

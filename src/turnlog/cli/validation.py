"""`turnlog validate` and `turnlog migrate`: files held to the rules of their dialects, and corrected.

The report of a validation is a value; its JSON is this value as it is. A migration gives stored tool messages
the right parents (spec 003), and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import click
from msgspec import Struct
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from turnlog.cli import terminal
from turnlog.cli.files import STDIN, STDIN_NAME, find_files, read_stdin, require_file
from turnlog.cli.output import Output, PathOrDatabase, output_options, password_option, show_progress, track
from turnlog.cli.session_input import is_file_name, open_session_input
from turnlog.errors import MigrationError
from turnlog.export.plain_text import plural
from turnlog.messages import Dialect, Line
from turnlog.shapes import fill
from turnlog.transcripts.line_reader import LineSplitter, Tail, read_lines
from turnlog.transcripts.migration import CorrectionKind, Leftover, LeftReason, Migration, migrate
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import decode_all
from turnlog.transcripts.session_files import path_text
from turnlog.transcripts.validation.rules import RULES, Finding, Rule, Severity
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


def is_at_least(severity: Severity, threshold: Severity) -> bool:
    """Tell whether something is at least as serious as the threshold."""
    return _SEVERITIES.index(severity) <= _SEVERITIES.index(threshold)


def validate_file(path: Path, threshold: Severity) -> FileReport:
    """Read a file, and return all that breaks a rule in it, down to the threshold. Raises `OSError`."""
    reader = read_lines(path, source=path_text(path))
    return _validate_lines(path_text(path), reader, lambda: reader.tail, threshold)


def validate_stdin(threshold: Severity) -> FileReport:
    """Read standard input, and return all that breaks a rule in it, down to the threshold."""
    splitter = LineSplitter(STDIN_NAME)

    def read() -> Iterator[Line]:
        for chunk in read_stdin():
            yield from splitter.feed(chunk)
        yield from splitter.finish()

    return _validate_lines(STDIN_NAME, read(), lambda: splitter.tail, threshold)


def validate_session(name: str, session: SessionRecords, threshold: Severity) -> Iterator[FileReport]:
    """Yield what breaks a rule in the transcript of a session, and in each file of its sub-agents."""
    for chapter in session.list_conversations():
        own = name if chapter.facts.is_main else f"{name}, agent {chapter.facts.agent_id}"
        if chapter.count_lines or not chapter.facts.is_main:
            yield _validate_lines(own, decode_all(chapter), lambda: None, threshold)


def _validate_lines(
    name: str, given: Iterable[Line], find_tail: Callable[[], Tail | None], threshold: Severity
) -> FileReport:
    validator = Validator()
    counts: Counter[Severity] = Counter()
    items: list[FindingItem] = []
    lines = 0

    def take(findings: Iterable[Finding]) -> None:
        for finding in findings:
            counts[finding.severity] += 1
            if is_at_least(finding.severity, threshold):
                items.append(_finding_item(finding))

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


def _finding_item(finding: Finding) -> FindingItem:
    offset = None if finding.at is None else finding.at.offset
    return fill(FindingItem, finding, rule=finding.rule.id, line=finding.number, offset=offset)


def _in_order(counts: Counter[Severity]) -> dict[Severity, int]:
    return {severity: counts[severity] for severity in Severity}


_STYLES: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}
)
_MOST_FINDINGS = 10
"""How many findings of one rule are listed for a file, unless all are asked for."""


def render_findings(report: ValidationReport, everything: bool) -> Iterator[RenderableType]:
    """Yield the findings of each file, the gravest first, and what they come to."""
    for file in report.files:
        if file.findings:
            yield Text(terminal.clean_line(file.path), "bold")
            yield _findings_table(file, everything)
            yield Text()
    yield _describe_total(report)


def render_rules() -> Iterator[RenderableType]:
    """Yield the table of all rules."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("rule", "at worst", "spec", "what has to be so"):
        table.add_column(name, overflow="fold", no_wrap=name in ("rule", "at worst"))
    for rule in RULES:
        table.add_row(rule.id, Text(rule.severity, _STYLES[rule.severity]), _rule_origin(rule), rule.title)
    yield table


def _findings_table(file: FileReport, everything: bool) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1))
    for name in ("severity", "line", "rule"):
        table.add_column(name, no_wrap=True, justify="right" if name == "line" else "left")
    table.add_column("message", overflow="fold")
    for severity in Severity:
        listed: Counter[str] = Counter()
        for item in (item for item in file.findings if item.severity is severity):
            listed[item.rule] += 1
            if everything or listed[item.rule] <= _MOST_FINDINGS:
                table.add_row(*_finding_cells(item))
        for rule, count in listed.items():
            if not everything and count > _MOST_FINDINGS:
                table.add_row(
                    Text(severity, _STYLES[severity]),
                    "",
                    rule,
                    f"… and {count - _MOST_FINDINGS:,} more (list them with --all)",
                )
    return table


def _finding_cells(item: FindingItem) -> Iterator[Text]:
    yield Text(item.severity, _STYLES[item.severity])
    yield Text(f"line {item.line}")
    yield Text(item.rule, "dim")
    yield Text(terminal.clean_line(item.message))


def _describe_total(report: ValidationReport) -> Text:
    counts = ", ".join(plural(count, severity) for severity, count in report.counts.items() if count)
    scope = f"{plural(len(report.files), 'file')}, {plural(report.lines, 'line')}"
    worst = next((severity for severity, count in report.counts.items() if count), Severity.NOTE)
    return Text(f"{scope}: {counts or 'no problems'}", _STYLES[worst] if counts else "green")


def _rule_origin(rule: Rule) -> str:
    return f"{rule.spec} {rule.section}" if rule.spec else "any line"


_STDIN = Path(STDIN)


@click.command("validate")
@click.argument("names", metavar="PATH|ID...", type=click.Path(path_type=Path), nargs=-1)
@click.option(
    "--severity",
    type=click.Choice([severity.value for severity in reversed(Severity)]),
    default=Severity.WARNING.value,
    show_default=True,
    help="List findings that are at least this serious; all of them are counted.",
)
@click.option("--strict", is_flag=True, help="Fail on warnings, too.")
@click.option("--all", "everything", is_flag=True, help="List every finding, not just the first ten of a kind.")
@click.option("--rules", is_flag=True, help="List the rules instead.")
@output_options(pager=True)
def validate_command(
    names: tuple[Path, ...],
    severity: str,
    strict: bool,
    everything: bool,
    rules: bool,
    output: Output,
) -> None:
    """Check session files against the rules of their dialects.

    PATH is a file in any dialect (session files with their sub-agents', the SDK's stream, hook events), a
    folder of sessions, or - for standard input. ID is the beginning of an archived session's id, or of the
    name that you gave it. Exit status 1 means that there are errors; what is normal in real sessions is a
    note.

    Examples:
      turnlog validate session.jsonl
      turnlog validate 5e55ce27 --severity note    an archived session
      turnlog validate ~/.claude/projects --severity error
      turnlog validate stream.jsonl --strict --json
      claude -p … --output-format stream-json --verbose | turnlog validate -
      turnlog validate --rules
    """
    settings = output.settings
    if rules:
        output.show(RULES, render_rules())
        return
    if not names:
        raise click.UsageError("Missing argument 'PATH|ID...'.", click.get_current_context())
    threshold = Severity(severity)
    given = [name for name in names if name != _STDIN]
    found = find_files(filter(_is_path, given))
    reports = [validate_stdin(threshold)] if _STDIN in names else []
    reports += _validate_paths(found.paths, threshold)
    unread = bool(found.obstacles) or len(reports) < len(found.paths) + (_STDIN in names)
    for name in given:
        if not _is_path(name):
            with (
                open_session_input(str(name), settings) as shown,
                show_progress(f"Reading {shown.name}"),
                shown.open() as session,
            ):
                reports += validate_session(shown.name, session, threshold)
    report = build_report(reports)
    is_empty = not report.lines and not any(report.counts.values())
    output.show(report, [] if is_empty else render_findings(report, everything))
    if is_empty:
        raise terminal.NothingFoundError(
            f"no lines in {found.describe() if found.paths else ', '.join(map(str, given)) or STDIN_NAME}"
        )
    if unread or _fails(report, Severity.WARNING if strict else Severity.ERROR):
        raise click.exceptions.Exit(terminal.FOUND_PROBLEMS)


def _is_path(name: Path) -> bool:
    return is_file_name(str(name)) or name.is_dir()


def _validate_paths(paths: tuple[Path, ...], threshold: Severity) -> Iterator[FileReport]:
    for path in track(paths, "Validating", len(paths)):
        try:
            yield validate_file(path, threshold)
        except OSError as error:
            terminal.warn(terminal.describe_os_error(error))


def _fails(report: ValidationReport, threshold: Severity) -> bool:
    return any(count and is_at_least(severity, threshold) for severity, count in report.counts.items())


_MOST_LEFTOVERS = 20


def render_migration(migration: Migration, dry_run: bool) -> Iterator[Text]:
    """Yield what was corrected, and what was left as it is and why."""
    documents = plural(migration.documents, "document")
    messages = plural(migration.tool_uses + migration.tool_results, "tool message")
    yield Text(f"{documents}, {messages}: {migration.right:,} right as they were")
    verb = "to correct" if dry_run else "corrected"
    yield _describe_counts(verb, migration.changed, migration.count_corrections().items())
    if migration.left:
        yield _describe_counts("left as they are", len(migration.left), migration.count_left().items())
        yield from (Text(_describe_leftover(each), style="dim") for each in migration.left[:_MOST_LEFTOVERS])
        if len(migration.left) > _MOST_LEFTOVERS:
            yield Text(
                f"  … and {len(migration.left) - _MOST_LEFTOVERS:,} more (--json lists all)", style="dim"
            )


def _describe_counts(verb: str, count: int, kinds: Iterable[tuple[str, int]]) -> Text:
    details = ", ".join(f"{kind} {number:,}" for kind, number in kinds)
    return Text(f"{verb}: {count:,}" + (f" ({details})" if details else ""))


def _describe_leftover(left: Leftover) -> str:
    named = f", {terminal.clean_line(left.uuid)}" if left.uuid else ""
    return f"  byte {left.at.offset}{named}: {left.reason}"


class CorrectionItem(Struct, frozen=True, gc=False):
    """A document that is written anew, and where it stands in IN."""

    offset: int
    uuid: str | None
    kinds: tuple[CorrectionKind, ...]
    old_parent: str | None
    parent: str | None


class LeftoverItem(Struct, frozen=True, gc=False):
    """Something that is left as it is, and where it stands in IN."""

    offset: int
    uuid: str | None
    reason: LeftReason


class MigrationDocument(Struct, frozen=True, gc=False):
    """What `turnlog migrate --json` prints."""

    source: str
    target: str
    dry_run: bool
    documents: int
    tool_uses: int
    tool_results: int
    right: int
    changed: int
    corrected: dict[CorrectionKind, int]
    left_for: dict[LeftReason, int]
    corrections: tuple[CorrectionItem, ...]
    left: tuple[LeftoverItem, ...]


@click.command("migrate")
@click.argument("source", metavar="IN|ADDRESS", type=PathOrDatabase(path_type=Path))
@click.argument("target", metavar="[OUT]", type=click.Path(path_type=Path), required=False)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and write nothing.")
@click.option("--force", is_flag=True, help="Overwrite OUT if it exists; it may be IN itself.")
@click.option("--undo", is_flag=True, help="With ADDRESS: take back what was corrected there.")
@password_option
@output_options()
def migrate_command(
    source: Path | str,
    target: Path | None,
    dry_run: bool,
    force: bool,
    undo: bool,
    password_file: Path | None,
    output: Output,
) -> None:
    """Correct stored tool messages that have the wrong parents.

    IN holds documents of tool messages, one per line or as mongoexport writes them; OUT gets the same bytes
    except for parents and flags that are wrong (spec 003). Migrating again changes nothing. What cannot be
    decided for certain is left as it is, and listed. Documents in a MongoDB database, at ADDRESS, are corrected
    in place.

    Examples:
      turnlog migrate messages.jsonl messages.fixed.jsonl --dry-run
      turnlog migrate messages.jsonl messages.fixed.jsonl
      turnlog migrate messages.jsonl messages.jsonl --force    in place
      turnlog migrate mongodb://host/name                      in a database
      turnlog migrate mongodb://host/name --undo               and back
    """
    if isinstance(source, str):
        if target is not None or force:
            raise terminal.MisuseError(
                "documents of a database are corrected in place: without OUT and --force"
            )
        _migrate_database(source, password_file, dry_run, undo, output)
        return
    if target is None:
        raise terminal.MisuseError("name a file for the corrected documents: turnlog migrate IN OUT")
    if undo or password_file is not None:
        raise terminal.MisuseError("--undo and --password-file need mongodb://host/database")
    require_file(source)
    try:
        with show_progress(f"Migrating {path_text(source)}") as report:
            done = migrate(source, target, in_place=force, force=force, dry_run=dry_run, on_progress=report)
    except MigrationError as error:
        hint = "" if force or not target.is_file() else "; --force overwrites it"
        raise terminal.MisuseError(f"{error}{hint}") from error
    shown = render_migration(done, dry_run) if done.documents else []
    output.show(_migration_document(done, source, target, dry_run), shown)
    if not done.documents:
        raise terminal.NothingFoundError(f"{path_text(source)}: no documents")


def _migrate_database(
    address: str, password_file: Path | None, dry_run: bool, undo: bool, output: Output
) -> None:
    from turnlog.cli.database import load, open_database

    module = load("mongodb_migration")
    with open_database(address, password_file) as database, show_progress("Migrating documents") as report:
        if undo:
            undone = module.undo_migration(database, dry_run=dry_run, on_progress=report)
        else:
            applied = module.migrate_database(database, dry_run=dry_run, on_progress=report)
    if undo:
        would = " would be" if dry_run else ""
        shown = (
            f"{plural(undone.restored, 'document')}{would} as before, {undone.left:,} changed since and left"
        )
        output.show(undone, [shown])
        return
    done = applied.plan
    output.show(_migration_document(done, address, address, dry_run), render_migration(done, dry_run))
    if applied.lost:
        terminal.warn(f"{plural(applied.lost, 'document')} changed meanwhile; run this again")


def _migration_document(
    done: Migration, source: Path | str, target: Path | str, dry_run: bool
) -> MigrationDocument:
    return fill(
        MigrationDocument,
        done,
        source=path_text(source),
        target=path_text(target),
        dry_run=dry_run,
        corrected=done.count_corrections(),
        left_for=done.count_left(),
        corrections=tuple(fill(CorrectionItem, each, offset=each.at.offset) for each in done.corrections),
        left=tuple(fill(LeftoverItem, each, offset=each.at.offset) for each in done.left),
    )

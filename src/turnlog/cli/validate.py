"""`turnlog validate`: files held to the rules of their dialects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from turnlog.cli.failures import FOUND_PROBLEMS, NothingFoundError, explain
from turnlog.cli.files import STDIN, STDIN_NAME, find_files, warn
from turnlog.cli.options import color_option, json_option, pager_option
from turnlog.cli.output import Output
from turnlog.cli.progress import track, waiting
from turnlog.cli.rendering.findings import render_findings, render_rules
from turnlog.cli.shown import is_file_name, open_shown
from turnlog.cli.validation_report import (
    FileReport,
    ValidationReport,
    build_report,
    reaches,
    validate_file,
    validate_session,
    validate_stdin,
)
from turnlog.config import Settings
from turnlog.transcripts.validation.findings import Severity
from turnlog.transcripts.validation.validator import RULES

_STDIN = Path(STDIN)


@click.command(
    "validate",
    epilog="""\b
Examples:
  turnlog validate session.jsonl
  turnlog validate 5e55ce27 --severity note    an archived session
  turnlog validate ~/.claude/projects --severity error
  turnlog validate stream.jsonl --strict --json
  claude -p … --output-format stream-json --verbose | turnlog validate -
  turnlog validate --rules
""",
)
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
@json_option
@color_option
@pager_option
def command(
    names: tuple[Path, ...],
    severity: str,
    strict: bool,
    everything: bool,
    rules: bool,
    as_json: bool,
    color: bool | None,
    pager: bool | None,
) -> None:
    """Check session files against the rules of their dialects.

    PATH is a file in any dialect (session files with their sub-agents', the SDK's stream, hook events), a
    folder of sessions, or - for standard input. ID is the beginning of an archived session's id, or of the
    name that you gave it. Exit status 1 means that there are errors; what is normal in real sessions is a
    note.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager)
    if rules:
        output.print_json(RULES) if as_json else output.print(render_rules())
        return
    if not names:
        raise click.UsageError("Missing argument 'PATH|ID...'.", click.get_current_context())
    threshold = Severity(severity)
    given = [name for name in names if name != _STDIN]
    found = find_files(filter(_is_path, given))
    reports = [validate_stdin(threshold)] if _STDIN in names else []
    reports += _validate(found.paths, threshold)
    unread = bool(found.obstacles) or len(reports) < len(found.paths) + (_STDIN in names)
    for name in given:
        if not _is_path(name):
            with (
                open_shown(str(name), settings) as shown,
                waiting(f"Reading {shown.name}"),
                shown.open() as session,
            ):
                reports += validate_session(shown.name, session, threshold)
    report = build_report(reports)
    if as_json:
        output.print_json(report)
    elif report.lines or any(report.counts.values()):
        output.print(render_findings(report, everything))
    if not report.lines and not any(report.counts.values()):
        raise NothingFoundError(
            f"no lines in {found.describe() if found.paths else ', '.join(map(str, given)) or STDIN_NAME}"
        )
    if unread or _fails(report, Severity.WARNING if strict else Severity.ERROR):
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def _is_path(name: Path) -> bool:
    return is_file_name(str(name)) or name.is_dir()


def _validate(paths: tuple[Path, ...], threshold: Severity) -> Iterator[FileReport]:
    for path in track(paths, "Validating", len(paths)):
        try:
            yield validate_file(path, threshold)
        except OSError as error:
            warn(explain(error))


def _fails(report: ValidationReport, threshold: Severity) -> bool:
    return any(count and reaches(severity, threshold) for severity, count in report.counts.items())

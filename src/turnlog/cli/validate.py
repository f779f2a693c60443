"""`turnlog validate`: files held to the rules of their dialects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from turnlog.cli.failures import FOUND_PROBLEMS, NothingFoundError, explain
from turnlog.cli.files import STDIN, STDIN_NAME, find_files, warn
from turnlog.cli.options import color_option, json_option, pager_option
from turnlog.cli.output import Output
from turnlog.cli.progress import track
from turnlog.cli.rendering.findings import render_findings, render_rules
from turnlog.cli.validation_report import (
    FileReport,
    ValidationReport,
    build_report,
    reaches,
    validate_file,
    validate_stdin,
)
from turnlog.config import Settings
from turnlog.transcripts.validation import RULES, Severity

__all__ = ["command"]

_STDIN = Path(STDIN)


@click.command(
    "validate",
    epilog="""\b
Examples:
  turnlog validate session.jsonl
  turnlog validate ~/.claude/projects --severity error
  turnlog validate stream.jsonl --strict --json
  claude -p … --output-format stream-json --verbose | turnlog validate -
  turnlog validate --rules
""",
)
@click.argument("paths", metavar="PATH...", type=click.Path(path_type=Path), nargs=-1)
@click.option(
    "--severity",
    type=click.Choice([severity.value for severity in reversed(Severity)]),
    default=Severity.WARNING.value,
    show_default=True,
    help="List what is at least so serious; all of it is counted.",
)
@click.option("--strict", is_flag=True, help="Let warnings fail, too.")
@click.option("--all", "everything", is_flag=True, help="List every finding, not just the first ten of a kind.")
@click.option("--rules", is_flag=True, help="List the rules instead.")
@json_option
@color_option
@pager_option
def command(
    paths: tuple[Path, ...],
    severity: str,
    strict: bool,
    everything: bool,
    rules: bool,
    as_json: bool,
    color: bool | None,
    pager: bool | None,
) -> None:
    """Check session files against the rules of their dialects.

    PATH is a file in any dialect (session files, the SDK's stream, hook events), a folder of sessions, or - for
    standard input. Exit status 1 means that there are errors; what is normal in real sessions is a note.
    """
    output = Output(Settings.from_env(), color, pager)
    if rules:
        output.print_json(RULES) if as_json else output.print(render_rules())
        return
    if not paths:
        raise click.UsageError("Missing argument 'PATH...'.", click.get_current_context())
    piped, threshold = _STDIN in paths, Severity(severity)
    found = find_files((path for path in paths if path != _STDIN), with_agents=False)
    report = build_report(
        (*((validate_stdin(threshold),) if piped else ()), *_validate(found.paths, threshold))
    )
    if as_json:
        output.print_json(report)
    elif report.lines or any(report.counts.values()):
        output.print(render_findings(report, everything))
    if not report.lines and not any(report.counts.values()):
        raise NothingFoundError(f"no lines in {found.describe() if found.paths else STDIN_NAME}")
    unread = bool(found.obstacles) or len(report.files) < len(found.paths) + piped
    if unread or _fails(report, Severity.WARNING if strict else Severity.ERROR):
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def _validate(paths: tuple[Path, ...], threshold: Severity) -> Iterator[FileReport]:
    for path in track(paths, "Validating"):
        try:
            yield validate_file(path, threshold)
        except OSError as error:
            warn(explain(error))


def _fails(report: ValidationReport, threshold: Severity) -> bool:
    return any(count and reaches(severity, threshold) for severity, count in report.counts.items())

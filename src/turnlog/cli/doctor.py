"""`turnlog doctor`: what is wrong, or soon will be."""

from __future__ import annotations

import click

from turnlog.cli.checkup import Finding, State, check_up
from turnlog.cli.failures import FOUND_PROBLEMS
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.terminal import clean_line
from turnlog.config import Settings


@click.command(
    "doctor",
    epilog="""\b
Examples:
  turnlog doctor
  turnlog doctor --json
""",
)
@json_option
@color_option
def command(as_json: bool, color: bool | None) -> None:
    """Check this machine for problems with turnlog.

    Nothing is changed. A line says `ok`, `warn` or `fail`; exit status 1 means that something failed.
    `turnlog verify` checks whether the archive still has the bytes that it was given.
    """
    findings = check_up()
    output = Output(Settings(), color, pager=False)
    if as_json:
        output.print_json(findings)
    else:
        output.print(map(_describe, findings))
    if any(finding.state is State.FAIL for finding in findings):
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def _describe(finding: Finding) -> str:
    return f"{finding.state.value:<4}  {clean_line(f'{finding.subject}: {finding.message}')}"

"""Asking before something is done that cannot be undone."""

from __future__ import annotations

import sys

import click

from turnlog.cli.failures import FOUND_PROBLEMS, MisuseError

yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


def confirm(question: str, *, yes: bool, as_json: bool = False) -> None:
    """Ask, unless that was answered before; end the program, with nothing done, if the answer is no."""
    if yes:
        return
    if as_json:
        raise MisuseError("--json cannot ask for confirmation: use --yes or --dry-run")
    if sys.stdin is None or sys.stdin.closed:
        raise MisuseError("there is no terminal to ask for confirmation on: use --yes or --dry-run")
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        agreed = False
    if not agreed:
        click.echo("turnlog: nothing was changed", err=True)
        raise click.exceptions.Exit(FOUND_PROBLEMS)

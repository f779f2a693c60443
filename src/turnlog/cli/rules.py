"""`turnlog rules`: who sees the sessions of projects, where their persons did not choose."""

from __future__ import annotations

import click
from msgspec import Struct

from turnlog.cli.completing import complete_rules
from turnlog.cli.confirmation import confirm, yes_option
from turnlog.cli.failures import NothingFoundError
from turnlog.cli.keeping_accounts import dry_option, opened_accounts, record
from turnlog.cli.listing import Column, render_table
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.stores import open_for
from turnlog.cli.terminal import clean_line
from turnlog.config import Settings
from turnlog.export.plain import plural
from turnlog.store.accounts.interface import Action
from turnlog.store.model import LOCAL, Visibility

_COLUMNS = (Column("pattern", least=8), Column("visibility"))


class RuleItem(Struct, frozen=True, gc=False, kw_only=True):
    """A rule as `turnlog rules list --json` prints it."""

    pattern: str
    visibility: Visibility


class RuleChanged(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog rules set --json` and `remove --json` print."""

    pattern: str
    visibility: Visibility | None
    """Null if it was removed."""
    sessions: int
    """That others see by that, or no longer."""
    done: bool
    """False for a dry run."""


@click.group(
    "rules",
    epilog="""\b
Examples:
  turnlog rules set '*/website' team --dry-run     how many sessions others would see
  turnlog rules set '*/website' team
  turnlog rules set '/srv/payroll/*' private
  turnlog rules list
  turnlog rules remove '*/website'
""",
)
def command() -> None:
    """Set who sees the sessions of a whole project.

    A rule applies unless the owner of a session has chosen otherwise. PATTERN matches the project's path,
    with '*' for anything; without a '/' it may also match just the last folder. If several match, the longest
    one applies. Without a rule, sessions are private. These commands act on the archive itself, as its
    operator; the audit log records what they do.
    """


@command.command("list")
@json_option
@color_option
def _list(as_json: bool, color: bool | None) -> None:
    """List the rules, by pattern."""
    settings = Settings.from_env()
    output = Output(settings, color)
    with open_for(settings) as store:
        rules = store.list_rules(LOCAL)
    if as_json:
        output.print_json([RuleItem(pattern=rule.pattern, visibility=rule.visibility) for rule in rules])
    elif rules:
        rows = [[clean_line(rule.pattern), rule.visibility.value] for rule in rules]
        width = output.width if output.is_terminal else None
        output.print(render_table(_COLUMNS, rows, width, color=output.has_color))
    if not rules:
        raise NothingFoundError("there are no rules: sessions are private unless they are shared individually")


@command.command("set")
@click.argument("pattern")
@click.argument("visibility", type=click.Choice([each.value for each in Visibility]))
@dry_option
@yes_option
@json_option
@color_option
def _set(pattern: str, visibility: str, dry_run: bool, yes: bool, as_json: bool, color: bool | None) -> None:
    """Set a rule: sessions of matching projects are shared with the team, or private."""
    output = Output(Settings.from_env(), color, pager=False)
    _change(output, pattern, Visibility(visibility), dry_run=dry_run, yes=yes, as_json=as_json)


@command.command("remove")
@click.argument("pattern", shell_complete=complete_rules)
@dry_option
@yes_option
@json_option
@color_option
def _remove(pattern: str, dry_run: bool, yes: bool, as_json: bool, color: bool | None) -> None:
    """Remove a rule, as if it had never been set."""
    output = Output(Settings.from_env(), color, pager=False)
    _change(output, pattern, None, dry_run=dry_run, yes=yes, as_json=as_json)


def _change(
    output: Output, pattern: str, visibility: Visibility | None, *, dry_run: bool, yes: bool, as_json: bool
) -> None:
    settings = Settings.from_env()
    with opened_accounts(settings) as accounts, open_for(settings, writing=True, existing=True) as store:
        if visibility is None and pattern not in {rule.pattern for rule in store.list_rules(LOCAL)}:
            raise NothingFoundError(f"there is no rule for {pattern}; `turnlog rules list` has all of them")
        sessions = store.set_rule(LOCAL, pattern, visibility, dry_run=True)
        if not as_json:
            output.print([_say(pattern, visibility, sessions)])
        if not dry_run:
            confirm("Apply this change?", yes=yes, as_json=as_json)
            sessions = store.set_rule(LOCAL, pattern, visibility)
            said = "removed" if visibility is None else visibility.value
            record(accounts, Action.RULE_CHANGED, detail=f"{pattern}: {said}")
    if as_json:
        output.print_json(
            RuleChanged(pattern=pattern, visibility=visibility, sessions=sessions, done=not dry_run)
        )


def _say(pattern: str, visibility: Visibility | None, sessions: int) -> str:
    what = f"{clean_line(pattern)}: {'rule removed' if visibility is None else visibility.value}"
    if not sessions:
        return f"{what}; this changes nothing for existing sessions"
    if visibility is Visibility.TEAM:
        return f"{what}; the whole team can now see {plural(sessions, 'more session')}"
    if visibility is Visibility.PRIVATE:
        return f"{what}; others can no longer see {plural(sessions, 'session')}"
    return f"{what}; this changes who can see {plural(sessions, 'session')}"

"""`turnlog share`: who sees single sessions."""

from __future__ import annotations

from collections.abc import Iterator

import click
from msgspec import Struct

from turnlog.cli.completing import complete_sessions
from turnlog.cli.failures import MisuseError
from turnlog.cli.keeping_accounts import opened_accounts, record
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.stores import find_session, open_for
from turnlog.cli.terminal import clean_line, shorten
from turnlog.config import Settings
from turnlog.store.accounts.interface import Action
from turnlog.store.interface import CaredStore
from turnlog.store.lists import StoredSession
from turnlog.store.model import LOCAL, SessionAccess, Visibility, find_access

_TITLE = 50


class SharedSession(Struct, frozen=True, gc=False, kw_only=True):
    """Who sees a session, as `turnlog share --json` prints it."""

    key: str
    id: str | None
    title: str | None
    person: str | None
    chosen: Visibility | None
    """What was said for it alone; null if the rules decide."""
    rule: str | None
    """The rule that fits its project."""
    visibility: Visibility
    changed: bool


@click.command(
    "share",
    epilog="""\b
Examples:
  turnlog share 5d1c                 who sees it
  turnlog share 5d1c 77e0 --team     the whole team
  turnlog share 5d1c --private       only its owner and admins
  turnlog share 5d1c --by-rule       follow the rules (`turnlog rules`)
""",
)
@click.argument("sessions", metavar="SESSION...", nargs=-1, required=True, shell_complete=complete_sessions)
@click.option("--team", "to_team", is_flag=True, help="Share them with the team.")
@click.option("--private", "is_private", is_flag=True, help="Make them private.")
@click.option("--by-rule", is_flag=True, help="Follow the rules for their projects.")
@json_option
@color_option
def command(
    sessions: tuple[str, ...],
    to_team: bool,
    is_private: bool,
    by_rule: bool,
    as_json: bool,
    color: bool | None,
) -> None:
    """Set who sees sessions: the team, or only their owner and admins.

    SESSION may be the beginning of a session's id, or of the name that you gave it. Without any option, the
    command only shows who sees them. It acts on the archive itself, as its operator; the audit log records
    what it does.
    """
    if to_team + is_private + by_rule > 1:
        raise MisuseError("--team, --private and --by-rule cannot be used together")
    is_changing = to_team or is_private or by_rule
    chosen = Visibility.TEAM if to_team else Visibility.PRIVATE if is_private else None
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with opened_accounts(settings) as accounts, open_for(settings, writing=is_changing, existing=True) as store:
        found = {each.key: each for each, _ in (find_session(store, prefix) for prefix in sessions)}
        changed = store.set_visibility(LOCAL, [*found], chosen) if is_changing else []
        for access in changed:
            said = f"by the rules: {access.visibility}" if chosen is None else str(chosen)
            record(accounts, Action.VISIBILITY_CHANGED, session=access.key, person=access.person, detail=said)
        items = list(_build(store, found, {access.key for access in changed}))
    if as_json:
        output.print_json(items)
    else:
        output.print(map(_say, items))


def _build(store: CaredStore, found: dict[str, StoredSession], changed: set[str]) -> Iterator[SharedSession]:
    for key, stored in found.items():
        access: SessionAccess | None = find_access(store, LOCAL, key)
        if access is not None:
            yield SharedSession(
                key=key,
                id=stored.row.session_id,
                title=stored.marks.name or stored.row.title,
                person=access.person,
                chosen=access.chosen,
                rule=access.rule,
                visibility=access.visibility,
                changed=key in changed,
            )


def _say(item: SharedSession) -> str:
    why = "chosen" if item.chosen else f"by the rule {item.rule}" if item.rule else "by default"
    whose = "nobody's" if item.person is None else f"{item.person}'s"
    title = shorten(item.title or "without a title", _TITLE)
    return clean_line(f"{item.id or item.key}  {item.visibility.value} ({why}), {whose}  {title}")

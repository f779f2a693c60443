"""`turnlog share`, `rules` and `links`: who sees a session, in the team and outside it.

A person decides for single sessions; rules decide where nobody did. A link shows one session to whoever has the
address, after a preview of what strangers would see.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from urllib.parse import urlsplit

import click
from msgspec import Struct

from turnlog.cli.accounts import DAY_NS, at_cell, dry_option, find_by_id, opened_accounts, record, to_moment
from turnlog.cli.completion import complete_links, complete_rules, complete_sessions
from turnlog.cli.output import Output, color_option, json_option, waiting
from turnlog.cli.stores import find_session, open_for
from turnlog.cli.tables import Column, render_table
from turnlog.cli.terminal import MisuseError, NothingFoundError, clean_line, confirm, shorten, yes_option
from turnlog.config import Settings
from turnlog.export.link_preview import LinkPreview, build_preview
from turnlog.export.plain_text import plural
from turnlog.server.presence import find_server
from turnlog.store.account_model import Action, Link
from turnlog.store.accounts import Accounts
from turnlog.store.interface import MaintainedStore
from turnlog.store.lists import StoredSession
from turnlog.store.model import LOCAL, SessionAccess, Visibility, find_access

_SHARED_TITLE = 50


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
def share_command(
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
        items = list(_build_shared(store, found, {access.key for access in changed}))
    if as_json:
        output.print_json(items)
    else:
        output.print(map(_describe_shared, items))


def _build_shared(
    store: MaintainedStore, found: dict[str, StoredSession], changed: set[str]
) -> Iterator[SharedSession]:
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


def _describe_shared(item: SharedSession) -> str:
    why = "chosen" if item.chosen else f"by the rule {item.rule}" if item.rule else "by default"
    whose = "nobody's" if item.person is None else f"{item.person}'s"
    title = shorten(item.title or "without a title", _SHARED_TITLE)
    return clean_line(f"{item.id or item.key}  {item.visibility.value} ({why}), {whose}  {title}")


_RULE_COLUMNS = (Column("pattern", least=8), Column("visibility"))


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
def rules_command() -> None:
    """Set who sees the sessions of a whole project.

    A rule applies unless the owner of a session has chosen otherwise. PATTERN matches the project's path,
    with '*' for anything; without a '/' it may also match just the last folder. If several match, the longest
    one applies. Without a rule, sessions are private. These commands act on the archive itself, as its
    operator; the audit log records what they do.
    """


@rules_command.command("list")
@json_option
@color_option
def _list_rules(as_json: bool, color: bool | None) -> None:
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
        output.print(render_table(_RULE_COLUMNS, rows, width, color=output.has_color))
    if not rules:
        raise NothingFoundError("there are no rules: sessions are private unless they are shared individually")


@rules_command.command("set")
@click.argument("pattern")
@click.argument("visibility", type=click.Choice([each.value for each in Visibility]))
@dry_option
@yes_option
@json_option
@color_option
def _set_rule(
    pattern: str, visibility: str, dry_run: bool, yes: bool, as_json: bool, color: bool | None
) -> None:
    """Set a rule: sessions of matching projects are shared with the team, or private."""
    output = Output(Settings.from_env(), color, pager=False)
    _change_rule(output, pattern, Visibility(visibility), dry_run=dry_run, yes=yes, as_json=as_json)


@rules_command.command("remove")
@click.argument("pattern", shell_complete=complete_rules)
@dry_option
@yes_option
@json_option
@color_option
def _remove_rule(pattern: str, dry_run: bool, yes: bool, as_json: bool, color: bool | None) -> None:
    """Remove a rule, as if it had never been set."""
    output = Output(Settings.from_env(), color, pager=False)
    _change_rule(output, pattern, None, dry_run=dry_run, yes=yes, as_json=as_json)


def _change_rule(
    output: Output, pattern: str, visibility: Visibility | None, *, dry_run: bool, yes: bool, as_json: bool
) -> None:
    settings = Settings.from_env()
    with opened_accounts(settings) as accounts, open_for(settings, writing=True, existing=True) as store:
        if visibility is None and pattern not in {rule.pattern for rule in store.list_rules(LOCAL)}:
            raise NothingFoundError(f"there is no rule for {pattern}; `turnlog rules list` has all of them")
        sessions = store.set_rule(LOCAL, pattern, visibility, dry_run=True)
        if not as_json:
            output.print([_describe_rule_change(pattern, visibility, sessions)])
        if not dry_run:
            confirm("Apply this change?", yes=yes, as_json=as_json)
            sessions = store.set_rule(LOCAL, pattern, visibility)
            said = "removed" if visibility is None else visibility.value
            record(accounts, Action.RULE_CHANGED, detail=f"{pattern}: {said}")
    if as_json:
        output.print_json(
            RuleChanged(pattern=pattern, visibility=visibility, sessions=sessions, done=not dry_run)
        )


def _describe_rule_change(pattern: str, visibility: Visibility | None, sessions: int) -> str:
    what = f"{clean_line(pattern)}: {'rule removed' if visibility is None else visibility.value}"
    if not sessions:
        return f"{what}; this changes nothing for existing sessions"
    if visibility is Visibility.TEAM:
        return f"{what}; the whole team can now see {plural(sessions, 'more session')}"
    if visibility is Visibility.PRIVATE:
        return f"{what}; others can no longer see {plural(sessions, 'session')}"
    return f"{what}; this changes who can see {plural(sessions, 'session')}"


_MOST_PREVIEWED = 12
_LONGEST_PREVIEWED = 100


def describe_preview(preview: LinkPreview) -> Iterator[str]:
    """Yield what a link would show, and what is taken out."""
    yield "Anyone with the link would see:"
    yield f"  {shorten(preview.title, _LONGEST_PREVIEWED)}"
    if preview.project:
        yield f"  project: {clean_line(preview.project)}"
    counts = (
        plural(preview.messages, "message"),
        plural(preview.calls, "call"),
        plural(preview.agents, "agent"),
    )
    yield f"  {', '.join(counts)}"
    if preview.tools:
        yield f"  tools: {_join_previewed([f'{clean_line(name)} {times:,}' for name, times in preview.tools])}"
    if preview.files:
        yield f"  files: {_join_previewed([clean_line(path) for path in preview.files])}"
    for text in preview.excerpts:
        yield f"  “{shorten(text, _LONGEST_PREVIEWED)}”"
    taken = [f"{clean_line(kind)} {times:,} times" for kind, times in preview.redacted]
    yield f"Redacted: {', '.join(taken) or 'nothing was found that looks like a secret'}"


def _join_previewed(parts: list[str]) -> str:
    more = f" and {len(parts) - _MOST_PREVIEWED:,} more" if len(parts) > _MOST_PREVIEWED else ""
    return ", ".join(parts[:_MOST_PREVIEWED]) + more


_LONGEST_DAYS = 365
_LINK_TITLE = 60
_LINK_COLUMNS = (
    Column("id"),
    Column("title", least=12),
    Column("by"),
    Column("state"),
    Column("made", right=True, optional=2),
    Column("ends", right=True),
    Column("opened", right=True, optional=1),
)


class LinkItem(Struct, frozen=True, gc=False, kw_only=True):
    """A link as `turnlog links --json` prints it; never its address."""

    id: str
    session: str
    """The session's key."""
    title: str
    created_by: str | None
    """Null if the operator made it."""
    state: str
    """`good`, `expired` or `revoked`."""
    created_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    words: tuple[str, ...]
    opened: int
    opened_at: datetime | None


class NewLink(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog links create --json` prints."""

    preview: LinkPreview
    """What whoever has the address sees."""
    link: LinkItem | None = None
    """Null for a dry run."""
    path: str | None = None
    """Where it is on the server; nobody can see it again."""
    url: str | None = None
    """Its address, if the server's is known."""


@click.group(
    "links",
    epilog="""\b
Examples:
  turnlog links create 5d1c --days 7 --dry-run     what strangers would see
  turnlog links create 5d1c --days 7 --word Acme --url https://turnlog.example.org
  turnlog links list
  turnlog links revoke 8c02
""",
)
def links_command() -> None:
    """Share single sessions with people without an account, through links that expire.

    Everything that looks like a secret is redacted, and so is each --word. If the session is still running,
    visitors see it grow. These commands act on the archive itself, as its operator; the audit log records
    what they do.
    """


@links_command.command("create")
@click.argument("session", shell_complete=complete_sessions)
@click.option(
    "--days",
    type=click.IntRange(1, _LONGEST_DAYS),
    default=7,
    show_default=True,
    help="After how many days it expires.",
)
@click.option("--word", "words", multiple=True, metavar="TEXT", help="Redact this word, too; may be repeated.")
@click.option(
    "--url", metavar="URL", help="The server's address.  [default: that of the server on this machine]"
)
@dry_option
@yes_option
@json_option
@color_option
def _create_link(
    session: str,
    days: int,
    words: tuple[str, ...],
    url: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    color: bool | None,
) -> None:
    """Create a link to a session, and print its address, which cannot be shown again.

    You first see what it would show, and are asked. SESSION may be the beginning of a session's id, or of the
    name that you gave it.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    base = _find_base(settings, url)
    with opened_accounts(settings) as accounts, open_for(settings) as store:
        stored, _ = find_session(store, session)
        with waiting("Preparing the preview"):
            preview = build_preview(store, LOCAL, stored, (*settings.redact_words, *words))
        if not as_json:
            output.print(describe_preview(preview))
        if dry_run:
            made = NewLink(preview=preview)
        else:
            confirm(f"Show this to anyone with the link, for {days} days?", yes=yes, as_json=as_json)
            link, secret = accounts.create_link(
                stored.key,
                title=preview.title,
                created_by=None,
                expires_ns=time.time_ns() + days * DAY_NS,
                words=words,
            )
            record(accounts, Action.LINK_CREATED, session=stored.key, person=stored.person, link=link.id)
            path = f"/s/{secret}"
            made = NewLink(preview=preview, link=_build_link(link), path=path, url=base and f"{base}{path}")
    if as_json:
        output.print_json(made)
    elif made.link is not None:
        output.print(_describe_new_link(made, made.link))


@links_command.command("list")
@click.option("--session", metavar="ID", shell_complete=complete_sessions, help="Only links to this session.")
@click.option("--all", "with_ended", is_flag=True, help="Include expired and revoked ones.")
@json_option
@color_option
def _list_links(session: str | None, with_ended: bool, as_json: bool, color: bool | None) -> None:
    """List links, the newest first. Their addresses are not kept."""
    settings = Settings.from_env()
    output = Output(settings, color)
    with opened_accounts(settings) as accounts:
        found = accounts.list_links(session=_find_key(settings, session))
    links = [link for link in found if with_ended or _link_state(link) == "good"]
    if as_json:
        output.print_json([_build_link(link) for link in links])
    elif links:
        now = datetime.now(UTC) if output.is_terminal else None
        width = output.width if output.is_terminal else None
        rows = [list(_link_cells(link, now)) for link in links]
        output.print(render_table(_LINK_COLUMNS, rows, width, color=output.has_color))
    if not links:
        raise NothingFoundError(
            "no valid links; --all also lists expired and revoked ones" if found else "no links"
        )


@links_command.command("revoke")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_links)
@dry_option
@yes_option
@json_option
@color_option
def _revoke_link(ids: Sequence[str], dry_run: bool, yes: bool, as_json: bool, color: bool | None) -> None:
    """Revoke links: they stop working at once, even for pages that are open.

    ID may be the beginning of one, as `turnlog links list` shows it.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with opened_accounts(settings) as accounts:
        known = accounts.list_links()
        links = [find_by_id(known, id, "link", lambda link: link.id) for id in dict.fromkeys(ids)]
        if not as_json:
            output.print(render_table(_LINK_COLUMNS, [list(_link_cells(each, None)) for each in links], None))
        if not dry_run:
            confirm("Revoke this?" if len(links) == 1 else "Revoke these?", yes=yes, as_json=as_json)
            links = [_end_link(accounts, settings, link) for link in links]
    if as_json:
        output.print_json([_build_link(link) for link in links])
    elif not dry_run:
        output.print(["ended"])


def _end_link(accounts: Accounts, settings: Settings, link: Link) -> Link:
    ended = accounts.revoke_link(link.id)
    if link.revoked_ns is None:
        with open_for(settings) as store:
            access = find_access(store, LOCAL, link.session)
        person = None if access is None else access.person
        record(accounts, Action.LINK_REVOKED, session=link.session, person=person, link=link.id)
    return ended


def _find_key(settings: Settings, session: str | None) -> str | None:
    if session is None:
        return None
    with open_for(settings) as store:
        return find_session(store, session)[0].key


def _find_base(settings: Settings, url: str | None) -> str | None:
    """Return the server's address without a slash at its end; None if it is not known."""
    if url is None:
        server = find_server(settings.home)
        return None if server is None else _cut(server.url)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise MisuseError(f"--url: expected an address such as https://turnlog.example.org, got {url}")
    return _cut(url)


def _cut(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _link_state(link: Link) -> str:
    if link.revoked_ns is not None:
        return "revoked"
    return "expired" if link.expires_ns <= time.time_ns() else "good"


def _build_link(link: Link) -> LinkItem:
    return LinkItem(
        id=link.id,
        session=link.session,
        title=link.title,
        created_by=link.created_by,
        state=_link_state(link),
        created_at=to_moment(link.created_ns),
        expires_at=to_moment(link.expires_ns),
        revoked_at=to_moment(link.revoked_ns),
        words=link.words,
        opened=link.opened,
        opened_at=to_moment(link.opened_ns),
    )


def _link_cells(link: Link, now: datetime | None) -> Iterator[str]:
    yield link.id
    yield shorten(link.title, _LINK_TITLE)
    yield link.created_by or "operator"
    yield _link_state(link)
    yield at_cell(link.created_ns, now)
    yield at_cell(link.expires_ns, None)
    yield f"{link.opened:,}"


def _describe_new_link(made: NewLink, link: LinkItem) -> Iterator[str]:
    ends = "" if link.expires_at is None else f", valid until {link.expires_at:%Y-%m-%d %H:%M} UTC"
    yield f"link {link.id}{ends}; `turnlog links revoke {link.id}` revokes it"
    if made.url is None:
        yield "No server is running here: put your server's address before this path, or use --url."
    yield clean_line(made.url or made.path or "")

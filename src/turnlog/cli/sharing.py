"""`turnlog share`, `rules`, `links`, `audit`: who sees a session, in the team and outside it, and who looked.

A person decides for single sessions; rules decide where nobody did. A link shows one session to whoever has the
address, after a preview of what strangers would see.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from urllib.parse import urlsplit

import click
from msgspec import Struct

from turnlog.cli.accounts import (
    DAY_NS,
    find_by_id,
    instant_cell,
    name_state,
    opened_accounts,
    record,
    to_moment,
)
from turnlog.cli.completion import complete_links, complete_rules, complete_sessions, complete_users
from turnlog.cli.output import Output, output_options, show_progress
from turnlog.cli.plain_text import Column, local_time, print_table, read_time, render_table, show_list
from turnlog.cli.stores import find_session, open_archive
from turnlog.cli.terminal import (
    MisuseError,
    NothingFoundError,
    clean_line,
    dry_option,
    shorten,
    warn,
    yes_option,
)
from turnlog.config import Settings
from turnlog.export.link_preview import LinkPreview, build_preview
from turnlog.export.plain_text import plural
from turnlog.server.processes import find_server
from turnlog.shapes import fill, fill_dated
from turnlog.store.account_model import Action, AuditEntry, AuditFilter, Link
from turnlog.store.accounts import Accounts
from turnlog.store.interface import MaintainedStore
from turnlog.store.lists import StoredSession
from turnlog.store.model import LOCAL, ProjectRule, Visibility, find_access, is_made

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


@click.command("share")
@click.argument("sessions", metavar="SESSION...", nargs=-1, required=True, shell_complete=complete_sessions)
@click.option("--team", "to_team", is_flag=True, help="Share them with the team.")
@click.option("--private", "is_private", is_flag=True, help="Make them private.")
@click.option("--by-rule", is_flag=True, help="Follow the rules for their projects.")
@output_options()
def share_command(
    sessions: tuple[str, ...],
    to_team: bool,
    is_private: bool,
    by_rule: bool,
    output: Output,
) -> None:
    """Set who sees single sessions: the team, or only their owner.

    Admins see all of them. SESSION may be the beginning of a session's id, or of the name that you gave it.
    Without any option, the command only shows who sees them. It acts on the archive itself, as its operator;
    the audit log records what it does.

    Examples:
      turnlog share 5d1c                 who sees it
      turnlog share 5d1c 77e0 --team     the whole team
      turnlog share 5d1c --private       only its owner and admins
      turnlog share 5d1c --by-rule       follow the rules (`turnlog rules`)
    """
    if to_team + is_private + by_rule > 1:
        raise MisuseError("--team, --private and --by-rule cannot be used together")
    is_changing = to_team or is_private or by_rule
    chosen = Visibility.TEAM if to_team else Visibility.PRIVATE if is_private else None
    settings = output.settings
    with (
        opened_accounts(settings) as accounts,
        open_archive(settings, writing=is_changing, existing=True) as store,
    ):
        found = {each.key: each for each, _ in (find_session(store, prefix) for prefix in sessions)}
        changed = store.set_visibility(LOCAL, [*found], chosen) if is_changing else []
        for access in changed:
            said = f"by the rules: {access.visibility}" if chosen is None else str(chosen)
            record(accounts, Action.VISIBILITY_CHANGED, session=access.key, person=access.person, detail=said)
        items = list(_build_shared(store, found, {access.key for access in changed}))
    output.show(items, map(_describe_shared, items))


def _build_shared(
    store: MaintainedStore, found: dict[str, StoredSession], changed: set[str]
) -> Iterator[SharedSession]:
    for key, stored in found.items():
        access = find_access(store, LOCAL, key)
        if access is not None:
            title = stored.marks.name or stored.row.title
            yield fill(SharedSession, access, id=stored.row.session_id, title=title, changed=key in changed)


def _describe_shared(item: SharedSession) -> str:
    why = "chosen" if item.chosen else f"by the rule {item.rule}" if item.rule else "by default"
    whose = "nobody's" if item.person is None else f"{item.person}'s"
    title = shorten(item.title or "without a title", _SHARED_TITLE)
    return clean_line(f"{item.id or item.key}  {item.visibility.value} ({why}), {whose}  {title}")


_RULE_COLUMNS = (Column("pattern", least=8), Column("visibility"))


class RuleChanged(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog rules set --json` and `remove --json` print."""

    pattern: str
    visibility: Visibility | None
    """Null if it was removed."""
    sessions: int
    """That others see by that, or no longer."""
    done: bool
    """False for a dry run."""


@click.group("rules")
def rules_command() -> None:
    """Set who sees the sessions of a whole project.

    A rule applies unless the owner of a session has chosen otherwise. PATTERN matches the project's path,
    with '*' for anything; without a '/' it may also match just the last folder. If several match, the longest
    one applies. Without a rule, sessions are private. These commands act on the archive itself, as its
    operator; the audit log records what they do.

    Examples:
      turnlog rules set '*/website' team --dry-run     how many sessions others would see
      turnlog rules set '*/website' team
      turnlog rules set '/srv/payroll/*' private
      turnlog rules list
      turnlog rules remove '*/website'
    """


@rules_command.command("list")
@output_options(pages=True)
def _list_rules(output: Output) -> None:
    """List the rules, by pattern."""
    with open_archive(output.settings) as store:
        rules = store.list_rules(LOCAL)
    nothing = "there are no rules: sessions are private unless they are shared individually"
    show_list(output, rules, lambda rule: rule, _RULE_COLUMNS, _rule_cells, nothing)


def _rule_cells(rule: ProjectRule, now: datetime | None) -> tuple[str, str]:
    return clean_line(rule.pattern), rule.visibility.value


@rules_command.command("set")
@click.argument("pattern")
@click.argument("visibility", type=click.Choice([each.value for each in Visibility]))
@dry_option
@yes_option
@output_options()
def _set_rule(pattern: str, visibility: str, dry_run: bool, yes: bool, output: Output) -> None:
    """Set a rule: sessions of matching projects are shared with the team, or private."""
    _change_rule(output, pattern, Visibility(visibility), dry_run=dry_run, yes=yes)


@rules_command.command("remove")
@click.argument("pattern", shell_complete=complete_rules)
@dry_option
@yes_option
@output_options()
def _remove_rule(pattern: str, dry_run: bool, yes: bool, output: Output) -> None:
    """Remove a rule, as if it had never been set."""
    _change_rule(output, pattern, None, dry_run=dry_run, yes=yes)


def _change_rule(
    output: Output, pattern: str, visibility: Visibility | None, *, dry_run: bool, yes: bool
) -> None:
    settings = Settings.from_env()
    with opened_accounts(settings) as accounts, open_archive(settings, writing=True, existing=True) as store:
        if visibility is None and pattern not in {rule.pattern for rule in store.list_rules(LOCAL)}:
            raise NothingFoundError(f"there is no rule for {pattern}; `turnlog rules list` has all of them")
        sessions = store.set_rule(LOCAL, pattern, visibility, dry_run=True)
        if not output.as_json:
            output.print([_describe_rule_change(pattern, visibility, sessions)])
        if not dry_run:
            output.confirm("Apply this change?", yes=yes)
            sessions = store.set_rule(LOCAL, pattern, visibility)
            said = "removed" if visibility is None else visibility.value
            record(accounts, Action.RULE_CHANGED, detail=f"{pattern}: {said}")
    if output.as_json:
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
    """What visitors see."""
    link: LinkItem | None = None
    """Null for a dry run."""
    path: str | None = None
    """Where it is on the server; nobody can see it again."""
    url: str | None = None
    """Its address, if the server's is known."""


@click.group("links")
def links_command() -> None:
    """Share sessions with anybody, through links that expire.

    A link shows a single session, and needs no account. Everything that looks like a secret is redacted, and
    so is each --word. If the session is still running, visitors see it grow. These commands act on the
    archive itself, as its operator; the audit log records what they do.

    Examples:
      turnlog links create 5d1c --days 7 --dry-run     what strangers would see
      turnlog links create 5d1c --days 7 --word Acme --url https://turnlog.example.org
      turnlog links list
      turnlog links revoke 8c02
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
@output_options()
def _create_link(
    session: str,
    days: int,
    words: tuple[str, ...],
    url: str | None,
    dry_run: bool,
    yes: bool,
    output: Output,
) -> None:
    """Create a link to a session, and print its address, which cannot be shown again.

    You first see what it would show, and are asked. SESSION may be the beginning of a session's id, or of the
    name that you gave it.
    """
    settings = output.settings
    base = _find_base(settings, url)
    with opened_accounts(settings) as accounts, open_archive(settings) as store:
        stored, _ = find_session(store, session)
        with show_progress("Preparing the preview"):
            preview = build_preview(store, LOCAL, stored, (*settings.redact_words, *words))
        if not output.as_json:
            output.print(describe_preview(preview))
        if dry_run:
            made = NewLink(preview=preview)
        else:
            output.confirm(f"Show this to anyone with the link, for {days} days?", yes=yes)
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
    output.show(made, [] if made.link is None else _describe_new_link(made, made.link))


@links_command.command("list")
@click.option("--session", metavar="ID", shell_complete=complete_sessions, help="Only links to this session.")
@click.option("--all", "with_ended", is_flag=True, help="Include expired and revoked ones.")
@output_options(pages=True)
def _list_links(session: str | None, with_ended: bool, output: Output) -> None:
    """List links, the newest first. Their addresses are not kept."""
    settings = output.settings
    with opened_accounts(settings) as accounts:
        found = accounts.list_links(session=_find_key(settings, session))
    links = [link for link in found if with_ended or name_state(link) == "good"]
    nothing = "no valid links; --all also lists expired and revoked ones" if found else "no links"
    show_list(output, links, _build_link, _LINK_COLUMNS, _link_cells, nothing)


@links_command.command("revoke")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_links)
@dry_option
@yes_option
@output_options()
def _revoke_link(ids: Sequence[str], dry_run: bool, yes: bool, output: Output) -> None:
    """Revoke links: they stop working at once, even for pages that are open.

    ID may be the beginning of one, as `turnlog links list` shows it.
    """
    settings = output.settings
    with opened_accounts(settings) as accounts:
        known = accounts.list_links()
        links = [find_by_id(known, id, "link") for id in dict.fromkeys(ids)]
        if not output.as_json:
            output.print(render_table(_LINK_COLUMNS, [list(_link_cells(each, None)) for each in links], None))
        if not dry_run:
            output.confirm("Revoke this?" if len(links) == 1 else "Revoke these?", yes=yes)
            links = [_end_link(accounts, settings, link) for link in links]
    output.show([_build_link(link) for link in links], [] if dry_run else ["ended"])


def _end_link(accounts: Accounts, settings: Settings, link: Link) -> Link:
    ended = accounts.revoke_link(link.id)
    if link.revoked_ns is None:
        with open_archive(settings) as store:
            access = find_access(store, LOCAL, link.session)
        person = None if access is None else access.person
        record(accounts, Action.LINK_REVOKED, session=link.session, person=person, link=link.id)
    return ended


def _find_key(settings: Settings, session: str | None) -> str | None:
    if session is None:
        return None
    with open_archive(settings) as store:
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


def _build_link(link: Link) -> LinkItem:
    return fill_dated(LinkItem, link, state=name_state(link))


def _link_cells(link: Link, now: datetime | None) -> Iterator[str]:
    yield link.id
    yield shorten(link.title, _LINK_TITLE)
    yield link.created_by or "operator"
    yield name_state(link)
    yield instant_cell(link.created_ns, now)
    yield instant_cell(link.expires_ns, None)
    yield f"{link.opened:,}"


def _describe_new_link(made: NewLink, link: LinkItem) -> Iterator[str]:
    ends = "" if link.expires_at is None else f", valid until {link.expires_at:%Y-%m-%d %H:%M} UTC"
    yield f"link {link.id}{ends}; `turnlog links revoke {link.id}` revokes it"
    if made.url is None:
        yield "No server is running here: put your server's address before this path, or use --url."
    yield clean_line(made.url or made.path or "")


_ALL = 1 << 31
_AUDIT_COLUMNS = (
    Column("when"),
    Column("who"),
    Column("did"),
    Column("person"),
    Column("session", least=8, optional=1),
    Column("detail", least=8),
)


class AuditItem(Struct, frozen=True, gc=False, kw_only=True):
    """Something that was done."""

    id: int
    at: datetime | None
    who: str | None
    """Null for the operator, and for strangers with a link."""
    action: Action
    person: str | None
    """Whose session it is, or whom it is about."""
    session: str | None
    """The session's key."""
    link: str | None
    detail: str


class AuditDocument(Struct, frozen=True, gc=False):
    """What `turnlog audit --json` prints."""

    entries: tuple[AuditItem, ...]
    next: int | None
    """What `--before` takes to go on; null if there is no more."""


class _ActionName(click.Choice[str]):
    """An action, also by the name that it had."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        former = next((each for each in Action if value == each.stored != each.value), None)
        if former is not None:
            warn(f"--action {value} is now called {former.value}")
        return super().convert(value if former is None else former.value, param, ctx)


@click.command("audit")
@click.option("--who", metavar="NAME", shell_complete=complete_users, help="What this user did.")
@click.option(
    "--person",
    metavar="NAME",
    shell_complete=complete_users,
    help="What concerns this user or their sessions.",
)
@click.option(
    "--session",
    metavar="ID",
    shell_complete=complete_sessions,
    help="What concerns a session: its key, or the beginning of its id.",
)
@click.option(
    "--action",
    "actions",
    multiple=True,
    type=_ActionName([each.value for each in Action]),
    help="Only this action; may be repeated.",
)
@click.option("--since", metavar="TIME", help="At this time or later: 2026-03-01, 2026-03-01T14:00, 7d, 12h.")
@click.option("--until", metavar="TIME", help="At this time or before; a day counts to its end.")
@click.option(
    "--limit", type=click.IntRange(0), default=100, show_default=True, help="How many; 0 for all of them."
)
@click.option(
    "--before", type=int, metavar="NUMBER", help="Continue after a page, from the NUMBER shown at its end."
)
@output_options(pager=True)
def audit_command(
    who: str | None,
    person: str | None,
    session: str | None,
    actions: Sequence[str],
    since: str | None,
    until: str | None,
    limit: int,
    before: int | None,
    output: Output,
) -> None:
    """List who looked at whose sessions, and who changed what.

    That is who shared, exported, deleted or linked which session, and who changed accounts, tokens, machines
    and rules. The newest comes first. What is done on the command line is recorded as done by the operator.

    Examples:
      turnlog audit                                  the newest
      turnlog audit --person ben --action viewed     who viewed Ben's sessions
      turnlog audit --who ada --since 7d
      turnlog audit --session 5d1c --json
    """
    settings = output.settings
    asked = AuditFilter(
        who=who,
        person=person,
        session=None if session is None else _find_audited(settings, session),
        actions=tuple(map(Action, actions)),
        since_ns=None if since is None else read_time("--since", since) * 1000,
        until_ns=None if until is None else read_time("--until", until, ending=True) * 1000,
    )
    wanted = limit or _ALL
    with opened_accounts(settings) as accounts:
        found = accounts.list_audit(asked, before=before, limit=wanted + 1)
    entries, next_ = found[:wanted], found[wanted - 1].id if len(found) > wanted else None
    if output.as_json:
        items = tuple(fill(AuditItem, each, at=to_moment(each.at_ns)) for each in entries)
        output.print_json(AuditDocument(items, next_))
    elif entries:
        print_table(output, _AUDIT_COLUMNS, map(_audit_cells, entries))
    if not entries:
        raise NothingFoundError("no matching entries")
    if next_ is not None and not output.as_json:
        warn(f"there is more; use --limit 0 to list all, or --before {next_} to continue")


def _find_audited(settings: Settings, session: str) -> str:
    """Return the key of a session; that of one which is deleted stands for itself."""
    if not is_made(settings.place):
        return session
    try:
        with open_archive(settings) as store:
            return find_session(store, session)[0].key
    except NothingFoundError:
        return session


def _audit_cells(entry: AuditEntry) -> Iterator[str]:
    at = to_moment(entry.at_ns)
    yield "" if at is None else f"{local_time(at):%Y-%m-%d %H:%M:%S}"
    stranger = entry.action is Action.LINK_OPENED
    yield clean_line(entry.who or ("a visitor" if stranger else "operator"))
    yield entry.action.value
    yield clean_line(entry.person or "")
    yield clean_line(entry.session or "")
    yield clean_line(f"{entry.detail}{f' link {entry.link}' if entry.link else ''}")

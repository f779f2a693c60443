"""Links, entries of the audit and copies of the archive, as the API tells them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PurePath

from turnlog.server.finding import may_change
from turnlog.server.security.callers import Caller
from turnlog.server.shapes.access import SessionAccessItem
from turnlog.server.shapes.audit import AuditItem
from turnlog.server.shapes.deletion import HoldingBackup
from turnlog.server.shapes.links import SharedLink
from turnlog.store.accounts.interface import Accounts, AuditEntry, Link
from turnlog.store.interface import CaredStore
from turnlog.store.model import LOCAL, Machine, PeopleStore, Scope, SessionAccess
from turnlog.store.opening import find_in_backup
from turnlog.transcripts.files.session_files import path_text


def map_machines(store: PeopleStore, scope: Scope) -> Mapping[str, Machine]:
    """Return the machines that may be seen, by their origins."""
    return {machine.origin: machine for machine in store.list_machines(scope)}


def view_access(
    store: PeopleStore, accounts: Accounts, scope: Scope, found: SessionAccess, caller: Caller
) -> SessionAccessItem:
    """Return who may see a session, and the links to it for whoever may change that."""
    machine = map_machines(store, scope).get(found.origin)
    may = may_change(caller, found.person)
    links = accounts.list_links(session=found.key) if may else []
    return SessionAccessItem(
        key=found.key,
        person=found.person,
        machine=found.origin,
        host="" if machine is None else machine.host,
        chosen=found.chosen,
        rule=found.rule,
        visibility=found.visibility,
        may_change=may,
        links=tuple(map(view_link, links)),
    )


def view_link(link: Link) -> SharedLink:
    """Return a link, without its secret, which nobody has."""
    return SharedLink(
        id=link.id,
        session=link.session,
        title=link.title,
        created_by=link.created_by,
        created_at=_moment(link.created_ns),
        expires_at=_moment(link.expires_ns),
        revoked_at=None if link.revoked_ns is None else _moment(link.revoked_ns),
        words=link.words,
        opened=link.opened,
        opened_at=None if link.opened_ns is None else _moment(link.opened_ns),
    )


def view_entry(entry: AuditEntry) -> AuditItem:
    """Return something that somebody did."""
    return AuditItem(
        id=entry.id,
        at=_moment(entry.at_ns),
        who=entry.who,
        action=entry.action,
        link=entry.link,
        session=entry.session,
        person=entry.person,
        detail=entry.detail,
    )


def list_holding(store: CaredStore, key: str, caller: Caller) -> tuple[HoldingBackup, ...]:
    """Return the copies of the archive that have a session, or may; where they are is for admins."""
    # Copies that were made before there were people know of no viewers, and the session is known to be theirs.
    found = [(backup, find_in_backup(backup, LOCAL, [key])) for backup in store.list_backups()]
    return tuple(
        HoldingBackup(
            path=path_text(backup.path if caller.is_admin else PurePath(backup.path).name),
            at=_moment(backup.at_ns),
            certain=held is not None,
        )
        for backup, held in found
        if held is None or held
    )


def _moment(ns: int) -> datetime:
    return datetime.fromtimestamp(ns // 1000 / 1_000_000, UTC)

"""Users, tokens and machines as the API tells them."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from turnlog.server.security.callers import Caller
from turnlog.server.shapes.people import LinkSeen, MachineItem, Me, TokenItem, UserItem
from turnlog.server.views.limits import sayable
from turnlog.server.views.moments import moment
from turnlog.store.accounts.interface import Action, AuditEntry, Token, User
from turnlog.store.model import Machine

_LAST = datetime.max.replace(tzinfo=UTC)


def view_me(caller: Caller, team: bool, sharer: User | None = None) -> Me:
    """Return who asks; `sharer` made the link, if one lets them in."""
    user, link = caller.user, caller.link
    return Me(
        kind=caller.kind,
        name=caller.name,
        full_name="" if user is None else user.full_name,
        role=None if user is None else user.role,
        is_admin=caller.is_admin,
        may_write=caller.may_write,
        team=team,
        link=None
        if link is None
        else LinkSeen(
            session=link.session,
            title=link.title,
            expires_at=_at(link.expires_ns),
            shared_by="" if sharer is None else sharer.full_name or sharer.name,
        ),
    )


def view_user(user: User, caller: Caller) -> UserItem:
    """Return a user, as far as whoever asks may know."""
    in_full = caller.is_admin or caller.name == user.name
    return UserItem(
        name=user.name,
        full_name=user.full_name,
        role=user.role,
        email=user.email or None if in_full else None,
        disabled=user.disabled_ns is not None,
        created_at=_at(user.created_ns),
        seen_at=_maybe(user.seen_ns) if in_full else None,
    )


def view_token(token: Token) -> TokenItem:
    """Return a token."""
    return TokenItem(
        id=token.id,
        kind=token.kind,
        user=token.user,
        label=token.label,
        created_at=_at(token.created_ns),
        expires_at=_maybe(token.expires_ns),
        used_at=_maybe(token.used_ns),
        revoked_at=_maybe(token.revoked_ns),
        origin=token.origin,
    )


def view_machine(machine: Machine) -> MachineItem:
    """Return a machine; what it calls itself is untrusted."""
    return MachineItem(
        origin=machine.origin,
        person=machine.person,
        host=sayable(machine.host),
        user=sayable(machine.user),
        first_at=_at(machine.first_ns),
        last_at=_at(machine.last_ns),
        sessions=machine.sessions,
    )


def build_entry(caller: Caller, action: Action, person: str | None, detail: str = "") -> AuditEntry:
    """Return what is recorded of something that was just done."""
    return AuditEntry(at_ns=time.time_ns(), who=caller.name, action=action, person=person, detail=detail)


def _maybe(nanoseconds: int | None) -> datetime | None:
    return None if nanoseconds is None else _at(nanoseconds)


def _at(nanoseconds: int) -> datetime:
    return moment(nanoseconds // 1000) or _LAST

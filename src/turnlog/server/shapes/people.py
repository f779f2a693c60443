"""What is told of people: who they are, what lets them in, and where their sessions come from."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from turnlog.server.security.callers import CallerKind
from turnlog.store.accounts.interface import TokenKind, UserRole

_Name = Annotated[str, Meta(min_length=1, max_length=100)]
_Text = Annotated[str, Meta(max_length=200)]
_Email = Annotated[str, Meta(max_length=254)]


class LoginProvider(Struct, frozen=True, gc=False, kw_only=True):
    """An external login provider."""

    label: str
    """The text on the button."""


class LoginWays(Struct, frozen=True, gc=False, kw_only=True):
    """How people can log in; needs no authentication."""

    team: bool
    """Whether there are accounts; without any, the server belongs to one person."""
    oidc: LoginProvider | None


class LoginToken(Struct, frozen=True, gc=False, kw_only=True):
    """A person's token, or the server's own."""

    token: Annotated[str, Meta(max_length=200)]


class LinkSeen(Struct, frozen=True, gc=False, kw_only=True):
    """What a stranger with a link may see."""

    session: str
    title: str
    expires_at: datetime
    shared_by: str
    """Who created it, by full name if there is one; empty if it was created with the server's own token."""


class Me(Struct, frozen=True, gc=False, kw_only=True):
    """The caller, and what they may do."""

    kind: CallerKind
    name: str | None
    """The user's name; null for the server's own token, and for strangers."""
    full_name: str
    role: UserRole | None
    is_admin: bool
    may_write: bool
    team: bool
    """Whether there are accounts; without any, the server belongs to one person."""
    link: LinkSeen | None


class UserItem(Struct, frozen=True, gc=False, kw_only=True):
    """A user, with the fields that the caller may see."""

    name: str
    full_name: str
    role: UserRole
    email: str | None
    """Only for admins and the user; null otherwise, and if there is none."""
    disabled: bool
    created_at: datetime
    seen_at: datetime | None
    """When they last logged in or sent a request; only for admins and the user."""


class NewUser(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """An account to create."""

    name: _Name
    role: UserRole = UserRole.MEMBER
    full_name: _Text = ""
    email: _Email = ""


class UserChange(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """What to change about a user; fields that are left out stay as they are."""

    role: UserRole | UnsetType = UNSET
    full_name: _Text | UnsetType = UNSET
    email: _Email | UnsetType = UNSET


class TokenItem(Struct, frozen=True, gc=False, kw_only=True):
    """A token, without its secret."""

    id: str
    kind: TokenKind
    user: str
    label: str
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None
    revoked_at: datetime | None
    origin: str | None
    """The only machine that a machine token works for, once one has used it."""


class TokenWish(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """A token to create."""

    kind: TokenKind
    label: Annotated[str, Meta(max_length=100)] = ""
    user: _Name | None = None
    """The user it belongs to; the caller if none is named."""
    days: Annotated[int, Meta(ge=1, le=3650)] | None = None
    """How long it is valid; null means until it is revoked."""


class NewToken(Struct, frozen=True, gc=False, kw_only=True):
    """A new token."""

    token: TokenItem
    secret: str
    """It is shown only once."""


class MachineItem(Struct, frozen=True, gc=False, kw_only=True):
    """Where sessions come from: one user's account on one computer."""

    origin: str
    person: str | None
    """The owner of these sessions; null if there is none."""
    host: str
    user: str
    """As the computer calls itself, and the account there."""
    first_at: datetime
    last_at: datetime
    sessions: int
    """Of those that may be seen."""


class Assignment(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """The new owner of a machine; null for none."""

    person: _Name | None


class Assigned(Struct, frozen=True, gc=False, kw_only=True):
    """How many sessions were affected."""

    sessions: int

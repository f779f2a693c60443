"""What is told of people: who they are, what lets them in, and where their sessions come from."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from turnlog.server.security.callers import CallerKind
from turnlog.store.accounts.interface import TokenKind, UserRole

__all__ = [
    "Assigned",
    "Assignment",
    "LinkSeen",
    "LoginProvider",
    "LoginToken",
    "LoginWays",
    "MachineItem",
    "Me",
    "NewToken",
    "NewUser",
    "TokenItem",
    "TokenWish",
    "UserChange",
    "UserItem",
]

_Name = Annotated[str, Meta(min_length=1, max_length=100)]
_Text = Annotated[str, Meta(max_length=200)]
_Email = Annotated[str, Meta(max_length=254)]


class LoginProvider(Struct, frozen=True, gc=False, kw_only=True):
    """Where else people can say who they are."""

    label: str
    """What the button says."""


class LoginWays(Struct, frozen=True, gc=False, kw_only=True):
    """How people come in; everybody may know."""

    team: bool
    """Whether there are accounts; without any, the server is one person's."""
    oidc: LoginProvider | None


class LoginToken(Struct, frozen=True, gc=False, kw_only=True):
    """A person's token, or the server's own."""

    token: Annotated[str, Meta(max_length=200)]


class LinkSeen(Struct, frozen=True, gc=False, kw_only=True):
    """What a stranger with a link was let in to."""

    session: str
    title: str
    expires_at: datetime
    shared_by: str
    """Who made it, by their full name if there is one; empty if it was made with the server's own token."""


class Me(Struct, frozen=True, gc=False, kw_only=True):
    """Who asks, and what they may do."""

    kind: CallerKind
    name: str | None
    """The user's name; null for the server's own token, and for strangers."""
    full_name: str
    role: UserRole | None
    is_admin: bool
    may_write: bool
    team: bool
    """Whether there are accounts; without any, the server is one person's."""
    link: LinkSeen | None


class UserItem(Struct, frozen=True, gc=False, kw_only=True):
    """A user, as far as whoever asks may know."""

    name: str
    full_name: str
    role: UserRole
    email: str | None
    """For admins, and of oneself; null otherwise, and if there is none."""
    disabled: bool
    created_at: datetime
    seen_at: datetime | None
    """When they were last let in; for admins, and of oneself."""


class NewUser(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """An account that is to be made."""

    name: _Name
    role: UserRole = UserRole.MEMBER
    full_name: _Text = ""
    email: _Email = ""


class UserChange(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """What is to be different about a user; what is left out stays."""

    role: UserRole | UnsetType = UNSET
    full_name: _Text | UnsetType = UNSET
    email: _Email | UnsetType = UNSET


class TokenItem(Struct, frozen=True, gc=False, kw_only=True):
    """What lets somebody in; not the secret itself."""

    id: str
    kind: TokenKind
    user: str
    label: str
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None
    revoked_at: datetime | None
    origin: str | None
    """The machine that a machine's token is good for alone, once one has used it."""


class TokenWish(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """A token that is to be made."""

    kind: TokenKind
    label: Annotated[str, Meta(max_length=100)] = ""
    user: _Name | None = None
    """Whose it is; one's own if nobody is named."""
    days: Annotated[int, Meta(ge=1, le=3650)] | None = None
    """How long it is good; null: until it is revoked."""


class NewToken(Struct, frozen=True, gc=False, kw_only=True):
    """A token that was made."""

    token: TokenItem
    secret: str
    """Nobody can see it again."""


class MachineItem(Struct, frozen=True, gc=False, kw_only=True):
    """Where sessions come from: one user's account on one computer."""

    origin: str
    person: str | None
    """Whose sessions these are; null if nobody said."""
    host: str
    user: str
    """As the computer calls itself, and the account there."""
    first_at: datetime
    last_at: datetime
    sessions: int
    """Of those that may be seen."""


class Assignment(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Whose a machine is to be; nobody's with null."""

    person: _Name | None


class Assigned(Struct, frozen=True, gc=False, kw_only=True):
    """How many sessions something concerned."""

    sessions: int

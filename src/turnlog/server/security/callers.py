"""Who asks, and what follows from it.

    operator   the server's own token, or the browser that its owner opened: everything. Without accounts
               there is nobody else.
    person     a user, by a token of theirs or a cookie
    machine    a machine's token: it may push its user's sessions, and nothing else
    link       a stranger with the address of one session

The guard finds out who it is before any handler runs, and puts it into the request's state; handlers are given
`caller`, and `visible`, which is what the caller may see.
"""

from __future__ import annotations

from enum import StrEnum

from litestar.di import NamedDependency
from litestar.params import SkipValidation
from msgspec import Struct

from turnlog.store.accounts.interface import Link, User, UserRole
from turnlog.store.model import LOCAL, Scope, Viewer

CALLER = "caller"
"""Where a request's state has who asks."""
LINK = "link"
"""Where it has the link by which a stranger came, if one did."""


class CallerKind(StrEnum):
    """How the caller was authenticated."""

    OPERATOR = "operator"
    PERSON = "person"
    MACHINE = "machine"
    LINK = "link"


class Caller(Struct, frozen=True, gc=False, kw_only=True):
    """Who asks."""

    kind: CallerKind
    user: User | None = None
    """Of a person or a machine."""
    token: str | None = None
    """The id of the token that let them in, if one did."""
    link: Link | None = None
    """Of a stranger."""

    @property
    def name(self) -> str | None:
        """The user's name; None for the operator and for strangers."""
        return None if self.user is None else self.user.name

    @property
    def is_admin(self) -> bool:
        """Whether they may look after people, rules and the archive."""
        if self.kind is CallerKind.OPERATOR:
            return True
        return self.kind is CallerKind.PERSON and self.user is not None and self.user.role is UserRole.ADMIN

    @property
    def may_write(self) -> bool:
        """Whether they may change anything that is theirs."""
        if self.kind is CallerKind.PERSON:
            return self.user is not None and self.user.role is not UserRole.VIEWER
        return self.kind is CallerKind.OPERATOR

    @property
    def scope(self) -> Scope:
        """What they may see."""
        if self.is_admin:
            return LOCAL
        if self.link is not None:
            return Scope(LOCAL.owner, Viewer(session=self.link.session))
        return Scope(LOCAL.owner, Viewer(person=self.name, team=self.kind is CallerKind.PERSON))

    @property
    def own(self) -> Scope:
        """What is theirs, and not merely shared with them; everything for the operator."""
        if self.kind is CallerKind.OPERATOR:
            return LOCAL
        return Scope(LOCAL.owner, Viewer(person=self.name))


OPERATOR = Caller(kind=CallerKind.OPERATOR)
NOTHING = Scope(LOCAL.owner, Viewer())
"""What may be seen by whoever was not asked who they are."""

GivenCaller = NamedDependency[SkipValidation[Caller]]
"""Parameter `caller`: who asks."""

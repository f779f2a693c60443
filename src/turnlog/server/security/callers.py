"""Who the caller is, and which routes they may use.

    operator   the server's own token, or the browser that its owner opened: everything. Without accounts
               there is nobody else.
    person     a user, by a token of theirs or a cookie
    machine    a machine's token: it may push its user's sessions, and nothing else
    link       a stranger with the address of one session

The guard finds out who it is before any handler runs, and puts it into the request's state; handlers are given
`caller`, and `visible`, which is what the caller may see. Each route says by its `opt` who may use it:

    nothing      operators and persons; those who may change nothing only ask (GET, HEAD)
    PUBLIC       everybody; nobody is asked who they are
    READS        also by other methods for those who may change nothing: it changes nothing of anybody else's
    ADMINS       operators, and persons who are admins
    OPERATORS    operators alone
    MACHINES     also machines; of persons only those who have sessions
    LINKED       also strangers with a link, who only ask
    TOKEN_ONLY   a browser's cookie is not enough

They can be put together with `|`. Machines and strangers get nothing that does not name them. For a stranger
there is nothing but what the link shows, so all else is answered as what does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from litestar.di import NamedDependency
from litestar.params import SkipValidation
from msgspec import Struct

from turnlog.server.errors import NotFoundError, RequestError
from turnlog.store.account_model import Link, User, UserRole
from turnlog.store.model import LOCAL, Scope, Viewer

CALLER = "caller"
"""The key of the caller in a request's state."""
LINK = "link"
"""The key of the link that a visitor used, if any."""


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
        """Whether they may manage people, rules and the archive."""
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
"""What may be seen without authentication."""

GivenCaller = NamedDependency[SkipValidation[Caller]]
"""Parameter `caller`: who sent the request."""


PUBLIC = {"public": True}
READS = {"reads": True}
ADMINS = {"admins": True}
OPERATORS = {"operators": True}
MACHINES = {"machines": True}
LINKED = {"linked": True}
TOKEN_ONLY = {"token_only": True}

_ASKING = frozenset({"GET", "HEAD", "OPTIONS"})
_NOTHING_THERE = "There is nothing at this address"


def check_policy(caller: Caller, opt: Mapping[str, Any], method: str) -> None:
    """Raise `RequestError` unless a caller may use a route with this `opt`."""
    match caller.kind:
        case CallerKind.OPERATOR:
            return
        case CallerKind.LINK:
            if not opt.get("linked") or method not in _ASKING:
                raise NotFoundError(_NOTHING_THERE)
        case CallerKind.MACHINE:
            if not opt.get("machines"):
                raise forbid("A machine token is only for pushing")
            _check_has_sessions(caller)
        case CallerKind.PERSON:
            _check_person(caller, opt, method)


def forbid(message: str) -> RequestError:
    """Return the failure for a caller who may not do something whose existence is no secret."""
    return RequestError(403, "forbidden", message)


def _check_person(caller: Caller, opt: Mapping[str, Any], method: str) -> None:
    if opt.get("operators"):
        raise forbid("This needs the server's own token")
    if opt.get("admins") and not caller.is_admin:
        raise forbid("This is for admins")
    if opt.get("machines"):
        _check_has_sessions(caller)
    if method not in _ASKING and not caller.may_write and not opt.get("reads"):
        raise forbid("This account can see what is shared, but cannot change anything")


def _check_has_sessions(caller: Caller) -> None:
    if caller.user is None or caller.user.role is UserRole.VIEWER:
        raise forbid("This account cannot have sessions, so nothing can be pushed for it")

"""Who may use a route. Each says so by its `opt`; what says nothing is for operators and persons.

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
from typing import Any

from turnlog.server.errors import NotFoundError, RequestError
from turnlog.server.security.callers import Caller, CallerKind
from turnlog.store.accounts.interface import UserRole

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
    """Raise `RequestError` unless somebody may use a route that says `opt` of itself."""
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
    """Return what is said to somebody who may not do what everybody knows can be done."""
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

"""What handlers are given, and what they accept.

Litestar passes dependencies by the names of parameters, and each has its type here:

    def list_turns(store: GivenStore, visible: GivenScope, context: GivenContext, …)

Parameters that several routes take have one type each, with their limits and descriptions; a parameter that a
route does not know is refused. Bodies are decoded a second time, strictly, since Litestar takes "false" and 0
for false, as is right for parameters but not for JSON. So a handler that changes something takes `data`, from
which the schema is made, and reads `body` again.

    check_unchanged(request, session.key, session.revision)

at the top of a handler ends the request with 304 if the client's `If-None-Match` names this state, and
otherwise puts the ETag on the answer. Besides what is given it covers the address, the query, turnlog's version
and the caller, so a handler only names what the answer is made from, and nobody is sent another caller's
answer. ETags are weak, since an answer may be compressed in several ways.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from litestar import Request
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency, Provide
from litestar.handlers import BaseRouteHandler
from litestar.openapi.spec import OpenAPIMediaType, Operation, RequestBody, Schema
from litestar.params import PathParameter, QueryParameter, SkipValidation
from msgspec import Struct

from turnlog.config import NotificationSettings, OidcSettings
from turnlog.ingest.machine import KnownMachines
from turnlog.instants import to_microseconds
from turnlog.server.asgi import matches_etag
from turnlog.server.errors import ErrorDetail, InvalidRequestError, NotModifiedError, RequestError
from turnlog.server.security.callers import CALLER, NOTHING, Caller
from turnlog.server.sync import SyncState
from turnlog.store.accounts import Accounts
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import Scope, StorePlace
from turnlog.transcripts.kinds import Category

_VERSION = version("turnlog")


class ServerContext(Struct, frozen=True, kw_only=True):
    """Where the data of a server is, and how it is set up; nothing of this changes while the server runs."""

    place: StorePlace | None = None
    """Where the store is, if anywhere."""
    config_dirs: tuple[Path, ...] = ()
    """Where Claude Code's own data may be."""
    captured_dir: Path | None = None
    """Where what turnlog captured itself lies, if anywhere."""
    exclude: tuple[str, ...] = ()
    """What is never archived."""
    notifications: NotificationSettings = NotificationSettings()
    """Who is notified when a session waits or ends."""
    public_url: str | None = None
    """The address at which people reach the server, if it is configured."""
    trusted_proxies: tuple[str, ...] = ()
    """Whose word counts for where a request comes from."""
    oidc: OidcSettings | None = None
    """At which provider people can log in."""
    oidc_secret: str | None = None
    """What that knows this server by; it must not be shown."""
    redact_words: tuple[str, ...] = ()
    """What exports never tell, besides secrets."""
    demo: bool = False
    """Whether these are the sample sessions."""
    env: Mapping[str, str] = os.environ
    """What processes beside the server find their settings in."""


NO_CONTEXT = ServerContext()

GivenContext = NamedDependency[SkipValidation[ServerContext]]
"""Parameter `context`: where the data of the server is, and how it is set up."""


GivenStore = NamedDependency[SkipValidation[MaintainedStore]]
"""Parameter `store`: the archive. A handler that uses it is a plain function with `sync_to_thread=True`."""
GivenAccounts = NamedDependency[SkipValidation[Accounts]]
"""Parameter `accounts`: who may come in. As with the store, its handlers have a thread."""
GivenMachines = NamedDependency[SkipValidation[KnownMachines]]
"""Parameter `machines`: whose machines are that something comes from."""
GivenScope = NamedDependency[SkipValidation[Scope]]
"""Parameter `visible`: what the caller may see; nothing on routes without authentication."""
GivenSync = NamedDependency[SkipValidation[SyncState]]
"""Parameter `syncing`: how far the archive is up to date."""


def build_dependencies(store: MaintainedStore, accounts: Accounts, syncing: SyncState) -> Mapping[str, Provide]:
    """Return what Litestar gives to route handlers."""
    return {
        "store": provide(store),
        "accounts": provide(accounts),
        "machines": provide(KnownMachines(store)),
        "syncing": provide(syncing),
        "caller": Provide(_get_caller, sync_to_thread=False),
        "visible": Provide(_get_scope, sync_to_thread=False),
    }


def provide(value: object) -> Provide:
    """Return what gives handlers a value."""
    return Provide(lambda: value, sync_to_thread=False)


def _get_caller(request: Request[Any, Any, Any]) -> Caller:
    """Return the caller that the guard has identified; there is none on public routes."""
    caller: Caller = request.scope["state"][CALLER]
    return caller


def _get_scope(request: Request[Any, Any, Any]) -> Scope:
    caller: Caller | None = request.scope["state"].get(CALLER)
    return NOTHING if caller is None else caller.scope


LARGEST = 1 << 53
"""The largest number that all who read JSON read alike; the store takes no larger ones than 64 bits."""
FROM_ZERO: dict[str, Any] = {"minimum": 0}
"""Litestar leaves a minimum out of the schema if it is 0."""


def query(description: str, **limits: Any) -> Any:
    """Describe a query parameter of a route."""
    return QueryParameter(description=description, **limits)


def integer(description: str, least: int = 0, most: int = LARGEST) -> Any:
    """Describe a query parameter that is an integer."""
    return query(description, ge=least, le=most, schema_extra=None if least else FROM_ZERO)


NamedSession: TypeAlias = Annotated[
    str,
    PathParameter(
        description="A session: its key, its id, or a beginning of either that no other has, of 4 characters "
        "or more."
    ),
]
NamedSource: TypeAlias = Annotated[
    str, PathParameter(description="A file of the session: the `source` of its content.")
]
ZeroBased: TypeAlias = Annotated[
    int, PathParameter(ge=0, le=LARGEST, description="Counted from 0.", schema_extra=FROM_ZERO)
]
Source: TypeAlias = Annotated[
    str | None,
    query(
        "The file of the session, as `source` of a message or an agent; its transcript by default.",
        max_length=200,
    ),
]
Limit: TypeAlias = Annotated[int, integer("The maximum number of items.", least=1, most=500)]
Cursor: TypeAlias = Annotated[
    int,
    integer("Where to continue: `next` from the previous response."),
]

Categories: TypeAlias = Annotated[
    list[Category] | None, query("The category of the action or event.", max_items=20)
]

ANY_PARAMETERS = {"any_parameters": True}
"""For routes whose address others make, who may add parameters of their own."""
_KNOWN = "known_parameters"
_LONGEST_NAME = 50
_MOST_NAMED = 10


async def check_parameters(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Raise `RequestError` for parameters that a route does not take; Litestar asks before each handler."""
    opt = handler.opt
    if not connection.scope["query_string"] or opt.get("any_parameters"):
        return
    if _KNOWN not in opt:  # worked out once for each route
        model = handler.create_kwargs_model(path_parameters=connection.path_params)
        opt[_KNOWN] = sorted({each.field_alias for each in model.expected_query_params})
    known: list[str] = opt[_KNOWN]
    unknown = [name for name in dict.fromkeys(connection.query_params.keys()) if name not in known]
    if not unknown:
        return
    details = tuple(ErrorDetail(where=_shorten_name(name), message=_explain(name, known)) for name in unknown)
    there = ", ".join(known) if known else "no parameters"
    raise RequestError(
        400,
        "unknown_parameter",
        f"{details[0].message}. This address takes {there}",
        details=details[:_MOST_NAMED],
    )


def _explain(name: str, known: Sequence[str]) -> str:
    plain = {each.replace("_", ""): each for each in known}
    close = get_close_matches(re.sub(r"[\W_]", "", name.lower())[:_LONGEST_NAME], plain, n=1)
    hint = f" (did you mean `{plain[close[0]]}`?)" if close else ""
    return f"There is no parameter `{_shorten_name(name)}` here{hint}"


def _shorten_name(name: str) -> str:
    """Return a name as JSON can have it, and not the whole of a very long one."""
    return name[:_LONGEST_NAME].encode("utf-8", "replace").decode()


def find_next(cursor: int, items: Sequence[object], total: int) -> str | None:
    """Return where the next page begins; None at the end."""
    end = cursor + len(items)
    return str(end) if items and end < total else None


_Body = TypeVar("_Body", bound=Struct)


def decode_body(body: bytes, kind: type[_Body]) -> _Body:
    """Return a body as its type; raises `InvalidRequestError` if anything in it is of another type."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        problem = ErrorDetail(where="body", message=str(error))
        raise InvalidRequestError("The request is not valid", problem) from None


def describe_body(description: str, media_type: str, schema: Schema) -> type[Operation]:
    """Return what says what is sent to a route: Litestar knows only of bodies that it reads itself."""
    body = RequestBody(description=description, content={media_type: OpenAPIMediaType(schema=schema)})

    @dataclass
    class Described(Operation):
        def __post_init__(self) -> None:
            self.request_body = body

    return Described


def parse_moment(where: str, text: str | None) -> int | None:
    """Return a date or a time in microseconds since 1970; without a zone it is UTC.

    Raises `InvalidRequestError`.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        problem = f"expected a date or a time such as 2026-01-31 or 2026-01-31T12:00:00Z, got {text!r}"
        raise InvalidRequestError("A time is not valid", ErrorDetail(where=where, message=problem)) from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return to_microseconds(moment)


def check_unchanged(request: Request[Any, Any, Any], *parts: str | int | None) -> None:
    """Raise `NotModifiedError` if the client has this state of what it asks for."""
    scope = request.scope
    asked = scope["path"], scope["query_string"].decode("latin-1")
    etag = build_etag(*asked, *_name(scope["state"].get(CALLER)), *parts)
    if matches_etag(etag, request.headers.get("if-none-match", "")):
        raise NotModifiedError(etag)
    scope["state"]["etag"] = etag


def _name(caller: Caller | None) -> tuple[str | None, ...]:
    if caller is None:
        return ()
    role = None if caller.user is None else caller.user.role
    return caller.kind, caller.name, role, None if caller.link is None else caller.link.id


def build_etag(*parts: str | int | None) -> str:
    """Return a weak ETag for a state."""
    digest = blake2b(_VERSION.encode(), digest_size=12)
    for part in parts:
        text = b"" if part is None else str(part).encode("utf-8", "surrogateescape")
        # With its kind and length, no two lists of parts look the same.
        digest.update(b"%c%d:%s" % (b"n" if part is None else b"v", len(text), text))
    return f'W/"{digest.hexdigest()}"'

"""The application, assembled from what it is given, and its OpenAPI schema.

From outside in: the gate (limits, host, origin, one shape for failures, headers), compression, links for
strangers, the page, and the API on Litestar, whose guard finds out who the caller is.

The schema is Litestar's, with the one shape of every failure. Litestar describes validation errors as it would
answer them itself, which here it never does. It says "one of" where "any of" is meant: null is one of
`anything` and `null` twice. And it does not know the strings behind fields, which describe them and are what
strangers read first. `python -m turnlog.server.app` prints the schema, from which the page's types are made.
"""

from __future__ import annotations

import ast
import logging
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.metadata import version
from inspect import getdoc, getsource
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from threading import Event
from typing import Any, cast

import msgspec
from litestar import Litestar, Request
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from msgspec import Struct

from turnlog.ingest.spool import SPOOL
from turnlog.server import audit, live
from turnlog.server.asgi import PAGE, App, Compression, HeadSupport, Receive, Scope, Send, StaticFiles
from turnlog.server.audit import Auditor, build_requested, build_requester
from turnlog.server.errors import ErrorDocument
from turnlog.server.links import LinkMiddleware
from turnlog.server.live import LiveHub, build_live
from turnlog.server.notifications import Notifier
from turnlog.server.requests import NO_CONTEXT, ServerContext, build_dependencies, check_parameters, provide
from turnlog.server.routes import (
    accounts,
    archive,
    conversation,
    exports,
    hooks,
    ingest,
    messages,
    mission_control,
    sessions,
    sharing,
    status,
    timeline,
)
from turnlog.server.routes.hooks import HookReceiver
from turnlog.server.routes.status import ArchiveCounter, Metrics
from turnlog.server.security.gate import EXCEPTION_HANDLERS, AnsweredRequest, Gate, Hosts, Limits
from turnlog.server.security.guard import AuthContext, FailureLimit, build_guard
from turnlog.server.security.providers import load_provider
from turnlog.server.security.tokens import TokenKeeper
from turnlog.server.state_watch import StateWatch
from turnlog.server.sync import SyncState
from turnlog.server.uploader import UploadProcess
from turnlog.server.verifier import VerifierProcess
from turnlog.store.accounts import Accounts, open_accounts
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL, home_of
from turnlog.store.opening import open_store

logger = logging.getLogger("turnlog.server.requests")

_RESOURCES = (
    status, accounts, sessions, messages, timeline, conversation, archive, exports, live, hooks, ingest,
    mission_control, sharing, audit,
)  # fmt: skip
HANDLERS = [
    each for module in _RESOURCES for each in vars(module).values() if isinstance(each, HTTPRouteHandler)
]
"""All routes: what handles requests in the module of a resource."""


class Application:
    """The ASGI application; `api` is the part on Litestar, which knows the schema."""

    def __init__(self, api: Litestar, gate: Gate, live: LiveHub, hooks: HookReceiver) -> None:
        self.api = api
        self.hooks = hooks
        self.live = live
        """Its streams do not end by themselves: call `live.close` when the server is about to end."""
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._gate(scope, receive, send)


def build_app(
    store: MaintainedStore,
    keeper: TokenKeeper,
    hosts: Hosts,
    accounts: Accounts,
    *,
    limits: Limits | None = None,
    handlers: Sequence[Any] = HANDLERS,
    syncing: SyncState | None = None,
    failures: FailureLimit | None = None,
    context: ServerContext = NO_CONTEXT,
    ending: Event | None = None,
    page: Path = PAGE,
) -> Application:
    """Return the application; `context` says where the store is, and `page` is the folder of the page."""
    limits, syncing = limits or Limits(), syncing or SyncState()
    failures = failures or FailureLimit(proxies=context.trusted_proxies)
    counter = ArchiveCounter(store, LOCAL)
    metrics, verifying = Metrics(counter, syncing, context.place), VerifierProcess(context.place, context.env)
    uploads = UploadProcess(context.place, context.env)
    hooks = HookReceiver(store, None if context.place is None else home_of(context.place) / SPOOL)
    metrics.watch_hooks(hooks)
    watch = StateWatch(store, context.config_dirs, has_people=accounts.has_users)
    notifier = Notifier(context.notifications)
    live = build_live(store, syncing, watch, notifier.note)
    live.watch(accounts)
    hooks.listeners.append(lambda _: live.wake())
    auth = AuthContext(keeper, failures, accounts, context.public_url)
    audit = Auditor(accounts)
    provider = load_provider(context.oidc, context.oidc_secret)
    parts: dict[str, object] = {"auth": auth, "provider": provider, "audit": audit}
    parts |= {"keeper": keeper, "failures": failures, "metrics": metrics, "live": live, "watch": watch}
    parts |= {"notifier": notifier, "counter": counter, "ending": ending or Event()}
    parts |= {"context": context, "verifying": verifying, "hooks": hooks, "uploads": uploads}
    for handler in handlers:
        # Litestar would read them from what it wraps some functions in, where an address has several methods.
        if isinstance(handler, HTTPRouteHandler):
            handler.operation_id, handler.description = handler.fn.__name__, getdoc(handler.fn)
    api = Litestar(
        route_handlers=list(handlers),
        guards=[build_guard(auth), check_parameters],
        exception_handlers=EXCEPTION_HANDLERS,
        dependencies={
            **build_dependencies(store, accounts, syncing),
            "requester": Provide(build_requester, sync_to_thread=False),
            "requested": Provide(build_requested, sync_to_thread=False),
            **{name: provide(part) for name, part in parts.items()},
        },
        request_max_body_size=limits.body,
        openapi_config=OpenAPIConfig(
            title="turnlog", version=version("turnlog"), path="/api/schema", render_plugins=[SchemaPlugin()]
        ),
        logging_config=None,
        debug=False,
        on_startup=[notifier.start, hooks.start, live.start],
        on_shutdown=[notifier.stop, live.stop, verifying.stop, uploads.stop, hooks.stop],
    )

    def on_seen(seen: AnsweredRequest) -> None:
        metrics.observe(seen)
        told = seen.method, seen.route, seen.status, seen.seconds * 1000
        logger.info("%s %s %d %.1f ms", *told, extra={"request": seen})

    inner = LinkMiddleware(
        StaticFiles(HeadSupport(cast(App, api)), page), store, accounts, audit, context.redact_words
    )
    return Application(api, Gate(Compression(inner), hosts, limits, on_seen), live, hooks)


_METHODS = ("get", "put", "post", "delete", "patch")
_NONE = re.compile(r"\bNone\b")
_SHAPES = (
    "turnlog.server.", "turnlog.store.usage_", "turnlog.transcripts.usage.", "turnlog.ingest.upload_",
    "turnlog.export.link_preview",
)  # fmt: skip
"""Where the classes are that the API answers."""
_REFERENCE = "#/components/schemas/{name}"


class SchemaPlugin(JsonRenderPlugin):
    """Shows the schema as JSON."""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """Return the schema."""
        return msgspec.json.encode(_correct(openapi_schema))


def build_schema(api: Litestar) -> dict[str, Any]:
    """Return the schema as plain values, the same each time."""
    return _correct(api.openapi_schema.to_schema())


def _correct(schema: dict[str, Any]) -> dict[str, Any]:
    (document,), components = msgspec.json.schema_components((ErrorDocument,), ref_template=_REFERENCE)
    failure = {"description": "Any failure", "content": {"application/json": {"schema": document}}}
    known = schema.setdefault("components", {}).setdefault("schemas", {})
    known.update(components)
    _describe(known)
    for path in schema.get("paths", {}).values():
        for operation in (path[method] for method in _METHODS if method in path):
            operation["summary"] = operation.get("description", "").partition(".")[0]
            operation["responses"].pop("400", None)
            operation["responses"].get("204", {}).pop("content", None)
            operation["responses"]["default"] = failure
    corrected = _loosen(schema)
    assert isinstance(corrected, dict)
    return corrected


def _describe(components: dict[str, Any]) -> None:
    """Add descriptions of shapes and fields: the docstrings and strings of their classes."""
    for known in _list_structs(Struct):
        shape = components.get(known.__name__)
        if shape is None or not known.__module__.startswith(_SHAPES):
            continue
        shape["description"] = (known.__doc__ or "").strip()
        for name, text in _read_fields(known).items():
            field = shape.get("properties", {}).get(name)
            if field is not None:
                field["description"] = text


def _list_structs(of: type[Struct]) -> Iterator[type[Struct]]:
    for each in of.__subclasses__():
        yield each
        yield from _list_structs(each)


def _read_fields(known: type) -> dict[str, str]:
    """Return the strings that follow the fields of a class."""
    [tree] = ast.parse(dedent(getsource(known))).body
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for field, text in pairwise(tree.body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                found[name] = _NONE.sub("null", " ".join(words.split()))
    return found


def _loosen(value: Any) -> Any:
    """Replace "one of" by "any of" where no field distinguishes the alternatives."""
    if isinstance(value, list):
        return [_loosen(each) for each in value]
    if not isinstance(value, dict):
        return value
    loose = "oneOf" in value and "discriminator" not in value
    return {"anyOf" if loose and name == "oneOf" else name: _loosen(each) for name, each in value.items()}


def describe() -> bytes:
    """Return the OpenAPI schema as JSON that people can read, the same each time."""
    with TemporaryDirectory() as folder:
        place = Path(folder, "turnlog.db")
        with closing(open_store(place)) as store, closing(open_accounts(place, create=False)) as accounts:
            app = build_app(store, TokenKeeper(Path(folder, "token")), Hosts("127.0.0.1", 1, ()), accounts)
            return msgspec.json.format(msgspec.json.encode(build_schema(app.api)), indent=2) + b"\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(describe())

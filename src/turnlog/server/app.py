"""The application, assembled from what it is given.

From outside in: the gate (limits, host, origin, one shape for failures, headers), compression, links for
strangers, the page, and the API on Litestar, whose guard finds out who asks.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.metadata import version
from inspect import getdoc
from pathlib import Path
from typing import Any, cast

from litestar import Litestar
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig

from turnlog.ingest.spool import SPOOL
from turnlog.server.asgi import App, Receive, Scope, Send
from turnlog.server.auditing import Auditor, build_visit
from turnlog.server.board.watching import StateWatch
from turnlog.server.compression import Compression
from turnlog.server.counting import ArchiveCounter
from turnlog.server.dependencies import build_dependencies
from turnlog.server.errors import EXCEPTION_HANDLERS
from turnlog.server.heads import Heads
from turnlog.server.links.layer import LinkLayer
from turnlog.server.live.hub import LiveHub
from turnlog.server.live.sources import build_live
from turnlog.server.metrics import Metrics
from turnlog.server.notifications.notifier import Notifier
from turnlog.server.pages import PAGE, Pages
from turnlog.server.parameters import refuse_unknown
from turnlog.server.readiness import Readiness
from turnlog.server.receiving import HookReceiver
from turnlog.server.routes.table import HANDLERS
from turnlog.server.schema import SchemaPlugin
from turnlog.server.security.failures import FailureLimit
from turnlog.server.security.gate import Gate, Seen
from turnlog.server.security.guard import Doors, build_guard
from turnlog.server.security.hosts import Hosts
from turnlog.server.security.limits import Limits
from turnlog.server.security.providers import load_provider
from turnlog.server.security.tokens import TokenKeeper
from turnlog.server.surroundings import NOWHERE, Surroundings
from turnlog.server.sync_state import SyncState
from turnlog.server.uploading import Uploading
from turnlog.server.verifying import Verifying
from turnlog.store.accounts.interface import Accounts
from turnlog.store.interface import CaredStore
from turnlog.store.model import LOCAL
from turnlog.store.places import home_of

logger = logging.getLogger("turnlog.server.requests")


class Application:
    """The whole of it, as ASGI; `api` is the part on Litestar, which knows the schema."""

    def __init__(self, api: Litestar, gate: Gate, live: LiveHub, hooks: HookReceiver) -> None:
        self.api = api
        self.hooks = hooks
        self.live = live
        """Its streams end only when they are told to: call `live.close` when the server is about to end."""
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._gate(scope, receive, send)


def build_app(
    store: CaredStore,
    keeper: TokenKeeper,
    hosts: Hosts,
    accounts: Accounts,
    *,
    limits: Limits | None = None,
    handlers: Sequence[Any] = HANDLERS,
    syncing: SyncState | None = None,
    failures: FailureLimit | None = None,
    around: Surroundings = NOWHERE,
    readiness: Readiness | None = None,
    page: Path = PAGE,
) -> Application:
    """Return the application; `around` says where the store lies, and `page` is the folder of the page."""
    limits, syncing = limits or Limits(), syncing or SyncState()
    failures = failures or FailureLimit(proxies=around.trusted_proxies)
    counter = ArchiveCounter(store, LOCAL)
    metrics, verifying = Metrics(counter, syncing, around.place), Verifying(around.place, around.env)
    uploads = Uploading(around.place, around.env)
    hooks = HookReceiver(store, None if around.place is None else home_of(around.place) / SPOOL)
    metrics.watch_hooks(hooks)
    watch = StateWatch(store, around.config_dirs, has_people=accounts.has_users)
    notifier = Notifier(around.notifications)
    live = build_live(store, syncing, watch, notifier.note)
    live.watch(accounts)
    hooks.listeners.append(lambda _: live.wake())
    doors = Doors(keeper, failures, accounts, around.public_url)
    audit = Auditor(accounts)
    provider = load_provider(around.oidc, around.oidc_secret)
    parts: dict[str, object] = {"doors": doors, "provider": provider, "audit": audit}
    parts |= {"keeper": keeper, "failures": failures, "metrics": metrics, "live": live, "watch": watch}
    parts |= {"notifier": notifier, "counter": counter, "readiness": readiness or Readiness()}
    parts |= {"surroundings": around, "verifying": verifying, "hooks": hooks, "uploads": uploads}
    for handler in handlers:
        # Litestar would read them from what it wraps some functions in, where an address has several methods.
        if isinstance(handler, HTTPRouteHandler):
            handler.operation_id, handler.description = handler.fn.__name__, getdoc(handler.fn)
    api = Litestar(
        route_handlers=list(handlers),
        guards=[build_guard(doors), refuse_unknown],
        exception_handlers=EXCEPTION_HANDLERS,
        dependencies={
            **build_dependencies(store, accounts, syncing),
            "visit": Provide(build_visit, sync_to_thread=False),
            **{name: _give(part) for name, part in parts.items()},
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

    def on_seen(seen: Seen) -> None:
        metrics.observe(seen)
        told = seen.method, seen.route, seen.status, seen.seconds * 1000
        logger.info("%s %s %d %.1f ms", *told, extra={"request": seen})

    inner = LinkLayer(Pages(Heads(cast(App, api)), page), store, accounts, audit, around.redact_words)
    return Application(api, Gate(Compression(inner), hosts, limits, on_seen), live, hooks)


def _give(part: object) -> Provide:
    return Provide(lambda: part, sync_to_thread=False)

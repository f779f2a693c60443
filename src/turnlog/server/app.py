"""The application, assembled from what it is given.

From outside in: the gate (limits, host, origin, one shape for failures, headers), compression, links for
strangers, the page, and the API on Litestar, whose guard finds out who the caller is.

`python -m turnlog.server.app` prints the API's schema, from which the page's types are made.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from contextlib import closing
from importlib.metadata import version
from inspect import getdoc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import msgspec
from litestar import Litestar
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig

from turnlog.ingest.spool import SPOOL
from turnlog.server import audit
from turnlog.server.asgi import App, Compression, Heads, Receive, Scope, Send
from turnlog.server.audit import Auditor, build_visit
from turnlog.server.board import board
from turnlog.server.board.watch import StateWatch
from turnlog.server.errors import EXCEPTION_HANDLERS
from turnlog.server.links import LinkLayer
from turnlog.server.live import stream
from turnlog.server.live.hub import LiveHub
from turnlog.server.live.stream import build_live
from turnlog.server.notifications import Notifier
from turnlog.server.openapi import SchemaPlugin, build_schema
from turnlog.server.pages import PAGE, Pages
from turnlog.server.requests import NOWHERE, Surroundings, build_dependencies, refuse_unknown
from turnlog.server.routes import (
    actions,
    archive,
    calls,
    conversation,
    deletion,
    exports,
    hooks,
    ingest,
    login,
    messages,
    metrics,
    people,
    search,
    sessions,
    sharing,
    status,
    timeline,
)
from turnlog.server.routes.archive import Verifying
from turnlog.server.routes.hooks import HookReceiver
from turnlog.server.routes.ingest import Uploading
from turnlog.server.routes.metrics import ArchiveCounter, Metrics
from turnlog.server.routes.status import Readiness
from turnlog.server.security.gate import Gate, Hosts, Limits, Seen
from turnlog.server.security.guard import Doors, FailureLimit, build_guard
from turnlog.server.security.providers import load_provider
from turnlog.server.security.tokens import TokenKeeper
from turnlog.server.sync import SyncState
from turnlog.store.accounts.interface import Accounts
from turnlog.store.accounts.opening import open_accounts
from turnlog.store.interface import CaredStore
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.store.places import home_of

logger = logging.getLogger("turnlog.server.requests")

HANDLERS: Sequence[Any] = (
    status.get_health,
    status.get_ready,
    login.open_page,
    login.create_key,
    login.get_login,
    login.log_in,
    login.log_out,
    login.begin_login,
    login.finish_login,
    people.get_me,
    people.list_users,
    people.add_user,
    people.change_user,
    people.disable_user,
    people.enable_user,
    people.list_tokens,
    people.create_token,
    people.revoke_token,
    people.list_machines,
    people.assign_machine,
    metrics.get_metrics,
    status.get_status,
    sessions.list_projects,
    sessions.list_sessions,
    sessions.list_facets,
    sessions.get_session_detail,
    sessions.change_marks,
    messages.list_messages,
    messages.get_raw_message,
    timeline.list_timeline,
    actions.list_actions,
    conversation.list_turns,
    conversation.get_tree,
    conversation.list_agents,
    conversation.list_problems,
    calls.list_sidechains,
    calls.list_sidechain_calls,
    calls.list_calls,
    messages.get_image,
    messages.get_tool_result,
    messages.list_captures,
    messages.get_capture,
    search.search,
    sessions.get_usage,
    archive.get_archive,
    archive.verify_archive,
    archive.find_verification,
    archive.lift_tombstone,
    archive.forget_session,
    archive.restore_files,
    exports.export_sessions,
    exports.preview_export,
    stream.open_stream,
    hooks.receive_hook,
    hooks.list_hook_events,
    ingest.get_ingest_state,
    ingest.receive_upload,
    ingest.receive_uploaded_hooks,
    board.get_mission_control,
    status.get_notifications,
    status.test_notifications,
    sharing.list_rules,
    sharing.set_rule,
    sharing.weigh_rule,
    sharing.list_links,
    sharing.preview_link,
    sharing.create_link,
    sharing.revoke_link,
    deletion.weigh_session,
    deletion.delete_session,
    audit.list_audit,
    sharing.get_access,
    sharing.change_access,
    sharing.change_accesses,
)
"""All routes, in the order in which the schema has them; a new one is added here."""


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


def describe() -> bytes:
    """Return the OpenAPI schema as JSON that people can read, the same each time."""
    with TemporaryDirectory() as folder:
        place = Path(folder, "turnlog.db")
        with closing(open_store(place)) as store, closing(open_accounts(place, create=False)) as accounts:
            app = build_app(store, TokenKeeper(Path(folder, "token")), Hosts("127.0.0.1", 1, ()), accounts)
            return msgspec.json.format(msgspec.json.encode(build_schema(app.api)), indent=2) + b"\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(describe())

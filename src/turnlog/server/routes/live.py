"""`/api/live`: the stream of events, where they come from, and whether a client may still have them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Annotated, Any

from litestar import Request, get
from litestar.datastructures import ResponseHeader
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import SkipValidation
from litestar.response import Stream
from msgspec import Struct

from turnlog.server.live import ChangeEvent, Listener, LiveHub
from turnlog.server.requests import GivenScope, query
from turnlog.server.security.callers import LINKED, Caller, CallerKind, GivenCaller
from turnlog.server.security.guard import AuthContext, find_logged_in
from turnlog.server.session_states import StateChange
from turnlog.server.state_watch import StateTracker, StateWatch
from turnlog.server.sync import SyncState, SyncStatus, view_sync
from turnlog.store.accounts import Accounts
from turnlog.store.interface import MaintainedStore


class StateEvent(Struct, frozen=True, gc=False, kw_only=True):
    """A session went to another column of mission control, or is there for another reason."""

    session_id: str
    column: str
    why: str | None


def build_live(
    store: MaintainedStore, syncing: SyncState, watch: StateWatch, on_change: Callable[[StateChange], None]
) -> LiveHub:
    """Return the hub that sends clients the changes of a store, the follower's progress, and states.

    `on_change` is told of states, too, in the reader's thread.
    """
    live = LiveHub(store)
    told: list[SyncStatus] = []

    def on_news() -> None:
        live.wake()
        status, others = view_sync(syncing), view_sync(syncing, in_detail=False)
        if told[:1] != [status]:
            is_new = told[1:] != [others]
            told[:] = [status, others]
            live.tell("sync", "sync", status, others if is_new else None)

    def tell(change: StateChange) -> None:
        event = StateEvent(session_id=change.session_id, column=change.state.column, why=change.state.why)
        live.tell_of(change.key or change.session_id, "state", event)
        on_change(change)

    syncing.listen(on_news)
    tracker = StateTracker(store, watch, tell)
    live.follow(tracker, tracker.prime, tracker.recheck)
    return live


def _build_listener(request: Request[Any, Any, Any], caller: Caller, auth: AuthContext) -> Listener | None:
    """Return what a stream ends with; None for the operator's, which last as long as the server."""
    if caller.kind is CallerKind.OPERATOR:
        return None
    accounts = auth.accounts
    if caller.link is not None:
        link = caller.link
        return Listener(lambda: asyncio.to_thread(_is_open, accounts, caller), link.expires_ns)
    if caller.token is not None:
        return Listener(lambda: asyncio.to_thread(_is_let_in, accounts, caller))

    async def is_logged_in() -> bool:
        user = await find_logged_in(request, auth)
        return user is not None and user.name == caller.name and _has_role(caller, user.role)

    return Listener(is_logged_in)


def _has_role(caller: Caller, role: str) -> bool:
    return caller.user is not None and caller.user.role == role


def _is_let_in(accounts: Accounts, caller: Caller) -> bool:
    """Tell whether a token is still good, for who its user was when it was used."""
    user = None if caller.name is None else accounts.find_user(caller.name)
    if user is None or user.disabled_ns is not None or not _has_role(caller, user.role):
        return False
    token = next((each for each in accounts.list_tokens(user.name) if each.id == caller.token), None)
    ends = None if token is None else token.expires_ns
    return token is not None and token.revoked_ns is None and (ends is None or ends > time.time_ns())


def _is_open(accounts: Accounts, caller: Caller) -> bool:
    link = caller.link
    if link is None or link.expires_ns <= time.time_ns():
        return False
    known = next((each for each in accounts.list_links(session=link.session) if each.id == link.id), None)
    maker = None if known is None or known.created_by is None else accounts.find_user(known.created_by)
    return known is not None and known.revoked_ns is None and (maker is None or maker.disabled_ns is None)


_TYPE = "text/event-stream"


@get(
    "/api/live",
    opt=LINKED,
    media_type=_TYPE,
    response_headers=[ResponseHeader(name="x-accel-buffering", value="no")],
    responses={200: ResponseSpec(ChangeEvent, media_type=_TYPE, description="An endless stream of events.")},
)
async def open_stream(
    request: Request[Any, Any, Any],
    live: NamedDependency[SkipValidation[LiveHub]],
    caller: GivenCaller,
    visible: GivenScope,
    auth: NamedDependency[SkipValidation[AuthContext]],
    last_event_id: Annotated[
        str | None, query("The id of the last event received, if it is not in the header.", max_length=200)
    ] = None,
) -> Stream:
    """Stream what happens, as server-sent events.

    Begins with `hello`; `change` is an entry of the feed, `state` a session that moved to another column of
    mission control, `sync` how far the archive is up to date, and `reset` means that the client missed too
    much. Callers receive only what they may see. Continues after `Last-Event-ID`. docs/protocol.md says more.
    """
    last = request.headers.get("last-event-id", last_event_id)
    return Stream(await live.open(last, visible, _build_listener(request, caller, auth)), media_type=_TYPE)

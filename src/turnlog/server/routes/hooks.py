"""`POST /api/hooks`, and what came of it: `/api/sessions/{id}/hook-events`."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Annotated, Any

from litestar import Request, get, post
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema
from litestar.params import HeaderParameter, QueryParameter
from msgspec import Raw

from turnlog.ingest.spool import LARGEST
from turnlog.server.auditing import GivenVisit, Visit
from turnlog.server.dependencies import GivenMachines, GivenScope, GivenStore
from turnlog.server.finding import get_session, has_deliveries
from turnlog.server.parameters import FROM_ZERO, NamedSession
from turnlog.server.parameters import LARGEST as MOST_NUMBER
from turnlog.server.receiving import GivenHooks, HookReceiver
from turnlog.server.security.callers import CallerKind, GivenCaller
from turnlog.server.security.policies import MACHINES, TOKEN_ONLY
from turnlog.server.security.pushing import check_machine, note_machine
from turnlog.server.shapes.hooks import HookEventItem, HookReceipt
from turnlog.store.interface import CaredStore
from turnlog.store.model import Scope
from turnlog.transcripts.hooks.deliveries import DeliveryFilter, HookDelivery
from turnlog.transcripts.hooks.table import AUTONOMOUS, GROUPS, is_shown

_NANOSECONDS = 1_000_000_000
_MOST = 50_000


@dataclass
class _Operation(Operation):
    """Says what is sent: Litestar knows only of bodies that it reads itself."""

    def __post_init__(self) -> None:
        payload = OpenAPIMediaType(schema=Schema(type=OpenAPIType.OBJECT, additional_properties=True))
        self.request_body = RequestBody(
            description="What Claude Code gives to a hook, unchanged.", content={"application/json": payload}
        )


@post(
    "/api/hooks",
    opt=TOKEN_ONLY | MACHINES,
    status_code=200,
    request_max_body_size=LARGEST,
    operation_class=_Operation,
)
async def receive_hook(
    request: Request[Any, Any, Any],
    hooks: GivenHooks,
    caller: GivenCaller,
    machines: GivenMachines,
    origin: Annotated[
        str | None,
        QueryParameter(
            pattern="^[0-9a-f]{32}$",
            max_length=32,
            description="The id of the machine that it comes from; not needed with the server's token.",
        ),
    ] = None,
    delivery: Annotated[
        str | None,
        HeaderParameter(
            name="x-turnlog-delivery",
            description="The name of the delivery, `<nanoseconds since 1970>-<letters and digits>`: one "
            "that arrives again under the same name is stored once.",
        ),
    ] = None,
) -> HookReceipt:
    """Store a hook's payload of up to 64 MiB.

    When the response is sent, the payload is on disk; it is in the archive soon after. Payloads that cannot be
    read are set aside.
    """
    if origin is not None or caller.kind is not CallerKind.OPERATOR:
        check_machine(request, caller, origin or "")
        await note_machine(machines, caller, origin or "")
    size = request.headers.get("content-length")
    async with AsyncExitStack() as held:
        limit = hooks.limit(None if size is None else int(size))
        if limit is not None:
            await held.enter_async_context(limit)
        return await hooks.receive(delivery, await request.body(), origin=origin or "")


@get("/api/sessions/{id:str}/hook-events", sync_to_thread=True)
def list_hook_events(
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    hooks: GivenHooks,
    first: Annotated[
        int,
        QueryParameter(ge=0, le=MOST_NUMBER, description="How many to skip.", schema_extra=FROM_ZERO),
    ] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=_MOST, description="The maximum number of events.")] = _MOST,
) -> list[HookEventItem]:
    """List a session's hook events by time, in spec 002's shape.

    This also works for sessions known only from hooks.
    """
    session_id = _find_session_id(store, visible, hooks, id, visit)
    # The window does not know whose events it has: only the store does.
    pending = [] if visit.caller.kind is not CallerKind.OPERATOR else hooks.window.list_pending(session_id)
    which = DeliveryFilter(session_id=session_id, events_only=True, first=first, count=limit, payloads=False)
    events = store.list_deliveries(visible, which)
    if pending and len(events) < limit:
        # They were listed first, so what has come into the store meanwhile is among both.
        read = {event.delivery_id for event in events}
        left = [each for each in pending if each.delivery_id not in read]
        events += [each for each in left if is_shown(each.event_name, each.notification_type)]
        events.sort(key=lambda each: each.received_ns // _NANOSECONDS)
    return [_view(event) for event in events[:limit]]


def _find_session_id(store: CaredStore, visible: Scope, hooks: HookReceiver, name: str, visit: Visit) -> str:
    if has_deliveries(store, visible, name, visit):
        return name
    if visit.caller.kind is CallerKind.OPERATOR and hooks.window.list_events(name):
        return name
    return get_session(store, visible, name, visit).row.session_id or ""


def _view(delivery: HookDelivery) -> HookEventItem:
    return HookEventItem(
        timestamp=delivery.received_ns // _NANOSECONDS,
        event_name=delivery.event_name,
        tool_name=delivery.tool_name,
        label=delivery.label or delivery.event_name,
        group=GROUPS.get(delivery.group_name, AUTONOMOUS),
        context=None if delivery.context is None else Raw(delivery.context.encode()),
    )


HANDLERS = (receive_hook, list_hook_events)

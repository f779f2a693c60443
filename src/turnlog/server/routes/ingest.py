"""`/api/ingest`: what collectors push from other machines, and what there is of it already."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import dropwhile, islice
from typing import Annotated, Any, TypeAlias

from litestar import Request, get, post
from litestar.exceptions import InternalServerException
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema
from litestar.openapi.spec.enums import OpenAPIFormat
from litestar.params import QueryParameter

from turnlog.errors import UploadError
from turnlog.ingest.spool import is_delivery_id
from turnlog.ingest.uploads.protocol import LARGEST_BODY, PROTOCOL, HookUpload, decode_hooks, tell_session
from turnlog.ingest.uploads.receiver import MACHINE_TAKEN, MACHINE_UNASSIGNED
from turnlog.server.dependencies import GivenMachines, GivenStore
from turnlog.server.errors import RequestError
from turnlog.server.receiving import GivenHooks
from turnlog.server.security.callers import GivenCaller
from turnlog.server.security.policies import MACHINES, TOKEN_ONLY
from turnlog.server.security.pushing import check_machine, note_machine
from turnlog.server.shapes.ingest import HookReceipts, IngestReceipt, IngestState
from turnlog.server.uploading import GivenUploads
from turnlog.store.interface import find_known
from turnlog.transcripts.hooks.deliveries import DeliveryFilter

_STATUS = {
    "another_machine": 403,
    "busy": 503,
    "damaged": 422,
    MACHINE_TAKEN: 403,
    MACHINE_UNASSIGNED: 403,
    "protocol": 400,
    "too_large": 413,
}
Origin: TypeAlias = Annotated[
    str,
    QueryParameter(pattern="^[0-9a-f]{32}$", max_length=32, description="The id of the machine that pushes."),
]
_RETRY = {"retry-after": "2"}


@dataclass
class _Operation(Operation):
    """Says what is sent: Litestar knows only of bodies that it reads itself."""

    def __post_init__(self) -> None:
        payload = OpenAPIMediaType(schema=Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY))
        self.request_body = RequestBody(
            description="MessagePack, compressed with zstd; docs/collectors.md describes its content.",
            content={"application/octet-stream": payload},
        )


@get("/api/ingest/state", opt=TOKEN_ONLY | MACHINES, sync_to_thread=True)
def get_ingest_state(
    request: Request[Any, Any, Any],
    store: GivenStore,
    caller: GivenCaller,
    origin: Origin,
    session: Annotated[
        str | None, QueryParameter(max_length=100, description="A session's key, to return only that session.")
    ] = None,
    after: Annotated[
        str | None, QueryParameter(max_length=100, description="`next` from the previous page.")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=1000, description="The maximum number of sessions.")] = 200,
) -> IngestState:
    """Return what the server has of a machine's sessions, so that the machine can continue from there.

    Other people's sessions are not revealed, nor whether there are any.
    """
    check_machine(request, caller, origin)
    visible = caller.own
    if session is not None:
        known = find_known(store, visible, session)
        found = () if known is None or known.origin != origin else (tell_session(known),)
        return IngestState(protocol=PROTOCOL, sessions=found)
    sessions = store.list_known(visible, origin)
    left = dropwhile(lambda known: after is not None and known.key <= after, sessions)
    page = list(islice(left, limit + 1))
    return IngestState(
        protocol=PROTOCOL,
        sessions=tuple(map(tell_session, page[:limit])),
        next=page[limit - 1].key if len(page) > limit else None,
        forgotten=tuple(each.key for each in store.list_tombstones(visible)) if after is None else (),
    )


@post(
    "/api/ingest",
    opt=TOKEN_ONLY | MACHINES,
    status_code=200,
    request_max_body_size=LARGEST_BODY,
    operation_class=_Operation,
)
async def receive_upload(
    request: Request[Any, Any, Any],
    uploads: GivenUploads,
    caller: GivenCaller,
    origin: Origin,
) -> IngestReceipt:
    """Store new data of a machine's sessions, up to 8 MiB.

    Each session is stored completely or not at all. When the response is sent, everything accepted is in the
    archive and on disk. Data that does not continue what is stored is refused, and the response says what is
    stored.
    """
    check_machine(request, caller, origin)
    with uploads.hold(_find_size(request)):
        answer = await uploads.take(origin, caller.name, await _read_body(request))
    if answer.code:
        raise _refuse(answer.code, answer.reason)
    return IngestReceipt(sessions=answer.sessions)


@post(
    "/api/ingest/hooks",
    opt=TOKEN_ONLY | MACHINES,
    status_code=200,
    request_max_body_size=LARGEST_BODY,
    operation_class=_Operation,
)
async def receive_uploaded_hooks(
    request: Request[Any, Any, Any],
    uploads: GivenUploads,
    hooks: GivenHooks,
    store: GivenStore,
    machines: GivenMachines,
    caller: GivenCaller,
    origin: Origin,
) -> HookReceipts:
    """Store hook deliveries from a machine, each once; or return which of some are missing here."""
    check_machine(request, caller, origin)
    with uploads.hold(_find_size(request)):
        given = await _read_hooks(origin, await _read_body(request))
        await note_machine(machines, caller, origin, given.machine)
        receipts = await asyncio.gather(
            *(
                hooks.receive(each.delivery_id, each.payload, each.received_ns, origin)
                for each in given.deliveries
            )
        )
    there: set[str] = set()
    if given.offered:
        which = DeliveryFilter(delivery_ids=given.offered, payloads=False, longest_context=0)
        found = await asyncio.to_thread(store.list_deliveries, caller.own, which)
        there = {each.delivery_id for each in found}
    missing = tuple(each for each in given.offered if each not in there)
    return HookReceipts(kept=len(receipts), missing=missing)


async def _read_body(request: Request[Any, Any, Any]) -> bytes:
    try:
        return await request.body()
    except InternalServerException:  # so Litestar calls a client that went away
        raise RequestError(400, "incomplete", "The request ended before it was complete") from None


async def _read_hooks(origin: str, body: bytes) -> HookUpload:
    try:
        given = await asyncio.to_thread(decode_hooks, body, origin)
    except UploadError as error:
        raise _refuse(error.code, error.reason) from error
    if not all(map(is_delivery_id, (*given.offered, *(each.delivery_id for each in given.deliveries)))):
        raise _refuse("damaged", "A delivery has an invalid name")
    return given


def _find_size(request: Request[Any, Any, Any]) -> int:
    size = request.headers.get("content-length", "")
    if not size.isdigit():
        raise RequestError(411, "length_required", "The request must say how large it is")
    return int(size)


def _refuse(code: str, reason: str) -> RequestError:
    status = _STATUS[code]
    return RequestError(status, code, reason, headers=_RETRY if status == 503 else {})


HANDLERS = (get_ingest_state, receive_upload, receive_uploaded_hooks)

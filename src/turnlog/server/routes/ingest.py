"""`/api/ingest`: what collectors push from other machines, and what is already stored of it."""

from __future__ import annotations

import asyncio
from itertools import dropwhile, islice
from typing import Annotated, Any, TypeAlias

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.exceptions import InternalServerException
from litestar.openapi.spec import OpenAPIType, Schema
from litestar.openapi.spec.enums import OpenAPIFormat
from litestar.params import SkipValidation

from turnlog.errors import UploadError
from turnlog.ingest import upload_protocol as protocol
from turnlog.ingest.machine import MACHINE_TAKEN, MACHINE_UNASSIGNED
from turnlog.ingest.spool import is_delivery_id
from turnlog.server.errors import RequestError
from turnlog.server.requests import GivenMachines, GivenStore, describe_body, integer, query
from turnlog.server.routes.hooks import GivenHooks
from turnlog.server.security.callers import MACHINES, TOKEN_ONLY, GivenCaller
from turnlog.server.security.guard import check_machine, register_machine
from turnlog.server.uploader import UploadProcess
from turnlog.store.interface import find_known
from turnlog.transcripts.hooks import DeliveryFilter

GivenUploads = NamedDependency[SkipValidation[UploadProcess]]
"""Parameter `uploads`: what takes them."""
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
    query("The id of the machine that pushes.", pattern="^[0-9a-f]{32}$", max_length=32),
]
_RETRY = {"retry-after": "2"}
_Operation = describe_body(
    "MessagePack, compressed with zstd; docs/protocol.md describes its content.",
    "application/octet-stream",
    Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY),
)


@get("/api/ingest/state", opt=TOKEN_ONLY | MACHINES, sync_to_thread=True)
def get_ingest_state(
    request: Request[Any, Any, Any],
    store: GivenStore,
    caller: GivenCaller,
    origin: Origin,
    session: Annotated[
        str | None, query("A session's key, to return only that session.", max_length=100)
    ] = None,
    after: Annotated[str | None, query("`next` from the previous page.", max_length=100)] = None,
    limit: Annotated[int, integer("The maximum number of sessions.", least=1, most=1000)] = 200,
) -> protocol.IngestState:
    """Return what the server has of a machine's sessions, so that the machine can continue from there.

    Other people's sessions are not revealed, nor whether there are any.
    """
    check_machine(request, caller, origin)
    visible = caller.own
    if session is not None:
        known = find_known(store, visible, session)
        found = () if known is None or known.origin != origin else (protocol.to_server_session(known),)
        return protocol.IngestState(protocol=protocol.PROTOCOL, sessions=found)
    sessions = store.list_known(visible, origin)
    left = dropwhile(lambda known: after is not None and known.key <= after, sessions)
    page = list(islice(left, limit + 1))
    return protocol.IngestState(
        protocol=protocol.PROTOCOL,
        sessions=tuple(map(protocol.to_server_session, page[:limit])),
        next=page[limit - 1].key if len(page) > limit else None,
        forgotten=tuple(each.key for each in store.list_tombstones(visible)) if after is None else (),
    )


@post(
    "/api/ingest",
    opt=TOKEN_ONLY | MACHINES,
    status_code=200,
    request_max_body_size=protocol.LARGEST_BODY,
    operation_class=_Operation,
)
async def receive_upload(
    request: Request[Any, Any, Any],
    uploads: GivenUploads,
    caller: GivenCaller,
    origin: Origin,
) -> protocol.IngestReceipt:
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
    return protocol.IngestReceipt(sessions=answer.sessions)


@post(
    "/api/ingest/hooks",
    opt=TOKEN_ONLY | MACHINES,
    status_code=200,
    request_max_body_size=protocol.LARGEST_BODY,
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
) -> protocol.HookReceipts:
    """Store hook deliveries from a machine, each once; or return which of some are missing here."""
    check_machine(request, caller, origin)
    with uploads.hold(_find_size(request)):
        given = await _read_hooks(origin, await _read_body(request))
        await register_machine(machines, caller, origin, given.machine)
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
    return protocol.HookReceipts(kept=len(receipts), missing=missing)


async def _read_body(request: Request[Any, Any, Any]) -> bytes:
    try:
        return await request.body()
    except InternalServerException:  # so Litestar calls a client that went away
        raise RequestError(400, "incomplete", "The request ended before it was complete") from None


async def _read_hooks(origin: str, body: bytes) -> protocol.HookUpload:
    try:
        given = await asyncio.to_thread(protocol.decode_hooks, body, origin)
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

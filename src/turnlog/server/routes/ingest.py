"""`/api/ingest`: what collectors push from other machines, and what is already stored of it.

Uploads are written to the archive by a process of its own (`turnlog.server.uploader`). Only a limited amount is
held in memory; beyond that, clients are asked to retry. If the process ends, clients that wait for an answer
are told the same, and what it had written is found when they retry.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import random
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import dropwhile, islice
from typing import Annotated, Any, TypeAlias

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.exceptions import InternalServerException
from litestar.openapi.spec import OpenAPIType, Schema
from litestar.openapi.spec.enums import OpenAPIFormat
from litestar.params import SkipValidation
from msgspec import Struct

from turnlog.errors import UploadError
from turnlog.ingest import upload_protocol as protocol
from turnlog.ingest.machine import MACHINE_TAKEN, MACHINE_UNASSIGNED
from turnlog.ingest.spool import is_delivery_id
from turnlog.ingest.upload_protocol import (
    LARGEST_BODY,
    HookUpload,
    ServerSession,
    decode_hooks,
)
from turnlog.ingest.upload_receiver import SessionAnswer, UploadAnswer
from turnlog.server.errors import RequestError
from turnlog.server.processes import end_child, start_child
from turnlog.server.requests import GivenMachines, GivenStore, describe_body, integer, query
from turnlog.server.routes.hooks import GivenHooks
from turnlog.server.security.callers import MACHINES, TOKEN_ONLY, GivenCaller
from turnlog.server.security.guard import check_machine, note_machine
from turnlog.server.uploader import pack_upload, read_message, write_message
from turnlog.store.interface import find_known
from turnlog.store.model import StorePlace
from turnlog.transcripts.hooks import DeliveryFilter

logger = logging.getLogger("turnlog.server")


class IngestState(Struct, frozen=True, gc=False, kw_only=True):
    """A page of what the server has of a machine's sessions, by key."""

    protocol: int
    """Which version of the protocol the server speaks."""
    sessions: tuple[ServerSession, ...]
    next: str | None = None
    """Pass it as `after` for the next page; null on the last one."""
    forgotten: tuple[str, ...] = ()
    """On the first page: keys of sessions that are no longer accepted."""


class IngestReceipt(Struct, frozen=True, gc=False, kw_only=True):
    """The result of an upload; everything accepted is on disk."""

    sessions: tuple[SessionAnswer, ...]
    """In the order of the upload."""


class HookReceipts(Struct, frozen=True, gc=False, kw_only=True):
    """The result of hook deliveries, which are on disk."""

    kept: int
    missing: tuple[str, ...] = ()
    """Which of the offered deliveries are missing here."""


_PATIENCE = 4.0
_MOST_BYTES = 48 << 20
"""Of requests that are being read or wait to be taken."""
_MOST_WAITING = 4096
_PAUSE = 1.0
"""Seconds between two starts of the process."""

_decode = msgspec.msgpack.Decoder(UploadAnswer).decode


class _Child(Struct, frozen=True):
    process: subprocess.Popen[bytes]
    to_send: queue.SimpleQueue[tuple[int, bytes] | None]


class UploadProcess:
    """What takes uploads; the process is started with the first."""

    def __init__(self, place: StorePlace | None, env: Mapping[str, str] = os.environ) -> None:
        self._place = place
        self._env = dict(env)
        self.taken = {"uploads": 0, "bytes": 0, "refused": 0}
        """How much was taken since the server started."""
        self._held = 0
        self._number = 0
        self._waiting: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Future[UploadAnswer]]] = {}
        self._child: _Child | None = None
        self._next_start = 0.0
        self._is_over = False
        self._lock = threading.Lock()

    @contextmanager
    def hold(self, size: int) -> Iterator[None]:
        """Keep room for a request while it is dealt with; raises `RequestError` if there is none."""
        if self._held + size > _MOST_BYTES or len(self._waiting) >= _MOST_WAITING:
            self.taken["refused"] += 1
            raise _busy("Too many uploads are waiting; try again")
        self._held += size
        try:
            yield
        finally:
            self._held -= size

    async def take(self, origin: str, person: str | None, body: bytes) -> UploadAnswer:
        """Have an upload of a person's machine taken; raises `RequestError` if that cannot be done now."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[UploadAnswer] = loop.create_future()
        with self._lock:
            child = self._find_child()
            self._number += 1
            number = self._number
            self._waiting[number] = loop, answer
            child.to_send.put((number, pack_upload(origin, person, body)))
        found = await answer
        if not found.code:
            self.taken["uploads"] += 1
            self.taken["bytes"] += found.size
        return found

    def stop(self) -> None:
        """End the process, after what it is at."""
        with self._lock:
            self._is_over = True
            child, self._child = self._child, None
        if child is not None:
            child.to_send.put(None)
            end_child(child.process, _PATIENCE)

    def _find_child(self) -> _Child:
        if self._child is not None:
            return self._child
        if self._place is None or self._is_over:
            raise RequestError(503, "unavailable", "This server does not accept uploads")
        if time.monotonic() < self._next_start:
            raise _busy("The upload process is starting; try again")
        self._next_start = time.monotonic() + _PAUSE
        process = start_child("turnlog.server.uploader", self._place, self._env)
        child = self._child = _Child(process, queue.SimpleQueue())
        threading.Thread(target=self._send, args=(child,), name="uploads-out", daemon=True).start()
        threading.Thread(target=self._listen, args=(child,), name="uploads-in", daemon=True).start()
        return child

    def _send(self, child: _Child) -> None:
        stream = child.process.stdin
        assert stream is not None
        with suppress(OSError, ValueError):  # it ended, or was ended; who listens to it tells
            while (message := child.to_send.get()) is not None:
                write_message(stream, *message)
                stream.flush()

    def _listen(self, child: _Child) -> None:
        stream = child.process.stdout
        assert stream is not None
        while (message := read_message(stream)) is not None:
            self._answer(message[0], _decode(message[1]))
        status = child.process.wait()
        with self._lock:
            if self._child is child:
                self._child = None
            left = list(self._waiting)
            if not self._is_over:
                logger.error("the upload process exited with status %d", status)
        child.to_send.put(None)
        for pipe in (child.process.stdin, stream):
            if pipe is not None:
                with suppress(OSError):  # what was not sent is not sent
                    pipe.close()
        for number in left:
            self._answer(number, UploadAnswer("busy", "The upload process ended; try again"))

    def _answer(self, number: int, answer: UploadAnswer) -> None:
        loop, future = self._waiting.pop(number, (None, None))
        if loop is not None and future is not None and not loop.is_closed():
            with suppress(RuntimeError):  # the loop ends in this moment
                loop.call_soon_threadsafe(_settle, future, answer)


def _settle(future: asyncio.Future[UploadAnswer], answer: UploadAnswer) -> None:
    if not future.done():  # who asked may be gone
        future.set_result(answer)


def _busy(message: str) -> RequestError:
    # Not all of them at the same time again.
    return RequestError(503, "busy", message, headers={"retry-after": str(random.randint(1, 5))})


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
) -> IngestState:
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

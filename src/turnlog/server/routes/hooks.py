"""`POST /api/hooks` and `/api/sessions/{id}/hook-events`: receiving hook deliveries, and listing them.

A delivery is on the disk before the answer, and in the store soon after. What arrives while the disk is busy is
gathered and written into the spool with one flush (group commit), so that a hook never waits for a process that
writes to the store. A thread imports the spool, with what else is in it: what hooks left while no server ran,
and what a server that was killed had not yet imported.

The newest events of each session are also in memory, as spec 002 has it (section 4.3). There, memory is all
there is until a session ends. Here every delivery is on the disk first, so what falls out of the window is not
lost: the window shows an event in the moment between its arrival and its import. Payloads are left out; they
may be large.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any, Literal

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import OpenAPIType, Schema
from litestar.params import HeaderParameter, SkipValidation
from msgspec import Raw, Struct
from msgspec.structs import astuple, replace

from turnlog.ingest.spool import LARGEST, Frame, Spool, find_time, is_delivery_id, make_delivery_id
from turnlog.ingest.spool_import import SpoolImporter
from turnlog.server.audit import GivenSession, RequestedSession
from turnlog.server.errors import RequestError
from turnlog.server.requests import LARGEST as MOST_NUMBER
from turnlog.server.requests import GivenMachines, describe_body, integer, query
from turnlog.server.security.callers import MACHINES, TOKEN_ONLY, CallerKind, GivenCaller
from turnlog.server.security.guard import check_machine, register_machine
from turnlog.server.values import LruDict
from turnlog.shapes import fill
from turnlog.store.interface import MaintainedStore
from turnlog.transcripts import hooks as hook_events

logger = logging.getLogger("turnlog.server")


class HookReceipt(Struct, frozen=True, gc=False, kw_only=True):
    """The result of a delivery, which is on disk."""

    delivery_id: str
    kept: Literal["archive", "quarantine"]
    """`quarantine` if it cannot be read as a hook's payload."""


class HookEventItem(Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A hook event."""

    timestamp: int
    """In seconds since 1970."""
    event_name: str
    tool_name: str | None
    label: str
    """For people."""
    group: hook_events.HookGroup
    """What it says about the agent's state; `delivered` is spec 002's, and no event has it yet."""
    context: Raw | None
    """What is specific to the event."""


_MOST_EVENTS = 5_000
"""How many events of a session are kept."""
_DROPPED = 100
"""How many of the oldest go when there are more."""
_MOST_SESSIONS = 256
_MOST_BYTES = 64 << 20


class LiveWindow:
    """What came lately; any thread may ask."""

    def __init__(self, *, sessions: int = _MOST_SESSIONS, size: int = _MOST_BYTES) -> None:
        self._most_sessions = sessions
        self._most_bytes = size
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._bytes = 0

    def add(self, delivery: hook_events.HookDelivery, *, stored: bool) -> None:
        """Take in an event; `stored` if the store has it. The session that was silent longest makes room."""
        with self._lock:
            session = self._sessions.pop(delivery.session_id, None) or _Session()
            self._sessions[delivery.session_id] = session
            self._bytes += session.add(replace(delivery, payload=b""), stored)
            self._drop_if_ended(delivery.session_id)
            while len(self._sessions) > self._most_sessions or (
                self._bytes > self._most_bytes and len(self._sessions) > 1
            ):
                _, silent = self._sessions.popitem(last=False)
                self._bytes -= silent.size
            if self._bytes > self._most_bytes:
                self._bytes -= session.shrink(self._most_bytes)

    def note_stored(self, deliveries: Iterable[hook_events.HookDelivery]) -> None:
        """Note that the store has these now; a session that ended is dropped with its last one."""
        with self._lock:
            for delivery in deliveries:
                session = self._sessions.get(delivery.session_id)
                if session is not None:
                    session.pending.discard(delivery.delivery_id)
                    self._drop_if_ended(delivery.session_id)

    def list_events(self, session_id: str) -> list[hook_events.HookDelivery]:
        """Return what is in the window of a session, as it came."""
        with self._lock:
            session = self._sessions.get(session_id)
            return [] if session is None else list(session.events)

    def list_pending(self, session_id: str) -> list[hook_events.HookDelivery]:
        """Return those of them that the store may not have yet."""
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None or not session.pending:
                return []
            return [event for event in session.events if event.delivery_id in session.pending]

    def count(self) -> tuple[int, int]:
        """Return how many sessions there are, and how many events."""
        with self._lock:
            return len(self._sessions), sum(len(session.events) for session in self._sessions.values())

    def _drop_if_ended(self, session_id: str) -> None:
        session = self._sessions[session_id]
        if session.ended and not session.pending:
            self._bytes -= session.size
            del self._sessions[session_id]


class _Session:
    def __init__(self) -> None:
        self.events: deque[hook_events.HookDelivery] = deque()
        self.pending: set[str] = set()
        self.size = 0
        self.ended = False

    def add(self, event: hook_events.HookDelivery, stored: bool) -> int:
        """Add an event, and return by how much the window grew."""
        before = self.size
        self.ended = event.event_name == "SessionEnd"
        self.events.append(event)
        self.size += _size_of(event)
        if not stored:
            self.pending.add(event.delivery_id)
        if len(self.events) > _MOST_EVENTS:
            for _ in range(_DROPPED):
                self._drop()
        return self.size - before

    def shrink(self, size: int) -> int:
        """Drop the oldest until there is room, and return how much that gave."""
        before = self.size
        while self.size > size and self.events:
            self._drop()
        return before - self.size

    def _drop(self) -> None:
        oldest = self.events.popleft()
        self.size -= _size_of(oldest)
        self.pending.discard(oldest.delivery_id)


def _size_of(event: hook_events.HookDelivery) -> int:
    return 500 + len(event.label or "") + len(event.context or "")


OnDelivery = Callable[[hook_events.HookDelivery], None]

_BATCH_BYTES = 32 << 20
_REMEMBERED = 20_000
"""How many deliveries are remembered: the same one may come from the spool and by a request."""
_LARGE = 1 << 20
_LARGE_AT_ONCE = 4


class _WrittenBatch(Struct, frozen=True):
    quarantined: frozenset[str]
    deliveries: list[hook_events.HookDelivery]


_Waiting = tuple[Frame, "asyncio.Future[HookReceipt]"]


class HookReceiver:
    """Receives deliveries, stores them, and reports them to listeners.

    To be called for each delivery, add a function to `listeners`. It is called once for each, on the
    event loop's thread, as soon as the delivery is on the disk, which may be before it is in the store; for
    what lay in the spool, when it is in the store. Deliveries that were made earlier may come later:
    `received_ns` says when they were made. A listener must return quickly; if one raises, that is logged and
    harms no other.
    """

    def __init__(self, store: MaintainedStore, folder: Path | None) -> None:
        self.window = LiveWindow()
        self.listeners: list[OnDelivery] = []
        self.received = {"archive": 0, "quarantine": 0}
        """How many requests were kept, by where they went."""
        self.spool = None if folder is None else Spool(folder)
        self._importer = None if self.spool is None else SpoolImporter(self.spool, store, self._on_imported)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hooks")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: list[_Waiting] = []
        self._writing: asyncio.Task[None] | None = None
        self._known: LruDict[str, None] = LruDict(_REMEMBERED)
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)

    async def start(self) -> None:
        """Begin to import the spool."""
        self._loop = asyncio.get_running_loop()
        if self._importer is not None:
            self._importer.start()

    async def stop(self) -> None:
        """End; what is in the spool stays there."""
        if self._importer is not None:
            await asyncio.to_thread(self._importer.stop)
        self._thread.shutdown(wait=False)

    def limit(self, size: int | None) -> asyncio.Semaphore | None:
        """Return what a request of such a size must hold while it is read: only few large ones at a time."""
        return self._large if size is None or size > _LARGE else None

    async def receive(
        self, delivery_id: str | None, payload: bytes, received_ns: int | None = None, origin: str = ""
    ) -> HookReceipt:
        """Keep a payload, and return when it is on the disk; raises `RequestError` if it cannot be kept.

        `received_ns` says when it came to another machine, and `origin` which one that is, if it did.
        """
        if self.spool is None:
            raise RequestError(503, "cannot_keep", "This server does not accept hook deliveries")
        if delivery_id is None or not is_delivery_id(delivery_id):
            delivery_id = make_delivery_id()
        kept: asyncio.Future[HookReceipt] = asyncio.get_running_loop().create_future()
        at_ns = find_time(delivery_id, time.time_ns() if received_ns is None else received_ns)
        self._waiting.append((Frame(delivery_id, at_ns, payload, origin), kept))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all(self.spool))
        return await kept

    async def _write_all(self, spool: Spool) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch = self._take_batch()
            arrived = [each for each, _ in batch]
            try:
                kept = await loop.run_in_executor(self._thread, _write_batch, spool, arrived)
            except OSError as error:
                logger.error("hook deliveries cannot be stored: %s", error)
                refusal = RequestError(
                    507, "cannot_keep", "The delivery cannot be stored: writing to disk failed"
                )
                for _, future in batch:
                    if not future.done():
                        future.set_exception(refusal)
                continue
            self._answer(batch, kept)

    def _take_batch(self) -> list[_Waiting]:
        size, count = 0, 0
        for arrived, _ in self._waiting:
            size += len(arrived.payload)
            if count and size > _BATCH_BYTES:
                break
            count += 1
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        return batch

    def _answer(self, batch: Sequence[_Waiting], kept: _WrittenBatch) -> None:
        for arrived, future in batch:
            place: Literal["archive", "quarantine"] = (
                "quarantine" if arrived.delivery_id in kept.quarantined else "archive"
            )
            self.received[place] += 1
            if not future.done():  # who asked may be gone; it is kept all the same
                future.set_result(HookReceipt(delivery_id=arrived.delivery_id, kept=place))
        for delivery in kept.deliveries:
            self._publish(delivery, stored=False)
        if self._importer is not None and kept.deliveries:
            self._importer.wake()

    def _on_imported(self, deliveries: Sequence[hook_events.HookDelivery]) -> None:
        """Hear from the importer's thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._note_imported, list(deliveries))

    def _note_imported(self, deliveries: Sequence[hook_events.HookDelivery]) -> None:
        for delivery in deliveries:
            self._publish(delivery, stored=True)
        self.window.note_stored(deliveries)

    def _publish(self, delivery: hook_events.HookDelivery, *, stored: bool) -> None:
        if delivery.delivery_id in self._known:
            return
        self._known.put(delivery.delivery_id, None)
        self.window.add(delivery, stored=stored)
        for listener in self.listeners:
            try:
                listener(delivery)
            except Exception:
                logger.exception("a listener failed at a hook delivery")


def _write_batch(spool: Spool, arrived: Sequence[Frame]) -> _WrittenBatch:
    """Write what arrived to the disk, in one go; raises `OSError`."""
    built = [hook_events.build_delivery(*astuple(each)) for each in arrived]
    unreadable = [each for each in built if not each.is_readable]
    for each in unreadable:
        spool.write_aside(each.delivery_id, each.payload)
    deliveries = [each for each in built if each.is_readable]
    if deliveries:
        spool.write(deliveries)
    return _WrittenBatch(frozenset(each.delivery_id for each in unreadable), deliveries)


GivenHooks = NamedDependency[SkipValidation[HookReceiver]]
"""Parameter `hooks`: what receives hook deliveries."""


_NANOSECONDS = 1_000_000_000
_MOST_LISTED = 50_000


_Operation = describe_body(
    "What Claude Code gives to a hook, unchanged.",
    "application/json",
    Schema(type=OpenAPIType.OBJECT, additional_properties=True),
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
        query(
            "The id of the machine that it comes from; not needed with the server's token.",
            pattern="^[0-9a-f]{32}$",
            max_length=32,
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
    read are quarantined.
    """
    if origin is not None or caller.kind is not CallerKind.OPERATOR:
        check_machine(request, caller, origin or "")
        await register_machine(machines, caller, origin or "")
    size = request.headers.get("content-length")
    async with AsyncExitStack() as held:
        limit = hooks.limit(None if size is None else int(size))
        if limit is not None:
            await held.enter_async_context(limit)
        return await hooks.receive(delivery, await request.body(), origin=origin or "")


@get("/api/sessions/{id:str}/hook-events", sync_to_thread=True)
def list_hook_events(
    requested: GivenSession,
    hooks: GivenHooks,
    first: Annotated[int, integer("How many to skip.", most=MOST_NUMBER)] = 0,
    limit: Annotated[int, integer("The maximum number of events.", least=1, most=_MOST_LISTED)] = _MOST_LISTED,
) -> list[HookEventItem]:
    """List a session's hook events by time, in spec 002's shape.

    This also works for sessions known only from hooks.
    """
    session_id = _find_session_id(requested, hooks)
    # The window does not know whose events it has: only the store does.
    pending = [] if requested.caller.kind is not CallerKind.OPERATOR else hooks.window.list_pending(session_id)
    which = hook_events.DeliveryFilter(
        session_id=session_id, events_only=True, first=first, count=limit, payloads=False
    )
    events = requested.store.list_deliveries(requested.visible, which)
    if pending and len(events) < limit:
        # They were listed first, so what has come into the store meanwhile is among both.
        read = {event.delivery_id for event in events}
        left = [each for each in pending if each.delivery_id not in read]
        events += [each for each in left if hook_events.is_shown(each.event_name, each.notification_type)]
        events.sort(key=lambda each: each.received_ns // _NANOSECONDS)
    return [_view(event) for event in events[:limit]]


def _find_session_id(requested: RequestedSession, hooks: HookReceiver) -> str:
    if requested.has_deliveries(requested.name):
        return requested.name
    if requested.caller.kind is CallerKind.OPERATOR and hooks.window.list_events(requested.name):
        return requested.name
    return requested.get().row.session_id or ""


def _view(delivery: hook_events.HookDelivery) -> HookEventItem:
    return fill(
        HookEventItem,
        delivery,
        timestamp=delivery.received_ns // _NANOSECONDS,
        label=delivery.label or delivery.event_name,
        group=hook_events.GROUPS.get(delivery.group_name, hook_events.AUTONOMOUS),
        context=None if delivery.context is None else Raw(delivery.context.encode()),
    )

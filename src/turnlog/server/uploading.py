"""Having uploads taken into the archive: the uploader's process, started, fed, listened to and ended.

No more than a certain amount is held in memory: who comes when it is full is asked to come again. If the
process ends, whoever waits for an answer is told the same; what it had written is found when they come again.
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

import msgspec
from litestar.di import NamedDependency
from litestar.params import SkipValidation
from msgspec import Struct

from turnlog.ingest.uploads.receiver import UploadAnswer
from turnlog.server.children import end_child, start_child
from turnlog.server.errors import RequestError
from turnlog.server.uploader import pack_upload, read_message, write_message
from turnlog.store.places import StorePlace

logger = logging.getLogger("turnlog.server")

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


class Uploading:
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


GivenUploads = NamedDependency[SkipValidation[Uploading]]
"""Parameter `uploads`: what takes them."""

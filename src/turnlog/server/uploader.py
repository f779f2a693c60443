"""Storing what machines push, in a process beside the server (`processes`).

Deriving rows takes whole seconds of Python's time. What arrived meanwhile is taken together, in one
transaction. It is not the process that follows the files of this machine, and needs no lease: each batch says
which revision of a session it is based on, so a concurrent writer is noticed.

Only a limited amount is held in memory; beyond that, clients are asked to retry. If the process ends, clients
that wait for an answer are asked to retry as well, and what it had written is found then.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import random
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import IO

import msgspec
from msgspec import Struct

from turnlog.errors import TurnlogError
from turnlog.ingest.upload_receiver import ReceivedUpload, UploadAnswer, UploadReceiver
from turnlog.server.errors import RequestError
from turnlog.server.processes import end_child, open_input, parse_place, prepare_child, start_child
from turnlog.store.model import StorePlace
from turnlog.store.opening import flush_store, open_store

logger = logging.getLogger("turnlog.server")
_ORIGIN = 32
"""How many bytes the name of a machine has, which stands before what it pushed."""
_HEAD = struct.Struct(">QI")
_TOGETHER = 64
"""How many uploads are taken together, and how many bytes of them, as they came."""
_BYTES_TOGETHER = 4 << 20
_IDLE_SECONDS = 5.0
_encode = msgspec.msgpack.Encoder().encode
_Message = tuple[int, bytes]


def main(place: StorePlace) -> int:
    """Take uploads from standard input until it ends; return the exit status."""
    prepare_child()
    arrived: queue.SimpleQueue[_Message | None] = queue.SimpleQueue()
    threading.Thread(target=_read_all, args=(open_input(), arrived), daemon=True).start()
    try:
        with closing(open_store(place)) as store:
            _take_all(UploadReceiver(store, flush=lambda: flush_store(place)), arrived, sys.stdout.buffer)
    except TurnlogError as error:
        sys.stderr.write(f"the upload process failed: {error}\n")
        return 1
    except BrokenPipeError:  # the server is no more, and what is left to be said goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _take_all(taker: UploadReceiver, arrived: queue.SimpleQueue[_Message | None], answers: IO[bytes]) -> None:
    while True:
        try:
            first = arrived.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            taker.rest()
            continue
        if first is None:
            return
        together, is_over = _gather(first, arrived)
        taken = taker.take([_unpack(data) for _, data in together])
        for (number, _), answer in zip(together, taken, strict=True):
            write_message(answers, number, _encode(answer))
        answers.flush()
        if is_over:
            return


def pack_upload(origin: str, person: str | None, body: bytes) -> bytes:
    """Return the message that hands an upload to the process: the machine, its owner if any, and the body."""
    name = (person or "").encode("ascii")
    return origin.encode("ascii") + bytes((len(name),)) + name + body


def _unpack(data: bytes) -> ReceivedUpload:
    start = _ORIGIN + 1 + data[_ORIGIN]
    person = data[_ORIGIN + 1 : start].decode("ascii")
    return ReceivedUpload(data[:_ORIGIN].decode("ascii"), data[start:], person or None)


def _gather(first: _Message, arrived: queue.SimpleQueue[_Message | None]) -> tuple[list[_Message], bool]:
    """Return what else is there already, and whether that was the end."""
    together, size = [first], len(first[1])
    while len(together) < _TOGETHER and size < _BYTES_TOGETHER:
        try:
            found = arrived.get_nowait()
        except queue.Empty:
            break
        if found is None:
            return together, True
        together.append(found)
        size += len(found[1])
    return together, False


def _read_all(stream: IO[bytes], arrived: queue.SimpleQueue[_Message | None]) -> None:
    while (message := read_message(stream)) is not None:
        arrived.put(message)
    arrived.put(None)


def read_message(stream: IO[bytes]) -> _Message | None:
    """Return a number and the bytes that belong to it; None at the end."""
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    number, length = _HEAD.unpack(head)
    data = stream.read(length)
    return (number, data) if len(data) == length else None


def write_message(stream: IO[bytes], number: int, data: bytes) -> None:
    """Write a number, and the bytes that belong to it."""
    stream.write(_HEAD.pack(number, len(data)))
    stream.write(data)


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
                loop.call_soon_threadsafe(_set_result, future, answer)


def _set_result(future: asyncio.Future[UploadAnswer], answer: UploadAnswer) -> None:
    if not future.done():  # who asked may be gone
        future.set_result(answer)


def _busy(message: str) -> RequestError:
    # Not all of them at the same time again.
    return RequestError(503, "busy", message, headers={"retry-after": str(random.randint(1, 5))})


if __name__ == "__main__":
    sys.exit(main(parse_place(sys.argv[1])))

"""The process that takes what machines push into the archive, beside the server (`processes`).

Deriving rows takes whole seconds of Python's time. What arrived meanwhile is taken together, in one
transaction. It is not the process that follows the files of this machine, and needs no lease: each batch says
on which revision of a session it rests, so whoever else writes to the same one is noticed.
"""

from __future__ import annotations

import os
import queue
import struct
import sys
import threading
from contextlib import closing
from typing import IO

import msgspec

from turnlog.errors import TurnlogError
from turnlog.ingest.upload_receiver import ReceivedUpload, UploadReceiver
from turnlog.server.processes import find_place, open_input, prepare_child
from turnlog.store.model import StorePlace
from turnlog.store.opening import flush_store, open_store

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
    """Return what the process is told of an upload: the machine, whose it is if anybody's, and the body."""
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


if __name__ == "__main__":
    sys.exit(main(find_place(sys.argv[1])))

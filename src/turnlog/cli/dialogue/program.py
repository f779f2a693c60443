"""The program that `turnlog run` wraps, as a process that is written to without ever waiting for it."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from collections.abc import Sequence

_PIECE = 1 << 16


class Program:
    """A process in a session of its own, so that Ctrl-C does not reach it."""

    def __init__(self, command: Sequence[str], patience: float) -> None:
        """Start it; raises `OSError`. `patience` is how long it may take to end by itself."""
        self._patience = patience
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.out, self.err = self._process.stdout.fileno(), self._process.stderr.fileno()
        self._rests = {self.out: b"", self.err: b""}
        self._writing: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._write, daemon=True).start()

    @property
    def status(self) -> int:
        """How it ended, as a shell tells it."""
        code = self._process.returncode
        return 128 - code if code < 0 else code

    def send(self, frame: bytes) -> None:
        """Write to it when it reads."""
        self._writing.put(frame)

    def close_input(self) -> None:
        """Tell it that nothing more comes."""
        self._writing.put(None)

    def read(self, file: int) -> tuple[list[bytes], bool]:
        """Return the lines that are there, and whether more may come."""
        piece = os.read(file, _PIECE)
        *lines, rest = (self._rests[file] + piece).split(b"\n")
        if not piece and rest:
            lines, rest = [rest], b""
        self._rests[file] = rest
        return [line + b"\n" for line in lines], bool(piece)

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End it."""
        self._process.kill()

    def wait(self) -> None:
        """Wait until it has ended, and see to that if it takes too long."""
        self.close_input()
        try:
            self._process.wait(self._patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _write(self) -> None:
        assert self._process.stdin is not None
        try:
            while (frame := self._writing.get()) is not None:
                self._process.stdin.write(frame)
                self._process.stdin.flush()
            self._process.stdin.close()
        except OSError:
            return  # it is gone, which its output tells

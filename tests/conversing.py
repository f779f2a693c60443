"""Conversing with a program on a terminal: waiting for what it shows, and typing."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


class Terminal:
    """A terminal with turnlog on it."""

    def __init__(self, file: int, process: subprocess.Popen[bytes]) -> None:
        self._file = file
        self.process = process
        self.text = ""
        self._seen = 0

    def expect(self, text: str) -> str:
        """Wait until something stands there that was not seen before, and return all up to it."""
        end = time.monotonic() + 60
        while (at := self.text.find(text, self._seen)) < 0:
            assert time.monotonic() < end, f"waited too long for {text!r} in {self.text!r}"
            if select.select([self._file], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self._file, 65536).decode()
                except OSError:
                    raise AssertionError(f"it ended without {text!r}: {self.text!r}") from None
        before, self._seen = self.text[self._seen : at], at + len(text)
        return before

    def type(self, text: str) -> None:
        os.write(self._file, text.encode())

    def end(self) -> int:
        """Read to the end, and return the exit status."""
        while True:
            try:
                part = os.read(self._file, 65536)
            except OSError:
                break
            self.text += part.decode()
            if not part:
                break
        return self.process.wait(60)


@contextmanager
def open_terminal(
    command: Sequence[str], env: Mapping[str, str], cwd: Path | None = None
) -> Iterator[Terminal]:
    """Run a program on a terminal; it is ended with this."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=cwd, start_new_session=True
    )
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)

"""S3-compatible storage for tests: a real server on loopback, one for each test process, gone with it.

It is OpenStack Swift, which comes as a Python package. Each test has a prefix of its own in the bucket.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

_PROGRAM = Path(__file__).with_name("swift_server.py")
_NAME, _SECRET = "turnlog:tests", "not-a-secret"


class S3Server:
    """A server on a folder that is its own; it is not started by that."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="turnlog-s3-"))
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def build_address(self) -> str:
        """Return the address of a place that is empty, with its keys."""
        return f"s3://{quote(_NAME)}:{_SECRET}@bytes/{uuid4().hex}?endpoint={self.url}&region=us-east-1"

    def start(self) -> None:
        """Start it, again on the port and with the objects that it had."""
        log = self._folder / "log"
        command = [sys.executable, str(_PROGRAM), str(self._folder / "swift"), str(os.getpid())]
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [*command, str(self._port)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        assert self._process.stdout is not None
        port = self._process.stdout.readline().strip()
        assert port, log.read_text()
        self._port = int(port)

    def kill(self) -> None:
        """End it at once, whatever it is at."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
        self._process = None

    def remove(self) -> None:
        """End it, and delete what it had."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


@functools.cache
def start_storage() -> S3Server:
    """Return the server of this process."""
    server = S3Server()
    atexit.register(server.remove)
    server.start()
    return server


def make_bucket() -> str:
    """Return the address of a place that is empty; the keys for it are in the environment from now on."""
    os.environ.update({"AWS_ACCESS_KEY_ID": _NAME, "AWS_SECRET_ACCESS_KEY": _SECRET})
    return f"s3://bytes/{uuid4().hex}?endpoint={start_storage().url}&region=us-east-1"

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
from uuid import uuid4

_PROGRAM = Path(__file__).with_name("swift_server.py")
_KEYS = {"AWS_ACCESS_KEY_ID": "turnlog:tests", "AWS_SECRET_ACCESS_KEY": "not-a-secret"}


@functools.cache
def start_storage() -> str:
    """Return the address of the server of this process."""
    folder = Path(tempfile.mkdtemp(prefix="turnlog-s3-"))
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, str(_PROGRAM), str(folder / "swift"), str(os.getpid())],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    atexit.register(_stop, server, folder)
    assert server.stdout is not None
    port = server.stdout.readline().strip()
    assert port, (folder / "log").read_text()
    return f"http://127.0.0.1:{port}"


def make_bucket() -> str:
    """Return the address of a place that is empty; the keys for it are in the environment from now on."""
    os.environ.update(_KEYS)
    return f"s3://bytes/{uuid4().hex}?endpoint={start_storage()}&region=us-east-1"


def _stop(server: subprocess.Popen[str], folder: Path) -> None:
    server.kill()
    server.wait()
    shutil.rmtree(folder, ignore_errors=True)

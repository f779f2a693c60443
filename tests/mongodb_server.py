"""A server that speaks MongoDB's protocol, for tests: FerretDB on SQLite, one a test process, on loopback.

It is a Go program of a few lines (tests/ferretdb), built once a machine into the user's cache: the first time
takes minutes, as its modules are compiled. Where there is no Go, or no modules to be had, tests are skipped. It
ends when its standard input does, so it never outlives the process that started it.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

import pytest

_SOURCES = Path(__file__).with_name("ferretdb")
_MEMORY = Path("/dev/shm")
_BUILDING = 900
"""How many seconds the build may take; modules that cannot be had are noticed much sooner."""


@functools.cache
def build_server() -> Path:
    """Return the program, built if it is not there yet; skips the test where that cannot be."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed: FerretDB, the MongoDB server of these tests, cannot be built")
    sources = b"".join((_SOURCES / name).read_bytes() for name in ("main.go", "go.mod", "go.sum"))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turnlog-tests"
    cache.mkdir(parents=True, exist_ok=True)
    program = cache / f"ferretdb-{blake2b(sources, digest_size=8).hexdigest()}"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several processes of one run want it at the same time
        if not program.exists():
            new = program.with_suffix(".new")
            command = [go, "build", "-o", str(new), "."]
            built = subprocess.run(
                command, cwd=_SOURCES, capture_output=True, text=True, timeout=_BUILDING, check=False
            )
            if built.returncode:
                pytest.skip(f"FerretDB cannot be built here: {built.stderr.strip().splitlines()[-1:]}")
            new.rename(program)
    return program


class MongoServer:
    """A running server, and the folder that it keeps its databases in."""

    def __init__(self, *certificate: Path) -> None:
        self.folder = Path(
            tempfile.mkdtemp(prefix="turnlog-mongodb-", dir=_MEMORY if _MEMORY.is_dir() else None)
        )
        self._command = [str(build_server()), str(self.folder), *map(str, certificate)]
        self.address = ""
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        assert self.address, "the server does not start"

    def stop(self) -> None:
        """End the process; its databases stay."""
        self._process.kill()
        self._process.communicate()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def name(self) -> str:
        """Return the address of a database that is empty."""
        scheme, _, rest = self.address.partition("://")
        host, _, options = rest.partition("/")
        return f"{scheme}://{host}/t{uuid4().hex[:12]}{options}"


@functools.cache
def start_server() -> MongoServer:
    """Return the server of this process."""
    server = MongoServer()
    atexit.register(server.remove)
    return server


@contextmanager
def own_server(*certificate: Path) -> Iterator[MongoServer]:
    """Yield a server that nobody else uses, so that it may be stopped."""
    server = MongoServer(*certificate)
    try:
        yield server
    finally:
        server.remove()

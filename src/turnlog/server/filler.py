"""Filling an index elsewhere (`TURNLOG_INDEX`), in a process beside the server (`processes`).

Any number of servers fill one index: who works on what is settled by locks in the database. A process that ends
is started again, and goes on where another one stopped.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import closing

from turnlog.errors import TurnlogError
from turnlog.server.processes import end_child, parse_place, prepare_child, start_child
from turnlog.store.interface import Maintenance
from turnlog.store.model import StorePlace
from turnlog.store.opening import open_store

_PAUSE = 1.5
"""Seconds between two rounds: ClickHouse takes few large inserts better than many small ones."""
_SECONDS = 1.0
"""How long to wait for changes behind that, at most: what others left undone is nobody's news."""
_PATIENCE = 4.0


def main(place: StorePlace) -> int:
    """Fill the index until standard input ends; return the exit status."""
    ended = threading.Event()
    prepare_child(ended.set)
    try:
        with closing(open_store(place)) as store:
            listener = store.listen()
            while not ended.is_set():
                store.maintain(Maintenance.FILL, lambda: ended.is_set() and sys.exit(0))
                ended.wait(_PAUSE)
                if listener is not None:
                    listener.wait(_SECONDS)
    except TurnlogError as error:
        sys.stderr.write(f"the index is not filled: {error}\n")
        return 1
    return 0


class FillerProcess:
    """Keeps such a process running as long as the server does."""

    def __init__(self, place: StorePlace, env: Mapping[str, str] = os.environ) -> None:
        self._place = place
        self._env = dict(env)
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="filler", daemon=True)

    def __enter__(self) -> FillerProcess:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:  # no other process is started behind this
            self._ended.set()
        if self._process is not None:
            end_child(self._process, _PATIENCE)
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._ended.is_set():
                    return
                self._process = start_child("turnlog.server.filler", self._place, self._env)
            self._process.wait()
            self._ended.wait(_PAUSE)


if __name__ == "__main__":
    sys.exit(main(parse_place(sys.argv[1])))

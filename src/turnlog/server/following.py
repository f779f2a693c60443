"""Having the archive kept up to date: the follower's process, started, listened to and ended."""

from __future__ import annotations

import logging
import os
import subprocess
import threading
from collections.abc import Mapping
from typing import Self

import msgspec

from turnlog.server.children import end_child, start_child
from turnlog.server.sync_state import News, SyncPhase, SyncState
from turnlog.store.places import StorePlace

logger = logging.getLogger("turnlog.server")

_PATIENCE = 4.0
"""How many seconds the follower has to end what it is at; what it has not written is read again next time."""
_LONGEST_PAUSE = 60.0


class Following:
    """A follower that is started again if it ends; used with `with`."""

    def __init__(self, place: StorePlace, state: SyncState, env: Mapping[str, str] = os.environ) -> None:
        self._place = place
        self._state = state
        self._env = dict(env)
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def __enter__(self) -> Self:
        self._state.enter(SyncPhase.STARTING)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Let the follower end; after some seconds, end it."""
        with self._lock:
            self._stopping.set()
            process = self._process
        if process is not None:
            end_child(process, _PATIENCE)
        self._thread.join(_PATIENCE)
        self._state.enter(SyncPhase.OFF)

    def _run(self) -> None:
        pause = 1.0
        while not self._stopping.is_set():
            process = self._start()
            if process is None:
                return
            for line in process.stdout or ():
                self._take(line)
                pause = 1.0
            status = process.wait()
            if self._stopping.is_set():
                return
            self._state.restarts += 1
            self._state.enter(SyncPhase.FAILED)
            logger.error("the follower exited with status %d; restarting it in %.0f s", status, pause)
            self._stopping.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _start(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopping.is_set():
                return None
            self._process = start_child("turnlog.server.follower", self._place, self._env)
            return self._process

    def _take(self, line: bytes) -> None:
        try:
            news = msgspec.json.decode(line, type=News)
        except msgspec.DecodeError:
            logger.error("the follower sent a message that cannot be read")
            return
        if news.reason and news.reason != self._state.reason:
            logger.warning("%s", news.reason)
        self._state.note(news)

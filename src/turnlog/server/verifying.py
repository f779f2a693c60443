"""Having the archive verified: one process at a time, started, listened to and ended with the server."""

from __future__ import annotations

import logging
import os
import subprocess
import threading
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from turnlog.server.children import end_child, start_child
from turnlog.server.errors import RequestError
from turnlog.server.shapes.archive import VerifyJob, VerifyState
from turnlog.server.verifier import VerifyNews
from turnlog.store.places import StorePlace

logger = logging.getLogger("turnlog.server")

_PATIENCE = 2.0
_MOST_FINDINGS = 200


class Verifying:
    """The verification that runs, or the last one."""

    def __init__(self, place: StorePlace | None, env: Mapping[str, str] = os.environ) -> None:
        self._place = place
        self._env = dict(env)
        self._lock = threading.Lock()
        self._job: VerifyJob | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._is_over = False

    def find_job(self) -> VerifyJob | None:
        """Return how far it is; None if there was none."""
        return self._job

    def start(self) -> VerifyJob:
        """Begin, and return at once; raises `RequestError` if one is running."""
        with self._lock:
            if self._place is None or self._is_over:
                raise RequestError(503, "unavailable", "This archive cannot be verified now")
            if self._job is not None and self._job.state is VerifyState.RUNNING:
                raise RequestError(409, "running", "A verification is already running")
            process = start_child("turnlog.server.verifier", self._place, self._env)
            job = VerifyJob(state=VerifyState.RUNNING, done=0, total=0, started_at=datetime.now(UTC))
            self._process, self._job = process, job
            self._thread = threading.Thread(target=self._listen, args=(process,), name="verifier", daemon=True)
            self._thread.start()
            return job

    def stop(self) -> None:
        """End it, with the server."""
        with self._lock:
            self._is_over = True
            process, thread = self._process, self._thread
        if process is not None and thread is not None:
            end_child(process, _PATIENCE)
            thread.join(_PATIENCE)

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        for line in process.stdout or ():
            try:
                self._take(msgspec.json.decode(line, type=VerifyNews))
            except msgspec.DecodeError:
                logger.error("the verifier sent a message that cannot be read")
        status = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        assert self._job is not None
        if self._job.state is VerifyState.RUNNING:
            if not self._is_over:
                logger.error("the verifier exited with status %d", status)
            self._end(VerifyState.FAILED, "It ended before everything was checked")

    def _take(self, news: VerifyNews) -> None:
        assert self._job is not None
        if news.reason:
            self._end(VerifyState.FAILED, news.reason)
            return
        shown = (*self._job.findings, *news.found)[:_MOST_FINDINGS]
        found = self._job.found + len(news.found)
        self._job = replace(self._job, done=news.done, total=news.total, findings=shown, found=found)
        if news.is_end:
            self._end(VerifyState.FOUND if found else VerifyState.CLEAN)

    def _end(self, state: VerifyState, message: str | None = None) -> None:
        assert self._job is not None
        self._job = replace(self._job, state=state, ended_at=datetime.now(UTC), message=message)

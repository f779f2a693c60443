"""Processes beside the server, which do what takes whole seconds of Python's time.

A child tells what it does on standard output, a line of JSON each, and ends when its standard input does: when
the server wants it to, and when the server is no more.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from turnlog.store import model
from turnlog.store.model import STORE_SETTING, ServerPlace, StorePlace

_POLITENESS = 10
"""Requests come first."""


def start_child(module: str, place: StorePlace, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Run a module beside the server, for the store at a place."""
    given = {name: value for name, value in env.items() if name != STORE_SETTING}
    if isinstance(place, ServerPlace):
        given[STORE_SETTING] = place.address  # it may hold a password, and everybody sees arguments
    where = place.home if isinstance(place, ServerPlace) else place
    # A session of its own: what a terminal sends goes to the server alone, and workers end with it. And without
    # the folder that we happen to be in, where somebody may have put modules of their own.
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, os.fspath(where)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=given,
        start_new_session=True,
    )


def find_place(argument: str) -> StorePlace:
    """Return, as a child, the place that it was started for."""
    return model.find_place(os.environ, Path(argument)) or Path(argument)


def end_child(process: subprocess.Popen[bytes], patience: float) -> None:
    """Let a child end what it is at; after some seconds, end it and those that it started."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


def prepare_child() -> None:
    """Lower the priority of this child, and let the server decide when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells all
    if hasattr(os, "nice"):
        os.nice(_POLITENESS)


def open_input() -> IO[bytes]:
    """Return, as a child, what a thread may wait at for the server's word when this process ends.

    `sys.stdin` would not do: Python wants that for itself at the end, and dies if it cannot have it.
    """
    return open(sys.stdin.fileno(), "rb", closefd=False)


def send_report(news: Struct) -> None:
    """Send a report to the server, as a child."""
    try:
        sys.stdout.buffer.write(msgspec.json.encode(news) + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # nobody listens: standard input ends in the same moment
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

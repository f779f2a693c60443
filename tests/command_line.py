"""Running the command line as people do: as a process, in a pipe or on a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

import click
import pytest
from click.testing import CliRunner, Result

from turnlog.cli.program import program
from turnlog.cli.program import run as run_program

TURNLOG = (sys.executable, "-m", "turnlog")
TIMEOUT = 60
_MOMENT = 5.0


class Shown(NamedTuple):
    """What stood on a terminal, and how the program ended."""

    status: int
    text: str


def environment(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment in which nothing of this machine speaks into the output."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "TURNLOG_HOME", "PYTHONPATH", "COVERAGE_PROCESS_START")
        if name in os.environ
    }
    return {**kept, "TZ": "UTC", "LANG": "C.UTF-8", "TERM": "xterm", **(env or {})}


def run(
    *args: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run turnlog in a pipe."""
    return subprocess.run(
        [*TURNLOG, *map(str, args)],
        input=stdin,
        capture_output=True,
        env=environment(env),
        cwd=cwd,
        timeout=TIMEOUT,
        check=False,
    )


def invoke(*args: str | Path, env: Mapping[str, str] | None = None) -> Result:
    """Run a command in this process."""
    cleared: dict[str, str | None] = dict.fromkeys(("NO_COLOR", "FORCE_COLOR", "PAGER", "TURNLOG_PAGER"))
    return CliRunner(env={**cleared, **(env or {})}).invoke(program, [*map(str, args)], prog_name="turnlog")


def run_here(
    *args: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Do as `run` in this process, which takes a tenth of the time: for all but what is about processes."""
    kept = environment(env)
    runner = CliRunner(env={**{name: None for name in os.environ if name not in kept}, **kept})
    with contextlib.chdir(cwd or Path.cwd()):
        done = runner.invoke(_Program("turnlog"), [*map(str, args)], input=stdin)
    return subprocess.CompletedProcess(args, done.exit_code, done.stdout_bytes, done.stderr_bytes)


class _Program(click.Command):
    """The program with its own way of telling errors, not click's."""

    def main(self, args: Sequence[str] | None = None, *_: object, **__: object) -> NoReturn:
        sys.exit(run_program([*(args or ())]))


def show_in_terminal(
    *args: str | Path,
    env: Mapping[str, str] | None = None,
    size: tuple[int, int] = (24, 100),
    keys: bytes = b"",
    interrupt: bool = False,
    stdin_is_terminal: bool = True,
    stderr_is_terminal: bool = True,
    command: tuple[str, ...] = TURNLOG,
) -> Shown:
    """Run turnlog on a terminal of so many lines and columns, and return all that it wrote there.

    Without `stderr_is_terminal` there is no progress, which is only drawn where something takes long.
    Once it has written something, `keys` are typed, or it is interrupted.
    """
    if not hasattr(os, "openpty"):
        pytest.skip("no terminals to be had")
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    process = subprocess.Popen(
        [*command, *map(str, args)],
        stdin=theirs if stdin_is_terminal else subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs if stderr_is_terminal else subprocess.DEVNULL,
        env=environment(env),
        start_new_session=True,
    )
    os.close(theirs)
    written = _watch(ours, process, keys, interrupt)
    os.close(ours)
    return Shown(process.wait(TIMEOUT), written.decode("utf-8", "surrogateescape"))


def _watch(terminal: int, process: subprocess.Popen[bytes], keys: bytes, interrupt: bool) -> bytes:
    written = b""
    limit = time.monotonic() + TIMEOUT
    while time.monotonic() < limit:
        if not select.select([terminal], [], [], _MOMENT)[0]:
            # Somebody who presses Ctrl-C while a prompt is drawn presses it again: the first one may be lost.
            if interrupt and written:
                process.send_signal(signal.SIGINT)
            continue
        try:
            part = os.read(terminal, 65536)
        except OSError:  # nobody is at the other end any more
            return written
        if not part:
            return written
        if interrupt and not written:
            process.send_signal(signal.SIGINT)
        written += part
        if keys:
            os.write(terminal, keys)
            keys = b""
    process.kill()
    raise AssertionError("the program does not end")

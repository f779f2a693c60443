"""`turnlog ingest`: keep a stream while it comes."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from typing import BinaryIO

import click
from msgspec import Struct

from turnlog.cli.capture_ending import archive_captured
from turnlog.cli.failures import FOUND_PROBLEMS, INTERRUPTED, MisuseError, explain
from turnlog.cli.files import warn
from turnlog.cli.ingest_sources import Interrupts, listen, read_lines
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.progress import waiting
from turnlog.cli.terminal import clean_line
from turnlog.config import Settings
from turnlog.export.plain import plural
from turnlog.ingest.capture.stream import Captured, StreamCapture
from turnlog.transcripts.files.session_files import path_text, project_folder_name

_SOCKETS = ("unix:", "tcp:")
_NOWHERE = "unknown"
"""The project's folder of sessions that never say where they work."""
_ATTENTION = 0.2


class CapturedDocument(Struct, frozen=True, gc=False, kw_only=True):
    """A session of which something came."""

    session_id: str | None
    """None for lines that no session was named for."""
    path: str | None
    lines: int
    known: int
    broken: int


class IngestDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog ingest --json` prints."""

    sessions: tuple[CapturedDocument, ...]
    archived: bool
    """False if another process that keeps the archive up to date still has to do it."""


@click.command(
    "ingest",
    epilog="""\b
Examples:
  claude -p "Fix it" --output-format stream-json --verbose | turnlog ingest -
  claude … --output-format stream-json --verbose | turnlog ingest - --tee | my-program
  turnlog ingest recorded.jsonl       a stream that was written to a file
  turnlog ingest unix:/run/user/1000/turnlog.sock
""",
)
@click.argument("source", metavar="-|FILE|unix:PATH|tcp:[HOST:]PORT")
@click.option("--tee", is_flag=True, help="Copy each line to standard output, once it is kept.")
@click.option("--quiet", "-q", is_flag=True, help="Say nothing about what was kept.")
@click.option("--remote", is_flag=True, help="Let other machines connect to a tcp address.")
@json_option
@color_option
def command(source: str, tee: bool, quiet: bool, remote: bool, as_json: bool, color: bool | None) -> None:
    """Keep a stream of Claude Code (`--output-format stream-json`) as a session, as it arrives.

    Every line is kept as it is, including control traffic, and is on the disk before it is passed on;
    `turnlog serve` shows it as it arrives. If Claude Code also keeps the session in a file, both become one
    session. A socket takes streams until Ctrl-C.
    """
    if tee and as_json:
        raise MisuseError("--tee and --json both write to standard output")
    settings = Settings.from_env()
    taking = _Taking(settings, sys.stdout.buffer if tee else None)
    listens = source.startswith(_SOCKETS)
    with taking.interrupts.caught(), waiting("Keeping the stream") if not tee else nullcontext():
        try:
            if listens:
                with listen(source, remote=remote) as listening:
                    if not quiet:
                        click.echo(
                            f"listening at {clean_line(_name(source, listening))}; Ctrl-C ends it", err=True
                        )
                    taking.serve(listening)
            else:
                taking.take_from(source)
        finally:
            taking.finish()
    document = IngestDocument(sessions=tuple(map(_describe, taking.captured)), archived=taking.archived)
    if as_json:
        Output(settings, color, pager=False).print_json(document)
    elif not quiet:
        for line in _tell(document):
            click.echo(line, err=True)
    if taking.interrupts.count and not listens:
        raise click.exceptions.Exit(INTERRUPTED)
    if any(each.broken or each.session_id is None for each in document.sessions) or not document.sessions:
        raise click.exceptions.Exit(FOUND_PROBLEMS)


class _Taking:
    """Streams that are kept, one or several at a time."""

    def __init__(self, settings: Settings, copy: BinaryIO | None) -> None:
        self.interrupts = Interrupts()
        self.captured: list[Captured] = []
        self.archived = True
        self._settings = settings
        self._copy = copy
        self._lock = threading.Lock()
        self._open: list[StreamCapture] = []

    def take_from(self, source: str) -> None:
        """Keep what comes from standard input or stands in a file."""
        if source == "-":
            self._take(sys.stdin.fileno(), project_folder_name(os.path.realpath(os.curdir)))
            return
        opened = os.open(source, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            self._take(opened, _NOWHERE, is_file=True)
        finally:
            os.close(opened)

    def serve(self, listening: socket.socket) -> None:
        """Keep what comes over connections, until interrupted."""
        threads: list[threading.Thread] = []
        listening.settimeout(_ATTENTION)
        while not self.interrupts.count:
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            threads = [thread for thread in threads if thread.is_alive()]
            threads.append(threading.Thread(target=self._attend, args=(connection,)))
            threads[-1].start()
        for thread in threads:
            thread.join()

    def finish(self) -> None:
        """Keep what still waits, whatever happened."""
        for kept in [*self._open]:
            self._end(kept)

    def _attend(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._take(connection.fileno(), _NOWHERE)
            except OSError as error:
                warn(f"the stream of a connection could not be kept: {explain(error)}")

    def _take(self, opened: int, folder: str, *, is_file: bool = False) -> None:
        kept = StreamCapture(self._settings.captured_dir, folder=folder, is_file=is_file)
        self._open.append(kept)
        for lines in read_lines(opened, self.interrupts):
            kept.feed(lines)
            if self._copy is not None:
                self._copy.writelines(lines)
                self._copy.flush()
        self._end(kept)

    def _end(self, kept: StreamCapture) -> None:
        with self._lock:
            self._open.remove(kept)
            captured = kept.finish()
            self.captured += captured
            self.archived = archive_captured(self._settings, captured) and self.archived


def _describe(captured: Captured) -> CapturedDocument:
    return CapturedDocument(
        session_id=captured.session_id,
        path=None if captured.path is None else path_text(captured.path),
        lines=captured.lines,
        known=captured.known,
        broken=captured.broken,
    )


def _tell(document: IngestDocument) -> Iterator[str]:
    if not document.sessions:
        yield "nothing arrived"
    for each in document.sessions:
        said = [f"{plural(each.lines, 'line')} kept"]
        said += [f"{each.known:,} already kept"] if each.known else []
        said += [f"{each.broken:,} of them not JSON"] if each.broken else []
        where = f", in {each.path}" if each.session_id is None else ""
        yield clean_line(f"{each.session_id or 'no session'}: {', '.join(said)}{where}")


def _name(source: str, listening: socket.socket) -> str:
    """Return where somebody can connect to: the port may have been the system's choice."""
    if source.startswith("unix:"):
        return source
    host, port = listening.getsockname()[:2]
    return f"tcp:{host}:{port}"

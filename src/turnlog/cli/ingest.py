"""`turnlog ingest`: keep a stream while it comes, and archive it at its end.

It is read from standard input, a file, or a socket that turnlog listens at. Interrupting it ends the capture,
which is archived all the same.
"""

from __future__ import annotations

import ipaddress
import os
import select
import socket
import stat
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import BinaryIO

import click
from msgspec import Struct

from turnlog.cli.output import Output, output_options, show_progress
from turnlog.cli.terminal import (
    FOUND_PROBLEMS,
    INTERRUPTED,
    MisuseError,
    clean_line,
    describe_os_error,
    handling_signals,
    warn,
)
from turnlog.config import Settings
from turnlog.errors import TurnlogError
from turnlog.export.plain_text import plural
from turnlog.ingest.capture import Captured, StreamCapture, archive_paths
from turnlog.shapes import fill
from turnlog.transcripts.session_files import list_roots, path_text, project_folder_name

_PIECE = 1 << 20
_LAST_WORDS = 2.0
"""How long what is still to come is waited for, once interrupted."""
_POLL_SECONDS = 0.2


class Interrupts:
    """Counts how often the person pressed Ctrl-C, or the system asked to end; the third time ends at once."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def caught(self) -> Iterator[Interrupts]:
        """Count for as long as this lasts."""
        with handling_signals(self._note):
            yield self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 2:
            raise KeyboardInterrupt


def read_lines(source: int, interrupts: Interrupts) -> Iterator[list[bytes]]:
    """Yield lines of an open file as they come, and at last what is left without a newline."""
    rest = b""
    for piece in _read_pieces(source, interrupts):
        *lines, rest = (rest + piece).split(b"\n")
        if lines:
            yield [line + b"\n" for line in lines]
    if rest:
        yield [rest]


def _read_pieces(source: int, interrupts: Interrupts) -> Iterator[bytes]:
    waits = not stat.S_ISREG(os.fstat(source).st_mode)
    waited = 0.0
    while interrupts.count < 2:  # the second time, the person means it
        if waits and not select.select([source], [], [], _POLL_SECONDS)[0]:
            waited = waited + _POLL_SECONDS if interrupts.count else 0.0
            if waited >= _LAST_WORDS:
                return
            continue
        try:
            piece = os.read(source, _PIECE)
        except ConnectionError:
            return
        if not piece:
            return
        yield piece


@contextmanager
def listen(address: str, *, remote: bool) -> Iterator[socket.socket]:
    """Listen at `unix:PATH` or `tcp:HOST:PORT`, until this ends; raises `MisuseError` and `OSError`."""
    scheme, _, place = address.partition(":")
    if scheme == "unix":
        with _listen_at_path(Path(place)) as listening:
            yield listening
        return
    host, port = _split_address(place)
    if not remote and not _is_loopback(host):
        raise MisuseError(f"{host} can be reached by other machines; --remote allows that")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listening:
        yield listening


@contextmanager
def _listen_at_path(path: Path) -> Iterator[socket.socket]:
    if not hasattr(socket, "AF_UNIX"):
        raise MisuseError("this system has no sockets with paths; use tcp:HOST:PORT")
    if path.is_socket() and not _is_answered(path):
        path.unlink()  # of a process that died
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        before = os.umask(0o177)  # for the owner alone, from its first moment on
        try:
            listening.bind(os.fspath(path))
        finally:
            os.umask(before)
        listening.listen()
        try:
            yield listening
        finally:
            with suppress(FileNotFoundError):
                path.unlink()


def _is_answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            return False
    return True


def _split_address(place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    if not port.isdecimal() or int(port) > 0xFFFF:
        raise MisuseError(f"Expected tcp:HOST:PORT or tcp:PORT, got tcp:{place}")
    return host.strip("[]") or "127.0.0.1", int(port)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_PATIENCE = 1.0


def archive_captured(settings: Settings, captured: Iterable[Captured]) -> bool:
    """Archive what was captured; False if another process has to do that, or if it failed, with a warning."""
    paths = [path for each in captured for path in _list_paths(settings, each)]
    try:
        return (
            archive_paths(settings.place, paths, exclude=settings.exclude, wait_seconds=_PATIENCE) is not None
        )
    except (TurnlogError, OSError) as error:
        warn(f"the capture is not archived yet: {error}")
        return False


def _list_paths(settings: Settings, captured: Captured) -> list[Path]:
    """Return where a session was kept, and where Claude Code's own file of it may be."""
    if captured.session_id is None or captured.path is None:
        return []
    folders = [root / captured.path.parent.name for root in list_roots(settings.config_dirs)]
    return [captured.path, *(folder / f"{captured.session_id}.jsonl" for folder in folders)]


_SOCKETS = ("unix:", "tcp:")
_NOWHERE = "unknown"
"""The project's folder of sessions that never say where they work."""


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


@click.command("ingest")
@click.argument("source", metavar="-|FILE|unix:PATH|tcp:[HOST:]PORT")
@click.option("--tee", is_flag=True, help="Copy each line to standard output, once it is kept.")
@click.option("--quiet", "-q", is_flag=True, help="Do not report what was kept.")
@click.option("--remote", is_flag=True, help="Let other machines connect to a tcp address.")
@output_options()
def ingest_command(source: str, tee: bool, quiet: bool, remote: bool, output: Output) -> None:
    """Archive a stream of Claude Code as a session, as it arrives.

    The stream is what `claude --output-format stream-json` prints. Every line is kept as it is, including
    control traffic, and is on the disk before it is passed on; `turnlog serve` shows it as it arrives. If
    Claude Code also keeps the session in a file, both become one session. A socket takes streams until
    Ctrl-C.

    Examples:
      claude -p "Fix it" --output-format stream-json --verbose | turnlog ingest -
      claude … --output-format stream-json --verbose | turnlog ingest - --tee | my-program
      turnlog ingest recorded.jsonl       a stream that was written to a file
      turnlog ingest unix:/run/user/1000/turnlog.sock
    """
    if tee and output.as_json:
        raise MisuseError("--tee and --json both write to standard output")
    settings = Settings.from_env()
    archiver = _StreamArchiver(settings, sys.stdout.buffer if tee else None)
    listens = source.startswith(_SOCKETS)
    with archiver.interrupts.caught(), show_progress("Keeping the stream") if not tee else nullcontext():
        try:
            if listens:
                with listen(source, remote=remote) as listening:
                    if not quiet:
                        click.echo(
                            f"listening at {clean_line(_name_source(source, listening))}; Ctrl-C ends it",
                            err=True,
                        )
                    archiver.serve(listening)
            else:
                archiver.archive_source(source)
        finally:
            archiver.finish()
    document = IngestDocument(
        sessions=tuple(map(_describe_capture, archiver.captured)), archived=archiver.archived
    )
    if output.as_json:
        output.print_json(document)
    elif not quiet:
        for line in _describe_outcome(document):
            click.echo(line, err=True)
    if archiver.interrupts.count and not listens:
        raise click.exceptions.Exit(INTERRUPTED)
    if any(each.broken or each.session_id is None for each in document.sessions) or not document.sessions:
        raise click.exceptions.Exit(FOUND_PROBLEMS)


class _StreamArchiver:
    """Streams that are kept, one or several at a time."""

    def __init__(self, settings: Settings, copy: BinaryIO | None) -> None:
        self.interrupts = Interrupts()
        self.captured: list[Captured] = []
        self.archived = True
        self._settings = settings
        self._copy = copy
        self._lock = threading.Lock()
        self._open: list[StreamCapture] = []

    def archive_source(self, source: str) -> None:
        """Keep what comes from standard input or stands in a file."""
        if source == "-":
            self._archive_stream(sys.stdin.fileno(), project_folder_name(os.path.realpath(os.curdir)))
            return
        opened = os.open(source, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            self._archive_stream(opened, _NOWHERE, is_file=True)
        finally:
            os.close(opened)

    def serve(self, listening: socket.socket) -> None:
        """Keep what comes over connections, until interrupted."""
        threads: list[threading.Thread] = []
        listening.settimeout(_POLL_SECONDS)
        while not self.interrupts.count:
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            threads = [thread for thread in threads if thread.is_alive()]
            threads.append(threading.Thread(target=self._serve_connection, args=(connection,)))
            threads[-1].start()
        for thread in threads:
            thread.join()

    def finish(self) -> None:
        """Keep what still waits, whatever happened."""
        for kept in [*self._open]:
            self._end(kept)

    def _serve_connection(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._archive_stream(connection.fileno(), _NOWHERE)
            except OSError as error:
                warn(f"the stream of a connection could not be kept: {describe_os_error(error)}")

    def _archive_stream(self, opened: int, folder: str, *, is_file: bool = False) -> None:
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


def _describe_capture(captured: Captured) -> CapturedDocument:
    return fill(CapturedDocument, captured, path=None if captured.path is None else path_text(captured.path))


def _describe_outcome(document: IngestDocument) -> Iterator[str]:
    if not document.sessions:
        yield "nothing arrived"
    for each in document.sessions:
        said = [f"{plural(each.lines, 'line')} kept"]
        said += [f"{each.known:,} already kept"] if each.known else []
        said += [f"{each.broken:,} of them not JSON"] if each.broken else []
        where = f", in {each.path}" if each.session_id is None else ""
        yield clean_line(f"{each.session_id or 'no session'}: {', '.join(said)}{where}")


def _name_source(source: str, listening: socket.socket) -> str:
    """Return where somebody can connect to: the port may have been the system's choice."""
    if source.startswith("unix:"):
        return source
    host, port = listening.getsockname()[:2]
    return f"tcp:{host}:{port}"

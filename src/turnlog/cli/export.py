"""`turnlog export`: sessions as files again."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from turnlog.cli.files import STDIN, STDIN_NAME
from turnlog.cli.output import Output, output_options, password_option, track
from turnlog.cli.session_input import OpenedSession, is_file_name, open_session_input
from turnlog.cli.terminal import MisuseError, clean_line, warn
from turnlog.config import Settings
from turnlog.export import files
from turnlog.export.conversation import Selection
from turnlog.export.formats import Format, render_session
from turnlog.export.redaction import RedactionRules, Redactor, Replaced
from turnlog.shapes import fill
from turnlog.store.interface import find_sessions
from turnlog.store.lists import StoredSession
from turnlog.store.model import LOCAL, is_made
from turnlog.transcripts.session_files import path_text

if TYPE_CHECKING:
    from concurrent.futures import Future

_RANGE = re.compile(r"(\d+)?(-)?(\d+)?")
_STDOUT = "-"


class ExportedFile(Struct, frozen=True, gc=False):
    """A file that was given back."""

    path: str
    generation: int
    size: int
    sha256: str
    outcome: files.Outcome


class WrittenSession(Struct, frozen=True, gc=False):
    """A session that was written into a file."""

    session: str
    path: str
    size: int
    redacted: tuple[Replaced, ...] | None
    """What was taken out; None if nothing was to be."""


@click.command("export")
@click.argument("sessions", metavar="ID|FILE|-...", nargs=-1)
@click.option("--raw", is_flag=True, help="The files as they were, byte for byte.")
@click.option("--format", "form", type=click.Choice([*map(str, Format)]), help="The format to write.")
@click.option(
    "--output",
    "where",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="PATH",
    help="A file, a folder, or - for standard output.  [default: a file here, named after the session]",
)
@click.option("--session", metavar="ID", help="The session to export, if the file has several.")
@click.option("--turns", metavar="N-M", help="Only these turns, from 1: 3, 3-7, 3- or -7.")
@click.option("--branch", type=click.IntRange(0), metavar="N", help="Only this branch, and what leads to it.")
@click.option("--thinking/--no-thinking", default=True, show_default=True, help="Include thinking.")
@click.option("--tool-output/--no-tool-output", default=True, show_default=True, help="Include tool output.")
@click.option("--agents/--no-agents", default=True, show_default=True, help="Include sub-agents.")
@click.option(
    "--redact/--no-redact",
    default=True,
    show_default=True,
    help="Redact secrets, names and paths. It only finds what has a known form: read what you share.",
)
@click.option("--word", "words", multiple=True, help="Redact this word, too; may be repeated.")
@click.option("--snake", is_flag=True, help="With --format json: field names as in the API.")
@click.option("--force", is_flag=True, help="Overwrite existing files, or documents that are there already.")
@click.option(
    "--to", "address", metavar="ADDRESS", help="Keep a MongoDB database up to date: mongodb://host/name."
)
@password_option
@click.option("--follow", "follows", is_flag=True, help="With --to: go on as sessions grow, until interrupted.")
@click.option("--dry-run", is_flag=True, help="With --to: show what would be written, and write nothing.")
@output_options()
def export_command(
    sessions: tuple[str, ...],
    raw: bool,
    form: str | None,
    where: Path | None,
    session: str | None,
    turns: str | None,
    redact: bool,
    words: tuple[str, ...],
    snake: bool,
    force: bool,
    address: str | None,
    password_file: Path | None,
    follows: bool,
    dry_run: bool,
    output: Output,
    **parts: Any,
) -> None:
    """Export sessions to read, to share, or as they were.

    ID may be the beginning of a session's id, the path of a session's file, or - for one on standard input.
    Sessions that share an id get a file each. A file is written whole, or not at all. With --to, archived
    sessions go into a database as documents, all of them if no ID is given.

    Examples:
      turnlog export 5d1c --format html                 one self-contained page
      turnlog export 5d1c --format md --output -        Markdown, to standard output
      turnlog export 5d1c 77aa --format json --output ./documents/
      turnlog export 5d1c --format html --turns 3-7 --no-thinking
      turnlog export 5d1c --raw --output ./session      the files, byte for byte
      turnlog export --to mongodb://localhost/claude    all sessions, into a database
    """
    settings = output.settings
    rules = RedactionRules(words=(*settings.redact_words, *words)) if redact else None
    if address is not None:
        if raw or form or where or session or turns or snake or parts["branch"] is not None:
            raise MisuseError(
                "--to writes documents of whole sessions, and takes no format, place, turns or branch"
            )
        from turnlog.cli.database import export_to_database
        from turnlog.cli.sync import refresh

        if follows and (dry_run or sessions):
            raise MisuseError("--follow goes on with all sessions, and writes what is new")
        follow = partial(refresh, settings) if follows else None
        selection = Selection(**parts)
        export_to_database(address, password_file, sessions, rules, selection, output, follow, dry_run, force)
        return
    if follows or dry_run or password_file is not None:
        raise MisuseError("--follow, --dry-run and --password-file need --to mongodb://host/database")
    if not sessions:
        raise MisuseError("name a session: `turnlog sessions` lists them")
    if raw == (form is not None):
        raise MisuseError("choose a format: --format html|md|json|jsonl|csv, or --raw for the original files")
    meant = _find_meant(settings, sessions)
    if form is None:
        _give_back(settings, meant, where, output)
        return
    first, last = _read_range(turns)
    selection = Selection(first_turn=first, last_turn=last, **parts)
    writer = _Writer(settings, Format(form), selection, rules, camel=not snake, force=force, session=session)
    if where is not None and path_text(where) == _STDOUT:
        writer.print_all(meant)
        return
    named = writer.choose_paths(meant, where, alone=len(sessions) == 1)
    with writer.begin(named) as written:
        found = {each.path: each for each in track(written, "exporting", len(named))}
    done = [found[path_text(path)] for _, path in named]
    output.show(done, [line for each in done for line in _describe_written(each)])


class _Writer:
    """Writes sessions in one form."""

    def __init__(
        self,
        settings: Settings,
        form: Format,
        selection: Selection,
        rules: RedactionRules | None,
        *,
        camel: bool,
        force: bool,
        session: str | None,
    ) -> None:
        self._session = session
        self._settings = settings
        self._form = form
        self._selection = selection
        self._rules = rules
        self._camel = camel
        self._force = force

    def choose_paths(
        self, sessions: Sequence[str], where: Path | None, *, alone: bool
    ) -> list[tuple[str, Path]]:
        """Return into which file each session goes; raises `ExportError` if one is there and must stay.

        `alone` says that one was asked for, so that `where` may be a file.
        """
        names = []
        for what in sessions:
            if what == STDIN:  # it can be read only once
                names.append(STDIN_NAME)
                continue
            with open_session_input(what, self._settings, self._session) as shown:
                names.append(shown.name)
        is_folder = where is None or where.is_dir() or str(where).endswith(("/", "\\"))
        if where is not None and alone and not is_folder:
            if len(sessions) > 1:
                keys, file = ", ".join(sessions), path_text(where)
                raise MisuseError(f"{file}: one file cannot hold them all; name a folder, or one of {keys}")
            paths = [where]
        else:
            paths = [(where or Path()) / name for name in files.name_files(names, self._form)]
        for path in paths:
            if not self._force:
                files.refuse_existing(path)
        return [*zip(sessions, paths, strict=True)]

    @contextmanager
    def begin(self, named: Sequence[tuple[str, Path]]) -> Iterator[Iterator[WrittenSession]]:
        """Yield what writes sessions into files, on all cores, and tells of each when it is done."""
        gc.freeze()  # what was loaded stays
        workers = min(_count_cores(), len(named))
        if workers < 2 or any(what == STDIN for what, _ in named):
            yield (self.write(*each) for each in named)
            return
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        left = sorted(named, key=lambda each: -_measure(each[0]))
        # What is made for the first one, as parsers are, forked processes have from the start.
        done = [self.write(*left.pop(len(left) // 2))] if len(left) > workers else []
        # Elsewhere than on Linux, libraries of the system may not survive a fork.
        context = get_context("fork" if sys.platform == "linux" else "spawn")
        pool = ProcessPoolExecutor(workers - 1, context, signal.signal, (signal.SIGINT, signal.SIG_IGN))
        try:
            # Others begin with the largest, and this process with the smallest.
            own = left.pop()
            running = [(each, pool.submit(self.write, *each)) for each in left]
            yield chain(done, self._share(own, running))
        finally:
            pool.shutdown(cancel_futures=True)

    def _share(
        self, own: tuple[str, Path], running: Sequence[tuple[tuple[str, Path], Future[WrittenSession]]]
    ) -> Iterator[WrittenSession]:
        """Write one session and all that no other process has begun with, and wait for the others."""
        yield self.write(*own)
        for each, future in reversed(running):
            yield self.write(*each) if future.cancel() else future.result()

    def write(self, what: str, path: Path) -> WrittenSession:
        """Write one session into a file."""
        with open_session_input(what, self._settings, self._session) as shown:
            redactor = None if self._rules is None else Redactor(self._rules)
            size = files.write_file(path, self._render(shown, redactor), overwrite=self._force)
        replaced = None if redactor is None else tuple(redactor.replaced)
        return WrittenSession(shown.name, path_text(path), size, replaced)

    def print_all(self, sessions: Sequence[str]) -> None:
        """Write sessions to standard output, one after the other."""
        with ExitStack() as stack:
            for what in sessions:
                shown = stack.enter_context(open_session_input(what, self._settings, self._session))
                redactor = None if self._rules is None else Redactor(self._rules)
                for piece in self._render(shown, redactor):
                    sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()

    def _render(self, shown: OpenedSession, redactor: Redactor | None) -> Iterator[bytes]:
        with shown.open() as session:
            yield from render_session(
                session,
                shown.read_summary(),
                self._form,
                selection=self._selection,
                redactor=redactor,
                name=shown.marks.name,
                camel=self._camel,
                shared=shown.list_shared() if self._form is Format.JSON else (),
            )


def _count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _measure(what: str) -> int:
    """Return how large a file is; 0 for what is no file."""
    try:
        return os.path.getsize(what)
    except OSError:
        return 0


def _find_meant(settings: Settings, sessions: Sequence[str]) -> list[str]:
    """Return what is to be exported: for an id that several sessions share, the keys of all of them."""
    meant: dict[str, None] = {}
    for what in sessions:
        shared: list[StoredSession] = []
        if what != STDIN and not is_file_name(what) and is_made(settings.place):
            from turnlog.cli.stores import list_exact, open_archive

            with open_archive(settings) as store:
                shared = list_exact(find_sessions(store, LOCAL, what), what)
        if len(shared) > 1:
            warn(f"{len(shared)} sessions have the id {what}; each of them is exported")
        meant |= dict.fromkeys([each.key for each in shared] if len(shared) > 1 else [what])
    return list(meant)


def _give_back(settings: Settings, sessions: Sequence[str], where: Path | None, output: Output) -> None:
    if where is None:
        raise MisuseError("say where to put the files: --output DIR")
    from turnlog.cli.stores import find_session, open_archive

    done: list[files.Exported] = []
    with open_archive(settings) as store:
        chosen = [find_session(store, session)[1] for session in sessions]
        # Files of sessions that share a name must not come to lie on each other.
        used: Counter[str] = Counter()
        for known in chosen:
            own = files.find_transcript(known)
            name = known.key if own is None else Path(own.path).stem
            used[name] += 1
            done += files.export_raw(
                store, LOCAL, known, where if used[name] == 1 else where / f"{name}-{used[name]}"
            )
    output.show(list_files(done), describe(done))


def list_files(done: list[files.Exported]) -> tuple[ExportedFile, ...]:
    """Return what was done, for programs."""
    return tuple(fill(ExportedFile, each, path=path_text(each.path)) for each in done)


def describe(done: list[files.Exported]) -> list[str]:
    """Return what was done, for people: a line for each file."""
    return [f"{each.outcome.value:<12}{each.size:>12,}  {clean_line(path_text(each.path))}" for each in done]


def _describe_written(written: WrittenSession) -> Iterator[str]:
    yield f"{written.size:>12,}  {clean_line(written.path)}"
    if written.redacted is None:
        return
    told = ", ".join(f"{each.times:,} {each.kind}" for each in written.redacted)
    yield f"              redacted: {told or 'nothing'}"


def _read_range(text: str | None) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    match = _RANGE.fullmatch(text.strip())
    if match is None or not (match[1] or match[3]):
        raise MisuseError(f"--turns {text}: expected a number or a range, such as 3, 3-7, 3- or -7")
    first = int(match[1]) if match[1] else None
    last = int(match[3]) if match[3] else (None if match[2] else first)
    if first == 0 or last == 0 or (first and last and first > last):
        raise MisuseError(f"--turns {text}: turns are numbered from 1, and a range must not go backwards")
    return first, last

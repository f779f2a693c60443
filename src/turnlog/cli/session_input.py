"""The session that a command reads: from a file, from standard input, or from the archive.

A command handles all three alike, as an `OpenedSession`. A file is read once, when it is first needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from turnlog.cli.files import STDIN, STDIN_NAME, read_stdin, require_file
from turnlog.cli.terminal import MisuseError, NothingFoundError, clean, clean_line
from turnlog.config import Settings
from turnlog.export.files import find_transcript, list_problems, read_summary
from turnlog.store.interface import KnownSession, Store, find_sessions, read_all
from turnlog.store.lists import Marks, StoredSession
from turnlog.store.model import LOCAL, Visibility, is_made
from turnlog.transcripts.agents import LineProblem
from turnlog.transcripts.dumps import list_dumped
from turnlog.transcripts.line_reader import LineSplitter
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.session_files import path_text
from turnlog.transcripts.summary import Summary
from turnlog.transcripts.usage.prices import Prices, QuoteMemory

if TYPE_CHECKING:
    from turnlog.transcripts.session import Session

_CHUNK = 1 << 18


def read_bytes(path: Path) -> Iterator[bytes]:
    """Yield all bytes of a file."""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def escape_lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines in some bytes as text that is safe to print; what is no UTF-8 is escaped as well."""
    begun: list[bytes] = []
    for piece in pieces:
        first, *others = piece.split(b"\n")
        begun.append(first)
        for other in others:
            yield _escape_line(b"".join(begun))
            begun = [other]
    if any(begun):
        yield _escape_line(b"".join(begun))


def _escape_line(line: bytes) -> str:
    return clean(line.decode("utf-8", "backslashreplace"))


_MOST_NAMED = 10


class OpenedSession(Struct, frozen=True, kw_only=True):
    """A session to show."""

    name: str
    argument: str
    """What it was asked for by."""
    path: str
    """Where its transcript is, or was."""
    open: Callable[[], AbstractContextManager[SessionRecords]]
    read_summary: Callable[[], Summary]
    list_problems: Callable[[SessionRecords], Sequence[LineProblem]]
    count_problems: Callable[[], int]
    read_bytes: Callable[[], Iterable[bytes]]
    """Of its transcript."""
    marks: Marks = Marks()
    original: str | None = None
    """The session that it began as a copy of."""
    person: str | None = None
    """Whose it is, as far as anybody said."""
    visibility: Visibility = Visibility.PRIVATE
    list_shared: Callable[[], Collection[str]] = frozenset
    """The uuids of messages that other sessions have, too."""


@contextmanager
def open_session_input(what: str, settings: Settings, session: str | None = None) -> Iterator[OpenedSession]:
    """Yield what is meant: standard input, a file or one `session` of those in it, else an archived session."""
    if what == STDIN:
        data = b"".join(read_stdin())
        with _remember_prices(settings.price_memory) as prices:
            yield _show_file(STDIN_NAME, what, "", lambda: _read_session(data, prices), lambda: (data,))
        return
    path = Path(what)
    if is_file_name(what):
        require_file(path)
        named = _choose_dumped(path, session)
        name = path_text(path) if named is None else named
        with _remember_prices(settings.price_memory) as prices:
            load = lambda: _read_file(path, named, prices)  # noqa: E731
            yield _show_file(name, what, path_text(path), load, lambda: read_bytes(path))
        return
    if session is not None:
        raise MisuseError(f"--session selects a session in a file with several, and {what} is not a file")
    if not is_made(settings.place):
        if path.is_dir():
            require_file(path)
        raise NothingFoundError(f"{what}: there is no such file, and nothing is archived yet")
    # Showing a file needs no store.
    from turnlog.cli.stores import find_session, open_archive

    with open_archive(settings) as store:
        try:
            stored, known = find_session(store, what)
        except NothingFoundError:
            if path.is_dir():
                raise MisuseError(f"{what} is a folder, and no archived session begins with it") from None
            raise
        name = stored.marks.name or stored.row.session_id or stored.key
        main = find_transcript(known)
        yield OpenedSession(
            name=name,
            argument=what,
            path="" if main is None else path_text(main.path),
            open=lambda: store.open_session(LOCAL, stored.key),
            read_summary=lambda: read_summary(store, LOCAL, stored),
            list_problems=lambda session: list_problems(store, LOCAL, known, session),
            count_problems=lambda: stored.row.problems,
            read_bytes=lambda: _read_bytes(store, known),
            marks=stored.marks,
            original=_name_original(store, stored.copied_from),
            person=stored.person,
            visibility=stored.visibility,
            list_shared=lambda: _list_shared(store, stored),
        )


def _show_file(
    name: str, what: str, path: str, load: Callable[[], Session], read_bytes: Callable[[], Iterable[bytes]]
) -> OpenedSession:
    """Return a session that is not archived; it is read when somebody asks about it, and once."""
    from turnlog.transcripts.queries.memory import query

    read_once = cache(load)
    return OpenedSession(
        name=name,
        argument=what,
        path=path,
        open=lambda: nullcontext(query(read_once())),
        read_summary=lambda: read_once().summary,
        list_problems=lambda _: read_once().problems,
        count_problems=lambda: len(read_once().problems),
        read_bytes=read_bytes,
    )


def _choose_dumped(path: Path, session: str | None) -> str | None:
    """Return which session of a dump is meant; None for a file that is no dump."""
    dumped = list_dumped(path)
    if session is None and not dumped:
        return None
    if session in dumped:
        return session
    if not dumped:
        raise MisuseError(f"--session {session}: {path_text(path)} is not a dump of several sessions")
    named = ", ".join(clean_line(each) for each in dumped[:_MOST_NAMED])
    more = f" and {len(dumped) - _MOST_NAMED} more" if len(dumped) > _MOST_NAMED else ""
    there = f"{path_text(path)} has {len(dumped)} sessions: {named}{more}"
    if session is None:
        raise MisuseError(f"{there}; name one with --session, or archive them all with `turnlog sync`")
    raise NothingFoundError(f"there is no session {session}: {there}")


def _list_shared(store: Store, stored: StoredSession) -> Collection[str]:
    from turnlog.ingest.copies import list_shared

    return list_shared(store, LOCAL, stored)


def _name_original(store: Store, key: str | None) -> str | None:
    """Return what a session is called; None if it is not there any more."""
    found = [] if key is None else find_sessions(store, LOCAL, key)
    return next((each.row.session_id or each.key for each in found if each.key == key), None)


def is_file_name(what: str) -> bool:
    """Tell whether a file is meant rather than a session; a folder may have the name of a session."""
    if os.sep in what or Path(what).suffix in (".jsonl", ".ndjson", ".json"):
        return True
    return os.path.lexists(what) and not os.path.isdir(what)


@contextmanager
def _remember_prices(path: Path) -> Iterator[Prices]:
    """Yield prices; those that were asked for before need no price list, and those that are new are kept."""
    memory = _open_memory(path)
    yield Prices(memory=memory)
    memory.save()


_open_memory = cache(QuoteMemory)


def _read_file(path: Path, session: str | None, prices: Prices) -> Session:
    from turnlog.transcripts.session import read

    return read(path, session=session, prices=prices)


def _read_session(data: bytes, prices: Prices) -> Session:
    from turnlog.transcripts.session import Session

    splitter = LineSplitter(STDIN_NAME)
    return Session((*splitter.feed(data), *splitter.finish()), prices=prices)


def _read_bytes(store: Store, known: KnownSession) -> Iterable[bytes]:
    source = find_transcript(known)
    if source is None:
        raise NothingFoundError("the session has no transcript, only files of its sub-agents")
    return read_all(store.archive, LOCAL, source.source, source.generation)

"""What `turnlog show` is to show: a file, or a session of the archive."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from turnlog.cli.failures import NothingFoundError
from turnlog.cli.files import path_text, require_file
from turnlog.cli.raw_lines import read_bytes
from turnlog.cli.stores import find_session, open_for
from turnlog.config import Settings
from turnlog.ingest.archived import find_transcript, load_session
from turnlog.store.identity import LOCAL
from turnlog.store.interface import KnownSession, Store
from turnlog.store.marks import Marks
from turnlog.store.people import Visibility
from turnlog.store.places import is_made
from turnlog.transcripts.session import Session, read

__all__ = ["Shown", "open_shown"]


class Shown(Struct, frozen=True):
    """A session to show."""

    name: str
    read: Callable[[], Session]
    read_bytes: Callable[[], Iterable[bytes]]
    """Of its transcript."""
    marks: Marks = Marks()
    original: str | None = None
    """The session that it began as a copy of."""
    person: str | None = None
    """Whose it is, as far as anybody said."""
    visibility: Visibility = Visibility.PRIVATE


@contextmanager
def open_shown(what: str, settings: Settings) -> Iterator[Shown]:
    """Yield what is meant: a file that is there, else an archived session."""
    path = Path(what)
    if _is_file_name(what):
        require_file(path)
        yield Shown(path_text(path), lambda: read(path), lambda: read_bytes(path))
        return
    if not is_made(settings.place):
        raise NothingFoundError(f"{what}: there is no such file, and nothing is archived yet")
    with open_for(settings) as store:
        stored, known = find_session(store, what)
        name = stored.marks.name or stored.row.session_id or stored.key
        yield Shown(
            name,
            lambda: load_session(store, LOCAL, stored.key),
            lambda: _read_bytes(store, known),
            stored.marks,
            _name_original(store, stored.copied_from),
            stored.person,
            stored.visibility,
        )


def _name_original(store: Store, key: str | None) -> str | None:
    """Return what a session is called; None if it is not there any more."""
    found = [] if key is None else store.find_sessions(LOCAL, key)
    return next((each.row.session_id or each.key for each in found if each.key == key), None)


def _is_file_name(what: str) -> bool:
    return os.path.lexists(what) or os.sep in what or Path(what).suffix in (".jsonl", ".ndjson", ".json")


def _read_bytes(store: Store, known: KnownSession) -> Iterable[bytes]:
    source = find_transcript(known)
    if source is None:
        raise NothingFoundError("the session has no transcript, only files of its sub-agents")
    return store.archive.read_all(LOCAL, source.source, source.generation)

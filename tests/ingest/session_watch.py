"""Looking at the sessions of a folder again and again, as a sync does, with stores in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ingest.memory_store import MemoryStore, small_pieces
from turnlog.ingest.change_check import key_of
from turnlog.ingest.session_scan import SessionCache, scan_session
from turnlog.store.batch import SessionBatch
from turnlog.transcripts.session_files import locate_path

ORIGIN = "a machine"


class Watch:
    """The sessions below a folder, and what is known of each."""

    def __init__(self, folder: Path, cache: SessionCache | None = None) -> None:
        self.folder = folder
        self.cache = cache
        self.stores: dict[str, MemoryStore] = {}

    @property
    def store(self) -> MemoryStore:
        """The only session's."""
        [store] = self.stores.values()
        return store

    def look(self) -> list[SessionBatch]:
        """Look at each session once, and return what was new."""
        batches = []
        for files in locate_path(self.folder).sessions:
            store = self.stores.setdefault(key_of(files, ORIGIN), MemoryStore())
            with small_pieces():
                look = scan_session(
                    files,
                    store.known,
                    store,
                    None if self.cache is None else self.cache.take(store.known),
                    owner="local",
                    origin=ORIGIN,
                    now_ns=1,
                )
            store.apply(look.batch)
            if self.cache is not None:
                self.cache.put(look.cached)
            if look.batch is not None:
                batches.append(look.batch)
        return batches


def look_once(folder: Path) -> dict[str, MemoryStore]:
    """Return what one cold look at all sessions below a folder gives."""
    watch = Watch(folder)
    watch.look()
    return watch.stores


def list_files(folder: Path) -> dict[Path, bytes]:
    """Return the files below a folder, by their paths from there."""
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def grow(folder: Path, pieces: dict[Path, list[bytes]]) -> Iterator[None]:
    """Write files piece by piece, in turns, and wait after each."""
    longest = max((len(each) for each in pieces.values()), default=0)
    for turn in range(longest):
        for path, parts in pieces.items():
            if turn < len(parts):
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("ab") as file:
                    file.write(parts[turn])
                yield

"""What a store must do.

`Archive` keeps bytes, `Store` keeps segments, and rows for what is asked across sessions. What is asked about
one session is asked of `open_session`, and is the same for every engine.

A store writes batches; all else are queries, and every query takes a `Scope`. `turnlog.testing.store_contract`
holds any store to what is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from operator import add
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from turnlog.store.account_model import CarriedAccounts
from turnlog.store.batch import Derived, SessionBatch, TextFact
from turnlog.store.frames import FRAME_SIZE
from turnlog.store.lists import (
    EVERYTHING_SHOWN,
    Facets,
    MarkChange,
    MarkedSession,
    ProjectOrder,
    SessionFilter,
    SessionOrder,
    SessionPage,
    StoredProject,
    StoredSession,
)
from turnlog.store.model import PeopleStore, Place, Scope, SourceKind
from turnlog.store.search.paging import SearchOrder, SearchPage
from turnlog.transcripts.hooks import EVERY_DELIVERY, DeliveryFilter, HookDelivery
from turnlog.transcripts.session_files import Checkpoint

if TYPE_CHECKING:  # what is asked of one session, of texts or of usage is loaded by whoever asks it
    from turnlog.store.search.language import Query
    from turnlog.store.usage_report import StoredUsage
    from turnlog.transcripts.queries.sessions import SessionActions

EVERY = (1 << 31) - 2
"""More sessions than there are."""


class KnownSource(Struct, frozen=True, gc=False, kw_only=True):
    """What the store knows of a file."""

    source: str
    kind: SourceKind
    path: str
    """Where it was last seen."""
    present: bool
    """Whether it was still there."""
    generation: int
    """The newest."""
    length: int
    """How many bytes of that generation the archive has."""
    consumed: int
    in_array: bool
    lines: int
    """How many lines that generation has."""
    checkpoint: Checkpoint | None
    agent_id: str | None = None
    run_id: str | None = None
    copied_from: str | None = None


class KnownSession(Struct, frozen=True, gc=False, kw_only=True):
    """What the store knows of a session's files."""

    key: str
    revision: int
    session_id: str
    """As its file is called."""
    project_folder: str
    derivation: int
    """By which version of the rules its rows were derived; 0 if that was before versions were counted."""
    sources: tuple[KnownSource, ...]
    origin: str = ""
    """The machine that it comes from."""


class PresentFile(Struct, frozen=True, gc=False):
    """A file that was still there when it was last looked for."""

    session: str
    """The key of the session that it is of."""
    checkpoint: Checkpoint | None


class PresentFiles(Struct, frozen=True, gc=False):
    """What a look at the files of a machine is held against."""

    files: dict[str, PresentFile]
    """By their paths."""
    derivation: int | None
    """The oldest rules that any session's rows were derived by, of whichever machine; None without any."""


class ChangeKind(StrEnum):
    """What happened."""

    SESSION_ADDED = "session-added"
    SESSION_CHANGED = "session-changed"
    SESSION_GONE = "session-gone"
    """Its files are no longer outside; here they are still."""
    SESSION_FORGOTTEN = "session-forgotten"
    SESSION_MARKED = "session-marked"
    """Somebody said something about it; it is in the revision that it was in."""
    SESSION_ACCESS = "session-access"
    """Others may see it from now on, or may no longer; told to those who could see it before or can now."""
    HOOK_DELIVERED = "hook-delivered"


class ChangeEntry(Struct, frozen=True, gc=False, kw_only=True):
    """One entry of the feed."""

    seq: int
    kind: ChangeKind
    session: str
    """The session's key; for hook events the session's id."""
    revision: int
    at_ns: int


class Feed(Struct, frozen=True, gc=False):
    """Which feed it is, how far it goes, and what it tells; all of one state."""

    epoch: str
    """Its name: the same for as long as its numbers mean the same. A store that was restored or made anew has
    another one."""
    last: int
    """The last `seq`; 0 if nothing happened yet."""
    entries: tuple[ChangeEntry, ...] = ()
    """Those that were asked for, each once and in order."""


class Maintenance(StrEnum):
    """What is to be done to a store."""

    SETTLE = "settle"
    """Put in order what much writing left behind, if that makes searching faster; else nothing."""
    PURGE = "purge"
    """Remove what was deleted before from the store's files as well."""
    CLEAR_TEXTS = "clear-texts"
    """Empty what is searched, for `rewrite` to write it anew; what hooks delivered is there at once."""
    MOVE = "move"
    """Move bytes and segments from tables to blobs, where there are any, and delete blobs of no more use."""
    FILL = "fill"
    """Send to an index elsewhere what it has yet to learn."""
    REFILL = "refill"
    """Have everything sent to it once more, over what it has."""
    TAKE_OVER = "take-over"
    """The same, but empty it before, even if it is another archive's."""
    RECOUNT = "recount"
    """Count all usage anew from what is known of answers, by the price list that is installed."""


class Backlog(Struct, frozen=True, gc=False):
    """What an index elsewhere has yet to learn."""

    entries: int
    """How many changes; no more than a hundred thousand are counted."""
    oldest_ns: int | None
    """When the first of them was made; None without any."""


class FileCounts(Struct, frozen=True, gc=False, kw_only=True):
    """How much there is, of the newest generations."""

    sessions: int
    only_here: int
    """Sessions of which no file is still outside."""
    files: int
    bytes: int
    lines: int


class ChangeListener(Protocol):
    """Waits for changes; one thread at a time may use it."""

    def wait(self, seconds: float) -> bool:
        """Wait until something may have changed, but no longer than this; return whether it may have."""

    def close(self) -> None:
        """Let go of it."""


class Archive(Protocol):
    """Bytes by source, generation and range; each file can be given back byte for byte."""

    def read(self, scope: Scope, at: Place, length: int) -> bytes:
        """Return bytes; raises `KeyError` for what is not there, `ArchiveError` for what is damaged."""

    def list_generations(self, scope: Scope, source: str) -> list[tuple[int, int]]:
        """Return the generations of a source, each with its length."""


class KnownSessionSource(Protocol):
    """Whoever can tell what a store has."""

    def list_known(
        self, scope: Scope, origin: str | None = None, *, key: str | None = None
    ) -> Iterator[KnownSession]:
        """Yield what is known of the files of all sessions, of those of a machine, or of one, by their keys."""


class Sharding(Protocol):
    """Lets worker processes index texts by themselves, in shards that the writer takes over whole."""

    def reserve(self, cells: int) -> range:
        """Reserve numbers for so many cells, as the writer, before any worker begins."""

    def release(self, numbers: range, used: int) -> None:
        """Give back all numbers but the first that were used, when all workers are done."""

    def build(
        self, batches: Iterable[SessionBatch | None], allot: Callable[[int], int | None]
    ) -> list[SessionBatch | None]:
        """Return batches with their texts in a shard of the index; they are to be written together.

        `allot` gives the first of so many reserved numbers, each once and in order, over all workers; where
        there are none any more, texts stay in their batch.
        """

    def close(self) -> None:
        """Let go of the store."""


class Store(KnownSessionSource, PeopleStore, Protocol):
    """Sessions, each as bytes, as segments, and as a row of the lists."""

    @property
    def archive(self) -> Archive:
        """The bytes behind the rows."""

    def apply(self, batches: Sequence[SessionBatch]) -> int:
        """Write batches, all or nothing, and return the last `seq` of the feed.

        A batch whose files the store already has as they are changes nothing and makes no entry. Raises
        `StoreError` if a batch does not follow on what the store has, or would change a session that is no
        longer in the revision which the batch is based on (another writer was faster).
        """

    def find_present(self, scope: Scope, origin: str) -> PresentFiles:
        """Return which files of a machine, or of none that is known, were there when they were last seen.

        It is what `list_known` tells, as far as it takes to find out whether anything is new. The files of
        other machines are elsewhere, whatever their paths are.
        """

    def list_sessions(
        self,
        scope: Scope,
        asked: SessionFilter = EVERYTHING_SHOWN,
        *,
        order: SessionOrder = SessionOrder.NEWEST,
        limit: int = 100,
        cursor: str | None = None,
        grouped: bool = False,
        summaries: bool = False,
    ) -> SessionPage:
        """Return a page of sessions: the first, or the one that begins where another one ended.

        If it is `grouped`, sessions that are alike are one: see `turnlog.store.lists`. Rows have a `summary` if
        `summaries` are asked for. Raises `CursorError` for a cursor that no list in this order ended with.
        """

    def list_projects(
        self, scope: Scope, *, text: str | None = None, order: ProjectOrder = ProjectOrder.NEWEST
    ) -> list[StoredProject]:
        """Return all projects, or those with a text in their paths."""

    def list_facets(self, scope: Scope, asked: SessionFilter = EVERYTHING_SHOWN) -> Facets:
        """Return what the sessions that are asked for can be told apart by."""

    def mark(self, scope: Scope, keys: Sequence[str], change: MarkChange) -> list[MarkedSession]:
        """Change the marks of sessions, and return those that are not as they were.

        Sessions that are not there are left out. Raises `MarkError` for too many tags; then nothing is changed.
        """

    def undo_mark(self, scope: Scope) -> list[MarkedSession]:
        """Take back the last call of `mark` that still stands, and return the sessions that it changed."""

    def read_usage(self, scope: Scope) -> StoredUsage:
        """Return what sessions used and cost, each answer once, whichever of them came first."""

    def read_feed(self, scope: Scope, after: int | None = None, limit: int = 1000) -> Feed:
        """Return the name of the feed and how far it goes; with `after`, also the entries behind that one.

        Of more than `limit` entries, they are the first.
        """

    def listen(self) -> ChangeListener | None:
        """Return what tells of changes whoever writes them; None where one has to look for them."""

    def search(
        self,
        scope: Scope,
        query: Query,
        *,
        order: SearchOrder = SearchOrder.NEWEST,
        limit: int = 20,
        cursor: str | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> SearchPage:
        """Return a page of the passages that match, each once, of the newest generation of each file.

        By `NEWEST`, pages together have all of them; `cursor` is `next` of the page before. `cancelled` is
        asked often, and ends the search when it says so: raises `SearchCancelledError`. Raises `CursorError`.
        """

    def open_session(
        self, scope: Scope, key: str, *, hooks: str | None = None
    ) -> AbstractContextManager[SessionActions]:
        """Return all that is kept of one session, as it is now; it stays so until it is closed.

        `hooks` is the id by which hooks know the session; without it, they told nothing. Of a session that is
        not there, there is nothing: it has no chapters.
        """

    def maintain(
        self, work: Maintenance = Maintenance.SETTLE, between: Callable[[], object] = lambda: None
    ) -> bool:
        """Do some work on the store as a whole.

        Return False if its files are in use and cannot be purged, or the index cannot be reached to be filled.

        What is settled is so piece by piece, each in a short transaction, with `between` called between them.
        """

    def close(self) -> None:
        """Let go of the store."""


def find_known(store: KnownSessionSource, scope: Scope, key: str) -> KnownSession | None:
    """Return what is known of a session's files."""
    return next(iter(list(store.list_known(scope, key=key))), None)


def find_sessions(store: Store, scope: Scope, prefix: str) -> list[StoredSession]:
    """Return the sessions whose id or key begins with a prefix, with their summaries, newest first."""
    asked = SessionFilter(session=prefix, archived=None)
    return [*store.list_sessions(scope, asked, limit=EVERY, summaries=True).sessions]


def read_all(archive: Archive, scope: Scope, source: str, generation: int) -> Iterator[bytes]:
    """Yield the bytes of a whole generation, piece by piece; raises `KeyError` at once if there is none.

    It is as long as it was when this was called.
    """
    length = dict(archive.list_generations(scope, source)).get(generation)
    if length is None:
        raise KeyError(Place(source, generation, 0))
    return (
        archive.read(scope, Place(source, generation, start), min(FRAME_SIZE, length - start))
        for start in range(0, length, FRAME_SIZE)
    )


def count_files(store: KnownSessionSource, scope: Scope) -> FileCounts:
    """Return how much there is of all sessions."""
    return count_known(store.list_known(scope))


def count_known(known: Iterable[KnownSession]) -> FileCounts:
    """Return how much there is of some sessions."""
    counts = [0, 0, 0, 0, 0]
    for session in known:
        is_gone = not any(source.present for source in session.sources)
        size, lines = (sum(getattr(each, name) for each in session.sources) for name in ("length", "lines"))
        counts = [*map(add, counts, (1, is_gone, len(session.sources), size, lines))]
    sessions, only_here, files, size, lines = counts
    return FileCounts(sessions=sessions, only_here=only_here, files=files, bytes=size, lines=lines)


NO_TEXTS: Mapping[tuple[str, int], Iterable[TextFact]] = MappingProxyType({})
NOTHING: Mapping[str, int] = MappingProxyType({})


class Flaw(Struct, frozen=True, gc=False):
    """Where a store contradicts itself."""

    session: str | None
    """The session's key; None where it cannot be told."""
    message: str
    follows: bool = False
    """Whether what is wrong follows from the bytes, so that `rewrite` mends it."""


class Forgotten(Struct, frozen=True, gc=False, kw_only=True):
    """What was forgotten at once."""

    sessions: int
    files: int
    bytes: int
    """As they were, of all generations."""
    deliveries: int
    """Of hooks."""
    scrubbed: bool = True
    """Whether nothing of it is left in the store's files; else they are still to be purged (`Maintenance`)."""


class Tombstone(Struct, frozen=True, gc=False):
    """What is left of a session that was forgotten."""

    key: str
    session_id: str | None
    """None if another session of the same person has the same."""
    at_ns: int
    person: str | None = None
    """Whose it was."""
    origin: str = ""
    """The machine that it came from."""


class Backup(Struct, frozen=True, gc=False):
    """A copy of a store that was made."""

    path: str
    at_ns: int
    size: int | None
    """None if it is not there."""


class Restored(Struct, frozen=True, gc=False):
    """What came of putting a backup in the place of a store."""

    kept: str | None
    """Where the store is that was there before."""
    forgotten: int
    """Sessions that the backup had, and that were forgotten since."""
    accounts: CarriedAccounts | None = None
    """What became of the accounts; None if the backup had none, and they are as they were."""


class MaintainedStore(Store, Protocol):
    """A store that can be repaired, copied and made to forget, and that keeps what hooks deliver."""

    def rewrite(
        self,
        scope: Scope,
        key: str,
        revision: int,
        derived: Derived | None,
        derivation: int = 0,
        *,
        lines: Mapping[str, int] = NOTHING,
        texts: Mapping[tuple[str, int], Iterable[TextFact]] = NO_TEXTS,
    ) -> int:
        """Write what follows from a session's bytes anew, whatever is there, and return its new revision.

        `derived` is all of it, with every chapter, and `derivation` says by which rules it was made; without
        it, what is there stays. `lines` says how many lines files have, and `texts` are what is searched of
        some generations, packed. Raises `StoreError` if the session is not there in this revision.
        """

    def check_texts(self, scope: Scope, source: str, generation: int, texts: Iterable[TextFact]) -> list[str]:
        """Return how what is searched of a generation differs from `texts`, which it should be."""

    def repair_bytes(
        self, scope: Scope, source: str, generation: int, find: Callable[[int, int], bytes | None]
    ) -> int:
        """Put bytes back in the place of damaged ones, and return how many frames were repaired.

        `find` takes a start and a length, and returns bytes that may be those, or None. Only what has the
        digest of what was kept is taken.
        """

    def list_flaws(self, scope: Scope) -> list[Flaw]:
        """Return where the store contradicts itself; whether it is what the bytes say is not its business."""

    def forget(self, scope: Scope, keys: Sequence[str], *, dry_run: bool = False) -> Forgotten:
        """Delete sessions for good: their bytes, facts, rows and hook deliveries; `dry_run` only counts them.

        They leave tombstones: batches of them are not written any more. Keys that are not there are left out.
        """

    def delete_tombstones(self, scope: Scope, keys: Sequence[str]) -> int:
        """Let sessions be kept again, and return how many; what was forgotten does not come back by that."""

    def list_tombstones(self, scope: Scope) -> list[Tombstone]:
        """Return what was forgotten, by time."""

    def back_up(
        self, target: Path, *, force: bool = False, on_progress: Callable[[int, int], None] | None = None
    ) -> Backup:
        """Write a copy of one state of the store to a file, check it, and remember it.

        Raises `StoreError` if the file is there, unless by `force`.
        """

    def list_backups(self) -> list[Backup]:
        """Return the copies that were made, by time."""

    def add_deliveries(self, scope: Scope, deliveries: Sequence[HookDelivery]) -> int:
        """Keep what hooks were given, each delivery once, and return how many are new.

        Those of sessions that were forgotten are not kept. The others outlast even a loss of power.
        """

    def list_deliveries(self, scope: Scope, which: DeliveryFilter = EVERY_DELIVERY) -> list[HookDelivery]:
        """Return deliveries, by time; those of the same moment by their `delivery_id`."""

    def count_deliveries(self, scope: Scope, session_id: str | None = None) -> int:
        """Return how many deliveries there are of a session, or of all."""

    def list_hook_sessions(self, scope: Scope, since_ns: int, count: int = 200) -> list[str]:
        """Return the ids of the sessions that hooks told of at a time or later, the latest first."""


_TOLD = DeliveryFilter(count=1, payloads=False, longest_context=0)


def is_visible(store: MaintainedStore, scope: Scope, name: str) -> bool:
    """Tell whether a session may be seen, by its key, or by its id if only hooks told of it."""
    if store.list_access(scope, [name]):
        return True
    return name != "" and bool(store.list_deliveries(scope, replace(_TOLD, session_id=name)))

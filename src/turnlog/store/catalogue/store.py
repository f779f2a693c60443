"""A store: the catalogue in a database, whichever engine it is on, and the index of texts beside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from msgspec.structs import replace

from turnlog.errors import LostStoreError, StoreError
from turnlog.store.batch import Derived, SessionBatch, TextFact
from turnlog.store.catalogue import deletion, hooks, lists, people
from turnlog.store.catalogue.archive import CatalogueArchive, LineReader, repair_frames
from turnlog.store.catalogue.database import Connection, Database, OnProgress, pack_text, unpack_text
from turnlog.store.catalogue.engine import Engine, list_flaws
from turnlog.store.catalogue.feed import lock_feed, read_feed
from turnlog.store.catalogue.segments import CatalogueSession, SegmentCache
from turnlog.store.catalogue.usage import CatalogueUsage, UsageKeeper, is_outdated
from turnlog.store.catalogue.writer import Writer, decode_checkpoint
from turnlog.store.interface import (
    NO_TEXTS,
    NOTHING,
    Backup,
    ChangeListener,
    Feed,
    Flaw,
    Forgotten,
    KnownSession,
    KnownSource,
    Maintenance,
    PresentFile,
    PresentFiles,
    Tombstone,
)
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
    sort_projects,
)
from turnlog.store.model import Machine, ProjectRule, Scope, SessionAccess, SourceKind, Visibility
from turnlog.store.search.index import IndexSharding, ShardBuilder, search_texts
from turnlog.store.search.language import Query
from turnlog.store.search.paging import Cancelled, SearchOrder, SearchPage
from turnlog.store.search.text_context import CatalogueTextRows
from turnlog.store.usage_recount import RecountedUsage
from turnlog.store.usage_report import StoredUsage
from turnlog.transcripts.hooks import EVERY_DELIVERY, DeliveryFilter, HookDelivery
from turnlog.transcripts.usage.prices import Charger

if TYPE_CHECKING:
    from turnlog.store.catalogue.blobs import BlobKeeper
    from turnlog.transcripts.queries.sessions import SessionActions

T = TypeVar("T")
Given = TypeVarTuple("Given")

_KNOWN = """
SELECT e.key, e.revision, e.file_id, e.project_folder, e.derivation, e.origin, s.source, s.kind, s.path,
    s.is_present, g.generation, g.length, g.consumed, g.in_array, g.lines, g.checkpoint, s.agent_id, s.run_id,
    s.copied_from
FROM sessions AS e JOIN sources AS s ON s.session = e.id JOIN generations AS g ON g.id = s.newest
WHERE e.owner = :owner
"""
_PRESENT = """
SELECT s.path, s.is_present, e.key, e.origin, e.derivation, g.checkpoint
FROM sources AS s JOIN sessions AS e ON e.id = s.session JOIN generations AS g ON g.id = s.newest
WHERE e.owner = ?
"""


class CatalogueSharding:
    """What `turnlog.store.interface.Sharding` asks for; `turnlog.store.opening` opens one."""

    def __init__(self, database: Database, index: IndexSharding) -> None:
        self._database = database
        self._index = index
        self._builder: ShardBuilder | None = None

    def reserve(self, cells: int) -> range:
        """Reserve numbers for so many cells."""
        return self._database.write(lambda connection: self._index.reserve(connection, cells))

    def release(self, numbers: range, used: int) -> None:
        """Give back all numbers but the first that were used."""
        self._database.write(lambda connection: self._index.release(connection, numbers, used))

    def build(
        self, batches: Iterable[SessionBatch | None], allot: Callable[[int], int | None]
    ) -> list[SessionBatch | None]:
        """Return batches with their texts in a shard of the index; they are to be written together."""
        self._builder = self._builder or self._index.begin()
        found = [None if batch is None else _index_texts(batch, self._builder, allot) for batch in batches]
        shard = self._builder.finish()
        for at, batch in enumerate(found):
            if batch is not None:
                found[at] = replace(batch, shard=shard)
                break
        return found

    def close(self) -> None:
        """Let go of the store."""
        self._database.close()


def _index_texts(
    batch: SessionBatch, builder: ShardBuilder, allot: Callable[[int], int | None]
) -> SessionBatch:
    sources = []
    for source in batch.sources:
        texts = tuple(iter(source.texts)) if source.texts_from == 0 else ()
        first = allot(sum(len(text.cells) for text in texts)) if texts else None
        if first is not None:
            source = replace(source, texts=(), indexed=builder.add(texts, first))
        sources.append(source)
    return replace(batch, sources=tuple(sources))


class CatalogueStore:
    """What `turnlog.store.interface.Store` asks for; `turnlog.store.opening` opens one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._database: Database = engine.database
        self._index = engine.index
        self._blobs: BlobKeeper | None = engine.blobs
        self._archive = CatalogueArchive(self._database)
        self._segments = SegmentCache()
        self._charger = Charger()
        self._database.make()
        if not self._database.is_read_only and self._database.read(is_outdated):
            self.maintain(Maintenance.RECOUNT)

    @property
    def archive(self) -> CatalogueArchive:
        """The bytes behind the rows."""
        return self._archive

    @property
    def writes(self) -> int:
        """How many rows were written through this store."""
        return int(self._engine.database.rows_changed)

    def apply(self, batches: Sequence[SessionBatch]) -> int:
        """Write batches, all or nothing, and return the last `seq` of the feed."""
        sealed: list[str] = []

        def write(batches: Sequence[SessionBatch]) -> int:
            def work(connection: Connection, usage: UsageKeeper) -> int:
                writer = self._build_writer(connection, usage)
                last = writer.write(batches)
                sealed[:] = writer.sealed
                return last

            return self._write(work, is_repeatable=True)  # what was applied already changes nothing

        if self._blobs is None:
            return write(batches)
        last = self._blobs.store(batches, write)
        self._blobs.move_some(sealed)
        return last

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
        """Write what follows from a session's bytes anew, whatever is there, and return its new revision."""

        def write(derived: Derived | None) -> int:
            def work(connection: Connection, usage: UsageKeeper) -> int:
                writer = self._build_writer(connection, usage)
                return writer.rewrite(scope, key, revision, derived, derivation, lines, texts)

            return self._write(work)

        return write(derived) if self._blobs is None else self._blobs.store_anew(derived, write)

    def list_known(
        self, scope: Scope, origin: str | None = None, *, key: str | None = None
    ) -> Iterator[KnownSession]:
        """Yield what is known of the files of all sessions, of those of a machine, or of one, by their keys."""
        query, values = _KNOWN, dict[str, object](owner=scope.owner)
        if origin is not None:
            query, values = (
                f"{query} AND e.origin IN @@blobs(:origins)",
                {**values, "origins": [pack_text(origin)]},
            )
        if key is not None:
            query, values = f"{query} AND e.key IN @@texts(:keys)", {**values, "keys": [key]}

        def work(connection: Connection) -> list[KnownSession]:
            rows = connection.execute(f"{query} ORDER BY e.key, s.source", values)
            return [_unpack_session(*group) for group in groupby(rows, itemgetter(0, 1, 2, 3, 4, 5))]

        yield from self._database.read(work, scope)

    def find_present(self, scope: Scope, origin: str) -> PresentFiles:
        """Return which files of a machine, or of none that is known, were there when they were last seen."""
        origins = {b"", pack_text(origin)}

        def work(connection: Connection) -> PresentFiles:
            rows = connection.execute(_PRESENT, (scope.owner,))
            files = {
                unpack_text(path): PresentFile(key, decode_checkpoint(checkpoint))
                for path, is_present, key, machine, _, checkpoint in rows
                if is_present and machine in origins
            }
            return PresentFiles(files, min((row[4] for row in rows), default=None))

        return self._database.read(work, scope)

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
        """Return a page of sessions: the first, or the one that begins where another one ended."""
        return self._ask(lists.list_sessions, scope, asked, order, limit, cursor, grouped, summaries)

    def list_projects(
        self, scope: Scope, *, text: str | None = None, order: ProjectOrder = ProjectOrder.NEWEST
    ) -> list[StoredProject]:
        """Return all projects, or those with a text in their paths."""
        return sort_projects(self._ask(lists.list_projects, scope, text), order)

    def list_facets(self, scope: Scope, asked: SessionFilter = EVERYTHING_SHOWN) -> Facets:
        """Return what the sessions that are asked for can be told apart by."""
        return self._ask(lists.list_facets, scope, asked)

    def mark(self, scope: Scope, keys: Sequence[str], change: MarkChange) -> list[MarkedSession]:
        """Change the marks of sessions, and return those that are not as they were."""
        return self._change(people.mark_sessions, scope, keys, change)

    def undo_mark(self, scope: Scope) -> list[MarkedSession]:
        """Take back the last call of `mark` that still stands, and return the sessions that it changed."""
        return self._change(people.undo_marks, scope)

    def read_usage(self, scope: Scope) -> StoredUsage:
        """Return what sessions used and cost, each answer once, whichever of them came first."""
        kept = CatalogueUsage(self._database, self._segments, scope, self._engine.sum_cells)
        if scope.viewer is not None and scope.viewer.session is not None:
            # Who sees a session by its key sees less than the answers were elected among.
            return RecountedUsage(self, scope, version_of=kept.find_version)
        return kept

    def read_feed(self, scope: Scope, after: int | None = None, limit: int = 1000) -> Feed:
        """Return the feed's name, how far it goes, and its entries behind one."""
        return self._ask(read_feed, scope, after, limit)

    def listen(self) -> ChangeListener | None:
        """Return what tells of changes whoever writes them; None where one has to look for them."""
        return self._engine.listen()

    def search(
        self,
        scope: Scope,
        query: Query,
        *,
        order: SearchOrder = SearchOrder.NEWEST,
        limit: int = 20,
        cursor: str | None = None,
        cancelled: Cancelled | None = None,
    ) -> SearchPage:
        """Return a page of the passages that match, each once, of the newest generation of each file."""

        def work(connection: Connection) -> SearchPage:
            lines = LineReader(self._archive, connection, scope)
            rows = CatalogueTextRows(connection, scope, self._segments, lines)
            return search_texts(
                self._index,
                connection,
                rows,
                lines.read,
                scope,
                query,
                order=order,
                limit=limit,
                cursor=cursor,
                cancelled=cancelled,
            )

        return self._database.read(work, scope)

    @contextmanager
    def open_session(self, scope: Scope, key: str, *, hooks: str | None = None) -> Iterator[SessionActions]:
        """Return all that is kept of one session, as it is now; it stays so until it is closed."""
        with self._database.reading(scope) as connection:
            # Lists and hits are asked of all sessions, and need nothing of what is asked about one.
            actions = import_module("turnlog.transcripts.queries.sessions").SessionActions
            yield actions(CatalogueSession(connection, self._archive, self._segments, scope, key, hooks))

    def maintain(
        self, work: Maintenance = Maintenance.SETTLE, between: Callable[[], object] = lambda: None
    ) -> bool:
        """Put in order what much writing left behind, or make something anew."""
        if work is Maintenance.RECOUNT:
            self._write(lambda _, usage: usage.recount())
        elif work is Maintenance.CLEAR_TEXTS:
            self._database.write(self._clear_texts)
        elif work is Maintenance.MOVE:
            if self._blobs is not None:
                self._blobs.move(between)
                self._blobs.collect()
        elif work is Maintenance.PURGE:
            return self._engine.purge()
        elif work is Maintenance.REFILL or work is Maintenance.TAKE_OVER:
            remote, anew = self._engine.remote, work is Maintenance.TAKE_OVER
            if remote is None:
                raise StoreError("This archive has its index itself")
            self._database.write(lambda connection: remote.refill(connection, anew=anew))
        elif work is Maintenance.FILL:
            return self._fill(between)
        else:
            self._fill(between)
            is_new = False
            while (piece := self._database.write(self._index.settle)) is not None:
                is_new = piece
                between()
            words = self._database.read(self._index.read_words)
            if words is not None:
                self._database.write(lambda connection: self._index.write_words(connection, words))
            self._engine.settle(is_new=is_new)
        return True

    def _fill(self, between: Callable[[], object]) -> bool:
        try:
            while self._engine.remote is not None and self._database.write(self._engine.remote.fill):
                between()
        except LostStoreError:  # of which the index has told
            return False
        return True

    def close(self) -> None:
        """Let go of the store, whatever other threads ask it just now; again does nothing."""
        self._database.close()

    def save_machine(
        self,
        scope: Scope,
        origin: str,
        *,
        person: str | None = None,
        host: str = "",
        user: str = "",
        at_ns: int | None = None,
        reassign: bool = False,
    ) -> Machine:
        """Remember that something came from a machine, and whose it is; or say whose, whoever had it."""

        def work(connection: Connection, usage: UsageKeeper) -> Machine:
            people.save_machine(
                connection,
                scope.owner,
                origin,
                usage.affect,
                person=person,
                host=host,
                account=user,
                at_ns=time_ns() if at_ns is None else at_ns,
                reassign=reassign,
            )
            found = people.list_machines(connection, Scope(scope.owner))
            return next(machine for machine in found if machine.origin == origin)

        machine = self._write(work)
        if scope.viewer is None:
            return machine
        return next((each for each in self.list_machines(scope) if each.origin == origin), machine)

    def list_machines(self, scope: Scope) -> list[Machine]:
        """Return machines by host, user and origin."""
        return self._ask(people.list_machines, scope)

    def list_access(self, scope: Scope, keys: Collection[str] | None = None) -> list[SessionAccess]:
        """Return who may see sessions: of all, or of some by their keys."""
        return self._ask(people.list_access, scope, keys)

    def set_visibility(
        self, scope: Scope, keys: Sequence[str], chosen: Visibility | None
    ) -> list[SessionAccess]:
        """Say who sees sessions, and return those of which it was not so before."""
        return self._write(
            lambda connection, usage: people.set_visibility(connection, scope, keys, chosen, usage.affect)
        )

    def list_rules(self, scope: Scope) -> list[ProjectRule]:
        """Return the rules for projects, by pattern; everybody may know them."""
        return self._ask(people.list_rules, scope)

    def set_rule(
        self, scope: Scope, pattern: str, visibility: Visibility | None, *, dry_run: bool = False
    ) -> int:
        """Set or (with None) remove a rule, and return how many sessions others see, or don't, by that."""
        whole = Scope(scope.owner)
        if dry_run:
            return self._database.read(
                lambda connection: people.preview_rule(connection, whole, pattern, visibility)
            )
        return self._write(
            lambda connection, usage: people.set_rule(connection, whole, pattern, visibility, usage.affect)
        )

    def check_texts(self, scope: Scope, source: str, generation: int, texts: Iterable[TextFact]) -> list[str]:
        """Return how what is searched of a generation differs from what it should be."""
        query = """
        SELECT g.id FROM sources AS s JOIN generations AS g ON g.source = s.id
        WHERE s.owner = ? AND s.source = ? AND g.generation = ?
        """

        def work(connection: Connection) -> list[str]:
            rows = connection.execute(query, (scope.owner, source, generation))
            return self._index.check(connection, rows[0][0] if rows else -1, texts)

        return self._database.read(work)

    def repair_bytes(
        self, scope: Scope, source: str, generation: int, find: Callable[[int, int], bytes | None]
    ) -> int:
        """Put bytes back in the place of damaged ones that had the same digest; return how many frames."""
        repaired = self._change(repair_frames, scope, source, generation, find)
        if repaired and self._blobs is not None:
            self._blobs.move_some([source], is_new=True)
        return repaired

    def list_flaws(self, scope: Scope) -> list[Flaw]:
        """Return where the store contradicts itself."""
        found = self._engine.list_flaws()
        try:
            return [*found, *self._database.read(lambda each: list_flaws(each, scope))]
        except StoreError:
            if not found:
                raise
            return found  # it is too damaged to be asked for more

    def forget(self, scope: Scope, keys: Sequence[str], *, dry_run: bool = False) -> Forgotten:
        """Delete sessions for good, and leave tombstones."""
        if dry_run:
            return self._database.read(lambda connection: deletion.count_forgotten(connection, scope, keys))
        return self._engine.forget(
            lambda: self._write(
                lambda connection, usage: deletion.forget_sessions(connection, self._index, scope, keys, usage)
            )
        )

    def delete_tombstones(self, scope: Scope, keys: Sequence[str]) -> int:
        """Let sessions be kept again, and return how many."""
        return self._change(deletion.delete_tombstones, scope, keys)

    def list_tombstones(self, scope: Scope) -> list[Tombstone]:
        """Return what was forgotten, by time."""
        return self._ask(deletion.list_tombstones, scope)

    def back_up(self, target: Path, *, force: bool = False, on_progress: OnProgress | None = None) -> Backup:
        """Write a copy of one state of the store to a file, check it, and remember it."""
        return self._engine.back_up(target, force=force, on_progress=on_progress)

    def list_backups(self) -> list[Backup]:
        """Return the copies that were made, by time."""
        return self._engine.list_backups()

    def add_deliveries(self, scope: Scope, deliveries: Sequence[HookDelivery]) -> int:
        """Keep what hooks were given, each delivery once, and return how many are new."""
        added = self._database.write(
            lambda connection: hooks.add_deliveries(connection, self._index, scope, deliveries),
            is_repeatable=True,
        )
        self._engine.flush()
        return added

    def list_deliveries(self, scope: Scope, which: DeliveryFilter = EVERY_DELIVERY) -> list[HookDelivery]:
        """Return deliveries, by time."""
        return self._ask(hooks.list_deliveries, scope, which)

    def count_deliveries(self, scope: Scope, session_id: str | None = None) -> int:
        """Return how many deliveries there are of a session, or of all."""
        return self._ask(hooks.count_deliveries, scope, session_id)

    def list_hook_sessions(self, scope: Scope, since_ns: int, count: int = 200) -> list[str]:
        """Return the ids of the sessions that hooks told of at a time or later, the latest first."""
        return self._ask(hooks.list_hook_sessions, scope, since_ns, count)

    def _ask(self, work: Callable[[Connection, Scope, *Given], T], scope: Scope, *given: *Given) -> T:
        """Read what a scope may see."""
        return self._database.read(lambda connection: work(connection, scope, *given), scope)

    def _change(self, work: Callable[[Connection, Scope, *Given], T], scope: Scope, *given: *Given) -> T:
        """Write what no answers follow from."""
        return self._database.write(lambda connection: work(connection, scope, *given))

    def _write(self, work: Callable[[Connection, UsageKeeper], T], *, is_repeatable: bool = False) -> T:
        """Write what answers may follow from, which are counted at the end."""

        def whole(connection: Connection) -> T:
            usage = UsageKeeper(connection, self._segments, self._charger, self._engine.note_usage)
            done = work(connection, usage)
            if usage.is_stale:
                lock_feed(connection)
                usage.settle()
            return done

        try:
            return self._database.write(whole, is_repeatable=is_repeatable)
        except BaseException:
            self._segments.clear()  # some may have been rolled back
            raise

    def _build_writer(self, connection: Connection, usage: UsageKeeper) -> Writer:
        return Writer(connection, self._archive, self._index, usage)

    def _clear_texts(self, connection: Connection) -> None:
        self._index.clear(connection)
        hooks.index_deliveries(connection, self._index)


def _unpack_session(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> KnownSession:
    key, revision, session_id, folder, derivation, machine = head
    return KnownSession(
        key=key,
        revision=revision,
        session_id=unpack_text(session_id),
        project_folder=unpack_text(folder),
        derivation=derivation,
        sources=tuple(map(_unpack_known, rows)),
        origin=unpack_text(machine),
    )


def _unpack_known(cells: Sequence[Any]) -> KnownSource:
    (
        source, kind, path, present, generation, length, consumed, in_array, lines, checkpoint, agent_id,
        run_id, copied_from,
    ) = cells[6:]  # fmt: skip
    return KnownSource(
        source=source, kind=SourceKind(kind), path=unpack_text(path), present=bool(present),
        generation=generation, length=length, consumed=consumed, in_array=bool(in_array), lines=lines,
        checkpoint=decode_checkpoint(checkpoint), agent_id=unpack_text(agent_id), run_id=unpack_text(run_id),
        copied_from=copied_from,
    )  # fmt: skip

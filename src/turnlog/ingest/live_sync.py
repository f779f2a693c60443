"""Following sessions: a full sync, and then each session as it changes.

Only the target of a change is scanned, and only what the store knows of that is compared. From time to time
everything is, since systems lose notices. What changed is due at once, but not sooner after its last scan than
`GAP`; what changes meanwhile is due when that has passed, so the last change is never missed. After each scan
there is a rest of twice its time, in which changes gather: a storm of writes takes about a third of a core.
What fails is reported and tried again, each time after twice as long; the others go on. Nothing counts as gone
in the moment it is missed: files are moved and replaced in two steps.

What the store knows is kept in memory, and so are the sessions that are being written to. Only the one writer
may rely on either.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from turnlog.errors import NewerStoreError
from turnlog.ingest.change_check import SyncReport, find_transcript
from turnlog.ingest.lease import SyncAnswer, SyncRequest, answer_requests
from turnlog.ingest.machine import Exclusion, save_machine_name
from turnlog.ingest.pipeline import OnProgress, sync
from turnlog.ingest.session_scan import SessionCache
from turnlog.ingest.sync_plan import KnownSessions
from turnlog.ingest.watchers import Watcher, find_target, is_transcript, locate_target
from turnlog.store.interface import KnownSession, Store
from turnlog.store.model import LOCAL, Scope, StorePlace, home_of
from turnlog.transcripts.session_files import SessionFiles, locate_path, locate_sessions

GAP = 0.05
LATER = 1.0
"""After how many seconds to look again at what may not have been all there, or only seemed to be gone."""
_LONGEST = 300.0


class Schedule:
    """What is due, and when. Times are those of one steady clock."""

    def __init__(self) -> None:
        self._due: dict[Path, float] = {}
        self._again: dict[Path, float] = {}
        self._looked: dict[Path, float] = {}
        self._failures: dict[Path, int] = {}

    def add(self, target: Path, now: float) -> None:
        """Note that something changed; what waits because it failed goes on waiting."""
        self._due.setdefault(target, max(now, self._looked.get(target, now - GAP) + GAP))

    def add_later(self, target: Path, now: float) -> None:
        """Note that something should be looked at once more."""
        self._again[target] = now + LATER

    def fail(self, target: Path, now: float) -> float:
        """Note that a scan failed, and return how long it will be until the next."""
        failures = self._failures[target] = self._failures.get(target, 0) + 1
        pause: float = min(2.0 ** (failures - 1), _LONGEST)
        self._due[target] = now + pause
        return pause

    def succeed(self, target: Path) -> None:
        """Note that a scan did not fail."""
        self._failures.pop(target, None)

    def take(self, now: float) -> list[Path]:
        """Return what is due, as being looked at now."""
        ready = {path for due in (self._due, self._again) for path, when in due.items() if when <= now}
        for path in ready:
            self._due.pop(path, None)
            if self._again.get(path, now + 1) <= now:
                del self._again[path]
        self._looked = {path: when for path, when in self._looked.items() if now - when < GAP}
        self._looked.update(dict.fromkeys(ready, now))
        return sorted(ready)

    def find_next(self) -> float | None:
        """Return when something is due; None if nothing is."""
        return min((*self._due.values(), *self._again.values()), default=None)


class Syncer:
    """Syncs one store with the sessions of some config dirs, as often as it is asked to."""

    def __init__(
        self,
        store: Store,
        place: StorePlace,
        config_dirs: tuple[Path, ...],
        *,
        origin: str,
        exclusion: Exclusion,
        scope: Scope,
        forgotten: Callable[[], Collection[str]],
        on_progress: OnProgress,
    ) -> None:
        """Take whose sessions are kept where; `on_progress` may raise to stop in between."""
        self.known = KnownSessions(store, scope, origin)
        self._store = store
        self._place = place
        self._config_dirs = config_dirs
        self._origin = origin
        self._exclusion = exclusion
        self._scope = scope
        self._forgotten = forgotten
        self._on_progress = on_progress
        self._cache = SessionCache()

    def drop_idle(self) -> None:
        """Drop idle sessions from memory."""
        self._cache.drop_idle()

    def locate(self) -> list[SessionFiles]:
        """Return all sessions that there are outside."""
        return self.filter_excluded(locate_sessions(self._list_there()).sessions)

    def filter_excluded(self, sessions: Iterable[SessionFiles]) -> list[SessionFiles]:
        """Return those sessions that may be kept."""
        return [files for files in sessions if not self._exclusion.excludes(files)]

    def sync_all(self, sessions: Iterable[SessionFiles], attend: OnProgress) -> SyncReport:
        """Look at everything: `sessions` are all there are; `attend` may look at some in between."""
        go_on = self._attending(attend)
        report = self._sync(sessions, self._list_there(), on_progress=go_on)
        save_machine_name(self._store, self._origin, self._scope)
        # What came line by line since the last time may be much by now.
        self._store.maintain(between=lambda: go_on(report.bytes, report.bytes))
        self.known.load()
        return report

    def sync_requested(self, paths: list[Path], attend: OnProgress) -> SyncReport:
        """Look at what somebody else asks for; without any paths, at everything. `attend` as in `sync_all`."""
        within = [path for path in paths or self._config_dirs if path.is_dir()]
        located = [locate_path(path) for path in paths] or [locate_sessions(within)]
        sessions = self.filter_excluded(files for one in located for files in one.sessions)
        try:
            return self._sync(sessions, within, on_progress=self._attending(attend))
        finally:
            self.known.load()

    def sync_some(self, targets: Mapping[Path, Iterable[SessionFiles]], within: Iterable[Path]) -> SyncReport:
        """Look at the sessions that are targets of changes; only what is known of those is compared."""
        sessions = {self.known.name(files): files for found in targets.values() for files in found}
        known: dict[str, KnownSession] = {}
        for files in sessions.values():
            known.update((session.key, session) for session in self.known.find(files))
        for target in targets:
            known.update((session.key, session) for session in self.known.find_present(target))
        try:
            return self._sync(sessions.values(), within, known=known.values())
        finally:
            self.known.refresh(known.keys() | sessions.keys())

    def _attending(self, attend: OnProgress) -> OnProgress:
        def go_on(done: int, total: int) -> None:
            self._on_progress(done, total)
            attend(done, total)

        return go_on

    def _list_there(self) -> list[Path]:
        return [path for path in self._config_dirs if path.is_dir()]

    def _sync(
        self,
        sessions: Iterable[SessionFiles],
        within: Iterable[Path],
        *,
        known: Iterable[KnownSession] | None = None,
        on_progress: OnProgress | None = None,
    ) -> SyncReport:
        forgotten = self._forgotten()
        self._cache.drop(forgotten)
        return sync(
            self._store,
            self._place,
            sessions,
            origin=self._origin,
            within=within,
            scope=self._scope,
            known=known,
            forgotten=forgotten,
            on_progress=on_progress or self._on_progress,
            cache=self._cache,
        )


FULL_SECONDS = 600.0
"""How often everything is looked at."""
_REST = 2.0
_LONGEST_REST = 2.0
_RETRY_SECONDS = 60.0
"""How soon that is tried again if it failed."""
_ENOUGH = 10
"""After so many failures in a row it is the store that is at fault, not a session."""
_NOTHING = Exclusion()
_ATTENTION = 0.5
"""How long others wait at most until what they ask for is noticed."""


class Occasion(StrEnum):
    """Why sessions were synced."""

    START = "start"
    CHANGE = "change"
    CHECK = "check"
    """Everything, from time to time, or because a folder came or went."""


class SyncEvent(Struct, frozen=True, gc=False, kw_only=True):
    """What a sync gave."""

    occasion: Occasion
    paths: tuple[Path, ...] = ()
    """The transcripts, there or not, and the folders that were looked at; none if it was everything."""
    report: SyncReport | None = None
    """None if it failed."""
    reason: str = ""
    """Why it failed."""
    again_in: float = 0.0
    """How many seconds until it is tried again."""


OnReport = Callable[[SyncEvent], None]


class _StoppedError(Exception):
    """It is time to stop, in the middle of a sync."""


def follow(
    store: Store,
    place: StorePlace,
    config_dirs: Iterable[Path],
    *,
    origin: str,
    watcher: Watcher,
    on_report: OnReport,
    on_progress: OnProgress | None = None,
    exclusion: Exclusion = _NOTHING,
    scope: Scope = LOCAL,
    forgotten: Callable[[], Collection[str]] = tuple,
    full_seconds: float = FULL_SECONDS,
) -> None:
    """Bring the store up to date, and keep it so until the watcher is stopped.

    The watcher must watch the roots of the config dirs (`transcripts.list_roots`). Each sync is reported when
    it is done, those that found nothing new left out. What was `forgotten` meanwhile is asked each time. Raises
    `NewerStoreError`.
    """

    def check_stop(done: int, total: int) -> None:
        if watcher.stopped:
            raise _StoppedError

    syncer = Syncer(
        store,
        place,
        tuple(config_dirs),
        origin=origin,
        exclusion=exclusion,
        scope=scope,
        forgotten=forgotten,
        on_progress=check_stop,
    )
    try:
        _Follower(place, syncer, watcher, on_report).run(full_seconds, on_progress)
    except _StoppedError:
        return


class _Follower:
    def __init__(self, place: StorePlace, syncer: Syncer, watcher: Watcher, on_report: OnReport) -> None:
        self._place = place
        self._syncer = syncer
        self._known = syncer.known
        self._watcher = watcher
        self._on_report = on_report
        self._schedule = Schedule()
        self._rested = 0.0
        """Until when there is a rest."""
        self._missed: set[Path] = set()
        """What was gone at the last look, and may come again."""
        self._is_all_due = False
        """Whether a folder came or went while everything was looked at."""
        self._held: list[SyncEvent] | None = None
        """While everything is looked at: what is to be reported behind that."""

    def run(self, full_seconds: float, on_progress: OnProgress | None) -> None:
        with self._watcher:
            done = self._sync_all(Occasion.START, on_progress)
            next_full = time.monotonic() + (full_seconds if done else min(full_seconds, _RETRY_SECONDS))
            while not self._watcher.stopped:
                due = min(next_full, max(self._schedule.find_next() or next_full, self._rested))
                changed = self._watcher.wait(max(min(due - time.monotonic(), _ATTENTION), 0.0))
                # Noted first: what is asked for may take long, and what has changed is attended to meanwhile.
                self._is_all_due = self._note(changed) or self._is_all_due
                answer_requests(home_of(self._place), self._serve)
                if self._is_all_due or time.monotonic() >= next_full:
                    done = self._sync_all(Occasion.CHECK)
                    next_full = time.monotonic() + (full_seconds if done else min(full_seconds, _RETRY_SECONDS))
                if time.monotonic() >= self._rested:
                    self._sync_due()

    def _serve(self, request: SyncRequest) -> SyncAnswer:
        """Do what another process asks for, which must not write itself."""
        try:
            paths = [Path(path) for path in request.paths]
            return SyncAnswer(self._syncer.sync_requested(paths, self._attend))
        except (_StoppedError, NewerStoreError):
            raise
        except Exception as error:  # noqa: BLE001  whoever asked is reported, and everything else goes on
            return SyncAnswer(reason=_explain(error))

    def _sync_due(self) -> None:
        started = time.monotonic()
        self._look(self._schedule.take(started))
        now = time.monotonic()
        self._rested = now + min(_REST * (now - started), _LONGEST_REST)
        self._syncer.drop_idle()

    def _note(self, changed: set[Path]) -> bool:
        """Note what is to be looked at; tell whether it is everything."""
        now = time.monotonic()
        everything = False
        for path in changed:
            target = find_target(path, self._watcher.roots, self._known.homes)
            if target in self._watcher.roots:
                everything = True
            elif target is not None:
                self._schedule.add(target, now)
                if not is_transcript(path) and path.is_dir():
                    # What was put into a new folder before the system watched it was not told.
                    self._schedule.add_later(target, now)
        return everything

    def _look(self, targets: list[Path]) -> None:
        located = {target: self._syncer.filter_excluded(locate_target(target)) for target in targets}
        ready = {target: sessions for target, sessions in located.items() if not self._misses(target, sessions)}
        if not ready:
            return
        try:
            report = self._sync(ready)
        except (_StoppedError, NewerStoreError):
            raise
        except Exception as error:  # noqa: BLE001  whatever is wrong with one session, the others go on
            if len(ready) == 1:
                self._fail(next(iter(ready)), error)
                return
            for target, sessions in ready.items():
                self._look_at_one(target, sessions)
        else:
            self._report_change(Occasion.CHANGE, report, tuple(ready))

    def _look_at_one(self, target: Path, sessions: list[SessionFiles]) -> bool:
        try:
            report = self._sync({target: sessions})
        except (_StoppedError, NewerStoreError):
            raise
        except Exception as error:  # noqa: BLE001  as above
            self._fail(target, error)
            return False
        self._report_change(Occasion.CHANGE, report, (target,))
        return True

    def _sync(self, ready: dict[Path, list[SessionFiles]]) -> SyncReport:
        report = self._syncer.sync_some(ready, self._watcher.roots)
        for target in ready:
            self._schedule.succeed(target)
        return report

    def _fail(self, target: Path, error: Exception) -> None:
        again_in = self._schedule.fail(target, time.monotonic())
        failed = SyncEvent(occasion=Occasion.CHANGE, paths=(target,), reason=_explain(error), again_in=again_in)
        self._report(failed)

    def _misses(self, target: Path, sessions: list[SessionFiles]) -> bool:
        """Tell whether something is gone for the first time: then it is looked at again a little later."""
        if is_transcript(target):
            gone = self._known.has_present(target) and not any(files.path == target for files in sessions)
        else:
            gone = not target.is_dir() and bool(self._known.find_present(target))
        if gone and target not in self._missed:
            self._missed.add(target)
            self._schedule.add_later(target, time.monotonic())
            return True
        self._missed.discard(target)
        return False

    def _sync_all(self, occasion: Occasion, on_progress: OnProgress | None = None) -> bool:
        """Look at everything; tell whether that went well."""
        sessions = self._syncer.locate()
        self._is_all_due, self._held = False, []

        def attend(done: int, total: int) -> None:
            if on_progress is not None:
                on_progress(done, total)
            self._attend(done, total)

        try:
            report = self._syncer.sync_all(sessions, attend)
        except (_StoppedError, NewerStoreError):
            raise
        except Exception as error:  # noqa: BLE001  one by one it will be seen which of them it was
            held = self._take_held()
            self._report(SyncEvent(occasion=occasion, reason=_explain(error), again_in=_RETRY_SECONDS))
            self._sync_each(sessions)
            done = False
        else:
            held = self._take_held()
            self._report_change(occasion, report)
            done = True
        for followed in held:
            self._report(followed)
        return done

    def _attend(self, done: int, total: int) -> None:
        """Look at what is being written to, between two pieces of something longer."""
        changed = self._watcher.wait(0.0)
        if changed and not self._known.is_loaded:
            self._known.load()
        self._is_all_due = self._note(changed) or self._is_all_due
        if time.monotonic() >= self._rested:
            self._sync_due()

    def _take_held(self) -> list[SyncEvent]:
        held, self._held = self._held or [], None
        return held

    def _sync_each(self, sessions: list[SessionFiles]) -> None:
        failures = 0
        self._known.load()
        for files in sessions:
            done = self._look_at_one(Path(find_transcript(files)), [files])
            failures = 0 if done else failures + 1
            if failures == _ENOUGH:
                return

    def _report_change(self, occasion: Occasion, report: SyncReport, paths: tuple[Path, ...] = ()) -> None:
        if occasion is Occasion.START or report.added or report.changed or report.gone or report.rederived:
            self._report(SyncEvent(occasion=occasion, paths=paths, report=report))

    def _report(self, followed: SyncEvent) -> None:
        if self._held is None:
            self._on_report(followed)
        else:
            self._held.append(followed)


def _explain(error: Exception) -> str:
    return str(error) or type(error).__name__

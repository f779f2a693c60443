"""Keeping up all the time: a full sync, and then each session as it changes.

Only what a change concerns is looked at, and only what the store knows of that is compared. From time to time
everything is, since systems lose notices. After each look there is a rest of twice its time, in which changes
gather: a storm of writes takes about a third of a core. What fails is told and tried again, ever less often;
the others go on. Nothing counts as gone in the moment it is missed: files are moved and replaced in two
steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from turnlog.errors import NewerStoreError
from turnlog.ingest.acquaintance import Acquaintance
from turnlog.ingest.agenda import Agenda
from turnlog.ingest.concerns import find_concern, is_transcript, locate_concern
from turnlog.ingest.exclusion import Exclusion
from turnlog.ingest.handover import Answer, Request, answer_requests
from turnlog.ingest.kinds import find_transcript
from turnlog.ingest.pipeline import OnProgress, SyncReport, sync
from turnlog.ingest.watcher import Watcher
from turnlog.store.identity import LOCAL, Scope
from turnlog.store.interface import KnownSession, Store
from turnlog.transcripts.files.locate import locate_path, locate_sessions
from turnlog.transcripts.files.session_files import SessionFiles

__all__ = ["FULL_SECONDS", "Followed", "Occasion", "OnReport", "follow"]

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
    """Why sessions were looked at."""

    START = "start"
    CHANGE = "change"
    CHECK = "check"
    """Everything, from time to time, or because a folder came or went."""


class Followed(Struct, frozen=True, gc=False, kw_only=True):
    """What a look gave."""

    occasion: Occasion
    paths: tuple[Path, ...] = ()
    """The transcripts, there or not, and the folders that were looked at; none if it was everything."""
    report: SyncReport | None = None
    """None if it failed."""
    reason: str = ""
    """Why it failed."""
    again_in: float = 0.0
    """How many seconds until it is tried again."""


OnReport = Callable[[Followed], None]


class _StoppedError(Exception):
    """It is time to stop, in the middle of a sync."""


def follow(
    store: Store,
    place: Path,
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

    The watcher must watch the roots of the config dirs (`transcripts.list_roots`). Each look is reported when
    it is done, those that found nothing new left out. What was `forgotten` meanwhile is asked each time. Raises
    `NewerStoreError`.
    """
    follower = _Follower(
        store, place, tuple(config_dirs), origin, watcher, on_report, exclusion, scope, forgotten
    )
    try:
        follower.run(full_seconds, on_progress)
    except _StoppedError:
        return


class _Follower:
    def __init__(
        self,
        store: Store,
        place: Path,
        config_dirs: tuple[Path, ...],
        origin: str,
        watcher: Watcher,
        on_report: OnReport,
        exclusion: Exclusion,
        scope: Scope,
        forgotten: Callable[[], Collection[str]],
    ) -> None:
        self._store = store
        self._place = place
        self._config_dirs = config_dirs
        self._origin = origin
        self._watcher = watcher
        self._on_report = on_report
        self._exclusion = exclusion
        self._scope = scope
        self._forgotten = forgotten
        self._agenda = Agenda()
        self._known = Acquaintance(store, scope, origin)
        self._rested = 0.0
        """Until when there is a rest."""
        self._missed: set[Path] = set()
        """What was gone at the last look, and may come again."""

    def run(self, full_seconds: float, on_progress: OnProgress | None) -> None:
        # What changes during the first sync is told by the watcher after it.
        with self._watcher:
            done = self._sync_all(Occasion.START, on_progress)
            next_full = time.monotonic() + (full_seconds if done else min(full_seconds, _RETRY_SECONDS))
            while not self._watcher.stopped:
                due = min(next_full, max(self._agenda.find_next() or next_full, self._rested))
                changed = self._watcher.wait(max(min(due - time.monotonic(), _ATTENTION), 0.0))
                answer_requests(self._place.parent, self._serve)
                if self._note(changed) or time.monotonic() >= next_full:
                    done = self._sync_all(Occasion.CHECK)
                    next_full = time.monotonic() + (full_seconds if done else min(full_seconds, _RETRY_SECONDS))
                if time.monotonic() >= self._rested:
                    self._look_and_rest()

    def _serve(self, request: Request) -> Answer:
        """Do what another process asks for, which must not write itself."""
        paths = [Path(path) for path in request.paths]
        within = [path for path in paths or self._config_dirs if path.is_dir()]
        located = [locate_path(path) for path in paths] or [locate_sessions(within)]
        found = [files for one in located for files in one.sessions if not self._exclusion.excludes(files)]
        try:
            report = sync(
                self._store,
                self._place,
                found,
                origin=self._origin,
                within=within,
                scope=self._scope,
                forgotten=self._forgotten(),
                on_progress=self._check_stop,
            )
        except (_StoppedError, NewerStoreError):
            raise
        except Exception as error:  # noqa: BLE001  whoever asked is told, and everything else goes on
            return Answer(reason=str(error) or type(error).__name__)
        finally:
            self._known.load()
        return Answer(report)

    def _look_and_rest(self) -> None:
        started = time.monotonic()
        self._look(self._agenda.take(started))
        now = time.monotonic()
        self._rested = now + min(_REST * (now - started), _LONGEST_REST)

    def _note(self, changed: set[Path]) -> bool:
        """Note what is to be looked at; tell whether it is everything."""
        now = time.monotonic()
        everything = False
        for path in changed:
            concern = find_concern(path, self._watcher.roots, self._known.homes)
            if concern in self._watcher.roots:
                everything = True
            elif concern is not None:
                self._agenda.add(concern, now)
                if not is_transcript(path) and path.is_dir():
                    # What was put into a new folder before the system watched it was not told.
                    self._agenda.add_later(concern, now)
        return everything

    def _look(self, concerns: list[Path]) -> None:
        located = {concern: self._locate(concern) for concern in concerns}
        ready = {
            concern: sessions for concern, sessions in located.items() if not self._misses(concern, sessions)
        }
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
            for concern, sessions in ready.items():
                self._look_at_one(concern, sessions)
        else:
            self._tell(Occasion.CHANGE, report, tuple(ready))

    def _look_at_one(self, concern: Path, sessions: tuple[SessionFiles, ...]) -> bool:
        try:
            report = self._sync({concern: sessions})
        except (_StoppedError, NewerStoreError):
            raise
        except Exception as error:  # noqa: BLE001  as above
            self._fail(concern, error)
            return False
        self._tell(Occasion.CHANGE, report, (concern,))
        return True

    def _fail(self, concern: Path, error: Exception) -> None:
        reason = str(error) or type(error).__name__
        again_in = self._agenda.fail(concern, time.monotonic())
        self._on_report(Followed(occasion=Occasion.CHANGE, paths=(concern,), reason=reason, again_in=again_in))

    def _locate(self, concern: Path) -> tuple[SessionFiles, ...]:
        return tuple(files for files in locate_concern(concern) if not self._exclusion.excludes(files))

    def _misses(self, concern: Path, sessions: tuple[SessionFiles, ...]) -> bool:
        """Tell whether something is gone for the first time: then it is looked at again a little later."""
        if is_transcript(concern):
            gone = self._known.has_present(concern) and not any(files.path == concern for files in sessions)
        else:
            gone = not concern.is_dir() and bool(self._known.find_present(concern))
        if gone and concern not in self._missed:
            self._missed.add(concern)
            self._agenda.add_later(concern, time.monotonic())
            return True
        self._missed.discard(concern)
        return False

    def _sync(self, ready: dict[Path, tuple[SessionFiles, ...]]) -> SyncReport:
        sessions = {self._known.name(files): files for found in ready.values() for files in found}
        known: dict[str, KnownSession] = {}
        for files in sessions.values():
            known.update((session.key, session) for session in self._known.find(files))
        for concern in ready:
            known.update((session.key, session) for session in self._known.find_present(concern))
        try:
            report = sync(
                self._store,
                self._place,
                sessions.values(),
                origin=self._origin,
                within=self._watcher.roots,
                scope=self._scope,
                known=known.values(),
                forgotten=self._forgotten(),
                on_progress=self._check_stop,
            )
        finally:
            self._known.refresh(known.keys() | sessions.keys())
        for concern in ready:
            self._agenda.succeed(concern)
        return report

    def _sync_all(self, occasion: Occasion, on_progress: OnProgress | None = None) -> bool:
        """Look at everything; tell whether that went well."""

        def go_on(done: int, total: int) -> None:
            self._check_stop(done, total)
            if on_progress is not None:
                on_progress(done, total)

        there = [path for path in self._config_dirs if path.is_dir()]
        sessions = [f for f in locate_sessions(there).sessions if not self._exclusion.excludes(f)]
        try:
            report = sync(
                self._store,
                self._place,
                sessions,
                origin=self._origin,
                within=there,
                scope=self._scope,
                forgotten=self._forgotten(),
                on_progress=go_on,
            )
        except (_StoppedError, NewerStoreError):
            raise
        except Exception as error:  # noqa: BLE001  one by one it will be seen which of them it was
            self._on_report(
                Followed(occasion=occasion, reason=str(error) or type(error).__name__, again_in=_RETRY_SECONDS)
            )
            self._sync_each(sessions)
            return False
        self._known.load()
        self._tell(occasion, report)
        return True

    def _sync_each(self, sessions: list[SessionFiles]) -> None:
        failures = 0
        self._known.load()
        for files in sessions:
            done = self._look_at_one(Path(find_transcript(files)), (files,))
            failures = 0 if done else failures + 1
            if failures == _ENOUGH:
                return

    def _tell(self, occasion: Occasion, report: SyncReport, paths: tuple[Path, ...] = ()) -> None:
        if occasion is Occasion.START or report.added or report.changed or report.gone:
            self._on_report(Followed(occasion=occasion, paths=paths, report=report))

    def _check_stop(self, done: int, total: int) -> None:
        if self._watcher.stopped:
            raise _StoppedError

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
from turnlog.ingest.agenda import Agenda
from turnlog.ingest.catching_up import CatchingUp
from turnlog.ingest.concerns import find_concern, is_transcript, locate_concern
from turnlog.ingest.exclusion import Exclusion
from turnlog.ingest.glance import SyncReport
from turnlog.ingest.handover import Answer, Request, answer_requests
from turnlog.ingest.kinds import find_transcript
from turnlog.ingest.pipeline import OnProgress
from turnlog.ingest.watcher import Watcher
from turnlog.store.interface import Store
from turnlog.store.model import LOCAL, Scope
from turnlog.store.places import StorePlace, home_of
from turnlog.transcripts.files.session_files import SessionFiles

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

    The watcher must watch the roots of the config dirs (`transcripts.list_roots`). Each look is reported when
    it is done, those that found nothing new left out. What was `forgotten` meanwhile is asked each time. Raises
    `NewerStoreError`.
    """

    def check_stop(done: int, total: int) -> None:
        if watcher.stopped:
            raise _StoppedError

    catching_up = CatchingUp(
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
        _Follower(place, catching_up, watcher, on_report).run(full_seconds, on_progress)
    except _StoppedError:
        return


class _Follower:
    def __init__(
        self, place: StorePlace, catching_up: CatchingUp, watcher: Watcher, on_report: OnReport
    ) -> None:
        self._place = place
        self._catching_up = catching_up
        self._known = catching_up.known
        self._watcher = watcher
        self._on_report = on_report
        self._agenda = Agenda()
        self._rested = 0.0
        """Until when there is a rest."""
        self._missed: set[Path] = set()
        """What was gone at the last look, and may come again."""
        self._is_all_due = False
        """Whether a folder came or went while everything was looked at."""
        self._held: list[Followed] | None = None
        """While everything is looked at: what is to be reported behind that."""

    def run(self, full_seconds: float, on_progress: OnProgress | None) -> None:
        with self._watcher:
            done = self._sync_all(Occasion.START, on_progress)
            next_full = time.monotonic() + (full_seconds if done else min(full_seconds, _RETRY_SECONDS))
            while not self._watcher.stopped:
                due = min(next_full, max(self._agenda.find_next() or next_full, self._rested))
                changed = self._watcher.wait(max(min(due - time.monotonic(), _ATTENTION), 0.0))
                # Noted first: what is asked for may take long, and what has changed is attended to meanwhile.
                self._is_all_due = self._note(changed) or self._is_all_due
                answer_requests(home_of(self._place), self._serve)
                if self._is_all_due or time.monotonic() >= next_full:
                    done = self._sync_all(Occasion.CHECK)
                    next_full = time.monotonic() + (full_seconds if done else min(full_seconds, _RETRY_SECONDS))
                if time.monotonic() >= self._rested:
                    self._look_and_rest()

    def _serve(self, request: Request) -> Answer:
        """Do what another process asks for, which must not write itself."""
        try:
            paths = [Path(path) for path in request.paths]
            return Answer(self._catching_up.sync_asked(paths, self._attend))
        except (_StoppedError, NewerStoreError):
            raise
        except Exception as error:  # noqa: BLE001  whoever asked is told, and everything else goes on
            return Answer(reason=_explain(error))

    def _look_and_rest(self) -> None:
        started = time.monotonic()
        self._look(self._agenda.take(started))
        now = time.monotonic()
        self._rested = now + min(_REST * (now - started), _LONGEST_REST)
        self._catching_up.rest()

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
        located = {concern: self._catching_up.admit(locate_concern(concern)) for concern in concerns}
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

    def _look_at_one(self, concern: Path, sessions: list[SessionFiles]) -> bool:
        try:
            report = self._sync({concern: sessions})
        except (_StoppedError, NewerStoreError):
            raise
        except Exception as error:  # noqa: BLE001  as above
            self._fail(concern, error)
            return False
        self._tell(Occasion.CHANGE, report, (concern,))
        return True

    def _sync(self, ready: dict[Path, list[SessionFiles]]) -> SyncReport:
        report = self._catching_up.sync_some(ready, self._watcher.roots)
        for concern in ready:
            self._agenda.succeed(concern)
        return report

    def _fail(self, concern: Path, error: Exception) -> None:
        again_in = self._agenda.fail(concern, time.monotonic())
        failed = Followed(occasion=Occasion.CHANGE, paths=(concern,), reason=_explain(error), again_in=again_in)
        self._report(failed)

    def _misses(self, concern: Path, sessions: list[SessionFiles]) -> bool:
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

    def _sync_all(self, occasion: Occasion, on_progress: OnProgress | None = None) -> bool:
        """Look at everything; tell whether that went well."""
        sessions = self._catching_up.locate()
        self._is_all_due, self._held = False, []

        def attend(done: int, total: int) -> None:
            if on_progress is not None:
                on_progress(done, total)
            self._attend(done, total)

        try:
            report = self._catching_up.sync_all(sessions, attend)
        except (_StoppedError, NewerStoreError):
            raise
        except Exception as error:  # noqa: BLE001  one by one it will be seen which of them it was
            held = self._take_held()
            self._report(Followed(occasion=occasion, reason=_explain(error), again_in=_RETRY_SECONDS))
            self._sync_each(sessions)
            done = False
        else:
            held = self._take_held()
            self._tell(occasion, report)
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
            self._look_and_rest()

    def _take_held(self) -> list[Followed]:
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

    def _tell(self, occasion: Occasion, report: SyncReport, paths: tuple[Path, ...] = ()) -> None:
        if occasion is Occasion.START or report.added or report.changed or report.gone or report.rederived:
            self._report(Followed(occasion=occasion, paths=paths, report=report))

    def _report(self, followed: Followed) -> None:
        if self._held is None:
            self._on_report(followed)
        else:
            self._held.append(followed)


def _explain(error: Exception) -> str:
    return str(error) or type(error).__name__

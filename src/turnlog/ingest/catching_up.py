"""Bringing the store up to date while its files are followed: all of them, those that changed, those asked for.

What the store knows is at hand, and so are the sessions that are being written to. Only the one writer may rely
on either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from turnlog.ingest.acquaintance import Acquaintance
from turnlog.ingest.exclusion import Exclusion
from turnlog.ingest.glance import SyncReport
from turnlog.ingest.hot import HotSessions
from turnlog.ingest.introducing import introduce
from turnlog.ingest.pipeline import OnProgress, sync
from turnlog.store.interface import KnownSession, Store
from turnlog.store.model import Scope
from turnlog.store.places import StorePlace
from turnlog.transcripts.files.locate import locate_path, locate_sessions
from turnlog.transcripts.files.session_files import SessionFiles


class CatchingUp:
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
        self.known = Acquaintance(store, scope, origin)
        self._store = store
        self._place = place
        self._config_dirs = config_dirs
        self._origin = origin
        self._exclusion = exclusion
        self._scope = scope
        self._forgotten = forgotten
        self._on_progress = on_progress
        self._hot = HotSessions()

    def rest(self) -> None:
        """Let go of what nobody has written to for a while."""
        self._hot.drop_idle()

    def locate(self) -> list[SessionFiles]:
        """Return all sessions that there are outside."""
        return self.admit(locate_sessions(self._list_there()).sessions)

    def admit(self, sessions: Iterable[SessionFiles]) -> list[SessionFiles]:
        """Return those sessions that may be kept."""
        return [files for files in sessions if not self._exclusion.excludes(files)]

    def sync_all(self, sessions: Iterable[SessionFiles], attend: OnProgress) -> SyncReport:
        """Look at everything: `sessions` are all there are; `attend` may look at some in between."""
        go_on = self._attending(attend)
        report = self._sync(sessions, self._list_there(), on_progress=go_on)
        introduce(self._store, self._origin, self._scope)
        # What came line by line since the last time may be much by now.
        self._store.maintain(between=lambda: go_on(report.bytes, report.bytes))
        self.known.load()
        return report

    def sync_asked(self, paths: list[Path], attend: OnProgress) -> SyncReport:
        """Look at what somebody else asks for; without any paths, at everything. `attend` as in `sync_all`."""
        within = [path for path in paths or self._config_dirs if path.is_dir()]
        located = [locate_path(path) for path in paths] or [locate_sessions(within)]
        sessions = self.admit(files for one in located for files in one.sessions)
        try:
            return self._sync(sessions, within, on_progress=self._attending(attend))
        finally:
            self.known.load()

    def sync_some(self, concerns: Mapping[Path, Iterable[SessionFiles]], within: Iterable[Path]) -> SyncReport:
        """Look at the sessions that some changes concern; only what is known of those is compared."""
        sessions = {self.known.name(files): files for found in concerns.values() for files in found}
        known: dict[str, KnownSession] = {}
        for files in sessions.values():
            known.update((session.key, session) for session in self.known.find(files))
        for concern in concerns:
            known.update((session.key, session) for session in self.known.find_present(concern))
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
        self._hot.drop(forgotten)
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
            hot=self._hot,
        )

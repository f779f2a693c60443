"""What is known of each session's state, kept up with the feed; asked by requests and by the feed's reader."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar, cast

from litestar.di import NamedDependency
from litestar.params import SkipValidation

from turnlog.server.board.columns import ProcessState, SessionState, from_hooks, settle
from turnlog.server.board.facts import TranscriptFacts, read_transcript
from turnlog.server.board.folds import HookFold, HookFolds
from turnlog.server.board.processes import find_processes
from turnlog.server.board.transcript_rules import judge
from turnlog.server.views.lists import name_session
from turnlog.store.interface import CaredStore, ChangeKind
from turnlog.store.lists import StoredSession
from turnlog.store.model import LOCAL, Machine, Scope, Viewer

V = TypeVar("V")

ACTIVE_NS = 24 * 3600 * 1_000_000_000
"""For how long a session without a sign is still of interest."""
_MOST_KEPT = 500
_MOST_BEHIND = 10_000
_PROCESSES_SECONDS = 1.0
_MACHINES_SECONDS = 5.0
_REFOLDED = frozenset({ChangeKind.SESSION_FORGOTTEN, ChangeKind.SESSION_ACCESS})


class StateWatch:
    """Finds the states of sessions; from any thread."""

    def __init__(
        self,
        store: CaredStore,
        config_dirs: Sequence[Path] = (),
        clock: Callable[[], int] = time.time_ns,
        has_people: Callable[[], bool] = lambda: False,
    ) -> None:
        """Take what to look at; where there are people, hooks count for the sessions of their own person."""
        self._store = store
        self._config_dirs = tuple(config_dirs)
        self.clock = clock
        self.has_people = has_people
        self._folds = HookFolds(store)
        self._facts: OrderedDict[str, tuple[int, TranscriptFacts]] = OrderedDict()
        self._built: OrderedDict[str, tuple[object, object]] = OrderedDict()
        self._processes: dict[str, ProcessState] = {}
        self._processes_at = float("-inf")
        self._machines: dict[str, Machine] = {}
        self._machines_at = float("-inf")
        self._seq: int | None = None
        self._lock = threading.RLock()

    def find_state(self, session: StoredSession) -> SessionState | None:
        """Return what a session does; None if nothing happened in it for a day, or nobody knows."""
        [state] = self.find_states([session])
        return state

    def find_states(self, sessions: Sequence[StoredSession]) -> list[SessionState | None]:
        """Return what some sessions do, having looked into the feed once."""
        with self._lock:
            self._catch_up()
            return [self._find(session) for session in sessions]

    def find_hook_state(self, session_id: str, scope: Scope = LOCAL) -> SessionState | None:
        """Return what a session does of which only hooks told."""
        with self._lock:
            self._catch_up()
            return self._settle(self._folds.find(session_id, scope), None, session_id)

    def find_fold(self, session_id: str, scope: Scope = LOCAL) -> HookFold | None:
        """Return what hooks tell of a session."""
        with self._lock:
            self._catch_up()
            return self._folds.find(session_id, scope)

    def find_scope(self, session: StoredSession) -> Scope:
        """Return by what a session's own hook deliveries are found, whoever else uses the same id."""
        return Scope(LOCAL.owner, Viewer(session=session.key)) if self.has_people() else LOCAL

    def find_machine(self, origin: str) -> Machine | None:
        """Return a machine, as it was known some seconds ago."""
        with self._lock:
            now = time.monotonic()
            if now - self._machines_at > _MACHINES_SECONDS:
                found = self._store.list_machines(LOCAL) if self.has_people() else []
                self._machines, self._machines_at = {each.origin: each for each in found}, now
            return self._machines.get(origin)

    def find_process(self, session_id: str) -> ProcessState:
        """Return what is known of a session's process."""
        with self._lock:
            now = time.monotonic()
            if now - self._processes_at > _PROCESSES_SECONDS:
                self._processes, self._processes_at = find_processes(self._config_dirs), now
            return self._processes.get(session_id, ProcessState.UNKNOWN)

    def read_facts(self, session: StoredSession) -> TranscriptFacts:
        """Return what a session's transcript tells, which is read once for each revision."""
        with self._lock:
            known = self._facts.get(session.key)
            if known is None or known[0] != session.revision:
                known = session.revision, read_transcript(self._store, session)
            self._facts[session.key] = known
            self._facts.move_to_end(session.key)
            if len(self._facts) > _MOST_KEPT:
                self._facts.popitem(last=False)
            return known[1]

    def recall(self, key: str, signature: object, build: Callable[[], V]) -> V:
        """Return what was built for a session, as long as all that it rests on (`signature`) is the same."""
        with self._lock:
            known = self._built.get(key)
        if known is not None and known[0] == signature:
            return cast(V, known[1])
        built = build()
        with self._lock:
            self._built[key] = signature, built
            self._built.move_to_end(key)
            if len(self._built) > _MOST_KEPT:
                self._built.popitem(last=False)
        return built

    def _find(self, session: StoredSession) -> SessionState | None:
        name = name_session(session)
        fold = self._folds.find(name, self.find_scope(session))
        seen = max((session.row.last_time or 0) * 1000, 0 if fold is None else fold.last_ns)
        if self.clock() - seen > ACTIVE_NS:
            return None
        return self._settle(fold, self.read_facts(session), name)

    def _settle(
        self, fold: HookFold | None, facts: TranscriptFacts | None, session_id: str
    ) -> SessionState | None:
        now = self.clock()
        told = None if fold is None or fold.status is None else from_hooks(fold.status, fold.last_ns)
        written = None if facts is None else judge(facts.transcript, now)
        return settle(told, written, self.find_process(session_id), now)

    def _catch_up(self) -> None:
        """Take notice of what the feed tells since the last time."""
        last = self._store.read_feed(LOCAL).last
        if self._seq is None or last - self._seq > _MOST_BEHIND:
            self._folds.clear()
        elif last > self._seq:
            for entry in self._store.read_feed(LOCAL, after=self._seq, limit=_MOST_BEHIND).entries:
                if entry.kind is ChangeKind.HOOK_DELIVERED:
                    self._folds.note(entry.session, entry.at_ns)
                elif entry.kind in _REFOLDED:  # whose hooks count for it may be others now
                    self._folds.clear()
                    self._facts.pop(entry.session, None)
                    self._built.pop(entry.session, None)
                last = max(last, entry.seq)
        self._seq = last


GivenWatch = NamedDependency[SkipValidation[StateWatch]]
"""Parameter `watch`: what sessions do."""

"""The state of each session, kept up with the feed, and who went to another column.

Whether a session's process lives is read from Claude Code's own files, `sessions/<pid>.json` in its folder. It
writes one for each of its processes and removes it when that ends in order; those that are left say that their
processes are gone. Nothing promises this format: a file that cannot be read says nothing. A process id may have
been reused, so the time at which the process was started is compared, on Linux as `/proc` has it, elsewhere as
`ps` reports it.

Changes are reported once each. The states at the start of the server are learned first, so that they are not
reported as news. Some states change although nobody writes anything: a process ends, or an answer turns out to
have been the last. So sessions that are not done are checked again from time to time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar, cast

import msgspec
from litestar.di import NamedDependency
from litestar.params import SkipValidation
from msgspec import Struct

from turnlog.server import session_states as states
from turnlog.server.sessions import name_session
from turnlog.server.values import LruDict, clean_optional, clean_text, one_line
from turnlog.store.catalogue.feed import is_running
from turnlog.store.interface import ChangeEntry, ChangeKind, MaintainedStore, find_sessions
from turnlog.store.lists import SessionFilter, StoredSession
from turnlog.store.model import LOCAL, Machine, Scope, Viewer
from turnlog.transcripts.agent_status import WaitReason

_FOLDER = "sessions"
_MOST_PROCESSES, _LARGEST = 1000, 1 << 16
_PATIENCE = 2.0
_SYSTEMS = frozenset({"darwin", "linux", "win32"})


class SessionProcess(Struct, frozen=True, gc=False, rename="camel"):
    """What such a file says, as far as it is used."""

    pid: int
    session_id: str
    proc_start: str | int | None = None
    pid_domain: str | None = None


_decode = msgspec.json.Decoder(SessionProcess).decode


def _list_processes(config_dirs: Iterable[Path]) -> Iterator[SessionProcess]:
    """Yield what Claude Code says of its processes."""
    for folder in config_dirs:
        try:
            names = sorted(os.listdir(folder / _FOLDER))[:_MOST_PROCESSES]
        except OSError:
            continue
        for name in names:
            found = _read(folder / _FOLDER / name) if name.endswith(".json") else None
            if found is not None:
                yield found


def find_processes(config_dirs: Iterable[Path]) -> dict[str, states.ProcessState]:
    """Return what is known of the processes of sessions, by their ids."""
    told = list(_list_processes(config_dirs))
    starts = _list_starts([each.pid for each in told])
    found: dict[str, states.ProcessState] = {}
    for each in told:
        state = _check_process(each, starts)
        if found.get(each.session_id) is not states.ProcessState.ALIVE:  # one that lives is enough
            found[each.session_id] = state
    return found


def _read(path: Path) -> SessionProcess | None:
    try:
        with path.open("rb") as file:
            return _decode(file.read(_LARGEST))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _check_process(told: SessionProcess, starts: Mapping[int, str]) -> states.ProcessState:
    if told.pid <= 0 or (told.pid_domain in _SYSTEMS and told.pid_domain != sys.platform):
        return states.ProcessState.UNKNOWN
    # One that has ended may still be waited for.
    if not is_running(told.pid) or _read_stat(told.pid)[:1] == ["Z"]:
        return states.ProcessState.GONE
    start = starts.get(told.pid)
    began = " ".join(str(told.proc_start).split())
    # A count cannot be compared with a date.
    if told.proc_start is None or start is None or began.isdigit() != start.isdigit():
        return states.ProcessState.ALIVE
    is_same = began == start
    return states.ProcessState.ALIVE if is_same else states.ProcessState.GONE


def _list_starts(pids: list[int]) -> dict[int, str]:
    """Return when processes were started, as Claude Code notes it on this system."""
    if sys.platform == "linux":
        found = {pid: _read_stat(pid) for pid in pids}
        return {pid: parts[19] for pid, parts in found.items() if len(parts) > 19}
    if os.name != "posix" or not pids:
        return {}
    return _ask_ps(pids)


def _read_stat(pid: int) -> list[str]:
    """Return what `/proc` says of a process, behind its name, which may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _ask_ps(pids: list[int]) -> dict[int, str]:
    command = ["ps", "-o", "pid=,lstart=", "-p", ",".join(map(str, pids))]
    try:
        told = subprocess.run(
            command,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    parts = (line.split() for line in told.splitlines())
    return {int(words[0]): " ".join(words[1:]) for words in parts if len(words) > 1 and words[0].isdigit()}


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
        store: MaintainedStore,
        config_dirs: Sequence[Path] = (),
        clock: Callable[[], int] = time.time_ns,
        has_people: Callable[[], bool] = lambda: False,
    ) -> None:
        """Take what to look at; where there are people, hooks count for the sessions of their own person."""
        self._store = store
        self._config_dirs = tuple(config_dirs)
        self.clock = clock
        self.has_people = has_people
        self._folds = states.HookHistories(store)
        self._facts: LruDict[str, tuple[int, states.TranscriptFacts]] = LruDict(_MOST_KEPT)
        self._built: LruDict[str, tuple[object, object]] = LruDict(_MOST_KEPT)
        self._processes: dict[str, states.ProcessState] = {}
        self._processes_at = float("-inf")
        self._machines: dict[str, Machine] = {}
        self._machines_at = float("-inf")
        self._seq: int | None = None
        self._lock = threading.RLock()

    def find_state(self, session: StoredSession) -> states.SessionState | None:
        """Return what a session does; None if nothing happened in it for a day, or nobody knows."""
        [state] = self.find_states([session])
        return state

    def find_states(self, sessions: Sequence[StoredSession]) -> list[states.SessionState | None]:
        """Return what some sessions do, having looked into the feed once."""
        with self._lock:
            self._catch_up()
            return [self._find(session) for session in sessions]

    def find_hook_state(self, session_id: str, scope: Scope = LOCAL) -> states.SessionState | None:
        """Return the state of a session known only from hooks."""
        with self._lock:
            self._catch_up()
            return self._combine(self._folds.find(session_id, scope), None, session_id)

    def find_hook_history(self, session_id: str, scope: Scope = LOCAL) -> states.HookHistory | None:
        """Return the hook history of a session."""
        with self._lock:
            self._catch_up()
            return self._folds.find(session_id, scope)

    def find_scope(self, session: StoredSession) -> Scope:
        """Return the scope of a session's own hook deliveries, even if others have the same id."""
        return Scope(LOCAL.owner, Viewer(session=session.key)) if self.has_people() else LOCAL

    def find_machine(self, origin: str) -> Machine | None:
        """Return a machine, as it was known some seconds ago."""
        with self._lock:
            now = time.monotonic()
            if now - self._machines_at > _MACHINES_SECONDS:
                found = self._store.list_machines(LOCAL) if self.has_people() else []
                self._machines, self._machines_at = {each.origin: each for each in found}, now
            return self._machines.get(origin)

    def find_process(self, session_id: str) -> states.ProcessState:
        """Return what is known of a session's process."""
        with self._lock:
            now = time.monotonic()
            if now - self._processes_at > _PROCESSES_SECONDS:
                self._processes, self._processes_at = find_processes(self._config_dirs), now
            return self._processes.get(session_id, states.ProcessState.UNKNOWN)

    def read_facts(self, session: StoredSession) -> states.TranscriptFacts:
        """Return the facts of a session's transcript, which is read once for each revision."""
        with self._lock:
            known = self._facts.get(session.key)
            if known is None or known[0] != session.revision:
                known = session.revision, states.read_transcript(self._store, session)
            self._facts.put(session.key, known)
            return known[1]

    def get_or_build(self, key: str, signature: object, build: Callable[[], V]) -> V:
        """Return the cached result for a session, or build it if its inputs (`signature`) have changed."""
        with self._lock:
            known = self._built.get(key)
        if known is not None and known[0] == signature:
            return cast(V, known[1])
        built = build()
        with self._lock:
            self._built.put(key, (signature, built))
        return built

    def _find(self, session: StoredSession) -> states.SessionState | None:
        name = name_session(session)
        fold = self._folds.find(name, self.find_scope(session))
        seen = max((session.row.last_time or 0) * 1000, 0 if fold is None else fold.last_ns)
        if self.clock() - seen > ACTIVE_NS:
            return None
        return self._combine(fold, self.read_facts(session), name)

    def _combine(
        self, fold: states.HookHistory | None, facts: states.TranscriptFacts | None, session_id: str
    ) -> states.SessionState | None:
        now = self.clock()
        told = (
            None if fold is None or fold.status is None else states.state_from_hooks(fold.status, fold.last_ns)
        )
        written = None if facts is None else states.infer_state(facts.transcript, now)
        return states.combine_states(told, written, self.find_process(session_id), now)

    def _catch_up(self) -> None:
        """Apply what is new in the feed."""
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


_MOST_TRACKED = 2000
_PRIMED = 200
_TELLING = frozenset({ChangeKind.SESSION_ADDED, ChangeKind.SESSION_CHANGED, ChangeKind.HOOK_DELIVERED})


class StateTracker:
    """Reports changes of states; called by the feed's reader only."""

    def __init__(
        self, store: MaintainedStore, watch: StateWatch, on_change: Callable[[states.StateChange], None]
    ) -> None:
        self._store = store
        self._watch = watch
        self._on_change = on_change
        self._started_ns = watch.clock()
        self._known: OrderedDict[str, tuple[states.Column, WaitReason | None]] = OrderedDict()
        self._busy: dict[str, tuple[str, StoredSession | None]] = {}
        """Those that are not done."""

    def prime(self) -> None:
        """Learn where sessions stood when the server started; what has changed since then is news."""
        since = self._watch.clock() - ACTIVE_NS
        stored = self._store.list_sessions(LOCAL, SessionFilter(since=since // 1000), limit=_PRIMED).sessions
        told = self._store.list_hook_sessions(LOCAL, since, _PRIMED)
        for session_id, state, session in [*self._find_kept(stored), *self._find_told(told)]:
            is_news = state.since_ns is not None and state.since_ns > self._started_ns
            (self._compare if is_news else self._note)(session_id, state, session)

    def __call__(self, entries: Sequence[ChangeEntry]) -> None:
        """Report the state changes that follow from entries of the feed."""
        names = {entry.session: entry.kind for entry in entries if entry.kind in _TELLING}
        told = [name for name, kind in names.items() if kind is ChangeKind.HOOK_DELIVERED]
        keys = [name for name, kind in names.items() if kind is not ChangeKind.HOOK_DELIVERED]
        stored = [each for key in keys for each in find_sessions(self._store, LOCAL, key) if each.key == key]
        for session_id, state, session in [*self._find_kept(stored), *self._find_told(told)]:
            self._compare(session_id, state, session)

    def recheck(self) -> None:
        """Check sessions again that are not done."""
        for name, (session_id, session) in list(self._busy.items())[-_PRIMED:]:
            state = (
                self._watch.find_hook_state(session_id) if session is None else self._watch.find_state(session)
            )
            if state is None:
                del self._busy[name]
            else:
                self._compare(session_id, state, session)

    def _note(self, session_id: str, state: states.SessionState, session: StoredSession | None) -> None:
        name = self._name(session_id, session)
        self._known[name] = state.column, state.why
        self._known.move_to_end(name)
        if len(self._known) > _MOST_TRACKED:
            self._busy.pop(self._known.popitem(last=False)[0], None)
        self._busy.pop(name, None)
        if state.column is not states.Column.DONE:
            self._busy[name] = session_id, session

    def _name(self, session_id: str, session: StoredSession | None) -> str:
        """Return the name that identifies a session: in a team, several may have the same id."""
        return session_id if session is None or not self._watch.has_people() else session.key

    def _compare(self, session_id: str, state: states.SessionState, session: StoredSession | None) -> None:
        before = self._known.get(self._name(session_id, session))
        self._note(session_id, state, session)
        if before != (state.column, state.why):
            title = None if session is None else session.marks.name or session.row.title
            self._on_change(
                states.StateChange(
                    session_id=clean_text(session_id),
                    key=None if session is None else session.key,
                    before=None if before is None else before[0],
                    state=state,
                    title=None if title is None else one_line(title),
                    project=None if session is None else clean_optional(session.row.project),
                )
            )

    def _find_kept(
        self, stored: Sequence[StoredSession]
    ) -> Iterator[tuple[str, states.SessionState, StoredSession | None]]:
        for session in stored:
            state = self._watch.find_state(session)
            if state is not None:
                yield name_session(session), state, session

    def _find_told(
        self, session_ids: Sequence[str]
    ) -> Iterator[tuple[str, states.SessionState, StoredSession | None]]:
        """Yield the states of sessions that hooks reported, whether or not there is a transcript."""
        for session_id in session_ids:
            stored = find_sessions(self._store, LOCAL, session_id) if session_id else []
            named = [each for each in stored if name_session(each) == session_id]
            if named:
                yield from self._find_kept(named if self._watch.has_people() else named[:1])
            else:
                state = self._watch.find_hook_state(session_id)
                if state is not None:
                    yield session_id, state, None

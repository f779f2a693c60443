"""Who went to another column: told from the feed, each time once.

Where sessions stand is learned when the server starts, so that what was so already is no news. Some states
change although nobody writes anything: a process ends, or an answer turns out to have been the last. So those
that are not done are looked at again from time to time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

from turnlog.server.board.columns import Column, SessionState, StateChange
from turnlog.server.board.watching import ACTIVE_NS, StateWatch
from turnlog.server.views.limits import head_of, say, sayable
from turnlog.server.views.lists import name_session
from turnlog.store.interface import CaredStore, ChangeEntry, ChangeKind, find_sessions
from turnlog.store.lists import SessionFilter, StoredSession
from turnlog.store.model import LOCAL
from turnlog.transcripts.hooks.states import Why

_MOST = 2000
_PRIMED = 200
_TELLING = frozenset({ChangeKind.SESSION_ADDED, ChangeKind.SESSION_CHANGED, ChangeKind.HOOK_DELIVERED})


class StateTracker:
    """Compares states with those before; called by the feed's reader alone."""

    def __init__(self, store: CaredStore, watch: StateWatch, on_change: Callable[[StateChange], None]) -> None:
        self._store = store
        self._watch = watch
        self._on_change = on_change
        self._started_ns = watch.clock()
        self._known: OrderedDict[str, tuple[Column, Why | None]] = OrderedDict()
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
        """Tell what follows from changes."""
        names = {entry.session: entry.kind for entry in entries if entry.kind in _TELLING}
        told = [name for name, kind in names.items() if kind is ChangeKind.HOOK_DELIVERED]
        keys = [name for name, kind in names.items() if kind is not ChangeKind.HOOK_DELIVERED]
        stored = [each for key in keys for each in find_sessions(self._store, LOCAL, key) if each.key == key]
        for session_id, state, session in [*self._find_kept(stored), *self._find_told(told)]:
            self._compare(session_id, state, session)

    def recheck(self) -> None:
        """Look again at those that are not done."""
        for name, (session_id, session) in list(self._busy.items())[-_PRIMED:]:
            state = (
                self._watch.find_hook_state(session_id) if session is None else self._watch.find_state(session)
            )
            if state is None:
                del self._busy[name]
            else:
                self._compare(session_id, state, session)

    def _note(self, session_id: str, state: SessionState, session: StoredSession | None) -> None:
        name = self._name(session_id, session)
        self._known[name] = state.column, state.why
        self._known.move_to_end(name)
        if len(self._known) > _MOST:
            self._busy.pop(self._known.popitem(last=False)[0], None)
        self._busy.pop(name, None)
        if state.column is not Column.DONE:
            self._busy[name] = session_id, session

    def _name(self, session_id: str, session: StoredSession | None) -> str:
        """Return by what a session is told apart: where there are people, several may have one id."""
        return session_id if session is None or not self._watch.has_people() else session.key

    def _compare(self, session_id: str, state: SessionState, session: StoredSession | None) -> None:
        before = self._known.get(self._name(session_id, session))
        self._note(session_id, state, session)
        if before != (state.column, state.why):
            title = None if session is None else session.marks.name or session.row.title
            self._on_change(
                StateChange(
                    session_id=sayable(session_id),
                    key=None if session is None else session.key,
                    before=None if before is None else before[0],
                    state=state,
                    title=None if title is None else head_of(title),
                    project=None if session is None else say(session.row.project),
                )
            )

    def _find_kept(
        self, stored: Sequence[StoredSession]
    ) -> Iterator[tuple[str, SessionState, StoredSession | None]]:
        for session in stored:
            state = self._watch.find_state(session)
            if state is not None:
                yield name_session(session), state, session

    def _find_told(
        self, session_ids: Sequence[str]
    ) -> Iterator[tuple[str, SessionState, StoredSession | None]]:
        """Yield the states of sessions that hooks told of, whether or not there is a transcript."""
        for session_id in session_ids:
            stored = find_sessions(self._store, LOCAL, session_id) if session_id else []
            named = [each for each in stored if name_session(each) == session_id]
            if named:
                yield from self._find_kept(named if self._watch.has_people() else named[:1])
            else:
                state = self._watch.find_hook_state(session_id)
                if state is not None:
                    yield session_id, state, None

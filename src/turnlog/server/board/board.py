"""Mission control as a whole: which sessions, their cards, and what they did in the last hours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from turnlog.server.board.cards import view_card, view_hook_card
from turnlog.server.board.columns import Column, SessionState
from turnlog.server.board.spans import Interval, Moment, build_intervals, clip, sum_waits
from turnlog.server.board.watching import ACTIVE_NS, StateWatch
from turnlog.server.shapes.board import BoardCard, BoardSpan, MissionControl, SpanInterval
from turnlog.server.views.lists import name_session
from turnlog.store.interface import CaredStore, find_sessions
from turnlog.store.lists import SessionFilter, StoredSession
from turnlog.store.model import LOCAL, Scope
from turnlog.transcripts.queries.chapters import CallFilter
from turnlog.transcripts.queries.sessions import SessionRecords

MOST_CARDS = 200
_SPAN_NS = 3 * 3600 * 1_000_000_000
_ASKING_TOOLS = ("AskUserQuestion", "ExitPlanMode")
_MOST_TURNS = 100
_MOST_CALLS = 100
_ORDER = (Column.NEEDS_YOU, Column.WORKING, Column.DONE)


class _Entry(Struct):
    """A session with what it did."""

    card: BoardCard
    intervals: list[Interval]
    since_ns: int


def build_board(store: CaredStore, watch: StateWatch, scope: Scope = LOCAL) -> MissionControl:
    """Return all sessions in which something happened within a day, 200 at most, and what they did.

    Which there are is said by the store for a scope. A card is made once for all who may see its session.
    """
    now = watch.clock()
    today, recent = _find_midnight(now), now - _SPAN_NS
    entries = sorted(_list_entries(store, watch, scope, now), key=_rank)[:MOST_CARDS]
    waited = sum(sum_waits(clip(entry.intervals, today)) for entry in entries)
    spans = ((entry.card, [_view(each) for each in clip(entry.intervals, recent)]) for entry in entries)
    return MissionControl(
        at=_moment(now),
        waited_ms=waited // 1_000_000,
        sessions=tuple(entry.card for entry in entries),
        spans=tuple(
            BoardSpan(
                session_id=card.session_id,
                project=card.project,
                branch=card.git_branch,
                intervals=tuple(intervals),
            )
            for card, intervals in spans
            if intervals
        ),
    )


def count_columns(store: CaredStore, watch: StateWatch, scope: Scope = LOCAL) -> Counter[Column]:
    """Return how many sessions of the last 24 hours stand in each column."""
    kept, told = _list_active(store, scope, watch.clock())
    states = [
        *watch.find_states(kept),
        *(watch.find_hook_state(session_id, scope) for session_id in told),
    ]
    return Counter(state.column for state in states if state is not None)


def _list_active(store: CaredStore, scope: Scope, now: int) -> tuple[list[StoredSession], list[str]]:
    """Return the sessions in which something happened within a day; of those without a transcript, the ids."""
    recent = store.list_hook_sessions(scope, now - ACTIVE_NS, MOST_CARDS)
    since = SessionFilter(since=(now - ACTIVE_NS) // 1000)
    kept = list(store.list_sessions(scope, since, limit=MOST_CARDS).sessions)
    listed = {name_session(session) for session in kept}
    told: list[str] = []
    for session_id in (each for each in recent if each not in listed):
        # A session may write nothing for a day while its hooks still tell of it.
        stored = [each for each in find_sessions(store, scope, session_id) if name_session(each) == session_id]
        kept += [each for each in stored[:1] if not each.marks.archived]
        told += [] if stored else [session_id]
    return kept, told


def _list_entries(store: CaredStore, watch: StateWatch, scope: Scope, now: int) -> Iterator[_Entry]:
    kept, told = _list_active(store, scope, now)
    for session_id in told:
        entry = _view_told(store, watch, session_id, scope, now)
        if entry is not None:
            yield entry
    for session in kept:
        state = watch.find_state(session)
        if state is not None:
            yield _view_kept(store, watch, session, state, now)


def _view_kept(
    store: CaredStore, watch: StateWatch, session: StoredSession, state: SessionState, now: int
) -> _Entry:
    name = name_session(session)
    fold = watch.find_fold(name, watch.find_scope(session))
    machine = watch.find_machine(session.origin)
    shown = session.marks, session.person, session.origin, None if machine is None else machine.host

    def build() -> tuple[list[Moment], BoardCard]:
        with store.open_session(LOCAL, session.key) as records:
            moments = _list_moments(records, state.column) if fold is None else list(fold.moments)
            return moments, view_card(store, watch, session, records, state)

    moments, card = watch.recall(
        session.key,
        (session.revision, shown, state, watch.find_process(name), fold and (fold.last_ns, fold.count)),
        build,
    )
    intervals = build_intervals([*moments, *_end_with(moments, state)], now)
    return _Entry(card, intervals, state.since_ns or 0)


def _list_moments(session: SessionRecords, now: Column) -> list[Moment]:
    """Return from when on a session without hooks stood in which column, by its turns and its questions.

    Since its last turn began it stands in `now`.
    """
    count = session.count_turns()
    found: list[Moment] = []
    for turn in session.list_turns(max(count - _MOST_TURNS, 0)):
        if turn.started is None:
            continue
        found.append(Moment(turn.started * 1000, Column.WORKING))
        is_last = turn.index == count - 1
        if turn.ended is not None and not (is_last and now is Column.WORKING):
            found.append(Moment(turn.ended * 1000, now if is_last else Column.DONE))
    for name in _ASKING_TOOLS:
        for _, call in [*session.list_calls(CallFilter(name=name))][-_MOST_CALLS:]:
            if call.started is not None:
                found.append(Moment(call.started * 1000, Column.NEEDS_YOU))
                found += [Moment(call.ended * 1000, Column.WORKING)] if call.ended is not None else []
    return sorted(found, key=lambda each: each.at_ns)


def _view_told(store: CaredStore, watch: StateWatch, session_id: str, scope: Scope, now: int) -> _Entry | None:
    fold, state = watch.find_fold(session_id, scope), watch.find_hook_state(session_id, scope)
    if fold is None or state is None:
        return None
    intervals = build_intervals([*fold.moments, *_end_with(fold.moments, state)], now)
    return _Entry(view_hook_card(store, watch, session_id, scope, fold, state), intervals, state.since_ns or 0)


def _end_with(moments: Sequence[Moment], state: SessionState) -> list[Moment]:
    """Return what neither hooks nor turns tell: that a process is gone, or that somebody pressed Esc."""
    if state.since_ns is None or (moments and moments[-1].column is state.column):
        return []
    return [Moment(state.since_ns, state.column)]


def _rank(entry: _Entry) -> tuple[int, int, str]:
    """Those that wait longest come first; of the others, what changed last."""
    column = entry.card.column
    since = entry.since_ns if column is Column.NEEDS_YOU else -entry.since_ns
    return _ORDER.index(column), since, entry.card.session_id


def _view(interval: Interval) -> SpanInterval:
    return SpanInterval(start=_moment(interval.start_ns), end=_moment(interval.end_ns), kind=interval.kind)


def _moment(ns: int) -> datetime:
    return datetime.fromtimestamp(ns // 1_000_000 / 1000, UTC)


def _find_midnight(now_ns: int) -> int:
    """Return when the day began, by this machine's clock."""
    local = datetime.fromtimestamp(now_ns / 1e9).astimezone()
    return int(local.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()) * 1_000_000_000

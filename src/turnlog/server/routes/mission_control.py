"""`/api/mission-control`: who works, who waits for the person, since when, and why.

A card shows how full the model's context is. The window is that of the price list (`genai-prices` has it for
each model). Claude Code runs models that can have a million tokens with 200,000 unless asked for more
(`opus[1m]`), and transcripts name the model without that. So the limit of such a model is known only where the
session shows it: by more tokens than the smaller window holds, or by a name with `[1m]`. Otherwise it is
unknown, and none is shown.

Automatic compaction begins 33,000 tokens before the end (20,000 for the answer and 13,000 of reserve): sessions
of 2026 show it at 167,000 of 200,000 and 967,000 of a million. Settings may put it earlier
(`autoCompactWindow`, `CLAUDE_AUTOCOMPACT_PCT_OVERRIDE`) or switch it off, which no transcript tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from litestar import get
from msgspec import Raw, Struct

from turnlog.instants import find_moment
from turnlog.server.messages import CallBar, build_call_bars
from turnlog.server.requests import GivenScope, GivenStore
from turnlog.server.session_states import (
    Column,
    ColumnChange,
    Evidence,
    HookHistory,
    Interval,
    ProcessState,
    SessionState,
    SpanKind,
    TranscriptFacts,
    build_intervals,
    clip_intervals,
    read_question,
    sum_waits,
)
from turnlog.server.sessions import name_session
from turnlog.server.state_watch import ACTIVE_NS, GivenWatch, StateWatch
from turnlog.server.values import build_resume, clean_optional, clean_text, dollars, fill_clean, one_line
from turnlog.store.interface import MaintainedStore, find_sessions
from turnlog.store.lists import SessionFilter, StoredSession
from turnlog.store.model import LOCAL, Scope
from turnlog.transcripts.agent_status import AgentPhase, WaitReason
from turnlog.transcripts.hooks import DeliveryFilter
from turnlog.transcripts.kinds import AgentState, topic_of
from turnlog.transcripts.queries.chapters import CallFilter
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.usage.prices import find_context_window


class BoardStep(Struct, frozen=True, gc=False, kw_only=True):
    """The current step of a session."""

    tool_name: str
    title: str
    """What the call is about; empty if unknown."""
    since: datetime | None
    call_id: str | None
    """The id that Claude Code gave the call."""


class BoardAgent(Struct, frozen=True, gc=False, kw_only=True):
    """A sub-agent at work."""

    id: str
    type: str | None
    title: str | None
    since: datetime | None


class BoardCard(Struct, frozen=True, gc=False, kw_only=True):
    """A session in mission control."""

    session_id: str
    key: str
    """Identifies the session permanently; its id if only hooks have reported it so far."""
    title: str | None
    project: str | None
    git_branch: str | None
    model: str | None
    column: Column
    phase: AgentPhase
    why: WaitReason | None
    """None unless the user is needed."""
    since: datetime | None
    """Since when."""
    detail: str | None
    """What the user is needed for, in one line."""
    options: tuple[str, ...]
    """The answers that a question offers."""
    step: BoardStep | None
    agents: tuple[BoardAgent, ...]
    """Sub-agents at work."""
    turns: int
    started_at: datetime | None
    last_at: datetime | None
    cost_usd: float | None
    context_tokens: int | None
    """What the model read for its last answer."""
    context_limit: int | None
    """The limit of what it can read; None if unknown."""
    compacts_at: int | None
    """Where automatic compaction begins, unless settings say otherwise."""
    call_bars: tuple[CallBar, ...]
    """The calls of its last turn."""
    process: ProcessState
    evidence: Evidence
    stopped_by: str | None
    """The error that it stopped at."""
    person: str | None
    """The owner; null if there is none."""
    machine: str
    """The machine it comes from; empty for the machine with the archive."""
    host: str
    """That machine's host name; empty if unknown."""
    resume: str | None
    """The command that resumes it; None if its id does not look valid."""


class SpanInterval(Struct, frozen=True, gc=False, kw_only=True, rename={"start": "from", "end": "to"}):
    """A period in which a session's state did not change."""

    start: datetime
    end: datetime
    kind: SpanKind


class BoardSpan(Struct, frozen=True, gc=False, kw_only=True):
    """What a session did in the last three hours."""

    session_id: str
    project: str | None
    branch: str | None
    intervals: tuple[SpanInterval, ...]


class MissionControl(Struct, frozen=True, gc=False, kw_only=True):
    """All sessions of the last 24 hours, 200 at most."""

    at: datetime
    waited_ms: int
    """How long sessions waited for the user today, in total."""
    sessions: tuple[BoardCard, ...]
    """Those that wait longest first, then those that work, then those that are done."""
    spans: tuple[BoardSpan, ...]


_USUAL, _LARGE = 200_000, 1_000_000
_MARK = "[1m]"
_RESERVE = 33_000


def find_limit(model: str | None, tokens: int | None) -> int | None:
    """Return how many tokens fit into a model's context, which has so many now; None if that is unknown."""
    if model is None:
        return None
    if model.endswith(_MARK):
        return _LARGE
    window = find_context_window(model)
    if window is None:
        return None
    is_large = (tokens or 0) > _USUAL
    if window > _USUAL:
        return window if is_large else None
    return None if is_large else window


def find_compaction(limit: int | None) -> int | None:
    """Return at how many tokens automatic compaction begins, unless settings say otherwise."""
    return None if limit is None else limit - _RESERVE


_MOST_AGENTS = 20


def _view_card(
    store: MaintainedStore,
    watch: StateWatch,
    session: StoredSession,
    records: SessionRecords,
    state: SessionState,
) -> BoardCard:
    """Return the card of a session that has a transcript."""
    row, name, facts = session.row, name_session(session), watch.read_facts(session)
    title = session.marks.name or row.title
    limit = find_limit(facts.model, facts.context_tokens)
    turns = records.count_turns()
    calls = records.list_turn_calls(turns - 1, 1) if turns else []
    return _fill_card(
        watch,
        state,
        name,
        session.origin,
        row.project,
        _find_input(store, name, watch.find_scope(session), state),
        facts,
        key=session.key,
        title=None if title is None else one_line(title),
        git_branch=row.branches[-1] if row.branches else None,
        model=facts.model,
        agents=_list_running(records) if state.phase is not AgentPhase.ENDED and row.agents else (),
        turns=turns,
        started_at=find_moment(row.first_time),
        last_at=_moment(max((row.last_time or 0) * 1000, state.seen_ns)),
        cost_usd=dollars(row.cost),
        context_tokens=facts.context_tokens,
        context_limit=limit,
        compacts_at=find_compaction(limit),
        call_bars=build_call_bars([each.call for each in calls]),
        person=session.person,
    )


def _view_hook_card(
    store: MaintainedStore,
    watch: StateWatch,
    session_id: str,
    scope: Scope,
    fold: HookHistory,
    state: SessionState,
) -> BoardCard:
    """Return the card of a session known only from hooks."""
    machine = watch.find_machine(fold.origin)
    return _fill_card(
        watch,
        state,
        session_id,
        fold.origin,
        fold.cwd,
        _find_input(store, session_id, scope, state),
        None,
        key=session_id,
        title=None,
        git_branch=None,
        model=None,
        agents=(),
        turns=0,
        started_at=_moment(fold.first_ns),
        last_at=_moment(fold.last_ns),
        cost_usd=None,
        context_tokens=None,
        context_limit=None,
        compacts_at=None,
        call_bars=(),
        person=None if machine is None else machine.person,
    )


def _fill_card(
    watch: StateWatch,
    state: SessionState,
    session_id: str,
    origin: str,
    project: str | None,
    given: Raw | None,
    facts: TranscriptFacts | None,
    **own: Any,
) -> BoardCard:
    """Return a card with what follows from a state, and what tells it: what the tool at work was `given`."""
    machine, name = watch.find_machine(origin), clean_text(session_id)
    return fill_clean(
        BoardCard,
        state,
        session_id=name,
        project=project,
        since=_moment(state.since_ns),
        detail=None if state.detail is None else one_line(state.detail),
        options=_list_options(state, given, facts),
        step=_view_step(state, given, facts, project),
        process=watch.find_process(session_id),
        stopped_by=_find_error(state),
        machine=origin,
        host="" if machine is None else machine.host,
        resume=build_resume(name, project),
        **own,
    )


def _list_running(records: SessionRecords) -> tuple[BoardAgent, ...]:
    """Return the agents of a session that were begun and have not ended, at most 20."""
    running = [agent for agent in records.list_agents() if agent.state == AgentState.RUNNING][-_MOST_AGENTS:]
    found: list[BoardAgent] = []
    for agent in running:
        chapter = None if agent.call_source is None else records.find_chapter(agent.call_source)
        calls = [] if chapter is None or agent.call is None else chapter.list_calls_at([agent.call])
        found.append(
            BoardAgent(
                id=clean_text(agent.id),
                type=clean_optional(agent.type),
                title=None if agent.description is None else one_line(agent.description),
                since=find_moment(calls[0].started if calls else None),
            )
        )
    return tuple(found)


def _find_input(store: MaintainedStore, session_id: str, scope: Scope, state: SessionState) -> Raw | None:
    """Return the input of the tool that runs or waits, if a hook reported it."""
    if state.tool_use_id is None:
        return None
    which = DeliveryFilter(session_id=session_id, tool_use_ids=[state.tool_use_id], longest_context=0)
    for delivery in store.list_deliveries(scope, which):
        given = delivery.fields.get("tool_input")
        if given is not None:
            return given
    return None


def _view_step(
    state: SessionState, given: Raw | None, facts: TranscriptFacts | None, project: str | None
) -> BoardStep | None:
    if state.tool_name is None or state.column is Column.DONE:
        return None
    told = topic_of(state.tool_name, given, project) if given is not None else ""
    if not told and facts is not None and state.tool_use_id is not None:
        told = facts.titles.get(state.tool_use_id, "")
    return BoardStep(
        tool_name=clean_text(state.tool_name),
        title=one_line(told),
        since=_moment(state.tool_since_ns),
        call_id=clean_optional(state.tool_use_id),
    )


def _list_options(state: SessionState, given: Raw | None, facts: TranscriptFacts | None) -> tuple[str, ...]:
    if state.why is not WaitReason.QUESTION:
        return ()
    told = read_question(given).options
    if not told and facts is not None and state.tool_use_id is not None:
        told = facts.options.get(state.tool_use_id, ())
    return tuple(map(clean_text, told))


def _find_error(state: SessionState) -> str | None:
    if state.cut_off:
        return "Its process ended while it was working"
    if state.why is not WaitReason.FAILED:
        return None
    return one_line(state.detail) if state.detail else "The turn ended with an error"


def _moment(ns: int | None) -> datetime | None:
    return find_moment(None if not ns else ns // 1000)


_MOST_CARDS = 200
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


def _build_board(store: MaintainedStore, watch: StateWatch, scope: Scope = LOCAL) -> MissionControl:
    """Return all sessions in which something happened within a day, 200 at most, and what they did.

    The store decides which of them a scope contains. A card is built once for all who may see its session.
    """
    now = watch.clock()
    today, recent = _find_midnight(now), now - _SPAN_NS
    entries = sorted(_list_entries(store, watch, scope, now), key=_rank)[:_MOST_CARDS]
    waited = sum(sum_waits(clip_intervals(entry.intervals, today)) for entry in entries)
    spans = ((entry.card, clip_intervals(entry.intervals, recent)) for entry in entries)
    return MissionControl(
        at=_round_moment(now),
        waited_ms=waited // 1_000_000,
        sessions=tuple(entry.card for entry in entries),
        spans=tuple(
            BoardSpan(
                session_id=card.session_id,
                project=card.project,
                branch=card.git_branch,
                intervals=tuple(
                    SpanInterval(
                        start=_round_moment(each.start_ns), end=_round_moment(each.end_ns), kind=each.kind
                    )
                    for each in intervals
                ),
            )
            for card, intervals in spans
            if intervals
        ),
    )


def count_columns(store: MaintainedStore, watch: StateWatch, scope: Scope = LOCAL) -> Counter[Column]:
    """Return how many sessions of the last 24 hours stand in each column."""
    kept, told = _list_active(store, scope, watch.clock())
    states = [
        *watch.find_states(kept),
        *(watch.find_hook_state(session_id, scope) for session_id in told),
    ]
    return Counter(state.column for state in states if state is not None)


def _list_active(store: MaintainedStore, scope: Scope, now: int) -> tuple[list[StoredSession], list[str]]:
    """Return the sessions in which something happened within a day; of those without a transcript, the ids."""
    recent = store.list_hook_sessions(scope, now - ACTIVE_NS, _MOST_CARDS)
    since = SessionFilter(since=(now - ACTIVE_NS) // 1000)
    kept = list(store.list_sessions(scope, since, limit=_MOST_CARDS).sessions)
    listed = {name_session(session) for session in kept}
    told: list[str] = []
    for session_id in (each for each in recent if each not in listed):
        # A session may write nothing for a day while its hooks still report events.
        stored = [each for each in find_sessions(store, scope, session_id) if name_session(each) == session_id]
        kept += [each for each in stored[:1] if not each.marks.archived]
        told += [] if stored else [session_id]
    return kept, told


def _list_entries(store: MaintainedStore, watch: StateWatch, scope: Scope, now: int) -> Iterator[_Entry]:
    kept, told = _list_active(store, scope, now)
    for session_id in told:
        entry = _build_hook_entry(store, watch, session_id, scope, now)
        if entry is not None:
            yield entry
    for session in kept:
        state = watch.find_state(session)
        if state is not None:
            yield _build_session_entry(store, watch, session, state, now)


def _build_session_entry(
    store: MaintainedStore, watch: StateWatch, session: StoredSession, state: SessionState, now: int
) -> _Entry:
    name = name_session(session)
    fold = watch.find_hook_history(name, watch.find_scope(session))
    machine = watch.find_machine(session.origin)
    shown = session.marks, session.person, session.origin, None if machine is None else machine.host

    def build() -> tuple[list[ColumnChange], BoardCard]:
        with store.open_session(LOCAL, session.key) as records:
            moments = _list_moments(records, state.column) if fold is None else list(fold.moments)
            return moments, _view_card(store, watch, session, records, state)

    moments, card = watch.get_or_build(
        session.key,
        (session.revision, shown, state, watch.find_process(name), fold and (fold.last_ns, fold.count)),
        build,
    )
    intervals = build_intervals([*moments, *_list_final_change(moments, state)], now)
    return _Entry(card, intervals, state.since_ns or 0)


def _list_moments(session: SessionRecords, now: Column) -> list[ColumnChange]:
    """Return from when on a session without hooks stood in which column, by its turns and its questions.

    Since its last turn began it stands in `now`.
    """
    count = session.count_turns()
    found: list[ColumnChange] = []
    for turn in session.list_turns(max(count - _MOST_TURNS, 0)):
        if turn.started is None:
            continue
        found.append(ColumnChange(turn.started * 1000, Column.WORKING))
        is_last = turn.index == count - 1
        if turn.ended is not None and not (is_last and now is Column.WORKING):
            found.append(ColumnChange(turn.ended * 1000, now if is_last else Column.DONE))
    for name in _ASKING_TOOLS:
        for _, call in [*session.list_calls(CallFilter(name=name))][-_MOST_CALLS:]:
            if call.started is not None:
                found.append(ColumnChange(call.started * 1000, Column.NEEDS_YOU))
                found += [ColumnChange(call.ended * 1000, Column.WORKING)] if call.ended is not None else []
    return sorted(found, key=lambda each: each.at_ns)


def _build_hook_entry(
    store: MaintainedStore, watch: StateWatch, session_id: str, scope: Scope, now: int
) -> _Entry | None:
    fold, state = watch.find_hook_history(session_id, scope), watch.find_hook_state(session_id, scope)
    if fold is None or state is None:
        return None
    intervals = build_intervals([*fold.moments, *_list_final_change(fold.moments, state)], now)
    return _Entry(_view_hook_card(store, watch, session_id, scope, fold, state), intervals, state.since_ns or 0)


def _list_final_change(moments: Sequence[ColumnChange], state: SessionState) -> list[ColumnChange]:
    """Return what neither hooks nor turns report: that a process is gone, or that somebody pressed Esc."""
    if state.since_ns is None or (moments and moments[-1].column is state.column):
        return []
    return [ColumnChange(state.since_ns, state.column)]


def _rank(entry: _Entry) -> tuple[int, int, str]:
    """Those that wait longest come first; of the others, what changed last."""
    column = entry.card.column
    since = entry.since_ns if column is Column.NEEDS_YOU else -entry.since_ns
    return _ORDER.index(column), since, entry.card.session_id


def _round_moment(ns: int) -> datetime:
    return datetime.fromtimestamp(ns // 1_000_000 / 1000, UTC)


def _find_midnight(now_ns: int) -> int:
    """Return when the day began, by this machine's clock."""
    local = datetime.fromtimestamp(now_ns / 1e9).astimezone()
    return int(local.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()) * 1_000_000_000


@get("/api/mission-control", sync_to_thread=True)
def get_mission_control(store: GivenStore, visible: GivenScope, watch: GivenWatch) -> MissionControl:
    """Return what the sessions of the last 24 hours are doing: which work, which wait for you, since when, why.

    `column` is `needs_you` for sessions that wait in the middle of their work (`why` says for what: a
    `permission`, a `question`, a `plan`, input when `idle`, or `failed` at an error), `working`, or `done` for
    those whose turn or process has ended. The state comes from hooks, unless there are none or the transcript
    has something later; a transcript cannot show that a permission is needed. If its process is unknown, a
    session that has been silent for an hour is no longer `working`. `spans` cover the last three hours.
    """
    return _build_board(store, watch, visible)

"""A session as a card of mission control."""

from __future__ import annotations

from datetime import datetime

from msgspec import Raw

from turnlog.server.board.columns import Column, SessionState
from turnlog.server.board.context import find_compaction, find_limit
from turnlog.server.board.facts import TranscriptFacts, read_question
from turnlog.server.board.folds import HookFold
from turnlog.server.board.watching import StateWatch
from turnlog.server.shapes.board import BoardAgent, BoardCard, BoardStep
from turnlog.server.views.limits import head_of, say, sayable
from turnlog.server.views.lists import name_session
from turnlog.server.views.moments import dollars, moment
from turnlog.server.views.resuming import build_resume
from turnlog.server.views.turns import build_strip
from turnlog.store.interface import CaredStore
from turnlog.store.lists import StoredSession
from turnlog.store.model import Scope
from turnlog.transcripts.agents.states import AgentState
from turnlog.transcripts.calls.topics import topic_of
from turnlog.transcripts.hooks.deliveries import DeliveryFilter
from turnlog.transcripts.hooks.states import AgentPhase, Why
from turnlog.transcripts.queries.sessions import SessionRecords

_MOST_AGENTS = 20


def view_card(
    store: CaredStore, watch: StateWatch, session: StoredSession, records: SessionRecords, state: SessionState
) -> BoardCard:
    """Return the card of a session that has a transcript."""
    row, name, facts = session.row, name_session(session), watch.read_facts(session)
    title = session.marks.name or row.title
    given = _find_input(store, name, watch.find_scope(session), state)
    machine = watch.find_machine(session.origin)
    limit = find_limit(facts.model, facts.context_tokens)
    working = state.phase is not AgentPhase.ENDED
    turns = records.count_turns()
    calls = records.list_turn_calls(turns - 1, 1) if turns else []
    return BoardCard(
        session_id=name,
        key=session.key,
        title=None if title is None else head_of(title),
        project=say(row.project),
        git_branch=sayable(row.branches[-1]) if row.branches else None,
        model=say(facts.model),
        column=state.column,
        phase=state.phase,
        why=state.why,
        since=_moment(state.since_ns),
        detail=None if state.detail is None else head_of(state.detail),
        options=_list_options(state, given, facts),
        step=_view_step(state, given, facts, row.project),
        agents=_list_running(records) if working and row.agents else (),
        turns=turns,
        started_at=moment(row.first_time),
        last_at=_moment(max((row.last_time or 0) * 1000, state.seen_ns)),
        cost_usd=dollars(row.cost),
        context_tokens=facts.context_tokens,
        context_limit=limit,
        compacts_at=find_compaction(limit),
        strip=build_strip([each.call for each in calls]),
        process=watch.find_process(name),
        evidence=state.evidence,
        stopped_by=_find_error(state),
        person=session.person,
        machine=session.origin,
        host="" if machine is None else machine.host,
        resume=build_resume(name, row.project),
    )


def view_hook_card(
    store: CaredStore, watch: StateWatch, session_id: str, scope: Scope, fold: HookFold, state: SessionState
) -> BoardCard:
    """Return the card of a session of which only hooks told."""
    given = _find_input(store, session_id, scope, state)
    machine = watch.find_machine(fold.origin)
    name = sayable(session_id)
    return BoardCard(
        session_id=name,
        key=name,
        title=None,
        project=say(fold.cwd),
        git_branch=None,
        model=None,
        column=state.column,
        phase=state.phase,
        why=state.why,
        since=_moment(state.since_ns),
        detail=None if state.detail is None else head_of(state.detail),
        options=_list_options(state, given, None),
        step=_view_step(state, given, None, fold.cwd),
        agents=(),
        turns=0,
        started_at=_moment(fold.first_ns),
        last_at=_moment(fold.last_ns),
        cost_usd=None,
        context_tokens=None,
        context_limit=None,
        compacts_at=None,
        strip=(),
        process=watch.find_process(session_id),
        evidence=state.evidence,
        stopped_by=_find_error(state),
        person=None if machine is None else machine.person,
        machine=fold.origin,
        host="" if machine is None else machine.host,
        resume=build_resume(name, fold.cwd),
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
                id=sayable(agent.id),
                type=say(agent.type),
                title=None if agent.description is None else head_of(agent.description),
                since=moment(calls[0].started if calls else None),
            )
        )
    return tuple(found)


def _find_input(store: CaredStore, session_id: str, scope: Scope, state: SessionState) -> Raw | None:
    """Return what the tool was given that runs or waits, if a hook told it."""
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
        tool_name=sayable(state.tool_name),
        title=head_of(told),
        since=_moment(state.tool_since_ns),
        call_id=say(state.tool_use_id),
    )


def _list_options(state: SessionState, given: Raw | None, facts: TranscriptFacts | None) -> tuple[str, ...]:
    if state.why is not Why.QUESTION:
        return ()
    told = read_question(given).options
    if not told and facts is not None and state.tool_use_id is not None:
        told = facts.options.get(state.tool_use_id, ())
    return tuple(map(sayable, told))


def _find_error(state: SessionState) -> str | None:
    if state.cut_off:
        return "Its process ended while it was working"
    if state.why is not Why.FAILED:
        return None
    return head_of(state.detail) if state.detail else "The turn ended with an error"


def _moment(ns: int | None) -> datetime | None:
    return moment(None if not ns else ns // 1000)

"""From a session, read from all of its files, to the rows that are kept of it.

The rows follow from the lines alone: whatever the pieces in which they came, the same lines give equal rows.
Messages and calls are those of the transcript, then those of each agent's file in the order of sources; what
a forked agent has from its parent stands in its file and is kept with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec
from msgspec import Struct

from turnlog.ingest.conversation_rows import RowBuilder
from turnlog.ingest.facts import bounded, microseconds
from turnlog.store.batch import DerivedRows
from turnlog.store.rows import AgentRow, SessionRow, SightingRow, TurnRow
from turnlog.transcripts.agents.agent import Agent, AgentSource
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.conversation.turns import Turn
from turnlog.transcripts.session import Session
from turnlog.transcripts.summary.fold import Summary
from turnlog.transcripts.usage.sightings import Sighting

__all__ = ["Chapter", "derive"]

_encode = msgspec.json.Encoder().encode


class Chapter(Struct, frozen=True, gc=False):
    """The conversation in a sub-agent's own file."""

    source: str
    conversation: Conversation
    agent: AgentSource


def derive(
    session: Session, transcript: str, chapters: Sequence[Chapter], generations: Mapping[str, int]
) -> DerivedRows:
    """Return the rows of a session whose lines know their source by its id.

    `transcript` is the source of its main lines, `chapters` are its agents' files, and `generations` says of
    which generation the lines of each source are.
    """
    turn_of = {message.index: turn.index for turn in session.turns for message in turn.messages}
    builder = RowBuilder(generations)
    builder.add(transcript, session.conversation, None, turn_of)
    for chapter in chapters:
        builder.add(chapter.source, chapter.conversation, chapter.agent.agent_id, {})
    sources = {chapter.agent.path: chapter.source for chapter in chapters}
    agents = tuple(
        _build_agent(index, agent, None if agent.path is None else sources.get(agent.path), builder)
        for index, agent in enumerate(session.agents)
    )
    return DerivedRows(
        session=_build_session(session),
        messages=tuple(builder.messages),
        calls=tuple(builder.calls),
        turns=tuple(_build_turn(turn, builder) for turn in session.turns),
        agents=agents,
        sightings=tuple(_list_sightings(session.usage.list_sightings())),
    )


def _build_session(session: Session) -> SessionRow:
    summary = session.summary
    counts, tokens = summary.counts, summary.totals.tokens
    return SessionRow(
        index=0,
        session_id=summary.id,
        title=None if summary.title is None else summary.title.text,
        project=summary.project,
        first_time=microseconds(summary.first_time),
        last_time=microseconds(summary.last_time),
        prompts=counts.prompts,
        answers=counts.answers,
        calls=counts.calls,
        agents=len(session.agents),
        lines=counts.lines,
        problems=len(session.problems),
        input_tokens=bounded(tokens.prompt),
        output_tokens=bounded(tokens.output),
        cost=None if _is_unpriced(summary) else _money(summary.cost or Decimal(0)),
        summary=_encode(summary),
    )


def _build_turn(turn: Turn, builder: RowBuilder) -> TurnRow:
    bill, duration = turn.bill, turn.duration
    tokens = bill.totals.tokens
    unpriced = sum(totals.messages for totals in bill.unpriced.values())
    calls = [builder.calls[builder.call_at[id(call)]] for call in turn.calls]
    return TurnRow(
        index=turn.index,
        prompt=turn.prompt.index,
        messages=len(turn.messages),
        calls=len(calls),
        agents=len(turn.agents),
        files_changed=len({call.path for call in calls if call.changes_file}),
        started=microseconds(turn.started),
        ended=microseconds(turn.ended),
        duration_ms=None if duration is None else round(duration.total_seconds() * 1000),
        input_tokens=bounded(tokens.prompt),
        output_tokens=bounded(tokens.output),
        cost=None if unpriced and unpriced == len(turn.usage) else _money(bill.cost),
    )


def _build_agent(index: int, agent: Agent, source: str | None, builder: RowBuilder) -> AgentRow:
    return AgentRow(
        index=index,
        id=agent.id,
        state=agent.state.value,
        depth=agent.depth,
        inline=agent.inline,
        background=agent.background,
        source=source,
        parent_id=agent.parent_id,
        run_id=agent.run_id,
        type=agent.type,
        description=agent.description,
        call=None if agent.call is None else builder.call_at.get(id(agent.call)),
        linked_by=None if agent.linked_by is None else agent.linked_by.value,
    )


def _list_sightings(sightings: Sequence[Sighting]) -> Iterator[SightingRow]:
    for index, seen in enumerate(sightings):
        tokens, terms, behalf = seen.tokens, seen.terms, seen.attribution
        yield SightingRow(
            index=index,
            message_id=seen.message,
            session_id=seen.session,
            source=seen.source,
            offset=seen.offset,
            time=microseconds(seen.time),
            model=seen.model,
            input=bounded(tokens.input),
            output=bounded(tokens.output),
            cache_read=bounded(tokens.cache_read),
            cache_write_5m=bounded(tokens.cache_write_5m),
            cache_write_1h=bounded(tokens.cache_write_1h),
            web_searches=bounded(tokens.web_searches),
            ended=seen.ended,
            service_tier=terms.service_tier,
            speed=terms.speed,
            inference_geo=terms.inference_geo,
            agent=behalf.agent,
            agent_id=behalf.agent_id,
            skill=behalf.skill,
            plugin=behalf.plugin,
            mcp_server=behalf.mcp_server,
            mcp_tool=behalf.mcp_tool,
        )


def _is_unpriced(summary: Summary) -> bool:
    """Tell whether something was used, and nothing of it has a price."""
    return bool(summary.model_totals) and all(each.cost is None for each in summary.model_totals)


def _money(amount: Decimal) -> str:
    return format(amount, "f")

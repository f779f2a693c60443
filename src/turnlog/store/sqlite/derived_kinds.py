"""How each kind of derived row stands in its table.

A kind has its columns, and two functions between a row and its cells. They are written out: all rows of a
session go through them, and a loop over fields would take most of the time of a sync.
"""

from __future__ import annotations

from typing import Any

from msgspec import json

from turnlog.store.frames import compress, decompress
from turnlog.store.identity import Place
from turnlog.store.rows import (
    AgentRow,
    CallRow,
    MessageRow,
    PlacementRow,
    SessionRow,
    SightingRow,
    TurnRow,
)
from turnlog.store.sqlite.kinds import Kind, PackContext, UnpackContext
from turnlog.store.sqlite.values import (
    Cells,
    pack_places,
    pack_text,
    pack_uuid,
    unpack_places,
    unpack_text,
    unpack_uuid,
)

__all__ = ["AGENTS", "CALLS", "DERIVED_TABLES", "MESSAGES", "PLACEMENTS", "SESSIONS", "SIGHTINGS", "TURNS"]


def _pack_message(row: MessageRow, to: PackContext) -> tuple[Any, ...]:
    number = to.numbers
    generation, start, more = pack_places(row.lines, row.source, to.sources)
    return (
        pack_uuid(row.id), generation, start, more, row.own_lines, number[row.rule], number[row.role],
        number[_join(row.types)], number[row.author], number[row.lane], row.is_sidechain, number[row.category],
        number[row.agent_id], row.parent, row.branch, row.active, row.turn, row.time, number[row.model],
        row.aborted, row.calls, row.reached,
    )  # fmt: skip


def _unpack_message(cells: Cells, of: UnpackContext) -> MessageRow:
    (
        index, source, id, generation, start, more, own_lines, rule, role, types, author, lane, sidechain,
        category, agent, parent, branch, active, turn, time, model, aborted, calls, reached,
    ) = cells  # fmt: skip
    word, name = of.words, of.source(source)
    return MessageRow(
        index=index, id=unpack_uuid(id), source=name,
        lines=unpack_places(generation, start, more, name, of.names), own_lines=own_lines, rule=word[rule],
        role=word[role], types=_split(word[types]), author=word[author], lane=word[lane],
        is_sidechain=bool(sidechain), category=word[category], agent_id=word[agent], parent=parent,
        branch=branch, active=bool(active), turn=turn, time=time, model=word[model], aborted=bool(aborted),
        calls=calls, reached=reached,
    )  # fmt: skip


MESSAGES: Kind[MessageRow] = Kind(
    number=1,
    table="messages",
    columns=(
        "id, generation, start, lines, own_lines, rule, role, types, author, lane, sidechain, category, "
        "agent, parent, branch, active, turn, time, model, aborted, calls, reached"
    ),
    pack=_pack_message,
    unpack=_unpack_message,
)


def _pack_call(row: CallRow, to: PackContext) -> tuple[Any, ...]:
    number, at, result = to.numbers, row.at, row.result_at
    found = (
        (None, None, None) if result is None else (to.source(result.source), result.generation, result.offset)
    )
    elsewhere = None if at.source == row.source else to.source(at.source)
    return (
        row.id, number[row.name], number[row.category], number[row.state], elsewhere, at.generation, at.offset,
        row.block, row.message, *found, row.result_block, number[row.agent_id], pack_text(row.path),
        row.changes_file, row.started, row.ended, row.line, row.reached,
    )  # fmt: skip


def _unpack_call(cells: Cells, of: UnpackContext) -> CallRow:
    (
        index, source, id, name, category, state, elsewhere, generation, start, block, message, result_source,
        result_generation, result_start, result_block, agent, path, changes_file, started, ended, line,
        reached,
    ) = cells  # fmt: skip
    word = of.words
    return CallRow(
        index=index, source=of.source(source), id=id, name=word[name], category=word[category],
        state=word[state], at=Place(of.source(source if elsewhere is None else elsewhere), generation, start),
        block=block, message=message, result_at=of.place(result_source, result_generation, result_start),
        result_block=result_block, agent_id=word[agent], path=unpack_text(path),
        changes_file=bool(changes_file), started=started, ended=ended, line=line, reached=reached,
    )  # fmt: skip


CALLS: Kind[CallRow] = Kind(
    number=2,
    table="calls",
    columns=(
        "id, name, category, state, at_source, generation, start, block, message, result_source, "
        "result_generation, result_start, result_block, agent, path, changes_file, started, ended, line, "
        "reached"
    ),
    pack=_pack_call,
    unpack=_unpack_call,
)


def _pack_placement(row: PlacementRow, to: PackContext) -> tuple[Any, ...]:
    if row.category is None:
        return row.message, None, None, None, None, None, None, None, None
    number = to.numbers
    return (
        row.message, number[row.category], number[row.name], number[row.state], row.duration_ms,
        number[row.hook], pack_text(row.tool_use_id), row.time, row.reached,
    )  # fmt: skip


def _unpack_placement(cells: Cells, of: UnpackContext) -> PlacementRow:
    index, source, message, category, name, state, duration_ms, hook, tool_use_id, time, reached = cells
    if category is None:
        return PlacementRow(index=index, source=of.source(source), message=message)
    word = of.words
    return PlacementRow(
        index=index, source=of.source(source), message=message, category=word[category], name=word[name],
        state=word[state], duration_ms=duration_ms, hook=word[hook], tool_use_id=unpack_text(tool_use_id),
        time=time, reached=reached,
    )  # fmt: skip


PLACEMENTS: Kind[PlacementRow] = Kind(
    number=6,
    table="placements",
    columns="message, category, name, state, duration_ms, hook, tool_use_id, time, reached",
    pack=_pack_placement,
    unpack=_unpack_placement,
    is_slight=True,
)


def _pack_turn(row: TurnRow, _: PackContext) -> tuple[Any, ...]:
    return (
        row.prompt, row.messages, row.calls, row.agents, row.files_changed, row.started, row.ended,
        row.duration_ms, row.input_tokens, row.output_tokens, row.cost,
    )  # fmt: skip


def _unpack_turn(cells: Cells, _: UnpackContext) -> TurnRow:
    index, _source, *values = cells
    return TurnRow(index=index, **dict(zip(TURNS.names, values, strict=True)))


TURNS: Kind[TurnRow] = Kind(
    number=3,
    table="turns",
    columns=(
        "prompt, messages, calls, agents, files_changed, started, ended, duration_ms, input_tokens, "
        "output_tokens, cost"
    ),
    pack=_pack_turn,
    unpack=_unpack_turn,
)


def _pack_agent(row: AgentRow, to: PackContext) -> tuple[Any, ...]:
    number = to.numbers
    return (
        pack_text(row.id), number[row.state], row.depth, row.inline, row.background, to.source(row.file),
        pack_text(row.parent_id), pack_text(row.run_id), number[row.type], row.description, row.call,
        to.source(row.call_source), number[row.linked_by],
    )  # fmt: skip


def _unpack_agent(cells: Cells, of: UnpackContext) -> AgentRow:
    (
        index, _source, id, state, depth, inline, background, file, parent_id, run_id, type, description, call,
        call_source, linked_by,
    ) = cells  # fmt: skip
    word = of.words
    return AgentRow(
        index=index, id=unpack_text(id), state=word[state], depth=depth, inline=bool(inline),
        background=bool(background), file=of.source(file), parent_id=unpack_text(parent_id),
        run_id=unpack_text(run_id), type=word[type], description=description, call=call,
        call_source=of.source(call_source), linked_by=word[linked_by],
    )  # fmt: skip


AGENTS: Kind[AgentRow] = Kind(
    number=4,
    table="agents",
    columns=(
        "id, state, depth, inline, background, file, parent_id, run_id, type, description, call, call_source, "
        "linked_by"
    ),
    pack=_pack_agent,
    unpack=_unpack_agent,
)


def _pack_sighting(row: SightingRow, to: PackContext) -> tuple[Any, ...]:
    number = to.numbers
    return (
        row.message_id, number[row.session_id], row.offset, row.time, number[row.model], row.input, row.output,
        row.cache_read, row.cache_write_5m, row.cache_write_1h, row.web_searches, row.ended,
        number[row.service_tier], number[row.speed], number[row.inference_geo], number[row.agent],
        number[row.agent_id], number[row.skill], number[row.plugin], number[row.mcp_server],
        number[row.mcp_tool],
    )  # fmt: skip


def _unpack_sighting(cells: Cells, of: UnpackContext) -> SightingRow:
    (
        index, source, message_id, session_id, start, time, model, input, output, cache_read, cache_write_5m,
        cache_write_1h, web_searches, ended, service_tier, speed, inference_geo, agent, agent_id, skill, plugin,
        mcp_server, mcp_tool,
    ) = cells  # fmt: skip
    word = of.words
    return SightingRow(
        index=index, message_id=message_id, session_id=word[session_id], source=of.source(source), offset=start,
        time=time, model=word[model], input=input, output=output, cache_read=cache_read,
        cache_write_5m=cache_write_5m, cache_write_1h=cache_write_1h, web_searches=web_searches,
        ended=bool(ended), service_tier=word[service_tier], speed=word[speed],
        inference_geo=word[inference_geo], agent=word[agent], agent_id=word[agent_id], skill=word[skill],
        plugin=word[plugin], mcp_server=word[mcp_server], mcp_tool=word[mcp_tool],
    )  # fmt: skip


SIGHTINGS: Kind[SightingRow] = Kind(
    number=5,
    table="sightings",
    columns=(
        "message_id, session_id, start, time, model, input, output, cache_read, "
        "cache_write_5m, cache_write_1h, web_searches, ended, service_tier, speed, inference_geo, "
        "agent, agent_id, skill, plugin, mcp_server, mcp_tool"
    ),
    pack=_pack_sighting,
    unpack=_unpack_sighting,
)


def _pack_session(row: SessionRow, to: PackContext) -> tuple[Any, ...]:
    title_key = None if row.title is None else row.title.casefold()
    return (
        to.owner, pack_text(row.session_id), row.title, title_key, pack_text(row.project), row.first_time,
        row.last_time, row.prompts, row.answers, row.calls, row.agents, row.lines, row.problems,
        row.input_tokens, row.output_tokens, row.cost, len(row.summary), compress(row.summary),
        row.messages, row.errors, _join(row.models), _join(row.branches), row.series,
    )  # fmt: skip


def _unpack_session(cells: Cells, _: UnpackContext) -> SessionRow:
    (
        index, _source, _owner, session_id, title, _key, project, first_time, last_time, prompts, answers,
        calls, agents, lines, problems, input_tokens, output_tokens, cost, length, summary, messages, errors,
        models, branches, series,
    ) = cells  # fmt: skip
    return SessionRow(
        index=index, session_id=unpack_text(session_id), title=title, project=unpack_text(project),
        first_time=first_time, last_time=last_time, prompts=prompts, answers=answers, calls=calls,
        agents=agents, lines=lines, problems=problems, input_tokens=input_tokens,
        output_tokens=output_tokens, cost=cost, summary=decompress(summary, length), messages=messages,
        errors=errors, models=_split(models), branches=_split(branches), series=series,
    )  # fmt: skip


SESSIONS: Kind[SessionRow] = Kind(
    number=0,
    table="summaries",
    columns=(
        "owner, session_id, title, title_key, project, first_time, last_time, prompts, answers, "
        "calls, agents, lines, problems, input_tokens, output_tokens, cost, summary_length, summary, "
        "messages, errors, models, branches, series"
    ),
    pack=_pack_session,
    unpack=_unpack_session,
)

DERIVED_TABLES: dict[str, int] = {
    kind.table: kind.number for kind in (SESSIONS, MESSAGES, CALLS, PLACEMENTS, TURNS, AGENTS, SIGHTINGS)
}
"""The tables of all kinds, with their numbers."""


_joined: dict[tuple[str, ...], str] = {}
_types: dict[str, tuple[str, ...]] = {}


def _join(types: tuple[str, ...]) -> str:
    """Return several words as one; there are few combinations."""
    text = _joined.get(types)
    if text is None:
        text = _joined[types] = json.encode(types).decode()
    return text


def _split(text: str) -> tuple[str, ...]:
    types = _types.get(text)
    if types is None:
        types = _types[text] = json.decode(text, type=tuple[str, ...])
    return types

"""Whose lines and calls are whose, before it is known who started whom."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from turnlog.messages import Line
from turnlog.transcripts.agents.agent import AgentSource
from turnlog.transcripts.agents.call_index import key_of
from turnlog.transcripts.agents.inline import Chain
from turnlog.transcripts.calls.call import Call


def gather_agents(
    main: Sequence[Line], calls: Sequence[Call], chains: Sequence[Chain], sources: Sequence[AgentSource]
) -> tuple[Sequence[Call], list[tuple[AgentSource, Chain | None]]]:
    """Return the calls of the main conversation alone, and the agents, each with its own lines and calls.

    Lines of an agent that has a file of its own go there, unless it has them already.
    """
    if not chains:
        return calls, [(source, None) for source in sources]
    owner = {id(main[position]): i for i, chain in enumerate(chains) for position in chain.positions}
    shares: dict[int | None, list[Call]] = {}
    for call in calls:
        shares.setdefault(owner.get(id(call.place.line)), []).append(call)
    filed: dict[str | None, int] = {}
    for index, source in enumerate(sources):
        filed.setdefault(source.agent_id, index)
    files = list(sources)
    alone: list[tuple[AgentSource, Chain | None]] = []
    for i, chain in enumerate(chains):
        lines = [main[position] for position in chain.positions]
        target = filed.get(chain.agent_id)
        if target is None:
            alone.append((AgentSource(chain.id, tuple(lines), tuple(shares.get(i, ()))), chain))
        else:
            files[target] = _extend(files[target], lines, shares.get(i, ()))
    return shares.get(None, ()), [*alone, *((source, None) for source in files)]


def _extend(source: AgentSource, lines: Sequence[Line], calls: Sequence[Call]) -> AgentSource:
    uuids = {uuid for line in source.lines if isinstance(uuid := getattr(line.entry, "uuid", None), str)}
    keys = {key_of(call) for call in source.calls}
    return replace(
        source,
        lines=(*source.lines, *(line for line in lines if getattr(line.entry, "uuid", None) not in uuids)),
        calls=(*source.calls, *(call for call in calls if key_of(call) not in keys)),
    )

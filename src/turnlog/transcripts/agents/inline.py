"""Sub-agents whose lines stand among those of the main conversation.

Old files flag such lines (`isSidechain`), the stream names the call that started the agent. Where lines name
their agent they belong together; else those do that follow each other. A prompt that follows the call of an
agent begins another one, even inside an agent. Spec 003 flags every call and every result that it stores: those
are an agent's only where they follow what one said.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from turnlog.messages import Line
from turnlog.messages.entries import UserEntry
from turnlog.transcripts.conversation.lineage import cut_circles
from turnlog.transcripts.lines.blocks import find_stored_type, is_call, is_result, list_blocks

_Key = tuple[str, str | int]
"""By what lines belong together, and its value."""


class Chain(Struct, frozen=True, gc=False):
    """The lines of one agent among others."""

    id: str
    """What the lines call their agent; else the call that started it, or the first uuid."""
    positions: tuple[int, ...]
    agent_id: str | None = None
    tool_use_id: str | None = None
    """The call that started it, as the stream says."""
    parents: tuple[str, ...] = ()
    """What the first line follows, by uuid: the best first."""


def list_chains(lines: Sequence[Line], callers: Collection[str]) -> list[Chain]:
    """Return the agents among some lines, in order; `callers` are the uuids of lines that call agents."""
    flagged: list[int] = []
    groups: dict[_Key, list[int]] = {}
    for position, line in enumerate(lines):
        flag = getattr(line.entry, "is_sidechain", line)
        if flag is True:
            flagged.append(position)
        elif flag is line and (call := _find_text(line, "parent_tool_use_id")) is not None:  # the stream
            groups.setdefault(("call", call), []).append(position)
    for position, key in zip(flagged, _list_keys(lines, flagged, callers), strict=True):
        groups.setdefault(key, []).append(position)
    chains = [_build(lines, key, positions) for key, positions in groups.items() if _speaks(lines, positions)]
    return sorted(chains, key=lambda chain: chain.positions[0])


def _list_keys(lines: Sequence[Line], flagged: list[int], callers: Collection[str]) -> list[_Key]:
    """Return for each flagged line to which agent it belongs: by name, or by its first line."""
    parents = _list_parents(lines, flagged, callers)
    cut_circles(parents)
    names = (_find_text(lines[position], "agent_id") for position in flagged)
    keys: list[_Key | None] = [None if name is None else ("agent", name) for name in names]
    for start in range(len(flagged)):
        trail: list[int] = []
        at: int | None = start
        while at is not None and keys[at] is None:
            trail.append(at)
            at = parents[at]
        found = None if at is None else keys[at]
        for index in trail:
            keys[index] = found or ("chain", trail[-1])
    return [key for key in keys if key is not None]


def _list_parents(lines: Sequence[Line], flagged: list[int], callers: Collection[str]) -> list[int | None]:
    by_uuid: dict[str, int] = {}
    parents: list[int | None] = []
    for index, position in enumerate(flagged):
        uuid = _find_text(lines[position], "uuid")
        first = by_uuid.setdefault(uuid, index) if uuid is not None else index
        parents.append(None if first == index else first)  # a copy belongs where the first one does
    for index, position in enumerate(flagged):
        told = _find_text(lines[position], "parent_uuid")
        if parents[index] is None and told is not None:
            begins = told in callers and _is_prompt(lines[position])
            parents[index] = None if begins else by_uuid.get(told)
    return parents


def _is_prompt(line: Line) -> bool:
    return isinstance(line.entry, UserEntry) and not any(is_result(block) for block in list_blocks(line.entry))


def _speaks(lines: Sequence[Line], positions: list[int]) -> bool:
    """Tell whether there is more than stored calls and results, which prove no agent."""
    return not all(_is_stored_tool(lines[position]) for position in positions)


def _is_stored_tool(line: Line) -> bool:
    if find_stored_type(line) is None:
        return False
    return any(is_call(block) or is_result(block) for block in list_blocks(line.entry))


def _build(lines: Sequence[Line], key: _Key, positions: list[int]) -> Chain:
    kind, name = key
    first = lines[positions[0]]
    named = next((found for at in positions if (found := _find_text(lines[at], "agent_id"))), None)
    uuids = (_find_text(lines[at], "uuid") for at in positions)
    made_up = name if kind == "call" else next((uuid for uuid in uuids if uuid is not None), None)
    links = (_find_text(first, field) for field in ("sidechain_parent_uuid", "parent_uuid"))
    return Chain(
        id=named or str(made_up or f"line-{positions[0]}"),
        positions=tuple(positions),
        agent_id=named,
        tool_use_id=str(name) if kind == "call" else None,
        parents=tuple(link for link in links if link is not None),
    )


def _find_text(line: Line, field: str) -> str | None:
    value = getattr(line.entry, field, None)
    return value if isinstance(value, str) else None

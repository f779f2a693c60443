"""How each kind of derived row stands in its table: the columns that queries look for, and the whole row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct

from turnlog.store.packing import Cells, pack_row, pack_text
from turnlog.store.rows import (
    AgentRow,
    CallRow,
    DerivedRow,
    MessageRow,
    PlacementRow,
    SightingRow,
    TurnRow,
)

__all__ = ["AGENTS", "CALLS", "KINDS", "MESSAGES", "PLACEMENTS", "SIGHTINGS", "TURNS", "Kind", "Sources"]

R = TypeVar("R", bound=DerivedRow)
Sources = Mapping[str, int]
"""The numbers of a session's own files, by their names."""

_BEFORE = {"month": "int4", "session": "int8", "source": "int8", "idx": "int8", "revision": "int8"}
_ELSEWHERE = 0
"""Stands for a file of another session."""


class Kind(Struct, Generic[R], frozen=True, kw_only=True):
    """One kind of derived rows."""

    number: int
    """By which `digests` knows it; it never changes."""
    table: str
    type: type[R]
    looked_for: str = ""
    """The columns that queries look for, each with its type."""
    pick: Callable[[R, Sources], Cells] = lambda row, sources: ()
    """Returns what these columns have."""

    @property
    def columns(self) -> dict[str, str]:
        """All columns with their types."""
        looked_for = dict(each.split() for each in self.looked_for.split(", ") if each)
        return {**_BEFORE, **looked_for, "row": "bytea"}

    def pack(self, row: R, sources: Sources) -> Cells:
        """Return the cells behind `revision`."""
        return *self.pick(row, sources), pack_row(row)


def _pick_message(row: MessageRow, _: Sources) -> Cells:
    return (
        pack_text(row.id), row.role, row.lane, row.category, pack_text(row.agent_id), row.parent, row.branch,
        row.active, row.turn, row.reached,
    )  # fmt: skip


def _pick_call(row: CallRow, sources: Sources) -> Cells:
    at, result = row.at, row.result_at
    found: tuple[int | None, int | None, int | None] = (None, None, None)
    if result is not None:
        found = sources.get(result.source, _ELSEWHERE), result.generation, result.offset
    elsewhere = None if at.source == row.source else sources.get(at.source, _ELSEWHERE)
    return (
        pack_text(row.id), pack_text(row.name), row.category, row.state, elsewhere, at.generation, at.offset,
        row.block, row.message, *found, row.result_block, pack_text(row.path), row.started, row.ended, row.line,
        row.reached,
    )  # fmt: skip


def _pick_placement(row: PlacementRow, _: Sources) -> Cells:
    return (
        row.message, row.category, pack_text(row.name), row.state, row.duration_ms, pack_text(row.hook),
        pack_text(row.tool_use_id), row.time, row.reached,
    )  # fmt: skip


def _pick_agent(row: AgentRow, _: Sources) -> Cells:
    return pack_text(row.id), pack_text(row.type)


def _pick_sighting(row: SightingRow, _: Sources) -> Cells:
    return (pack_text(row.message_id),)


MESSAGES: Kind[MessageRow] = Kind(
    number=1,
    table="messages",
    type=MessageRow,
    looked_for=(
        "id bytea, role text, lane text, category text, agent bytea, parent int8, branch int8, active bool, "
        "turn int8, reached int8"
    ),
    pick=_pick_message,
)
CALLS: Kind[CallRow] = Kind(
    number=2,
    table="calls",
    type=CallRow,
    looked_for=(
        "id bytea, name bytea, category text, state text, at_source int8, generation int8, start int8, "
        "block int8, message int8, result_source int8, result_generation int8, result_start int8, "
        "result_block int8, path bytea, started int8, ended int8, line int8, reached int8"
    ),
    pick=_pick_call,
)
PLACEMENTS: Kind[PlacementRow] = Kind(
    number=6,
    table="placements",
    type=PlacementRow,
    looked_for=(
        "message int8, category text, name bytea, state text, duration_ms int8, hook bytea, "
        "tool_use_id bytea, time int8, reached int8"
    ),
    pick=_pick_placement,
)
TURNS: Kind[TurnRow] = Kind(number=3, table="turns", type=TurnRow)
AGENTS: Kind[AgentRow] = Kind(
    number=4, table="agents", type=AgentRow, looked_for="id bytea, type bytea", pick=_pick_agent
)
SIGHTINGS: Kind[SightingRow] = Kind(
    number=5, table="sightings", type=SightingRow, looked_for="message_id bytea", pick=_pick_sighting
)

KINDS: tuple[Kind[Any], ...] = (MESSAGES, CALLS, PLACEMENTS, TURNS, AGENTS, SIGHTINGS)
"""All kinds but the session itself, which is a row of the lists."""

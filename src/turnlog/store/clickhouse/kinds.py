"""The kinds of derived rows in `rows`: the columns that queries look for, and the whole row."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Generic, TypeVar

from msgspec import Struct

from turnlog.store.clickhouse.ids import NOWHERE, number
from turnlog.store.clickhouse.schema import ROWS
from turnlog.store.packing import Cells, pack_text
from turnlog.store.rows import (
    AgentRow,
    CallRow,
    DerivedRow,
    MessageRow,
    PlacementRow,
    SightingRow,
    TurnRow,
)

__all__ = [
    "AGENTS",
    "CALLS",
    "CHAPTER_KINDS",
    "KINDS",
    "MESSAGES",
    "PLACEMENTS",
    "SESSION_KINDS",
    "SIGHTINGS",
    "TURNS",
    "WHOLE_SESSION",
    "Kind",
    "digest_packed",
]

R = TypeVar("R", bound=DerivedRow)

WHOLE_SESSION = NOWHERE
"""The source of rows that are of no chapter."""
_FIRST = "id"
"""The first of the columns that queries look for."""
_SIZE = 8
"""Of a row's digest."""
_number = lru_cache(maxsize=1024)(number)
"""Of files: the calls of one are mostly in that one."""


class Kind(Struct, Generic[R], frozen=True, kw_only=True):
    """One kind of derived rows."""

    number: int
    """By which `rows` knows it; it never changes."""
    name: str
    type: type[R]
    pick: Callable[[R, str], Cells]
    """Returns the cells of an owner's row from `id` on."""


def digest_packed(packed: bytes) -> int:
    """Return by what a row is compared with what is there."""
    return int.from_bytes(blake2b(packed, digest_size=_SIZE).digest(), "big")


def _pick_message(row: MessageRow, _: str) -> Cells:
    return (
        pack_text(row.id), None, row.role, row.lane, row.category, "", pack_text(row.agent_id), None,
        row.parent, row.branch, row.active, row.turn, None, row.reached, *_NOT_PLACED, *_NOT_TIMED, NOWHERE,
    )  # fmt: skip


def _pick_call(row: CallRow, owner: str) -> Cells:
    at, result = row.at, row.result_at
    found: tuple[int | None, int, int] = (None, 0, 0)
    if result is not None:
        found = _number(owner, result.source), result.generation, result.offset
    return (
        pack_text(row.id), pack_text(row.name), "", "", row.category, row.state, None, None, None, 0, False,
        None, row.message, row.reached, row.line, _number(owner, at.source), at.generation, at.offset,
        row.block, *found, row.result_block, pack_text(row.path), row.started, row.ended, None, None, None,
        None, NOWHERE,
    )  # fmt: skip


def _pick_placement(row: PlacementRow, _: str) -> Cells:
    return (
        None, pack_text(row.name), "", "", row.category, row.state or "", None, None, None, 0, False, None,
        row.message, row.reached, *_NOT_PLACED, None, None, None, row.duration_ms, pack_text(row.hook),
        pack_text(row.tool_use_id), row.time, NOWHERE,
    )  # fmt: skip


def _pick_agent(row: AgentRow, _: str) -> Cells:
    return (pack_text(row.id), *_BEFORE_TYPE, pack_text(row.type), *_BEHIND_TYPE)


def _pick_turn(_: TurnRow, __: str) -> Cells:
    return NOTHING


def _pick_sighting(row: SightingRow, owner: str) -> Cells:
    return *NOTHING[:-1], number(owner, row.message_id)


_NOT_PLACED = (0, NOWHERE, 0, 0, 0, None, 0, 0, None)
"""From `line` to `result_block`."""
_NOT_TIMED = (None, None, None, None, None, None, None)
"""From `path` to `time`."""
NOTHING: Cells = (
    None, None, "", "", None, "", None, None, None, 0, False, None, None, None, *_NOT_PLACED, *_NOT_TIMED,
    NOWHERE,
)  # fmt: skip
"""What a row has that nobody looks for."""
_TYPE_AT = ROWS.names.index("agent_type") - ROWS.names.index(_FIRST)
_BEFORE_TYPE, _BEHIND_TYPE = NOTHING[1:_TYPE_AT], NOTHING[_TYPE_AT + 1 :]

MESSAGES: Kind[MessageRow] = Kind(number=1, name="messages", type=MessageRow, pick=_pick_message)
CALLS: Kind[CallRow] = Kind(number=2, name="calls", type=CallRow, pick=_pick_call)
PLACEMENTS: Kind[PlacementRow] = Kind(number=3, name="placements", type=PlacementRow, pick=_pick_placement)
TURNS: Kind[TurnRow] = Kind(number=4, name="turns", type=TurnRow, pick=_pick_turn)
AGENTS: Kind[AgentRow] = Kind(number=5, name="agents", type=AgentRow, pick=_pick_agent)
SIGHTINGS: Kind[SightingRow] = Kind(number=6, name="sightings", type=SightingRow, pick=_pick_sighting)

SESSION_KINDS: tuple[Kind[Any], ...] = (TURNS, AGENTS)
CHAPTER_KINDS: tuple[Kind[Any], ...] = (MESSAGES, CALLS, PLACEMENTS, SIGHTINGS)
KINDS: tuple[Kind[Any], ...] = (*CHAPTER_KINDS, *SESSION_KINDS)
"""All kinds but the session itself, which is a row of `sessions`."""

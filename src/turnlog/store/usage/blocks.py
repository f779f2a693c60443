"""Blocks of five hours, as limits of subscriptions count them.

A block begins with the hour of UTC in which its first answer came, and ends five hours later; the next one
begins with the next answer. So whatever gap there is, no block is longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo

from msgspec import Struct

from turnlog.instants import from_microseconds, to_microseconds
from turnlog.store.usage.cells import QUARTER, UsageCell
from turnlog.store.usage.report import BlockState
from turnlog.store.usage.tallies import Tally, time_text
from turnlog.transcripts.usage.charges import to_dollars

__all__ = ["Limit", "build_blocks"]

_HOUR = 3_600_000_000 // QUARTER
_BLOCK = 5 * _HOUR
_MINUTE = 60_000_000

Block = tuple[str, BlockState, list[UsageCell]]


class Limit(Struct, frozen=True, gc=False):
    """How much a block may use: tokens of all kinds, or money in pico-dollars."""

    tokens: int | None = None
    cost: int | None = None


def build_blocks(
    cells: Iterable[UsageCell], zone: tzinfo, now: datetime, limit: Limit | None
) -> Iterator[Block]:
    """Yield the blocks by time, each with its name in a time zone; cells without a time are in none."""
    current = to_microseconds(now)
    for start, group in _gather(cells):
        yield _name(start, zone), _build_state(start, group, current, limit), group


def _gather(cells: Iterable[UsageCell]) -> Iterator[tuple[int, list[UsageCell]]]:
    timed = sorted(((cell.slot, cell) for cell in cells if cell.slot is not None), key=lambda item: item[0])
    start, group = 0, list[UsageCell]()
    for slot, cell in timed:
        if group and slot >= start + _BLOCK:
            yield start, group
            group = []
        if not group:
            start = slot // _HOUR * _HOUR
        group.append(cell)
    if group:
        yield start, group


def _build_state(start: int, cells: list[UsageCell], now: int, limit: Limit | None) -> BlockState:
    begin, end = start * QUARTER, (start + _BLOCK) * QUARTER
    active = begin <= now < end
    tally = Tally(cells)
    tokens, cost, rate = tally.tokens, tally.cost, 0
    left = end - now if active else 0
    if active:
        elapsed = max(now - (tally.first or begin), _MINUTE)
        rate = tokens * _MINUTE // elapsed
        tokens += tokens * left // elapsed
        cost += cost * left // elapsed
    return BlockState(
        start=time_text(begin) or "",
        end=time_text(end) or "",
        active=active,
        minutes_left=-(-left // _MINUTE),
        tokens_per_minute=rate,
        projected_tokens=tokens,
        projected_usd=to_dollars(cost),
        limit_used=_part(tally.tokens, tally.cost, limit),
        limit_projected=_part(tokens, cost, limit),
    )


def _part(tokens: int, cost: int, limit: Limit | None) -> float | None:
    if limit is None:
        return None
    parts = [used / most for used, most in ((tokens, limit.tokens), (cost, limit.cost)) if most]
    return round(max(parts), 4) if parts else None


def _name(start: int, zone: tzinfo) -> str:
    try:
        moment = from_microseconds(start * QUARTER)
        return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M")
    except OverflowError:
        return time_text(start * QUARTER) or ""

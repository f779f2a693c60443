"""What stores keep of usage, made into the values of reports: the same for every engine.

A store keeps answers by group, and what they come to in quarters of an hour.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct

from turnlog.store.usage.cells import Home, UsageCell, slot_of
from turnlog.store.usage.report import ReportedCost

__all__ = ["NO_SLOT", "UsageGroup", "build_answer", "build_stored_cell", "choose_reported"]

NO_SLOT = -(1 << 62)
"""Stands for the quarter of an hour of answers without a time."""


class UsageGroup(Struct, frozen=True, gc=False):
    """What answers are counted by, besides the time."""

    home: Home
    session: str
    model: str | None
    agent: str | None
    skill: str | None
    mcp_server: str | None
    terms: str


def build_stored_cell(group: UsageGroup, slot: int, amounts: Sequence[Any]) -> UsageCell:
    """Return a cell of its row: messages, incomplete, unpriced, tokens, searches, cost, saved, first, last."""
    (
        messages, incomplete, unpriced, input, output, cache_read, cache_write_5m, cache_write_1h, web_searches,
        cost, saved, first, last,
    ) = amounts  # fmt: skip
    return UsageCell(
        slot=None if slot == NO_SLOT else slot, session=group.session, home=group.home, model=group.model,
        agent=group.agent, skill=group.skill, mcp_server=group.mcp_server, terms=group.terms, messages=messages,
        incomplete=incomplete, unpriced=unpriced, input=input, output=output, cache_read=cache_read,
        cache_write_5m=cache_write_5m, cache_write_1h=cache_write_1h, web_searches=web_searches, cost=cost,
        saved=saved, first=first, last=last,
    )  # fmt: skip


def build_answer(group: UsageGroup, time: int | None, flags: int, counts: Sequence[int]) -> UsageCell:
    """Return the cell of one answer; its flags are 1 for incomplete and 2 for unpriced."""
    slot = slot_of(time)
    amounts = (1, flags & 1, flags >> 1, *counts, time, time)
    return build_stored_cell(group, NO_SLOT if slot is None else slot, amounts)


def choose_reported(found: Iterable[ReportedCost]) -> list[ReportedCost]:
    """Return what the program says of each session once, by id; of copies, the one that has run furthest."""
    best: dict[str, ReportedCost] = {}
    for reported in found:
        known = best.get(reported.session)
        if known is None or _by_amount(reported) > _by_amount(known):
            best[reported.session] = reported
    return [best[session] for session in sorted(best)]


def _by_amount(reported: ReportedCost) -> tuple[Decimal, Decimal]:
    return reported.cost_usd, reported.computed_usd

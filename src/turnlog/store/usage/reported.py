"""What the program itself says that a session cost, taken out of its summary."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

import msgspec
from msgspec import Struct

from turnlog.store.usage.report import ReportedCost

__all__ = ["read_reported"]


class _Counts(Struct, frozen=True, gc=False):
    types: dict[str, int] = {}


class _Summary(Struct, frozen=True, gc=False):
    """What matters of `transcripts.Summary`."""

    id: str | None = None
    counts: _Counts = _Counts()
    cost: Decimal | None = None
    reported_cost: Decimal | None = None


_decode = msgspec.json.Decoder(_Summary).decode


def read_reported(summary: bytes) -> ReportedCost | None:
    """Return what a summary (`transcripts.Summary` as JSON) has of it; None if nothing."""
    try:
        found = _decode(summary)
    except msgspec.DecodeError:  # not a summary of ours
        return None
    if found.reported_cost is None or found.id is None:
        return None
    source: Literal["cost-state", "result"] = "cost-state" if "cost-state" in found.counts.types else "result"
    return ReportedCost(found.id, source, found.reported_cost, found.cost or Decimal(0))

"""Where usage comes from: an archive, or files as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from turnlog.store.usage.cells import UsageCell
from turnlog.store.usage.grouping import UsageQuery
from turnlog.store.usage.report import ReportedCost
from turnlog.store.usage.tools import AnswerCell, CallUse, ToolSum
from turnlog.transcripts.usage.price_list import PriceTable

__all__ = ["SummingSource", "ToolSums", "UsageSource", "UsageSums"]


class UsageSource(Protocol):
    """All that reports of usage are made of; every answer is in it once."""

    def list_cells(self) -> list[UsageCell]:
        """Return what answers used, in cells of any size."""

    def list_answers(self) -> list[AnswerCell]:
        """Return what each answer used."""

    def list_calls(self) -> list[CallUse]:
        """Return the calls of all files."""

    def list_reported(self) -> list[ReportedCost]:
        """Return what Claude Code itself says that sessions cost, each session once."""

    def find_prices(self) -> PriceTable | None:
        """Return by which prices the costs are; None if nothing had to be priced."""

    def count_files(self) -> int:
        """Return how many files it comes from."""


class UsageSums(Struct, frozen=True, gc=False, kw_only=True):
    """What counts for a report, added up so far that no two cells need be told apart any more."""

    cells: Sequence[UsageCell]
    """Those of the rows; only what the report asks for is told of them."""
    others: Sequence[UsageCell] = ()
    """Those of rows that are left out."""
    left_out: int = 0
    """How many rows these are."""
    sessions: frozenset[str] | None = None
    """The sessions that count, as far as the program itself says what they cost; None if all do."""


class ToolSums(Struct, frozen=True, gc=False, kw_only=True):
    """What counts for a report by tool, added up likewise."""

    parts: Sequence[ToolSum]
    sessions: frozenset[str] | None = None
    """As those of `UsageSums`."""


@runtime_checkable
class SummingSource(UsageSource, Protocol):
    """Where usage is added up before it comes from there."""

    def add_up(self, query: UsageQuery) -> UsageSums:
        """Return what a report is made of, unless it is by tool."""

    def add_up_tools(self, query: UsageQuery) -> ToolSums:
        """Return what a report by tool is made of."""

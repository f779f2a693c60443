"""Where usage comes from: an archive, or files as they are."""

from __future__ import annotations

from typing import Protocol

from turnlog.store.usage.cells import UsageCell
from turnlog.store.usage.report import ReportedCost
from turnlog.store.usage.tools import AnswerCell, CallUse
from turnlog.transcripts.usage.price_list import PriceTable

__all__ = ["UsageSource"]


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

"""Where usage comes from: an archive, or files as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from turnlog.store.usage.cells import UsageCell
from turnlog.store.usage.report import ReportedCost
from turnlog.store.usage.tools import AnswerCell, CallUse
from turnlog.transcripts.usage.price_list import PriceTable

__all__ = ["AnswerUse", "StoredUsage", "UsageSource"]


class AnswerUse(Struct, frozen=True, gc=False, kw_only=True):
    """What one answer of the model used, as it is counted."""

    message_id: str
    """The API's id, or what stands for it."""
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: int | None
    """In pico-dollars; None if its model has no price."""


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


class StoredUsage(UsageSource, Protocol):
    """The usage of an archive, which can be asked about answers one by one."""

    def find_answers(self, ids: Sequence[str]) -> list[AnswerUse]:
        """Return what answers used, those that are known, in the order of their ids."""

    def find_version(self, key: str) -> int:
        """Return a number that is another one as soon as `find_answers` tells otherwise of a session's answers.

        Answers stand in several sessions, and each counts once: what it used may change with a session that
        is not this one, whose revision stays as it is.
        """

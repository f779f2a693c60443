"""What can be asked about usage."""

from __future__ import annotations

from turnlog.store.clickhouse.reading import Reading
from turnlog.store.clickhouse.usage_prices import find_prices
from turnlog.store.clickhouse.usage_schema import COUNTED, WORDS
from turnlog.store.clickhouse.usage_sums import add_up
from turnlog.store.clickhouse.usage_tools import CALLS, add_up_tools
from turnlog.store.control.interface import Control
from turnlog.store.packing import Cells, unpack_row, unpack_text, unpack_uuid
from turnlog.store.rows import SessionRow
from turnlog.store.usage.cells import Home, UsageCell
from turnlog.store.usage.grouping import UsageQuery
from turnlog.store.usage.report import ReportedCost
from turnlog.store.usage.reported import read_reported
from turnlog.store.usage.source import ToolSums, UsageSums
from turnlog.store.usage.stored import (
    UsageGroup,
    build_answer,
    build_stored_cell,
    choose_reported,
    name_answer,
)
from turnlog.store.usage.tools import FAILED, AnswerCell, CallUse
from turnlog.transcripts.usage.price_list import PriceTable

__all__ = ["ClickHouseUsage"]

_WORDS = len(WORDS)
_HOMES = "SELECT session, key, project, title, person, origin FROM summaries FINAL"
_CELLS = f"""
SELECT session, {", ".join(f"any(u.{name})" for name in WORDS)}, slot,
    {", ".join(f"sum(u.{name}) AS {name}" for name in ("messages", "incomplete", "unpriced", *COUNTED))},
    min(u.first), max(u.last)
FROM usage_rollup AS u GROUP BY session, slot, digest HAVING messages > 0
"""
_ANSWERS = (
    f"SELECT session, {', '.join(WORDS)}, message_id, time, flags, {', '.join(COUNTED)} FROM answers FINAL"
)
_CALLS = f"{CALLS} ORDER BY source, idx"
_REPORTED = """
SELECT row FROM sessions FINAL WHERE id IN (SELECT session FROM summaries FINAL WHERE tells_cost)
"""
_FILES = "SELECT count() FROM sources FINAL WHERE kind IN ('transcript', 'agent')"


class ClickHouseUsage:
    """The usage of one owner's sessions."""

    def __init__(self, reading: Reading, control: Control) -> None:
        self._reading = reading
        self._control = control

    def list_cells(self) -> list[UsageCell]:
        """Return what answers used, in quarters of an hour."""
        rows = self._reading.query(_CELLS)
        homes = self._list_homes()
        return [
            build_stored_cell(_build_group(homes[session], words), slot, amounts)
            for session, *rest in rows
            if session in homes
            for words, (slot, *amounts) in [(rest[:_WORDS], rest[_WORDS:])]
        ]

    def add_up(self, query: UsageQuery) -> UsageSums:
        """Return what a report is made of, unless it is by tool; the server adds it up."""
        return add_up(self._reading, query)

    def add_up_tools(self, query: UsageQuery) -> ToolSums:
        """Return what a report by tool is made of; the server adds it up."""
        return add_up_tools(self._reading, query)

    def list_answers(self) -> list[AnswerCell]:
        """Return what each answer used."""
        rows = self._reading.query(_ANSWERS)
        homes = self._list_homes()
        return [
            AnswerCell(
                unpack_text(message), build_answer(_build_group(homes[session], words), time, flags, counts)
            )
            for session, *rest in rows
            if session in homes
            for words, (message, time, flags, *counts) in [(rest[:_WORDS], rest[_WORDS:])]
        ]

    def list_calls(self) -> list[CallUse]:
        """Return the calls of all files."""
        rows = self._reading.query(_CALLS)
        homes = self._list_homes()
        return [_build_call(homes[row[0]], row) for row in rows if row[0] in homes]

    def list_reported(self) -> list[ReportedCost]:
        """Return what Claude Code itself says that sessions cost; of copies, the one that has run furthest."""
        rows = self._reading.query(_REPORTED)
        found = (read_reported(unpack_row(SessionRow, row).summary) for (row,) in rows)
        return choose_reported(each for each in found if each is not None)

    def find_prices(self) -> PriceTable | None:
        """Return by which prices the costs are."""
        return find_prices(self._control)

    def count_files(self) -> int:
        """Return how many files of lines there are."""
        [(count,)] = self._reading.query(_FILES)
        return int(count)

    def _list_homes(self) -> dict[int, Home]:
        """Return where answers' owners stand, by the numbers of sessions."""
        return {session: Home(*map(unpack_text, cells)) for session, *cells in self._reading.query(_HOMES)}


def _build_group(home: Home, words: list[bytes | None]) -> UsageGroup:
    return UsageGroup(home, *map(unpack_text, words))


def _build_call(home: Home, row: Cells) -> CallUse:
    _, source, index, call_id, name, state, started, ended, is_line, message, uuid, start, at_source = row
    found = None
    if is_line:
        found = name_answer(unpack_text(message), unpack_uuid(uuid), start, unpack_text(at_source))
    return CallUse(
        message=found,
        id=unpack_text(call_id),
        name=unpack_text(name),
        failed=unpack_text(state) in FAILED,
        started=started,
        ended=ended,
        source=unpack_text(source),
        order=index,
        person=home.person,
    )

"""The usage of files as they are, without an archive."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress

from turnlog.cli.files import Found, path_text, warn
from turnlog.cli.usage_scan import ScannedFile, Showing, scan_files
from turnlog.store.usage.cells import Home, UsageCell, build_cell, build_cells
from turnlog.store.usage.report import ReportedCost
from turnlog.store.usage.source import AnswerCell, CallUse
from turnlog.transcripts.files.projects import project_name
from turnlog.transcripts.usage.charges import Charger, to_dollars
from turnlog.transcripts.usage.election import MessageUsage, SightingFold
from turnlog.transcripts.usage.price_list import PriceTable
from turnlog.transcripts.usage.pricing import Prices
from turnlog.transcripts.usage.scanning import ReportedSighting

__all__ = ["FileUsage"]


class FileUsage:
    """What some files say, each answer once."""

    def __init__(self, found: Found, prices: Prices) -> None:
        """Read all files; what cannot be read is said, and makes the figures incomplete."""
        self._found = found
        self._prices = prices
        self._charger = Charger(prices)
        self._fold = SightingFold()
        self._reported: list[ReportedSighting] = []
        self._homes: dict[str, Home] = {}
        self.is_complete = not found.obstacles
        """Whether all files could be read."""
        self._take(
            scan_files(found.paths, show=_show_progress) if sys.stderr.isatty() else scan_files(found.paths)
        )

    def list_cells(self) -> list[UsageCell]:
        """Return what answers used, in quarters of an hour."""
        return build_cells(self._fold.list_answers(), self._charger, self._homes)

    def list_answers(self) -> list[AnswerCell]:
        """Return what each answer used."""
        return [AnswerCell(message.message, self._price(message)) for message in self._fold.list_messages()]

    def list_calls(self) -> list[CallUse]:
        """Return the calls of all files."""
        from turnlog.cli.usage_calls import read_calls

        calls: list[CallUse] = []
        for path in self._found.paths:
            with suppress(OSError):  # it was said when its usage was read
                calls += read_calls(path)
        return calls

    def list_reported(self) -> list[ReportedCost]:
        """Return what Claude Code itself says that sessions cost, beside what their own lines come to."""
        best: dict[str, ReportedSighting] = {}
        for each in self._reported:
            known = best.get(each.session)
            best[each.session] = each if known is None else max(each, known, key=_by_worth)
        own = self._fold.list_own() if best else {}
        return [
            ReportedCost(
                session=session,
                source="cost-state" if best[session].kind == "cost-state" else "result",
                cost_usd=best[session].cost,
                computed_usd=to_dollars(sum(self._price(message).cost for message in own.get(session, []))),
            )
            for session in sorted(best)
        ]

    def find_prices(self) -> PriceTable | None:
        """Return by which prices the costs are."""
        return self._prices.find_table()

    def count_files(self) -> int:
        """Return how many files were read."""
        return len(self._found.paths)

    def _price(self, message: MessageUsage) -> UsageCell:
        return build_cell(message, self._charger, self._homes[message.source])

    def _take(self, scanned: Iterable[ScannedFile]) -> None:
        cwds = {file.number: self._take_file(file) for file in scanned}
        numbers = iter(range(len(cwds)))
        for session in self._found.sessions:
            own = [cwd for _, number in zip(session.paths, numbers, strict=False) for cwd in cwds[number]]
            home = Home(session.name, project_name(own, session.project_folder))
            self._homes.update((path_text(path), home) for path in session.paths)

    def _take_file(self, file: ScannedFile) -> list[str]:
        """Count a file, and return where it was written."""
        if file.scan is None:
            warn(file.problem)
            self.is_complete = False
            return []
        for sighting in file.scan.sightings:
            self._fold.add_sighting(sighting)
        self._reported += file.scan.reported
        return file.scan.cwds


def _show_progress() -> Showing:
    from turnlog.cli.progress import waiting

    return waiting("Reading sessions")


def _by_worth(reported: ReportedSighting) -> tuple[object, ...]:
    """Of several files', the one that has run furthest; what is on disk before what was in the stream."""
    return reported.kind == "cost-state", reported.cost, reported.source

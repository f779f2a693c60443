"""The usage of files as they are, without an archive."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from itertools import islice

from turnlog.cli.files import Found, warn
from turnlog.cli.usage_scan import ScannedFile, Showing, scan_files, show_nothing
from turnlog.store.usage.cells import AnswerSum, Home, SumKey, UsageCell, build_cell, build_cells, sum_answers
from turnlog.store.usage.report import ReportedCost
from turnlog.store.usage.source import AnswerCell, CallUse
from turnlog.transcripts.files.session_files import path_text, project_name
from turnlog.transcripts.usage.election import MessageUsage, SightingFold
from turnlog.transcripts.usage.prices import Charger, Prices, PriceTable, to_dollars
from turnlog.transcripts.usage.scanning import ReportedSighting, Scan


class FileUsage:
    """What some files say, each answer once."""

    def __init__(self, found: Found, prices: Prices) -> None:
        """Read all files; what cannot be read is said, and makes the figures incomplete."""
        self._found = found
        self._prices = prices
        self._charger = Charger(prices)
        self._scans: dict[str, Scan] = {}
        """What each file says."""
        self._sums: dict[str, Mapping[SumKey, AnswerSum]] = {}
        """What its answers come to, added up while other files are still read."""
        self._shared: dict[str, set[str]] = {}
        """Answers that stand in several places, by the files that have some of them."""
        self._homes: dict[str, Home] = {}
        self.is_complete = not found.obstacles
        """Whether all files could be read."""
        show = _show_progress if sys.stderr.isatty() else show_nothing
        self._take(scan_files(found.paths, found.sizes, show=show))

    def list_cells(self) -> list[UsageCell]:
        """Return what answers used, in quarters of an hour; each that stands in several places by itself."""
        shared = set().union(*self._shared.values())
        cells = [self._price(message) for message in self._gather(self._shared, shared).list_messages()]
        for source, scan in self._scans.items():
            sums = self._sums[source]
            if source in self._shared:
                own = [each for each in scan.answers if each.message not in shared]
                sums = sum_answers(scan.groups, own, self._charger)
            cells += build_cells(sums, scan.groups, self._homes[source])
        return cells

    def list_answers(self) -> list[AnswerCell]:
        """Return what each answer used."""
        messages = self._gather(self._scans).list_messages()
        return [AnswerCell(message.message, self._price(message)) for message in messages]

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
        for scan in self._scans.values():
            for each in scan.reported:
                known = best.get(each.session)
                best[each.session] = each if known is None else max(each, known, key=_by_worth)
        own = self._gather(self._scans).list_own() if best else {}
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

    def _gather(self, sources: Iterable[str], messages: Container[str] | None = None) -> SightingFold:
        """Return what some files say of all answers, or of some."""
        fold = SightingFold()
        for source in sources:
            for sighting in self._scans[source].list_sightings(source, messages):
                fold.add_sighting(sighting)
        return fold

    def _take(self, scanned: Iterable[ScannedFile]) -> None:
        sources = [path_text(path) for path in self._found.paths]
        places: dict[str, str] = {}
        for file in scanned:
            if file.scan is None:
                warn(file.problem)
                self.is_complete = False
                continue
            source, scan = sources[file.number], file.scan
            self._scans[source] = scan
            self._sums[source] = sum_answers(scan.groups, scan.answers, self._charger)
            for answer in scan.answers:
                message = answer.message
                if message in places:
                    for each in (source, places[message]):
                        self._shared.setdefault(each, set()).add(message)
                else:
                    places[message] = source
        left = iter(sources)
        for session in self._found.sessions:
            own = list(islice(left, len(session.paths)))
            cwds = [cwd for source in own if source in self._scans for cwd in self._scans[source].cwds]
            home = Home(session.name, project_name(cwds, session.project_folder))
            self._homes.update(dict.fromkeys(own, home))


def _show_progress() -> Showing:
    from turnlog.cli.progress import waiting

    return waiting("Reading sessions")


def _by_worth(reported: ReportedSighting) -> tuple[object, ...]:
    """Of several files', the one that has run furthest; what is on disk before what was in the stream."""
    return reported.kind == "cost-state", reported.cost, reported.source

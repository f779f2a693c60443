"""Usage counted from what a store has of sessions: slow, and in the obvious way.

It says what any store should answer, checks what one has kept up, and counts by prices of one's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from zlib import crc32

from msgspec import json
from msgspec.structs import replace

from turnlog.store.interface import Store, find_sessions
from turnlog.store.model import Scope, SourceKind
from turnlog.store.usage_cells import FULL, Detail, Home, UsageCell, build_cell, merge_cells
from turnlog.store.usage_report import (
    AnswerCell,
    AnswerUse,
    CallUse,
    ReportedCost,
    UsageSource,
    build_call_use,
    choose_reported,
    read_reported,
)
from turnlog.transcripts.segments import SightingRecord
from turnlog.transcripts.usage.prices import Charger, Prices, PriceTable
from turnlog.transcripts.usage.tokens import SightingFold


class RecountedUsage:
    """The usage of one owner's sessions, counted when it is asked for."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        prices: Prices | None = None,
        *,
        version_of: Callable[[str], int] | None = None,
    ) -> None:
        """Take a store; `version_of` is its own `find_version`, if it has one that costs less."""
        self._store = store
        self._scope = scope
        self._prices = Prices() if prices is None else prices
        self._version_of = version_of

    def list_cells(self, _: Detail = FULL) -> list[UsageCell]:
        """Return a cell for each answer."""
        return [answer.cell for answer in self.list_answers()]

    def list_answers(self, wanted: Collection[str] | None = None) -> list[AnswerCell]:
        """Return what each answer used, or only some of them."""
        charger, homes = Charger(self._prices), dict(self._list_homes())
        folds: dict[str | None, SightingFold] = {}
        for source, record in self._list_sightings():
            if wanted is None or record.message_id in wanted:
                fold = folds.setdefault(homes[source].person, SightingFold())
                fold.add_sighting(record.unpack(source))
        return [
            AnswerCell(message.message, build_cell(message, charger, homes[message.source]))
            for fold in folds.values()
            for message in fold.list_messages()
        ]

    def list_calls(self) -> list[CallUse]:
        """Return the calls of all files."""
        found: list[CallUse] = []
        homes = dict(self._list_homes())
        for session in self._store.list_known(self._scope):
            with self._store.open_session(self._scope, session.key) as records:
                for chapter, call in records.list_calls():
                    found.append(build_call_use(chapter.source, call, homes[chapter.source].person))
        return sorted(found, key=lambda call: (call.source, call.order))

    def list_reported(self) -> list[ReportedCost]:
        """Return what Claude Code itself says that sessions cost."""
        rows = (
            stored.row
            for session in self._store.list_known(self._scope)
            for stored in find_sessions(self._store, self._scope, session.key)
        )
        return choose_reported(each for row in rows if (each := read_reported(row.summary)) is not None)

    def find_prices(self) -> PriceTable | None:
        """Return by which prices the costs are."""
        return self._prices.find_table()

    def count_files(self) -> int:
        """Return how many files of lines there are."""
        kinds = (SourceKind.TRANSCRIPT, SourceKind.AGENT)
        known = self._store.list_known(self._scope)
        return sum(source.kind in kinds for session in known for source in session.sources)

    def find_answers(self, ids: Sequence[str]) -> list[AnswerUse]:
        """Return what answers used, those that are known, in the order of their ids."""
        found = self.list_answers(set(ids))
        found.sort(key=lambda each: (each.message, -each.cell.output, each.cell.home.key))
        chosen = {each.message: each.cell for each in reversed(found)}
        return [
            AnswerUse(
                message_id=message,
                input=cell.input,
                output=cell.output,
                cache_read=cell.cache_read,
                cache_write=cell.cache_write_5m + cell.cache_write_1h,
                cost=None if cell.unpriced else cell.cost,
            )
            for message, cell in sorted(chosen.items())
        ]

    def find_version(self, key: str) -> int:
        """Return a number that is another one as soon as a session's answers are."""
        if self._version_of is not None:
            return self._version_of(key)
        with self._store.open_session(self._scope, key) as session:
            ids = [each.message_id for chapter in session.chapters for each in chapter.list_sightings()]
        return crc32(json.encode(self.find_answers(ids)))

    def _list_sightings(self) -> Iterator[tuple[str, SightingRecord]]:
        for session in self._store.list_known(self._scope):
            with self._store.open_session(self._scope, session.key) as records:
                for chapter in records.chapters:
                    yield from ((chapter.source, record) for record in chapter.list_sightings())

    def _list_homes(self) -> Iterator[tuple[str, Home]]:
        for session in self._store.list_known(self._scope):
            stored = [
                each for each in find_sessions(self._store, self._scope, session.key) if each.key == session.key
            ]
            home = Home(session.key, machine=session.origin)
            for each in stored[:1]:
                home = replace(home, project=each.row.project, title=each.row.title, person=each.person)
            yield from ((source.source, home) for source in session.sources)


def list_differences(kept: UsageSource, counted: UsageSource) -> list[str]:
    """Return where what a store has kept up differs from what its sessions come to, in words."""
    have, want = Counter(kept.list_answers()), Counter(counted.list_answers())
    missing, extra = want - have, have - want
    found = [f"the usage of {answer.message} is missing or wrong" for answer in missing]
    wrong = {answer.message for answer in missing}
    found += [f"the usage of {each.message} should not be there" for each in extra if each.message not in wrong]
    if merge_cells(kept.list_cells()) != merge_cells(answer.cell for answer in have):
        found.append("totals per quarter of an hour do not match their answers")
    if kept.list_reported() != counted.list_reported():
        found.append("costs reported by Claude Code do not match its sessions")
    return found

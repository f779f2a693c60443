"""Reports that an engine adds up by itself are those made of each quarter of an hour, on real sessions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from clickhouse_engine import make_address
from turnlog.ingest.pipeline import sync
from turnlog.store.identity import LOCAL
from turnlog.store.opening import open_store
from turnlog.store.places import ServerPlace, StorePlace
from turnlog.store.usage.blocks import Limit
from turnlog.store.usage.building import build_report
from turnlog.store.usage.cells import merge_cells
from turnlog.store.usage.grouping import PERIODS, UsageQuery
from turnlog.store.usage.periods import Span, find_zone
from turnlog.store.usage.report import Breakdown, Grouping
from turnlog.store.usage.source import SummingSource, UsageSource
from turnlog.transcripts.files.locate import locate_path

pytestmark = pytest.mark.soak

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ZONES = ("UTC", "Asia/Kathmandu", "America/St_Johns", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Chatham")
LARGEST = 1 << 20
EVERY_NTH = 1 if "TURNLOG_CORPUS_ALL" in os.environ else 6
"""Which of the sessions that are not large are compared."""

Sources = tuple[UsageSource, UsageSource]


@pytest.fixture(scope="module")
def sources(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    """The usage of the same sessions: the embedded store's, and ClickHouse's."""
    home = tmp_path_factory.mktemp("engines")
    places: tuple[StorePlace, ...] = (home / "turnlog.db", ServerPlace(make_address(), home))
    found = [
        each
        for each in locate_path(corpus / "sessions").sessions
        if each.path is not None and each.path.stat().st_size < LARGEST
    ]
    with closing(open_store(places[0])) as one, closing(open_store(places[1])) as other:
        for store, place in zip((one, other), places, strict=True):
            sync(store, place, found[::EVERY_NTH], origin="test", workers=0)
        yield one.read_usage(LOCAL), other.read_usage(LOCAL)


def list_cases(by: Grouping, middle: date) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield zones, and what else is asked for."""
    yield from ((zone, {}) for zone in (ZONES if by in PERIODS or by is Grouping.BLOCKS else ZONES[:1]))
    spans = [Span(middle), Span(None, middle), Span(middle, middle), Span(date(1999, 1, 1), date(1999, 1, 2))]
    yield from (("Pacific/Chatham", {"span": span}) for span in spans)
    yield from (("UTC", {"project": project}) for project in ("home", "", "nowhere at all"))
    yield from (("UTC", {"most": most}) for most in (1, 3, 10_000))
    yield "UTC", {"most": 2, "span": spans[0], "project": "/"}
    if by is not Grouping.TOOL:
        yield from (("Europe/Berlin", {"breakdown": each}) for each in Breakdown)
    if by is Grouping.BLOCKS:
        yield "UTC", {"limit": Limit(tokens=10_000_000)}


@pytest.mark.parametrize("by", Grouping)
def test_reports_are_the_same_whoever_adds_up(sources: Sources, by: Grouping) -> None:
    one, other = sources
    assert isinstance(other, SummingSource)
    assert not isinstance(one, SummingSource)
    days = sorted(cell.slot for cell in one.list_cells() if cell.slot is not None)
    middle = datetime.fromtimestamp(days[len(days) // 2] * 900, UTC).date()
    for zone, more in list_cases(by, middle):
        query = UsageQuery(zone=find_zone(zone), zone_name=zone, now=NOW, by=by, **more)
        assert build_report(other, query) == build_report(one, query), (zone, more)


def test_cells_answers_and_calls_are_the_same(sources: Sources) -> None:
    one, other = sources
    assert merge_cells(other.list_cells()) == merge_cells(one.list_cells())
    assert sorted(map(repr, other.list_answers())) == sorted(map(repr, one.list_answers()))
    assert sorted(map(repr, other.list_calls())) == sorted(map(repr, one.list_calls()))
    assert (other.count_files(), other.find_prices()) == (one.count_files(), one.find_prices())

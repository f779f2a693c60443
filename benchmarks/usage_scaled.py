"""How long do reports of usage, and lists, take over a hundred million answers?

The sums of the answers of real sessions are multiplied within a store: the reports measured here read sums, not
answers. Each copy has sessions of its own, some day within two years, and figures as they were.
So what the reports should say is known, and is compared. Nothing is left of it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from multiplied import multiply
from turnlog.ingest.pipeline import sync
from turnlog.store.interface import Store
from turnlog.store.model import LOCAL
from turnlog.store.opening import measure_store, open_store
from turnlog.store.usage_report import Grouping, UsageQuery, UsageReport, UsageRow, build_report
from turnlog.transcripts import locate_path

MESSAGES = 100_000_000
MOST = 1000
"""How many rows the server shows at most, unless it is asked for more."""
REPORTS = (Grouping.DAILY, Grouping.PROJECT)

Figures = dict[str, tuple[float, str]]
"""What was measured, each with its unit."""


def measure(folder: Path, messages: int, place: Path) -> Figures:
    """Return how long reports take over so many answers, made of the sessions below a folder."""
    with closing(open_store(place)) as store:
        sync(store, place, locate_path(folder).sessions, origin="bench")
        before = _report(store, Grouping.MODEL).total
    copies = max(messages // max(before.messages, 1) - 1, 0)
    print(f"making {before.messages * (copies + 1):,} answers …", file=sys.stderr)
    begun = time.perf_counter()
    multiply(place, copies)
    figures: Figures = {
        "answers": (float(before.messages * (copies + 1)), ""),
        "making them": (time.perf_counter() - begun, "s"),
        "all on the disk": (measure_store(place) / 1e9, "GB"),
    }
    with closing(open_store(place)) as store:
        for by in REPORTS:
            print(f"  usage, {by.value} …", file=sys.stderr)
            figures[by.value] = _time_report(store, by, before, copies + 1), "s"
        figures |= _measure_lists(store)
    return figures


def _time_report(store: Store, by: Grouping, once: UsageRow, times: int) -> float:
    """Return how long a report takes, whose total is so many times what it was."""
    begun = time.perf_counter()
    found = _report(store, by)
    seconds = time.perf_counter() - begun
    assert found.total.messages == once.messages * times, found.total
    assert found.total.cost_usd == once.cost_usd * times, found.total
    return seconds


def _measure_lists(store: Store) -> Figures:
    asked: dict[str, Callable[[], object]] = {
        "100 newest sessions": lambda: store.list_sessions(LOCAL),
        "all projects": lambda: store.list_projects(LOCAL),
        "facets": lambda: store.list_facets(LOCAL),
    }
    figures: Figures = {"sessions": (float(store.list_sessions(LOCAL).total), "")}
    for name, ask in asked.items():
        begun = time.perf_counter()
        ask()
        figures[name] = time.perf_counter() - begun, "s"
    return figures


def _report(store: Store, by: Grouping) -> UsageReport:
    query = UsageQuery(zone=UTC, zone_name="UTC", now=datetime.now(UTC), by=by, most=MOST)
    return build_report(store.read_usage(LOCAL), query)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure reports of usage over many answers.")
    parser.add_argument("folder", type=Path, help="where *.jsonl files are")
    parser.add_argument("--messages", type=int, default=MESSAGES, help="how many answers there are to be")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options.folder, options.messages, Path(folder, "turnlog.db"))
    for name, (figure, unit) in figures.items():
        print(f"  {name:32} {figure:16,.{2 if unit else 0}f} {unit}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How long do reports of usage, and lists, take over a hundred million answers?

The answers of real sessions are multiplied within each engine: ClickHouse's, in this process, and SQLite and
PostgreSQL beside it. Each copy has sessions of its own, some day within two years, and figures as they were. So
what the reports should say is known, and is compared. Nothing is left of it.

SQLite and PostgreSQL have the sums of the same answers, not the answers: these reports read sums, and there is
no room for all three. They hand on what is added up to this process, so they are asked for less, and once.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from engines import start_server
from multiplied import multiply_clickhouse, multiply_postgres, multiply_sqlite
from turnlog.ingest.pipeline import sync
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.identity import LOCAL
from turnlog.store.interface import Store
from turnlog.store.opening import measure_store, open_store
from turnlog.store.places import ServerPlace, StorePlace, home_of
from turnlog.store.usage.building import build_report
from turnlog.store.usage.grouping import UsageQuery
from turnlog.store.usage.periods import find_zone
from turnlog.store.usage.report import Grouping, UsageReport, UsageRow
from turnlog.transcripts import locate_path

__all__ = ["Figures", "measure"]

MESSAGES = 100_000_000
ROUNDS = 3
MOST = 1000
"""How many rows the server shows at most, unless it is asked for more."""
BYTES = 120
"""Of the disk, for each answer: twice what it takes, while parts are merged."""
REPORTS = (
    (Grouping.DAILY, "UTC"),
    (Grouping.DAILY, "Australia/Lord_Howe"),
    (Grouping.MONTHLY, "UTC"),
    (Grouping.MODEL, "UTC"),
    (Grouping.PROJECT, "UTC"),
    (Grouping.SESSION, "UTC"),
)
OF_OTHERS = ((Grouping.DAILY, "UTC"), (Grouping.PROJECT, "UTC"))
"""What SQLite and PostgreSQL are asked for."""

Figures = dict[str, tuple[float, str]]
"""What was measured, each with its unit."""
Reports = Sequence[tuple[Grouping, str]]


def measure(folder: Path, messages: int = MESSAGES) -> Figures:
    """Return how long reports take over so many answers, made of the sessions below a folder, on ClickHouse.

    Raises `OSError` if the disk has no room for them.
    """
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        _check_room(home, messages * BYTES)
        place = ServerPlace(f"chdb://{home}/engine?database=scaled", home / "store")
        with closing(Engine(place.address)) as engine:
            return _measure(
                place, folder, messages, REPORTS, ROUNDS, lambda copies: multiply_clickhouse(engine, copies)
            ) | _tell_size(engine)


def compare(folder: Path, messages: int) -> dict[str, Figures]:
    """Return the same of SQLite and PostgreSQL."""
    with tempfile.TemporaryDirectory() as name:
        home, address = Path(name), start_server()
        file = home / "sqlite.db"
        server = ServerPlace(address, home / "postgres")
        return {
            "SQLite": _measure(
                file, folder, messages, OF_OTHERS, 1, lambda copies: multiply_sqlite(file, copies)
            ),
            "PostgreSQL": _measure(
                server, folder, messages, OF_OTHERS, 1, lambda copies: multiply_postgres(address, copies)
            ),
        }


def _check_room(home: Path, wanted: int) -> None:
    free = shutil.disk_usage(home).free
    if free < wanted:
        raise OSError(f"expected {wanted / 1e9:.0f} GB of room below {home}, got {free / 1e9:.0f}")


def _measure(
    place: StorePlace,
    folder: Path,
    messages: int,
    reports: Reports,
    rounds: int,
    multiply: Callable[[int], None],
) -> Figures:
    home_of(place).mkdir(parents=True, exist_ok=True)
    with closing(open_store(place)) as store:
        sync(store, place, locate_path(folder).sessions, origin="bench")
        before = _report(store, Grouping.MODEL, "UTC").total
    copies = max(messages // max(before.messages, 1) - 1, 0)
    print(f"making {before.messages * (copies + 1):,} answers at {place} …", file=sys.stderr)
    begun = time.perf_counter()
    multiply(copies)
    figures: Figures = {
        "answers": (float(before.messages * (copies + 1)), ""),
        "making them": (time.perf_counter() - begun, "s"),
        "all on the disk": (measure_store(place) / 1e9, "GB"),
    }
    with closing(open_store(place)) as store:
        for by, zone in reports:
            print(f"  usage, {by.value} ({zone}) …", file=sys.stderr)
            times = [_time_report(store, by, zone, before, copies + 1) for _ in range(rounds)]
            figures[f"{by.value} ({zone})"] = statistics.median(times), "s"
        figures |= _measure_lists(store, rounds)
    return figures


def _time_report(store: Store, by: Grouping, zone: str, once: UsageRow, times: int) -> float:
    """Return how long a report takes, whose total is so many times what it was."""
    begun = time.perf_counter()
    found = _report(store, by, zone)
    seconds = time.perf_counter() - begun
    assert found.total.messages == once.messages * times, found.total
    assert found.total.cost_usd == once.cost_usd * times, found.total
    return seconds


def _measure_lists(store: Store, rounds: int) -> Figures:
    asked: dict[str, Callable[[], object]] = {
        "100 newest sessions": lambda: store.list_sessions(LOCAL),
        "all projects": lambda: store.list_projects(LOCAL),
        "facets": lambda: store.list_facets(LOCAL),
    }
    figures: Figures = {"sessions": (float(store.list_sessions(LOCAL).total), "")}
    for name, ask in asked.items():
        times = []
        for _ in range(rounds):
            begun = time.perf_counter()
            ask()
            times.append(time.perf_counter() - begun)
        figures[name] = statistics.median(times), "s"
    return figures


def _tell_size(engine: Engine) -> Figures:
    [(cells, size)] = engine.query(
        "SELECT sumIf(rows, table = 'usage_rollup'), sum(bytes_on_disk) FROM system.parts "
        "WHERE active AND database = currentDatabase() AND table IN ('answers', 'usage_rollup')"
    )
    return {"quarters of an hour": (float(cells), ""), "answers and sums on the disk": (size / 1e9, "GB")}


def _report(store: Store, by: Grouping, zone: str) -> UsageReport:
    query = UsageQuery(zone=find_zone(zone), zone_name=zone, now=datetime.now(UTC), by=by, most=MOST)
    return build_report(store.read_usage(LOCAL), query)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure reports of usage over many answers.")
    parser.add_argument("folder", type=Path, help="where *.jsonl files are")
    parser.add_argument("--messages", type=int, default=MESSAGES, help="how many answers there are to be")
    parser.add_argument("--alone", action="store_true", help="leave SQLite and PostgreSQL out")
    options = parser.parse_args(arguments)
    try:
        engines = {"ClickHouse": measure(options.folder, options.messages)}
        if not options.alone:
            engines |= compare(options.folder, options.messages)
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    for engine, figures in engines.items():
        print(f"\n{engine}")
        for name, (figure, unit) in figures.items():
            print(f"  {name:32} {figure:16,.{2 if unit else 0}f} {unit}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())

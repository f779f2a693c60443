"""How long does a report of usage take over a hundred million answers?

The answers of real sessions are multiplied within ClickHouse's engine, in this process: each copy has sessions
of its own, some day within two years, and figures as they were. So what the reports should say is known, and is
compared. Nothing is left of it.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from turnlog.ingest.pipeline import sync
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.schema import SESSIONS
from turnlog.store.clickhouse.tables import Table
from turnlog.store.clickhouse.usage_schema import ANSWERS
from turnlog.store.identity import LOCAL
from turnlog.store.interface import Store
from turnlog.store.opening import open_store
from turnlog.store.places import ServerPlace
from turnlog.store.usage.building import build_report
from turnlog.store.usage.grouping import UsageQuery
from turnlog.store.usage.periods import find_zone
from turnlog.store.usage.report import Grouping, UsageReport
from turnlog.transcripts import locate_path

__all__ = ["Figures", "measure"]

MESSAGES = 100_000_000
DAYS = 730
"""Over how many days the copies are spread."""
AT_ONCE = 2_000_000
"""About how many rows are made by one statement."""
ROUNDS = 3
MOST = 1000
"""How many rows the server shows at most, unless it is asked for more."""
BYTES = 100
"""Of the disk, for each answer: twice what it takes, while parts are merged."""
REPORTS = (
    (Grouping.DAILY, "UTC"),
    (Grouping.DAILY, "Australia/Lord_Howe"),
    (Grouping.MONTHLY, "UTC"),
    (Grouping.MODEL, "UTC"),
    (Grouping.PROJECT, "UTC"),
    (Grouping.SESSION, "UTC"),
)

_LOW = f"toUInt128('{1 << 96}')"
_COPY = f"bitShiftLeft(toUInt128(n.copy), 96) + a.{{}} % {_LOW}"
"""The number of a copy: in the order of copies, so that rows need not be sorted."""
_DAY = "toInt64(intDiv(n.copy * {days:UInt64}, {copies:UInt64} + 1))"
_OF_ANSWERS = {
    "session": _COPY.format("session"),
    "slot": f"a.slot + 96 * {_DAY}",
    "born": f"a.born + {_DAY}",
    "time": f"a.time + 86400000000 * {_DAY}",
    "message_id": "concat(a.message_id, '-', toString(n.copy))",
    "session_id": "concat(a.session_id, '-', toString(n.copy))",
}
_OF_SESSIONS = {
    "id": _COPY.format("id"),
    "born": f"a.born + {_DAY}",
    "key": "concat(a.key, '-', toString(n.copy))",
    "session_id": "concat(a.session_id, '-', toString(n.copy))",
    "told_id": "concat(a.told_id, '-', toString(n.copy))",
    "row": "NULL",
}

Figures = dict[str, tuple[float, str]]
"""What was measured, each with its unit."""


def measure(folder: Path, messages: int = MESSAGES) -> Figures:
    """Return how long reports take over so many answers, made of the sessions below a folder.

    Raises `OSError` if the disk has no room for them.
    """
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        free = shutil.disk_usage(home).free
        if free < messages * BYTES:
            raise OSError(
                f"expected {messages * BYTES / 1e9:.0f} GB of room below {home}, got {free / 1e9:.0f}"
            )
        address = f"chdb://{home}/engine?database=scaled"
        with closing(open_store(ServerPlace(address, home / "store"))) as store:
            sync(store, ServerPlace(address, home / "store"), locate_path(folder).sessions, origin="bench")
            with closing(Engine(address)) as engine:
                return _measure(store, engine, messages)


def _measure(store: Store, engine: Engine, messages: int) -> Figures:
    before = _report(store, Grouping.MODEL, "UTC").total
    copies = max(messages // max(before.messages, 1) - 1, 0)
    begun = time.perf_counter()
    _multiply(engine, ANSWERS, _OF_ANSWERS, copies)
    _multiply(engine, SESSIONS, _OF_SESSIONS, copies)
    figures: Figures = {
        "answers": (float(before.messages * (copies + 1)), ""),
        "making them": (time.perf_counter() - begun, "s"),
    }
    [(cells, size)] = engine.query(
        "SELECT sumIf(rows, table = 'usage_rollup'), sum(bytes_on_disk) FROM system.parts "
        "WHERE active AND database = currentDatabase() AND table IN ('answers', 'usage_rollup')"
    )
    figures["quarters of an hour"] = float(cells), ""
    figures["on the disk"] = size / 1e9, "GB"
    for by, zone in REPORTS:
        times = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            found = _report(store, by, zone)
            times.append(time.perf_counter() - begun)
            assert found.total.messages == before.messages * (copies + 1), found.total
            assert found.total.cost_usd == before.cost_usd * (copies + 1), found.total
        figures[f"{by.value} ({zone})"] = statistics.median(times), "s"
    return figures


def _multiply(engine: Engine, table: Table, changed: dict[str, str], copies: int) -> None:
    """Add copies of a table's rows."""
    order = ", ".join(f"{name} % {_LOW}" if "128" in table.columns[name] else name for name in table.key)
    once = f"{table.name}_once"
    engine.command(f"CREATE TABLE {once} ENGINE = Memory AS SELECT * FROM {table.name} FINAL ORDER BY {order}")
    [(rows,)] = engine.query(f"SELECT count() FROM {once}")
    names = ", ".join(table.names)
    columns = ", ".join(f"{changed.get(name, f'a.{name}')} AS {name}" for name in table.names)
    step = max(AT_ONCE // max(rows, 1), 1)
    for first in range(1, copies + 1, step):
        count = min(step, copies + 1 - first)
        statement = f"""
        INSERT INTO {table.name} ({names}) SELECT {columns}
        FROM (SELECT {{first:UInt64}} + number AS copy FROM numbers({{count:UInt64}})) AS n
        CROSS JOIN {once} AS a
        SETTINGS min_insert_block_size_rows = {AT_ONCE}
        """
        engine.command(statement, {"first": first, "count": count, "copies": copies, "days": DAYS})
    engine.command(f"DROP TABLE {once}")


def _report(store: Store, by: Grouping, zone: str) -> UsageReport:
    query = UsageQuery(zone=find_zone(zone), zone_name=zone, now=datetime.now(UTC), by=by, most=MOST)
    return build_report(store.read_usage(LOCAL), query)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure reports of usage over many answers.")
    parser.add_argument("folder", type=Path, help="where *.jsonl files are")
    parser.add_argument("--messages", type=int, default=MESSAGES, help="how many answers there are to be")
    options = parser.parse_args(arguments)
    try:
        figures = measure(options.folder, options.messages)
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    for name, (figure, unit) in figures.items():
        print(f"{name:32} {figure:16,.{2 if unit else 0}f} {unit}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What do so many developers need? Computed from what was measured, and printed as the tables of docs/scale.md.

    python benchmarks/scale.py --measure FOLDER                     measures, and writes docs/scale.json
    python benchmarks/scale.py                                      prints the tables from it
    python benchmarks/scale.py --developers 500 --gigabytes 2       for others

What is measured is one process with the engine within it, on the machine that it runs on: CPU seconds and
bytes, which go over to other machines better than times do.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "docs" / "scale.json"

WORKING_HOURS = 22 * 8
"""Of a month: when nearly everything is written."""
PEAK = 3
"""How much more is written at the busiest time than on the average of working hours."""
ACTIVE = 0.3
"""How many developers have a session that runs, at the busiest time."""
UPLOAD_SECONDS = 10
"""How often a machine with a session that runs pushes what is new."""
REPLICAS = 2
SHARD_TB = 8.0
"""The disk of a server."""
FILLED = 0.6
"""How full it may be: merges need room."""
SHARD_CORES = 32
INSERTS = 10
"""How many inserts a second into one table a server merges in the long run."""
CONTROL_COMMITS = 3000
"""How many commits a second a PostgreSQL server with a good disk makes."""
KEPT_MONTHS = 12


class Measured(Struct, frozen=True, kw_only=True):
    """What was seen in one run."""

    raw_bytes: int
    messages: int
    sessions: int
    row_bytes: int
    """On the disk, of all tables with their indexes, when all is merged."""
    blob_bytes: int
    control_bytes: int
    ingest_cpu_seconds: float
    ingest_seconds: float
    inserts_per_write: float
    commits_per_write: int
    usage_seconds: float
    """A report by day over so many messages."""
    usage_messages: int
    usage_cores: int
    list_seconds: float
    """The newest 100 of so many sessions, on as many cores."""
    list_sessions: int
    search_p50_ms: float
    search_p95_ms: float
    search_messages: int
    at: str
    """On which day."""


class Need(Struct, frozen=True, kw_only=True):
    """What so many developers need."""

    developers: int
    raw_month: float
    messages_month: float
    rows_kept: float
    blobs_kept: float
    control_kept: float
    average_rate: float
    peak_rate: float
    ingest_cores: float
    shards_by_disk: int
    shards_by_cores: int
    writes_per_second: float
    inserts_per_second: float
    grouped: int
    commits_per_second: float
    usage_seconds: float
    messages_kept: float
    list_seconds: float
    sessions_kept: float

    @property
    def shards(self) -> int:
        """How many shards there must be."""
        return max(self.shards_by_disk, self.shards_by_cores)


def compute(seen: Measured, developers: int, gigabytes: float, months: int) -> Need:
    """Return what developers need who write so much a month, which is kept for so many months."""
    raw = developers * gigabytes * 1e9
    messages = raw * seen.messages / seen.raw_bytes
    rows = messages * months * seen.row_bytes / seen.messages
    sessions = raw * seen.sessions / seen.raw_bytes
    average = raw / 1e6 / (WORKING_HOURS * 3600)
    cores = average * PEAK * seen.ingest_cpu_seconds / (seen.raw_bytes / 1e6)
    writes = developers * ACTIVE / UPLOAD_SECONDS
    by_disk = math.ceil(rows / (SHARD_TB * 1e12 * FILLED))
    by_cores = math.ceil(cores / (SHARD_CORES / 2))
    shards = max(by_disk, by_cores)
    speed = seen.usage_messages / (seen.usage_seconds * seen.usage_cores)
    list_speed = seen.list_sessions / (seen.list_seconds * seen.usage_cores)
    return Need(
        developers=developers,
        raw_month=raw,
        messages_month=messages,
        messages_kept=messages * months,
        rows_kept=rows,
        blobs_kept=raw * months * seen.blob_bytes / seen.raw_bytes,
        control_kept=sessions * months * seen.control_bytes / seen.sessions,
        average_rate=average,
        peak_rate=average * PEAK,
        ingest_cores=cores,
        shards_by_disk=by_disk,
        shards_by_cores=by_cores,
        writes_per_second=writes,
        inserts_per_second=writes * seen.inserts_per_write,
        grouped=math.ceil(writes / (INSERTS * shards)),
        commits_per_second=writes * seen.commits_per_write,
        usage_seconds=messages * months / (speed * SHARD_CORES * shards),
        list_seconds=sessions * months / (list_speed * SHARD_CORES * shards),
        sessions_kept=sessions * months,
    )


def render(seen: Measured, need: Need, months: int) -> Iterator[str]:
    """Yield the lines of the tables."""
    megabytes = seen.raw_bytes / 1e6
    yield f"Measured on {seen.at}, {megabytes:,.0f} MB of real sessions, {seen.messages:,} messages:"
    yield ""
    yield from _table(
        ("measured", ""),
        ("raw bytes per message", f"{seen.raw_bytes / seen.messages:,.0f}"),
        ("bytes of its rows in ClickHouse, all tables and indexes", f"{seen.row_bytes / seen.messages:,.0f}"),
        ("bytes of it in blobs", f"{seen.blob_bytes / seen.messages:,.0f}"),
        ("bytes per session in the control database", f"{seen.control_bytes / seen.sessions:,.0f}"),
        ("CPU to ingest 1 MB, turnlog and the engine", f"{seen.ingest_cpu_seconds / megabytes:.2f} s"),
        ("messages ingested per second, one process", f"{seen.messages / seen.ingest_seconds:,.0f}"),
        ("inserts and control database commits per write", _pair(seen)),
        (f"usage by day over {seen.usage_messages:,} messages", f"{seen.usage_seconds:.2f} s"),
        (f"the newest 100 of {seen.list_sessions:,} sessions", f"{seen.list_seconds:.2f} s"),
        ("cores used for these", f"{seen.usage_cores}"),
        (f"search in {seen.search_messages:,} messages, p50", f"{seen.search_p50_ms:.0f} ms"),
        ("… p95", f"{seen.search_p95_ms:.0f} ms"),
    )
    yield ""
    yield f"For {need.developers:,} developers, with data kept for {months} months, this means:"
    yield ""
    yield from _table(
        ("computed", ""),
        ("written per month", f"{_size(need.raw_month)}, {need.messages_month / 1e6:,.0f} million messages"),
        ("rows, one copy", _size(need.rows_kept)),
        (f"rows, {REPLICAS} replicas", _size(need.rows_kept * REPLICAS)),
        ("blobs", _size(need.blobs_kept)),
        ("control database", _size(need.control_kept)),
        ("ingest rate, average in working hours", f"{need.average_rate:,.1f} MB/s"),
        (f"ingest rate at peak ({PEAK} times that)", f"{need.peak_rate:,.1f} MB/s"),
        ("cores for that", f"{math.ceil(need.ingest_cores):,}"),
        (f"shards by disk ({SHARD_TB:.0f} TB, {FILLED:.0%} full)", f"{need.shards_by_disk}"),
        (f"shards by CPU (half of {SHARD_CORES} cores)", f"{need.shards_by_cores}"),
        ("**cluster**", f"**{need.shards} shards with {REPLICAS} replicas: {need.shards * REPLICAS} servers**"),
        ("writes per second at peak", f"{need.writes_per_second:,.0f}"),
        ("inserts per second, if writes are not combined", f"{need.inserts_per_second:,.0f}"),
        (f"machines per write, for {INSERTS} inserts per second and table", f"{need.grouped}"),
        (
            "commits of the control database per second, if writes are not combined",
            f"{need.commits_per_second:,.0f}",
        ),
        (f"usage by day over {need.messages_kept / 1e9:,.1f} billion messages", f"{need.usage_seconds:.1f} s"),
        (f"the newest 100 of {need.sessions_kept / 1e6:,.0f} million sessions", f"{need.list_seconds:.1f} s"),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure or compute, and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Compute what so many developers need.")
    parser.add_argument("--measure", type=Path, metavar="FOLDER", help="measure with the *.jsonl files there")
    parser.add_argument("--developers", type=int, default=10_000)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="that each writes in a month")
    parser.add_argument("--months", type=int, default=KEPT_MONTHS, help="for how long it is kept")
    options = parser.parse_args(arguments)
    if options.measure is not None:
        from scale_measured import measure  # computing needs neither an engine nor sessions

        RECORD.write_bytes(msgspec.json.format(msgspec.json.encode(measure(options.measure))) + b"\n")
    if not RECORD.is_file():
        print(f"nothing was measured yet: {parser.prog} --measure FOLDER", file=sys.stderr)
        return 2
    seen = msgspec.json.decode(RECORD.read_bytes(), type=Measured)
    need = compute(seen, options.developers, options.gigabytes, options.months)
    print("\n".join(render(seen, need, options.months)), flush=True)
    return 0


def _table(head: tuple[str, str], *rows: tuple[str, str]) -> Iterator[str]:
    yield f"| {head[0]} | {head[1]} |"
    yield "| --- | ---: |"
    yield from (f"| {what} | {value} |" for what, value in rows)


def _pair(seen: Measured) -> str:
    return f"{seen.inserts_per_write:.0f}, {seen.commits_per_write}"


def _size(count: float) -> str:
    for unit, factor in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9)):
        if count >= factor:
            return f"{count / factor:,.1f} {unit}"
    return f"{count / 1e6:,.0f} MB"


if __name__ == "__main__":
    raise SystemExit(main())

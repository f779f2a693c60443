"""What do so many developers need? Computed from what was measured, and printed as the tables of docs/scale.md.

    python benchmarks/scale.py                                      prints the tables from docs/scale.json
    python benchmarks/scale.py --developers 500 --gigabytes 2       for others

What is measured (`fleet.py --write`) is each part on one machine: bytes, rows, requests and seconds of a core,
which go over to other machines better than times do.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

RECORD = Path(__file__).resolve().parent.parent / "docs" / "scale.json"

WORKING_HOURS = 22 * 8
"""Of a month: when nearly everything is written."""
PEAK = 3
"""How much more is written at the busiest time than on the average of working hours."""
ACTIVE = 0.3
"""How many developers have a session that runs, at the busiest time."""
UPLOAD_SECONDS = 10
"""How often a machine with a session that runs pushes what is new."""
REPLICAS = 2
DISK_TB, FILLED = 8.0, 0.6
"""The disk of a server, and how full it may be: merges need room."""
CORES, USED = 32, 0.5
"""The cores of a server, and how many of them may be at work on what is new."""
FRAME_KB = 512
"""Of raw bytes, in each object of the bucket."""


class Measured(Struct, frozen=True, kw_only=True):
    """What `fleet.py` has seen, as far as it is computed with."""

    at: str
    """On which day."""
    cores: int
    messages: float
    sessions: float
    raw_mb: float
    message_raw_bytes: float
    message_database_bytes: float
    table_tail_frames_bytes: float
    """Of the bytes in PostgreSQL, those of the ends of files, for each message."""
    message_blob_bytes: float
    message_index_bytes: float
    ingest_mb_s: float
    ingest_turnlog_cpu_ms: float
    ingest_rows: float
    """In PostgreSQL, for each message; so is the next one."""
    ingest_log_bytes: float
    fill_mb_s: float
    fill_turnlog_cpu_ms: float
    fill_clickhouse_cpu_ms: float
    write_rows: float
    write_commits: float
    write_log_bytes: float
    usage_answers: float
    usage_sessions: float
    usage_row_bytes: float
    usage_daily_s: float
    usage_monthly_s: float
    usage_project_s: float
    usage_daily_cpu_s: float
    searched_messages: float
    search_p50_ms: float
    search_p95_ms: float
    search_clickhouse_cpu_ms: float
    search_cpu_p50_ms: float
    search_cpu_p95_ms: float
    window_team_p50_ms: float
    window_team_p95_ms: float
    window_fleet_p50_ms: float
    window_fleet_p95_ms: float
    window_cold_p50_ms: float
    window_cold_p95_ms: float
    window_requests_p50: float
    window_requests_p95: float
    window_requests_most: float


class Need(Struct, frozen=True, kw_only=True):
    """What so many developers need."""

    raw_month: float
    messages_month: float
    messages_kept: float
    average_rate: float
    peak_rate: float
    writes: float
    """A second, at the busiest time; so are the next ones."""
    rows: float
    commits: float
    log_rate: float
    database_kept: float
    tails_kept: float
    blobs_kept: float
    objects_month: float
    index_kept: float
    turnlog_cores: float
    index_cores: float
    shards_by_disk: int
    shards_by_cores: int
    usage_seconds: float

    @property
    def shards(self) -> int:
        """How many shards there must be."""
        return max(self.shards_by_disk, self.shards_by_cores)

    @property
    def servers(self) -> int:
        """How many servers turnlog itself takes; one more than needed, for one that is away."""
        return math.ceil(self.turnlog_cores / (CORES * USED)) + 1

    @property
    def database_disks(self) -> float:
        """How many disks of a server the database fills."""
        return self.database_kept / (DISK_TB * 1e12 * FILLED)


def compute(seen: Measured, developers: int, gigabytes: float, months: int) -> Need:
    """Return what developers need who write so much a month, which is kept for so many months."""
    raw = developers * gigabytes * 1e9
    messages = raw / seen.message_raw_bytes
    kept = messages * months
    peak = PEAK * raw / 1e6 / (WORKING_HOURS * 3600)
    arriving = peak * 1e6 / seen.message_raw_bytes
    writes = developers * ACTIVE / UPLOAD_SECONDS
    index = kept * seen.message_index_bytes
    index_cores = peak * seen.fill_clickhouse_cpu_ms / 1000
    by_disk = math.ceil(index / (DISK_TB * 1e12 * FILLED))
    by_cores = math.ceil(index_cores / (CORES * USED))
    shards = max(by_disk, by_cores)
    # A message in a quarter is an answer or less; that each is one is on the safe side.
    usage = seen.usage_daily_cpu_s * kept / seen.usage_answers / (CORES * shards)
    return Need(
        raw_month=raw,
        messages_month=messages,
        messages_kept=kept,
        average_rate=peak / PEAK,
        peak_rate=peak,
        writes=writes,
        rows=writes * seen.write_rows + arriving * seen.ingest_rows,
        commits=writes * seen.write_commits,
        log_rate=writes * seen.write_log_bytes + arriving * seen.ingest_log_bytes,
        database_kept=kept * seen.message_database_bytes,
        tails_kept=kept * seen.table_tail_frames_bytes,
        blobs_kept=kept * seen.message_blob_bytes,
        objects_month=raw / (FRAME_KB * 1024),
        index_kept=index,
        turnlog_cores=peak * (seen.ingest_turnlog_cpu_ms + seen.fill_turnlog_cpu_ms) / 1000,
        index_cores=index_cores,
        shards_by_disk=by_disk,
        shards_by_cores=by_cores,
        usage_seconds=usage,
    )


def render(seen: Measured, need: Need, developers: int, months: int) -> Iterator[str]:
    """Yield the lines of the tables."""
    yield f"Measured on {seen.at}, on {seen.cores} cores, with {seen.raw_mb:,.0f} MB of sessions:"
    yield ""
    yield from _table(
        ("measured", ""),
        ("a message, raw", _bytes(seen.message_raw_bytes)),
        ("… in PostgreSQL", _bytes(seen.message_database_bytes)),
        ("… of which the ends of files", _bytes(seen.table_tail_frames_bytes)),
        ("… in the bucket", _bytes(seen.message_blob_bytes)),
        ("… in ClickHouse", _bytes(seen.message_index_bytes)),
        (
            "ingest, one process",
            f"{seen.ingest_mb_s:.1f} MB/s, {seen.ingest_turnlog_cpu_ms:.0f} ms of CPU per MB",
        ),
        (
            "filling the index, one process",
            f"{seen.fill_mb_s:.1f} MB/s, {seen.fill_turnlog_cpu_ms:.0f} ms per MB",
        ),
        ("… and ClickHouse for that", f"{seen.fill_clickhouse_cpu_ms:.0f} ms per MB"),
        ("a write of a few lines: rows, commits", f"{seen.write_rows:.0f}, {seen.write_commits:.0f}"),
        ("… of PostgreSQL's log", _bytes(seen.write_log_bytes)),
        ("for each message: rows, bytes of the log", f"{seen.ingest_rows:.1f}, {seen.ingest_log_bytes:,.0f}"),
        (
            f"usage over {seen.usage_answers / 1e6:,.0f} million answers: by day, month, project",
            f"{seen.usage_daily_s:.1f} s, {seen.usage_monthly_s:.1f} s, {seen.usage_project_s:.1f} s",
        ),
        ("… by day, of ClickHouse's CPU", f"{seen.usage_daily_cpu_s:.1f} s"),
        (
            f"search in {seen.searched_messages / 1e6:,.1f} million messages, p50 and p95",
            f"{seen.search_p50_ms:.0f} ms, {seen.search_p95_ms:.0f} ms",
        ),
        (
            "… turnlog's CPU for that",
            f"{seen.search_cpu_p50_ms:.0f} ms, {seen.search_cpu_p95_ms:.0f} ms",
        ),
        ("… ClickHouse's, mean", f"{seen.search_clickhouse_cpu_ms:.0f} ms"),
        (
            "a window of 100 messages, warm",
            f"{seen.window_fleet_p50_ms:.1f} ms, {seen.window_fleet_p95_ms:.1f} ms",
        ),
        (
            "… with PostgreSQL alone",
            f"{seen.window_team_p50_ms:.1f} ms, {seen.window_team_p95_ms:.1f} ms",
        ),
        ("… cold", f"{seen.window_cold_p50_ms:.0f} ms, {seen.window_cold_p95_ms:.0f} ms"),
        (
            "… cold, requests to the bucket: p50, p95, most",
            f"{seen.window_requests_p50:.0f}, {seen.window_requests_p95:.0f}, {seen.window_requests_most:.0f}",
        ),
    )
    yield ""
    yield f"For {developers:,} developers, with data kept for {months} months, this means:"
    yield ""
    yield from _table(
        ("computed", ""),
        ("written in a month", f"{_size(need.raw_month)}, {need.messages_month / 1e6:,.0f} million messages"),
        ("kept", f"{need.messages_kept / 1e9:,.1f} billion messages"),
        (f"ingest, average of working hours, and at peak ({PEAK} times)", _rates(need)),
        ("writes a second at peak", f"{need.writes:,.0f}"),
        ("**PostgreSQL**: rows and commits a second", f"{need.rows:,.0f}, {need.commits:,.0f}"),
        ("… of its log", f"{need.log_rate / 1e6:,.1f} MB/s"),
        ("… bytes", f"{_size(need.database_kept)}, of which the ends of files {_size(need.tails_kept)}"),
        (
            f"… disks of {DISK_TB:.0f} TB, {FILLED:.0%} full",
            f"{need.database_disks:.1f}",
        ),
        ("**Bucket**: bytes", _size(need.blobs_kept)),
        ("… objects written in a month", f"{need.objects_month / 1e6:,.0f} million"),
        ("**ClickHouse**: bytes, one copy", _size(need.index_kept)),
        ("… cores at peak", f"{need.index_cores:,.1f}"),
        (
            "… shards by disk, by CPU",
            f"{need.shards_by_disk}, {need.shards_by_cores}",
        ),
        (
            f"… usage by day over {need.messages_kept / 1e9:,.1f} billion messages",
            f"{need.usage_seconds:.1f} s",
        ),
        ("**turnlog**: cores at peak", f"{need.turnlog_cores:,.1f}"),
        (
            f"**machines** of {CORES} cores",
            f"{need.servers} for turnlog, "
            f"{REPLICAS} for PostgreSQL ({math.ceil(need.database_disks)} disks each), "
            f"{need.shards * REPLICAS} for ClickHouse ({need.shards} shards, {REPLICAS} replicas)",
        ),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute, and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Compute what so many developers need.")
    parser.add_argument("--developers", type=int, default=10_000)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="that each writes in a month")
    parser.add_argument("--months", type=int, default=12, help="for how long it is kept")
    options = parser.parse_args(arguments)
    if not RECORD.is_file():
        print("nothing was measured yet: benchmarks/fleet.py --write", file=sys.stderr)
        return 2
    seen = msgspec.json.decode(RECORD.read_bytes(), type=Measured)
    need = compute(seen, options.developers, options.gigabytes, options.months)
    print("\n".join(render(seen, need, options.developers, options.months)), flush=True)
    return 0


def _table(head: tuple[str, str], *rows: tuple[str, str]) -> Iterator[str]:
    yield f"| {head[0]} | {head[1]} |"
    yield "| --- | ---: |"
    yield from (f"| {what} | {value} |" for what, value in rows)


def _rates(need: Need) -> str:
    return f"{need.average_rate:,.1f} MB/s, {need.peak_rate:,.1f} MB/s"


def _bytes(count: float) -> str:
    return f"{count:,.0f} bytes"


def _size(count: float) -> str:
    for unit, factor in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9)):
        if count >= factor:
            return f"{count / factor:,.1f} {unit}"
    return f"{count / 1e6:,.0f} MB"


if __name__ == "__main__":
    raise SystemExit(main())

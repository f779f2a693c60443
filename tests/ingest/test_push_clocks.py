"""Machines whose clocks are years apart from the server's, and from each other's."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ingest.push_processes import CollectorProcess, ServerProcess, await_that, check_bytes, opened
from ingest.pushed_store import check_sound
from postgres_server import make_archive
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.store.model import LOCAL, ServerPlace
from turnlog.testing.builders import make_lines
from turnlog.transcripts.hooks import build_delivery

YEAR = 365 * 86_400


@pytest.mark.parametrize("on_database", [False, True], ids=["sqlite", "postgres"])
def test_clocks_that_are_years_apart_change_nothing(tmp_path: Path, on_database: bool) -> None:
    """What follows on what is told by bytes, and what came when by whoever was there."""
    place = ServerPlace(make_archive(), tmp_path) if on_database else None
    machines = [CollectorProcess(tmp_path / f"m{years}", skew=years * YEAR) for years in (-10, 10)]
    delivered: dict[str, int] = {}
    with ServerProcess(tmp_path / "server", place=place).running() as server:
        for turn in range(2):
            for machine in machines:
                work(machine, turn, delivered)
                machine.start(server, "--once")
                assert machine.join() == 0, (machine.turnlog / "err.txt").read_text()
        with opened(server) as store:
            for machine in machines:
                check_bytes(store, machine.origin, machine.list_files())
            check_sound(store)
            await_that(lambda: store.count_deliveries(LOCAL) >= len(delivered))
            found = store.list_deliveries(LOCAL)
            assert sorted((each.delivery_id, each.received_ns) for each in found) == sorted(delivered.items())


def work(machine: CollectorProcess, turn: int, delivered: dict[str, int]) -> None:
    """Go on with a session, and have a hook deliver, by the machine's own clock."""
    now = time.time_ns() + int(machine.skew * 1e9)
    with (machine.project / "s.jsonl").open("ab") as file:
        file.write(make_lines(5, first=5 * turn, session_id="s"))
    frame = build_delivery(f"{now}-{machine.home.name}", now, b'{"session_id":"s","hook_event_name":"Stop"}')
    Spool(machine.turnlog / SPOOL).write([frame])
    delivered[frame.delivery_id] = now

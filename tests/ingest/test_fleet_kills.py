"""A fleet on one machine whose parts are killed in turn: nothing is lost, and the index says what is true.

Two servers have one archive: its catalogue on PostgreSQL, its bytes in a bucket, its index in ClickHouse.
`TURNLOG_FLEET_KILLS=50` kills each part so often, while 20 machines push.
"""

from __future__ import annotations

import base64
import os
import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from clickhouse_server import ClickHouseServer
from ingest.killed_database import KilledDatabase
from ingest.killed_world import World, check_all
from s3_server import S3Server
from turnlog.ingest.verification import check_archive
from turnlog.store.clickhouse import ClickHouse
from turnlog.store.interface import MaintainedStore, Maintenance
from turnlog.store.model import LOCAL, BlobPlace, IndexPlace, ServerPlace
from turnlog.store.opening import measure_backlog, measure_blobs, open_store
from turnlog.store.search.language import parse_query
from turnlog.store.usage_cells import Detail, merge_cells
from turnlog.store.usage_recount import RecountedUsage, list_differences
from turnlog.testing.builders import make_line
from turnlog.testing.checks import Scan

KILLS = int(os.environ.get("TURNLOG_FLEET_KILLS", "0"))
"""How often each part is killed in the long form; 0 for the short one."""
LARGE = 300_000
"""So many bytes that no frame holds many of them: then there are blobs of them."""
QUERIES = ("line", "lin*", "*ine 1*", '"line 7"', "line 3 OR line 5", "large", "line -3", "is:error", "Stop")
_AWAY = IndexPlace("clickhouse://127.0.0.1:1/nothing")


class Fleet(World):
    """A world with a bucket and an index, which are killed as well."""

    def start_parts(self, folder: Path, stack: ExitStack, database: KilledDatabase) -> ServerPlace:
        self.storage = S3Server()
        stack.callback(self.storage.remove)
        self.storage.start()
        self.index = ClickHouseServer(folder / "clickhouse")
        stack.callback(self.index.kill)
        self.index.start()
        self._turns: list[Callable[[], None]] = []
        place = super().start_parts(folder, stack, database)
        blobs, index = BlobPlace(self.storage.build_address()), IndexPlace(self.index.address)
        return replace(place, blobs=blobs, index=index)

    def kill_something(self) -> None:
        """Kill a part, each as often as the others."""
        if not self._turns:
            self._turns = [self.kill_server, self.kill_database, self._kill_index, self._kill_storage]
        write_large(self.chance, self.chance.choice(self.machines).project)
        self._turns.pop()()

    def _kill_index(self) -> None:
        self._kill("index", self.index)

    def _kill_storage(self) -> None:
        self._kill("storage", self.storage)
        self.check_acknowledged()

    def _kill(self, name: str, part: ClickHouseServer | S3Server) -> None:
        part.kill()
        self.kills[name] += 1
        for machine in self.machines:
            machine.work()
        time.sleep(self.chance.uniform(0.0, 0.5))
        part.start()


def write_large(chance: random.Random, project: Path) -> None:
    """Append a line that does not get much smaller."""
    text = f"large {base64.b64encode(chance.randbytes(LARGE)).decode()}"
    with (project / "large.jsonl").open("ab") as file:
        file.write(make_line(chance.randrange(1 << 30), text=text, session_id="large"))


def test_what_was_acknowledged_outlives_kills_of_every_part(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    kills, machines = (4 * KILLS, 20) if KILLS else (6, 4)
    seed = int(os.environ.get("TURNLOG_SEED", "5"))
    with ExitStack() as stack:
        fleet = Fleet(tmp_path, stack, servers=2, machines=machines, seed=seed, on_database=True)
        while fleet.kills.total() < kills:
            for machine in fleet.machines:
                machine.work()
            time.sleep(fleet.chance.uniform(0.0, 0.2))
            fleet.kill_something()
        fleet.recorder.end()
        fleet.await_all()
        for server in fleet.servers:
            server.kill()
        place = fleet.servers[0].place
        assert isinstance(place, ServerPlace)
        with closing(open_store(place)) as store:
            fleet.check_acknowledged()
            told = check_all(store, fleet)
            assert store.maintain(Maintenance.FILL)
            check_index_is_true(store, place)
            assert measure_blobs(place) > 0
            found = [each for step in check_archive(store, LOCAL) for each in step.checked.left]
            assert found == []
        report(f"{fleet.describe()}: {told}")


def check_index_is_true(store: MaintainedStore, place: ServerPlace) -> None:
    """The index says what the archive does; what it has of each text is what `verify` compares."""
    left = measure_backlog(place)
    assert left is not None
    assert left.entries == 0
    _expect_known_files_only(store, place)
    with closing(open_store(replace(place, index=_AWAY))) as without:
        for detail in (Detail(), Detail(frozenset(), length=0), Detail(frozenset({"home"}), length=4)):
            expected = merge_cells(without.read_usage(LOCAL).list_cells(detail))
            assert merge_cells(store.read_usage(LOCAL).list_cells(detail)) == expected != []
    assert list_differences(store.read_usage(LOCAL), RecountedUsage(store, LOCAL)) == []
    scan = Scan(store, LOCAL)
    for text in QUERIES:
        query = parse_query(text)
        hits = store.search(LOCAL, query, limit=1_000_000).hits
        assert _list_places(hits) == _list_places(scan.search(query, 0)), text


def _expect_known_files_only(store: MaintainedStore, place: ServerPlace) -> None:
    """There is nothing of files that are not there, and nothing is there twice."""
    assert place.index is not None
    with closing(ClickHouse(place.index.address)) as server:
        [(texts, different, files)] = server.query(
            "SELECT count(), uniqExact(generation, at), uniqExact(generation) FROM @texts FINAL "
            f"WHERE generation < {1 << 62}"  # hook deliveries come behind all files
        )
        assert texts == different > 0
        kept = [source for known in store.list_known(LOCAL) for source in known.sources if source.length]
        assert files <= len(kept)


def _list_places(hits: Sequence[Any]) -> list[tuple[str, int, int]]:
    return sorted((hit.source or hit.delivery_id or "", hit.line or 0, hit.ordinal) for hit in hits)

"""Servers, databases and collectors that are killed at random: what was acknowledged is there, once."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ingest.killed_database import KilledDatabase
from ingest.push_processes import CollectorProcess, ServerProcess, await_that, check_bytes, has_all, opened
from ingest.push_recorder import Recorder, make_delivery, write_on
from ingest.pushed_store import check_sound
from turnlog.ingest.push_collector import PushPhase, read_status
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL, Place
from turnlog.store.opening import open_store
from turnlog.transcripts.hooks import DeliveryFilter, build_delivery

LONG_PAUSE = 5.0
"""Seconds."""


class Machine(CollectorProcess):
    """A machine whose sessions grow, and whose hooks deliver."""

    def __init__(self, home: Path, chance: random.Random) -> None:
        super().__init__(home)
        self.delivered: dict[str, bytes] = {}
        self._chance = chance
        self._spool = Spool(self.turnlog / SPOOL)

    def work(self) -> None:
        write_on(self._chance, self.project / f"s{self._chance.randrange(4)}.jsonl")
        if self._chance.random() < 0.3:
            delivery = make_delivery(self._chance)
            self._spool.write([build_delivery(delivery.delivery_id, delivery.received_ns, delivery.payload)])
            self.delivered[delivery.delivery_id] = delivery.payload


class World:
    """Servers on one store, machines that push to any of them, and who kills them."""

    def __init__(
        self, folder: Path, stack: ExitStack, *, servers: int, machines: int, seed: int, on_database: bool
    ) -> None:
        self.chance = random.Random(seed)
        self.database = KilledDatabase() if on_database else None
        address = None
        if self.database is not None:
            stack.callback(self.database.remove)
            address = self.database.address(self.database.create())
        self.servers = [ServerProcess(folder / f"server{at}", address=address) for at in range(servers)]
        self.kills: Counter[str] = Counter()
        for server in self.servers:
            server.home.mkdir()
            if server is not self.servers[0]:  # whichever is asked, the same machines are let in
                server.token_file.write_bytes(self.servers[0].token_file.read_bytes())
                server.token_file.chmod(0o600)
            stack.enter_context(server.running())
        self.machines = [Machine(folder / f"m{at}", random.Random(seed * 1000 + at)) for at in range(machines)]
        for machine in self.machines:
            machine.work()
            stack.enter_context(machine.running(self.chance.choice(self.servers)))
        self.recorder = Recorder(self.servers, folder / "recorder", random.Random(seed + 1))
        stack.callback(self.recorder.end)
        self.recorder.start()

    def kill_something(self) -> None:
        kinds = [self._kill_server] * 3 + [self._kill_child] + [self._kill_collector] * 2
        if self.database is not None:
            kinds += [self._kill_database] * 3
        self.chance.choice(kinds)()

    def _kill_server(self) -> None:
        server = self.chance.choice(self.servers)
        server.kill(with_children=self.chance.random() < 0.5)
        self.kills["servers"] += 1
        self.check_acknowledged()
        server.start()

    def _kill_child(self) -> None:
        self.kills["uploaders"] += self.chance.choice(self.servers).kill_children()

    def _kill_database(self) -> None:
        assert self.database is not None
        self.database.kill(self.chance)
        self.kills["databases"] += 1
        for machine in self.machines:
            machine.work()
        time.sleep(self.chance.uniform(0.0, 0.5))
        self.database.start_again()
        self.check_acknowledged()

    def _kill_collector(self) -> None:
        machine = self.chance.choice(self.machines)
        machine.kill()
        machine.start(self.chance.choice(self.servers))
        self.kills["collectors"] += 1

    def check_acknowledged(self) -> None:
        with opened(self.servers[0]) as store:
            for (source, generation), data in list(self.recorder.acknowledged.items()):
                assert store.archive.read(LOCAL, Place(source, generation, 0), len(data)) == data

    def await_all(self) -> None:
        """Wait until what everybody wrote is there: nothing that went wrong may have been given up."""
        delivered = {**self.recorder.delivered, **{k: v for m in self.machines for k, v in m.delivered.items()}}
        with opened(self.servers[0]) as store:
            for machine in self.machines:
                await_that(lambda m=machine: self._has_all(store, m))  # type: ignore[misc]
            which = DeliveryFilter(delivery_ids=list(delivered))
            await_that(lambda: len(store.list_deliveries(LOCAL, which)) == len(delivered))

    def _has_all(self, store: MaintainedStore, machine: Machine) -> bool:
        if has_all(store, machine.origin, machine.list_files()):
            return True
        status = read_status(machine.turnlog)
        if status is not None and status.phase is not PushPhase.STOPPED:
            assert status.counts.refused == 0
            if (status.again_at or 0.0) > time.time() + LONG_PAUSE:
                # Who tried in vain for minutes waits for minutes; that is not what this is about.
                machine.kill()
                machine.start(self.chance.choice(self.servers))
                await_that(lambda: (read_status(machine.turnlog) or status).pid != status.pid)
        return False


def kill_often(
    folder: Path, *, kills: int, collectors: int, seed: int, on_database: bool, servers: int = 1
) -> str:
    with ExitStack() as stack:
        world = World(folder, stack, servers=servers, machines=collectors, seed=seed, on_database=on_database)
        while world.kills.total() < kills:
            for machine in world.machines:
                machine.work()
            time.sleep(world.chance.uniform(0.0, 0.2))
            world.kill_something()
        world.recorder.end()
        world.await_all()
        for server in world.servers:
            server.kill()
        with closing(open_store(world.servers[0].place)) as store:
            world.check_acknowledged()
            return f"{_tell(world)}: {check_all(store, world)}"


def _tell(world: World) -> str:
    kills = ", ".join(f"{count} {name}" for name, count in sorted(world.kills.items()))
    return f"killed: {kills}, with {len(world.machines)} machines and {world.recorder.failures} failed attempts"


def check_all(store: MaintainedStore, world: World) -> str:
    """All that was written is there exactly once, byte for byte, and all that follows from it is sound."""
    for machine in world.machines:
        check_bytes(store, machine.origin, machine.list_files())
        assert len(list(store.list_known(LOCAL, machine.origin))) == len(machine.list_files())
    expected = [each for machine in world.machines for each in machine.delivered.items()]
    found = _list_deliveries(store)
    assert sorted(found) == sorted([*expected, *world.recorder.delivered.items()])
    check_sound(store)
    size = sum(source.length for known in store.list_known(LOCAL) for source in known.sources)
    return f"{size:,} bytes and {len(found):,} hook deliveries, all there once"


def _list_deliveries(store: MaintainedStore) -> list[tuple[str, bytes]]:
    found = [(each.delivery_id, each.payload) for each in store.list_deliveries(LOCAL)]
    assert len(found) == store.count_deliveries(LOCAL)
    return found


ENGINES: Sequence[object] = (
    pytest.param(False, 1, id="sqlite"),
    pytest.param(True, 2, id="postgres"),
)


@pytest.mark.parametrize(("on_database", "servers"), ENGINES)
def test_what_was_acknowledged_outlives_kills(
    tmp_path: Path, report: Callable[[str], None], on_database: bool, servers: int
) -> None:
    report(kill_often(tmp_path, kills=10, collectors=2, seed=3, on_database=on_database, servers=servers))


@pytest.mark.soak
@pytest.mark.parametrize(("on_database", "servers"), ENGINES)
def test_what_was_acknowledged_outlives_a_hundred_kills(
    tmp_path: Path, report: Callable[[str], None], on_database: bool, servers: int
) -> None:
    seed = int(os.environ.get("TURNLOG_SEED", "4"))
    report(kill_often(tmp_path, kills=120, collectors=20, seed=seed, on_database=on_database, servers=servers))

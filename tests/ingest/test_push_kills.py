"""Servers and collectors that are killed at random: what was acknowledged is there, once."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ingest.push_processes import CollectorProcess, ServerProcess, await_that, check_bytes, has_all, opened
from ingest.push_recorder import Recorder, make_delivery, write_on
from ingest.pushed_store import check_sound
from turnlog.ingest.push.status import PushPhase, read_status
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.store.identity import LOCAL, Place
from turnlog.store.maintenance import CaredStore
from turnlog.store.opening import open_store
from turnlog.transcripts.hooks.deliveries import DeliveryFilter, build_delivery

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
    """A server, machines that push to it, and who kills them."""

    def __init__(self, folder: Path, stack: ExitStack, *, machines: int, seed: int) -> None:
        self.chance = random.Random(seed)
        self.kills: Counter[str] = Counter()
        self.server = ServerProcess(folder / "server")
        self.server.home.mkdir()
        stack.enter_context(self.server.running())
        self.machines = [Machine(folder / f"m{at}", random.Random(seed * 1000 + at)) for at in range(machines)]
        for machine in self.machines:
            machine.work()
            stack.enter_context(machine.running(self.server))
        self.recorder = Recorder(self.server, folder / "recorder", random.Random(seed + 1))
        stack.callback(self.recorder.end)
        self.recorder.start()

    def kill_something(self) -> None:
        kinds = [self._kill_server] * 3 + [self._kill_child] + [self._kill_collector] * 2
        self.chance.choice(kinds)()

    def _kill_server(self) -> None:
        self.server.kill(with_children=self.chance.random() < 0.5)
        self.kills["servers"] += 1
        self.check_acknowledged()
        self.server.start()

    def _kill_child(self) -> None:
        self.kills["uploaders"] += self.server.kill_children()

    def _kill_collector(self) -> None:
        machine = self.chance.choice(self.machines)
        machine.kill()
        machine.start(self.server)
        self.kills["collectors"] += 1

    def check_acknowledged(self) -> None:
        with opened(self.server) as store:
            for (source, generation), data in list(self.recorder.acknowledged.items()):
                assert store.archive.read(LOCAL, Place(source, generation, 0), len(data)) == data

    def await_all(self) -> None:
        """Wait until what everybody wrote is there: nothing that went wrong may have been given up."""
        delivered = {**self.recorder.delivered, **{k: v for m in self.machines for k, v in m.delivered.items()}}
        with opened(self.server) as store:
            for machine in self.machines:
                await_that(lambda m=machine: self._has_all(store, m))  # type: ignore[misc]
            which = DeliveryFilter(delivery_ids=list(delivered))
            await_that(lambda: len(store.list_deliveries(LOCAL, which)) == len(delivered))

    def _has_all(self, store: CaredStore, machine: Machine) -> bool:
        if has_all(store, machine.origin, machine.list_files()):
            return True
        status = read_status(machine.turnlog)
        if status is not None and status.phase is not PushPhase.STOPPED:
            assert status.counts.refused == 0
            if (status.again_at or 0.0) > time.time() + LONG_PAUSE:
                # Who tried in vain for minutes waits for minutes; that is not what this is about.
                machine.kill()
                machine.start(self.server)
                await_that(lambda: (read_status(machine.turnlog) or status).pid != status.pid)
        return False


def kill_often(folder: Path, *, kills: int, collectors: int, seed: int) -> str:
    with ExitStack() as stack:
        world = World(folder, stack, machines=collectors, seed=seed)
        while world.kills.total() < kills:
            for machine in world.machines:
                machine.work()
            time.sleep(world.chance.uniform(0.0, 0.2))
            world.kill_something()
        world.recorder.end()
        world.await_all()
        world.server.kill()
        with closing(open_store(world.server.place)) as store:
            world.check_acknowledged()
            return f"{_tell(world)}: {check_all(store, world)}"


def _tell(world: World) -> str:
    kills = ", ".join(f"{count} {name}" for name, count in sorted(world.kills.items()))
    return f"killed: {kills}, with {len(world.machines)} machines and {world.recorder.failures} failed attempts"


def check_all(store: CaredStore, world: World) -> str:
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


def _list_deliveries(store: CaredStore) -> list[tuple[str, bytes]]:
    found = [(each.delivery_id, each.payload) for each in store.list_deliveries(LOCAL)]
    assert len(found) == store.count_deliveries(LOCAL)
    return found


def test_what_was_acknowledged_outlives_kills(tmp_path: Path, report: Callable[[str], None]) -> None:
    report(kill_often(tmp_path, kills=10, collectors=2, seed=3))


@pytest.mark.soak
def test_what_was_acknowledged_outlives_a_hundred_kills(tmp_path: Path, report: Callable[[str], None]) -> None:
    seed = int(os.environ.get("TURNLOG_SEED", "4"))
    report(kill_often(tmp_path, kills=120, collectors=20, seed=seed))

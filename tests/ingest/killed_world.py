"""Servers, databases and collectors that are killed at random; what must be there once they have come back."""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from ingest.killed_database import KilledDatabase
from ingest.push_processes import CollectorProcess, ServerProcess, await_that, check_bytes, has_all, opened
from ingest.push_recorder import Recorder, make_delivery, write_on
from ingest.pushed_store import check_sound
from turnlog.ingest.push_collector import PushPhase, read_status
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL, Place, ServerPlace
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
        place = None
        if self.database is not None:
            stack.callback(self.database.remove)
            place = self.start_parts(folder, stack, self.database)
        self.servers = [ServerProcess(folder / f"server{at}", place=place) for at in range(servers)]
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

    def start_parts(self, folder: Path, stack: ExitStack, database: KilledDatabase) -> ServerPlace:
        """Start what there is besides the database, and return where the archive is."""
        return ServerPlace(database.address(database.create()), folder)

    def describe(self) -> str:
        kills = ", ".join(f"{count} {name}" for name, count in sorted(self.kills.items()))
        return (
            f"killed: {kills}, with {len(self.machines)} machines and {self.recorder.failures} failed attempts"
        )

    def kill_something(self) -> None:
        kinds = [self.kill_server] * 3 + [self._kill_child] + [self._kill_collector] * 2
        if self.database is not None:
            kinds += [self.kill_database] * 3
        self.chance.choice(kinds)()

    def kill_server(self) -> None:
        server = self.chance.choice(self.servers)
        server.kill(with_children=self.chance.random() < 0.5)
        self.kills["servers"] += 1
        self.check_acknowledged()
        server.start()

    def _kill_child(self) -> None:
        self.kills["uploaders"] += self.chance.choice(self.servers).kill_children()

    def kill_database(self) -> None:
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

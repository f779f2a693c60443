"""Servers, databases and collectors that are killed at random: what was acknowledged is there, once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ingest.killed_world import World, check_all
from turnlog.store.opening import open_store


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
            return f"{world.describe()}: {check_all(store, world)}"


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

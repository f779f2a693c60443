"""Servers and collectors that are killed at random: what was acknowledged is there, once."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from ingest.push_processes import CollectorProcess, ServerProcess, await_that, check_bytes, has_all, opened
from ingest.pushed_store import check_sound
from turnlog.errors import PushError
from turnlog.ingest.exclusion import Exclusion
from turnlog.ingest.push.client import PushClient, parse_server
from turnlog.ingest.push.pusher import Pusher
from turnlog.ingest.uploads.protocol import Machine
from turnlog.store.identity import LOCAL, Place
from turnlog.testing.builders import make_lines


class Recorder(threading.Thread):
    """A collector in this process that writes down what was acknowledged."""

    def __init__(self, server: ServerProcess, folder: Path, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self.project = folder / ".claude" / "projects" / "-p"
        self.project.mkdir(parents=True)
        self.origin = f"{chance.getrandbits(128):032x}"
        self.acknowledged: dict[tuple[str, int], bytes] = {}
        self.done = threading.Event()
        self.failures = 0
        self._chance = chance
        self._server = server
        self._folder = folder

    def run(self) -> None:
        token = self._server.token_file.read_text().strip()
        client = PushClient(parse_server(self._server.url), token, self.origin)
        pusher = Pusher(
            client,
            [self._folder / ".claude"],
            origin=self.origin,
            machine=Machine(),
            exclusion=Exclusion(),
        )
        is_connected = False
        while not self.done.is_set():
            path = self.project / f"s{self._chance.randrange(3)}.jsonl"
            write_on(self._chance, path)
            try:
                if not is_connected:
                    pusher.connect()
                    is_connected = True
                pusher.plan_all()
                pusher.push_next()
            except PushError:
                is_connected = False
                self.failures += 1
                time.sleep(0.02)
            self._note(pusher)
        client.close()

    def _note(self, pusher: Pusher) -> None:
        for known in pusher.sessions.values():
            for source in known.sources:
                data = Path(source.path).read_bytes()[: source.length]
                self.acknowledged[source.source, source.generation] = data


def write_on(chance: random.Random, path: Path) -> None:
    """Append to a file, in the middle of a line or at its end."""
    data = make_lines(chance.randrange(1, 30), first=chance.randrange(10_000), session_id=path.stem)
    with path.open("ab") as file:
        file.write(data[: chance.choice([len(data), len(data) // 2])])


def kill_often(folder: Path, kills: int, collectors: int, seed: int) -> str:
    chance = random.Random(seed)
    server = ServerProcess(folder / "server")
    machines = [CollectorProcess(folder / f"m{number}") for number in range(collectors)]
    killed = 0
    with ExitStack() as stack:
        stack.enter_context(server.running())
        recorder = Recorder(server, folder / "recorder", random.Random(seed + 1))
        for machine in machines:
            write_on(chance, machine.project / "s0.jsonl")
            stack.enter_context(machine.running(server))
        recorder.start()
        while server.kills + killed < kills:
            for machine in machines:
                write_on(chance, machine.project / f"s{chance.randrange(4)}.jsonl")
            time.sleep(chance.uniform(0.0, 0.2))
            if chance.random() < 0.6:
                server.kill()
                check_acknowledged(server, recorder)
                server.start()
            else:
                machine = chance.choice(machines)
                machine.kill()
                machine.start(server)
                killed += 1
        recorder.done.set()
        recorder.join()
        with opened(server) as store:
            for machine in machines:
                files = machine.list_files()
                await_that(lambda m=machine, f=files: has_all(store, m.origin, f))  # type: ignore[misc]
    with opened(server) as store:
        for machine in machines:
            check_bytes(store, machine.origin, machine.list_files())
        check_acknowledged(server, recorder)
        check_sound(store)
        size = sum(source.length for known in store.list_known(LOCAL) for source in known.sources)
    return (
        f"{server.kills} kills of the server, {killed} of {collectors} collectors, {recorder.failures} failed "
        f"attempts of another: {size:,} bytes, all there once"
    )


def check_acknowledged(server: ServerProcess, recorder: Recorder) -> None:
    with opened(server) as store:
        for (source, generation), data in list(recorder.acknowledged.items()):
            assert store.archive.read(LOCAL, Place(source, generation, 0), len(data)) == data


def test_what_was_acknowledged_outlives_kills(tmp_path: Path, report: Callable[[str], None]) -> None:
    report(kill_often(tmp_path, kills=20, collectors=2, seed=3))


@pytest.mark.soak
def test_what_was_acknowledged_outlives_a_hundred_kills(tmp_path: Path, report: Callable[[str], None]) -> None:
    seed = int(os.environ.get("TURNLOG_SEED", "4"))
    report(kill_often(tmp_path, kills=120, collectors=20, seed=seed))

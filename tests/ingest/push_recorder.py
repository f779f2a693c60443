"""A collector in the test's own process that writes down what was acknowledged."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from ingest.push_processes import ServerProcess
from turnlog.errors import PushError
from turnlog.ingest.machine import Exclusion
from turnlog.ingest.push_client import PushClient, parse_server
from turnlog.ingest.pusher import Pusher
from turnlog.ingest.upload_protocol import PROTOCOL, HookUpload, Machine, UploadedDelivery
from turnlog.testing.builders import make_lines


class Recorder(threading.Thread):
    """Pushes one small thing after the other, to another server when one fails."""

    def __init__(self, servers: Sequence[ServerProcess], folder: Path, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self.project = folder / ".claude" / "projects" / "-p"
        self.project.mkdir(parents=True)
        self.origin = f"{chance.getrandbits(128):032x}"
        self.acknowledged: dict[tuple[str, int], bytes] = {}
        """What there is of files, by source and generation."""
        self.delivered: dict[str, bytes] = {}
        """Of hooks."""
        self.failures = 0
        self._done = threading.Event()
        self._chance = chance
        self._servers = servers
        self._folder = folder
        self._pending: list[UploadedDelivery] = []

    def end(self) -> None:
        """End after what is being pushed."""
        self._done.set()
        self.join()

    def run(self) -> None:
        while not self._done.is_set() or self._pending:
            server = self._chance.choice(self._servers)
            token = self._servers[0].token_file.read_text().strip()
            client = PushClient(parse_server(server.url), token, self.origin, timeout=10.0)
            try:
                self._push(client)
            except PushError:
                self.failures += 1
                time.sleep(0.02)
            finally:
                client.close()

    def _push(self, client: PushClient) -> None:
        pusher = Pusher(
            client,
            [self._folder / ".claude"],
            origin=self.origin,
            machine=Machine(),
            exclusion=Exclusion(),
        )
        pusher.connect()
        if self._pending:
            self._deliver(client)
        while not self._done.is_set():
            write_on(self._chance, self.project / f"s{self._chance.randrange(3)}.jsonl")
            pusher.plan_all()
            pusher.push_next()
            self._note(pusher)
            self._deliver(client)

    def _note(self, pusher: Pusher) -> None:
        for known in pusher.sessions.values():
            for source in known.sources:
                data = Path(source.path).read_bytes()[: source.length]
                self.acknowledged[source.source, source.generation] = data

    def _deliver(self, client: PushClient) -> None:
        """Push a delivery; one that nobody acknowledged is pushed again, under the same name."""
        if not self._pending:
            self._pending = [make_delivery(self._chance)]
            self.delivered[self._pending[0].delivery_id] = self._pending[0].payload
        client.send_hooks(HookUpload(protocol=PROTOCOL, origin=self.origin, deliveries=tuple(self._pending)))
        self._pending = []


def write_on(chance: random.Random, path: Path) -> None:
    """Append to a file, in the middle of a line or at its end."""
    data = make_lines(chance.randrange(1, 30), first=chance.randrange(10_000), session_id=path.stem)
    with path.open("ab") as file:
        file.write(data[: chance.choice([len(data), len(data) // 2])])


def make_delivery(chance: random.Random) -> UploadedDelivery:
    """Return what a hook was given."""
    now = time.time_ns()
    payload = {"session_id": f"s{chance.randrange(4)}", "hook_event_name": "Stop", "n": chance.random()}
    return UploadedDelivery(f"{now}-{chance.getrandbits(64):016x}", now, json.dumps(payload).encode())

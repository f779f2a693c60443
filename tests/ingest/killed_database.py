"""A PostgreSQL server that is killed and started again; whatever was committed to it must outlast that."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress

from postgres_server import PostgresServer


class KilledDatabase(PostgresServer):
    """A cluster of one's own.

    It keeps saying that commits need not wait for its log, as some do for speed: what we acknowledge must not
    rest on that.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kills = 0
        with (self._data / "postgresql.conf").open("a") as file:
            file.write("full_page_writes = on\n")  # a process that is killed may have written half a page
        self.restart()

    def kill(self, chance: random.Random) -> None:
        """End it at once, one way or another."""
        self.kills += 1
        if chance.random() < 0.5:
            self.stop("immediate")
            return
        master = int((self._data / "postmaster.pid").read_text().split()[0])
        os.kill(master, signal.SIGKILL)
        with suppress(ProcessLookupError):
            while True:
                os.kill(master, 0)
                time.sleep(0.01)

    def start_again(self) -> None:
        """Start it as soon as the processes of the one before are gone."""
        while True:
            try:
                self.start()
                return
            except AssertionError as error:
                if "lock file" not in self._read_log() and "shared memory" not in self._read_log():
                    raise error
                time.sleep(0.05)

    def _read_log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-2000:]

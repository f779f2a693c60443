"""Runs turnlog, and kills it at a command that it sends to a MongoDB server: `AT DELAY ARGUMENT...`.

AT counts what the driver tells, twice for each command: that it is about to be sent, and that it was answered.
DELAY is how many milliseconds later it is killed: what is between two commands is reached by that.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from pymongo import monitoring

from turnlog.cli.program import main


class Killer(monitoring.CommandListener):
    def __init__(self, at: int, delay: float) -> None:
        self._left = at
        self._delay = delay

    def started(self, event: object) -> None:
        self._left -= 1
        if self._left == 0 and not self._delay:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._left == 0 and os.fork() == 0:
            time.sleep(self._delay)
            os.kill(os.getppid(), signal.SIGKILL)
            os._exit(0)

    succeeded = failed = started


if __name__ == "__main__":
    monitoring.register(Killer(int(sys.argv[1]), int(sys.argv[2]) / 1000))
    main(sys.argv[3:])

"""No more bytes than a line may carry, and no more attempts than a server can bear."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

_BURST = 64 << 10
"""How many bytes may go at once."""


class Pace:
    """Lets so many bytes go in a second: in any time t, no more than `rate * t`, and a burst."""

    def __init__(
        self,
        rate: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Take how many bytes may go in a second; None for any number."""
        self._rate = rate
        self._clock = clock
        self._sleep = sleep
        self._owed_until = 0.0
        self.sent = 0
        """How many bytes went."""

    def find_limit(self, most: int, seconds: float) -> int:
        """Return how much to send at once, so that it does not take longer than some seconds."""
        return most if self._rate is None else max(min(most, int(self._rate * seconds)), _BURST)

    def spend(self, size: int) -> None:
        """Wait until so many bytes more may go."""
        self.sent += size
        if self._rate is None:
            return
        now = self._clock()
        self._owed_until = max(self._owed_until, now - _BURST / self._rate) + size / self._rate
        if self._owed_until > now:
            self._sleep(self._owed_until - now)


class Backoff:
    """How long to wait before the next attempt: each time about twice as long, and never all at once."""

    def __init__(self, first: float = 1.0, longest: float = 300.0, chance: random.Random | None = None) -> None:
        self._first = first
        self._longest = longest
        self._chance = chance or random.Random()
        self._failures = 0

    def fail(self, at_least: float = 0.0) -> float:
        """Note a failure, and return how many seconds to wait; no less than the server asks for."""
        pause = min(self._first * 2.0**self._failures, self._longest)
        self._failures = min(self._failures + 1, 30)
        return max(pause * self._chance.uniform(0.5, 1.0), at_least)

    def succeed(self) -> None:
        """Note that it went well."""
        self._failures = 0

"""Streams that end because whoever listens is no longer let in.

A stream is let in once and lasts for hours. So as long as somebody listens who might be turned out, it is asked
every second whether anybody was; if so, or once in a while, each of them is asked for again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from turnlog.store.accounts.interface import Accounts

logger = logging.getLogger("turnlog.server")

_TICK = 1.0
_AGAIN = 15.0
"""How often everybody is asked for again, whatever happened."""


class Listener:
    """Somebody who listens, and might be turned out."""

    def __init__(self, is_good: Callable[[], Awaitable[bool]], until_ns: int | None = None) -> None:
        """Take what tells whether they are still let in, and when that ends in any case."""
        self.is_good = is_good
        self.until_ns = until_ns
        self.ended = False


class Endings:
    """Watches listeners; in the event loop."""

    def __init__(self, accounts: Accounts, on_end: Callable[[], None]) -> None:
        """Take what is called when some have ended."""
        self._accounts = accounts
        self._on_end = on_end
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._version: int | None = None
        self._asked_at = 0.0

    def add(self, listener: Listener) -> None:
        """Watch somebody."""
        self._listeners.add(listener)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())

    def remove(self, listener: Listener) -> None:
        """Watch somebody no longer."""
        self._listeners.discard(listener)

    def stop(self) -> None:
        """Watch nobody any longer."""
        self._listeners.clear()
        if self._task is not None:
            self._task.cancel()

    async def _watch(self) -> None:
        while self._listeners:
            try:
                await self._look()
            except Exception:
                logger.exception("it cannot be checked who still has access")
            await asyncio.sleep(_TICK)

    async def _look(self) -> None:
        version = await asyncio.to_thread(self._accounts.find_version)
        now = time.monotonic()
        is_new = version != self._version or now - self._asked_at >= _AGAIN
        late = [
            each for each in self._listeners if each.until_ns is not None and each.until_ns <= time.time_ns()
        ]
        for listener in list(self._listeners) if is_new else late:
            listener.ended = not await listener.is_good()
        if is_new:  # only now: if it failed, it is tried again
            self._version, self._asked_at = version, now
        if any(listener.ended for listener in self._listeners):
            self._on_end()

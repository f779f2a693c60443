"""The one reader of the feed, in a thread of its own.

It reads when somebody reports news, and a few times a second besides, since other processes write, too; where
the store itself reports what they write, it reads seldom. A read that finds nothing is one small query. After
each that found something there is a pause, in which changes gather: the more clients, the longer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from turnlog.errors import StoreError
from turnlog.store.interface import ChangeEntry, Store
from turnlog.store.model import LOCAL

logger = logging.getLogger("turnlog.server")

LOOK_SECONDS = 0.2
"""How often to look without being told."""
_SELDOM_SECONDS = 5.0
"""How often, where the store tells of news."""
_LISTEN_SECONDS = 0.5
"""How soon listening ends when it is to."""
_SOON_SECONDS, _SOON = 0.025, 6
"""How often to look, and how many times, for what was announced: it may be on its way into the store."""
PAUSE_SECONDS = 15.0
"""How often there is time for what does not follow from a change."""
_AT_ONCE = 1000
_LONGEST_PAUSE = 30.0
"""Between attempts to read a feed that cannot be read."""

OnChanges = Callable[[Sequence[ChangeEntry]], None]


class FeedReader:
    """Reads the feed from a place on, and hands on what is new, in order."""

    def __init__(
        self,
        store: Store,
        seq: int,
        on_changes: OnChanges,
        find_pause: Callable[[], float],
        on_start: Callable[[], None] = lambda: None,
        on_pause: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._seq = seq
        self._on_changes = on_changes
        self._find_pause = find_pause
        self._on_start = on_start
        self._on_pause = on_pause
        self._news = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live", daemon=True)
        self._listener = store.listen()
        self._listening = threading.Thread(target=self._listen, name="listen", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()
        if self._listener is not None:
            self._listening.start()

    def wake(self) -> None:
        """Look now; from any thread."""
        self._news.set()

    def stop(self) -> None:
        """End; from any other thread."""
        self._stopping.set()
        self._news.set()
        self._thread.join()
        if self._listener is not None:
            self._listening.join()
            self._listener.close()

    def _listen(self) -> None:
        while self._listener is not None and not self._stopping.is_set():
            if self._listener.wait(_LISTEN_SECONDS):
                self._news.set()

    def _run(self) -> None:
        failures, soon, pause_at = 0, 0, time.monotonic() + PAUSE_SECONDS
        usual = LOOK_SECONDS if self._listener is None else _SELDOM_SECONDS
        self._on_start()
        while not self._stopping.is_set():
            told = self._news.wait(_SOON_SECONDS if soon else usual)
            self._news.clear()
            soon = _SOON if told else max(soon - 1, 0)
            if self._stopping.is_set():
                return
            try:
                found = self._look()
            except StoreError as error:
                failures += 1
                if failures == 1:
                    logger.warning("the feed cannot be read: %s", error)
                self._stopping.wait(min(LOOK_SECONDS * 2**failures, _LONGEST_PAUSE))
                continue
            failures = 0
            if time.monotonic() >= pause_at:
                self._on_pause()
                pause_at = time.monotonic() + PAUSE_SECONDS
            if found:
                soon = 0
                self._stopping.wait(self._find_pause())

    def _look(self) -> bool:
        """Hand on what is new; tell whether there was anything."""
        last, found = self._store.read_feed(LOCAL).last, False
        while self._seq < last and not self._stopping.is_set():
            entries = self._store.read_feed(LOCAL, after=self._seq, limit=_AT_ONCE).entries
            if not entries:
                break
            self._on_changes(entries)
            self._seq = entries[-1].seq  # only now: if it failed, they are handed on the next time
            found = True
        return found

"""Answers that are worked out once for each state of the archive."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from turnlog.store.interface import Store

V = TypeVar("V")


class Memo(Generic[V]):
    """The last answers about each store; from any thread."""

    def __init__(self, most: int) -> None:
        """Take how many answers are remembered for a store."""
        self._most = most
        self._known: WeakKeyDictionary[Store, dict[Hashable, V]] = WeakKeyDictionary()
        self._lock = Lock()

    def recall(self, store: Store, key: Hashable, build: Callable[[], V]) -> V:
        """Return what was built for a key; that must name the state of the archive, too."""
        with self._lock:
            known = self._known.setdefault(store, {})
            if key in known:
                return known[key]
        built = build()
        with self._lock:
            known[key] = built
            while len(known) > self._most:
                del known[next(iter(known))]
        return built

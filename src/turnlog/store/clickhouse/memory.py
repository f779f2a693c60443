"""What was found lately and is asked for again soon, of each engine; it goes with the engine."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from turnlog.store.clickhouse.connection import Engine

__all__ = ["Memory"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Memory(Generic[K, V]):
    """The newest values by name; several threads may use it. Names say all that a value depends on."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._found: WeakKeyDictionary[Engine, OrderedDict[K, V]] = WeakKeyDictionary()

    def find(self, engine: Engine, name: K) -> V | None:
        """Return a value; None if it is not known, or not any more."""
        with self._lock:
            known = self._found.get(engine)
            return None if known is None else known.get(name)

    def keep(self, engine: Engine, values: Mapping[K, V]) -> None:
        """Remember values, and forget older ones if there are too many."""
        with self._lock:
            known = self._found.setdefault(engine, OrderedDict())
            for name, value in values.items():
                known[name] = value
                known.move_to_end(name)
            while len(known) > self._most:
                known.popitem(last=False)

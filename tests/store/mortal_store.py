"""A store on ClickHouse whose process dies behind a given step, and what is done to it meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from turnlog.store.care import CaredStore
from turnlog.store.clickhouse.schema import STAGED
from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL
from turnlog.store.marks import MarkChange
from turnlog.store.usage.cells import merge_cells
from turnlog.testing.answers import read_bytes, sort_sources
from turnlog.testing.builders import ORIGIN, make_batch, make_key, make_lines

__all__ = [
    "ACTIONS",
    "Action",
    "Died",
    "Mortal",
    "choose_steps",
    "count_leftovers",
    "grow",
    "look",
    "open_mortal",
    "prepare",
]

_CHANGING = {
    "_engine": ("insert", "command"),
    "_blobs": ("put", "delete", "delete_under"),
    "_control": ("begin", "commit", "finish", "abandon", "doom", "write"),
}
_ASKING = {
    "_engine": ("query",),
    "_blobs": ("get", "list_under"),
    "_control": ("read", "list_unfinished", "find_last_change"),
}
Action = Callable[[CaredStore, int], object]


class Died(BaseException):
    """Nothing more is done."""


class Mortal:
    """Counts what a store changes, and ends it behind a number of steps."""

    def __init__(self, store: ClickHouseStore, steps: int, die: Callable[[], None] | None = None) -> None:
        self.steps: list[str] = []
        """What was done."""
        self.writes: list[int] = []
        """Those that were begun."""
        self._left = steps
        self._is_dead = False
        self._die = die or self._pretend
        for part, names in _CHANGING.items():
            for name in names:
                self._wrap(getattr(store, part), name, is_counted=True)
        for part, names in _ASKING.items():
            for name in names:
                self._wrap(getattr(store, part), name, is_counted=False)

    @property
    def is_committed(self) -> bool:
        """Whether what was begun is to be done, whoever does it."""
        return "commit" in self.steps

    def _pretend(self) -> None:
        self._is_dead = True
        raise Died

    def _wrap(self, part: Any, name: str, *, is_counted: bool) -> None:
        do = getattr(part, name)

        def wrapped(*given: Any, **named: Any) -> Any:
            if self._is_dead:
                raise Died
            found = do(*given, **named)
            if is_counted:
                self.steps.append(name)
                if name == "begin":
                    self.writes.append(found)
                self._left -= 1
                if self._left == 0:
                    self._die()
            return found

        setattr(part, name, wrapped)


def choose_steps(steps: list[str], *, every: bool = False) -> list[int]:
    """Return behind which steps of a write it is worth dying, given the names of all."""
    committed, finished = steps.index("commit") + 1, steps.index("finish") + 1
    if every:
        return list(range(1, finished + 1))
    middle = (committed + finished) // 2
    return sorted({1, committed - 1, committed, middle, finished} - {0})


def open_mortal(address: str, folder: Path) -> ClickHouseStore:
    """Open the store that a folder stands for."""
    return ClickHouseStore.open(address, control=folder / "control.db", blobs=str(folder / "blobs"))


def prepare(store: CaredStore, subject: int) -> None:
    """Write what there is of a subject before anything is done to it."""
    _apply(store, subject, 4)


def grow(store: CaredStore, subject: int) -> None:
    """Write what was added to the files of a subject."""
    _apply(store, subject, 9)


def mark(store: CaredStore, subject: int) -> None:
    store.mark(LOCAL, _list_keys(subject), MarkChange(name=f"Subject {subject}", tags=("seen",)))


def assign(store: CaredStore, subject: int) -> None:
    store.assign_machine(LOCAL, ORIGIN, f"person-{subject}")


def deliver(store: CaredStore, subject: int) -> None:
    told = (
        HookDelivery(
            delivery_id=f"{subject}-{each}",
            received_ns=1_700_000_000_000_000_000 + each,
            payload=b"{}",
            session_id=f"session-{subject}",
            event_name="Stop",
        )
        for each in range(3)
    )
    store.add_deliveries(LOCAL, list(told))


def forget(store: CaredStore, subject: int) -> None:
    store.forget(LOCAL, _list_keys(subject)[:1])


# What grows is tried by processes that are killed.
ACTIONS: dict[str, Action] = {
    "add": prepare,
    "mark": mark,
    "assign": assign,
    "deliver": deliver,
    "forget": forget,
}


def look(store: CaredStore, subject: int) -> dict[str, object]:
    """Return what a store tells of a subject, and of all."""
    keys = _list_keys(subject)
    known = [found for key in keys if (found := store.find_known(LOCAL, key)) is not None]
    files = [(source.source, source.generation) for each in known for source in each.sources]
    usage = store.read_usage(LOCAL)
    return {
        "known": [sort_sources(each) for each in known],
        "bytes": [read_bytes(store, LOCAL, *file) for file in files],
        "lines": [store.list_lines(LOCAL, *file) for file in files],
        "messages": [store.list_messages(LOCAL, key) for key in keys],
        "turns": [store.list_turns(LOCAL, key) for key in keys],
        "sightings": [[*store.list_sightings(LOCAL, key)] for key in keys],
        "marks": [store.find_marks(LOCAL, key) for key in keys],
        "access": [store.find_access(LOCAL, key) for key in keys],
        "deliveries": store.count_deliveries(LOCAL),
        "tombstones": [each.key for each in store.list_tombstones(LOCAL)],
        "usage": merge_cells(usage.list_cells()),
        "answers": sorted(usage.list_answers(), key=lambda answer: answer.message),
        "changes": sorted((each.kind, each.session, each.revision) for each in store.list_changes(LOCAL)),
    }


def count_leftovers(store: ClickHouseStore, write: int) -> int:
    """Return how much is there of a write: rows that are staged, and bytes."""
    engine = store._engine
    rows = 0
    for table in sorted(STAGED):
        [(found,)] = engine.query(
            f"SELECT count() FROM {table} WHERE write = {{write:UInt64}}", {"write": write}
        )
        rows += found
    return rows + sum(name.endswith(f"/{write}") for name, _ in store._blobs.list_under())


def _apply(store: CaredStore, subject: int, count: int) -> None:
    """Bring two sessions up to date that have the same messages, so that each counts for one of them."""
    batches = []
    for name in (f"session-{subject}", f"session-{subject}-copy"):
        files = {f"{name}.jsonl": make_lines(count, session_id=f"session-{subject}")}
        known = store.find_known(LOCAL, make_key(name))
        batches.append(make_batch(files, session_id=name, known=known))
    store.apply(batches)


def _list_keys(subject: int) -> list[str]:
    return [make_key(f"session-{subject}"), make_key(f"session-{subject}-copy")]

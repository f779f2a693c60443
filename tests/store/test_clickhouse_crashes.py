"""Whoever writes to ClickHouse may die at each step: what was begun is finished or undone, never half seen.

Some steps of each kind of write are tried, the ones around its commit among them; with `TURNLOG_CRASHES_ALL=1`,
all of them.
"""

from __future__ import annotations

import os
import signal
from contextlib import closing
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from clickhouse_engine import ADDRESSES, make_store
from store.mortal_store import (
    ACTIONS,
    Died,
    Mortal,
    choose_steps,
    count_leftovers,
    grow,
    look,
    open_mortal,
    prepare,
)
from turnlog.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.soak

EVERY = "TURNLOG_CRASHES_ALL" in os.environ
SPAWN = get_context("spawn")
ENDLESS = 10_000


@pytest.mark.parametrize("name", ACTIONS)
def test_dying_at_any_step_leaves_all_or_nothing(name: str, tmp_path: Path) -> None:
    """Here the process lives on, but the store does nothing more behind a step."""
    act = ACTIONS[name]
    with closing(make_store(tmp_path)) as store, closing(SqliteStore.open(tmp_path / "0.db")) as reference:
        for each in (store, reference):
            prepare(each, 0)  # the first one does more
        lived, other = Mortal(store, ENDLESS), -1 if act is prepare else 0
        act(store, other)
        act(reference, other)
    for subject, step in enumerate(choose_steps(lived.steps, every=EVERY), 1):
        with closing(SqliteStore.open(tmp_path / "0.db")) as reference:
            if act is not prepare:
                prepare(reference, subject)
            before = look(reference, subject)
            act(reference, subject)
            after = look(reference, subject)
        with closing(open_mortal(ADDRESSES[tmp_path], tmp_path)) as dying:
            if act is not prepare:
                prepare(dying, subject)
            mortal = Mortal(dying, step)
            with pytest.raises(Died):
                act(dying, subject)
        with closing(open_mortal(ADDRESSES[tmp_path], tmp_path)) as store:
            assert look(store, subject) == (after if mortal.is_committed else before), mortal.steps
            assert store._control.list_unfinished() == []
            if not mortal.is_committed:
                assert not any(count_leftovers(store, write) for write in mortal.writes)
                act(store, subject)
                assert look(store, subject) == after, mortal.steps


def live(address: str, folder: Path, subject: int, step: int, pipe: Connection) -> None:
    """Tell what is there of the subject before, and die while the next one grows."""
    with closing(open_mortal(address, folder)) as store:
        pipe.send(look(store, subject - 1))
        grow(store, subject - 1)
        pipe.send(look(store, subject - 1))
        prepare(store, subject)

        def die() -> None:
            pipe.send(mortal.steps)
            os.kill(os.getpid(), signal.SIGKILL)

        mortal = Mortal(store, step, die)
        grow(store, subject)
        pipe.send(mortal.steps)


def test_killed_processes_leave_all_or_nothing(tmp_path: Path) -> None:
    address = f"chdb://{tmp_path / 'engine'}"

    def run(subject: int, step: int) -> tuple[object, object, list[str]]:
        here, there = SPAWN.Pipe()
        process = SPAWN.Process(target=live, args=(address, tmp_path, subject, step, there))
        process.start()
        there.close()
        found, grown, steps = here.recv(), here.recv(), here.recv()
        process.join()
        assert process.exitcode == (0 if step == ENDLESS else -signal.SIGKILL)
        return found, grown, steps

    with closing(SqliteStore.open(tmp_path / "reference.db")) as reference:
        grow(reference, 0)
        prepare(reference, 1)
        _, _, steps = run(1, ENDLESS)
        for subject, step in enumerate([*choose_steps(steps, every=EVERY)[1:], ENDLESS], 2):
            before = look(reference, subject - 1)
            grow(reference, subject - 1)
            after = look(reference, subject - 1)
            found, grown, next_steps = run(subject, step)
            assert found == (after if "commit" in steps else before), steps
            assert grown == after, steps
            prepare(reference, subject)
            steps = next_steps

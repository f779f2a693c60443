"""Taking care of a control database, wherever it is: it stands still, is scrubbed, and put aside."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from postgres_server import make_database
from turnlog.errors import BusyStoreError
from turnlog.store.control.interface import Control
from turnlog.store.control.moving import is_there, put_aside, put_back
from turnlog.store.control.opening import open_control
from turnlog.store.places import ServerPlace, StorePlace


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> StorePlace:
    return tmp_path / "control.db" if request.param == "sqlite" else ServerPlace(make_database(), tmp_path)


@pytest.fixture
def control(place: StorePlace) -> Iterator[Control]:
    with closing(open_control(place)) as control:
        yield control


def test_nobody_writes_while_it_stands_still(control: Control) -> None:
    with control.standstill():
        for owner in ("one", "another"):
            assert not _get(control.locked(owner, ["m:a"], patience=0.05))
            assert not _get(control.alone(owner, patience=0.05))
    with control.locked("one", ["m:a"]):
        assert not _get(control.standstill(patience=0.05))
    with control.alone("another"):
        assert not _get(control.standstill(patience=0.05))
    assert _get(control.standstill(patience=0.05))


def test_what_was_deleted_is_in_no_file_behind_scrubbing(tmp_path: Path) -> None:
    secret = b"the very secret word" * 40
    with closing(open_control(tmp_path / "control.db")) as control:
        write = control.begin("one", ["m:a"], b"")
        control.commit(write, secret)
        control.finish(write, [])
        assert _has(tmp_path, secret)
        assert control.scrub()
        assert not _has(tmp_path, secret)


def test_scrubbing_leaves_what_is_there(control: Control) -> None:
    write = control.begin("one", ["m:a"], b"staged")
    assert control.scrub()
    assert [each.write for each in control.list_unfinished()] == [write]


def test_one_is_put_aside_and_put_back(place: StorePlace) -> None:
    assert not is_there(place)
    with closing(open_control(place)) as control:
        name = control.find_store()
    assert is_there(place)
    put_aside(place, "_before")
    assert not is_there(place)
    with closing(open_control(place)) as control:
        assert control.find_store() != name
    put_back(place, "_before")
    with closing(open_control(place)) as control:
        assert control.find_store() == name


def _get(lock: AbstractContextManager[None]) -> bool:
    """Tell whether another thread gets a lock."""

    def take() -> bool:
        try:
            with lock:
                return True
        except BusyStoreError:
            return False

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(take).result()


def _has(folder: Path, word: bytes) -> bool:
    return any(word[:20] in path.read_bytes() for path in folder.rglob("*") if os.path.isfile(path))

"""Several write to one store on ClickHouse at once: beside each other, if their control database lets them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from clickhouse_engine import make_address
from postgres_server import start_server
from turnlog.store.care import CaredStore
from turnlog.store.identity import LOCAL
from turnlog.store.opening import open_store
from turnlog.store.places import ServerPlace
from turnlog.store.usage.cells import merge_cells
from turnlog.testing.answers import sort_sources
from turnlog.testing.builders import make_batch, make_key, make_lines

pytestmark = pytest.mark.soak

MACHINES = ("one", "two", "three")
PERSONS = {"two": "ada", "three": "ben"}
SESSIONS = 2


def write_machine(place: ServerPlace | Path, origin: str) -> None:
    """Write sessions that have the same messages as those of other machines, bit by bit."""
    with closing(open_store(place)) as store:
        person = PERSONS.get(origin)
        store.note_machine(LOCAL, origin, person=person, host=origin, user="me", at_ns=1)
        for count in (2, 4, 7):
            for session in range(SESSIONS):
                name = f"{origin}-{session}"
                known = store.find_known(LOCAL, make_key(name, origin=origin))
                files = {f"{name}.jsonl": make_lines(count, session_id="session-1")}
                store.apply([make_batch(files, session_id=name, known=known, origin=origin)])


def look(store: CaredStore) -> dict[str, object]:
    usage = store.read_usage(LOCAL)
    return {
        "known": [sort_sources(each) for each in store.list_known(LOCAL)],
        "cells": merge_cells(usage.list_cells()),
        "answers": sorted(usage.list_answers(), key=repr),
        "changes": sorted((each.kind, each.session, each.revision) for each in store.list_changes(LOCAL)),
        "seqs": [each.seq for each in store.list_changes(LOCAL)],
    }


@pytest.mark.parametrize("control", ["sqlite", "postgres"])
def test_what_many_write_at_once_is_what_they_write_in_turn(control: str, tmp_path: Path) -> None:
    server = start_server()
    beside = None if control == "sqlite" else server.address(server.create())
    place = ServerPlace(make_address(), tmp_path, control=beside)
    reference = tmp_path / "reference.db"
    for origin in MACHINES:
        write_machine(reference, origin)
    open_store(place).close()
    with ThreadPoolExecutor(len(MACHINES)) as pool:
        list(pool.map(write_machine, [place] * len(MACHINES), MACHINES))
    with closing(open_store(place)) as store, closing(open_store(reference)) as expected:
        assert look(store) == look(expected)

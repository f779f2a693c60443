"""A database that was fed line by line is one that was synced at once: the same records, and no larger."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

from session_records import list_records
from turnlog.ingest.pipeline import sync
from turnlog.store.interface import Store, find_sessions
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.testing.checks import collect_answers
from turnlog.transcripts.session_files import locate_path

_FILES = 8
_LARGER = 1.2
"""How many times the size of the other a database may have: what is written at once is one piece of index."""
_ASKED = ("open_session", "read_usage", "search", "list_generations", "read_all")


def choose_files(corpus: Path) -> list[Path]:
    """Return transcripts of middle size; more than half of all hold hardly anything."""
    found = sorted((corpus / "sessions").rglob("*.jsonl"), key=lambda path: (path.stat().st_size, path.name))
    first = len(found) * 4 // 5 - _FILES // 2
    return found[first : first + _FILES]


def bring_up(store: Store, place: Path, folder: Path) -> int:
    return sync(store, place, locate_path(folder).sessions, origin="here", within=[folder], workers=1).lines


def test_fed_line_by_line_it_is_the_database_of_a_cold_sync(
    corpus: Path, tmp_path: Path, report: Callable[[str], None]
) -> None:
    folder = tmp_path / "projects" / "-work"
    folder.mkdir(parents=True)
    files = choose_files(corpus)
    pieces = [path.read_bytes().splitlines(keepends=True) for path in files]
    places = [tmp_path / name for name in ("live.db", "cold.db")]
    live = open_store(places[0])
    lines = 0
    for step in zip_longest(*pieces):  # all sessions grow at once, each by a line
        for number, line in enumerate(step):
            if line is not None:
                with (folder / f"session-{number}.jsonl").open("ab") as file:
                    file.write(line)
        lines += bring_up(live, places[0], folder)
    live.maintain()  # as a follower does whenever it looks at everything
    cold = open_store(places[1])
    assert bring_up(cold, places[1], folder) == lines
    one, other = collect_answers(live, LOCAL), collect_answers(cold, LOCAL)
    for name in _ASKED:
        assert one[name] == other[name], name
    for known in cold.list_known(LOCAL):
        assert list_records(live, known.key) == list_records(cold, known.key)
    assert [stored.row for stored in find_sessions(live, LOCAL, "")] == [
        stored.row for stored in find_sessions(cold, LOCAL, "")
    ]
    live.close()
    cold.close()
    sizes = [os.path.getsize(place) for place in places]
    raw = sum(path.stat().st_size for path in files)
    report(f"{len(files)} files, {lines} lines, {raw:,} bytes: {sizes[0]:,} live, {sizes[1]:,} cold")
    assert sizes[0] < sizes[1] * _LARGER

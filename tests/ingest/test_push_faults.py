"""A server whose disk is full, or whose store somebody else writes to, takes nothing half."""

from __future__ import annotations

import random
from pathlib import Path

from ingest.pushed_store import ORIGIN, PushedStore, check_sound
from turnlog.errors import LostStoreError
from turnlog.ingest.change_check import match_known
from turnlog.ingest.pusher import collect_changes, identify_session
from turnlog.ingest.upload_protocol import Outcome, SessionUpload
from turnlog.ingest.upload_receiver import UploadReceiver
from turnlog.store.catalogue.sqlite import Options
from turnlog.store.catalogue.sqlite_engine import SqliteEngine
from turnlog.store.catalogue.store import CatalogueStore
from turnlog.store.interface import read_all
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_line, make_lines
from turnlog.transcripts.session_files import locate_path


def build(pushed: PushedStore, path: Path) -> SessionUpload:
    [files] = locate_path(path).sessions
    known = next((each for each in pushed.list_known() if each.session_id == path.stem), None)
    upload = collect_changes(identify_session(files), *match_known(files, known), known, origin=ORIGIN).upload
    assert upload is not None
    return upload


def test_a_full_disk_costs_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-p"
    folder.mkdir(parents=True)
    pushed = PushedStore(tmp_path / "turnlog.db")
    pushed.store.close()
    pushed.store = CatalogueStore(SqliteEngine(tmp_path / "turnlog.db", options=Options(max_pages=200)))
    pushed.taker = UploadReceiver(pushed.store)
    chance = random.Random(2)
    acknowledged: dict[str, bytes] = {}
    for number in range(100):
        path = folder / f"s{number}.jsonl"
        path.write_bytes(make_line(1, text=chance.randbytes(40_000).hex(), session_id=path.stem))
        outcome = pushed.take(build(pushed, path)).outcome
        if outcome is Outcome.FAILED:
            break
        assert outcome is Outcome.TAKEN
        acknowledged[path.stem] = path.read_bytes()
    else:
        raise AssertionError("the disk was never full")
    assert acknowledged
    assert read_pushed(pushed) == acknowledged
    check_sound(pushed.store)
    pushed.store.close()
    pushed.store = open_store(tmp_path / "turnlog.db")
    pushed.taker = UploadReceiver(pushed.store)
    assert pushed.take(build(pushed, path)).outcome is Outcome.TAKEN
    assert read_pushed(pushed) == {**acknowledged, path.stem: path.read_bytes()}
    check_sound(pushed.store)
    pushed.store.close()


def read_pushed(pushed: PushedStore) -> dict[str, bytes]:
    return {
        known.session_id: b"".join(read_all(pushed.store.archive, LOCAL, source.source, source.generation))
        for known in pushed.store.list_known(LOCAL)
        for source in known.sources
    }


def test_two_processes_that_take_the_same_session_take_it_once(tmp_path: Path) -> None:
    """Whichever is asked: what was taken by the other is not taken again."""
    folder = tmp_path / "projects" / "-p"
    folder.mkdir(parents=True)
    one, other = (PushedStore(tmp_path / "turnlog.db") for _ in range(2))
    path = folder / "s.jsonl"
    for number in range(10):
        with path.open("ab") as file:
            file.write(make_lines(3, first=3 * number))
        upload = build(one, path)
        first, second = (one, other) if number % 3 else (other, one)
        assert first.take(upload).outcome is Outcome.TAKEN
        late = second.take(upload)
        assert late.outcome is Outcome.MISMATCH
        assert late.session is not None
        assert late.session.sources[0].length == path.stat().st_size
    assert read_pushed(one) == {"s": path.read_bytes()}
    check_sound(one.store)
    one.store.close()
    other.store.close()


def test_a_database_that_goes_away_is_tried_again_and_not_given_up(tmp_path: Path) -> None:
    """Whoever gives up a session looks at it minutes later; a database is back in seconds."""
    folder = tmp_path / "projects" / "-p"
    folder.mkdir(parents=True)
    pushed = PushedStore(tmp_path / "turnlog.db")
    path = folder / "s.jsonl"
    path.write_bytes(make_lines(3))

    def go_away() -> None:
        raise LostStoreError("it was gone while it committed")

    upload = build(pushed, path)
    pushed.taker = UploadReceiver(pushed.store, flush=go_away)
    assert pushed.take(upload).outcome is Outcome.BUSY
    pushed.taker = UploadReceiver(pushed.store)
    assert pushed.take(upload).outcome is Outcome.MISMATCH  # it was written after all
    assert read_pushed(pushed) == {"s": path.read_bytes()}
    pushed.store.close()

"""Files come back byte for byte, and nothing is overwritten."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnlog.errors import StoreError
from turnlog.export.files import Outcome, export_raw, restore_session
from turnlog.ingest.pipeline import sync
from turnlog.store.interface import KnownSession, Store
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions

TOUR = Path(__file__).parents[1] / "data" / "cli" / "tour"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TOUR, tmp_path / "claude" / "projects" / "-home-ada-tea"))


@pytest.fixture
def store(tmp_path: Path, project: Path) -> Iterator[Store]:
    place = tmp_path / "home" / "turnlog.db"
    store = open_store(place)
    sync(store, place, locate_sessions([tmp_path / "claude"]).sessions, origin="here")
    yield store
    store.close()


@pytest.fixture
def session(store: Store) -> KnownSession:
    [session] = store.list_known(LOCAL)
    return session


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_session_comes_back_after_its_source_is_gone(
    store: Store, session: KnownSession, project: Path, tmp_path: Path
) -> None:
    original = contents(project)
    shutil.rmtree(project)
    done = export_raw(store, LOCAL, session, tmp_path / "out")
    assert contents(tmp_path / "out") == original
    assert {each.outcome for each in done} == {Outcome.WRITTEN}
    assert all((tmp_path / "out" / name).stat().st_mode & 0o077 == 0 for name in original)


def test_exporting_again_changes_nothing(store: Store, session: KnownSession, tmp_path: Path) -> None:
    export_raw(store, LOCAL, session, tmp_path / "out")
    again = export_raw(store, LOCAL, session, tmp_path / "out")
    assert {each.outcome for each in again} == {Outcome.SAME}


def test_a_file_with_other_bytes_is_not_overwritten(
    store: Store, session: KnownSession, tmp_path: Path
) -> None:
    first = export_raw(store, LOCAL, session, tmp_path / "out")[0]
    first.path.write_bytes(b"mine")
    with pytest.raises(StoreError, match="different content"):
        export_raw(store, LOCAL, session, tmp_path / "out")
    assert first.path.read_bytes() == b"mine"


def test_a_deleted_session_is_put_back_where_it_was(store: Store, session: KnownSession, project: Path) -> None:
    original = contents(project)
    shutil.rmtree(project)
    planned = restore_session(store, LOCAL, session, dry_run=True)
    assert {each.outcome for each in planned} == {Outcome.WOULD_WRITE}
    assert not project.exists()
    restore_session(store, LOCAL, session)
    assert contents(project) == original


def test_nothing_is_restored_over_a_file_that_went_on(
    store: Store, session: KnownSession, project: Path
) -> None:
    [transcript] = project.glob("*.jsonl")
    with transcript.open("a") as file:
        file.write("{}\n")
    shutil.rmtree(project / transcript.stem)
    with pytest.raises(StoreError, match="move it out of the way"):
        restore_session(store, LOCAL, session)
    assert not (project / transcript.stem).exists()


def test_earlier_generations_are_given_back_beside_the_newest(
    store: Store, project: Path, tmp_path: Path
) -> None:
    [transcript] = project.glob("*.jsonl")
    old = transcript.read_bytes()
    transcript.write_bytes(b"")
    place = tmp_path / "home" / "turnlog.db"
    sync(store, place, locate_sessions([tmp_path / "claude"]).sessions, origin="here")
    [session] = store.list_known(LOCAL)
    export_raw(store, LOCAL, session, tmp_path / "out")
    assert (tmp_path / "out" / transcript.name).read_bytes() == b""
    assert (tmp_path / "out" / "earlier" / "0" / transcript.name).read_bytes() == old

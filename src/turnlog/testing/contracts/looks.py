"""Looks: what is read of real files can be kept, read on from, and derived anew."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from pathlib import Path

from turnlog.ingest.session_scan import scan_session, vanish
from turnlog.store.batch import SessionBatch
from turnlog.store.interface import Store, find_known
from turnlog.store.model import LOCAL, name_source
from turnlog.testing.answers import collect_answers, read_bytes
from turnlog.testing.builders import ORIGIN, make_line, make_lines
from turnlog.testing.contracts.base import ContractBase, expect_derived, get_derived, read_records
from turnlog.testing.row_builders import TIME
from turnlog.transcripts.files.locate import locate_path

_TRANSCRIPT = "session-1.jsonl"
_FILES = {
    _TRANSCRIPT: make_lines(5),
    "session-1/subagents/agent-a1.jsonl": make_lines(3, agent_id="a1"),
    "session-1/subagents/agent-a1.meta.json": b'{"agentType":"explorer"}',
    "session-1/tool-results/b1.txt": b"much\n" * 1000,
}


class LookContract(ContractBase):
    """Contracts of a store and its archive with looks at files."""

    def test_what_a_look_gave_can_be_read_back(self, tmp_path: Path) -> None:
        folder = _write(tmp_path, _FILES)
        with self.opened(tmp_path) as store:
            batch = _look(store, folder)
            _expect_kept(store, folder, batch)
            with store.open_session(LOCAL, batch.key) as session:
                assert session.list_agents() != []
                assert [chapter.count_messages for chapter in session.chapters] == [5, 3]

    def test_a_second_look_finds_nothing_new(self, tmp_path: Path) -> None:
        folder = _write(tmp_path, _FILES)
        with self.opened(tmp_path) as store:
            _look(store, folder)
            assert _find_news(store, folder) is None

    def test_looks_at_a_growing_file_give_what_one_look_at_its_end_gives(self, tmp_path: Path) -> None:
        whole = _FILES[_TRANSCRIPT] + make_line(5, text="é" * 50) + make_line(6, type="assistant")
        with self.opened(tmp_path) as store:
            for end in (0, 10, len(make_lines(2)), len(make_lines(3)) + 40, len(whole) - 1, len(whole)):
                folder = _write(tmp_path, {**_FILES, _TRANSCRIPT: whole[:end]})
                batch = _look(store, folder)
                _expect_kept(store, folder, batch)
            live = collect_answers(store, LOCAL)
        cold_path = tmp_path / "cold"
        cold_path.mkdir()
        with self.opened(cold_path) as store:
            _look(store, folder)
            cold = collect_answers(store, LOCAL)
        for name in ("open_session", "read_usage", "read_all"):
            assert live[name] == cold[name] != [], name

    def test_a_session_whose_files_are_gone_can_still_be_read(self, tmp_path: Path) -> None:
        folder = _write(tmp_path, _FILES)
        with self.opened(tmp_path) as store:
            batch = _look(store, folder)
            records = read_records(store, batch.key)
            known = find_known(store, LOCAL, batch.key)
            assert known is not None
            store.apply([vanish(known, LOCAL.owner, ORIGIN, TIME)])
            [session] = store.list_sessions(LOCAL).sessions
            assert not session.present
            assert read_records(store, batch.key) == records
            for path, data in _FILES.items():
                assert read_bytes(store, LOCAL, name_source(ORIGIN, str(folder / path)), 0) == data


def _write(tmp_path: Path, files: dict[str, bytes]) -> Path:
    folder = tmp_path / "projects" / "-work-project"
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def _find_news(store: Store, folder: Path) -> SessionBatch | None:
    [files] = locate_path(folder).sessions
    known = find_known(store, LOCAL, name_source(ORIGIN, str(folder / _TRANSCRIPT)))
    return scan_session(files, known, store.archive, owner=LOCAL.owner, origin=ORIGIN, now_ns=TIME)


def _look(store: Store, folder: Path) -> SessionBatch:
    batch = _find_news(store, folder)
    assert batch is not None
    store.apply([batch])
    return batch


def _expect_kept(store: Store, folder: Path, batch: SessionBatch) -> None:
    """Expect all records of a batch, and the bytes of all files as they are now."""
    expect_derived(store, batch.key, get_derived(batch))
    for path in folder.rglob("*.*"):
        if path.is_file():
            [*_, (generation, length)] = store.archive.list_generations(LOCAL, name_source(ORIGIN, str(path)))
            assert length == path.stat().st_size
            found = read_bytes(store, LOCAL, name_source(ORIGIN, str(path)), generation)
            assert found == path.read_bytes()

"""Looking at sessions: cold, while they grow, and when files are not what they were."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from msgspec import msgpack
from msgspec.structs import replace

from golden import DATA
from ingest.memory_store import MemoryStore, merge_derived
from ingest.session_watch import ORIGIN, Watch, grow, list_files, look_once
from turnlog.ingest.change_check import key_of, list_kinds
from turnlog.ingest.session_scan import SessionCache, scan_session, vanish
from turnlog.store.batch import ChapterBatch, Derived, SessionBatch
from turnlog.store.frames import open_frame
from turnlog.store.model import SourceKind, name_source
from turnlog.transcripts.line_reader import read_lines
from turnlog.transcripts.session_files import Change, locate_path

GOLDEN = [*(path for path in sorted((DATA / "transcripts").iterdir()) if path.is_dir()), DATA / "cli" / "tour"]
ONE, TWO, THREE = (
    b'{"type":"user","uuid":"%d","sessionId":"s","message":{"role":"user","content":"%d"}}\n' % (n, n)
    for n in (1, 2, 3)
)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "s.jsonl"
    path.parent.mkdir()
    path.write_bytes(ONE + TWO)
    return path


HOT = pytest.mark.parametrize("hot", [False, True], ids=["cold", "hot"])


def changes(batches: list[SessionBatch]) -> list[tuple[Change, int, int, int]]:
    return [
        (source.change, source.generation, source.start, source.length)
        for batch in batches
        for source in batch.sources
    ]


def assert_equal(one: dict[str, MemoryStore], other: dict[str, MemoryStore]) -> None:
    assert one.keys() == other.keys()
    for key, store in one.items():
        assert store.bytes == other[key].bytes
        assert store.counts == other[key].counts
        assert store.chapters == other[key].chapters
        assert _without_chapters(store.derived) == _without_chapters(other[key].derived)
        assert {each.source: each for each in store.sources.values()} == other[key].sources


def _without_chapters(derived: Derived | None) -> Derived | None:
    return None if derived is None else replace(derived, chapters=())


@HOT
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
def test_growing_line_by_line_gives_what_one_look_gives(golden: Path, hot: bool, tmp_path: Path) -> None:
    files = list_files(golden)
    watch = Watch(tmp_path, SessionCache() if hot else None)
    for _ in grow(tmp_path, {path: data.splitlines(keepends=True) or [b""] for path, data in files.items()}):
        watch.look()
    assert list_files(tmp_path) == files
    assert_equal(watch.stores, look_once(tmp_path))


@HOT
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
def test_growing_by_any_bytes_gives_what_one_look_gives(
    golden: Path, seed: int, hot: bool, tmp_path: Path
) -> None:
    chance = random.Random(f"{golden.name} {seed}")
    pieces = {}
    for path, data in list_files(golden).items():
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(6)))
        pieces[path] = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    watch = Watch(tmp_path, SessionCache() if hot else None)
    for _ in grow(tmp_path, pieces):
        watch.look()
    assert_equal(watch.stores, look_once(tmp_path))


def test_every_cut_of_a_session_gives_what_one_look_gives(tmp_path: Path) -> None:
    [golden] = (DATA / "transcripts" / "torn-then-glued").iterdir()
    data = golden.read_bytes()
    path = tmp_path / golden.name
    path.write_bytes(data)
    whole = look_once(tmp_path)
    for cut in range(len(data) + 1):
        path.unlink()
        path.write_bytes(data[:cut])
        watch = Watch(tmp_path)
        watch.look()
        with path.open("ab") as file:
            file.write(data[cut:])
        watch.look()
        [store], [cold] = watch.stores.values(), whole.values()
        assert (store.bytes, store.counts, store.derived) == (cold.bytes, cold.counts, cold.derived)


def test_a_second_look_finds_nothing(session: Path) -> None:
    watch = Watch(session.parent)
    assert changes(watch.look()) == [(Change.NEW, 0, 0, len(ONE + TWO))]
    assert watch.look() == []
    os.utime(session, ns=(1, 1))
    assert watch.look() == []


def test_a_look_says_whose_session_it_is(session: Path) -> None:
    [batch] = Watch(session.parent).look()
    key = name_source(ORIGIN, str(session))
    assert (batch.key, batch.owner, batch.origin, batch.seen_ns) == (key, "local", ORIGIN, 1)
    assert (batch.session_id, batch.project_folder) == ("s", "project")
    [source] = batch.sources
    assert (source.source, source.kind, source.path) == (key, SourceKind.TRANSCRIPT, str(session))
    assert source.checkpoint is not None
    assert (source.checkpoint.source, source.checkpoint.offset) == (key, source.length)


def test_a_batch_can_be_handed_over_as_bytes(tmp_path: Path) -> None:
    shutil.copytree(DATA / "cli" / "tour", tmp_path, dirs_exist_ok=True)
    for batch in Watch(tmp_path).look():
        assert msgpack.decode(msgpack.encode(batch, enc_hook=list), type=SessionBatch) == batch


def test_a_torn_line_is_archived_and_becomes_a_line_when_it_is_whole(session: Path) -> None:
    session.write_bytes(ONE + TWO[:20])
    watch = Watch(session.parent)
    [first] = watch.look()
    [source] = first.sources
    assert (source.length, source.consumed, source.lines) == (len(ONE) + 20, len(ONE), 1)
    session.write_bytes(ONE + TWO)
    [second] = watch.look()
    [source] = second.sources
    assert (source.change, source.start, source.length) == (Change.APPENDED, len(ONE) + 20, len(ONE + TWO))
    assert source.lines == 1
    lines = watch.store.list_lines(source.source)
    assert [(line.number, line.offset, line.uuid) for line in lines] == [(0, 0, "1"), (1, len(ONE), "2")]


def test_a_truncated_file_starts_a_new_generation_and_the_old_one_stays(session: Path) -> None:
    watch = Watch(session.parent)
    watch.look()
    session.write_bytes(TWO)
    assert changes(watch.look()) == [(Change.TRUNCATED, 1, 0, len(TWO))]
    key = watch.store.key
    assert watch.store.bytes == {(key, 0): ONE + TWO, (key, 1): TWO}
    [chapter] = watch.store.open().files
    [message] = chapter.list_messages()
    assert (chapter.facts.generation, message.lines, chapter.get_line(0).offset) == (1, (0,), 0)
    assert chapter.read_raw(message.lines) == {0: TWO.strip()}
    with session.open("ab") as file:
        file.write(THREE)
    assert changes(watch.look()) == [(Change.APPENDED, 1, len(TWO), len(TWO + THREE))]


@pytest.mark.parametrize("content", [TWO + THREE + ONE, THREE.upper() + TWO])
def test_a_rewritten_file_starts_a_new_generation(session: Path, content: bytes) -> None:
    watch = Watch(session.parent)
    watch.look()
    session.write_bytes(content)
    assert changes(watch.look()) == [(Change.REWRITTEN, 1, 0, len(content))]
    assert watch.store.bytes[watch.store.key, 1] == content


def test_a_replaced_file_starts_a_new_generation(session: Path) -> None:
    watch = Watch(session.parent)
    watch.look()
    other = session.with_name("other")
    other.write_bytes(ONE + TWO + THREE)
    other.replace(session)
    assert changes(watch.look()) == [(Change.REPLACED, 1, 0, len(ONE + TWO + THREE))]


def test_a_file_that_is_emptied_is_a_generation_without_bytes(session: Path) -> None:
    watch = Watch(session.parent)
    watch.look()
    session.write_bytes(b"")
    assert changes(watch.look()) == [(Change.TRUNCATED, 1, 0, 0)]
    assert watch.store.chapters[watch.store.key] == ChapterBatch(watch.store.key, 0)
    assert watch.look() == []


def test_an_empty_file_is_a_session(session: Path) -> None:
    session.write_bytes(b"")
    watch = Watch(session.parent)
    assert changes(watch.look()) == [(Change.NEW, 0, 0, 0)]
    assert watch.look() == []
    session.write_bytes(ONE)
    assert changes(watch.look()) == [(Change.APPENDED, 0, 0, len(ONE))]


def test_an_array_grows_and_starts_anew_where_its_end_is_overwritten(session: Path) -> None:
    one, two = ONE.strip(), TWO.strip()
    session.write_bytes(b"[" + one)
    watch = Watch(session.parent)
    watch.look()
    session.write_bytes(b"[" + one + b"," + two + b"]")
    assert [change for change, *_ in changes(watch.look())] == [Change.APPENDED]
    assert [line.uuid for line in watch.store.list_lines(watch.store.key)] == ["1", "2"]
    session.write_bytes(b"[" + one + b"," + two + b"," + THREE.strip() + b"]")
    assert [change[:2] for change in changes(watch.look())] == [(Change.REWRITTEN, 1)]
    assert [line.uuid for line in watch.store.list_lines(watch.store.key)] == ["1", "2", "3"]


def copy_tour(folder: Path) -> Path:
    """Return the folder of a session with agents."""
    shutil.copytree(DATA / "transcripts" / "agents-workflow", folder, dirs_exist_ok=True)
    [files] = locate_path(folder).sessions
    return files.folder


def test_files_that_vanish_are_told_once_and_rows_stay(tmp_path: Path) -> None:
    folder = copy_tour(tmp_path)
    watch = Watch(tmp_path)
    watch.look()
    before = watch.store.derived
    gone = {str(path) for path in folder.rglob("*") if path.is_file()}
    shutil.rmtree(folder)
    [batch] = watch.look()
    assert {source.path for source in batch.sources} == gone
    assert {source.change for source in batch.sources} == {Change.VANISHED}
    assert batch.derived is None
    assert watch.look() == []
    transcript = folder.with_name(f"{folder.name}.jsonl")
    with transcript.open("ab") as file:
        file.write(b"\n")
    [batch] = watch.look()
    assert [source.path for source in batch.sources] == [str(transcript)]
    assert batch.derived is not None
    assert merge_derived(None, batch.derived) == before


def test_files_that_come_back_are_there_again(tmp_path: Path) -> None:
    folder = copy_tour(tmp_path)
    watch = Watch(tmp_path)
    watch.look()
    before = watch.store.derived
    shutil.copytree(folder, tmp_path.with_name("aside"))
    shutil.rmtree(folder)
    watch.look()
    shutil.copytree(tmp_path.with_name("aside"), folder)
    [batch] = watch.look()
    assert {source.change for source in batch.sources} == {Change.UNCHANGED}
    assert all(source.present for source in watch.store.sources.values())
    assert watch.store.derived == before
    assert watch.look() == []


def test_a_session_that_is_gone_vanishes_as_a_whole(tmp_path: Path) -> None:
    copy_tour(tmp_path)
    watch = Watch(tmp_path)
    [new] = watch.look()
    known = watch.store.known
    assert known is not None
    gone = vanish(known, "local", ORIGIN, 2)
    assert {source.source for source in gone.sources} == {source.source for source in new.sources}
    assert (gone.key, gone.session_id, gone.project_folder) == (new.key, new.session_id, new.project_folder)
    watch.store.apply(gone)
    assert not any(source.present for source in watch.store.sources.values())


def test_a_moved_session_keeps_its_key_and_its_sources(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    copy_tour(old)
    watch = Watch(old)
    watch.look()
    store = watch.store
    sources = set(store.sources)
    old.rename(new)
    [files] = locate_path(new).sessions
    assert files.path is not None
    with files.path.open("ab") as file:
        file.write(ONE)
    batch = scan_session(files, store.known, store, owner="local", origin=ORIGIN, now_ns=2, is_last=True).batch
    assert batch is not None
    assert {(source.change, source.generation) for source in batch.sources} == {
        (Change.APPENDED, 0),
        (Change.UNCHANGED, 0),
    }
    store.apply(batch)
    assert set(store.sources) == sources
    assert {source.path for source in store.sources.values()} == {str(new / path) for path in list_files(new)}
    assert key_of(files, ORIGIN) != batch.key


def test_an_inode_that_is_used_again_makes_no_moved_file(tmp_path: Path) -> None:
    folder = copy_tour(tmp_path)
    watch = Watch(tmp_path)
    watch.look()
    meta = next(path for path in sorted(folder.rglob("agent-*.meta.json")))
    other = meta.with_name("agent-other.meta.json")
    meta.rename(other)
    other.write_bytes(b'{"agentType":"another"}')
    [batch] = watch.look()
    found = {source.path: (source.change, source.generation) for source in batch.sources}
    assert found == {str(meta): (Change.VANISHED, 0), str(other): (Change.NEW, 0)}


def test_a_session_without_a_transcript_is_known_by_where_it_would_be(tmp_path: Path) -> None:
    folder = copy_tour(tmp_path)
    transcript = folder.with_name(f"{folder.name}.jsonl")
    data = transcript.read_bytes()
    transcript.unlink()
    watch = Watch(tmp_path)
    [batch] = watch.look()
    assert batch.key == name_source(ORIGIN, str(transcript))
    assert batch.key not in {source.source for source in batch.sources}
    transcript.write_bytes(data)
    watch.look()
    assert_equal(watch.stores, look_once(tmp_path))


def test_a_file_that_cannot_be_read_counts_as_it_was(session: Path) -> None:
    meta = session.with_name("s") / "custom-title.json"
    meta.parent.mkdir()
    meta.write_bytes(b"{}")
    watch = Watch(session.parent)
    files = locate_path(session.parent).sessions
    watch.look()
    meta.unlink()
    meta.mkdir()
    with session.open("ab") as file:
        file.write(THREE)
    store = watch.store
    batch = scan_session(
        files[0], store.known, store, owner="local", origin=ORIGIN, now_ns=1, is_last=True
    ).batch
    assert batch is not None
    assert [source.change for source in batch.sources] == [Change.APPENDED]


def test_only_what_tells_something_is_derived_again(tmp_path: Path) -> None:
    folder = copy_tour(tmp_path)
    watch = Watch(tmp_path)
    watch.look()
    (folder / "tool-results").mkdir(exist_ok=True)
    (folder / "tool-results" / "long.txt").write_bytes(b"x" * 5_000_000)
    [batch] = watch.look()
    assert batch.derived is None
    [source] = batch.sources
    assert (source.kind, source.lines, source.consumed) == (SourceKind.TOOL_RESULT, 0, 0)
    assert b"".join(map(open_frame, source.frames)) == b"x" * 5_000_000
    assert 0 < source.sealed == source.frames[-1].start


def test_what_is_known_needs_an_archive(session: Path) -> None:
    watch = Watch(session.parent)
    watch.look()
    with session.open("ab") as file:
        file.write(THREE)
    [files] = locate_path(session.parent).sessions
    with pytest.raises(ValueError, match="archive"):
        scan_session(files, watch.store.known, None, owner="local", origin=ORIGIN, now_ns=1)


def test_all_files_of_a_session_are_listed_with_what_they_are_for(tmp_path: Path) -> None:
    shutil.copytree(DATA / "transcripts" / "layout", tmp_path, dirs_exist_ok=True)
    for files in locate_path(tmp_path).sessions:
        kinds = list_kinds(files)
        paths = [path for path, *_ in kinds]
        assert len(set(paths)) == len(paths)
        for path, kind, agent_id, run_id in kinds:
            assert (agent_id is not None) == (kind in (SourceKind.AGENT, SourceKind.AGENT_META)), path
            assert (run_id is not None) >= (kind in (SourceKind.JOURNAL, SourceKind.WORKFLOW)), path


def test_real_files_come_back_and_records_say_where_their_lines_are(corpus: Path) -> None:
    for files in locate_path(corpus / "sessions").sessions:
        batch = scan_session(files, None, None, owner="local", origin=ORIGIN, now_ns=1, is_last=True).batch
        assert batch is not None
        assert len(batch.sources) == len(list_kinds(files))
        store = MemoryStore()
        store.apply(batch)
        for source in batch.sources:
            data = b"".join(map(open_frame, source.frames))
            assert data == Path(source.path).read_bytes()
            assert [frame.start for frame in source.frames] == [
                sum(frame.length for frame in source.frames[:n]) for n in range(len(source.frames))
            ]
            lines = list(read_lines(source.path)) if source.kind.has_lines else []
            records = store.list_lines(source.source)
            assert [data[each.offset : each.offset + each.length] for each in records] == [
                line.raw for line in lines
            ]
            assert len(records) == source.lines

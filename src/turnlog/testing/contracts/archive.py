"""Bytes: what was read comes back, whatever became of the file."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.store.batch import SessionBatch
from turnlog.store.interface import Store, find_known, read_all
from turnlog.store.model import LOCAL, Place
from turnlog.testing.answers import read_bytes
from turnlog.testing.builders import make_batch, make_line, make_lines
from turnlog.testing.contracts.base import ContractBase, find_source, keep, read_records

_TRANSCRIPT = "session-1.jsonl"
_LARGE = 900 * 1024
"""Several frames and a tail."""


class ArchiveContract(ContractBase):
    """Contracts of the archive."""

    def test_bytes_come_back_from_any_range_across_frames_and_tail(self, tmp_path: Path) -> None:
        data = _make_large()
        half = data.index(b"\n", len(data) // 2) + 1
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: data[:half]})
            batch = keep(store, {_TRANSCRIPT: data})
            edges = {0, 1, half, len(data) - 1, 256 * 1024, *(frame.start for frame in batch.sources[0].frames)}
            for edge in edges:
                for start in (max(edge - 3, 0), edge):
                    for length in (1, 7, 300 * 1024):
                        length = min(length, len(data) - start)
                        assert _read(store, batch.key, start, length) == data[start : start + length]
            assert read_bytes(store, LOCAL, batch.key, 0) == data

    def test_a_whole_generation_is_what_it_was_when_it_was_asked_for(self, tmp_path: Path) -> None:
        """Even if the file grows on, or begins anew, before it is read."""
        data = _make_large()
        half = data.index(b"\n", len(data) // 2) + 1
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: data[:half]})
            pieces = read_all(store.archive, LOCAL, batch.key, 0)
            keep(store, {_TRANSCRIPT: data})
            keep(store, {_TRANSCRIPT: b"anew\n"})
            assert b"".join(pieces) == data[:half]
            for source, generation in ((batch.key, 2), ("nowhere", 0)):
                try:
                    read_all(store.archive, LOCAL, source, generation)
                except KeyError:
                    continue
                raise AssertionError("there is no such generation")

    def test_no_bytes_can_be_read_of_a_length_of_zero(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: b"abc\n"})
            assert _read(store, batch.key, 2, 0) == b""

    def test_bytes_that_are_not_there_are_a_key_error(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: b"abc\n"})
            for at, length in (
                (Place("nowhere", 0, 0), 1),
                (Place(batch.key, 1, 0), 1),
                (Place(batch.key, 0, 4), 1),
                (Place(batch.key, 0, 2), 3),
            ):
                try:
                    found = store.archive.read(LOCAL, at, length)
                except KeyError:
                    continue
                raise AssertionError(f"{at} gave {found!r}")

    def test_many_small_appends_come_back_as_one_file(self, tmp_path: Path) -> None:
        data = b""
        with self.opened(tmp_path) as store:
            for number in range(30):
                data += make_line(number, text="x" * 20_000 + str(number))
                batch = keep(store, {_TRANSCRIPT: data})
            assert read_bytes(store, LOCAL, batch.key, 0) == data
            for start in (0, 255 * 1024, 300 * 1024, len(data) - 20):
                assert _read(store, batch.key, start, 20) == data[start : start + 20]
            known = find_source(find_known(store, LOCAL, batch.key), _TRANSCRIPT)
            assert (known.length, known.lines) == (len(data), 30)

    def test_a_torn_last_line_is_archived_before_it_is_a_line(self, tmp_path: Path) -> None:
        whole, torn = make_lines(2), make_line(2)[:25]
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: whole + torn})
            known = find_source(find_known(store, LOCAL, batch.key), _TRANSCRIPT)
            assert (known.length, known.consumed, known.lines) == (len(whole + torn), len(whole), 2)
            assert _read(store, batch.key, known.consumed, len(torn)) == torn
            keep(store, {_TRANSCRIPT: whole + make_line(2)})
            assert read_bytes(store, LOCAL, batch.key, 0) == make_lines(2) + make_line(2)
            assert [line.number for line in read_records(store, batch.key).lines] == [0, 1, 2]

    def test_appended_bytes_extend_a_generation(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: make_lines(2)})
            batch = keep(store, {_TRANSCRIPT: make_lines(5)})
            assert store.archive.list_generations(LOCAL, batch.key) == [(0, len(make_lines(5)))]
            facts = read_records(store, batch.key).lines
            assert [fact.number for fact in facts] == [0, 1, 2, 3, 4]
            lines = make_lines(5).splitlines()
            assert [_read(store, batch.key, fact.offset, fact.length) for fact in facts] == lines

    def test_a_new_generation_keeps_the_old_one_readable(self, tmp_path: Path) -> None:
        old, new = make_lines(4), make_lines(3, first=7)
        with self.opened(tmp_path) as store:
            before = keep(store, {_TRANSCRIPT: old})
            keep(store, {_TRANSCRIPT: new})
            known = find_source(find_known(store, LOCAL, before.key), _TRANSCRIPT)
            assert (known.generation, known.length, known.lines) == (1, len(new), 3)
            assert store.archive.list_generations(LOCAL, before.key) == [(0, len(old)), (1, len(new))]
            assert read_bytes(store, LOCAL, before.key, 0) == old
            assert read_bytes(store, LOCAL, before.key, 1) == new
            assert len(read_records(store, before.key).lines) == 3

    def test_a_generation_may_be_empty(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: make_lines(1)})
            batch = keep(store, {_TRANSCRIPT: b""})
            assert store.archive.list_generations(LOCAL, batch.key) == [(0, len(make_lines(1))), (1, 0)]
            assert read_bytes(store, LOCAL, batch.key, 1) == b""

    def test_files_that_are_not_read_by_lines_are_kept_whole(self, tmp_path: Path) -> None:
        files = {
            _TRANSCRIPT: make_lines(1),
            "session-1/subagents/agent-a1.meta.json": b'{"agentType":"x"}',
            "session-1/tool-results/b1.txt": bytes(range(256)) * 2000,
            "session-1/custom-title.json": b"",
            "session-1/notes": b"\0\xff\n\n",
        }
        with self.opened(tmp_path) as store:
            batch = keep(store, files)
            for source in find_known(store, LOCAL, batch.key).sources:  # type: ignore[union-attr]
                [data] = [files[path] for path in files if source.path.endswith(f"/{path}")]
                assert read_bytes(store, LOCAL, source.source, 0) == data
                assert bool(read_records(store, batch.key, source.source).lines) == source.kind.has_lines

    def test_vanished_files_are_marked_and_their_bytes_stay(self, tmp_path: Path) -> None:
        agent = "session-1/subagents/agent-a1.jsonl"
        files = {_TRANSCRIPT: make_lines(3), agent: make_lines(2, agent_id="a1")}
        with self.opened(tmp_path) as store:
            batch = keep(store, files)
            records = read_records(store, batch.key)
            keep(store, {_TRANSCRIPT: files[_TRANSCRIPT]})
            known = find_source(find_known(store, LOCAL, batch.key), agent)
            assert not known.present
            assert find_source(find_known(store, LOCAL, batch.key), _TRANSCRIPT).present
            keep(store, {})
            [session] = store.list_sessions(LOCAL).sessions
            assert not session.present
            assert read_bytes(store, LOCAL, known.source, 0) == files[agent]
            assert read_bytes(store, LOCAL, batch.key, 0) == files[_TRANSCRIPT]
            assert read_records(store, batch.key) == records
            assert len(read_records(store, batch.key, known.source).lines) == 2

    def test_a_file_that_is_back_is_marked_as_there(self, tmp_path: Path) -> None:
        files = {_TRANSCRIPT: make_lines(3)}
        with self.opened(tmp_path) as store:
            keep(store, files)
            keep(store, {})
            batch = keep(store, files)
            [session] = store.list_sessions(LOCAL).sessions
            assert session.present
            assert store.archive.list_generations(LOCAL, batch.key) == [(0, len(files[_TRANSCRIPT]))]
            assert read_bytes(store, LOCAL, batch.key, 0) == files[_TRANSCRIPT]

    def test_a_moved_file_keeps_its_source(self, tmp_path: Path) -> None:
        data = make_lines(3)
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: data})
            keep(store, {"moved/here.jsonl": data + make_line(3)}, moved={"moved/here.jsonl": _TRANSCRIPT})
            [known] = find_known(store, LOCAL, batch.key).sources  # type: ignore[union-attr]
            assert (known.source, known.generation) == (batch.key, 0)
            assert known.path.endswith("/moved/here.jsonl")
            [session] = store.list_sessions(LOCAL).sessions
            assert (session.path, session.present) == (known.path, True)
            assert read_bytes(store, LOCAL, batch.key, 0) == data + make_line(3)

    def test_damaged_frames_are_refused(self, tmp_path: Path) -> None:
        """At once, or when they are read; never given out as if they were right."""
        with self.opened(tmp_path) as store:
            batch = _make_damaged()
            try:
                store.apply([batch])
                found = read_bytes(store, LOCAL, batch.key, 0)
            except StoreError:
                return
            raise AssertionError(f"a wrong digest was not noticed: {found!r}")


def _read(store: Store, source: str, offset: int, length: int) -> bytes:
    return store.archive.read(LOCAL, Place(source, 0, offset), length)


def _make_large() -> bytes:
    """Return lines that do not compress to nothing, so that places in them can be told apart."""
    lines: list[bytes] = []
    size = 0
    while size < _LARGE:
        number = len(lines)
        lines.append(
            make_line(number, text=" ".join(str(number * 7919 + step) for step in range(number % 400)))
        )
        size += len(lines[-1])
    return b"".join(lines)


def _make_damaged() -> SessionBatch:
    batch = make_batch({_TRANSCRIPT: make_lines(2)})
    [source] = batch.sources
    [frame] = source.frames
    wrong = replace(source, frames=(replace(frame, digest=bytes(len(frame.digest))),))
    return replace(batch, sources=(wrong,))

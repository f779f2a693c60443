"""Visiting one file again and again: what is told of it, and that the bytes are those that were there."""

from __future__ import annotations

import os
from io import FileIO
from pathlib import Path

import pytest

from turnlog.ingest.file_scan import FileScan, scan_file
from turnlog.store.interface import KnownSource
from turnlog.store.model import SourceKind
from turnlog.transcripts.session_files import Change

TEXT = b"".join(b'{"type":"user","uuid":"%d"}\n' % number for number in range(1000))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.jsonl"
    path.write_bytes(TEXT)
    return path


def see(path: Path, known: KnownSource | None = None, chunk: int = 1 << 20) -> tuple[FileScan, bytes]:
    found = scan_file(path, "a source", known, chunk=chunk)
    return found, b"".join(found)


def keep(found: FileScan, *, present: bool = True) -> KnownSource:
    """Return what a store knows after a visit."""
    return KnownSource(
        source="a source",
        kind=SourceKind.TRANSCRIPT,
        path="",
        present=present,
        generation=found.generation,
        length=found.length,
        consumed=0,
        in_array=False,
        lines=0,
        checkpoint=found.checkpoint,
    )


def what(found: FileScan) -> tuple[Change, int, int, int]:
    return found.change, found.generation, found.start, found.length


@pytest.mark.parametrize("chunk", [1, 7, 4096, 1 << 20])
def test_a_new_file_is_read_in_pieces(file: Path, chunk: int) -> None:
    file.write_bytes(TEXT[:20_000])
    found, data = see(file, chunk=chunk)
    assert (what(found), data) == ((Change.NEW, 0, 0, 20_000), TEXT[:20_000])


def test_a_file_that_nobody_touched_is_not_opened(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = keep(see(file)[0])
    monkeypatch.setattr("turnlog.ingest.file_scan.FileIO", None)
    assert what(scan_file(file, "a source", known)) == (Change.UNCHANGED, 0, len(TEXT), len(TEXT))


def test_a_file_with_another_time_and_the_same_bytes_is_unchanged(file: Path) -> None:
    known = keep(see(file)[0])
    os.utime(file, ns=(1, 1))
    found, data = see(file, known)
    assert (found.change, data) == (Change.UNCHANGED, b"")
    assert found.checkpoint is not None
    assert found.checkpoint.modified_ns == 1


@pytest.mark.parametrize("first", [0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 20_001])
def test_what_was_appended_is_read_wherever_the_first_visit_ended(file: Path, first: int) -> None:
    file.write_bytes(TEXT[:first])
    known = keep(see(file)[0])
    file.write_bytes(TEXT)
    found, data = see(file, known, chunk=999)
    assert (what(found), data) == ((Change.APPENDED, 0, first, len(TEXT)), TEXT[first:])
    again, _ = see(file, keep(found))
    assert again.change is Change.UNCHANGED
    whole, _ = see(file)
    assert found.checkpoint == whole.checkpoint


def test_a_shorter_file_starts_a_new_generation(file: Path) -> None:
    known = keep(see(file)[0])
    file.write_bytes(TEXT[:100])
    found, data = see(file, known)
    assert (what(found), data) == ((Change.TRUNCATED, 1, 0, 100), TEXT[:100])


@pytest.mark.parametrize("at", [0, len(TEXT) - 10])
def test_other_bytes_start_a_new_generation(file: Path, at: int) -> None:
    known = keep(see(file)[0])
    other = TEXT[:at] + b"#" + TEXT[at + 1 :] + b"more"
    file.write_bytes(other)
    found, data = see(file, known)
    assert (what(found), data) == ((Change.REWRITTEN, 1, 0, len(other)), other)


def test_another_file_of_the_same_name_starts_a_new_generation(file: Path) -> None:
    known = keep(see(file)[0])
    other = file.with_name("other")
    other.write_bytes(b"other")
    other.replace(file)
    found, data = see(file, known)
    assert (what(found), data) == ((Change.REPLACED, 1, 0, 5), b"other")


def test_a_file_that_is_gone_has_vanished(file: Path) -> None:
    known = keep(see(file)[0])
    file.unlink()
    found, data = see(file, known)
    assert (what(found), data) == ((Change.VANISHED, 0, len(TEXT), len(TEXT)), b"")
    assert found.checkpoint == known.checkpoint


def test_a_file_that_comes_back_goes_on_if_it_has_the_same_bytes(file: Path) -> None:
    known = keep(see(file)[0], present=False)
    file.rename(file.with_name("kept"))  # so that its inode is not used again
    file.write_bytes(TEXT)
    found, data = see(file, known)
    assert (found.change, found.generation, data) == (Change.UNCHANGED, 0, b"")
    assert found.checkpoint is not None
    assert found.checkpoint.inode == file.stat().st_ino
    file.write_bytes(TEXT + b"more")
    found, data = see(file, known)
    assert (found.change, found.generation, data) == (Change.APPENDED, 0, b"more")
    file.write_bytes(b"something else")
    assert what(see(file, known)[0])[:2] == (Change.TRUNCATED, 1)


def test_what_is_no_file_is_unreadable(tmp_path: Path) -> None:
    found, data = see(tmp_path)
    assert (found.change, found.reason, data) == (Change.UNREADABLE, "not a regular file", b"")
    assert see(tmp_path / "\0")[0].change is Change.UNREADABLE


def test_what_comes_while_a_file_is_read_is_for_the_next_visit(file: Path) -> None:
    found = scan_file(file, "a source", None, chunk=1000)
    pieces = []
    for piece in found:
        pieces.append(piece)
        with file.open("ab") as growing:
            growing.write(b"more\n")
    assert b"".join(pieces) == TEXT
    after, data = see(file, keep(found))
    assert (after.change, data) == (Change.APPENDED, b"more\n" * len(pieces))


def test_a_file_that_shrinks_while_it_is_read_gives_what_was_there(file: Path) -> None:
    found = scan_file(file, "a source", None, chunk=1000)
    pieces = []
    for piece in found:
        pieces.append(piece)
        os.truncate(file, 2500)
    assert b"".join(pieces) == TEXT[:2500]
    assert found.length == 2500
    assert see(file, keep(found))[0].change is Change.UNCHANGED
    os.truncate(file, 2400)
    assert what(see(file, keep(found))[0]) == (Change.TRUNCATED, 1, 0, 2400)


def test_a_file_that_is_rewritten_while_it_is_read_is_found_out_by_the_next_visit(file: Path) -> None:
    found = scan_file(file, "a source", None, chunk=5000)
    status = file.stat()
    for piece in found:
        assert len(piece) > 0
        file.write_bytes(TEXT.upper())
        os.utime(file, ns=(status.st_mtime_ns + 1, status.st_mtime_ns + 1))
    after, data = see(file, keep(found))
    assert (after.change, after.generation, data) == (Change.REWRITTEN, 1, TEXT.upper())


class FailingFile(FileIO):
    """A file whose second piece cannot be read."""

    reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads += 1
        if self.reads > 1:
            raise OSError(5, "Input/output error")
        return super().read(size)


def test_an_error_while_reading_ends_the_visit_and_keeps_what_was_read(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("turnlog.ingest.file_scan.FileIO", FailingFile)
        found, data = see(file, chunk=1000)
    assert (what(found), data) == ((Change.NEW, 0, 0, 1000), TEXT[:1000])
    assert found.reason == "Input/output error"
    assert see(file, keep(found))[1] == TEXT[1000:]

"""Bytes in a folder keep to all contracts; nothing half is seen, and nobody else may look."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from turnlog.errors import StoreError
from turnlog.store.blobs.folder import FolderBlobs
from turnlog.store.blobs.interface import Blobs
from turnlog.store.blobs.opening import open_blobs
from turnlog.testing.blobs_contract import BlobsContract


class TestContract(BlobsContract):
    def open(self, tmp_path: Path) -> Blobs:
        return open_blobs(str(tmp_path / "blobs"))


def test_nothing_is_made_before_there_is_anything_to_keep(tmp_path: Path) -> None:
    blobs = open_blobs(str(tmp_path / "blobs"))
    blobs.delete(["a/1"])
    blobs.delete_under("a/")
    assert list(blobs.list_under()) == []
    assert blobs.list_folders() == []
    assert list(tmp_path.iterdir()) == []


def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    FolderBlobs(tmp_path / "blobs").put("a/1", b"x")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"blobs": 0o700, "a": 0o700, "1": 0o600}


def test_what_a_dead_writer_left_is_not_seen_and_goes_with_its_folder(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    blobs.put("2026-11/a/1", b"x")
    left = tmp_path / "2026-11" / "a" / ".2.0badcafe.tmp"
    left.write_bytes(b"half")
    assert list(blobs.list_under()) == [("2026-11/a/1", 1)]
    assert blobs.delete_under("2026-11/a/") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_no_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    blobs = FolderBlobs(tmp_path / "file")
    with pytest.raises(StoreError, match="cannot be read or written"):
        blobs.put("a/1", b"")
    with pytest.raises(StoreError, match="cannot be read or written"):
        blobs.get("a/1", 0, 1)
    with pytest.raises(StoreError, match="cannot be read or written"):
        list(blobs.list_under())

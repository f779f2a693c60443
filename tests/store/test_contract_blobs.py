"""The store on PostgreSQL keeps to the contracts of bytes and segments where these are in blobs, too."""

from __future__ import annotations

from pathlib import Path

from contracts.deletion import DeletionContract, RepairContract
from postgres_server import make_archive
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import BlobPlace, ServerPlace
from turnlog.store.opening import open_store
from turnlog.testing.archive_contract import ArchiveContract, ChapterContract, ScanContract
from turnlog.testing.batch_contract import PartialUpdateContract


class TestContract(
    ArchiveContract, ChapterContract, ScanContract, PartialUpdateContract, RepairContract, DeletionContract
):
    def make_store(self, tmp_path: Path) -> MaintainedStore:
        self.place = ServerPlace(make_archive(), tmp_path, blobs=BlobPlace(str(tmp_path / "blobs")))
        return self.reopen(tmp_path)

    def reopen(self, tmp_path: Path) -> MaintainedStore:
        return open_store(self.place)

    def spoil_bytes(self, tmp_path: Path, source: str) -> None:
        spoiled = [path for path in (tmp_path / "blobs" / "frames").rglob("*") if path.is_file()]
        assert spoiled
        for path in spoiled:
            path.write_bytes(path.read_bytes()[:-1] + b"\0")

"""Bytes in a bucket keep to all contracts, on a real server; what goes wrong there is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from s3_server import make_bucket
from turnlog.errors import LostStoreError, StoreError
from turnlog.store.blobs.interface import Blobs
from turnlog.store.blobs.opening import open_blobs
from turnlog.testing.blobs_contract import BlobsContract


class TestContract(BlobsContract):
    @pytest.fixture(autouse=True)
    def _make(self) -> None:
        self._address = make_bucket()

    def open(self, tmp_path: Path) -> Blobs:
        return open_blobs(self._address)


def test_a_server_that_refuses_is_told_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    address = make_bucket()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    blobs = open_blobs(address)
    with pytest.raises(StoreError, match="SignatureDoesNotMatch") as raised:
        blobs.put("a/1", b"x")
    assert "hunter2" not in str(raised.value)
    assert "\n" not in str(raised.value)
    with pytest.raises(StoreError, match="SignatureDoesNotMatch"):
        blobs.get("a/1", 0, 1)
    with pytest.raises(StoreError, match="SignatureDoesNotMatch"):
        list(blobs.list_under())


def test_a_bucket_that_is_not_there_is_told() -> None:
    blobs = open_blobs(make_bucket().replace("//bytes/", "//nowhere/"))
    with pytest.raises(StoreError, match="no bucket"):
        blobs.put("a/1", b"x")
    with pytest.raises(StoreError, match="no bucket"):
        blobs.get("a/1", 0, 1)


def test_a_server_that_does_not_answer_is_lost() -> None:
    make_bucket()
    blobs = open_blobs("s3://bytes/x?endpoint=http://127.0.0.1:9&region=us-east-1")
    with pytest.raises(LostStoreError, match="s3://bytes/x cannot be reached"):
        blobs.get("a/1", 0, 1)


@pytest.mark.parametrize(
    "address", ["s3://", "s3:///prefix", "s3://key:secret@bucket", "s3://bucket?secret=1", "http://host", ""]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(StoreError, match="Expected") as raised:
        open_blobs(address)
    assert "secret@" not in str(raised.value)


def test_without_the_library_it_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "turnlog.store.blobs.s3", raising=False)
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(StoreError, match=r"pip install 'turnlog\[s3\]'"):
        open_blobs("s3://bucket/prefix?endpoint=http://127.0.0.1:9")

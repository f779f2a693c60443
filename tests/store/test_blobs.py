"""A folder and a bucket keep the same contract; what goes wrong there is told in one line, without secrets."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from s3_server import make_bucket
from turnlog.errors import LostStoreError, StoreError
from turnlog.store.blobs import BlobReader, Blobs, open_blobs
from turnlog.store.frames import SHORTEST, have_same, is_name, make_name, stem_of
from turnlog.store.model import BlobPlace

NAME, OTHER = (f"frames/{letter * 40}" for letter in "ab")


@pytest.fixture(params=["folder", "file", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> BlobPlace:
    folder = tmp_path / "blobs here"
    addresses = {"folder": lambda: str(folder), "file": folder.as_uri, "bucket": make_bucket}
    return BlobPlace(addresses[request.param]())


@pytest.fixture
def blobs(place: BlobPlace) -> Blobs:
    return open_blobs(place)


def test_bytes_come_back_to_everybody(place: BlobPlace, blobs: Blobs) -> None:
    data = {NAME: Random(1).randbytes(3 << 20), OTHER: b"x"}
    for name, each in data.items():
        blobs.put(name, each)
    other = open_blobs(place)
    assert {name: other.get(name) for name in data} == data


def test_what_is_not_there_is_a_key_error(blobs: Blobs) -> None:
    with pytest.raises(KeyError):
        blobs.get(NAME)
    blobs.put(NAME, b"x")
    with pytest.raises(KeyError):
        blobs.get(OTHER)


def test_what_is_deleted_is_gone_and_the_rest_stays(blobs: Blobs) -> None:
    blobs.delete([NAME])
    blobs.put(NAME, b"x")
    blobs.put(OTHER, b"y")
    blobs.delete([f"segments/{'c' * 40}", NAME])
    assert blobs.get(OTHER) == b"y"
    with pytest.raises(KeyError):
        blobs.get(NAME)


def test_several_threads_may_use_it(blobs: Blobs) -> None:
    def work(number: int) -> bytes:
        name = f"frames/{number:040x}"
        blobs.put(name, b"%d" % number)
        return blobs.get(name)

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(work, range(40))] == [b"%d" % number for number in range(40)]


def test_a_reader_tells_what_is_missing_and_what_is_damaged(blobs: Blobs) -> None:
    reader = BlobReader(blobs)
    packed = [Random(number).randbytes(1000) for number in range(4)]
    whole, damaged, missing, other = (make_name(stem_of("frames", each)) for each in packed)
    for name, data in ((whole, packed[0]), (damaged, packed[1][:-1]), (other, packed[3])):
        blobs.put(name.decode(), data)
    found = reader.load([whole, damaged, b"itself", missing, other, whole])
    assert [each for each in found if isinstance(each, bytes)] == [packed[0], b"itself", packed[3], packed[0]]
    assert [str(each) for each in found if isinstance(each, ValueError)] == [
        f"The blob {damaged.decode()} is damaged", f"The blob {missing.decode()} is missing"
    ]  # fmt: skip
    blobs.delete([whole.decode()])
    assert reader.load([whole]) == [packed[0]]  # read lately
    reader.close()
    reader.close()


def test_names_are_told_from_bytes_and_by_their_content() -> None:
    data = b"\x28\xb5\x2f\xfd" + b"x" * 100
    names = [make_name(stem_of(kind, data)) for kind in ("frames", "segments", "frames")]
    assert len({*names}) == 3
    assert all(map(is_name, names))
    assert max(map(len, names)) < SHORTEST
    assert not any(map(is_name, (data, b"", b"frames/", names[0] + b"0", names[0].upper())))
    assert all(have_same(one, other) for one in (*names, data) for other in (*names, data))
    other = make_name(stem_of("frames", b"y" * 100))
    assert not any(have_same(*pair) for one in (*names, data) for pair in ((one, other), (other, one)))
    assert not have_same(data, data + b"x")


# A folder.


def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    open_blobs(BlobPlace(str(tmp_path / "blobs"))).put(NAME, b"x")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*") if path.is_dir()}
    files = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*") if path.is_file()}
    assert (modes, files) == ({0o700}, {0o600})


def test_what_a_killed_writer_left_is_never_read_and_goes_with_its_name(tmp_path: Path) -> None:
    place = BlobPlace(str(tmp_path))
    script = f"""
import os, signal
from turnlog.store import blobs
from turnlog.store.model import BlobPlace
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
blobs.open_blobs(BlobPlace({str(tmp_path)!r})).put({NAME!r}, b"x" * 1000)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode < 0
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f".{'a' * 40}"]
    with pytest.raises(KeyError):
        open_blobs(place).get(NAME)
    open_blobs(place).delete([NAME])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_place_that_is_no_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    blobs = open_blobs(BlobPlace(str(tmp_path / "file")))
    with pytest.raises(StoreError, match="cannot be read or written"):
        blobs.put(NAME, b"")
    with pytest.raises(StoreError, match="cannot be read or written"):
        blobs.get(NAME)


# A bucket.


def test_a_server_that_refuses_is_told_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    address = make_bucket()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    blobs = open_blobs(BlobPlace(address))
    for work in (lambda: blobs.put(NAME, b"x"), lambda: blobs.get(NAME), lambda: blobs.delete([NAME])):
        with pytest.raises(StoreError, match="SignatureDoesNotMatch") as raised:
            work()
        assert "hunter2" not in str(raised.value)
        assert "\n" not in str(raised.value)


def test_the_keys_may_stand_in_the_address_and_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    address = make_bucket()
    key, secret = (os.environ[f"AWS_{name}"] for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    place = BlobPlace(address.replace("//", f"//{key.replace(':', '%3A')}:{secret}@", 1))
    open_blobs(place).put(NAME, b"x")
    assert open_blobs(place).get(NAME) == b"x"
    wrong = BlobPlace(place.address.replace("//bytes", "//bytes").replace("@bytes/", "@nowhere/"))
    with pytest.raises(StoreError, match="no bucket for s3://nowhere/") as raised:
        open_blobs(wrong).put(NAME, b"x")
    assert secret not in f"{raised.value} {place} {wrong}"


def test_a_server_that_does_not_answer_is_lost() -> None:
    make_bucket()
    blobs = open_blobs(BlobPlace("s3://bytes/x?endpoint=http://127.0.0.1:9&region=us-east-1"))
    with pytest.raises(LostStoreError, match="s3://bytes/x cannot be reached"):
        blobs.get(NAME)


@pytest.mark.parametrize("address", ["s3://", "s3:///prefix", "s3://bucket?secret=hunter2"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(StoreError, match="Expected s3://bucket") as raised:
        open_blobs(BlobPlace(address))
    assert "hunter2" not in str(raised.value)


def test_without_the_library_it_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "turnlog.store.s3_blobs", raising=False)
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(StoreError, match=r"pip install 'turnlog\[s3\]'"):
        open_blobs(BlobPlace("s3://bucket/prefix?endpoint=http://127.0.0.1:9"))

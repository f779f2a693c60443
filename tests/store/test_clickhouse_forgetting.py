"""What was forgotten is in no file any more: of the engine, of the control database, of the bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

import lz4.block  # type: ignore[import-untyped]
import pytest
import zstandard
from msgspec.structs import replace

from clickhouse_engine import ADDRESSES, make_store, reopen
from turnlog.store.clickhouse.copying import hold_copy
from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL
from turnlog.store.marks import MarkChange
from turnlog.testing.builders import make_batch, make_key, make_line
from turnlog.testing.row_builders import make_session_row

_LZ4, _ZSTD, _PLAIN = 0x82, 0x90, 0x02
_CHECKSUM, _HEADER = 16, 9
_FRAME = b"\x28\xb5\x2f\xfd"


def test_nothing_of_a_forgotten_session_is_left_in_any_file(tmp_path: Path) -> None:
    secret, kept = f"plugh{uuid4().hex}", f"xyzzy{uuid4().hex}"
    with closing(make_store(tmp_path)) as store:
        gone, other = (_plant(store, name, word) for name, word in (("one", secret), ("two", kept)))
        before = _find(tmp_path, secret)
        assert {"engine", "blobs"} <= before
        assert _find(tmp_path, kept) == before
        assert store.forget(LOCAL, [gone]).scrubbed
        assert _find(tmp_path, secret) == set()
        assert {"engine", "blobs"} <= _find(tmp_path, kept)
        assert [each.key for each in store.list_known(LOCAL)] == [other]
        assert store.list_flaws(LOCAL) == []
    with closing(reopen(tmp_path)):
        assert _find(tmp_path, secret) == set()


def test_words_of_somebody_who_died_while_forgetting_are_purged_by_scrubbing(tmp_path: Path) -> None:
    secret = f"plugh{uuid4().hex}"
    with closing(make_store(tmp_path)) as store:
        gone = _plant(store, "one", secret)
        with store._writing(LOCAL.owner, None) as write:  # as `forget` does, without what it does then
            store._forget(write, LOCAL, store._find_all(LOCAL, [gone]))
        assert _find(tmp_path, secret)
    with closing(reopen(tmp_path)) as store:
        assert store.scrub()
        assert _find(tmp_path, secret) == set()


def test_what_others_read_is_removed_when_they_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnlog.store.clickhouse.scrubbing._SECONDS", 0.5)
    secret = f"plugh{uuid4().hex}"
    with closing(make_store(tmp_path)) as store, closing(store._engine.connect_again()) as other:
        gone = _plant(store, "one", secret)
        reading = other.read_raw("SELECT payload FROM deliveries CROSS JOIN numbers(3000000) AS n")
        assert next(reading)
        assert not store.forget(LOCAL, [gone]).scrubbed
        assert "engine" in _find(tmp_path, secret)
        reading.close()
        monkeypatch.undo()
        assert store.scrub()
        assert _find(tmp_path, secret) == set()


def test_what_a_backup_copies_is_not_removed_yet(tmp_path: Path) -> None:
    secret = f"plugh{uuid4().hex}"
    with closing(make_store(tmp_path)) as store:
        gone = _plant(store, "one", secret)
        with hold_copy(store._engine):
            assert not store.forget(LOCAL, [gone]).scrubbed
        assert store.scrub()
        assert _find(tmp_path, secret) == set()


def _plant(store: ClickHouseStore, name: str, word: str) -> str:
    """Keep a session that has a word everywhere, in some writes, and return its key."""
    for count in (2, 3):
        lines = b"".join(make_line(at, session_id=name, text=f"so {word} said") for at in range(count))
        known = store.find_known(LOCAL, make_key(name))
        batch = make_batch({f"{name}.jsonl": lines}, session_id=name, known=known)
        assert batch.derived is not None
        titled = replace(batch.derived, session=make_session_row(title=word))
        store.apply([replace(batch, derived=titled)])
    store.mark(LOCAL, [batch.key], MarkChange(name=word, note=f"a note with {word}", tags=(word,)))
    store.mark(LOCAL, [batch.key], MarkChange(name="another", note="another"))
    payload = f'{{"message":"{word}","session_id":"{name}"}}'.encode()
    told = HookDelivery(
        delivery_id=f"of-{name}", received_ns=7, payload=payload, session_id=name, label=word, context=word
    )
    store.add_deliveries(LOCAL, [told])
    return batch.key


def _find(folder: Path, word: str) -> set[str]:
    """Return where a word is, in whatever file: as it stands, or packed."""
    engine = ADDRESSES[folder].removeprefix("chdb://").partition("?")[0]
    places = {"engine": Path(engine), "control": folder, "blobs": folder / "blobs"}
    found: set[str] = set()
    for name, place in places.items():
        for path in place.rglob("*"):
            if path.is_file() and (name != "control" or "blobs" not in path.parts):
                data = path.read_bytes()
                if any(word.encode() in each for each in (data, *_unpack(data))):
                    found.add(name)
    return found


def _unpack(data: bytes) -> Iterator[bytes]:
    """Yield what is in the blocks of an engine's file, or in the frames of a blob."""
    at = 0
    while at + _CHECKSUM + _HEADER <= len(data):
        start = at + _CHECKSUM
        method, packed = data[start], int.from_bytes(data[start + 1 : start + 5], "little")
        size = int.from_bytes(data[start + 5 : start + 9], "little")
        body = data[start + _HEADER : start + packed]
        if method not in (_LZ4, _ZSTD, _PLAIN) or packed < _HEADER or start + packed > len(data):
            break
        if method == _LZ4:
            yield lz4.block.decompress(body, uncompressed_size=size)
        elif method == _ZSTD:
            yield zstandard.ZstdDecompressor().decompress(body, max_output_size=size)
        else:
            yield body
        at = start + packed
    at = data.find(_FRAME)
    while at >= 0:
        with suppress(zstandard.ZstdError):
            yield zstandard.ZstdDecompressor().decompressobj().decompress(data[at:])
        at = data.find(_FRAME, at + 1)

from __future__ import annotations

import threading

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from turnlog.store.frames import (
    FRAME_SIZE,
    compress,
    compress_pieces,
    cut_frames,
    decompress,
    make_frame,
    open_frame,
)


@given(st.binary(max_size=2000), st.integers(0, 2**40), st.integers(0, 400))
def test_frames_give_the_bytes_back_and_follow_on_each_other(data: bytes, start: int, times: int) -> None:
    whole = data * times
    frames = cut_frames(whole, start)
    assert b"".join(map(open_frame, frames)) == whole
    position = start
    for frame in frames:
        assert frame.start == position
        assert 0 < frame.length <= FRAME_SIZE
        position += frame.length
    assert position == start + len(whole)


def test_frames_end_behind_a_newline_where_one_is_near() -> None:
    lines = b"".join(b'{"number": %d}\n' % number for number in range(120_000))
    frames = cut_frames(lines, 0)
    assert len(frames) > 3
    assert all(open_frame(frame).endswith(b"\n") for frame in frames)
    assert all(frame.length > FRAME_SIZE // 2 for frame in frames[:-1])


def test_frames_of_a_long_line_are_of_full_size() -> None:
    data = b"start\n" + b"x" * (2 * FRAME_SIZE)
    assert [frame.length for frame in cut_frames(data, 7)] == [FRAME_SIZE, FRAME_SIZE, 6]


def test_nothing_has_no_frames() -> None:
    assert cut_frames(b"", 5) == []


def test_damage_is_noticed() -> None:
    frame = make_frame(b"some bytes " * 50, 0)
    other = make_frame(b"more bytes " * 50, 0)
    damaged = [
        replace(frame, length=frame.length + 1),
        replace(frame, length=frame.length - 1),
        replace(frame, digest=other.digest),
        replace(frame, data=other.data),
        replace(frame, data=frame.data[:-3]),
        replace(frame, data=frame.data + b"x"),
        replace(frame, data=b""),
        replace(frame, data=b"no frame at all"),
    ]
    for wrong in damaged:
        with pytest.raises(ValueError, match="bytes"):
            open_frame(wrong)


def test_every_flipped_bit_is_noticed() -> None:
    frame = make_frame(b'{"type":"user","text":"hello"}\n' * 3, 0)
    for place in range(len(frame.data) * 8):
        data = bytearray(frame.data)
        data[place // 8] ^= 1 << place % 8
        try:
            found = open_frame(replace(frame, data=bytes(data)))
        except ValueError:
            continue
        assert found == open_frame(frame), "a bit that is not used may differ, but never the bytes"


def test_a_header_that_promises_too_much_is_not_believed() -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(100 << 20))
    with pytest.raises(ValueError, match="the header says 104857600"):
        decompress(bomb, 10)
    silent = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(100 << 20))
    for length in (10, (100 << 20) + 1):
        with pytest.raises(ValueError, match="bytes"):
            decompress(silent, length)


def test_bytes_that_came_in_pieces_come_back() -> None:
    for pieces in ([], [b""], [b"abc", b"", b"def" * 1000]):
        length, data = compress_pieces(pieces)
        assert length == len(b"".join(pieces))
        assert decompress(data, length) == b"".join(pieces)


def test_compressed_bytes_come_back() -> None:
    for data in (b"", b"x", b"abc" * 1000):
        assert decompress(compress(data), len(data)) == data


def test_threads_do_not_disturb_each_other() -> None:
    failures: list[int] = []

    def work(number: int) -> None:
        for step in range(50):
            data = bytes([number, step]) * 5000
            if b"".join(map(open_frame, cut_frames(data, 0))) != data:
                failures.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []

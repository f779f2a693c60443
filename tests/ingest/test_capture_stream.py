"""Streams are kept line by line, each session in a file of its own, and are on the disk at once."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Thread

import pytest

from turnlog.ingest.capture import StreamCapture, find_stream_file
from turnlog.ingest.captured_files import append_lines

A, B = "aaaaaaaa-0000-4000-8000-000000000000", "bbbbbbbb-0000-4000-8000-000000000000"


def line(session: str | None, **more: object) -> bytes:
    named = {} if session is None else {"session_id": session}
    return json.dumps({"type": "system", **named, **more}).encode() + b"\n"


def init(session: str, cwd: str = "/home/ada/tea") -> bytes:
    return line(session, subtype="init", cwd=cwd)


def kept(folder: Path, session: str) -> bytes:
    path = find_stream_file(folder, session)
    return b"" if path is None else path.read_bytes()


def test_lines_wait_until_it_is_known_where_they_belong(tmp_path: Path) -> None:
    capture = StreamCapture(tmp_path, folder="unknown")
    capture.feed([b'{"type":"keep_alive"}\n', line(A, subtype="hook_started")])
    assert kept(tmp_path, A) == b""
    capture.feed([init(A)])
    assert kept(tmp_path, A) == b'{"type":"keep_alive"}\n' + line(A, subtype="hook_started") + init(A)
    assert capture.captured[0].path == tmp_path / "projects" / "-home-ada-tea" / f"{A}.stream.jsonl"


def test_what_is_fed_is_on_the_disk_for_its_owner_alone(tmp_path: Path) -> None:
    StreamCapture(tmp_path / "new" / "home", folder="unknown").feed([init(A)])
    path = find_stream_file(tmp_path / "new" / "home", A)
    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o600
    assert all(each.stat().st_mode & 0o777 == 0o700 for each in path.parents if tmp_path in each.parents)


def test_several_sessions_in_one_stream_are_kept_apart(tmp_path: Path) -> None:
    capture = StreamCapture(tmp_path, folder="unknown")
    capture.feed([init(A), line(None, n=1), init(B, "/home/ada/cake"), line(None, n=2), line(A, n=3)])
    capture.finish()
    assert kept(tmp_path, A) == init(A) + line(None, n=1) + line(A, n=3)
    assert kept(tmp_path, B) == init(B, "/home/ada/cake") + line(None, n=2)


def test_what_is_no_json_is_kept_and_counted(tmp_path: Path) -> None:
    capture = StreamCapture(tmp_path, folder="unknown")
    broken = [b"Warning: something\n", b'{"type":"resu', b"\xff\xfe\n", b"[1]\n"]
    capture.feed([init(A), *broken[:1], b"\n", *broken[1:]])
    [captured] = capture.finish()
    assert (captured.lines, captured.broken) == (5, 4)
    assert kept(tmp_path, A) == init(A) + broken[0] + broken[1] + b"\n" + broken[2] + broken[3]


def test_a_session_that_never_says_where_it_works_is_kept_all_the_same(tmp_path: Path) -> None:
    capture = StreamCapture(tmp_path, folder="unknown")
    capture.feed([line(A, n=1)])
    [captured] = capture.finish()
    assert captured.path == tmp_path / "projects" / "unknown" / f"{A}.stream.jsonl"


def test_lines_without_any_session_are_kept_where_they_can_be_found(tmp_path: Path) -> None:
    capture = StreamCapture(tmp_path, folder="unknown")
    capture.feed([b"hello\n", b'{"a":1}\n'])
    [captured] = capture.finish()
    assert (captured.session_id, captured.lines, captured.broken) == (None, 2, 1)
    assert captured.path is not None
    assert captured.path.read_bytes() == b'hello\n{"a":1}\n'


@pytest.mark.parametrize("name", ["../../evil", "a/b", ".hidden", "", "x" * 300])
def test_a_session_cannot_be_named_so_that_it_lies_elsewhere(tmp_path: Path, name: str) -> None:
    capture = StreamCapture(tmp_path / "home", folder="unknown")
    capture.feed([line(name, n=1)])
    [captured] = capture.finish()
    assert captured.session_id is None
    assert {path.parent for path in tmp_path.rglob("*.jsonl")} == {tmp_path / "home" / "unclaimed"}


def test_a_file_that_is_taken_again_adds_only_what_is_new(tmp_path: Path) -> None:
    lines = [init(A), b"garbage\n", line(A, n=1), line(A, n=1)]
    for count in (2, 4, 4):
        capture = StreamCapture(tmp_path, folder="unknown", is_file=True)
        capture.feed(lines[:count])
        capture.finish()
    assert kept(tmp_path, A) == b"".join(lines)


def test_of_a_stream_that_goes_on_only_lines_with_ids_are_known_again(tmp_path: Path) -> None:
    alive, result = b'{"type":"keep_alive"}\n', line(A, uuid="u1")
    for _ in range(2):
        capture = StreamCapture(tmp_path, folder="elsewhere")
        capture.feed([init(A), alive, result])
        capture.finish()
    assert kept(tmp_path, A) == init(A) + alive + result + init(A) + alive


def test_a_torn_line_of_a_process_that_died_stays_a_line_of_its_own(tmp_path: Path) -> None:
    StreamCapture(tmp_path, folder="unknown").feed([init(A)])
    path = find_stream_file(tmp_path, A)
    assert path is not None
    with path.open("ab") as file:
        file.write(b'{"torn')
    StreamCapture(tmp_path, folder="unknown").feed([line(A, n=1)])
    assert path.read_bytes() == init(A) + b'{"torn\n' + line(A, n=1)


def test_several_may_append_to_one_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.jsonl"

    def append(number: int) -> None:
        for each in range(10):
            append_lines(path, [b"%d" % number * 5000 + b"\n", b"%d:%d\n" % (number, each)])

    threads = [Thread(target=append, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = path.read_bytes().splitlines()
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    assert all(long == short[:1] * 5000 for long, short in pairs)
    for number in range(4):
        assert [short for _, short in pairs if short.startswith(b"%d:" % number)] == [
            b"%d:%d" % (number, each) for each in range(10)
        ]

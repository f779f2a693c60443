"""How much memory a sync takes does not follow the size of a session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import turnlog
from golden import DATA
from turnlog.ingest.contents import Content, LineCache
from turnlog.ingest.session_scan import scan_session
from turnlog.ingest.verification import verify_session
from turnlog.messages import Line, ProblemKind
from turnlog.store.interface import read_all
from turnlog.store.model import LOCAL, SourceKind
from turnlog.store.opening import open_store
from turnlog.store.search.language import parse_query
from turnlog.transcripts.queries.threads import decode_lines
from turnlog.transcripts.session_files import locate_path

STATUS = Path("/proc/self/status")
SYNC = """
import sys
from pathlib import Path
from turnlog.ingest.pipeline import sync
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions

config, place = map(Path, sys.argv[1:])
sync(open_store(place), place, locate_sessions([config]).sessions, origin="here")
[peak] = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
print(peak)
"""
"""A cold sync in a process of its own, which prints the most memory that it had, in KiB."""


def make_session(turns: int, size: int) -> Iterator[bytes]:
    """Yield the lines of a session in which each turn makes a call, which is answered at length."""
    last = None
    for turn in range(turns):
        call = {"type": "tool_use", "id": f"t{turn}", "name": "Bash", "input": {"command": f"echo {turn}"}}
        said = f"line {turn} of it\n" * (size // 16)
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": said}
        for name, kind, content in (
            ("p", "user", "Go on"),
            ("c", "assistant", [call]),
            ("r", "user", [result]),
        ):
            message: dict[str, object] = {"role": kind, "content": content}
            if kind == "assistant":
                message |= {"id": f"m{turn}", "model": "claude-sonnet-4-5", "usage": {"output_tokens": 7}}
            line = {"type": kind, "uuid": f"{name}{turn}", "parentUuid": last, "sessionId": "s"}
            line |= {"timestamp": "2026-05-01T10:00:00.000Z"}
            last = f"{name}{turn}"
            yield json.dumps({**line, "message": message}, separators=(",", ":")).encode() + b"\n"


def write_session(config: Path, turns: int, size: int) -> Path:
    path = config / "projects" / "-p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(make_session(turns, size)))
    return path


def measure_peak(config: Path, place: Path) -> float:
    """Return how many MB a cold sync takes at its peak."""
    command = [sys.executable, "-c", SYNC, os.fspath(config), os.fspath(place)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024


@pytest.mark.skipif(not STATUS.exists(), reason="nobody tells how much memory a process had")
def test_a_long_session_is_synced_in_bounded_memory(tmp_path: Path, report: Callable[[str], None]) -> None:
    write_session(tmp_path / "short", 2, 100)
    idle = measure_peak(tmp_path / "short", tmp_path / "short.db")
    path = write_session(tmp_path / "claude", 5_000, 7_500)
    size = path.stat().st_size / 1e6
    peak = measure_peak(tmp_path / "claude", tmp_path / "turnlog.db")
    report(f"a session of {size:.0f} MB took {peak:.0f} MB, {peak - idle:.0f} more than a short one")
    assert peak - idle < 80  # 60 are enough; held whole, it takes 94


@pytest.mark.skipif(not STATUS.exists(), reason="nobody tells how much memory a process had")
def test_a_session_of_many_lines_is_synced_in_bounded_memory(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    write_session(tmp_path / "short", 2, 100)
    idle = measure_peak(tmp_path / "short", tmp_path / "short.db")
    write_session(tmp_path / "claude", 30_000, 100)
    peak = measure_peak(tmp_path / "claude", tmp_path / "turnlog.db")
    report(f"90,000 lines took {peak - idle:.0f} MB more than a few")
    assert peak - idle < 140  # 105 are enough; held whole, they take 390


@pytest.mark.skipif(not STATUS.exists(), reason="nobody tells how much memory a process had")
def test_a_long_line_is_kept_whole_and_searched_at_its_head(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    path = write_session(tmp_path / "claude", 2, 100)
    idle = measure_peak(tmp_path / "claude", tmp_path / "short.db")
    said = "the needle in front " + "".join(f"line {number} → of it\n" for number in range(2_000_000))
    result = {"type": "tool_result", "tool_use_id": "t1", "content": said + "the thread at the end"}
    line = {
        "type": "user",
        "parentUuid": "r1",
        "sessionId": "s",
        "message": {"role": "user", "content": [result]},
    }
    with path.open("ab") as file:
        file.write(json.dumps({**line, "uuid": "long"}, ensure_ascii=False).encode() + b"\n")
    del said, result, line
    peak = measure_peak(tmp_path / "claude", tmp_path / "turnlog.db")
    size = path.stat().st_size / 1e6
    report(f"a line of {size:.0f} MB took {peak:.0f} MB, {peak - idle:.0f} more than short ones")
    assert peak - idle < 220  # 150 are enough, for one of any length
    store = open_store(tmp_path / "turnlog.db")
    [hit] = store.search(LOCAL, parse_query('"needle in front"')).hits
    assert hit.kind == "tool-output"
    assert store.search(LOCAL, parse_query("thread")).hits == ()
    [known] = store.list_known(LOCAL)
    [source] = known.sources
    assert b"".join(read_all(store.archive, LOCAL, source.source, source.generation)) == path.read_bytes()
    assert verify_session(store, LOCAL, known).disagreements == ()
    with store.open_session(LOCAL, known.key) as session:
        assert session.main is not None
        [flawed] = session.main.list_flawed()
        assert (flawed.uuid, flawed.type) == ("long", "user")
        assert flawed.offset + flawed.length + 1 == path.stat().st_size
        shown = decode_lines(session.main, [flawed.number])[flawed.number]
    [read] = [line for line in turnlog.read(path).lines if line.unread]
    assert (shown.entry, shown.problems, shown.raw) == (read.entry, read.problems, read.raw)
    assert [problem.kind for problem in shown.problems] == [ProblemKind.TOO_LONG]
    store.close()


ROOMS = (1 << 60, 100_000, 0)
"""For all lines, for some, for none."""
GOLDEN = [*(path for path in sorted((DATA / "transcripts").iterdir()) if path.is_dir()), DATA / "cli" / "tour"]


def compare(folder: Path) -> None:
    for files in locate_path(folder).sessions:
        whole, *others = (
            scan_session(
                files, None, None, owner="local", origin="here", now_ns=1, room=room, is_last=True
            ).batch
            for room in ROOMS
        )
        for batch in others:
            assert batch == whole


def test_a_batch_is_the_same_however_many_lines_there_is_room_for(tmp_path: Path) -> None:
    write_session(tmp_path, 700, 3_000)
    compare(tmp_path / "projects" / "-p")


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
def test_batches_of_golden_sessions_are_the_same(golden: Path) -> None:
    compare(golden)


def test_batches_of_real_sessions_are_the_same(corpus: Path) -> None:
    compare(corpus / "sessions")


def test_a_large_session_that_grows_goes_on_from_where_it_was(tmp_path: Path) -> None:
    path = write_session(tmp_path / "claude", 400, 3_000)
    lines = path.read_bytes().splitlines(keepends=True)
    store = open_store(tmp_path / "turnlog.db")
    cached, written = None, 0
    path.write_bytes(b"")
    for count in (len(lines) - 40, len(lines) - 20, len(lines) - 1, len(lines)):
        with path.open("ab") as file:
            file.writelines(lines[written:count])
        written = count
        [files] = locate_path(path).sessions
        known = next(iter(store.list_known(LOCAL)), None)
        found = scan_session(
            files, known, store.archive, cached, owner="local", origin="here", now_ns=1, room=0
        )
        assert found.batch is not None
        store.apply([found.batch])
        cached = found.cached
    [known] = store.list_known(LOCAL)
    assert verify_session(store, LOCAL, known).disagreements == ()
    store.close()


def test_lines_that_are_decoded_again_say_what_they_said() -> None:
    long = json.dumps({"type": "user", "message": {"role": "user", "content": "word " * 3_500_000}}).encode()
    raw = [
        *make_session(600, 100),
        *[b"{broken\n", b'{"type":"new","x":1}\n'] * 40,
        long + b"\n",
        b'{"type":"x"}\n',
    ]
    data = b"".join(raw)
    plain = Content("s", SourceKind.TRANSCRIPT)
    again = Content("s", SourceKind.TRANSCRIPT, cache=LineCache(0))
    frames = again.begin(0)
    for at in range(0, len(data), 100_000):
        piece = data[at : at + 100_000]
        plain.add(piece)
        frames.add(piece)
        again.add(piece)
    for line, later in zip(plain.lines, again.lines, strict=True):
        for name in ("entry", "raw", "dialect", "problems", "wire", "at", "length", "unread"):
            assert getattr(later, name) == getattr(line, name)
    assert sum(not isinstance(line, Line) for line in again.lines) > 1_800

"""How much memory a sync takes does not follow the size of a session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from turnlog.ingest.lean import LineShelf
from turnlog.ingest.looks import look, look_on
from turnlog.ingest.spill import KeptItems, Spill
from turnlog.ingest.verification import verify_session
from turnlog.messages import Line, Position, decode
from turnlog.store.identity import LOCAL
from turnlog.store.opening import open_store
from turnlog.store.search.parsing import parse_query
from turnlog.transcripts.files.locate import locate_path

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
def test_a_long_line_is_synced_in_bounded_memory(tmp_path: Path, report: Callable[[str], None]) -> None:
    path = write_session(tmp_path / "claude", 2, 100)
    idle = measure_peak(tmp_path / "claude", tmp_path / "short.db")
    said = "".join(f"line {number} → of it\n" for number in range(1_000_000)) + "the needle at the end"
    message = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": said}]}
    line = {"type": "user", "uuid": "long", "parentUuid": "r1", "sessionId": "s", "message": message}
    with path.open("ab") as file:
        file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
    del said, message, line
    peak = measure_peak(tmp_path / "claude", tmp_path / "turnlog.db")
    size = path.stat().st_size / 1e6
    report(f"a line of {size:.0f} MB took {peak:.0f} MB, {peak - idle:.0f} more than short ones")
    assert peak - idle < 110  # 75 are enough, for one of any length; held whole, it takes 400
    store = open_store(tmp_path / "turnlog.db")
    [hit] = store.search(LOCAL, parse_query("needle at the end")).hits
    assert hit.kind == "tool-output"
    [known] = store.list_known(LOCAL)
    [source] = known.sources
    assert b"".join(store.archive.read_all(LOCAL, source.source, source.generation)) == path.read_bytes()
    store.close()


def test_what_is_put_aside_is_what_a_look_gives(tmp_path: Path) -> None:
    write_session(tmp_path, 700, 3_000)
    [files] = locate_path(tmp_path / "projects" / "-p").sessions
    whole, light = (
        look(files, None, None, owner="local", origin="here", now_ns=1, large=size) for size in (1 << 60, 0)
    )
    assert whole is not None
    assert light is not None
    assert light == whole
    assert isinstance(light.sources[0].frames, KeptItems)


def test_a_large_session_that_grows_goes_on_from_what_was_put_aside(tmp_path: Path) -> None:
    path = write_session(tmp_path / "claude", 400, 3_000)
    lines = path.read_bytes().splitlines(keepends=True)
    place = tmp_path / "turnlog.db"
    store = open_store(place)
    hot, written = None, 0
    path.write_bytes(b"")
    for count in (len(lines) - 40, len(lines) - 20, len(lines) - 1, len(lines)):
        with path.open("ab") as file:
            file.writelines(lines[written:count])
        written = count
        [files] = locate_path(path).sessions
        known = next(iter(store.list_known(LOCAL)), None)
        found = look_on(files, known, store.archive, hot, owner="local", origin="here", now_ns=1, large=0)
        assert found.batch is not None
        store.apply([found.batch])
        hot = found.hot
    [known] = store.list_known(LOCAL)
    assert verify_session(store, LOCAL, known).disagreements == ()
    store.close()


def test_lines_that_were_put_aside_say_what_they_said() -> None:
    raw = [line.rstrip(b"\n") for line in make_session(600, 100)] + [b"{broken", b'{"type":"new","x":1}'] * 40
    lines = [decode(data, at=Position("s", number)) for number, data in enumerate(raw)]
    shelf = LineShelf("s", Spill())
    aside = [
        each for first in range(0, len(lines), 300) for each in shelf.put(lines[first : first + 300], first)
    ]
    assert not any(isinstance(each, Line) for each in aside)
    for line, lean in zip(lines, aside, strict=True):
        for name in ("entry", "raw", "dialect", "problems", "wire", "at"):
            assert getattr(lean, name) == getattr(line, name)


def test_where_nothing_can_be_put_aside_it_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    items = KeptItems(Spill(), lambda number, data: (number, data))
    items.append(b"one")
    items.append(b"two")
    assert items == [(0, b"one"), (1, b"two")]

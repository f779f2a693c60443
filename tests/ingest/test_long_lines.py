"""Lines that are too long for memory say what they would say if they were read whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from turnlog.ingest.long_lines import LongLine
from turnlog.ingest.looks import look
from turnlog.ingest.spill import Spill
from turnlog.ingest.visits import visit
from turnlog.messages import Position
from turnlog.store.batch import SessionBatch
from turnlog.store.search.packing import unpack_texts
from turnlog.transcripts.files.locate import locate_path

NEVER = 1 << 60
WORDS = " ".join(f'word{number} ÄÖ → 漢字 e\u0301 \\ " <b> 🎉\n\t' for number in range(700))
BASE64 = "QUJDRA+/" * 8_000
HEAD = {"sessionId": "s", "timestamp": "2026-05-01T10:00:00.000Z"}


def user(uuid: str, content: object, **others: object) -> dict[str, object]:
    return {**HEAD, "type": "user", "uuid": uuid, "message": {"role": "user", "content": content}, **others}


def assistant(uuid: str, *blocks: object, **others: object) -> dict[str, object]:
    message = {
        "role": "assistant",
        "id": f"m-{uuid}",
        "model": "claude-sonnet-4-5",
        "usage": {"output_tokens": 7},
        "content": list(blocks),
    }
    return {**HEAD, "type": "assistant", "uuid": uuid, "message": message, **others}


def call(name: str, **asked: object) -> dict[str, object]:
    return {"type": "tool_use", "id": "t", "name": name, "input": asked}


def result(content: object, **others: object) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": "t", "content": content, **others}


def text(said: str) -> dict[str, object]:
    return {"type": "text", "text": said}


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BASE64}}
AGENT = f"{WORDS}\nagentId: a1b2c3 (use it)\n{WORDS}\nagentId: other"
SAVED = f"<persisted-output>\n{WORDS}\nFull output saved to: /home/ada/x.txt\n{WORDS}"
PROMPT = {"prompt": WORDS, "description": "Look", "subagent_type": "Explore"}
LINES: dict[str, list[object]] = {
    "an answer": [assistant("a", text(WORDS))],
    "thinking": [assistant("a", {"type": "thinking", "thinking": WORDS, "signature": BASE64}, text("Yes"))],
    "a prompt": [user("p", WORDS), assistant("a", text("Yes"))],
    "a prompt with markup": [user("p", f"<system-reminder>{WORDS}</system-reminder>Do it {WORDS}")],
    "a command": [user("p", f"<command-name>/do</command-name><command-args>{WORDS}</command-args>")],
    "a queued prompt": [
        {"type": "queue-operation", "operation": "enqueue", "content": WORDS, **HEAD},
        {**HEAD, "type": "attachment", "uuid": "q", "attachment": {"type": "queued_command", "prompt": WORDS}},
        user("p", WORDS),
    ],
    "a result": [assistant("a", call("Bash", command="ls")), user("r", [result(WORDS)])],
    "a result with its copy": [
        assistant("a", call("Bash", command="ls")),
        user("r", [result([text(WORDS), IMAGE])], toolUseResult={"stdout": WORDS, "stderr": "", "n": 1e5}),
    ],
    "a failure": [
        assistant("a", call("Bash", command="ls")),
        user("r", [result(f"<tool_use_error>{WORDS}", is_error=True)]),
    ],
    "an agent that a result names": [assistant("a", call("Agent", **PROMPT)), user("r", [result(AGENT)])],
    "a result that is elsewhere": [assistant("a", call("Bash", command="ls")), user("r", [result(SAVED)])],
    "a run": [assistant("a", call("Workflow", script=WORDS)), user("r", [result(f"{WORDS} wf_12-ab {WORDS}")])],
    "what a tool is given": [
        assistant("a", call("Write", file_path="/x", content=WORDS, n=1e5, again=[WORDS, BASE64, 3])),
        user("r", [result("done")], toolUseResult={"filePath": "/x", "content": WORDS}),
    ],
    "a picture": [user("p", [IMAGE, text("What is it?")])],
    "many blocks": [assistant("a", *(text(f"{number} {WORDS[:9_000]}") for number in range(20)))],
    "many prompts": [user("p", [text(f"{number} {WORDS[:9_000]}") for number in range(20)])],
    "an unknown field": [user("p", WORDS, whatIsThis={"new": WORDS})],
    "an unknown block": [assistant("a", {"type": "dream", "of": [WORDS, WORDS, "sheep"]})],
    "an unknown type": [{**HEAD, "type": "never-seen", "uuid": "n", "says": WORDS}],
    "a file that was attached": [
        {
            **HEAD,
            "type": "attachment",
            "uuid": "f",
            "attachment": {"type": "file", "filename": "/x", "content": {"type": "text", "file": WORDS}},
        }
    ],
    "a notice": [{**HEAD, "type": "system", "uuid": "n", "subtype": "informational", "content": WORDS}],
    "a long name": [user("r", [result("x")], toolUseResult={WORDS: 1})],
    "blanks": [user("p", " \n" * 20_000), user("q", " " * 9_000 + WORDS), assistant("a", text("\n" * 70_000))],
    "one run of letters": [assistant("a", text("Ab1" * 30_000), text("漢" * 40_000))],
    "the stream's dialect": [
        {"type": "user", "session_id": "s", "message": {"role": "user", "content": WORDS}}
    ],
}


def write(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "projects" / "-p" / "s.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def look_at(path: Path, monkeypatch: pytest.MonkeyPatch, *, huge: int, long: int, large: int) -> SessionBatch:
    monkeypatch.setattr("turnlog.ingest.contents.HUGE", huge)
    monkeypatch.setattr("turnlog.ingest.contents.LONG", long)
    monkeypatch.setattr("turnlog.ingest.looking.visit", partial(visit, chunk=7_000))
    [files] = locate_path(path).sessions
    found = look(files, None, None, owner="local", origin="here", now_ns=1, large=large)
    assert found is not None
    return found


def compare(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = look_at(path, monkeypatch, huge=NEVER, long=NEVER, large=NEVER)
    for large in (0, NEVER):
        lean = look_at(path, monkeypatch, huge=10_000, long=15_000, large=large)
        assert lean.derived == whole.derived
        [one], [two] = lean.sources, whole.sources
        assert (one.lines, one.length, one.consumed) == (two.lines, two.length, two.consumed)
        assert b"".join(frame.digest for frame in one.frames) == b"".join(frame.digest for frame in two.frames)
        texts, others = list(unpack_texts(one.texts)), list(unpack_texts(two.texts))
        assert [(each, tuple(each.cells)) for each in map(strip, texts)] == [
            (each, tuple(each.cells)) for each in map(strip, others)
        ]


def strip(fact: Any) -> Any:
    return type(fact)(*(getattr(fact, name) for name in fact.__struct_fields__[:7]), tuple(fact.cells))


@pytest.mark.parametrize("dump", [json.dumps, lambda line: json.dumps(line, ensure_ascii=False)])
@pytest.mark.parametrize("name", LINES)
def test_long_lines_give_the_rows_and_texts_that_they_give_whole(
    name: str, dump: Callable[[object], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [user("0", "Begin"), *LINES[name], assistant("9", text("The end"))]
    compare(write(tmp_path, b"".join(dump(line).encode() + b"\n" for line in lines)), monkeypatch)


ENDS: dict[str, bytes] = {
    "no newline": b"",
    "blanks": b" \r\0\n",
    "a second object": b' {"type":"user"}\n',
    "what is no JSON": b", more\n",
    "NUL": b"\0" * 5_000,
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_however_a_long_line_ends_it_is_cut_as_ever(
    end: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = json.dumps(user("p", WORDS)).encode()
    compare(write(tmp_path, b"%b\n%b%b" % (json.dumps(user("0", "Begin")).encode(), line, end)), monkeypatch)


ODD: dict[str, tuple[bytes, bytes]] = {
    "torn": (WORDS.encode()[-50_000:], b""),
    "half a pair": (b"word777 ", rb"\ud83d"),
    "a bad escape": (b"word777 ", rb"\x"),
    "a byte that is no text": (b"word777 ", b"\xff"),
    "a control character": (b"word777 ", b"\x01"),
    "a newline": (b"word777 ", b"\n"),
}


@pytest.mark.parametrize(("old", "new"), ODD.values(), ids=ODD)
def test_a_long_line_that_is_broken_is_the_broken_line_that_it_is(
    old: bytes, new: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = WORDS.replace("\\", "").replace('"', "").replace("\n", "").replace("\t", "")
    line = json.dumps(user("p", plain), ensure_ascii=False).encode()
    broken = line.replace(old, new, 1) if old in line else line[:-50_000]
    compare(write(tmp_path, json.dumps(user("0", "Begin")).encode() + b"\n" + broken), monkeypatch)


def test_texts_beyond_what_is_put_back_are_told_apart_by_their_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnlog.ingest.long_lines._RESTORED", 0)
    lines = [user("0", "Begin"), *LINES["a queued prompt"], *LINES["many prompts"], *LINES["a picture"]]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    compare(write(tmp_path, data), monkeypatch)
    markup = json.dumps(user("m", f"<system-reminder>{WORDS}</system-reminder>Do it")).encode()
    compare(write(tmp_path, data + markup + b"\n"), monkeypatch)


def test_pieces_may_end_anywhere() -> None:
    data = json.dumps(user("p", [text(WORDS[:20_000]), IMAGE])).encode()
    at = Position("s", 0)
    whole = _read(data, len(data), at)
    for size in (1, 3, 11, 1_000):
        assert _read(data, size, at) == whole


def _read(data: bytes, size: int, at: Position) -> tuple[bytes, bytes, int, list[str]]:
    line = LongLine(Spill())
    for start in range(0, len(data), size):
        line.add(data[start : start + size])
    found = line.read(at)
    assert found is not None
    assert b"".join(line.read_back()) == data
    return (
        found.line.raw,
        found.slim.raw,
        found.length,
        ["".join(each.pieces) for each in found.strings.values()],
    )

"""Lines of over 16 MB: typed by what stands at their head, whatever the pieces in which they come."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import turnlog
from turnlog.errors import ChangeError
from turnlog.messages import Line, Position, ProblemKind, codec
from turnlog.messages.codec import close_line
from turnlog.messages.entries import AssistantEntry, UserEntry
from turnlog.transcripts import validate
from turnlog.transcripts.line_reader import LineSplitter, Tail
from turnlog.transcripts.lines.content import list_texts

LONGEST, END = 300, 60
HEAD = {"sessionId": "s", "timestamp": "2026-05-01T10:00:00.000Z"}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make lines count as long that are easy to read."""
    monkeypatch.setattr(codec, "LONGEST", LONGEST)
    monkeypatch.setattr(codec, "END", END)


def dump(line: object) -> bytes:
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("head", "closed"),
    [
        (b'{"a":1,"b":"word', b'{"a":1,"b":"word"}'),
        (b'{"a":1,"b":"x\\u00', b'{"a":1,"b":"x"}'),
        (b'{"a":1,"b":"x\\', b'{"a":1,"b":"x"}'),
        (b'{"a":"\\ud83d\\ude', b'{"a":""}'),
        (b'{"a":"d\xc3', b'{"a":"d"}'),
        (b'{"a":1,"b', b'{"a":1}'),
        (b'{"a":1,"b":12', b'{"a":1}'),
        (b'{"a":[1,{"x":', b'{"a":[1,{}]}'),
        (b'{"a":{"b":1},', b'{"a":{"b":1}}'),
        (b'[{"a":1},{"b":"c', b'[{"a":1},{"b":"c"}]'),
        (b"no JSON", b"no JSON"),
    ],
)
def test_what_is_open_at_the_cut_ends_there(head: bytes, closed: bytes) -> None:
    assert close_line(head, b"") == closed


def test_what_a_line_says_about_itself_may_stand_at_its_end() -> None:
    end = b'\\"uuid\\":\\"no\\" words"}]},"type":"assistant","uuid":"u","timestamp":"t"}'
    closed = close_line(b'{"timestamp":"now","message":{"content":[{"text":"wor', end)
    assert json.loads(closed) == {
        "timestamp": "now",
        "message": {"content": [{"text": "wor"}]},
        "type": "assistant",
        "uuid": "u",
    }


def read(data: bytes, size: int) -> tuple[list[Line], Tail | None]:
    splitter = LineSplitter("s")
    lines = [line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])]
    return [*lines, *splitter.finish()], splitter.tail


def make_object(choose: random.Random) -> bytes:
    letters = choose.choices(
        ["a", "é", '"', "\\", "\n", "{", "}", "🎉", " ", "["], k=choose.choice((0, 50, 280, 900))
    )
    said: Any = "".join(letters)
    said = said if choose.random() < 0.5 else [{"type": "text", "text": said}]
    line = {
        **HEAD,
        "type": choose.choice(("user", "assistant", "x")),
        "message": {"role": "user", "content": said},
    }
    items = [*line.items(), ("uuid", f"u{choose.randrange(99)}")]
    choose.shuffle(items)
    text = json.dumps(
        dict(items), ensure_ascii=choose.random() < 0.5, indent=choose.choice((None, None, None, 1))
    )
    return text.encode()


def make_file(choose: random.Random) -> bytes:
    parts: list[bytes] = []
    for _ in range(choose.randrange(1, 5)):
        parts.append(
            choose.choice(
                [
                    *(make_object(choose) for _ in range(6)),
                    b"[%b]" % b",".join(make_object(choose) for _ in range(choose.randrange(3))),
                    b"garbage " * choose.choice((1, 60)),
                    b"\0" * choose.choice((3, 500)),
                    make_object(choose)[: -choose.randrange(1, 30)],
                    b"{" * choose.choice((1, 400)),
                ]
            )
        )
        parts.append(choose.choice([b"\n", b"\n", b"\n", b"", b" \0\n", b"\0" * 400 + b"\n"]))
    return b"".join(parts)


def test_lines_are_the_same_whatever_the_pieces(short: None) -> None:
    long = 0
    for number in range(400):
        data = make_file(random.Random(number))
        lines, tail = read(data, len(data) + 1)
        for size in (1, 7, 100, 331):
            assert read(data, size) == (lines, tail)
        for line in lines:
            assert line.at is not None
            whole = data[line.at.offset : line.at.offset + line.length]
            decoded = turnlog.decode(whole, at=line.at)
            assert decoded.raw == whole
            assert (decoded.entry, decoded.problems, decoded.dialect) == (
                line.entry,
                line.problems,
                line.dialect,
            )
            assert line.raw == (whole[:LONGEST] + whole[-END:] if len(whole) > LONGEST else whole)
            long += bool(line.unread)
    assert long > 100


def test_a_long_line_is_read_from_its_first_bytes(short: None) -> None:
    block = {"type": "text", "text": "begin " + "word " * 200}
    line = {
        **HEAD,
        "message": {"role": "assistant", "id": "m", "content": [block]},
        "type": "assistant",
        "uuid": "u",
    }
    found = turnlog.decode(dump(line))
    assert isinstance(found.entry, AssistantEntry)
    assert (found.entry.uuid, found.problems[0].kind) == ("u", ProblemKind.TOO_LONG)
    assert str(found.problems[0]).startswith("Expected at most 300 bytes, found 1")
    assert turnlog.encode(found) == dump(line)
    [said] = list_texts(found.entry)
    assert said.startswith("begin word word")
    assert len(said) < LONGEST
    with pytest.raises(ChangeError, match="too long"):
        found.replace(uuid="v")


def test_a_line_of_which_bytes_are_missing_is_not_encoded(short: None) -> None:
    [line], _ = read(dump({**HEAD, "type": "user", "message": {"role": "user", "content": "word " * 200}}), 50)
    assert isinstance(line.entry, UserEntry)
    assert line.length == len(line.raw) + line.unread > LONGEST
    assert json.loads(line.json)["message"]["content"].startswith("word word")
    with pytest.raises(ChangeError, match="were not read"):
        turnlog.encode(line)


def test_memory_holds_no_more_of_a_long_line_than_is_read(short: None) -> None:
    splitter = LineSplitter("s")
    data = dump({**HEAD, "type": "user", "message": {"role": "user", "content": "x" * 1_000_000}})
    lines: list[Line] = []
    tracemalloc.start()
    try:
        for at in range(0, len(data), 4096):
            lines += splitter.feed(data[at : at + 4096])
            assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()
    assert [line.length for line in lines] == [len(data)]


def test_validation_names_a_long_line(short: None) -> None:
    line = {**HEAD, "type": "user", "uuid": "u", "message": {"role": "user", "content": "word " * 200}}
    found = validate([turnlog.decode(dump(line), at=Position("s", 0))])
    assert [(each.rule.id, each.severity.value) for each in found] == [("line-too-long", "warning")]


def test_a_file_that_was_never_archived_shows_what_was_read_of_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    line = {**HEAD, "type": "user", "message": {"role": "user", "content": "word " * 3_500_000}, "uuid": "u"}
    path.write_bytes(dump(line) + b"\n")
    session = turnlog.read(path)
    [message] = session.messages
    assert message.id == "u"
    assert (16 << 20) - 300 < len(message.text) < 16 << 20
    [problem] = session.problems
    assert problem.problem.kind is ProblemKind.TOO_LONG

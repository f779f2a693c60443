"""A session that grows has the very segments that it would have if it had been there at once.

Segments are of a few lines here, so that small sessions have many of them: what a line changes far above it
must reach the segment that has it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from golden import DATA
from ingest.memory_store import MemoryStore
from ingest.session_watch import Watch, grow, list_files, look_once
from turnlog.ingest.session_scan import SessionCache
from turnlog.transcripts.dumps import list_dumped

GOLDEN = [
    path
    for path in [*sorted((DATA / "transcripts").iterdir()), DATA / "cli" / "tour"]
    # A file that becomes a dump of several sessions keeps its first key: tests of dumps have that.
    if path.is_dir() and not any(map(list_dumped, path.iterdir()))
]
SIZES = pytest.mark.parametrize("size", [1, 3, 512])


def cut_segments(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Let segments have so many lines, and outlines as many turns or agents a part."""
    for name in ("segments", "segment_builder", "queries.chapters"):
        monkeypatch.setattr(f"turnlog.transcripts.{name}.SEGMENT", size)
    for name in ("transcripts.segments", "transcripts.queries.sessions", "ingest.derivation"):
        monkeypatch.setattr(f"turnlog.{name}.PART", size)


def check_same(grown: dict[str, MemoryStore], whole: dict[str, MemoryStore]) -> None:
    """Expect the same bytes in all segments and parts, and the same usage and row."""
    assert grown.keys() == whole.keys()
    for key, store in grown.items():
        assert store.bytes == whole[key].bytes
        assert store.derived is not None
        expected = whole[key].derived
        assert expected is not None
        assert store.derived.session == expected.session
        assert store.derived.outline == expected.outline
        assert store.derived.usage == expected.usage
        for source, chapter in store.chapters.items():
            check_chapter(store, whole[key], source)
            assert chapter == whole[key].chapters[source]


def check_chapter(grown: MemoryStore, whole: MemoryStore, source: str) -> None:
    """Say what differs, where something does."""
    assert grown.list_heads(source) == whole.list_heads(source)
    for head in grown.list_heads(source):
        one, other = grown.load_segment(source, head.number), whole.load_segment(source, head.number)
        for section in ("lines", "messages", "calls", "events", "sightings", "branches"):
            assert getattr(one, section) == getattr(other, section)


@SIZES
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
def test_after_each_line_the_segments_are_those_of_a_cold_look(
    golden: Path, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_segments(monkeypatch, size)
    watch = Watch(tmp_path, SessionCache())
    pieces = {path: data.splitlines(keepends=True) or [b""] for path, data in list_files(golden).items()}
    for _ in grow(tmp_path, pieces):
        watch.look()
        check_same(watch.stores, look_once(tmp_path))


def make_lines() -> list[dict[str, object]]:
    """Return lines in which a prompt waits in the queue, and is taken out of it later."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    queued = {"type": "queued_command", "prompt": "and more", "commandMode": "prompt"}
    lines: list[dict[str, object]] = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Begin"}},
        {"type": "queue-operation", "operation": "enqueue", "content": "and more"},
        {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "message": {"id": "m1", "content": [call]}},
        {"type": "queue-operation", "operation": "remove"},
        {"type": "attachment", "uuid": "q1", "parentUuid": "a1", "attachment": queued},
    ]
    return [{"sessionId": "s", "timestamp": f"2026-05-01T10:00:0{n}Z", **line} for n, line in enumerate(lines)]


@SIZES
def test_a_message_that_goes_away_takes_its_number_with_it(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_segments(monkeypatch, size)
    watch = Watch(tmp_path, SessionCache())
    callers = []
    for line in make_lines():
        with (tmp_path / "s.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
        watch.look()
        check_same(watch.stores, look_once(tmp_path))
        [chapter] = watch.store.open().chapters
        callers.append([call.message for call in chapter.list_calls()])
    assert callers == [[], [], [2], [2], [1]]

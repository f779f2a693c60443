"""One form for compactions of four dialects."""

from __future__ import annotations

from pathlib import Path

import turnlog
from turnlog.transcripts import Compaction, CompactionState

DATA = Path(__file__).parents[1] / "data" / "transcripts"


def read(name: str) -> tuple[Compaction, ...]:
    return turnlog.read(DATA / name / "session.jsonl").compactions


def test_a_boundary_and_its_summary_are_one_compaction() -> None:
    [compaction] = read("compaction")
    assert compaction.state is CompactionState.COMPACTED
    assert compaction.messages == (2, 3)
    assert (compaction.trigger, compaction.tokens_before, compaction.tokens_after) == ("auto", 155_000, 9_000)
    assert (compaction.summary or "").endswith("They worked.")


def test_spec_000_tells_of_it_step_by_step() -> None:
    compacted, restored = read("spec-000-compaction")
    assert (compacted.state, compacted.messages) == (CompactionState.COMPACTED, (1, 2))
    assert (compacted.preserved_messages, compacted.total_messages) == (15, 150)
    assert compacted.compression_ratio == 0.1
    assert (restored.state, restored.messages) == (CompactionState.RESTORED, (4, 5))


def test_spec_004_tells_what_was_kept_and_the_recap() -> None:
    [compaction] = read("spec-004-compaction")
    assert (compaction.state, compaction.messages) == (CompactionState.COMPACTED, (2, 3))
    assert compaction.summary == "Summary of it"


def test_spec_002_has_a_summary_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(
        '{"type":"user","uuid":"u1","timestamp":"2026-02-01T00:00:00Z","message":{"content":"Fix it"}}\n'
        '{"type":"summary","uuid":"z","summary":"Fixed it","leafUuid":"u1"}\n'
    )
    [compaction] = turnlog.read(path).compactions
    assert (compaction.state, compaction.summary) == (CompactionState.COMPACTED, "Fixed it")
    assert turnlog.read(path).tree.parents == (None, 0)


def test_two_boundaries_are_two_compactions(tmp_path: Path) -> None:
    boundary = '{"type":"system","subtype":"compact_boundary","uuid":"%s","sessionId":"s","content":"…"}\n'
    path = tmp_path / "s.jsonl"
    path.write_text(boundary % "b1" + boundary % "b2")
    assert [compaction.messages for compaction in turnlog.read(path).compactions] == [(0,), (1,)]


def test_a_microcompaction_waits_for_no_summary(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(
        '{"type":"system","subtype":"microcompact_boundary","uuid":"b1","sessionId":"s",'
        '"microcompactMetadata":{"trigger":"auto","preTokens":9}}\n'
        '{"type":"user","uuid":"u1","sessionId":"s","isCompactSummary":true,"message":{"content":"Recap"}}\n'
    )
    micro, recap = turnlog.read(path).compactions
    assert (micro.micro, micro.tokens_before, micro.summary) == (True, 9, None)
    assert recap.summary == "Recap"

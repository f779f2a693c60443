"""The fast reader of usage: what it says is what the full reader says, or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from golden import DATA
from turnlog.transcripts import Prices, UsageFold, find_table, read_lines
from turnlog.transcripts.usage.prices import Charger, to_dollars
from turnlog.transcripts.usage.scanner import ReportedSighting, Scan, scan_file
from turnlog.transcripts.usage.sightings import read_usage
from turnlog.transcripts.usage.tokens import Sighting, SightingFold

LINE = {
    "type": "assistant",
    "sessionId": "s-1",
    "cwd": "/home/ada/tea",
    "uuid": "u-1",
    "timestamp": "2026-03-01T10:00:00.000Z",
    "message": {
        "id": "m-1",
        "model": "claude-opus-5",
        "stop_reason": None,
        "usage": {"input_tokens": 1, "output_tokens": 2},
    },
}


Said = tuple[list[Sighting], list[ReportedSighting], list[str]]


def normalise(scan: Scan) -> Said:
    """Leave out where lines are: the fast reader only knows which comes later."""
    sightings = sorted((replace(each, offset=0) for each in scan.list_sightings("f")), key=repr)
    return sightings, sorted(scan.reported, key=repr), scan.cwds


def both(path: Path) -> tuple[Said | None, Said]:
    fast, full = scan_file(str(path), "f"), read_usage(path, "f")
    return None if fast is None else normalise(fast), normalise(full)


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.jsonl")), ids=lambda path: str(path.relative_to(DATA)))
def test_golden_files_are_read_alike(path: Path) -> None:
    fast, full = both(path)
    assert fast in (None, full)


def test_files_of_the_corpus_are_read_alike(corpus: Path, report: Callable[[str], None]) -> None:
    paths = sorted((corpus / "sessions").rglob("*.json*"))
    slow = 0
    for path in paths:
        fast, full = both(path)
        slow += fast is None
        assert fast in (None, full), path
    report(f"{len(paths)} files, {slow} of them by the full reader")
    assert slow < len(paths) / 10


def test_the_corpus_costs_the_same_either_way(corpus: Path) -> None:
    fast, full = SightingFold(), UsageFold()
    for path in sorted((corpus / "sessions").rglob("*.json*")):
        scan = scan_file(str(path), str(path)) or read_usage(path, str(path))
        for sighting in scan.list_sightings(str(path)):
            fast.add_sighting(sighting)
        for line in read_lines(path, source=str(path)):
            full.add(line)
    assert [replace(each, message="") for each in fast.list_messages()] == [
        replace(each, message="") for each in full.list_messages()
    ]
    charger = Charger()
    cells = [
        charger.find_charge(
            each.model, 0 if each.time is None else round(each.time.timestamp() * 1e6), each.tokens, each.terms
        )
        for each in fast.list_messages()
    ]
    cost = to_dollars(sum(each.cost for each in cells if each is not None))
    assert cost == Prices().build_bill(full.list_messages()).cost
    if find_table().version == "0.2.1":
        assert str(cost) == "222.6292133"


def write(tmp_path: Path, *lines: object, end: bytes = b"\n") -> Path:
    path = tmp_path / "s.jsonl"
    texts = [
        line if isinstance(line, bytes) else json.dumps(line, separators=(",", ":")).encode() for line in lines
    ]
    path.write_bytes(b"\n".join(texts) + end)
    return path


def test_a_usual_line_is_read_fast(tmp_path: Path) -> None:
    fast, full = both(write(tmp_path, LINE))
    assert fast == full
    assert fast is not None
    sightings, _, cwds = fast
    assert (len(sightings), cwds) == (1, ["/home/ada/tea"])


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        ([b"[", LINE, b"]"], b"\n"),
        ([json.dumps([LINE]).encode()], b"\n"),
        ([json.dumps(LINE).encode() * 2], b"\n"),
        ([json.dumps(LINE, indent=2).encode()], b"\n"),
        ([b"\xef\xbb\xbf" + json.dumps(LINE).encode()], b"\n"),
        ([LINE, json.dumps({**LINE, "uuid": "u-2"}).encode()[:-9]], b""),
        ([LINE, json.dumps({**LINE, "uuid": "u-2"}).encode()], b""),
        ([b"// said by somebody", LINE], b"\n"),
        ([LINE, b'{"type":"assistant","message":{"usage":', LINE], b"\n"),
        ([LINE, b'"usage"', b"\0\0\0", LINE], b"\n"),
        ([{**LINE, "timestamp": 1772359200000}], b"\n"),
        ([{**LINE, "sessionId": None}], b"\n"),
        ([{key: value for key, value in LINE.items() if key != "sessionId"}], b"\n"),
        ([{**{key: value for key, value in LINE.items() if key != "sessionId"}, "session_id": "s-9"}], b"\n"),
        ([{**LINE, "agentId": 7}], b"\n"),
        ([{**LINE, "attributionSkill": "brew", "agentId": "a1"}], b"\n"),
        ([{**LINE, "hook_event_name": "Stop"}], b"\n"),
        ([{**LINE, "_id": "x"}], b"\n"),
        ([{**LINE, "message": "text"}], b"\n"),
        ([{**LINE, "message": {"usage": "much"}}], b"\n"),
        ([{**LINE, "message": {"id": "m", "usage": {"input_tokens": "5"}}}], b"\n"),
        ([{**LINE, "message": {"id": "m", "usage": {"input_tokens": -5, "output_tokens": 1.5}}}], b"\n"),
        ([{**LINE, "message": {"usage": {"input_tokens": 5}}}], b"\n"),
        ([{**LINE, "uuid": None, "message": {"usage": {"input_tokens": 5}}}], b"\n"),
        ([{**LINE, "message": {"id": "m"}, "usage": {"input_tokens": 5}}], b"\n"),
        ([{"type": "result", "subtype": "success", "session_id": "s", "total_cost_usd": 1.5}], b"\n"),
        ([{"type": "cost-state", "sessionId": "s", "totalCostUSD": 1.5}], b"\n"),
        (
            [
                {"type": "cost-state", "sessionId": "s", "totalCostUSD": 9},
                {"type": "cost-state", "sessionId": "s"},
            ],
            b"\n",
        ),
        ([{"type": "cost-state", "totalCostUSD": 1.5}], b"\n"),
        ([{"cwd": "/a"}, {"type": "user", "cwd": ""}, {"type": "user", "sessionId": "s", "cwd": "/b"}], b"\n"),
        ([], b""),
        ([b"", b"  "], b"\n"),
    ],
)
def test_what_is_unusual_is_read_alike_or_left_to_the_full_reader(
    tmp_path: Path, lines: list[object], end: bytes
) -> None:
    fast, full = both(write(tmp_path, *lines, end=end))
    assert fast in (None, full)


LONG = {"content": 'tea {}[]\\" ' * 999}
USER = {"type": "user", "sessionId": "s-1", "cwd": "/home/ada/tea", "message": LONG}


def of_user(*keys: str, **more: object) -> dict[str, object]:
    """Return a long line of a person, its members in some order."""
    told: dict[str, object] = {"parentUuid": None, **USER, **more}
    return {key: told[key] for key in ("parentUuid", *keys, *more)}


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        ([of_user("cwd", "type", "message")], b"\n"),
        ([of_user("type", "message", "cwd"), LINE], b"\n"),
        ([LINE, of_user("cwd", "type", "message"), of_user("type", "message", "cwd"), LINE], b"\n"),
        ([LINE, of_user("type", "message", "cwd")], b""),
        ([LINE, of_user("type", "message", cwd="/home/ada/milk")], b"\n"),
        ([LINE, of_user("type", "message")], b"\n"),
        ([LINE, of_user("type", "message", toolUseResult={"cwd": "/home/ada/tea"}, cwd="/milk")], b"\n"),
        ([LINE, of_user("type", "message", cwd="/milk", of={"cwd": "/home/ada/tea"})], b"\n"),
        ([LINE, {"of": {"a": 1, "cwd": "/home/ada/tea"}, "type": "user", "message": LONG, "cwd": "/b"}], b"\n"),
        ([{"of": {"a": 1, "type": "user"}, **LINE, "more": LONG}], b"\n"),
        ([{"uuid": "u", **LINE, "more": LONG}], b"\n"),
        ([{"uuid": "u", "type": "cost-state", "sessionId": "s", "totalCostUSD": 2, "more": LONG}], b"\n"),
        ([LINE, json.dumps(of_user("cwd", "type", "message")).encode() + json.dumps(LINE).encode()], b"\n"),
        ([LINE, json.dumps(of_user("cwd", "type", "message"), separators=(",", ":")).encode()[:-9]], b"\n"),
        ([b"[", of_user("type", "message", "cwd"), LINE, b"]"], b"\n"),
        (
            [LINE, {"parentUuid": 1, "type": "result", "session_id": "s", "total_cost_usd": 3, "of": LONG}],
            b"\n",
        ),
    ],
)
def test_long_lines_that_are_passed_over_are_read_alike(
    tmp_path: Path, lines: list[object], end: bytes
) -> None:
    fast, full = both(write(tmp_path, *lines, end=end))
    assert fast in (None, full)


def test_a_long_line_is_not_decoded_where_its_beginning_tells_enough(tmp_path: Path) -> None:
    """What stands in the middle of it is no JSON, and nobody notices."""
    broken = (
        json.dumps(of_user("cwd", "type", "message"), separators=(",", ":")).encode().replace(b"tea {}", b'"')
    )
    fast, _ = both(write(tmp_path, LINE, broken, LINE))
    assert fast is not None
    fast, _ = both(write(tmp_path, LINE, broken.replace(b"/home/ada/tea", b"/home/ada/milk"), LINE))
    assert fast is None


counts = st.one_of(st.none(), st.integers(-1, 9))
usages = st.fixed_dictionaries(
    {"output_tokens": counts},
    optional={
        "input_tokens": counts,
        "cache_creation_input_tokens": counts,
        "cache_read_input_tokens": counts,
        "cache_creation": st.fixed_dictionaries(
            {}, optional={f"ephemeral_{each}_input_tokens": st.integers(0, 9) for each in ("5m", "1h")}
        ),
        "server_tool_use": st.one_of(
            st.none(), st.fixed_dictionaries({"web_search_requests": st.integers(0, 3)})
        ),
        "speed": st.one_of(st.none(), st.sampled_from(["fast", ""])),
        "service_tier": st.sampled_from(["standard", "batch"]),
    },
)
lines = st.builds(
    lambda usage, message, time, stop, more: {
        **LINE,
        "timestamp": time,
        "message": {"id": message, "model": "claude-opus-5", "usage": usage, **stop},
        **more,
    },
    usages,
    st.sampled_from(["m-1", "m-2"]),
    st.sampled_from(
        ["2026-03-01T10:00:00.000Z", "2026-03-01T09:00:00Z", "2026-03-01T12:00:00+05:00", "yesterday"]
    ),
    st.sampled_from([{}, {"stop_reason": None}, {"stop_reason": "end_turn"}]),
    st.fixed_dictionaries(
        {},
        optional={
            "sessionId": st.sampled_from(["s-1", "s-2"]),
            "agentId": st.sampled_from(["a1", None, ""]),
            "attributionAgent": st.sampled_from(["Explore", "Plan"]),
            "cwd": st.sampled_from(["/a", "/b", None]),
        },
    ),
)


@given(st.lists(lines, max_size=8))
def test_answers_on_several_lines_are_read_alike(
    tmp_path_factory: pytest.TempPathFactory, made: list[object]
) -> None:
    path = write(tmp_path_factory.mktemp("scan"), *made)
    fast, full = both(path)
    assert fast == full

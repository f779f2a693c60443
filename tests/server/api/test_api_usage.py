"""`/api/usage` and `/api/status`."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib.metadata import version
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from server_app import Served
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL
from turnlog.store.usage_cells import Span
from turnlog.store.usage_report import Breakdown, Grouping, UsageQuery, build_report

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


def build(archive: MaintainedStore, **asked: Any) -> Any:
    query = UsageQuery(**{"zone": UTC, "zone_name": "UTC", "now": NOW, **asked})
    return json.loads(msgspec.json.encode(build_report(archive.read_usage(LOCAL), query)))


@pytest.mark.parametrize("by", [by for by in Grouping if by is not Grouping.BLOCKS])
def test_a_report_is_the_librarys(api: Served, archive: MaintainedStore, by: Grouping) -> None:
    answer = api.get(f"/api/usage?by={by}")
    assert (answer.status, answer.json) == (200, build(archive, by=by))
    assert answer.json["total"]["cost_usd"] == "0.5360252"


def test_blocks_are_told_as_of_now(api: Served, archive: MaintainedStore) -> None:
    answer = api.get("/api/usage?by=blocks")
    assert "etag" not in answer.headers
    rows = build(archive, by=Grouping.BLOCKS)["rows"]
    assert [row["name"] for row in answer.json["rows"]] == [row["name"] for row in rows]


def test_days_are_those_of_whoever_asks(api: Served, archive: MaintainedStore) -> None:
    asked = {"since": date(2026, 3, 2), "until": date(2026, 3, 3)}
    query = "timezone=Asia/Tokyo&since=2026-03-02&until=2026-03-03&breakdown=model&project=orchard"
    assert api.get(f"/api/usage?{query}").json == build(
        archive,
        zone=ZoneInfo("Asia/Tokyo"),
        zone_name="Asia/Tokyo",
        span=Span(asked["since"], asked["until"]),
        breakdown=Breakdown.MODEL,
        project="orchard",
    )


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("by=mood", ["by"]),
        ("since=yesterday", ["since"]),
        ("until=2026-13-01", ["until"]),
        ("timezone=Nowhere/Land", ["timezone"]),
        ("timezone=../../etc/passwd", ["timezone"]),
        ("timezone=", ["timezone"]),
        ("breakdown=mood", ["breakdown"]),
        ("by=tool&breakdown=model", []),
    ],
)
def test_what_makes_no_sense_is_said(api: Served, query: str, where: list[str]) -> None:
    answer = api.get(f"/api/usage?{query}")
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert [each["where"] for each in answer.json["error"].get("details", [])] == where


@pytest.mark.parametrize("by", [by for by in Grouping if by is not Grouping.BLOCKS])
def test_long_reports_have_their_end_in_one_row(api: Served, by: Grouping) -> None:
    whole = api.get(f"/api/usage?by={by}").json
    assert (whole["others"], whole["left_out"]) == (None, 0)
    cut = api.get(f"/api/usage?by={by}&top=2").json
    assert len(cut["rows"]) == min(2, len(whole["rows"]))
    assert cut["left_out"] == len(whole["rows"]) - len(cut["rows"])
    assert cut["total"] == whole["total"]
    if cut["left_out"]:
        shown = [*cut["rows"], cut["others"]]
        for name in ("messages", "input", "output", "cache_read", "web_searches"):
            assert sum(row[name] for row in shown) == sum(row[name] for row in whole["rows"]), name
        costs = [sum(Decimal(row["cost_usd"]) for row in rows) for rows in (shown, whole["rows"])]
        assert costs[0] == costs[1]
    assert [row for row in whole["rows"] if row in cut["rows"]] == cut["rows"]


def test_the_dearest_sessions_and_the_newest_days_are_kept(api: Served) -> None:
    sessions = api.get("/api/usage?by=session").json["rows"]
    dearest = sorted((Decimal(row["cost_usd"]) for row in sessions), reverse=True)[:3]
    kept = api.get("/api/usage?by=session&top=3").json["rows"]
    assert sorted((Decimal(row["cost_usd"]) for row in kept), reverse=True) == dearest
    days = [row["name"] for row in api.get("/api/usage?by=daily").json["rows"]]
    assert [row["name"] for row in api.get("/api/usage?by=daily&top=1").json["rows"]] == days[-1:]


def test_the_status_is_what_the_archive_has(api: Served, archive: MaintainedStore) -> None:
    sources = [source for session in archive.list_known(LOCAL) for source in session.sources]
    assert api.get("/api/status").json == {
        "version": version("turnlog"),
        "sessions": 18,
        "only_here": 0,
        "files": len(sources),
        "bytes": sum(source.length for source in sources),
        "lines": sum(source.lines for source in sources),
        "problems": 1,
        "needs_you": 0,
        "working": 0,
        "hooks": {"installed": False, "deliveries": 0, "spooled": 0, "quarantined": 0},
        "demo": False,
        "last_change": 18,
        "sync": {"phase": "off", "done": 0, "total": 0, "failing": False, "last_at": None},
    }

"""Parts of a collector: its pace, its patience, and what it takes for an address."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.cli.service import parse_rate
from turnlog.cli.terminal import MisuseError
from turnlog.errors import PushError
from turnlog.ingest.push_client import Backoff, RateLimit, parse_server
from turnlog.ingest.push_collector import PushPhase, StatusFile, load_progress, read_status, save_progress

BURST = 64 << 10


@given(st.lists(st.tuples(st.integers(1, 1 << 16), st.floats(0, 5)), max_size=60), st.floats(1e3, 1e7))
def test_in_no_time_does_more_go_than_the_rate_allows(steps: list[tuple[int, float]], rate: float) -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    rate_limit = RateLimit(rate, lambda: now, sleep)
    gone = [(0.0, 0)]
    for size, idle in steps:
        now += idle
        rate_limit.spend(size)
        gone.append((now, gone[-1][1] + size))
    for begin, before in gone:
        for end, total in gone:
            if end >= begin:
                assert total - before <= rate * (end - begin) * (1 + 1e-6) + BURST + (1 << 16) + 1


def test_without_a_rate_nobody_waits() -> None:
    def sleep(seconds: float) -> None:
        raise AssertionError("nobody asked for that")

    rate_limit = RateLimit(None, sleep=sleep)
    rate_limit.spend(1 << 40)
    assert rate_limit.sent == 1 << 40
    assert rate_limit.find_limit(4 << 20, 10.0) == 4 << 20


def test_on_a_slow_line_stretches_are_short() -> None:
    assert RateLimit(100_000).find_limit(4 << 20, 10.0) == 1_000_000
    assert RateLimit(1_000).find_limit(4 << 20, 10.0) == BURST


def test_attempts_become_rare_and_are_never_all_at_once() -> None:
    pauses = [Backoff(1.0, 60.0, random.Random(seed)) for seed in range(50)]
    rounds = [[each.fail() for each in pauses] for _ in range(40)]
    for number, found in enumerate(rounds):
        longest = min(2.0**number, 60.0)
        assert all(longest / 2 <= pause <= longest for pause in found)
        assert len(set(found)) > 40
    assert pauses[0].fail(at_least=500.0) == 500.0
    pauses[0].succeed()
    assert pauses[0].fail() <= 1.0


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example",
        "https://a.example:8443/x/",
        "http://127.0.0.1:1",
        "http://[::1]:8",
        "http://localhost",
    ],
)
def test_servers_that_may_be_pushed_to(url: str) -> None:
    assert parse_server(url).geturl() == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "a.example",
        "ftp://a",
        "https://",
        "https://a:b@c",
        "https://a?b=c",
        "https://a#b",
        "https://a:99999",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(PushError, match="Expected the address"):
        parse_server(url)


@pytest.mark.parametrize("url", ["http://a.example", "http://10.0.0.1:8", "http://127.0.0.1.example.org"])
def test_nothing_is_sent_in_the_open_unless_somebody_says_so(url: str) -> None:
    with pytest.raises(PushError, match="does not use TLS"):
        parse_server(url)
    assert parse_server(url, insecure=True).geturl() == url


@pytest.mark.parametrize(
    ("text", "rate"),
    [("2MB/s", 2e6), ("500KB/s", 5e5), ("1MiB/s", 1 << 20), ("1.5m", 1.5e6), ("4096", 4096.0), ("1 GB", 1e9)],
)
def test_rates(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "fast", "1", "-5MB/s", "2MB/h", "MB"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(MisuseError):
        parse_rate(text)


def test_how_it_is_doing_is_in_a_file(tmp_path: Path) -> None:
    now = 100.0
    status = StatusFile(tmp_path, "https://a", lambda: now)
    assert read_status(tmp_path) is None
    status.note(phase=PushPhase.PUSHING, waiting=3)
    found = read_status(tmp_path)
    assert found is not None
    assert (found.phase, found.waiting, found.server) == (PushPhase.PUSHING, 3, "https://a")
    status.note(waiting=2)
    assert read_status(tmp_path) == found  # not at every step
    now += 2.0
    status.note(waiting=1)
    later = read_status(tmp_path)
    assert later is not None
    assert later.waiting == 1
    for again_at in (130.0, 400.0):  # one attempt may fail right behind another
        status.note(phase=PushPhase.OFFLINE, again_at=again_at)
        latest = read_status(tmp_path)
        assert latest is not None
        assert (latest.phase, latest.again_at) == (PushPhase.OFFLINE, again_at)
    assert (tmp_path / "push.json").stat().st_mode & 0o077 == 0
    (tmp_path / "push.json").write_text("nonsense")
    assert read_status(tmp_path) is None


def test_how_far_the_feed_was_pushed_is_remembered_for_each_server(tmp_path: Path) -> None:
    assert load_progress(tmp_path, "https://a", "epoch") == 0
    save_progress(tmp_path, "https://a", "epoch", 7)
    assert load_progress(tmp_path, "https://a", "epoch") == 7
    assert load_progress(tmp_path, "https://b", "epoch") == 0
    assert load_progress(tmp_path, "https://a", "another") == 0

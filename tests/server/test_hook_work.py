"""A payload is decoded once when it arrives, and once when what it says is shown."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from server_app import Served, serving
from turnlog.ingest.spool import Spool
from turnlog.ingest.spool_import import import_spool
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import hooks as deliveries
from turnlog.transcripts.hooks import build_delivery

COUNT = 40
SESSION = "5e551011-0000-4000-8000-000000000001"


class Decoded:
    """How often payloads were decoded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.payloads = [make_payload(number) for number in range(COUNT)]
        self._counts: Counter[bytes] = Counter()
        self._decode = deliveries._decode
        monkeypatch.setattr(deliveries, "_decode", self._count)

    def _count(self, raw: bytes | Raw) -> Mapping[str, Raw]:
        if isinstance(raw, bytes):
            self._counts[raw] += 1
        return self._decode(raw)

    def take(self) -> list[int]:
        """Return how often each was decoded since this was asked last."""
        counts, self._counts = self._counts, Counter()
        assert {*counts} <= {*self.payloads}
        return [counts[payload] for payload in self.payloads]


def make_payload(number: int, **fields: Any) -> bytes:
    """Return what a hook is told of every second call before it is made, and then after it."""
    name = ("PreToolUse", "PostToolUse")[number % 2]
    call = {
        "tool_name": "Bash",
        "tool_use_id": f"t{number // 2}",
        "tool_input": {"command": f"kettle {number}"},
    }
    payload = {"session_id": SESSION, "hook_event_name": name, "cwd": "/work/tea", **call, **fields}
    return json.dumps(payload).encode()


def name_delivery(number: int) -> str:
    return f"{time.time_ns()}-{number:04}"


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Decoded:
    return Decoded(monkeypatch)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MaintainedStore]:
    opened = open_store(tmp_path / "turnlog.db")
    yield opened
    opened.close()


@pytest.fixture
def served(store: MaintainedStore, tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as running:
        yield running


def test_what_is_sent_to_a_server_is_decoded_once_and_once_more_for_the_board(
    served: Served, store: MaintainedStore, decoded: Decoded
) -> None:
    for number, payload in enumerate(decoded.payloads):
        headers = served.bearer | {"X-Turnlog-Delivery": name_delivery(number)}
        assert served.ask("POST", "/api/hooks", headers, payload).status == 200
    while store.count_deliveries(LOCAL) < COUNT:
        time.sleep(0.01)
    wait_for_board(served, None)
    # What the fold over states needs are the inputs of calls that begin; the rest has columns.
    assert decoded.take() == [2, 1] * (COUNT // 2)


def test_what_lies_in_the_spool_is_decoded_once(
    store: MaintainedStore, tmp_path: Path, decoded: Decoded
) -> None:
    folder = tmp_path / "left"
    folder.mkdir()
    singles, batch = decoded.payloads[: COUNT // 2], decoded.payloads[COUNT // 2 :]
    for number, payload in enumerate(singles):
        (folder / f"{name_delivery(number)}.json").write_bytes(payload)
    Spool(folder).write([build_delivery(name_delivery(at), at, each) for at, each in enumerate(batch)])
    decoded.take()
    assert import_spool(Spool(folder), store).added == COUNT
    assert decoded.take() == [1] * COUNT


def test_what_is_shown_is_decoded_once(served: Served, store: MaintainedStore, decoded: Decoded) -> None:
    now = time.time_ns()
    built = [build_delivery(f"d{at}", now + at, payload) for at, payload in enumerate(decoded.payloads)]
    store.add_deliveries(LOCAL, built)
    decoded.take()
    wait_for_board(served, None)
    assert decoded.take() == [1, 0] * (COUNT // 2)
    show_board(served)
    for address in ("hook-events", "timeline", "actions"):
        assert served.get(f"/api/sessions/{SESSION}/{address}").status == 200
    assert decoded.take() == [0] * COUNT


def test_a_board_decodes_what_is_new_and_what_its_cards_show(
    served: Served, store: MaintainedStore, decoded: Decoded
) -> None:
    now = time.time_ns()
    *before, last = (
        build_delivery(f"d{at}", now + at, payload) for at, payload in enumerate(decoded.payloads[:-1])
    )
    store.add_deliveries(LOCAL, before)
    wait_for_board(served, None)
    decoded.take()
    store.add_deliveries(LOCAL, [last])
    wait_for_board(served, f"kettle {COUNT - 2}")
    assert decoded.take()[:-2] == [0] * (COUNT - 2)
    show_board(served)
    assert decoded.take() == [0] * (COUNT - 2) + [1, 0]


def wait_for_board(served: Served, title: str | None) -> None:
    """Wait until the board has heard of all that happened, from the feed: of the call that runs, or of none."""
    while show_board(served) != title:
        time.sleep(0.01)


def show_board(served: Served) -> str | None:
    """Return what runs, as the card of the session says."""
    cards = served.get("/api/mission-control").json["sessions"]
    return "nothing yet" if not cards else cards[0]["step"] and cards[0]["step"]["title"]

"""Searching beside deletion, hook deliveries and repairs."""

from __future__ import annotations

from pathlib import Path

from contracts.base import EngineBase
from turnlog.store.model import LOCAL
from turnlog.store.search.language import parse_query
from turnlog.testing.builders import make_line
from turnlog.testing.checks import Scan, keep, search
from turnlog.transcripts.hooks import HookDelivery

_LONG_RUN = "the same long answer again and again, said in so many words " * 10


class SearchUpkeepContract(EngineBase):
    """Contracts of search beside `forget`, `add_deliveries`, `check_texts` and `rewrite`."""

    def test_hook_deliveries_are_found(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            keep(store, {"session-1.jsonl": make_line(0, text="a prompt")})
            store.add_deliveries(LOCAL, [_deliver(1, "Zweifel"), _deliver(2, "doubts", "unknown")])
            [hit] = search(store, "zweifel")
            assert (hit.kind, hit.session_id, hit.delivery_id, hit.time) == ("hook", "session-1", "d1", 1000)
            assert hit.session is not None
            [other] = search(store, "kind:hook doubts")
            assert (other.session, other.session_id) == (None, "unknown")
            for text in ("kind:hook", "session:session-1", "tool:Bash", "-zweifel", "*ei*"):
                assert search(store, text) == Scan(store, LOCAL).search(parse_query(text)), text

    def test_what_is_forgotten_is_not_found(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            gone = keep(
                store,
                {"session-1.jsonl": _make_searched_lines("session-1", "secretword", _LONG_RUN)},
            )
            keep(
                store,
                {"session-2.jsonl": _make_searched_lines("session-2", _LONG_RUN, "public")},
                session_id="session-2",
            )
            store.add_deliveries(LOCAL, [_deliver(1, "secrethook"), _deliver(2, "kept", "session-2")])
            store.forget(LOCAL, [gone.key])
            for text in ("secretword", "*cretwor*", "secrethook"):
                assert not search(store, text)
            assert len(search(store, "answer")) == len(search(store, "*nswe*")) == 1
            assert [hit.delivery_id for hit in search(store, "kind:hook")] == ["d2"]
            assert store.list_flaws(LOCAL) == []

    def test_texts_that_are_as_they_should_be_are_not_told(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            batch = keep(
                store,
                {"session-1.jsonl": _make_searched_lines("session-1", "one", _LONG_RUN, _LONG_RUN, "two")},
            )
            [source] = batch.sources
            assert store.check_texts(LOCAL, source.source, 0, source.texts) == []
            store.maintain()
            assert store.check_texts(LOCAL, source.source, 0, source.texts) == []

    def test_texts_that_differ_are_told_and_mended(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            batch = keep(
                store,
                {"session-1.jsonl": _make_searched_lines("session-1", "one", _LONG_RUN, "two")},
            )
            keep(
                store,
                {"session-2.jsonl": _make_searched_lines("session-2", "one", "TWO!")},
                session_id="session-2",
            )
            lines = _make_searched_lines("session-3", "one", _LONG_RUN, "three")
            other = keep(store, {"session-3.jsonl": lines}, session_id="session-3")
            [source], [wrong] = batch.sources, other.sources
            [message] = store.check_texts(LOCAL, source.source, 0, wrong.texts)
            assert "line 3" in message
            store.rewrite(LOCAL, batch.key, 1, None, texts={(source.source, 0): wrong.texts})
            assert store.check_texts(LOCAL, source.source, 0, wrong.texts) == []
            assert store.check_texts(LOCAL, source.source, 0, ()) != []
            store.rewrite(LOCAL, batch.key, 2, None, texts={(source.source, 0): source.texts})
            assert store.check_texts(LOCAL, source.source, 0, source.texts) == []
            assert [hit.session_id for hit in search(store, "two")] == ["session-1", "session-2"]


def _make_searched_lines(session_id: str, *texts: str) -> bytes:
    return b"".join(make_line(number, text=text, session_id=session_id) for number, text in enumerate(texts))


def _deliver(number: int, text: str, session_id: str = "session-1") -> HookDelivery:
    return HookDelivery(
        delivery_id=f"d{number}",
        received_ns=number * 1_000_000,
        payload=f'{{"hook_event_name":"Notification","message":"{text}"}}'.encode(),
        session_id=session_id,
        event_name="Notification",
        tool_name="Bash",
    )

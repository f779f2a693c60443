"""Contracts of search: every store finds what reading everything finds."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from turnlog.errors import CursorError, SearchCancelledError
from turnlog.store.interface import Store
from turnlog.store.model import LOCAL, Place, Scope
from turnlog.store.search.language import parse_query
from turnlog.store.search.paging import Hit, SearchOrder
from turnlog.testing.builders import make_line
from turnlog.testing.checks import ContractBase, Scan, keep, read_records

_TRANSCRIPT = "session-1.jsonl"
_OTHER = Scope("somebody else")


_LONG = "All work and no play makes Jack a dull boy. " * 40
_TEXTS = (
    "Please fix the parser in src/app/parse_query.py",
    "The parser is fixed: `parse_query(text)` returns a tree => {ok: true}",
    "Überraschung! naïve café — ÀÉÎ",
    "日本語のテキストを検索する",
    "한국어 검색",
    "error TS2304: Cannot find name 'foo_bar.baz' --strict",
    _LONG,
    _LONG,
    f"{_LONG} and a needle at the end of it",
    "e\u0301 is é, and İstanbul is i̇stanbul",
    "line one\n\tline   two",
    "tabs\u2028and\x00odd characters 🤖🧪 emoji",
    "x" * 5000 + "needle" + "y" * 5000,
)
_QUERIES = (
    "parser",
    "PARSER",
    '"the parser"',
    "pars*",
    "*ser",
    "*arse*",
    "parse_query",
    "foo_bar.baz",
    "--strict",
    "src/app",
    "=> {",
    "cafe",
    "café accents:yes",
    "cafe accents:yes",
    "Parser case:yes",
    "日本語",
    "検索",
    "검색",
    "dull",
    '"dull boy. all work"',
    "needle",
    "*needle*",
    '"line one line two"',
    "emoji",
    "🤖",
    "parser -fixed",
    "parser OR needle",
    "(parser OR dull) -needle",
    "istanbul",
    "é",
    "role:user parser",
    "role:assistant",
    'model:"Test 1" parser',
    "session:session-1 dull",
    "session:other",
    "is:sidechain",
    "agent:helper parser",
    "after:2026-01-02T00:00:05Z before:2026-01-02T00:00:09Z",
    "kind:prompt jack",
    "nothingofthesort",
    f'"{"x" * 300}*"',
)


class SearchContract(ContractBase):
    """Contracts of search."""

    def test_hits_are_those_of_reading_everything(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _keep_searched(store)
            _compare(store)

    def test_what_is_appended_is_found(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            data = b""
            for number, text in enumerate(_TEXTS):
                data += make_line(number, text=text)
                keep(store, {_TRANSCRIPT: data})
            _compare(store)
            assert search(store, "parser")[0].line == 1

    def test_hits_name_their_message(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key = keep(store, {_TRANSCRIPT: _make_lines(_TEXTS)}).key
            [hit] = search(store, "istanbul")
            records = read_records(store, key)
            message, line = records.messages[9], records.lines[9]
            assert (hit.session, hit.source, hit.line, hit.message) == (key, key, 9, 9)
            assert (hit.message_id, hit.place, hit.role) == (
                message.id,
                Place(key, 0, line.offset),
                message.role,
            )
            start, end = hit.snippet.marks[0]
            assert hit.snippet.text[start:end] == "İstanbul"

    def test_the_newest_come_first_and_pages_have_each_once(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for name in ("session-1", "session-2", "session-3"):
                lines = _make_lines([f"word number {number}" for number in range(300)], name)
                keep(store, {f"{name}.jsonl": lines}, session_id=name)
            for limit in (1000, 7, 100):
                hits = search_all(store, "word", limit)
                assert len({(hit.source, hit.line) for hit in hits}) == len(hits) == 900
                times = [hit.time or 0 for hit in hits]
                assert times == sorted(times, reverse=True)

    def test_pages_go_on_while_there_is_more(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            texts = [f"word number {number}" for number in range(40)]
            keep(store, {_TRANSCRIPT: _make_lines(texts[:30])})
            first = store.search(LOCAL, parse_query("word"), limit=10)
            keep(store, {_TRANSCRIPT: _make_lines(texts)})
            second = store.search(LOCAL, parse_query("word"), limit=10, cursor=first.next)
            assert [hit.line for hit in (*first.hits, *second.hits)] == [*range(29, 9, -1)]

    def test_only_the_newest_generation_is_searched(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: _make_lines(_TEXTS)})
            keep(store, {_TRANSCRIPT: _make_lines(["another parser", _LONG])})
            assert [hit.line for hit in search(store, "parser")] == [0]
            _compare(store)

    def test_equal_texts_are_hits_each(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for name in ("session-1", "session-2"):
                keep(store, {f"{name}.jsonl": _make_lines([_LONG, "short", _LONG], name)}, session_id=name)
            assert len(search(store, "dull")) == 4
            keep(store, {_TRANSCRIPT: _make_lines(["gone"])})
            assert [(hit.session_id, hit.line) for hit in search(store, "dull")] == [
                ("session-2", 2),
                ("session-2", 0),
            ]
            keep(store, {_TRANSCRIPT: _make_lines(["gone", _LONG])})
            assert len(search(store, "*dul*")) == 3

    def test_applying_again_changes_no_hits(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: _make_lines(_TEXTS)})
            store.apply([batch])
            _compare(store)

    def test_texts_told_anew_replace_those_before(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: _make_lines(_TEXTS)})
            [source] = batch.sources
            told = replace(source, start=source.length, frames=(), sealed=0, lines=0)
            store.apply([replace(batch, sources=(told,), base_revision=None)])
            _compare(store)

    def test_others_find_nothing(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _keep_searched(store)
            assert not store.search(Scope("somebody else"), parse_query("parser")).hits

    def test_what_was_written_is_found_by_whoever_opens_the_store(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _keep_searched(store)
            with self.reopened(tmp_path) as other:
                _compare(other)
                keep(store, {"session-9.jsonl": _make_lines(["brandnew"], "session-9")}, session_id="session-9")
                assert len(search(other, "brandnew")) == len(search(other, "*randne*")) == 1
            store.maintain()
            _compare(store)

    def test_by_relevance_come_the_same_hits(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _keep_searched(store)
            for text in ("parser", "dull", "parser OR needle", "*e*"):
                newest = {_name(hit) for hit in search(store, text)}
                ranked = search_all(store, text, 2, SearchOrder.RELEVANCE)
                assert len(ranked) == len(newest)
                assert {_name(hit) for hit in ranked} == newest

    def test_a_search_that_is_cancelled_ends(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _keep_searched(store)
            for after in (0, 1, 5):
                asked = iter([False] * after)
                try:
                    store.search(LOCAL, parse_query("*e*"), cancelled=lambda asked=asked: next(asked, True))  # type: ignore[misc]
                except SearchCancelledError:
                    continue
                raise AssertionError("the search went on")
            _compare(store)

    def test_cursors_that_are_none_are_refused(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _keep_searched(store)
            page = store.search(LOCAL, parse_query("*e*"), limit=1)
            for cursor, order in (
                ("", SearchOrder.NEWEST),
                ("n.1.2", SearchOrder.NEWEST),
                ("n.1.2.x", SearchOrder.NEWEST),
                (page.next or "", SearchOrder.RELEVANCE),
            ):
                try:
                    store.search(LOCAL, parse_query("e"), cursor=cursor, order=order)
                except CursorError:
                    continue
                raise AssertionError(f"{cursor!r} was taken")


def search(store: Store, text: str) -> list[Hit]:
    """Return all hits."""
    return search_all(store, text, 10_000)


def search_all(store: Store, text: str, limit: int, order: SearchOrder = SearchOrder.NEWEST) -> list[Hit]:
    """Return the hits of all pages."""
    query = parse_query(text)
    page = store.search(LOCAL, query, limit=limit, order=order)
    hits = [*page.hits]
    while page.next is not None:
        page = store.search(LOCAL, query, limit=limit, cursor=page.next, order=order)
        hits += page.hits
    return hits


def _keep_searched(store: Store) -> None:
    agent = "session-1/subagents/agent-helper1.jsonl"
    files = {_TRANSCRIPT: _make_lines(_TEXTS), agent: _make_lines(_TEXTS[:3], agent_id="helper1")}
    keep(store, files)
    keep(store, {"session-2.jsonl": _make_lines(_TEXTS[2:9], "session-2")}, session_id="session-2")


def _make_lines(texts: tuple[str, ...] | list[str], session_id: str = "session-1", **more: str) -> bytes:
    return b"".join(
        make_line(
            number,
            text=text,
            type="assistant" if number % 2 else "user",
            session_id=session_id,
            **more,
        )
        for number, text in enumerate(texts)
    )


def _name(hit: Hit) -> tuple[object, ...]:
    return hit.source, hit.line, hit.ordinal, hit.delivery_id


def _compare(store: Store) -> None:
    """Expect the hits of reading everything."""
    scan = Scan(store, LOCAL)
    for text in _QUERIES:
        expected, found = scan.search(parse_query(text)), search(store, text)
        assert {_name(hit): hit for hit in found} == {_name(hit): hit for hit in expected}, text
        assert [hit.time for hit in found] == [hit.time for hit in expected], text
    assert any(scan.search(parse_query(text)) for text in _QUERIES)

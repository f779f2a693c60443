"""Finding: questions across sessions, searching texts, and an index that is mended or made anew."""

from __future__ import annotations

from contextlib import suppress
from inspect import signature
from pathlib import Path

from msgspec.structs import replace

from turnlog.errors import CursorError, SearchCancelledError, StoreError
from turnlog.store.batch import Derived
from turnlog.store.interface import Archive, FileCounts, Knows, Store, count_files, find_known, find_sessions
from turnlog.store.lists import SessionFilter, SessionOrder
from turnlog.store.marks import MarkChange
from turnlog.store.model import LOCAL, Place, Scope
from turnlog.store.search.language import parse_query
from turnlog.store.search.paging import Hit, SearchOrder
from turnlog.testing.answers import collect_answers
from turnlog.testing.builders import make_batch, make_key, make_line, make_lines
from turnlog.testing.contracts.base import CareBase, ContractBase, keep, read_records
from turnlog.testing.row_builders import TIME, make_session_row
from turnlog.testing.scanning import Scan
from turnlog.transcripts.hooks import HookDelivery

_TRANSCRIPT = "session-1.jsonl"
_OTHER = Scope("somebody else")
_MADE_OF_QUERIES = ("find_answers", "find_sessions", "read_all")
_NO_FILES = FileCounts(sessions=0, only_here=0, files=0, bytes=0, lines=0)


class QueryContract(ContractBase):
    """Contracts of all queries."""

    def test_an_empty_store_knows_nothing(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            assert not any(collect_answers(store, LOCAL).values())
            assert find_known(store, LOCAL, make_key()) is None
            with store.open_session(LOCAL, make_key(), hooks="session-1") as session:
                assert (session.files, session.main, session.list_turns(), session.list_agents()) == (
                    (), None, [], []
                )  # fmt: skip
                assert session.list_actions() == []
            assert count_files(store, LOCAL) == _NO_FILES
            assert store.read_feed(LOCAL).last == store.apply([]) == 0

    def test_all_sessions_are_known_by_their_keys(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keys = _fill(store, 5)
            assert [session.key for session in store.list_known(LOCAL)] == sorted(keys)
            assert [find_known(store, LOCAL, key) for key in sorted(keys)] == [*store.list_known(LOCAL)]

    def test_sessions_are_known_by_the_machine_that_they_come_from(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            here, there = (keep(store, {_TRANSCRIPT: make_lines(2)}, origin=name) for name in ("here", "there"))
            assert {session.key: session.origin for session in store.list_known(LOCAL)} == {
                here.key: "here",
                there.key: "there",
            }
            assert [session.key for session in store.list_known(LOCAL, "there")] == [there.key]
            assert list(store.list_known(LOCAL, "nowhere")) == []

    def test_sessions_are_listed_newest_first(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _list(store, "b", last_time=TIME + 1)
            _list(store, "c", last_time=TIME + 2)
            _list(store, "a", last_time=TIME)
            _list(store, "never", first_time=None, last_time=None)
            assert _ids(store) == ["c", "b", "a", "never"]

    def test_sessions_are_listed_oldest_first(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _list(store, "b", first_time=TIME + 1, last_time=TIME + 1)
            _list(store, "c", first_time=TIME + 2, last_time=TIME + 2)
            _list(store, "a", first_time=TIME, last_time=TIME)
            assert _ids(store, SessionOrder.OLDEST) == ["a", "b", "c"]

    def test_sessions_are_listed_by_title_whatever_its_case(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _list(store, "2", title="banana")
            _list(store, "3", title="Cherry")
            _list(store, "1", title="Apple")
            assert _ids(store, SessionOrder.TITLE) == ["1", "2", "3"]

    def test_sessions_are_listed_dearest_first_by_number_not_by_text(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _list(store, "b", cost="9.500000")
            _list(store, "a", cost="10.25")
            _list(store, "d", cost=None)
            _list(store, "c", cost="0.000001")
            assert _ids(store, SessionOrder.COST) == ["a", "b", "c", "d"]

    def test_sessions_are_listed_for_one_project(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _list(store, "a", project="/home/ada/one")
            _list(store, "b", project="/home/ada/one/inner")
            _list(store, "c", project=None)
            for project, expected in (
                ("/home/ada/one", ["a"]),
                ("/home/ada/one/inner", ["b"]),
                ("/home/ada", []),
            ):
                found = store.list_sessions(LOCAL, SessionFilter(project=project)).sessions
                assert [session.row.session_id for session in found] == expected

    def test_sessions_are_found_by_the_beginning_of_id_and_key(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            one, two = _list(store, "0a1b-one"), _list(store, "0a1b-two")
            percent, _ = _list(store, "50%_x"), _list(store, "50XXx")
            for prefix, expected in (
                ("0a1b-o", {one}),
                ("0a1b", {one, two}),
                ("0a1b-two", {two}),
                ("a1b", set()),
                ("0a1b-two-", set()),
                ("50%", {percent}),
                ("50%_", {percent}),
                ("50_", set()),
                (one, {one}),
                (two[:12], {two}),
                (two[1:], set()),
                ("\U0010ffff", set()),
            ):
                found = [session.key for session in find_sessions(store, LOCAL, prefix)]
                assert sorted(found) == sorted(expected), prefix

    def test_all_sessions_that_begin_alike_are_found_with_their_summaries(self, tmp_path: Path) -> None:
        """However many they are, and those that were put away as well."""
        with self.opened(tmp_path) as store:
            names = [f"s-{number:03}" for number in range(102)]
            rows = [make_session_row(name, last_time=TIME + at) for at, name in enumerate(names)]
            batches = [
                make_batch({f"{name}.jsonl": make_line(session_id=name)}, session_id=name) for name in names
            ]
            store.apply(
                [replace(each, derived=Derived(session=row)) for each, row in zip(batches, rows, strict=True)]
            )
            store.mark(LOCAL, [batches[7].key], MarkChange(archived=True))
            found = find_sessions(store, LOCAL, "s-")
            assert [each.row for each in found] == rows[::-1]
            assert all(row.summary for row in rows)
            page = store.list_sessions(LOCAL, SessionFilter(archived=None), limit=3)
            assert [each.row for each in page.sessions] == [replace(row, summary=b"") for row in rows[:98:-1]]
            page = store.list_sessions(LOCAL, SessionFilter(archived=None), limit=3, summaries=True)
            assert page.sessions == tuple(found[:3])

    def test_files_are_counted(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            sources = keep(store, {_TRANSCRIPT: make_lines(12), "session-1/notes": b"x"}).sources
            size = sum(source.length for source in sources)
            expected = FileCounts(sessions=1, only_here=0, files=2, bytes=size, lines=12)
            assert count_files(store, LOCAL) == expected
            keep(store, {})
            assert count_files(store, LOCAL) == replace(expected, only_here=1)
            assert count_files(store, _OTHER) == _NO_FILES

    def test_answers_are_found_by_their_ids(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key = keep(store, {_TRANSCRIPT: make_lines(40)}).key
            ids = [each.message_id for each in read_records(store, key).sightings]
            found = store.read_usage(LOCAL).find_answers([*ids[:3], "nobody", ids[0]])
            assert [answer.message_id for answer in found] == sorted(ids[:3])
            counted = {answer.message: answer.cell for answer in store.read_usage(LOCAL).list_answers()}
            for answer in found:
                cell = counted[answer.message_id]
                assert (answer.input, answer.output) == (cell.input, cell.output)
            assert store.read_usage(_OTHER).find_answers(ids) == []
            version = store.read_usage(LOCAL).find_version(key)
            keep(store, {"other.jsonl": make_lines(3, first=90, session_id="other")}, session_id="other")
            assert store.read_usage(LOCAL).find_answers(ids[:3]) == found[:3]
            assert store.read_usage(LOCAL).find_version(key) == version

    def test_every_query_is_asked_by_these_contracts(self, tmp_path: Path) -> None:
        """So that a query that is added later cannot be left out of the next contract."""
        with self.opened(tmp_path) as store:
            queries = [name for part in (Knows, Store, Archive) for name in _list_queries(part)]
            assert sorted([*queries, *_MADE_OF_QUERIES]) == sorted(collect_answers(store, LOCAL))

    def test_another_owner_sees_nothing_in_any_query(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: make_lines(4), "session-1/subagents/agent-a1.jsonl": make_lines(2)})
            sessions = list(store.list_known(LOCAL))
            store.mark(LOCAL, [session.key for session in sessions], MarkChange(tags=("tag",)))
            own = collect_answers(store, LOCAL, sessions)
            assert [name for name, found in own.items() if not found] == []
            for scope in (_OTHER, Scope(""), Scope("%"), Scope("LOCAL")):
                seen = collect_answers(store, scope, sessions)
                assert {name: found for name, found in seen.items() if found} == {}

    def test_owners_do_not_see_each_other(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: make_lines(4)})
            keep(store, {_TRANSCRIPT: make_lines(2)}, owner=_OTHER.owner, origin="there")
            for scope, count in ((LOCAL, 4), (_OTHER, 2)):
                [session] = store.list_sessions(scope).sessions
                assert len(read_records(store, session.key, scope=scope).messages) == count
                assert [found.key for found in find_sessions(store, scope, "session-1")] == [session.key]
                assert [entry.session for entry in store.read_feed(scope, 0).entries] == [session.key]
                assert len([*store.read_usage(scope).list_answers()]) == count // 2
                assert count_files(store, scope).lines == count

    def test_nobody_writes_into_a_session_of_another_owner(self, tmp_path: Path) -> None:
        """Whether it is refused or kept apart."""
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(4)})
            before = collect_answers(store, LOCAL)
            for known in (None, find_known(store, LOCAL, batch.key)):
                with suppress(StoreError):
                    lines = make_lines(4) + make_line(4, text="not by its owner")
                    store.apply([make_batch({_TRANSCRIPT: lines}, known=known, owner=_OTHER.owner)])
                assert collect_answers(store, LOCAL) == before


def _list_queries(protocol: type) -> list[str]:
    """Return what is asked of a part of a store."""
    asked = {name: each for name, each in vars(protocol).items() if callable(each)}
    return [
        name
        for name, each in asked.items()
        if name.startswith(("find_", "list_", "open_", "read", "search"))
        and "scope" in signature(each).parameters
    ]


def _fill(store: Store, count: int) -> list[str]:
    """Put sessions of two lines each into a store, and return their keys."""
    return [
        keep(store, {f"{name}.jsonl": make_lines(2, session_id=name)}, session_id=name).key
        for name in (f"session-{number}" for number in range(count))
    ]


def _list(store: Store, session_id: str, **changes: object) -> str:
    """Put a session of one line into a store, with a row that says what is wanted, and return its key."""
    derived = Derived(session=make_session_row(session_id, **changes))
    files = {f"{session_id}.jsonl": make_line(session_id=session_id)}
    return keep(store, files, session_id=session_id, derived=derived).key


def _ids(store: Store, order: SessionOrder = SessionOrder.NEWEST) -> list[str | None]:
    return [session.row.session_id for session in store.list_sessions(LOCAL, order=order).sessions]


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


_LONG_RUN = "the same long answer again and again, said in so many words " * 10


class SearchedCareContract(CareBase):
    """Contracts of search beside `forget`, `add_deliveries`, `check_texts` and `rewrite`."""

    def test_hook_deliveries_are_found(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
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
        with self.cared(tmp_path) as store:
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
        with self.cared(tmp_path) as store:
            batch = keep(
                store,
                {"session-1.jsonl": _make_searched_lines("session-1", "one", _LONG_RUN, _LONG_RUN, "two")},
            )
            [source] = batch.sources
            assert store.check_texts(LOCAL, source.source, 0, source.texts) == []
            store.maintain()
            assert store.check_texts(LOCAL, source.source, 0, source.texts) == []

    def test_texts_that_differ_are_told_and_mended(self, tmp_path: Path) -> None:
        with self.cared(tmp_path) as store:
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

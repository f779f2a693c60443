"""What contracts are made of: a store to test, ways to fill it, all that it answers, and what it should find.

`collect_answers` asks a store everything: before and after, one store and another, one owner and the next.
`Scan` searches the obvious way: every passage of every line is read, and held against the query. It asks a
store only for what every store must answer besides searching, so it says what `Store.search` should have found,
whichever engine proposes. `SearchContract` compares the two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from turnlog.errors import CursorError, SearchCancelledError, StoreError
from turnlog.store.batch import Derived, SessionBatch, SourceBatch
from turnlog.store.interface import (
    KnownSession,
    KnownSource,
    MaintainedStore,
    Store,
    find_known,
    find_sessions,
    read_all,
)
from turnlog.store.lists import SessionFilter, SessionOrder, StoredSession
from turnlog.store.model import LOCAL, Place, Scope, SourceKind
from turnlog.store.search.language import Query, parse_query
from turnlog.store.search.matcher import Matcher, TextAttributes, build_snippet
from turnlog.store.search.normal_form import normalise
from turnlog.store.search.paging import NO_SNIPPET, Hit, LineTexts, SearchOrder, read_delivery
from turnlog.store.usage_cells import merge_cells
from turnlog.testing.builders import (
    ORIGIN,
    FileRecords,
    list_usage,
    make_batch,
    make_chapter,
    make_key,
    make_line,
    unpack_records,
)
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.segments import AGENTS, TURNS, CallRecord, LineRecord, MessageRecord


class ContractBase(ABC):
    """A store under test; `tmp_path` is a folder that belongs to one test alone."""

    @abstractmethod
    def make_store(self, tmp_path: Path) -> Store:
        """Return an empty store."""

    @abstractmethod
    def reopen(self, tmp_path: Path) -> Store:
        """Return another handle on the store that was made for the same `tmp_path`, closed meanwhile or not."""

    @contextmanager
    def opened(self, tmp_path: Path) -> Iterator[Store]:
        """Yield an empty store, and close it behind the test."""
        with closing(self.make_store(tmp_path)) as store:
            yield store

    @contextmanager
    def reopened(self, tmp_path: Path) -> Iterator[Store]:
        """Yield another handle on the same store, and close it behind the test."""
        with closing(self.reopen(tmp_path)) as store:
            yield store


def keep(
    store: Store,
    files: Mapping[str, bytes],
    *,
    session_id: str = "session-1",
    owner: str = LOCAL.owner,
    origin: str = ORIGIN,
    derived: Derived | None = None,
    moved: Mapping[str, str] | None = None,
) -> SessionBatch:
    """Bring a store up to date with the files of a session, and return the batch that did it."""
    known = find_known(store, Scope(owner), make_key(session_id, origin=origin))
    batch = make_batch(
        files,
        session_id=session_id,
        known=known,
        owner=owner,
        origin=origin,
        derived=derived,
        moved=moved or {},
    )
    store.apply([batch])
    return batch


def get_derived(batch: SessionBatch) -> Derived:
    """Return what follows from the lines of a batch that has any."""
    assert batch.derived is not None
    return batch.derived


def unpack_files(derived: Derived) -> dict[str, FileRecords]:
    """Return the records of all files that are named, by source."""
    return {chapter.source: unpack_records(chapter.segments) for chapter in derived.chapters}


def replace_records(derived: Derived, files: Mapping[str, FileRecords]) -> Derived:
    """Return the same with other records of some files."""
    records = unpack_files(derived) | {**files}
    chapters = tuple(make_chapter(source, each) for source, each in records.items())
    return replace(derived, chapters=chapters, usage=list_usage(records))


def find_source(session: KnownSession | None, path: str) -> KnownSource:
    """Return the file of a session whose path ends so."""
    assert session is not None
    [found] = [source for source in session.sources if source.path.endswith(f"/{path}")]
    return found


def expect_derived(store: Store, key: str, derived: Derived) -> None:
    """Expect exactly these records, if every chapter is among them."""
    with store.open_session(LOCAL, key) as session:
        parts = {each.kind: [data for _, data in each.parts] for each in derived.outline}
        turns = [turn for data in parts.get(TURNS.name, ()) for turn in TURNS.unpack(data)]
        agents = [agent for data in parts.get(AGENTS.name, ()) for agent in AGENTS.unpack(data)]
        assert session.list_turns() == turns
        assert session.count_turns() == len(turns)
        assert session.list_agents() == agents
        assert {file.source for file in session.files} >= {chapter.source for chapter in derived.chapters}
        for file in session.files:
            segments = [
                each
                for chapter in derived.chapters
                if chapter.source == file.source
                for each in chapter.segments
            ]
            assert [*file.heads] == [each.head for each in segments]
            assert read_file(file) == unpack_records(segments)
    [found] = [found for found in find_sessions(store, LOCAL, key) if found.key == key]
    assert found.row == derived.session


def read_records(store: Store, key: str, source: str | None = None, scope: Scope = LOCAL) -> FileRecords:
    """Return all records of a session's file: of its transcript, if none is named."""
    with store.open_session(scope, key) as session:
        files = {file.source: file for file in session.files}
        return read_file(session.main if source is None else files.get(source))


def read_file(file: Chapter | None) -> FileRecords:
    """Return all records of a file; of one that is not there, none."""
    if file is None:
        return FileRecords()
    return FileRecords(
        lines=tuple(file.list_lines()),
        messages=tuple(file.list_messages()),
        calls=tuple(file.list_calls()),
        events=tuple(file.list_events()),
        sightings=tuple(file.list_sightings()),
    )


@contextmanager
def refused() -> Iterator[None]:
    """Expect that a store refuses."""
    try:
        yield
    except StoreError:
        return
    raise AssertionError("the store took what it should refuse")


def shift_source(source: SourceBatch, shift: int = 0, jump: int = 0) -> SourceBatch:
    """Return a batch that is right in itself, but for another place."""
    return replace(
        source,
        generation=source.generation + jump,
        start=source.start + shift,
        length=source.length + shift,
        frames=tuple(replace(frame, start=frame.start + shift) for frame in source.frames),
    )


Answers = dict[str, list[object]]
"""By the name of the query, what it found; a query that finds nothing has an empty list."""


_ANYTHING = parse_query("*e* OR *o*")
_MANY = 10_000
_BEGINNINGS = ("session-1-main-0", "session-1-main-1", "session-2-main-0")
"""The uuids of first lines, as `make_lines` makes them."""
_ANSWERS = ("msg-session-1-main-1", "msg-session-1-main-3", "msg-session-2-main-1")
"""The ids of answers, as it makes them."""


def collect_answers(store: Store, scope: Scope, sessions: Iterable[KnownSession] | None = None) -> Answers:
    """Ask a store everything, about the sessions that it knows or about others."""
    known = list(store.list_known(scope)) if sessions is None else list(sessions)
    asking = _Asking(
        store,
        scope,
        keys=sorted(session.key for session in known),
        sources=sorted({source.source for session in known for source in session.sources}),
        generations=[
            (source.source, generation)
            for session in known
            for source in session.sources
            for generation in range(source.generation + 1)
        ],
    )
    opened = {"open_session": [found for each in known for found in list_records(store, scope, each)]}
    return asking.ask_lists() | opened | asking.ask_usage() | asking.ask_archive()


def list_records(store: Store, scope: Scope, known: KnownSession) -> list[object]:
    """Return all that is kept of one session, and the bytes of its lines."""
    with store.open_session(scope, known.key) as session:
        found: list[object] = []
        for file in session.files:
            lines = [*file.list_lines()]
            found += [file.facts, *file.heads, *lines, *file.list_messages(), *file.list_calls()]
            found += [*file.list_events(), *file.list_sightings(), *file.list_branches()]
            found += [*file.read_raw(line.number for line in lines).items()]
        return [*found, *session.list_turns(), *session.list_agents()]


class _Asking(Struct, frozen=True):
    """A store, and what it is asked about."""

    store: Store
    scope: Scope
    keys: list[str]
    sources: list[str]
    generations: list[tuple[str, int]]

    def ask_lists(self) -> Answers:
        """Ask for sessions as a whole, and what happened to them."""
        store, scope, keys = self.store, self.scope, self.keys
        return {
            "list_known": [
                *(sort_sources(found) for found in store.list_known(scope)),
                *(sort_sources(found) for key in keys if (found := find_known(store, scope, key))),
            ],
            "find_present": [*sorted(store.find_present(scope, ORIGIN).files.items())],
            "find_sessions": [found for key in keys for found in find_sessions(store, scope, key)],
            "list_sessions": [
                (order, found)
                for order in SessionOrder
                for found in store.list_sessions(scope, order=order).sessions
            ]
            + [
                (uuid, found.key)
                for uuid in _BEGINNINGS
                for found in store.list_sessions(scope, SessionFilter(heads=(uuid,))).sessions
            ],
            "list_facets": _list_facets(store, scope),
            "list_projects": [*store.list_projects(scope)],
            "search": [*sorted(store.search(scope, _ANYTHING, limit=_MANY).hits, key=_by_place)],
            "read_feed": [*store.read_feed(scope, 0).entries, *filter(None, [store.read_feed(scope).last])],
        }

    def ask_usage(self) -> Answers:
        """Ask for what was used."""
        store, scope, usage = self.store, self.scope, self.store.read_usage(self.scope)
        return {
            "find_answers": [*store.read_usage(scope).find_answers(_ANSWERS)],
            "read_usage": [
                *merge_cells(usage.list_cells()),
                *sorted(usage.list_answers(), key=lambda answer: answer.message),
                *usage.list_calls(),
                *usage.list_reported(),
            ],
        }

    def ask_archive(self) -> Answers:
        """Ask for bytes."""
        store, scope = self.store, self.scope
        return {
            "list_generations": [
                (source, *found)
                for source in self.sources
                for found in store.archive.list_generations(scope, source)
            ],
            "read": [
                (at, data)
                for source, generation in self.generations
                for at in (Place(source, generation, 0),)
                for data in _try_read(store, scope, at)
            ],
            "read_all": [
                (source, generation, data)
                for source, generation in self.generations
                if (data := read_bytes(store, scope, source, generation)) is not None
            ],
        }


def read_bytes(store: Store, scope: Scope, source: str, generation: int) -> bytes | None:
    """Return the bytes of a whole generation; None if there is none."""
    try:
        data = b"".join(read_all(store.archive, scope, source, generation))
    except KeyError:
        return None
    return data if data or generation in dict(store.archive.list_generations(scope, source)) else None


def sort_sources(session: KnownSession) -> KnownSession:
    """Return what is known of a session with its files in one order, which stores need not keep."""
    return replace(session, sources=tuple(sorted(session.sources, key=lambda source: source.source)))


def _try_read(store: Store, scope: Scope, at: Place) -> Iterator[bytes]:
    try:
        yield store.archive.read(scope, at, 1)
    except KeyError:
        return


def _list_facets(store: Store, scope: Scope) -> list[object]:
    found = store.list_facets(scope)
    return [*found.models, *found.branches, *found.tags]


def _by_place(hit: Hit) -> tuple[str, int, int]:
    return hit.source or "", hit.line or 0, hit.ordinal


_SEARCHED = (SourceKind.TRANSCRIPT, SourceKind.AGENT)


class _Text(Struct, frozen=True):
    """A passage, with where it stands."""

    text: str
    hit: Hit
    attributes: TextAttributes


class _Chapter:
    """What records say of the lines of one file."""

    def __init__(self, store: Store, scope: Scope, session: KnownSession, source: KnownSource) -> None:
        self.source = source
        self.session = session
        self.lines: list[LineRecord] = []
        self.message_of: dict[int, MessageRecord] = {}
        self.calls: dict[tuple[str, int, int], CallRecord] = {}
        key = session.key
        with store.open_session(scope, key) as records:
            chapter = records.find_chapter(source.source)
            if chapter is not None:
                messages = [*chapter.list_messages()]
                self.lines = [*chapter.list_lines()]
                self.message_of = {
                    line.number: messages[line.message] for line in self.lines if line.message is not None
                }
                for call in chapter.list_calls():
                    self.calls.setdefault(("tool-input", call.line, call.block), call)
                    if call.result_line is not None and call.result_block is not None:
                        self.calls.setdefault(("tool-output", call.result_line, call.result_block), call)
            self.agent_types = {agent.id: agent.type for agent in records.list_agents()}
        machines = _Machines(store, scope)
        self.person, self.machine = machines.find_person(session.origin), machines.name(session.origin)
        found = [each for each in find_sessions(store, scope, key) if each.key == key]
        self.stored: StoredSession | None = found[0] if found else None

    def list_agents(self, agent_id: str | None) -> tuple[str, ...]:
        if agent_id is None:
            return ()
        name = self.agent_types.get(agent_id)
        return (agent_id,) if name is None else (agent_id, name)


class _Machines:
    """What is known of machines."""

    def __init__(self, store: Store, scope: Scope) -> None:
        listed = cast(MaintainedStore, store).list_machines(scope) if hasattr(store, "list_machines") else []
        self._known = {machine.origin: machine for machine in listed}

    def find_person(self, origin: str) -> str | None:
        return self._known[origin].person if origin in self._known else None

    def name(self, origin: str) -> tuple[str, ...]:
        host = self._known[origin].host if origin in self._known else ""
        return (origin, host) if host else (origin,)


class Scan:
    """All that one owner can search, as it is now."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._texts = [text for text, _ in sorted(_list_texts(store, scope), key=lambda each: -each[1])]
        self._normal: dict[tuple[bool, bool], list[str]] = {}

    @property
    def texts(self) -> list[str]:
        """All passages, newest first."""
        return [text.text for text in self._texts]

    @property
    def settings(self) -> list[TextAttributes]:
        """Where they stand."""
        return [text.attributes for text in self._texts]

    def search(self, query: Query, most: int | None = None) -> list[Hit]:
        """Return every hit, newest first; those of one time in any order.

        Those behind the first `most` have no snippets.
        """
        matcher = Matcher(query)
        found = [
            text
            for text, normal in zip(self._texts, self._normalise(query), strict=True)
            if matcher.matches_normal(normal, text.attributes)
        ]
        hits = [
            replace(text.hit, snippet=build_snippet(text.text, matcher.find_spans(text.text)))
            for text in found[:most]
        ]
        return [*hits, *(text.hit for text in found[len(hits) :])]

    def _normalise(self, query: Query) -> list[str]:
        key = query.case, query.accents
        if key not in self._normal:
            self._normal[key] = [
                normalise(each.text, case=query.case, accents=query.accents) for each in self._texts
            ]
        return self._normal[key]


def _list_texts(store: Store, scope: Scope) -> Iterator[tuple[_Text, int]]:
    for session in store.list_known(scope):
        for source in session.sources:
            if source.kind in _SEARCHED:
                yield from _list_of_file(store, scope, _Chapter(store, scope, session, source))
    if hasattr(store, "list_deliveries"):
        yield from _list_of_hooks(cast(MaintainedStore, store), scope)


def _list_of_file(store: Store, scope: Scope, chapter: _Chapter) -> Iterator[tuple[_Text, int]]:
    source = chapter.source
    time = 0
    for fact in chapter.lines:
        time = time if fact.time is None else fact.time
        place = Place(source.source, source.generation, fact.offset)
        line = LineTexts(store.archive.read(scope, place, fact.length))
        for ordinal, passage in enumerate(line.passages):
            call = chapter.calls.get((passage.kind, fact.number, passage.block))
            text = _build(chapter, fact, place, call, passage.kind, ordinal, passage.is_error, time)
            yield _Text(passage.text, text.hit, replace(text.attributes, branch=line.branch)), time


def _build(
    chapter: _Chapter,
    fact: LineRecord,
    place: Place,
    call: CallRecord | None,
    kind: str,
    ordinal: int,
    is_error: bool,
    time: int,
) -> _Text:
    message, stored, session = chapter.message_of.get(fact.number), chapter.stored, chapter.session
    agent_id = (message.agent_id if message is not None else None) or chapter.source.agent_id
    row = None if stored is None else stored.row
    own_id = None if row is None else row.session_id
    names = dict.fromkeys(name for name in (session.session_id, own_id, session.key) if name is not None)
    project = None if row is None else row.project
    tool = None if call is None else call.name
    role = None if message is None else message.role
    model = None if message is None else message.model
    attributes = TextAttributes(
        kind=str(kind),
        project=project,
        session_ids=tuple(names),
        person=chapter.person,
        machine=chapter.machine,
        tool=tool,
        model=model,
        role=role,
        category=(message and message.category) or (call and call.category) or None,
        file=None if call is None else call.path,
        is_error=is_error,
        is_sidechain=fact.is_sidechain if message is None else message.is_sidechain,
        agents=chapter.list_agents(agent_id),
        time=time or None,
    )
    hit = Hit(
        kind=str(kind),
        session=session.key,
        session_id=own_id or session.session_id,
        project=project,
        title=None if row is None else row.title,
        source=chapter.source.source,
        place=place,
        line=fact.number,
        ordinal=ordinal,
        message=None if message is None else message.index,
        message_id=None if message is None else message.id,
        call=None if call is None else call.index,
        tool=tool,
        role=role,
        model=model,
        agent_id=agent_id,
        is_error=is_error,
        time=time or None,
        snippet=NO_SNIPPET,
    )
    return _Text("", hit, attributes)


def _list_of_hooks(store: MaintainedStore, scope: Scope) -> Iterator[tuple[_Text, int]]:
    sessions, machines = _list_sessions(store, scope), _Machines(store, scope)
    for delivery in store.list_deliveries(scope):
        person = machines.find_person(delivery.origin)
        same = [each for each in sessions if each.row.session_id == delivery.session_id]
        same = [each for each in same if person in (None, each.person)]
        stored = same[-1] if same else None
        project = None if stored is None else stored.row.project
        key = None if stored is None else stored.key
        for ordinal, passage in enumerate(read_delivery(delivery)):
            time = delivery.received_ns // 1000
            attributes = TextAttributes(
                kind=str(passage.kind),
                project=project,
                session_ids=(delivery.session_id,) if key is None else (delivery.session_id, key),
                person=person or (None if stored is None else stored.person),
                machine=machines.name(delivery.origin),
                tool=delivery.tool_name,
                model=None,
                role=None,
                category=None,
                branch=None,
                file=None,
                is_error=passage.is_error,
                is_sidechain=False,
                agents=(),
                time=time or None,
            )
            hit = Hit(
                kind=str(passage.kind),
                session=key,
                session_id=delivery.session_id,
                project=project,
                title=None if stored is None else stored.row.title,
                source=None,
                place=None,
                line=None,
                ordinal=ordinal,
                tool=delivery.tool_name,
                delivery_id=delivery.delivery_id,
                is_error=passage.is_error,
                time=time or None,
                snippet=NO_SNIPPET,
            )
            yield _Text(passage.text, hit, attributes), time


def _list_sessions(store: Store, scope: Scope) -> list[StoredSession]:
    found = [stored for known in store.list_known(scope) for stored in find_sessions(store, scope, known.key)]
    return sorted({each.key: each for each in found}.values(), key=lambda each: each.key, reverse=True)


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

"""Search the obvious way: every passage of every line is read, and held against the query.

It asks a store only for what every store must answer besides searching. So it says what `Store.search` should
have found, whichever engine proposes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from turnlog.store.interface import CaredStore, KnownSession, KnownSource, Store, find_sessions
from turnlog.store.lists import StoredSession
from turnlog.store.model import Place, Scope, SourceKind
from turnlog.store.search.language import Query
from turnlog.store.search.matcher import Matcher, Setting, build_snippet
from turnlog.store.search.normal import normalise
from turnlog.store.search.paging import NO_SNIPPET, Hit, LineTexts, read_delivery
from turnlog.transcripts.segments import CallRecord, LineRecord, MessageRecord

_SEARCHED = (SourceKind.TRANSCRIPT, SourceKind.AGENT)


class _Text(Struct, frozen=True):
    """A passage, with where it stands."""

    text: str
    hit: Hit
    setting: Setting


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
        listed = cast(CaredStore, store).list_machines(scope) if hasattr(store, "list_machines") else []
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
    def settings(self) -> list[Setting]:
        """Where they stand."""
        return [text.setting for text in self._texts]

    def search(self, query: Query, most: int | None = None) -> list[Hit]:
        """Return every hit, newest first; those of one time in any order.

        Those behind the first `most` have no snippets.
        """
        matcher = Matcher(query)
        found = [
            text
            for text, normal in zip(self._texts, self._normalise(query), strict=True)
            if matcher.matches_normal(normal, text.setting)
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
        yield from _list_of_hooks(cast(CaredStore, store), scope)


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
            yield _Text(passage.text, text.hit, replace(text.setting, branch=line.branch)), time


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
    setting = Setting(
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
    return _Text("", hit, setting)


def _list_of_hooks(store: CaredStore, scope: Scope) -> Iterator[tuple[_Text, int]]:
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
            setting = Setting(
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
            yield _Text(passage.text, hit, setting), time


def _list_sessions(store: Store, scope: Scope) -> list[StoredSession]:
    found = [stored for known in store.list_known(scope) for stored in find_sessions(store, scope, known.key)]
    return sorted({each.key: each for each in found}.values(), key=lambda each: each.key, reverse=True)

"""Where a text stands, as filters ask for it and hits name it; what filters leave out is left out early.

An engine looks up the rows (`TextRows`); what they mean is the same for every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from operator import attrgetter
from typing import Any

from msgspec import UNSET, json
from msgspec.structs import replace

from turnlog.store.catalogue.archive import LineReader
from turnlog.store.catalogue.database import INDEXED, Connection, Row, pack_text, unpack_text
from turnlog.store.catalogue.hooks import list_deliveries
from turnlog.store.catalogue.segments import SegmentCache, SourceReader, load_segment, load_segments
from turnlog.store.model import Place, Scope
from turnlog.store.search.index import HOOKS, Chapter, Delivery, KnownChapters, TextRows
from turnlog.store.search.language import And, Filter, Node, Not, Or
from turnlog.store.search.matcher import Matcher, TextAttributes
from turnlog.store.search.paging import NO_SNIPPET, Candidate, Hit, Proposal
from turnlog.store.search.texts import KINDS
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery
from turnlog.transcripts.queries.chapters import Chapter as Records
from turnlog.transcripts.queries.chapters import ChapterFacts
from turnlog.transcripts.segments import AGENTS, SEGMENT, CallRecord, MessageRecord, Segment

_TOOLS = frozenset({"tool-input", "tool-output"})
_HOOK = "hook"
_LOOKED_UP = frozenset({"tool", "model", "role", "category", "file", "agent", "is"})
"""The filters that need more than the text's own row."""
_OF_SESSIONS: Mapping[str, str] = {
    "project": "project",
    "session": "names",
    "branch": "branches",
    "person": "person",
    "machine": "machine",
}
"""What filters ask of sessions, and what of a `Chapter` tells."""
_NO_BRANCH = "HEAD"
"""What lines say where there is no branch; lists leave it out."""
_OF_CALLS = frozenset({"tool", "file"})
_Found = tuple[Hit, TextAttributes] | None


class TextContext:
    """Tells where texts stand, for one query."""

    def __init__(self, rows: TextRows, matcher: Matcher) -> None:
        self._rows = rows
        self._matcher = matcher
        names = {each.name for each in _list_filters(matcher.query.root)}
        self._has_filters = bool(names)
        self._asks_more = not names.isdisjoint(_LOOKED_UP)
        self._asks_calls = not names.isdisjoint(_OF_CALLS)
        self._asks_branch = "branch" in names
        asked = [field for name, field in _OF_SESSIONS.items() if name in names]
        self._tell: Callable[[Chapter], object] = attrgetter(*asked) if asked else lambda chapter: None
        self.limits = _find_limits(matcher.query.root)
        """From when on, and before when, all hits are."""
        self.generations = self._list_generations() if asked else None
        """The files that may have hits, as far as their sessions tell; None if nothing is asked of sessions."""

    def list_states(self) -> list[int]:
        """Return the kinds of texts that may match, times two, and one more for errors."""
        found = []
        for number, kind in enumerate(KINDS):
            call = UNSET if kind in _TOOLS or kind == _HOOK else None
            for is_error in (False, True):
                if not self._is_out(TextAttributes(kind=kind, is_error=is_error, tool=call, file=call)):
                    found.append(number * 2 + is_error)
        return found

    def build(self, proposal: Proposal) -> Candidate | None:
        """Return a text with where it stands; None if filters leave it out."""
        kind = KINDS[proposal.kind]
        attributes = TextAttributes(kind=kind, is_error=proposal.is_error, time=proposal.time or None)
        if self._has_filters and self._is_out(attributes):
            return None
        if proposal.generation == HOOKS:
            delivery = self._rows.load_delivery(proposal.number)
            complete = partial(self._build_hook, proposal, attributes)
            return None if delivery is None else Candidate(proposal, kind, attributes, complete, delivery)
        if self._asks_calls and self._is_call_out(proposal, attributes):
            return None
        if not proposal.length:
            line = self._rows.find_line(proposal.generation, proposal.number)
            if line is None:
                return None
            proposal = replace(proposal, offset=line[0], length=line[1])
        if not self._asks_more:
            return Candidate(proposal, kind, attributes, partial(self._build, proposal, attributes))
        # Looking it up is cheaper than reading the text.
        completed = self._build(proposal, attributes)
        if completed is None or self._is_out(completed[1]):
            return None
        return Candidate(proposal, kind, completed[1], lambda: completed)

    def _is_out(self, attributes: TextAttributes) -> bool:
        return self._matcher.matches_attributes(attributes) is False

    def _is_call_out(self, proposal: Proposal, attributes: TextAttributes) -> bool:
        chapter = self._rows.find_chapter(proposal.generation)
        if chapter is None:
            return True
        call = self._rows.find_call(chapter, KINDS[proposal.kind], proposal.number, proposal.block)
        tool, path = (None, None) if call is None else (call.name, call.path)
        return self._is_out(replace(attributes, tool=tool, file=path))

    def _list_generations(self) -> set[int]:
        chapters = self._rows.load_chapters()
        told = list(map(self._tell, chapters.values()))
        # Filters cannot tell most files apart: they are of a few projects.
        examples = dict(zip(told, chapters.values(), strict=True))
        kept = {each for each, chapter in examples.items() if self._judge_chapter(chapter)}
        found = {number for number, each in zip(chapters, told, strict=True) if each in kept}
        return found if self._is_out(TextAttributes(kind=_HOOK)) else {*found, HOOKS}

    def _judge_chapter(self, chapter: Chapter) -> bool:
        attributes = TextAttributes(
            project=chapter.project,
            session_ids=chapter.names,
            person=chapter.person,
            machine=chapter.machine,
        )
        if chapter.branches is None or not self._asks_branch:
            return not self._is_out(attributes)
        branches = (None, _NO_BRANCH, *chapter.branches)
        return not all(self._is_out(replace(attributes, branch=branch)) for branch in branches)

    def _build(self, proposal: Proposal, attributes: TextAttributes) -> _Found:
        rows, kind = self._rows, KINDS[proposal.kind]
        chapter = rows.find_chapter(proposal.generation)
        if chapter is None:
            return None
        call = rows.find_call(chapter, kind, proposal.number, proposal.block)
        tool, path, category = (None, None, None) if call is None else (call.name, call.path, call.category)
        try:
            message = rows.find_message(chapter, proposal.number)
        except KeyError:
            return None
        is_sidechain, role, model = False, None, None
        agent_id = chapter.agent_id
        if message is not None:
            is_sidechain, role, model = message.is_sidechain, message.role, message.model
            category, agent_id = message.category or category, message.agent_id or agent_id
        elif (line := rows.find_line(proposal.generation, proposal.number)) is not None:
            is_sidechain = line[2]
        attributes = replace(
            attributes,
            project=chapter.project,
            session_ids=chapter.names,
            person=chapter.person,
            machine=chapter.machine,
            tool=tool,
            model=model,
            role=role,
            category=category,
            file=path,
            is_sidechain=is_sidechain,
            agents=rows.list_agent_names(chapter, agent_id),
        )
        hit = Hit(
            kind=kind,
            session=chapter.key,
            session_id=chapter.session_id,
            project=chapter.project,
            title=chapter.title,
            source=chapter.name,
            place=Place(chapter.name, chapter.generation, proposal.offset),
            line=proposal.number,
            ordinal=proposal.ordinal,
            message=None if message is None else message.index,
            message_id=None if message is None else message.id,
            call=None if call is None else call.index,
            tool=tool,
            role=role,
            model=model,
            agent_id=agent_id,
            is_error=proposal.is_error,
            time=proposal.time or None,
            snippet=NO_SNIPPET,
        )
        return hit, attributes

    def _build_hook(self, proposal: Proposal, attributes: TextAttributes) -> _Found:
        found = self._rows.find_delivery(proposal.number)
        if found is None:
            return None
        attributes = replace(
            attributes,
            project=found.project,
            session_ids=(found.session_id,) if found.key is None else (found.session_id, found.key),
            person=found.person,
            machine=found.machine,
            tool=found.tool,
            model=None,
            role=None,
            category=None,
            file=None,
            is_sidechain=False,
            agents=(),
        )
        hit = Hit(
            kind=KINDS[proposal.kind],
            session=found.key,
            session_id=found.session_id,
            project=found.project,
            title=found.title,
            source=None,
            place=None,
            line=None,
            ordinal=proposal.ordinal,
            tool=found.tool,
            delivery_id=found.delivery_id,
            is_error=proposal.is_error,
            time=proposal.time or None,
            snippet=NO_SNIPPET,
        )
        return hit, attributes


def _list_filters(node: Node) -> Iterator[Filter]:
    if isinstance(node, Filter):
        yield node
    elif isinstance(node, Not):
        yield from _list_filters(node.part)
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from _list_filters(part)


def _find_limits(root: Node) -> tuple[int, int | None]:
    """Return from when and until when all hits are, as far as the query says so for all of them."""
    parts = root.parts if isinstance(root, And) else (root,)
    filters = [part for part in parts if isinstance(part, Filter) and part.instant is not None]
    since = [part.instant or 0 for part in filters if part.name == "after"]
    until = [part.instant or 0 for part in filters if part.name == "before"]
    return max(since, default=0), min(until, default=None)


_CHAPTER = """
SELECT g.id, g.generation, s.id, s.source, s.agent_id, e.id, e.key, e.file_id, e.session_id, e.project,
    e.title, CASE WHEN s.kind = 'transcript' AND 1 = (
        SELECT count(*) FROM sources WHERE session = e.id AND kind = 'transcript'
    ) THEN e.branches END, e.origin, e.person
FROM generations AS g JOIN sources AS s ON s.id = g.source JOIN sessions AS e ON e.id = s.session
WHERE s.owner = ?
"""
_ONE = " AND g.id = ?"
_SOME = " AND g.id IN @@ints(?)"
_ORIGIN = 11
"""Which column behind the number has the machine."""
_DELIVERY = f"""
SELECT d.delivery_id, d.session_id, d.tool_name, d.origin, e.key, e.project, e.title, e.person
FROM hook_deliveries AS d LEFT JOIN sessions AS e ON e.owner = d.owner
    AND substr(e.session_id, 1, {INDEXED}) = substr(d.session_id, 1, {INDEXED}) AND e.session_id = d.session_id
WHERE d.id = ? AND d.owner = ? ORDER BY e.key
"""
_MACHINES = "SELECT origin, person, host FROM machines WHERE owner = ?"
_Spot = tuple[int | None, int | None]
"""A line and a block of it."""
_CALLS: Mapping[str, Callable[[CallRecord], _Spot]] = {
    "tool-input": attrgetter("line", "block"),
    "tool-output": attrgetter("result_line", "result_block"),
}
"""Where the texts of calls stand."""


_AT_ONCE = 32
"""A page, and some that are no hits; each would take statements, and requests to a bucket, of its own."""


class _SegmentReader(SourceReader):
    """Reads segments, those of which nothing is known but the number with one statement less for each file."""

    def __init__(self, connection: Connection, cache: SegmentCache) -> None:
        super().__init__(connection, cache)
        self._peeked: dict[str, tuple[int, Segment]] = {}
        """Of each file the segment that was looked at last."""
        self._loaded: dict[tuple[int, int], Segment] = {}

    def preload(self, wanted: Collection[tuple[int, int]]) -> None:
        """Load segments by the numbers of their files and their own, in place of those before."""
        self._loaded = load_segments(self._connection, wanted)

    def peek(self, source: str, number: int) -> Segment:
        """Return a segment, whether or not heads were listed; raises `KeyError` for one that is not there."""
        known = self._peeked.get(source)
        if known is None or known[0] != number:
            loaded = self._loaded.get((self.sources[source], number))
            known = number, loaded or load_segment(self._connection, self.sources[source], number)
            self._peeked[source] = known
        return known[1]

    def load_segment(self, source: str, number: int) -> Segment:
        """Return a segment; raises `KeyError` for one that is not there."""
        known = self._peeked.get(source)
        return super().load_segment(source, number) if known is None or known[0] != number else known[1]


class CatalogueTextRows:
    """Looks up what is around texts of one owner; what it has learned it keeps."""

    def __init__(
        self,
        connection: Connection,
        scope: Scope,
        segments: SegmentCache,
        lines: LineReader | None = None,
    ) -> None:
        """Begin with nothing looked up; `lines` reads the lines of what is looked up."""
        self._connection = connection
        self._scope = scope
        self._lines = lines
        self._reader = _SegmentReader(connection, segments)
        self.use_chapters(KnownChapters())
        self._records: dict[int, Records] = {}
        self._calls: dict[tuple[int, str, int], dict[_Spot, CallRecord]] = {}
        self._agent_types: dict[int, dict[str, str | None]] = {}

    @property
    def at_once(self) -> int:
        """How many texts it pays to look up together."""
        return _AT_ONCE if self._connection.engine == "postgresql" else 1  # a file has no ways to save

    def prefetch(self, proposals: Sequence[Proposal]) -> None:
        """Look up where some texts are, and load their lines, since all of them are about to be read."""
        if self.at_once == 1:
            return
        texts = [text for text in proposals if text.generation != HOOKS]
        missing = sorted({text.generation for text in texts}.difference(self._chapters))
        if missing:
            found = self._connection.execute(f"{_CHAPTER} {_SOME}", (self._scope.owner, missing))
            self._chapters.update(dict.fromkeys(missing))
            self._chapters.update({row[0]: _unpack_chapter(row[0], row[1:]) for row in found})
        known = [(text, self._chapters[text.generation]) for text in texts]
        self._reader.preload(
            {
                (chapter.source, text.number // SEGMENT)
                for text, chapter in known
                if chapter is not None and not text.length
            }
        )
        places = set()
        for text in texts:
            line = (text.offset,) if text.length else self.find_line(text.generation, text.number)
            if line is not None:
                places.add((text.generation, line[0]))
        if self._lines is not None:
            self._lines.preload(places)

    def use_chapters(self, known: KnownChapters) -> None:
        """Look up no file that is among these, and add the others."""
        self._chapters, self._all = known.each, known.all

    def find_chapter(self, generation: int) -> Chapter | None:
        """Return the file that a generation is of; None if it is somebody else's."""
        if generation not in self._chapters:
            rows = self._connection.execute(_CHAPTER + _ONE, (self._scope.owner, generation))
            self._chapters[generation] = next((_unpack_chapter(row[0], row[1:]) for row in rows), None)
        return self._chapters[generation]

    def load_chapters(self) -> Mapping[int, Chapter]:
        """Return all files by the numbers of their generations, for a query that asks for each where it is."""
        if not self._all:
            machines = {pack_text(origin): self._name_machine(origin) for origin in self._machines}
            for number, *row in self._connection.execute(_CHAPTER, (self._scope.owner,)):
                self._all[number] = _unpack_chapter(number, row, machines.get(row[_ORIGIN]))
            self._chapters.update(self._all)
        return self._all

    def find_line(self, generation: int, number: int) -> tuple[int, int, bool] | None:
        """Return where a line begins, how long it is, and whether it calls itself a sidechain's."""
        chapter = self.find_chapter(generation)
        if chapter is None:
            return None
        try:
            line = self._peek(chapter, number // SEGMENT).peek_line(number % SEGMENT)
        except LookupError:
            return None
        return line.offset, line.length, line.is_sidechain

    def _peek(self, chapter: Chapter, segment: int) -> Segment:
        if chapter.number in self._records:
            return self._records[chapter.number].load(segment)
        self._reader.sources[chapter.name] = chapter.source
        return self._reader.peek(chapter.name, segment)

    def find_message(self, chapter: Chapter, number: int) -> MessageRecord | None:
        """Return the message that a line belongs to."""
        records = self._find_records(chapter.number)
        at = records.peek_line(number).message
        return next(iter(records.list_at(() if at is None else (at,))), None)

    def find_call(self, chapter: Chapter, kind: str, number: int, block: int) -> CallRecord | None:
        """Return the call whose input or output a block is."""
        if kind not in _CALLS:
            return None
        own, spot = number // SEGMENT, (number, block)
        with suppress(LookupError):
            found = self._list_calls(chapter, kind, own).get(spot)
            if found is not None:
                return found
        # Else a call stands shortly before its result.
        heads = [head for head in self._find_records(chapter.number).heads if head.calls and head.number != own]
        for head in sorted(heads, key=lambda head: abs(head.number - own)):
            found = self._list_calls(chapter, kind, head.number).get(spot)
            if found is not None:
                return found
        return None

    def _list_calls(self, chapter: Chapter, kind: str, segment: int) -> Mapping[_Spot, CallRecord]:
        """Return the calls of a segment by where their inputs or outputs stand."""
        key = chapter.number, kind, segment
        if key not in self._calls:
            calls = self._peek(chapter, segment).calls[::-1]
            self._calls[key] = dict(zip(map(_CALLS[kind], calls), calls, strict=True))
        return self._calls[key]

    def list_agent_names(self, chapter: Chapter, agent_id: str | None) -> tuple[str, ...]:
        """Return the id and the type of an agent."""
        if agent_id is None:
            return ()
        if chapter.session not in self._agent_types:
            query = "SELECT CAST(data AS @@bytes) FROM outlines WHERE session = ? AND kind = ? ORDER BY number"
            rows = self._connection.execute(query, (chapter.session, AGENTS.name))
            agents = [agent for (data,) in rows for agent in AGENTS.unpack(data)]
            self._agent_types[chapter.session] = {agent.id: agent.type for agent in reversed(agents)}
        name = self._agent_types[chapter.session].get(agent_id)
        return (agent_id,) if name is None else (agent_id, name)

    def is_seen(self, proposal: Proposal) -> bool:
        """Tell whether a text may be seen; of a file the index was told before."""
        if proposal.generation != HOOKS or self._scope.viewer is None:
            return True
        query = "SELECT 1 FROM hook_deliveries WHERE id = ? AND owner = ?"
        return bool(self._connection.execute(query, (proposal.number, self._scope.owner)))

    def load_delivery(self, number: int) -> HookDelivery | None:
        """Return a hook delivery with its payload."""
        which = DeliveryFilter(ids=(number,), longest_context=0)
        return next(iter(list_deliveries(self._connection, self._scope, which)), None)

    def find_delivery(self, number: int) -> Delivery | None:
        """Return a hook delivery, and the session that it is of."""
        rows: list[Row] = self._connection.execute(_DELIVERY, (number, self._scope.owner))
        if not rows:
            return None
        delivery_id, session_id, tool, origin = map(unpack_text, rows[0][:4])
        person, _ = self._machines.get(origin, (None, ""))
        # What hooks tell on one person's machine is not of another's session.
        of_sessions = [cells[4:] for cells in rows if person in (None, cells[7])]
        key, project, title, whose = of_sessions[0] if of_sessions else (None, None, None, None)
        machine = self._name_machine(origin)
        return Delivery(
            delivery_id,
            session_id,
            tool,
            key,
            unpack_text(project),
            unpack_text(title),
            person or whose,
            machine,
        )

    @cached_property
    def _machines(self) -> dict[str, tuple[str | None, str]]:
        """All machines that may be known: whose they are, and what they call themselves."""
        rows = self._connection.execute(_MACHINES, (self._scope.owner,))
        return {unpack_text(origin): (person, unpack_text(host)) for origin, person, host in rows}

    def _name_machine(self, origin: str) -> tuple[str, ...]:
        _, host = self._machines.get(origin, (None, ""))
        return (origin, host) if host else (origin,)

    def _find_records(self, generation: int) -> Records:
        """Return the records of a file; raises `KeyError` for one that is not there."""
        if generation not in self._records:
            chapter = self.find_chapter(generation)
            if chapter is None:
                raise KeyError(generation)
            self._reader.sources[chapter.name] = chapter.source
            facts = ChapterFacts(source=chapter.name, generation=chapter.generation, is_main=False)
            self._records[generation] = Records(facts, self._reader)
        return self._records[generation]


def _unpack_chapter(number: int, cells: Sequence[Any], machine: tuple[str, ...] | None = None) -> Chapter:
    (
        generation, source, name, agent_id, session, key, file_id, own_id, project, title, branches, origin,
        person,
    ) = cells  # fmt: skip
    file_id, own_id = unpack_text(file_id), unpack_text(own_id)
    names = [file_id, own_id, key]
    return Chapter(
        number,
        generation,
        source,
        name,
        unpack_text(agent_id),
        session,
        key,
        tuple(dict.fromkeys(each for each in names if each is not None)),
        own_id or file_id,
        unpack_text(project),
        unpack_text(title),
        None if branches is None else json.decode(branches, type=tuple[str, ...]),
        person,
        machine or (unpack_text(origin),),
    )

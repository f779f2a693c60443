"""Where a text stands, as filters ask for it and hits name it; what filters leave out is left out early.

An engine looks up the rows (`TextRows`); what they mean is the same for every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Any

from msgspec import UNSET, json
from msgspec.structs import replace

from turnlog.store.catalogue.database import INDEXED, Connection, Row, unpack_text
from turnlog.store.catalogue.hooks import list_deliveries
from turnlog.store.catalogue.segments import SegmentCache, SourceReader, load_segment
from turnlog.store.model import Place, Scope
from turnlog.store.search.index import HOOKS, Chapter, Delivery, Proposal, TextRows
from turnlog.store.search.language import And, Filter, Node, Not, Or
from turnlog.store.search.matcher import Matcher, Setting
from turnlog.store.search.paging import NO_SNIPPET, Candidate, Hit
from turnlog.store.search.texts import KINDS
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery
from turnlog.transcripts.queries.chapters import Chapter as Records
from turnlog.transcripts.queries.chapters import ChapterFacts
from turnlog.transcripts.segments import AGENTS, SEGMENT, CallRecord, LineRecord, MessageRecord, Segment

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
_Found = tuple[Hit, Setting] | None


class TextContext:
    """Tells where texts stand, for one query."""

    def __init__(self, rows: TextRows, matcher: Matcher) -> None:
        self._rows = rows
        self._matcher = matcher
        names = {each.name for each in _list_filters(matcher.query.root)}
        self._asks_more = not names.isdisjoint(_LOOKED_UP)
        self._asks_calls = not names.isdisjoint(_OF_CALLS)
        self._asks_branch = "branch" in names
        asked = [field for name, field in _OF_SESSIONS.items() if name in names]
        self._tell: Callable[[Chapter], object] = attrgetter(*asked) if asked else lambda chapter: None
        self.asks_sessions = bool(asked)
        """Whether filters ask for what texts have from their sessions."""
        if self.asks_sessions:
            rows.load_chapters()
        self.limits = _find_limits(matcher.query.root)
        """From when on, and before when, all hits are."""
        self._kept: dict[int, bool] = {}
        self._judged: dict[object, bool] = {}
        """What came of files that filters cannot tell apart: most are of a few projects."""

    def list_states(self) -> list[int]:
        """Return the kinds of texts that may match, times two, and one more for errors."""
        found = []
        for number, kind in enumerate(KINDS):
            call = UNSET if kind in _TOOLS or kind == _HOOK else None
            for is_error in (False, True):
                if not self._is_out(Setting(kind=kind, is_error=is_error, tool=call, file=call)):
                    found.append(number * 2 + is_error)
        return found

    def may_have_hits(self, generation: int, oldest: int, newest: int) -> bool:
        """Tell whether texts of a file, of such times, may be hits, as far as session and times tell."""
        since, until = self.limits
        if newest < since or (until is not None and oldest >= until):
            return False
        known = self._kept.get(generation)
        if known is None:
            known = self._kept[generation] = self._judge_generation(generation)
        return known

    def build(self, proposal: Proposal) -> Candidate | None:
        """Return a text with where it stands; None if filters leave it out."""
        kind = KINDS[proposal.kind]
        setting = Setting(kind=kind, is_error=proposal.is_error, time=proposal.time or None)
        if self._is_out(setting):
            return None
        candidate = Candidate(
            proposal.key, kind, proposal.ordinal, proposal.block, setting, self._complete(proposal)
        )
        if proposal.generation == HOOKS:
            delivery = self._rows.load_delivery(proposal.number)
            return None if delivery is None else replace(candidate, delivery=delivery)
        chapter = self._rows.find_chapter(proposal.generation)
        if chapter is None or (self._asks_calls and self._is_call_out(chapter, proposal, setting)):
            return None
        line = self._rows.find_line(proposal.generation, proposal.number)
        if line is None:
            return None
        place = Place(chapter.name, chapter.generation, line[0])
        candidate = replace(candidate, place=place, length=line[1])
        if not self._asks_more:
            return candidate
        # Looking it up is cheaper than reading the text.
        completed = candidate.complete(candidate)
        if completed is None or self._is_out(completed[1]):
            return None
        return replace(candidate, setting=completed[1], complete=lambda _: completed)

    def _is_out(self, setting: Setting) -> bool:
        return self._matcher.matches_setting(setting) is False

    def _is_call_out(self, chapter: Chapter, proposal: Proposal, setting: Setting) -> bool:
        call = self._rows.find_call(chapter, KINDS[proposal.kind], proposal.number, proposal.block)
        tool, path = (None, None) if call is None else (call.name, call.path)
        return self._is_out(replace(setting, tool=tool, file=path))

    def _judge_generation(self, generation: int) -> bool:
        if generation == HOOKS:
            return not self._is_out(Setting(kind=_HOOK))
        chapter = self._rows.find_chapter(generation)
        if chapter is None:
            return False
        told = self._tell(chapter)
        if told not in self._judged:
            self._judged[told] = self._judge_chapter(chapter)
        return self._judged[told]

    def _judge_chapter(self, chapter: Chapter) -> bool:
        setting = Setting(
            project=chapter.project,
            session_ids=chapter.names,
            person=chapter.person,
            machine=chapter.machine,
        )
        if chapter.branches is None or not self._asks_branch:
            return not self._is_out(setting)
        branches = (None, _NO_BRANCH, *chapter.branches)
        return not all(self._is_out(replace(setting, branch=branch)) for branch in branches)

    def _complete(self, proposal: Proposal) -> Callable[[Candidate], _Found]:
        build = self._build_hook if proposal.generation == HOOKS else self._build
        return lambda candidate: build(proposal, candidate)

    def _build(self, proposal: Proposal, candidate: Candidate) -> _Found:
        rows, kind, place = self._rows, candidate.kind, candidate.place
        chapter = rows.find_chapter(proposal.generation)
        if chapter is None or place is None:
            return None
        call = rows.find_call(chapter, kind, proposal.number, proposal.block)
        tool, path, category = (None, None, None) if call is None else (call.name, call.path, call.category)
        message = rows.find_message(chapter, proposal.number)
        is_sidechain, role, model = False, None, None
        agent_id = chapter.agent_id
        if message is not None:
            is_sidechain, role, model = message.is_sidechain, message.role, message.model
            category, agent_id = message.category or category, message.agent_id or agent_id
        elif (line := rows.find_line(proposal.generation, proposal.number)) is not None:
            is_sidechain = line[2]
        setting = replace(
            candidate.setting,
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
            place=place,
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
        return hit, setting

    def _build_hook(self, proposal: Proposal, candidate: Candidate) -> _Found:
        found = self._rows.find_delivery(proposal.number)
        if found is None:
            return None
        setting = replace(
            candidate.setting,
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
            kind=candidate.kind,
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
        return hit, setting


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
_ALL = -1
"""The number of no generation: all are there."""
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
    "tool-input": lambda call: (call.line, call.block),
    "tool-output": lambda call: (call.result_line, call.result_block),
}
"""Where the texts of calls stand."""


class CatalogueTextRows:
    """Looks up what is around texts of one owner; what it has learned it keeps."""

    def __init__(
        self,
        connection: Connection,
        scope: Scope,
        segments: SegmentCache,
    ) -> None:
        """Begin with nothing looked up."""
        self._connection = connection
        self._scope = scope
        self._reader = SourceReader(connection, segments)
        self._chapters: dict[int, Chapter | None] = {}
        self._records: dict[int, Records] = {}
        self._peeked: dict[int, tuple[int, Segment]] = {}
        """Of each file the segment of lines that was looked at last."""
        self.numbers: dict[tuple[str, int], int] = {}
        """Of generations of files whose lines were found."""
        self._calls: dict[tuple[int, str, int], dict[_Spot, CallRecord]] = {}
        self._agent_types: dict[int, dict[str, str | None]] = {}

    def use_chapters(self, chapters: dict[int, Chapter | None]) -> None:
        """Look up no file that is among these, by the numbers of their generations, and add the others."""
        self._chapters = chapters

    def find_chapter(self, generation: int) -> Chapter | None:
        """Return the file that a generation is of; None if it is somebody else's."""
        if generation not in self._chapters:
            rows = self._connection.execute(_CHAPTER + _ONE, (self._scope.owner, generation))
            self._chapters[generation] = next((_unpack_chapter(row[0], row[1:]) for row in rows), None)
        return self._chapters[generation]

    def load_chapters(self) -> None:
        """Look up all files at once, for a query that asks for each where it is."""
        if _ALL not in self._chapters:
            for number, *row in self._connection.execute(_CHAPTER, (self._scope.owner,)):
                chapter = _unpack_chapter(number, tuple(row))
                self._chapters[number] = replace(chapter, machine=self._name_machine(*chapter.machine))
            self._chapters[_ALL] = None

    def find_line(self, generation: int, number: int) -> tuple[int, int, bool] | None:
        """Return where a line begins, how long it is, and whether it calls itself a sidechain's."""
        chapter = self.find_chapter(generation)
        if chapter is None:
            return None
        self.numbers[chapter.name, chapter.generation] = generation
        try:
            line = self._peek_line(chapter, number)
        except LookupError:
            return None
        return line.offset, line.length, line.is_sidechain

    def _peek_line(self, chapter: Chapter, number: int) -> LineRecord:
        if chapter.number in self._records:
            return self._records[chapter.number].peek_line(number)
        wanted, known = number // SEGMENT, self._peeked.get(chapter.number)
        if known is None or known[0] != wanted:
            # By its number alone: to learn which segments there are would be another statement for each file.
            known = wanted, load_segment(self._connection, chapter.source, wanted)
            self._peeked[chapter.number] = known
        return known[1].peek_line(number % SEGMENT)

    def find_message(self, chapter: Chapter, number: int) -> MessageRecord | None:
        """Return the message that a line belongs to."""
        records = self._find_records(chapter.number)
        at = records.get_line(number).message
        return next(iter(records.list_at(() if at is None else (at,))), None)

    def find_call(self, chapter: Chapter, kind: str, number: int, block: int) -> CallRecord | None:
        """Return the call whose input or output a block is."""
        if kind not in _CALLS:
            return None
        records, own = self._find_records(chapter.number), number // SEGMENT
        # Mostly a call stands in the segment of its line, or shortly before its result.
        for head in sorted(records.heads, key=lambda head: abs(head.number - own)):
            found = (
                self._list_calls(chapter.number, kind, head.number).get((number, block)) if head.calls else None
            )
            if found is not None:
                return found
        return None

    def _list_calls(self, generation: int, kind: str, segment: int) -> Mapping[_Spot, CallRecord]:
        """Return the calls of a segment by where their inputs or outputs stand."""
        key = generation, kind, segment
        if key not in self._calls:
            calls = self._find_records(generation).load(segment).calls
            self._calls[key] = {_CALLS[kind](call): call for call in reversed(calls)}
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


def _unpack_chapter(number: int, cells: tuple[Any, ...]) -> Chapter:
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
        (unpack_text(origin),),
    )

"""The rows around texts, looked up for many texts at once: each question takes a while, however little it asks.

What is asked for first are files and sessions, with the conditions of what may be seen. All else is asked of
sessions that were found so, each as it is in the revision that was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from turnlog.store.clickhouse.layouts import Span
from turnlog.store.clickhouse.reading import Reading, see_sessions
from turnlog.store.clickhouse.search_deliveries import DeliveryRows
from turnlog.store.clickhouse.search_derived import INPUT, OUTPUT, DerivedLookup, SeenSessions, spell_places
from turnlog.store.clickhouse.search_frames import FrameReader, Stretch
from turnlog.store.clickhouse.search_walk import Proposal, name_generation
from turnlog.store.clickhouse.texts import FILES, clip_file
from turnlog.store.control.interface import Control
from turnlog.store.packing import unpack_text
from turnlog.store.search.packing import KINDS
from turnlog.store.search.text_rows import HOOKS, Call, Chapter, Delivery, Message

__all__ = ["ClickHouseTextRows"]

_IN_THESE = f"session IN {{sessions:Array(UInt128)}} AND bitAnd(source, {FILES}) IN {{files:Array(Int64)}}"
_CHAPTERS = f"""
SELECT e.id, s.born, e.revision, g.write, s.source, s.generation, s.name, s.agent_id, e.key, e.session_id,
    e.told_id, e.project, e.title, e.person, e.origin
FROM (SELECT * FROM sources FINAL WHERE {_IN_THESE}) AS s
JOIN (SELECT session, source, generation, write FROM generations FINAL WHERE {_IN_THESE}) AS g
    ON g.session = s.session AND g.source = s.source AND g.generation = s.generation
JOIN (
    SELECT id, key, session_id, told_id, project, title, person, origin, revision FROM sessions FINAL
    WHERE owner = {{owner:String}} AND id IN {{sessions:Array(UInt128)}}
) AS e ON e.id = s.session
"""
_LINES = """
SELECT source, generation, number, write, start, length, sidechain FROM lines
WHERE born IN {{days:Array(Date)}} AND (session, source, generation, number) IN ({spots})
"""
_WRITE = 3
"""Where the write is in such a row."""
_FEW = 24
"""For how many texts derived rows are looked up at least: a page of hits mostly."""
_HOSTS = "SELECT origin, host FROM @machines WHERE owner = ?"
_Spot = tuple[int, int]
"""A generation and the number of a line."""
_Own = Sequence[tuple[Proposal, Chapter]]
"""Texts of files that may be seen."""


class _File(Struct, frozen=True, gc=False):
    """A file that may be seen, as it was found."""

    chapter: Chapter
    write: int
    """The last one of it that is published."""


class ClickHouseTextRows:
    """Looks up rows that a scope sees; what it has learned it keeps."""

    def __init__(self, reading: Reading, control: Control, frames: FrameReader) -> None:
        self._reading = reading
        self._control = control
        self._frames = frames
        self._hosts: Mapping[str, str] = {}
        self._files: dict[int, _File | None] = {}
        self._seen = SeenSessions(reading.engine)
        self._lines: dict[_Spot, tuple[int, int, bool]] = {}
        self._own: _Own = ()
        """Those that are prepared."""
        self._places: dict[tuple[int, int], int] = {}
        """The first of a line among them, by generation and where the line begins."""
        self._called = set[tuple[int, int]]()
        """The lines of which something is the input or the output of a call."""
        self._derived = DerivedLookup(self._seen)
        self._derived_from = self._derived_to = 0
        """Of which of them derived rows are looked up."""
        self._few = _FEW
        self._deliveries = DeliveryRows(reading, control)

    def list_counting(self, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Return those of some texts that count, each once: of files and deliveries that may be seen.

        Of a file, the texts of its newest generation count, by writes that are published. What is told anew is
        there twice for a moment: then the newest counts.
        """
        self._load_files([each for each in proposals if each.generation not in self._files])
        hooks = [each for each in proposals if each.generation == HOOKS]
        self._deliveries.load((each.text.number, each.text.time) for each in hooks)
        found: list[Proposal] = []
        for each in proposals:
            if (not found or found[-1].key != each.key) and self._counts(each):
                found.append(each)
        return found

    def _counts(self, proposal: Proposal) -> bool:
        if proposal.generation == HOOKS:
            return self._deliveries.find_payload(proposal.text.number) is not None
        file = self._files[proposal.generation]
        return file is not None and proposal.write <= file.write

    def prepare(self, proposals: Sequence[Proposal]) -> None:
        """Look up where the lines of some texts are; derived rows are looked up when the first is asked for."""
        own = [
            (each, file.chapter)
            for each in proposals
            if each.generation != HOOKS and (file := self._files.get(each.generation)) is not None
        ]
        self._load_lines(own)
        # If all of those before were asked for, all of these will be.
        self._few = _FEW if self._derived_to < max(1, len(self._own)) else max(_FEW, len(own))
        self._own, self._derived_from, self._derived_to = own, 0, 0
        self._places, self._called = {}, set()
        for place, (each, _) in enumerate(own):
            line = self._lines.get((each.generation, each.text.number))
            if line is not None:
                self._places.setdefault((each.generation, line[0]), place)
                if KINDS[each.text.kind] in (INPUT, OUTPUT):
                    self._called.add((each.generation, line[0]))

    def _derive(self, chapter: Chapter, start: int) -> None:
        """Look up messages, calls and agents for a line and some behind it, if that was not done yet.

        Most texts that are proposed for a phrase are no hits, and nobody asks for theirs.
        """
        place = self._places.get((_name(chapter), start))
        if place is None or self._derived_from <= place < self._derived_to:
            return
        # Where all are asked for one behind the other, they are looked up more and more at once.
        ahead = 0 if place > self._derived_to else 2 * (self._derived_to - self._derived_from)
        self._derived_from, self._derived_to = place, place + max(self._few, ahead)
        own = self._own[self._derived_from : self._derived_to]
        lines = [(chapter, each.text.number) for each, chapter in own]
        self._derived.load_messages(lines)
        self._derived.load_agents(lines)
        starts = [
            (chapter, line[0])
            for each, chapter in own
            if (line := self._lines.get((each.generation, each.text.number))) is not None
        ]
        self._derived.load_calls([each for each in starts if (_name(each[0]), each[1]) in self._called])

    def prepare_bytes(self, proposals: Iterable[Proposal]) -> None:
        """Fetch the bytes of the lines of some texts."""
        spots = {(proposal.generation, proposal.text.number) for proposal in proposals} & self._lines.keys()
        stretches = []
        for spot in sorted(spots):
            chapter, (start, length, _) = self.find_chapter(spot[0]), self._lines[spot]
            assert chapter is not None, "lines are of files that may be seen"
            span = Span(chapter.source, chapter.generation, start, start + length)
            stretches.append(Stretch((chapter.name, chapter.generation), chapter.session, span))
        self._frames.prepare(stretches)

    def find_chapter(self, generation: int) -> Chapter | None:
        """Return the file that a generation is of; None if it may not be seen, or is not as it was."""
        file = self._files.get(generation)
        return None if file is None else file.chapter

    def load_chapters(self) -> None:
        """Have files told with what their machines call themselves.

        Which of them may have hits is asked of the engine (`search_sessions`), so nobody looks up all of them.
        """
        self._hosts = self.find_hosts()

    def find_hosts(self) -> Mapping[str, str]:
        """Return what machines call themselves, by origin."""
        owner = self._reading.scope.owner
        found = self._control.read(lambda execute: execute(_HOSTS, (owner,)))
        return {unpack_text(bytes(origin)): unpack_text(bytes(host)) for origin, host in found}

    def find_line(self, generation: int, number: int) -> tuple[int, int, bool] | None:
        """Return where a line begins, how long it is, and whether it calls itself a sidechain's."""
        return self._lines.get((generation, number))

    def find_message(self, chapter: Chapter, number: int) -> Message | None:
        """Return the message that a line belongs to."""
        line = self._lines.get((_name(chapter), number))
        if line is not None:
            self._derive(chapter, line[0])
        return self._derived.find_message(chapter, number)

    def find_call(
        self, chapter: Chapter, kind: str, start: int, block: int, *, all_at_once: bool
    ) -> Call | None:
        """Return the call whose input or output a block is."""
        self._derive(chapter, start)
        return self._derived.find_call(chapter, kind, start, block)

    def list_agent_names(self, chapter: Chapter, agent_id: str | None) -> tuple[str, ...]:
        """Return the id and the type of an agent."""
        if agent_id is None:
            return ()
        name = self._derived.find_agent_type(chapter, agent_id)
        return (agent_id,) if name is None else (agent_id, name)

    def find_payload(self, number: int) -> bytes | None:
        """Return what a hook was given."""
        return self._deliveries.find_payload(number)

    def find_delivery(self, number: int) -> Delivery | None:
        """Return a hook delivery."""
        return self._deliveries.find(number)

    def _load_files(self, proposals: Iterable[Proposal]) -> None:
        missing = [each for each in proposals if each.generation != HOOKS]
        if not missing:
            return
        self._files.update(dict.fromkeys(each.generation for each in missing))
        reading = self._reading
        values = {
            "owner": reading.scope.owner,
            "sessions": sorted({each.session for each in missing}),
            "files": sorted({each.key[1] for each in missing}),
        }
        filters = {"sessions": see_sessions(reading.scope, reading.retention_days)}
        for session, born, revision, write, *cells in reading.engine.query(_CHAPTERS, values, filters):
            chapter = _build_chapter(session, cells, self._hosts)
            self._seen.add(session, born, revision)
            self._files[_name(chapter)] = _File(chapter, write)

    def _load_lines(self, own: _Own) -> None:
        wanted = {
            (chapter.session, chapter.source, chapter.generation, each.text.number)
            for each, chapter in own
            if (each.generation, each.text.number) not in self._lines
        }
        if not wanted:
            return
        statement = _LINES.format(spots=spell_places(sorted(wanted)))
        rows = self._seen.ask(statement, (session for session, *_ in wanted), {})
        # What was written anew is there twice: the newest counts.
        for source, generation, number, _, *line in sorted(rows, key=lambda row: row[_WRITE]):
            self._lines[name_generation(clip_file(source), generation), number] = tuple(line)


def _name(chapter: Chapter) -> int:
    return name_generation(clip_file(chapter.source), chapter.generation)


def _build_chapter(session: int, cells: Sequence[Any], hosts: Mapping[str, str]) -> Chapter:
    source, generation, name, agent, key, file_id, told_id, project, title, person, origin = cells
    names = [unpack_text(each) for each in (file_id, told_id, key) if each is not None]
    machine = unpack_text(origin)
    host = hosts.get(machine)
    return Chapter(
        generation,
        source,
        unpack_text(name),
        unpack_text(agent),
        session,
        unpack_text(key),
        tuple(dict.fromkeys(names)),
        unpack_text(told_id) or unpack_text(file_id),
        unpack_text(project),
        unpack_text(title),
        None,
        unpack_text(person),
        (machine, host) if host else (machine,),
    )

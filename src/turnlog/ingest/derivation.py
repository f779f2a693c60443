"""From a session, put together from all of its files, to the records that are kept of it.

They follow from the lines alone: whatever the pieces in which they came, and whether they come from files or
from the archive, the same lines give equal records: a row of the lists, turns, and what each chapter holds.
Each file of lines is a chapter, the transcript first and then those of agents; what a forked agent has from its
parent stands in its file and is kept with it. When the rules change, `DERIVATION` is raised, and the next sync
derives all sessions again from the archive.

A session that grows while somebody follows it is derived on: by the same rules, but only what is new.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turnlog.ingest.contents import Content
from turnlog.messages import Line, Position, Unknown, View
from turnlog.store.batch import ChapterBatch, Derived, Generated, OutlineBatch
from turnlog.store.model import SessionHead, SessionRow, SourceKind
from turnlog.transcripts import segment_builder
from turnlog.transcripts.agents import Agent, AgentSource, LineProblem, Sources, WorkflowSource
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.conversation.messages import Message
from turnlog.transcripts.conversation.timeline import Growth
from turnlog.transcripts.conversation.turns import AgentWork, TurnShare, TurnTally, find_last_time
from turnlog.transcripts.line_reader import decode_agent_meta, decode_workflow_record
from turnlog.transcripts.segments import AGENTS, PART, TURNS, AgentRecord, SightingRecord, TurnRecord
from turnlog.transcripts.session import Session, SessionGrowth
from turnlog.transcripts.session_files import AgentFiles, pair_agents
from turnlog.transcripts.summary import Summary, type_name
from turnlog.transcripts.usage.sightings import UsageFold
from turnlog.transcripts.usage.tokens import Sighting

_encode = msgspec.json.Encoder().encode
_LONGEST_PROMPT = 1000
"""Characters; lists show fewer."""


def build_session(session: Session, head: SessionHead | None) -> SessionRow:
    """Return the row of a session in the lists."""
    summary = session.summary
    counts, tokens = summary.counts, summary.totals.tokens
    return SessionRow(
        session_id=summary.id,
        title=None if summary.title is None else summary.title.text,
        project=summary.project,
        first_time=segment_builder.microseconds(summary.first_time),
        last_time=segment_builder.microseconds(summary.last_time),
        prompts=counts.prompts,
        answers=counts.answers,
        calls=counts.calls,
        agents=len(session.agents),
        lines=counts.lines,
        problems=session.count_problems(),
        input_tokens=segment_builder.bounded(tokens.prompt),
        output_tokens=segment_builder.bounded(tokens.output),
        cost=None if _is_unpriced(summary) else segment_builder.money(summary.cost or Decimal(0)),
        summary=_encode_summary(summary),
        messages=len(session.conversation.live_messages),
        errors=counts.failed_calls + counts.api_errors,
        models=summary.models,
        branches=summary.branches,
        series=summary.series,
        first_prompt=None if summary.first_prompt is None else summary.first_prompt[:_LONGEST_PROMPT],
        forked_from=summary.forked_from,
        is_floor=bool(summary.totals.incomplete) or any(each.cost is None for each in summary.model_totals),
        is_estimate=bool(summary.unpriced_terms),
        head=head,
    )


def _encode_summary(summary: Summary) -> bytes:
    try:
        return _encode(summary)
    except UnicodeEncodeError:  # a project that is known by its folder alone, whose name is no UTF-8
        project = os.fsencode(summary.project or "").decode("utf-8", "replace")
        return _encode(replace(summary, project=project))


def _is_unpriced(summary: Summary) -> bool:
    """Tell whether something was used, and nothing of it has a price."""
    return bool(summary.model_totals) and all(each.cost is None for each in summary.model_totals)


_MOST = 4
"""How many turns are held open: what comes belongs to the last, as a rule."""


class TurnBuilder:
    """All turns of a session, each with what it amounts to."""

    def __init__(self, session: Session, list_changed: Callable[[int], tuple[str, ...]]) -> None:
        """Take a session; `list_changed` returns the files that a message's calls changed."""
        self.records: list[TurnRecord] = []
        self._session = session
        self._list_changed = list_changed
        self._open: dict[int, TurnTally] = {}

    def build(self) -> Iterator[TurnRecord]:
        """Yield all turns, which are kept nowhere else."""
        for number in range(len(self._session.turn_builder.turns)):
            self._update(number, 0, (), ())
            yield self.records.pop()

    def update_all(self) -> None:
        """Build all turns."""
        self.update(range(len(self._session.turn_builder.turns)), 0, (), ())

    def update(
        self, turns: Iterable[int], message: int, touched: Sequence[int], answers: Iterable[str]
    ) -> None:
        """Build the turns that have changed.

        Messages from `message` on are new, or in other turns; before it some were `touched`; and `answers` used
        something else than before.
        """
        turn_builder = self._session.turn_builder
        for number in [number for number in self._open if number >= len(turn_builder.turns)]:
            del self._open[number]
        del self.records[len(turn_builder.turns) :]
        for number in sorted(turns):
            self._update(number, message, touched, answers)

    def _update(self, number: int, message: int, touched: Sequence[int], answers: Iterable[str]) -> None:
        turn_builder = self._session.turn_builder
        members = turn_builder.turns[number]
        tally = self._open.pop(number, None) or self._begin()
        left = tally.shorten(message)
        for own in touched:
            if own < message and left and turn_builder.turn_of[own] == number:
                tally.put(own, self._share(own))
        tally.refresh(answers)
        tally.extend(members[left:], self._share)
        self._open[number] = tally
        if len(self._open) > _MOST:
            del self._open[next(iter(self._open))]
        self.records[number : number + 1] = (self._build(number, tally),)

    def _begin(self) -> TurnTally:
        return TurnTally(self._session.prices.open_ledger(), self._session.book.find)

    def _share(self, number: int) -> TurnShare:
        message = self._session.conversation.live_messages[number]
        work = self._session.work.get(number)
        answers = () if message.message_id is None else (message.message_id,)
        return TurnShare(
            time=find_last_time(message),
            calls=len(message.calls),
            changed=self._list_changed(number) if message.calls else (),
            answers=answers if work is None else tuple(dict.fromkeys((*answers, *work.messages))),
            agents=() if work is None else tuple(dict.fromkeys(work.agents)),
        )

    def _build(self, number: int, tally: TurnTally) -> TurnRecord:
        turn_builder = self._session.turn_builder
        members = turn_builder.turns[number]
        return segment_builder.build_turn(
            number,
            self._session.conversation.live_messages[members[0]],
            members[-1],
            messages=tally.messages,
            calls=tally.calls,
            agents=tally.agents,
            files_changed=tally.files_changed,
            ended=tally.ended,
            told=turn_builder.durations.get(number),
            bill=tally.bill,
        )


BEGINNING = 64
"""How many lines are the beginning of a transcript: copies are recognised by them."""


class Chapter(Struct, frozen=True, gc=False):
    """The conversation in a sub-agent's own file."""

    source: str
    conversation: Conversation
    agent: AgentSource


def derive(
    session: Session,
    transcript: str | None,
    chapters: Sequence[Chapter],
    others: Mapping[str, Sequence[Line]],
    emptied: Iterable[str] = (),
    *,
    is_final: bool = False,
) -> Derived:
    """Return all records of a session whose lines know their source by its id.

    `transcript` is the source of its main lines, None if it has none; `chapters` are its agents' files,
    `others` the lines of files that are no conversations, and `emptied` are files that had records and have
    none any more. A session that `is_final` takes less memory, and is of no use then.
    """
    return Deriver(session, transcript, chapters, is_final=is_final).build(others, emptied)


class Deriver:
    """The records of a session, kept up as it grows."""

    def __init__(
        self,
        session: Session,
        transcript: str | None,
        chapters: Sequence[Chapter],
        *,
        is_final: bool = False,
    ) -> None:
        """Take a session as `derive` does; one that `is_final` cannot be extended, and takes less memory."""
        self._is_final = is_final
        if is_final:
            session.finish()
            for chapter in chapters:
                chapter.conversation.finish()
        self._session = session
        self._transcript = transcript
        self._chapters = {chapter.source: chapter for chapter in chapters}
        self._builders: dict[str, segment_builder.SegmentBuilder] = {}
        if transcript is not None:
            self._builders[transcript] = self._begin(transcript)
        self._builders |= {source: self._begin(source) for source in self._chapters}
        self._turns = self._begin_turns()
        self._agents = self._build_agents()
        self._homes: _AnswerHomes | None = None

    def build(self, others: Mapping[str, Sequence[Line]], emptied: Iterable[str] = ()) -> Derived:
        """Return all records; `emptied` are files that had some and have none any more."""
        usage, outline = self._session.usage, self._cut_outline(None, None)
        if self._is_final:
            self._session.turn_builder.turns.clear()
        chapters = {
            name: tuple(builder.build(is_final=self._is_final)) for name, builder in self._builders.items()
        }
        chapters |= {name: tuple(segment_builder.pack_lines(lines)) for name, lines in others.items()}
        return Derived(
            session=build_session(self._session, self._find_head()),
            outline=outline,
            chapters=(
                *(ChapterBatch(name, len(segments), segments) for name, segments in chapters.items()),
                *(ChapterBatch(name, 0) for name in dict.fromkeys(emptied) if name not in chapters),
            ),
            usage=Generated(partial(_list_usage, usage)) if self._is_final else tuple(_list_usage(usage)),
        )

    def extend(self, new: Mapping[str, Sequence[Line]]) -> Derived:
        """Take further lines of chapters that there are, and return the records that are new or may differ."""
        session, transcript = self._session, self._transcript or ""
        homes = self._homes = self._homes or _AnswerHomes(session.conversation.live_messages)
        former = session.work
        grown = {
            name: self._chapters[name].conversation.extend(new[name]) for name in self._chapters if name in new
        }
        others = [line for name in grown for line in new[name]]
        growth = session.extend(new.get(transcript, ()), self._replace_sources(grown), others)
        homes.extend(session.conversation.live_messages, growth.main.message)
        if transcript in new:
            grown[transcript] = growth.main
        chapters = tuple(self._extend_chapter(name, each, growth) for name, each in grown.items())
        before, self._agents = self._agents, self._build_agents() if growth.agents else self._agents
        turns = agents = None
        if growth.main.message or transcript not in new:
            known = len(self._turns.records)
            turns = _add_shortened(self._extend_turns(growth, former), known, len(self._turns.records))
            agents = [row.index for row in self._agents if row not in before[row.index : row.index + 1]]
            agents = _add_shortened(agents, len(before), len(self._agents))
        else:
            self._turns = self._begin_turns()
        return Derived(
            session=build_session(session, self._find_head()),
            outline=self._cut_outline(turns, agents),
            chapters=chapters,
            usage=tuple(_list_usage(session.usage, growth.answers)),
            is_partial=True,
        )

    def _begin(self, source: str) -> segment_builder.SegmentBuilder:
        session = self._session
        chapter = self._chapters.get(source)
        return segment_builder.SegmentBuilder(
            session.conversation if chapter is None else chapter.conversation,
            agent_id=None if chapter is None else chapter.agent.agent_id,
            turn_of=session.turn_builder.turn_of if chapter is None else (),
            sightings=session.usage.list_seen_in(source),
        )

    def _find_head(self) -> SessionHead | None:
        """Return the first message of the transcript that another line follows."""
        seen: dict[object, Line] = {}
        for line in islice(self._session.conversation.live_lines, BEGINNING):
            parent = getattr(line.entry, "parent_uuid", None)
            head = seen.get(parent) if isinstance(parent, str) else None
            if head is not None and isinstance(parent, str):
                told = getattr(line.entry, "session_id", None)
                return SessionHead(
                    uuid=parent,
                    type=type_name(type(head.entry)),
                    time=segment_builder.time_of(head),
                    told_id=told if isinstance(told, str) else None,
                )
            seen.setdefault(getattr(line.entry, "uuid", None), line)
        return None

    def _cut_outline(
        self, turns: Iterable[int] | None, agents: Iterable[int] | None
    ) -> tuple[OutlineBatch, ...]:
        """Return turns and agents in parts: all, or those that have changed."""
        count = len(self._session.turn_builder.turns)
        parts = TURNS.cut_all(self._turns.build()) if self._is_final else TURNS.cut(self._turns.records, turns)
        return (
            OutlineBatch(TURNS.name, -(-count // PART), parts),
            OutlineBatch(AGENTS.name, -(-len(self._agents) // PART), AGENTS.cut(self._agents, agents)),
        )

    def _list_seen(self, source: str, names: Iterable[str]) -> dict[str, list[Sighting]]:
        seen = ((name, self._session.usage.list_seen(name)) for name in names)
        found = {name: [each for each in sightings if each.source == source] for name, sightings in seen}
        return {name: sightings for name, sightings in found.items() if sightings}

    def _extend_chapter(self, source: str, growth: Growth, session: SessionGrowth) -> ChapterBatch:
        builder = self._builders[source]
        if not growth.message:
            builder = self._builders[source] = self._begin(source)
            segments = tuple(builder.build())
        else:
            moved = session.divided.messages if source == self._transcript else ()
            segments = tuple(builder.extend(growth, moved, self._list_seen(source, session.answers)))
        return ChapterBatch(source, len(builder), segments)

    def _replace_sources(self, grown: Mapping[str, Growth]) -> Sources | None:
        """Return what lies beside the transcript, now that some chapters have grown; None if none has."""
        if not grown:
            return None
        sources = self._session.sources
        fresh: dict[int, AgentSource] = {}
        for name in grown:
            chapter = self._chapters[name]
            lines, calls = chapter.conversation.lines, chapter.conversation.calls
            agent = fresh[id(chapter.agent)] = replace(chapter.agent, lines=lines, calls=calls)
            self._chapters[name] = replace(chapter, agent=agent)
        return replace(sources, agents=tuple(fresh.get(id(agent), agent) for agent in sources.agents))

    def _begin_turns(self) -> TurnBuilder:
        main = self._builders.get(self._transcript or "")
        turns = TurnBuilder(self._session, lambda message: () if main is None else main.list_changed(message))
        if not self._is_final:
            turns.update_all()
        return turns

    def _extend_turns(self, growth: SessionGrowth, former: Mapping[int, AgentWork]) -> list[int]:
        session, main, divided = self._session, growth.main, growth.divided
        first = min((main.message, *divided.messages))
        work = session.work
        worked = {at for at in former.keys() | work.keys() if at < first and former.get(at) != work.get(at)}
        touched = {*main.touched, *worked}
        turn_builder = session.turn_builder
        turns = {*divided.turns, *range(divided.turn, len(turn_builder.turns))}
        concerned = {*touched, *self._find_homes(growth.answers)}
        turns |= {turn_builder.turn_of[at] for at in concerned if turn_builder.turn_of[at] >= 0}
        self._turns.update(turns, first, sorted(touched), growth.answers)
        return sorted(turns)

    def _find_homes(self, answers: frozenset[str]) -> set[int]:
        found = set() if self._homes is None else self._homes.find(answers)
        return found | {at for at, work in self._session.work.items() if not answers.isdisjoint(work.messages)}

    def _build_agents(self) -> list[AgentRecord]:
        files = {chapter.agent.path: chapter for chapter in self._chapters.values()}
        found: list[AgentRecord] = []
        for index, agent in enumerate(self._session.agents):
            own = None if agent.path is None else files.get(agent.path)
            is_elsewhere = own is not None and len(own.conversation.live_lines) == len(agent.lines)
            lines = () if is_elsewhere else self._session.conversation.list_numbers(agent.lines)
            source = None if own is None else own.source
            found.append(segment_builder.build_agent(index, agent, source, self._find_call(agent), lines))
        return found

    def _find_call(self, agent: Agent) -> tuple[str, int] | None:
        """Return the chapter that has the call which started an agent, and which of its calls it is."""
        at = None if agent.call is None else agent.call.place.line.at
        builder = None if at is None else self._builders.get(at.source)
        if at is None or builder is None or agent.call is None:
            return None
        position = builder.conversation.find_position(agent.call)
        return None if position is None else (at.source, position)


def _list_usage(usage: UsageFold, answers: Iterable[str] | None = None) -> Iterator[tuple[str, SightingRecord]]:
    """Yield what all files say about some answers, or about all."""
    for name in usage.list_names() if answers is None else answers:
        for seen in usage.list_seen(name):
            yield seen.source, segment_builder.build_sighting(seen)


def _add_shortened(changed: list[int], before: int, after: int) -> list[int]:
    """Add the last record to those that have changed, if there are fewer now: its part had more."""
    return [*changed, after - 1] if 0 < after < before else changed


class _AnswerHomes:
    """The messages of each answer, by their numbers: what it used is told to their turns.

    Some that had it once may be among them.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._homes: dict[str, int] = {}
        self._others: dict[str, set[int]] = {}
        self._count = 0
        self.extend(messages, 0)

    def extend(self, messages: Sequence[Message], first: int) -> None:
        """Take all messages from one on."""
        for message in messages[first:]:
            answer = message.message_id
            if answer is not None and self._homes.setdefault(answer, message.index) != message.index:
                self._others.setdefault(answer, set()).add(message.index)
        self._count = len(messages)

    def find(self, answers: Iterable[str]) -> set[int]:
        """Return all messages that may have any of some answers."""
        found: set[int] = set()
        for answer in answers:
            if answer in self._homes:
                found |= {self._homes[answer], *self._others.get(answer, ())}
        return {number for number in found if number < self._count}


T = TypeVar("T")
_AGENT_FILES = frozenset({SourceKind.AGENT, SourceKind.AGENT_META})
_RUN_FILES = frozenset({SourceKind.JOURNAL, SourceKind.WORKFLOW})


class Part(Struct, frozen=True, gc=False):
    """A file of a session, and what is in it."""

    path: str
    kind: SourceKind
    run_id: str | None
    content: Content


class Assembled(Struct, frozen=True):
    """A session with the conversations of its sub-agents' files."""

    session: Session
    transcript: str | None
    """The source of its main lines; None if it has none."""
    chapters: tuple[Chapter, ...]
    others: dict[str, list[Line]]
    """The lines of files that are no conversations, by source."""

    def derive(self, emptied: Iterable[str] = (), *, is_final: bool = False) -> Derived:
        """Return all records of it, as `derive` does."""
        return derive(self.session, self.transcript, self.chapters, self.others, emptied, is_final=is_final)


def assemble(parts: Iterable[Part], folder: str) -> Assembled:
    """Return the session that some files are; their order makes no difference.

    `folder` is the name of the project's folder.
    """
    ordered = sorted(parts, key=lambda part: Path(part.path))
    problems: list[LineProblem] = []
    chapters: list[Chapter] = []
    agents = tuple(_build_agent(files, chapters, problems) for files in _pair(ordered))
    runs = {run.run_id: run for run in ordered if run.run_id is not None and run.kind in _RUN_FILES}
    workflows = tuple(_build_workflow(run_id, ordered, problems) for run_id in sorted(runs))
    sources = Sources(agents, workflows, tuple(problems))
    main = next((part.content for part in ordered if part.kind is SourceKind.TRANSCRIPT), None)
    lines = [] if main is None else main.lines
    return Assembled(
        Session(lines, folder=folder, load=lambda: sources),
        None if main is None else main.source,
        tuple(chapters),
        {part.content.source: part.content.lines for part in ordered if part.kind is SourceKind.JOURNAL},
    )


def _pair(parts: list[Part]) -> Iterator[tuple[AgentFiles, Content | None, Content | None]]:
    """Yield each sub-agent with its lines and its metadata, in the order of paths."""
    contents = {Path(part.path): part.content for part in parts if part.kind in _AGENT_FILES}
    for files in pair_agents(list(contents)):
        yield files, contents.get(files.path or Path()), contents.get(files.meta or Path())


def _build_agent(
    found: tuple[AgentFiles, Content | None, Content | None],
    chapters: list[Chapter],
    problems: list[LineProblem],
) -> AgentSource:
    files, lines, meta = found
    conversation = Conversation(() if lines is None else lines.lines)
    agent = AgentSource(
        agent_id=files.agent_id,
        lines=conversation.lines,
        calls=conversation.calls,
        meta=None if meta is None else _value_of(meta, decode_agent_meta(meta.text), problems),
        run_id=files.run_id,
        path=files.path,
    )
    if lines is not None:
        chapters.append(Chapter(lines.source, conversation, agent))
    return agent


def _build_workflow(run_id: str, parts: list[Part], problems: list[LineProblem]) -> WorkflowSource:
    found = {part.kind: part.content for part in parts if part.run_id == run_id and part.kind in _RUN_FILES}
    journal, record = found.get(SourceKind.JOURNAL), found.get(SourceKind.WORKFLOW)
    return WorkflowSource(
        run_id,
        () if journal is None else tuple(journal.lines),
        None if record is None else _value_of(record, decode_workflow_record(record.text), problems),
    )


def _value_of(content: Content, seen: View[T], problems: list[LineProblem]) -> T | None:
    problems += (LineProblem(Position(content.source, 0), problem) for problem in seen.problems)
    return None if isinstance(seen.value, Unknown) else seen.value

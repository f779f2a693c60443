"""What was said in the transcript of a session or by one of its agents, read a few messages at a time.

Whoever writes a session out holds one window of messages: their records say which lines to read, and what is
told between messages (notes, compactions, agents under their calls) is found from records, too.

A record says which lines a message is made of, and which block answers a call. So nothing is paired, ordered
or placed here a second time: what stands in the lines is read where the record says that it stands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import astuple

from turnlog.messages import Line, Position, decode
from turnlog.messages.blocks import McpToolUseBlock
from turnlog.messages.codec import END, LONGEST, decode_long
from turnlog.messages.system import SystemNotice
from turnlog.transcripts.actions import REPORTED, report_of
from turnlog.transcripts.agents import FIRST_LINES, LineProblem, find_prompt, list_below
from turnlog.transcripts.calls import NOT_DONE, Call, Place, Result, TouchedFile, read_result
from turnlog.transcripts.conversation.lineage import measure_depths
from turnlog.transcripts.conversation.messages import (
    COMPACTED,
    Compaction,
    Lane,
    Message,
    Rule,
    build_compactions,
)
from turnlog.transcripts.conversation.timeline import PromptQueue
from turnlog.transcripts.conversation.tree import SPOKEN, Branch
from turnlog.transcripts.kinds import CallState, Category, MessageType, Role
from turnlog.transcripts.lines.content import is_call, is_known_tool, list_blocks, prompt_of
from turnlog.transcripts.lines.prompts import Prompt, read_prompt
from turnlog.transcripts.queries.chapters import Chapter, ChapterFacts, SegmentReader
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.segments import SEGMENT, AgentRecord, CallRecord, MessageRecord, TurnRecord
from turnlog.transcripts.summary import type_name
from turnlog.transcripts.usage.tokens import MessageUsage, SightingFold

UNSAID = frozenset({Rule.META, Rule.LONE_RESULT})
"""Messages in the user's place that are no prompts."""


class DecodedChapter(Chapter):
    """The records of a file whose lines are at hand, and the messages of which they are the records."""

    def __init__(
        self, facts: ChapterFacts, reader: SegmentReader, lines: Sequence[Line], messages: Sequence[Message]
    ) -> None:
        super().__init__(facts, reader)
        self.lines = lines
        self.messages = messages

    def read_raw(self, numbers: Iterable[int]) -> dict[int, bytes]:
        """Return lines as they stand, in order."""
        return {number: self.lines[number].raw for number in sorted(set(numbers))}


def decode_lines(chapter: Chapter, numbers: Iterable[int]) -> dict[int, Line]:
    """Return lines of a chapter as they are typed, by their numbers; raises `KeyError` as `read_raw` does.

    Of a line of over 16 MB, no more is read than it is typed by.
    """
    if isinstance(chapter, DecodedChapter):
        return {number: chapter.lines[number] for number in sorted(set(numbers))}
    records = {number: chapter.get_line(number) for number in sorted(set(numbers))}
    found = {
        number: decode(data, at=Position(chapter.source, records[number].offset))
        for number, data in chapter.read_raw(
            each for each in records if records[each].length <= LONGEST
        ).items()
    }
    for number, line in records.items():
        if line.length > LONGEST:
            head, end = chapter.read_bytes([(line.offset, LONGEST), (line.offset + line.length - END, END)])
            found[number] = decode_long(head, end, line.length, Position(chapter.source, line.offset))
    return {number: found[number] for number in records}


def read_json(chapter: Chapter, numbers: Iterable[int] | None = None) -> Iterator[bytes]:
    """Yield lines as JSON, all of them or some, in order: as they stand, or what is read of a long one."""
    wanted = iter(range(chapter.count_lines) if numbers is None else sorted(set(numbers)))
    while some := [*islice(wanted, SEGMENT)]:
        if isinstance(chapter, DecodedChapter):
            yield from (chapter.lines[number].json for number in some)
        elif all(chapter.get_line(number).length <= LONGEST for number in some):
            yield from chapter.read_raw(some).values()
        else:
            yield from (line.json for line in decode_lines(chapter, some).values())


def decode_all(chapter: Chapter) -> Iterator[Line]:
    """Yield all lines of a chapter as they are typed, some of them at a time."""
    for head in chapter.heads:
        yield from decode_lines(chapter, range(head.line, head.line + head.lines)).values()


def build_message(
    record: MessageRecord, lines: Mapping[int, Line], calls: Sequence[CallRecord] = ()
) -> Message:
    """Return a message, with those of its calls that are given, in their order.

    `lines` are lines of its chapter, by their numbers. Its own must be among them (raises `KeyError`); of what
    is folded into it, it has what is there.
    """
    own = record.lines[: record.own_lines]
    rule = Rule(record.rule)
    agent = getattr(lines[own[0]].entry, "agent_id", None)
    return Message(
        index=record.index,
        rule=rule,
        role=Role(record.role),
        types=tuple(map(MessageType, record.types)),
        lane=Lane(record.lane),
        agent_id=agent if isinstance(agent, str) else None,
        lines=tuple(lines[number] for number in own),
        folded=tuple(lines[number] for number in record.lines[record.own_lines :] if number in lines),
        calls=tuple(build_call(call, lines, record.lines) for call in calls),
        prompt=None if rule in UNSAID else prompt_of(lines[own[0]].entry),
        aborted=record.aborted,
    )


def build_call(record: CallRecord, lines: Mapping[int, Line], near: Sequence[int] = ()) -> Call:
    """Return a call, and its result if the line of that is there; raises `KeyError` if its own is not.

    It does not say by what the two were joined, nor where else they stand. `near` are lines in which a copy of
    it may be: where only that has the call's id, it is what tells of the call.
    """
    place = Place(lines[record.line], record.block)
    block = place.block
    by_server = type(block) is McpToolUseBlock
    return Call(
        id=record.id,
        name=record.name,
        category=Category(record.category),
        known=by_server or is_known_tool(record.name),
        place=place,
        told_at=place
        if record.id is None or block.id == record.id
        else _find_copy(record.id, lines, near) or place,
        state=CallState(record.state),
        result=_find_result(record, lines),
        agent_id=record.agent_id,
    )


def is_copied_call(record: CallRecord, lines: Mapping[int, Line]) -> bool:
    """Tell whether only a copy of a call has its id, which is then in a line that is folded."""
    return record.id is not None and Place(lines[record.line], record.block).block.id != record.id


def _find_result(record: CallRecord, lines: Mapping[int, Line]) -> Result | None:
    line = None if record.result_line is None else lines.get(record.result_line)
    if line is None or record.result_block is None:
        return None
    place = Place(line, record.result_block)
    # In spec 000 an error line as a whole is what became of a call.
    return read_result(place, line.entry if isinstance(line.entry, SystemNotice) else place.block)


def _find_copy(id: str, lines: Mapping[int, Line], near: Sequence[int]) -> Place | None:
    for line in (lines[number] for number in near if number in lines):
        for index, block in enumerate(list_blocks(line.entry)):
            if is_call(block) and block.id == id:
                return Place(line, index)
    return None


_WINDOW = 64
"""Messages that are read together."""
_LARGEST = 4 << 20
"""Bytes of their lines; one message is read however long it is."""
_NOTES = {type_name(kind): kind for kind in REPORTED}
_QUEUED = "queue-operation"
_WITHOUT_PROMPT = UNSAID | {
    Rule.ANSWER, Rule.RAN_COMMAND, Rule.LONE_THINKING, Rule.LONE_PROGRESS, Rule.HOOK, Rule.COMPACTION,
}  # fmt: skip
_NO_ID = ("uuid:", "at:", "line:")
"""How names of answers begin that the API gave no id."""


class Thread:
    """A conversation: messages of one file, by the numbers that they have there."""

    def __init__(
        self,
        chapter: Chapter | None,
        messages: Sequence[int],
        lines: Sequence[int],
        rest: Thread | None = None,
    ) -> None:
        """Take the numbers of messages and lines, in order; without a chapter there are none.

        `rest` is what an agent with a file of its own said in the transcript.
        """
        self._chapter = chapter
        self.rest = rest
        self.messages = messages
        self.lines = lines

    def list_records(self) -> Iterator[MessageRecord]:
        """Yield all messages without what they say, in order."""
        if self._chapter is None:
            return iter(())
        if isinstance(self.messages, range):
            return self._chapter.list_messages(self.messages.start, len(self.messages))
        return iter(self._chapter.list_at(self.messages))

    def list_some(self, first: int, end: int) -> list[MessageRecord]:
        """Return the messages from one place of the thread to another."""
        return [] if self._chapter is None else self._chapter.list_at(self.messages[first:end])

    def find_place(self, id: str) -> int | None:
        """Return the place of the message with an id, from 0; None if there is none."""
        if isinstance(self.messages, range):
            found = None if self._chapter is None else self._chapter.find_message(id)
            index = -1 if found is None else found.index
            return self.messages.index(index) if index in self.messages else None
        return next((at for at, row in enumerate(self.list_records()) if row.id == id), None)

    def list_places(self) -> dict[int, tuple[int, int | None, int]]:
        """Return by the numbers of messages their place in the thread, that of their parent, and their branch.

        In a part of a file, each message that follows none begins a branch: nobody edits the prompts of agents.
        """
        is_whole = self.messages == range(0 if self._chapter is None else self._chapter.count_messages)
        order = {row: at for at, row in enumerate(self.messages)}
        found: dict[int, tuple[int, int | None, int]] = {}
        roots = 0
        for row in self.list_records():
            parent = None if row.parent is None else order.get(row.parent)
            above = None if parent is None or row.parent is None else found.get(row.parent)
            branch = row.branch if is_whole else roots if above is None else above[2]
            roots += parent is None
            found[row.index] = order[row.index], parent, branch
        return found

    def _list_windows(
        self, chapter: Chapter, records: Iterable[MessageRecord] | None
    ) -> Iterator[tuple[Sequence[MessageRecord], dict[int, list[CallRecord]]]]:
        """Yield messages, all of them or some, as many as are read together, with the calls that they made."""
        left = iter(self.list_records() if records is None else records)
        while window := [*islice(left, _WINDOW)]:
            calls = chapter.list_calls_of(window)
            start = size = 0
            for at, row in enumerate(window):
                own = chapter.measure(_list_lines(row, calls.get(row.index, ())))
                if size + own > _LARGEST and at > start:
                    yield window[start:at], calls
                    start, size = at, 0
                size += own
            yield window[start:], calls

    def read(
        self, records: Iterable[MessageRecord] | None = None, *, folded: bool = False
    ) -> Iterator[Message]:
        """Yield messages, all with the rest or some, with what they say and what is `folded` into them."""
        chapter = self._chapter
        if isinstance(chapter, DecodedChapter):  # its messages need not be put together again
            for row in self.list_records() if records is None else records:
                yield chapter.messages[row.index]
        elif chapter is not None:
            yield from self._build(chapter, records, folded)
        if self.rest is not None and records is None:
            yield from self.rest.read(folded=folded)

    def _build(
        self, chapter: Chapter, records: Iterable[MessageRecord] | None, folded: bool
    ) -> Iterator[Message]:
        for window, calls in self._list_windows(chapter, records):
            wanted = [_list_lines(row, calls.get(row.index, ()), folded) for row in window]
            lines = decode_lines(chapter, (number for numbers in wanted for number in numbers))
            for row, numbers in zip(window, wanted, strict=True):
                made = calls.get(row.index, ())
                own = {number: lines[number] for number in numbers}
                if any(is_copied_call(call, lines) for call in made):
                    own |= decode_lines(chapter, row.lines)
                yield build_message(row, own, made)

    def read_lines(self, numbers: Iterable[int]) -> list[Line]:
        """Return lines as they are typed."""
        return [] if self._chapter is None else [*decode_lines(self._chapter, numbers).values()]

    def read_between(self, records: Iterable[MessageRecord], lines: Iterable[int]) -> Iterator[Message | Line]:
        """Yield messages with what is folded into them, and lines that are in none, in file order."""
        left, rows = iter(lines), iter(records)
        number = next(left, None)
        # A message whose first line is a thought may stand behind one that begins further down.
        while window := sorted(islice(rows, _WINDOW), key=lambda row: row.lines[0]):
            for row, message in zip(window, self.read(window, folded=True), strict=True):
                before: list[int] = []
                while number is not None and number < row.lines[0]:
                    before.append(number)
                    number = next(left, None)
                yield from self.read_lines(before)
                yield message
        yield from self.read_lines([] if number is None else [number, *left])

    def list_unplaced(self) -> Iterator[int]:
        """Yield the lines that are in no message, in order."""
        chapter = self._chapter
        if chapter is not None and isinstance(self.lines, range):
            lines = chapter.list_lines(self.lines.start)
            yield from (line.number for line in lines if line.message is None)

    @cached_property
    def compactions(self) -> tuple[Compaction, ...]:
        """Where the conversation was made shorter."""
        told = [row for row in self.list_records() if row.rule in COMPACTED]
        return build_compactions([*self.read(told)])

    @cached_property
    def notes(self) -> Mapping[int, list[int]]:
        """Lines that are no message but may report something, by the message that they stand below; -1 is none.

        That is what happened to the queue, snapshots of files, and how long turns took. What happened to a
        queued prompt that is shown itself is left out: nothing is told twice.
        """
        chapter = self._chapter
        if chapter is None or not isinstance(self.lines, range):
            return {}  # among the lines of others, agents note nothing
        told = self._find_queued()
        notes: dict[int, list[int]] = {}
        seen: set[str] = set()
        above = -1
        for line in chapter.list_lines(self.lines.start):
            if line.number in told:
                continue
            if line.message is not None:
                above = max(above, line.message)
            elif line.type in _NOTES and line.uuid not in seen:
                notes.setdefault(above, []).append(line.number)
                if line.uuid is not None:  # of a line that stands there twice, the second is a copy
                    seen.add(line.uuid)
        return notes

    def read_notes(self, message: int) -> list[Line]:
        """Return what is reported below a message."""
        noted = self.notes.get(message)
        lines = self.read_lines(noted) if noted else ()
        return [
            line
            for line in lines
            if getattr(line.entry, "is_deleted", None) is not True and report_of(line.entry)
        ]

    def _find_queued(self) -> set[int]:
        """Return the lines that tell what happened to a queued prompt which is shown itself."""
        chapter = self._chapter
        assert chapter is not None
        lines = chapter.list_lines(self.lines[0] if self.lines else 0)
        queued = [line.number for line in lines if line.type == _QUEUED]
        if not queued:
            return set()
        asked = (row for row in self.list_records() if row.rule not in _WITHOUT_PROMPT)
        shown = {prompt.text.strip() for prompt in _read_prompts(chapter, asked) if prompt is not None}
        queue = PromptQueue()
        entries = ((number, line.entry) for number, line in decode_lines(chapter, queued).items())
        return {
            number
            for number, entry in entries
            if read_prompt(queue.add(number, entry)).text.strip() in shown  # type: ignore[arg-type]
        }


def open_main(session: SessionRecords) -> Thread:
    """Return what the transcript says; nothing, if there is none."""
    main = session.main
    if main is None:
        return Thread(None, (), ())
    return Thread(main, range(main.count_messages), range(main.count_lines))


def open_agent(session: SessionRecords, agent: AgentRecord, *, inherited: bool = False) -> Thread:
    """Return what an agent said and did; with `inherited`, also what it has from its parent."""
    main, rest = session.main, None
    if agent.lines and main is not None:
        own, told = frozenset(agent.lines), {main.get_line(number).message for number in agent.lines}
        rows = main.list_at(at for at in told if at is not None)
        rest = Thread(main, [row.index for row in rows if row.lines[0] in own], agent.lines)
    chapter = None if agent.file is None else session.find_chapter(agent.file)
    if chapter is None:
        return rest or Thread(None, (), ())
    first, start = (0, 0) if inherited else (agent.inherited, 0)
    for row in chapter.list_messages() if first else ():
        if row.lines[0] >= first:
            break
        start = row.index + 1
    return Thread(chapter, range(start, chapter.count_messages), range(first, chapter.count_lines), rest)


def count_agent_calls(session: SessionRecords, agent: AgentRecord) -> int:
    """Return how many calls the lines of an agent make, with those that it has from its parent."""
    parts = _list_parts(session, agent, inherited=True)
    return sum(call.line in own for chapter, own in parts for call in chapter.list_calls())


def _list_parts(
    session: SessionRecords, agent: AgentRecord, *, inherited: bool = False
) -> Iterator[tuple[Chapter, Collection[int]]]:
    """Yield the files in which an agent has lines, and which these are."""
    chapter = None if agent.file is None else session.find_chapter(agent.file)
    if chapter is not None:
        yield chapter, range(0 if inherited else agent.inherited, chapter.count_lines)
    if agent.lines and session.main is not None:
        yield session.main, frozenset(agent.lines)


def read_agent_prompt(session: SessionRecords, agent: AgentRecord) -> str | None:
    """Return what an agent was asked first; None if its lines do not say."""
    thread = open_agent(session, agent, inherited=True)
    return find_prompt(thread.read_lines(thread.lines[:FIRST_LINES]))


class AgentPlaces:
    """Which agents a call started. Each agent is given out once: what is left has no call that is shown."""

    def __init__(self, session: SessionRecords) -> None:
        self._by_call: dict[object, list[AgentRecord]] = {}
        self._left = {agent.index: agent for agent in session.list_agents()}
        self._inline: set[int] = set()
        for agent in self._left.values():
            started = find_start(session, agent)
            if started is not None:
                chapter, call = started
                place = chapter.source, chapter.get_line(call.line).offset, call.block
                self._by_call.setdefault(call.id or place, []).append(agent)
                self._inline.update(agent.lines if agent.inline else ())

    def take_started(self, call: Call) -> Iterator[AgentRecord]:
        """Yield the agents that a call started."""
        at = call.place.line.at
        place = None if at is None else (at.source, at.offset, call.place.index)
        for agent in self._by_call.get(call.id or place, ()):
            if self._left.pop(agent.index, None) is not None:
                yield agent

    def is_main(self, message: MessageRecord) -> bool:
        """Tell whether a message of the transcript is not shown under a call."""
        return message.lane != Lane.AGENT or message.lines[0] not in self._inline

    def take_left(self) -> Iterator[AgentRecord]:
        """Yield the agents that were not given out and stand in no other place."""
        while self._left:
            agent = self._left.pop(next(iter(self._left)))
            if not agent.inline or agent.lines[0] in self._inline:
                yield agent


def find_start(session: SessionRecords, agent: AgentRecord) -> tuple[Chapter, CallRecord] | None:
    """Return the call that started an agent, and the chapter that it is in."""
    chapter = None if agent.call_source is None else session.find_chapter(agent.call_source)
    calls = [] if chapter is None or agent.call is None else chapter.list_calls_at([agent.call])
    return None if chapter is None or not calls else (chapter, calls[0])


def list_line_problems(session: SessionRecords) -> list[LineProblem]:
    """Return what is wrong or unknown in the lines of all files, named by their paths."""
    found: list[LineProblem] = []
    others = (file for file in session.files if file not in session.chapters)
    journals = sorted(others, key=lambda file: Path(file.facts.path))
    for file in (*session.list_conversations(), *journals):
        for number, line in decode_lines(file, (flawed.number for flawed in file.list_flawed())).items():
            at = Position(file.facts.path, file.get_line(number).offset)
            found += (LineProblem(at, problem) for problem in line.problems)
    return found


class MessageTree(Struct, frozen=True, gc=False):
    """Which message follows which; messages are known by their place in their thread."""

    roots: tuple[int, ...]
    parents: tuple[int | None, ...]
    forks: dict[int, tuple[int, ...]]
    """The prompts that were typed under one message, for each message with several."""
    branches: tuple[Branch, ...]
    active: tuple[int, ...]
    """The way from a root to the message that is the newest, or said to be the active one."""


def build_tree(thread: Thread) -> MessageTree:
    """Return the tree of the transcript's messages."""
    rows, placed = [*thread.list_records()], thread.list_places()
    parents = [placed[row.index][1] for row in rows]
    members: dict[int, list[int]] = {}
    origins: dict[int, tuple[int | None, int | None]] = {}
    forks: dict[int, list[int]] = {}
    for at, (row, parent) in enumerate(zip(rows, parents, strict=True)):
        members.setdefault(row.branch, []).append(at)
        if parent is None:
            origins[row.branch] = None, None
        elif rows[parent].branch != row.branch:
            fork: int | None = parent
            while fork is not None and rows[fork].role not in SPOKEN:
                fork = parents[fork]
            origins[row.branch] = rows[parent].branch, fork
            if fork is not None:
                forks.setdefault(fork, []).append(at)
    # Where nobody but agents speaks, there is a way to the last message, but it is not said to be active.
    spoken = any(row.lane != Lane.AGENT and row.rule != Rule.WAITING and row.role in SPOKEN for row in rows)
    active = [at for at, row in enumerate(rows) if row.active] if spoken else []
    on_way = frozenset(active)
    depths = measure_depths(parents, active)
    return MessageTree(
        roots=tuple([at for at, parent in enumerate(parents) if parent is None]),
        parents=tuple(parents),
        forks={fork: tuple(forks[fork]) for fork in sorted(forks)},
        branches=tuple(
            Branch(number, *origins[number], tuple(own), not on_way.isdisjoint(own))
            for number, own in sorted(members.items())
        ),
        active=tuple(sorted(active, key=depths.__getitem__)),
    )


def list_abandoned(session: SessionRecords) -> list[int]:
    """Return the messages with which branches begin that were left."""
    main = session.main
    branches = [] if main is None else main.list_branches()
    left = [branch for branch in branches if branch.parent is not None and not branch.active]
    above = {} if main is None else {row.index: row for row in main.list_at(each.parent or 0 for each in left)}
    # The first may follow one of the same branch that stands further down: then nothing forks there.
    return [each.first for each in left if above[each.parent or 0].branch != each.index]


class TurnUse(Struct, frozen=True, gc=False, kw_only=True):
    """What a turn did and used, besides what its record says."""

    record: TurnRecord
    messages: tuple[int, ...]
    failed_calls: int
    agents: tuple[str, ...]
    """Those that were started in it, and theirs."""
    files: tuple[TouchedFile, ...]
    """Those that its calls read or changed, each once."""
    usage: tuple[MessageUsage, ...]
    """What the model's answers used, with those of the agents that were started here."""


def list_usage(session: SessionRecords) -> list[MessageUsage]:
    """Return what the answers in a session used, each counted once, by time."""
    fold = SightingFold()
    for chapter in session.chapters:
        for sighting in chapter.list_sightings():
            fold.add_sighting(sighting.unpack(chapter.source))
    return fold.list_messages()


def list_turn_uses(session: SessionRecords) -> list[TurnUse]:
    """Return all turns with what they did and used."""
    main = session.main
    if main is None:
        return []
    used = {each.message: each for each in list_usage(session)}
    # Sightings are in order: of a message that has a thought of another answer, the answer is the last.
    seen = ((main.find_line(sighting.offset), sighting.message_id) for sighting in main.list_sightings())
    answers = {line.message: name for line, name in seen if line is not None}
    work = _list_work(session)
    turns = session.list_turns()
    members: list[list[int]] = [[] for _ in turns]
    names: list[dict[str, None]] = [{} for _ in turns]
    agents: list[dict[str, None]] = [{} for _ in turns]
    for row in main.list_messages():
        if row.turn is not None:
            members[row.turn].append(row.index)
            started, got = work.get(row.index, ((), ()))
            names[row.turn] |= dict.fromkeys((answers.get(row.index, ""), *got))
            agents[row.turn] |= dict.fromkeys(started)
    files: list[dict[str, bool]] = [{} for _ in turns]
    failed = [0 for _ in turns]
    for turn, call in map(astuple, session.list_turn_calls(0, len(turns))):
        failed[turn] += call.state == CallState.FAILED
        if call.path is not None and call.state not in NOT_DONE:
            files[turn][call.path] = files[turn].get(call.path, False) or call.changes_file
    return [
        TurnUse(
            record=turn,
            messages=tuple(members[at]),
            failed_calls=failed[at],
            agents=tuple(agents[at]),
            files=tuple(TouchedFile(path, changed) for path, changed in files[at].items()),
            usage=tuple(used[name] for name in names[at] if not name.startswith(_NO_ID) and name in used),
        )
        for at, turn in enumerate(turns)
    ]


def read_prompts(session: SessionRecords) -> Iterator[str]:
    """Yield what began each turn."""
    thread, main = open_main(session), session.main
    prompts = [] if main is None else main.list_at(turn.prompt for turn in session.list_turns())
    return (message.text for message in thread.read(prompts))


def list_agent_usage(session: SessionRecords, agent: AgentRecord) -> list[MessageUsage]:
    """Return what the answers used that an agent got itself."""
    fold = SightingFold()
    for chapter, own in _list_parts(session, agent):
        for sighting in chapter.list_sightings():
            line = chapter.find_line(sighting.offset)
            if line is not None and line.number in own:
                fold.add_sighting(sighting.unpack(chapter.source))
    return fold.list_messages()


def _list_work(session: SessionRecords) -> dict[int, tuple[list[str], list[str]]]:
    """Return the agents that each message started, at any depth, and the answers that they got."""
    children: dict[str | None, list[AgentRecord]] = {}
    for agent in session.list_agents():
        children.setdefault(agent.parent_id, []).append(agent)
    work: dict[int, tuple[list[str], list[str]]] = {}
    for agent in children.get(None, ()):
        started = find_start(session, agent)
        if started is None or started[0] is not session.main or started[1].message is None:
            continue
        names, answers = work.setdefault(started[1].message, ([], []))
        for one in list_below(agent, children):
            names.append(one.id)
            answers += [used.message for used in list_agent_usage(session, one)]
    return work


def _list_lines(row: MessageRecord, calls: Iterable[CallRecord], folded: bool = False) -> list[int]:
    """Return the lines that tell of a message and its calls."""
    results = (call.result_line for call in calls if call.result_line is not None)
    return [*(row.lines if folded else row.lines[: row.own_lines]), *results]


def _read_prompts(chapter: Chapter, asked: Iterator[MessageRecord]) -> Iterator[Prompt | None]:
    """Yield what prompts say; of a session that is archived, a window at a time."""
    if isinstance(chapter, DecodedChapter):
        yield from (chapter.messages[row.index].prompt for row in asked)
        return
    while numbers := [row.lines[0] for row in islice(asked, _WINDOW)]:
        yield from (prompt_of(line.entry) for line in decode_lines(chapter, numbers).values())

"""Lines, records and batches for tests, valid and the same each time.

Records follow simple rules instead of the real ones, but every field is used: each file of lines is a chapter,
a line is a message, a prompt of the transcript opens a turn, an answer makes a call and a sighting. As in real
sessions a new line changes older records too: which message is the newest, how long the last turn is.

`make_batch` does in memory what scanning a session's files does: it compares them with what the store knows
and says what is new. No file is read, so a test can have a session in any state that it wants.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate
from types import MappingProxyType

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turnlog.ingest.contents import Content, build_missing
from turnlog.messages import Line
from turnlog.store.batch import ChapterBatch, Derived, OutlineBatch, SessionBatch, SourceBatch
from turnlog.store.frames import cut_frames
from turnlog.store.interface import KnownSession, KnownSource
from turnlog.store.model import SessionHead, SessionRow, SourceKind, name_source
from turnlog.transcripts.line_reader import LineSplitter
from turnlog.transcripts.segment_builder import pack_lines
from turnlog.transcripts.segments import (
    AGENTS,
    SEGMENT,
    TURNS,
    AgentRecord,
    CallRecord,
    EventRecord,
    LineRecord,
    MessageRecord,
    PackedSegment,
    SegmentHead,
    SightingRecord,
    TurnRecord,
    pack_segment,
    unpack_segment,
)
from turnlog.transcripts.session_files import Change, Checkpoint


class FileRecords(Struct, frozen=True, kw_only=True):
    """All records of one file."""

    lines: tuple[LineRecord, ...] = ()
    messages: tuple[MessageRecord, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    events: tuple[EventRecord, ...] = ()
    sightings: tuple[SightingRecord, ...] = ()


def pack_records(records: FileRecords) -> tuple[PackedSegment, ...]:
    """Return the records of a file in segments; without lines there are none."""
    lines, count = records.lines, -(-len(records.lines) // SEGMENT)
    offsets = [line.offset for line in lines]
    # A message is in the segment of its first line, but never before one that stands above it.
    own = [*accumulate((message.lines[0] for message in records.messages), max)]
    called = [*accumulate((call.line for call in records.calls), max)]
    seen = [max(bisect_right(offsets, each.offset) - 1, 0) for each in records.sightings]
    found: list[PackedSegment] = []
    for number in range(count):
        first, end = number * SEGMENT, (number + 1) * SEGMENT if number < count - 1 else 1 << 62

        def pick(places: Iterable[int], first: int = first, end: int = end) -> list[int]:
            return [at for at, line in enumerate(places) if first <= line < end]

        messages, calls = pick(own), pick(called)
        said = [records.messages[at] for at in messages]
        made = [records.calls[at] for at in calls]
        happened = [records.events[at] for at in pick(event.line for event in records.events)]
        used = [records.sightings[at] for at in pick(seen)]
        held = lines[first : first + SEGMENT]
        head = SegmentHead(
            number=number,
            lines=len(held),
            message=sum(line < first for line in own),
            messages=len(said),
            call=sum(line < first for line in called),
            calls=len(made),
            events=len(happened),
            hooks=sum(event.hook is not None for event in happened),
            sightings=len(used),
            offset=held[0].offset,
            reached=max((line.time for line in lines[: first + 1] if line.time is not None), default=0),
            problems=sum(line.problems > 0 for line in held),
        )
        found.append(PackedSegment(head, pack_segment(held, said, made, happened, used)))
    return tuple(found)


def unpack_records(segments: Iterable[PackedSegment]) -> FileRecords:
    """Return the records of a file whose segments are all there, in order."""
    found = [unpack_segment(segment.data) for segment in segments]
    return FileRecords(
        lines=tuple(each for segment in found for each in segment.lines),
        messages=tuple(each for segment in found for each in segment.messages),
        calls=tuple(each for segment in found for each in segment.calls),
        events=tuple(each for segment in found for each in segment.events),
        sightings=tuple(each for segment in found for each in segment.sightings),
    )


TIME = 1_767_322_800_000_000
"""When tests happen, in microseconds since 1970."""
_SECOND = 1_000_000
_CONVERSATIONS = (SourceKind.TRANSCRIPT, SourceKind.AGENT)


class FileLines(Struct, frozen=True):
    """The lines of one file."""

    source: str
    kind: SourceKind
    lines: tuple[Line, ...]


def make_message(index: int, line: int = 0, **changes: object) -> MessageRecord:
    """Return a message that is made of one line, with other values for some fields."""
    record: dict[str, object] = {
        "index": index,
        "id": f"message-{index}",
        "lines": (line,),
        "own_lines": 1,
        "rule": "a line of its own",
        "role": "user",
        "types": ("user",),
        "author": "human",
        "lane": "main",
        "is_sidechain": False,
        "time": TIME + index * _SECOND,
    }
    return MessageRecord(**{**record, **changes})  # type: ignore[arg-type]


def make_session_row(session_id: str | None = "session-1", **changes: object) -> SessionRow:
    """Return how a session stands in the lists, with other values for some fields."""
    row: dict[str, object] = {
        "session_id": session_id,
        "title": f"title of {session_id}",
        "project": "/home/ada/project",
        "first_time": TIME,
        "last_time": TIME,
        "prompts": 1,
        "answers": 2,
        "calls": 3,
        "agents": 4,
        "lines": 5,
        "problems": 6,
        "input_tokens": 7,
        "output_tokens": 8,
        "cost": "0.000009",
        "summary": f'{{"id":"{session_id}"}}'.encode(),
    }
    return SessionRow(**{**row, **changes})  # type: ignore[arg-type]


def make_derived(
    session_id: str, files: tuple[FileLines, ...], *, folder: str = "", emptied: tuple[str, ...] = ()
) -> Derived:
    """Return all that follows from the lines of a session's files; `emptied` are chapters that are gone."""
    records = {file.source: make_records(session_id, file) for file in files if file.kind.has_lines}
    lines = [line for each in records.values() for line in each.lines]
    main = next((records[file.source].lines for file in files if file.kind is SourceKind.TRANSCRIPT), ())
    prompts = [line.number for line in main if line.type == "user"]
    answers = sum(len(each.sightings) for each in records.values())
    times = [line.time for line in lines if line.time is not None]
    agents = [file for file in files if file.kind is SourceKind.AGENT]
    return Derived(
        session=make_session_row(
            session_id,
            project=f"/home/ada/{folder}",
            first_time=min(times, default=None),
            last_time=max(times, default=None),
            prompts=len(prompts),
            answers=answers,
            calls=answers,
            lines=len(lines),
            problems=sum(line.problems for line in lines),
            cost=f"{answers / 100:.6f}" if answers else None,
            head=_find_head(main),
        ),
        outline=make_outline(
            [
                _make_turn(index, prompt, (prompts[index + 1] if index + 1 < len(prompts) else len(main)))
                for index, prompt in enumerate(prompts)
            ],
            [_make_agent(index, file) for index, file in enumerate(agents)],
        ),
        chapters=(
            *(make_chapter(source, each) for source, each in records.items()),
            *(ChapterBatch(source, 0) for source in emptied),
        ),
        usage=list_usage(records),
    )


def make_chapter(source: str, records: FileRecords) -> ChapterBatch:
    """Return all segments of a file that has some records."""
    segments = pack_records(records)
    return ChapterBatch(source, len(segments), segments)


def make_outline(turns: Sequence[TurnRecord], agents: Sequence[AgentRecord]) -> tuple[OutlineBatch, ...]:
    """Return all turns and agents of a session."""
    parts = (TURNS.name, TURNS.cut(turns)), (AGENTS.name, AGENTS.cut(agents))
    return tuple(OutlineBatch(name, len(cut), cut) for name, cut in parts)


def list_usage(records: dict[str, FileRecords]) -> tuple[tuple[str, SightingRecord], ...]:
    """Return what files say about usage, each with its source."""
    return tuple((source, each) for source, file in records.items() for each in file.sightings)


def make_records(session_id: str, file: FileLines) -> FileRecords:
    """Return records for the lines of one file; the journal of a workflow is no conversation."""
    lines = unpack_records(pack_lines(file.lines)).lines
    if file.kind not in _CONVERSATIONS:
        return FileRecords(lines=lines)
    facts = tuple(_Fact(record, line) for record, line in zip(lines, file.lines, strict=True))
    answers = [fact for fact in facts if fact.is_answer]
    reached = _list_reached(lines)
    events = [_make_event(fact, reached[fact.number]) for fact in facts if fact.number % 4 == 3]
    return FileRecords(
        lines=tuple(replace(line, message=_find_message(line.number)) for line in lines),
        messages=tuple(_make_message(fact, reached[fact.number], is_last=fact is facts[-1]) for fact in facts),
        calls=tuple(_make_call(at, fact, reached[fact.number]) for at, fact in enumerate(answers)),
        events=tuple(events),
        sightings=tuple(_make_sighting(at, session_id, file, fact) for at, fact in enumerate(answers)),
    )


class _Fact:
    """What records are made of: a line, and what it says."""

    def __init__(self, record: LineRecord, line: Line) -> None:
        entry = line.entry
        message = getattr(entry, "message", None)
        said = getattr(message, "id", None)
        agent = getattr(entry, "agent_id", None)
        self.record = record
        self.number = record.number
        self.uuid = record.uuid
        self.is_answer = record.type == "assistant"
        self.message_id = said if isinstance(said, str) else None
        self.agent_id = agent if isinstance(agent, str) else None


def _find_message(number: int) -> int | None:
    return None if number % 7 == 6 else number


def _make_message(fact: _Fact, reached: int | None, *, is_last: bool) -> MessageRecord:
    number, line = fact.number, fact.record
    return make_message(
        number,
        number,
        id=fact.uuid or f"{line.offset}",
        lines=(number, number) if fact.message_id else (number,),
        role=line.type,
        types=("thinking", line.type) if fact.message_id else (line.type,),
        lane="agent" if fact.agent_id else "main",
        is_sidechain=line.is_sidechain,
        category="builtin" if fact.message_id else None,
        agent_id=fact.agent_id,
        parent=number - 1 if line.parent_uuid and number else None,
        branch=number % 3,
        active=is_last,
        turn=number // 2,
        time=line.time,
        model="claude-test-1" if fact.message_id else None,
        aborted=number % 5 == 4,
        calls=1 if fact.is_answer else 0,
        reached=reached,
    )


def _make_event(fact: _Fact, reached: int | None) -> EventRecord:
    number = fact.number
    tells = number % 8 == 3
    return EventRecord(
        line=number,
        category="hook" if tells else "system",
        name="PreToolUse" if tells else "notice",
        state="failed" if number % 3 == 1 else "note",
        message=_find_message(number),
        time=fact.record.time,
        reached=reached,
        duration_ms=number if tells else None,
        hook="PreToolUse" if tells else None,
        tool_use_id=f"call-{fact.uuid}" if tells and fact.uuid else None,
    )


def _list_reached(lines: Sequence[LineRecord]) -> list[int | None]:
    """Return for each line the latest time that it or one above it has."""
    latest: int | None = None
    found: list[int | None] = []
    for line in lines:
        if line.time is not None:
            latest = line.time if latest is None else max(latest, line.time)
        found.append(latest)
    return found


def _make_call(index: int, fact: _Fact, reached: int | None) -> CallRecord:
    is_done = index % 2 == 1
    return CallRecord(
        index=index,
        id=f"call-{fact.uuid}" if fact.uuid else None,
        name="Edit" if is_done else "Bash",
        category="builtin",
        state="resolved" if is_done else "unresolved",
        line=fact.number,
        block=index % 3,
        message=fact.number,
        result_line=fact.number if is_done else None,
        result_block=index % 3 if is_done else None,
        started=fact.record.time,
        ended=fact.record.time if is_done else None,
        reached=reached,
        answer=fact.message_id,
        path="/home/ada/project/a.py" if is_done else None,
        changes_file=is_done,
        agent_id=fact.agent_id,
    )


def _make_turn(index: int, prompt: int, end: int) -> TurnRecord:
    messages = end - prompt
    return TurnRecord(
        index=index,
        prompt=prompt,
        last=end - 1,
        messages=messages,
        calls=messages - 1,
        agents=index % 2,
        files_changed=index % 3,
        started=TIME + prompt,
        ended=TIME + end,
        duration_ms=messages if index % 2 else None,
        input_tokens=messages * 10,
        output_tokens=messages * 20,
        cost=f"0.{index:06}" if index % 2 else None,
    )


def _make_agent(index: int, file: FileLines) -> AgentRecord:
    name = getattr(file.lines[0].entry, "agent_id", None) if file.lines else None
    return AgentRecord(
        index=index,
        id=name if isinstance(name, str) else f"agent-{index}",
        state="done" if file.lines else "empty",
        depth=1 + index % 2,
        inline=not file.lines,
        background=index % 2 == 1,
        file=file.source,
        parent_id=f"agent-{index - 1}" if index else None,
        run_id=f"wf_{index}" if index else None,
        type="general-purpose" if file.lines else None,
        description="looks around" if file.lines else None,
        call=index if file.lines else None,
        call_source=file.source if file.lines else None,
        linked_by="prompt" if file.lines else None,
        inherited=index,
        lines=tuple(range(index)),
    )


def _make_sighting(index: int, session_id: str, file: FileLines, fact: _Fact) -> SightingRecord:
    marked = index % 2 == 1
    return SightingRecord(
        message_id=fact.message_id or f"{file.source}:{fact.record.offset}",
        session_id=session_id,
        offset=fact.record.offset,
        time=fact.record.time,
        model="claude-test-1",
        input=10 + index,
        output=20 + index,
        cache_read=30 + index,
        cache_write_5m=40 + index,
        cache_write_1h=50 + index,
        web_searches=60 + index,
        ended=marked,
        service_tier="standard" if marked else None,
        speed="fast" if marked else None,
        inference_geo="eu" if marked else None,
        agent="explorer" if marked else None,
        agent_id=fact.agent_id,
        skill="writing" if marked else None,
        plugin="plug" if marked else None,
        mcp_server="server" if marked else None,
        mcp_tool="tool" if marked else None,
    )


def _find_head(lines: Sequence[LineRecord]) -> SessionHead | None:
    """Return the first line of a transcript that another one follows."""
    seen: dict[str, LineRecord] = {}
    for line in lines:
        head = seen.get(line.parent_uuid or "")
        if head is not None and head.uuid is not None:
            return SessionHead(uuid=head.uuid, type=head.type, time=head.time, told_id=line.session_id)
        if line.uuid is not None:
            seen.setdefault(line.uuid, line)
    return None


OWNER = "local"
ORIGIN = "here"
_FOLDER = "-work-project"
_NONE: Mapping[str, str] = MappingProxyType({})
_DATE = "2026-01-02T{:02}:{:02}:{:02}.000Z"


def make_line(
    number: int = 0,
    *,
    type: str = "user",
    text: str = "hello",
    session_id: str = "session-1",
    agent_id: str | None = None,
    message_id: str | None = None,
    **more: object,
) -> bytes:
    """Return a line with its newline: of a chain, in which it follows on the line with the number before."""
    name = f"{session_id}-{agent_id or 'main'}"
    content: object = [{"type": "text", "text": text}] if type == "assistant" else text
    message: dict[str, object] = {"role": type, "content": content}
    if type == "assistant":
        message["id"] = message_id or f"msg-{name}-{number}"
        message["model"] = "claude-test-1"
        message["usage"] = {"input_tokens": 10 + number, "output_tokens": 20 + number}
    entry: dict[str, object] = {
        "parentUuid": f"{name}-{number - 1}" if number else None,
        "isSidechain": agent_id is not None,
        "cwd": "/home/ada/project",
        "sessionId": session_id,
        "type": type,
        "message": message,
        "uuid": f"{name}-{number}",
        "timestamp": _DATE.format(number // 3600 % 24, number // 60 % 60, number % 60),
        **({} if agent_id is None else {"agentId": agent_id}),
        **more,
    }
    return msgspec.json.encode(entry) + b"\n"


def make_lines(
    count: int, *, first: int = 0, session_id: str = "session-1", agent_id: str | None = None
) -> bytes:
    """Return lines of a chain: prompts, and an answer behind each."""
    return b"".join(
        make_line(
            number,
            type="assistant" if number % 2 else "user",
            text=f"line {number}",
            session_id=session_id,
            agent_id=agent_id,
        )
        for number in range(first, first + count)
    )


def make_key(session_id: str = "session-1", *, origin: str = ORIGIN, project_folder: str = _FOLDER) -> str:
    """Return the key of a session: the source that its transcript is, there or not."""
    return name_source(origin, _full_path(project_folder, f"{session_id}.jsonl"))


def make_batch(
    files: Mapping[str, bytes],
    *,
    session_id: str = "session-1",
    known: KnownSession | None = None,
    moved: Mapping[str, str] = _NONE,
    derived: Derived | None = None,
    owner: str = OWNER,
    origin: str = ORIGIN,
    project_folder: str = _FOLDER,
    seen_ns: int = TIME * 1000,
) -> SessionBatch:
    """Return what a look at a session gives whose files are `files`, by their paths in the project's folder.

    Of the files that are `known`, those that are not among them have vanished; those that go on as they were
    are appended to, all others start a new generation. `moved` tells by new paths under which ones files were
    first seen. Without `derived`, records are made of the files that are there.
    """
    before = {source.source: source for source in known.sources} if known else {}
    looks: list[_Look] = []
    for path, data in files.items():
        source = name_source(origin, _full_path(project_folder, moved.get(path, path)))
        kind = _find_kind(path, session_id)
        looks.append(_Look(source, kind, _full_path(project_folder, path), data, before.pop(source, None)))
    gone = [build_missing(source) for source in before.values() if source.present]
    if derived is None and any(look.is_new for look in looks):
        emptied = tuple(source.source for source in before.values() if source.kind.has_lines)
        derived = make_derived(
            session_id, tuple(look.lines() for look in looks), folder=project_folder, emptied=emptied
        )
    return SessionBatch(
        key=make_key(session_id, origin=origin, project_folder=project_folder),
        owner=owner,
        origin=origin,
        session_id=session_id,
        project_folder=project_folder,
        seen_ns=seen_ns,
        sources=(*(look.batch() for look in looks if look.is_new or look.is_elsewhere), *gone),
        derived=derived,
    )


class _Look:
    """One file, compared with what is known of it."""

    def __init__(
        self, source: str, kind: SourceKind, path: str, data: bytes, known: KnownSource | None
    ) -> None:
        self.source = source
        self.kind = kind
        self.path = path
        self.data = data
        self.known = known
        self.change = self._compare()
        goes_on = self.change in (Change.UNCHANGED, Change.APPENDED)
        self.base = known if goes_on else None
        self.generation = 0 if known is None else known.generation + (not goes_on)

    @property
    def is_new(self) -> bool:
        return self.change is not Change.UNCHANGED

    @property
    def is_elsewhere(self) -> bool:
        return self.known is not None and (self.path != self.known.path or not self.known.present)

    def batch(self) -> SourceBatch:
        start = self.base.length if self.base else 0
        lines, consumed, in_array = self._read(self.base)
        content = Content(self.source, self.kind, self.base)
        content.add(self.data)
        content.finish()
        frames = tuple(cut_frames(self.data[start:], start)) if len(self.data) > start else ()
        agent = self.path.rpartition("/agent-")[2].partition(".")[0]
        return SourceBatch(
            source=self.source,
            kind=self.kind,
            path=self.path,
            generation=self.generation,
            change=self.change,
            start=start,
            length=len(self.data),
            frames=frames,
            sealed=frames[-1].start if len(frames) > 1 else 0,
            consumed=consumed,
            in_array=in_array,
            checkpoint=self._checkpoint(consumed, in_array),
            lines=len(lines),
            texts=content.texts,
            texts_from=content.texts_from,
            agent_id=agent if self.kind in (SourceKind.AGENT, SourceKind.AGENT_META) else None,
        )

    def lines(self) -> FileLines:
        return FileLines(self.source, self.kind, self._read(None)[0])

    def _compare(self) -> Change:
        if self.known is None:
            return Change.NEW
        checkpoint = self.known.checkpoint
        if checkpoint is None:
            return Change.REPLACED
        if len(self.data) < self.known.length:
            return Change.TRUNCATED
        if _fingerprint(self.data[: self.known.length]) != checkpoint.fingerprint:
            return Change.REWRITTEN
        return Change.APPENDED if len(self.data) > self.known.length else Change.UNCHANGED

    def _read(self, base: KnownSource | None) -> tuple[tuple[Line, ...], int, bool]:
        if not self.kind.has_lines:
            return (), 0, False
        start, in_array = (base.consumed, base.in_array) if base else (0, False)
        splitter = LineSplitter(self.source, start, in_array)
        lines = (*splitter.feed(self.data[start:]), *splitter.finish())
        return lines, splitter.consumed, splitter.in_array

    def _checkpoint(self, consumed: int, in_array: bool) -> Checkpoint:
        return Checkpoint(
            source=self.source,
            offset=consumed,
            size=len(self.data),
            fingerprint=_fingerprint(self.data),
            inode=7,
            device=1,
            modified_ns=TIME * 1000 + len(self.data),
            generation=self.generation,
            in_array=in_array,
        )


def _fingerprint(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _full_path(project_folder: str, path: str) -> str:
    return f"/projects/{project_folder}/{path}"


def _find_kind(path: str, session_id: str) -> SourceKind:
    folder, _, name = path.rpartition("/")
    if path == f"{session_id}.jsonl":
        return SourceKind.TRANSCRIPT
    if name.startswith("agent-"):
        return SourceKind.AGENT if name.endswith(".jsonl") else SourceKind.AGENT_META
    if name == "journal.jsonl":
        return SourceKind.JOURNAL
    if folder.endswith("/tool-results"):
        return SourceKind.TOOL_RESULT
    if name.endswith(".json"):
        return SourceKind.WORKFLOW if folder.endswith("/workflows") else SourceKind.META
    return SourceKind.TRANSCRIPT if name.endswith(".jsonl") else SourceKind.OTHER

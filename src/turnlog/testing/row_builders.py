"""Derived records for tests: simple rules instead of the real ones, but every field is used.

Each file of lines is a chapter. A line is a message, a prompt of the transcript opens a turn, an answer makes
a call and a sighting. As in real sessions a new line changes older records too: which message is the newest,
how long the last turn is.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from turnlog.messages import Line
from turnlog.store.batch import ChapterBatch, Derived, OutlineBatch
from turnlog.store.model import SessionHead, SessionRow, SourceKind
from turnlog.testing.memory_session import FileRecords, pack_records, unpack_records
from turnlog.transcripts.segment_builder import pack_lines
from turnlog.transcripts.segments import (
    AGENTS,
    TURNS,
    AgentRecord,
    CallRecord,
    EventRecord,
    LineRecord,
    MessageRecord,
    SightingRecord,
    TurnRecord,
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

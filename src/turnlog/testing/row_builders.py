"""Derived rows for tests: simple rules instead of the real ones, but every field is used.

Each file of lines is a chapter. A line is a message, a prompt of the transcript opens a turn, an answer makes
a call and a sighting. As in real sessions a new line changes older rows too: which message is the newest, how
long the last turn is.
"""

from __future__ import annotations

from msgspec import Struct

from turnlog.store.batch import ChapterRows, DerivedRows
from turnlog.store.identity import Place, SourceKind
from turnlog.store.rows import (
    AgentRow,
    CallRow,
    LineFact,
    MessageRow,
    PlacementRow,
    SessionRow,
    SightingRow,
    TurnRow,
)

__all__ = ["TIME", "SourceLines", "make_chapter", "make_message_row", "make_rows", "make_session_row"]

TIME = 1_767_322_800_000_000
"""When tests happen, in microseconds since 1970."""
_SECOND = 1_000_000


class SourceLines(Struct, frozen=True):
    """The lines of one file."""

    source: str
    kind: SourceKind
    generation: int
    facts: tuple[LineFact, ...]


def make_message_row(index: int, source: str, offset: int, **changes: object) -> MessageRow:
    """Return a message that is made of one line of the first generation, with other values for some fields."""
    row: dict[str, object] = {
        "index": index,
        "id": f"message-{index}",
        "source": source,
        "lines": (Place(source, 0, offset),),
        "own_lines": 1,
        "rule": "a line of its own",
        "role": "user",
        "types": ("user",),
        "author": "human",
        "lane": "main",
        "is_sidechain": False,
        "time": TIME + index * _SECOND,
    }
    return MessageRow(**{**row, **changes})  # type: ignore[arg-type]


def make_session_row(session_id: str | None = "session-1", **changes: object) -> SessionRow:
    """Return how a session stands in the lists, with other values for some fields."""
    row: dict[str, object] = {
        "index": 0,
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


def make_rows(
    session_id: str, files: tuple[SourceLines, ...], *, folder: str = "", emptied: tuple[str, ...] = ()
) -> DerivedRows:
    """Return rows for the lines of a session's files; `emptied` are chapters that are there no more."""
    chapters = tuple(make_chapter(session_id, file) for file in files if file.kind.has_lines)
    facts = [fact for file in files for fact in file.facts]
    main = next((file.facts for file in files if file.kind is SourceKind.TRANSCRIPT), ())
    prompts = [fact.number for fact in main if fact.type == "user"]
    answers = sum(fact.type == "assistant" for fact in facts)
    times = [fact.time for fact in facts if fact.time is not None]
    return DerivedRows(
        session=make_session_row(
            session_id,
            project=f"/home/ada/{folder}",
            first_time=min(times, default=None),
            last_time=max(times, default=None),
            prompts=len(prompts),
            answers=answers,
            calls=answers,
            lines=len(facts),
            problems=sum(fact.problems for fact in facts),
            cost=f"{answers / 100:.6f}" if answers else None,
        ),
        turns=tuple(
            _turn(index, prompt, (prompts[index + 1] if index + 1 < len(prompts) else len(main)) - prompt)
            for index, prompt in enumerate(prompts)
        ),
        agents=tuple(
            _agent(index, file)
            for index, file in enumerate(file for file in files if file.kind is SourceKind.AGENT)
        ),
        chapters=(*chapters, *map(ChapterRows, emptied)),
    )


def make_chapter(session_id: str, file: SourceLines) -> ChapterRows:
    """Return rows for the lines of one file."""
    answers = [fact for fact in file.facts if fact.type == "assistant"]
    reached = _list_reached(file.facts)
    return ChapterRows(
        file.source,
        tuple(_message(file, fact, reached[fact.number]) for fact in file.facts),
        tuple(_call(index, file, fact, reached[fact.number]) for index, fact in enumerate(answers)),
        tuple(_placement(file, fact, reached[fact.number]) for fact in file.facts),
        tuple(_sighting(index, session_id, file, fact) for index, fact in enumerate(answers)),
    )


def _message(file: SourceLines, fact: LineFact, reached: int | None) -> MessageRow:
    place = Place(file.source, file.generation, fact.offset)
    return make_message_row(
        fact.number,
        file.source,
        fact.offset,
        id=fact.uuid or f"{file.source}:{fact.offset}",
        lines=(place, place) if fact.message_id else (place,),
        role=fact.type,
        types=("thinking", fact.type) if fact.message_id else (fact.type,),
        lane="agent" if fact.agent_id else "main",
        is_sidechain=fact.is_sidechain,
        category="builtin" if fact.message_id else None,
        agent_id=fact.agent_id,
        parent=fact.number - 1 if fact.parent_uuid else None,
        branch=fact.number % 3,
        active=fact == file.facts[-1],
        turn=fact.number // 2,
        time=fact.time,
        model="claude-test-1" if fact.message_id else None,
        aborted=fact.number % 5 == 4,
        calls=1 if fact.message_id else 0,
        reached=reached,
    )


def _placement(file: SourceLines, fact: LineFact, reached: int | None) -> PlacementRow:
    message = None if fact.number % 7 == 6 else fact.number
    if fact.number % 4 != 3:
        return PlacementRow(index=fact.number, source=file.source, message=message)
    tells = fact.number % 8 == 3
    return PlacementRow(
        index=fact.number,
        source=file.source,
        message=message,
        category="hook" if tells else "system",
        name="PreToolUse" if tells else "notice",
        state="failed" if fact.number % 3 == 1 else "note",
        duration_ms=fact.number if tells else None,
        hook="PreToolUse" if tells else None,
        tool_use_id=f"call-{fact.uuid}" if tells and fact.uuid else None,
        time=fact.time,
        reached=reached,
    )


def _list_reached(facts: tuple[LineFact, ...]) -> list[int | None]:
    """Return for each line the latest time that it or one above it has."""
    latest: int | None = None
    found: list[int | None] = []
    for fact in facts:
        if fact.time is not None:
            latest = fact.time if latest is None else max(latest, fact.time)
        found.append(latest)
    return found


def _call(index: int, file: SourceLines, fact: LineFact, reached: int | None) -> CallRow:
    at = Place(file.source, file.generation, fact.offset)
    return CallRow(
        index=index,
        source=file.source,
        id=f"call-{fact.uuid}" if fact.uuid else None,
        name="Edit" if index % 2 else "Bash",
        category="builtin",
        state="resolved" if index % 2 else "unresolved",
        at=at,
        block=index % 3,
        message=fact.number,
        result_at=at if index % 2 else None,
        result_block=index % 3 if index % 2 else None,
        agent_id=fact.agent_id,
        path="/home/ada/project/a.py" if index % 2 else None,
        changes_file=index % 2 == 1,
        started=fact.time,
        ended=fact.time if index % 2 else None,
        line=fact.number,
        reached=reached,
    )


def _turn(index: int, prompt: int, messages: int) -> TurnRow:
    return TurnRow(
        index=index,
        prompt=prompt,
        messages=messages,
        calls=messages - 1,
        agents=index % 2,
        files_changed=index % 3,
        started=TIME + prompt,
        ended=TIME + prompt + messages,
        duration_ms=messages if index % 2 else None,
        input_tokens=messages * 10,
        output_tokens=messages * 20,
        cost=f"0.{index:06}" if index % 2 else None,
    )


def _agent(index: int, file: SourceLines) -> AgentRow:
    agent_id = file.facts[0].agent_id if file.facts else None
    return AgentRow(
        index=index,
        id=agent_id or f"agent-{index}",
        state="done" if file.facts else "empty",
        depth=1 + index % 2,
        inline=False,
        background=index % 2 == 1,
        file=file.source,
        parent_id=f"agent-{index - 1}" if index else None,
        run_id=f"wf_{index}" if index else None,
        type="general-purpose" if file.facts else None,
        description="looks around" if file.facts else None,
        call=index if file.facts else None,
        call_source=file.source if file.facts else None,
        linked_by="prompt" if file.facts else None,
    )


def _sighting(index: int, session_id: str, file: SourceLines, fact: LineFact) -> SightingRow:
    marked = index % 2 == 1
    return SightingRow(
        index=index,
        message_id=fact.message_id or f"{file.source}:{fact.offset}",
        session_id=session_id,
        source=file.source,
        offset=fact.offset,
        time=fact.time,
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

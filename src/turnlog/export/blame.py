"""Which session wrote a line: from the edits in the archive to the session, turn and prompt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath

from msgspec import Struct

from turnlog.store.interface import Store, find_sessions
from turnlog.store.lists import StoredSession
from turnlog.store.model import Scope
from turnlog.store.search.language import parse_query
from turnlog.transcripts.authorship import FileEdit, attribute, read_edit
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import build_call, build_message, decode_lines
from turnlog.transcripts.segments import CallRecord, MessageRecord

_PAGE = 100
_DEEPEST = 32
"""How many agents above one another are followed to the prompt."""
_LONGEST_PROMPT = 300
_EDITORS = frozenset({"Edit", "Write", "MultiEdit"})


class Origin(Struct, frozen=True, gc=False, kw_only=True):
    """The call that wrote a line, and how it came to that."""

    session: str
    """The session's key."""
    session_id: str | None
    title: str | None
    turn: int | None
    """From 1; None where no prompt is known."""
    prompt: str | None
    message_id: str
    """Of the message that made the call."""
    agent_id: str | None
    """The sub-agent whose call it was."""
    tool: str
    time: int | None
    """Microseconds since 1970."""
    same_path: bool
    """Whether it was this very path, and not one that ends as this one does."""


class BlamedLine(Struct, frozen=True, gc=False, kw_only=True):
    """A line of a file, and where it is from."""

    number: int
    """From 1."""
    text: str
    origin: Origin | None
    sure: bool


class _Edit(Struct, frozen=True):
    session: StoredSession
    source: str
    call: CallRecord
    edit: FileEdit
    same_path: bool


def blame(
    store: Store, scope: Scope, path: Path, current: str, *, root: Path | None = None
) -> list[BlamedLine]:
    """Return where each line of a file is from.

    Where no session knows the path itself, those count that end as it does below `root`: a project may have
    been moved, or be checked out more than once.
    """
    edits = list(_list_edits(store, scope, str(path), str(path)))
    if not edits and root is not None and path.is_relative_to(root):
        edits = list(_list_edits(store, scope, str(path.relative_to(root)), str(path)))
    edits.sort(key=lambda each: (each.call.started or 0, each.session.key, each.source, each.call.index))
    found = attribute([each.edit for each in edits], current)
    wanted = {each.edit for each in found if each.edit is not None}
    origins = {number: _find_origin(store, scope, edits[number]) for number in wanted}
    return [
        BlamedLine(
            number=number,
            text=text,
            origin=None if each.edit is None else origins[each.edit],
            sure=each.sure and (each.edit is None or edits[each.edit].same_path),
        )
        for number, (text, each) in enumerate(zip(current.splitlines(), found, strict=True), 1)
    ]


def _list_edits(store: Store, scope: Scope, part: str, path: str) -> Iterator[_Edit]:
    """Yield what sessions did to files whose path is, or ends with, a part."""
    for session, found in _find_calls(store, scope, part):
        with store.open_session(scope, session.key) as records:
            for source, indexes in found.items():
                chapter = records.find_chapter(source)
                for call in () if chapter is None else chapter.list_calls_at(indexes):
                    if chapter is None or call.name not in _EDITORS or not _ends_with(call.path, part):
                        continue
                    numbers = (call.line,) if call.result_line is None else (call.line, call.result_line)
                    edit = read_edit(build_call(call, decode_lines(chapter, numbers)))
                    if edit is not None:
                        yield _Edit(session, source, call, edit, call.path == path)


def _find_calls(store: Store, scope: Scope, part: str) -> Iterator[tuple[StoredSession, dict[str, set[int]]]]:
    """Yield the calls that work on a path, by session and file."""
    query = parse_query(f'file:"{part.replace(chr(34), "")}"')
    found: dict[str, dict[str, set[int]]] = {}
    cursor: str | None = None
    while True:
        page = store.search(scope, query, limit=_PAGE, cursor=cursor)
        for hit in page.hits:
            if hit.session is not None and hit.source is not None and hit.call is not None:
                found.setdefault(hit.session, {}).setdefault(hit.source, set()).add(hit.call)
        cursor = page.next
        if cursor is None:
            break
    for key, calls in found.items():
        for session in find_sessions(store, scope, key)[:1]:
            yield session, calls


def _ends_with(path: str | None, part: str) -> bool:
    """Tell whether a path is another, or ends with it from a folder's name on."""
    asked = PurePath(part).parts
    return path is not None and PurePath(path.replace("\\", "/")).parts[-len(asked) :] == asked


def _find_origin(store: Store, scope: Scope, made: _Edit) -> Origin:
    session, call = made.session, made.call
    with store.open_session(scope, session.key) as records:
        chapter = records.find_chapter(made.source)
        message = None if chapter is None else _find_message(chapter, call)
        turn = None if chapter is None else _find_turn(records, chapter, message)
        prompt = None if turn is None else _read_prompt(records, turn)
    return Origin(
        session=session.key,
        session_id=session.row.session_id,
        title=session.marks.name or session.row.title,
        turn=None if turn is None else turn + 1,
        prompt=prompt,
        message_id="" if message is None else message.id,
        agent_id=None if message is None else message.agent_id,
        tool=call.name,
        time=call.started,
        same_path=made.same_path,
    )


def _find_message(chapter: Chapter, call: CallRecord) -> MessageRecord | None:
    rows = [] if call.message is None else chapter.list_at([call.message])
    return rows[0] if rows else None


def _find_turn(session: SessionRecords, chapter: Chapter, message: MessageRecord | None) -> int | None:
    """Return the turn that a message belongs to; of an agent's, that of its call."""
    for _ in range(_DEEPEST):
        if message is None or message.turn is not None:
            return None if message is None else message.turn
        started = next((agent for agent in session.list_agents() if agent.file == chapter.source), None)
        caller = None if started is None else session.find_chapter(started.call_source or "")
        if started is None or started.call is None or caller is None:
            return None
        calls = caller.list_calls_at([started.call])
        chapter, message = caller, _find_message(caller, calls[0]) if calls else None
    return None


def _read_prompt(session: SessionRecords, turn: int) -> str:
    """Return how the prompt of a turn begins."""
    turns, main = session.list_turns(turn, 1), session.main
    rows = [] if main is None or not turns else main.list_at([turns[0].prompt])
    if main is None or not rows:
        return ""
    lines = decode_lines(main, rows[0].lines[: rows[0].own_lines])
    return " ".join(build_message(rows[0], lines).text.split())[:_LONGEST_PROMPT]

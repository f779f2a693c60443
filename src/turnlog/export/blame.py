"""Which session wrote a line: from the edits in the archive to the session, turn and prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from msgspec import Struct

from turnlog.messages import Line, Position, decode
from turnlog.store.identity import Place, Scope
from turnlog.store.interface import Store
from turnlog.store.lists import StoredSession
from turnlog.store.rows import CallRow, MessageRow
from turnlog.store.search.parsing import parse_query
from turnlog.transcripts.authorship.edits import FileEdit, read_edit
from turnlog.transcripts.authorship.lines import attribute
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.conversation.conversation import Conversation

__all__ = ["BlamedLine", "Origin", "blame"]

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
    row: CallRow
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
    edits.sort(key=lambda each: (each.row.started or 0, each.session.key, each.row.source, each.row.index))
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
    for session, source, indexes in _find_calls(store, scope, part):
        rows = store.list_calls_at(scope, session.key, sorted(indexes), source=source)
        wanted = [row for row in rows if row.name in _EDITORS and row.path and _ends_with(row.path, part)]
        for row in wanted:
            call = _read_call(store, scope, row)
            edit = None if call is None else read_edit(call)
            if edit is not None:
                yield _Edit(session, row, edit, row.path == path)


def _find_calls(store: Store, scope: Scope, part: str) -> Iterator[tuple[StoredSession, str, set[int]]]:
    """Yield the calls that work on a path, by session and file."""
    query = parse_query(f'file:"{part.replace(chr(34), "")}"')
    found: dict[tuple[str, str], set[int]] = {}
    cursor: str | None = None
    while True:
        page = store.search(scope, query, limit=_PAGE, cursor=cursor)
        for hit in page.hits:
            if hit.session is not None and hit.source is not None and hit.call is not None:
                found.setdefault((hit.session, hit.source), set()).add(hit.call)
        cursor = page.next
        if cursor is None:
            break
    sessions = {key: store.find_sessions(scope, key) for key in {key for key, _ in found}}
    for (key, source), indexes in found.items():
        for session in sessions[key][:1]:
            yield session, source, indexes


def _ends_with(path: str, part: str) -> bool:
    """Tell whether a path is another, or ends with it from a folder's name on."""
    asked = PurePath(part).parts
    return PurePath(path.replace("\\", "/")).parts[-len(asked) :] == asked


def _read_call(store: Store, scope: Scope, row: CallRow) -> Call | None:
    places = [row.at] if row.result_at is None else [row.at, row.result_at]
    lines = _read_lines(store, scope, places)
    calls = Conversation(lines).calls
    return next((call for call in calls if call.id == row.id and call.place.index == row.block), None)


def _read_lines(store: Store, scope: Scope, places: Sequence[Place]) -> list[Line]:
    distinct = list(dict.fromkeys(places))
    found = store.read_lines(scope, distinct)
    return [
        decode(data, at=Position(place.source, place.offset))
        for place, data in zip(distinct, found, strict=True)
    ]


def _find_origin(store: Store, scope: Scope, made: _Edit) -> Origin:
    session, row = made.session, made.row
    message = _find_message(store, scope, session.key, row.source, row.message)
    turn = _find_turn(store, scope, session.key, message)
    return Origin(
        session=session.key,
        session_id=session.row.session_id,
        title=session.marks.name or session.row.title,
        turn=None if turn is None else turn[0] + 1,
        prompt=None if turn is None else turn[1],
        message_id="" if message is None else message.id,
        agent_id=None if message is None else message.agent_id,
        tool=row.name,
        time=row.started,
        same_path=made.same_path,
    )


def _find_message(store: Store, scope: Scope, key: str, source: str, index: int | None) -> MessageRow | None:
    rows = [] if index is None else store.list_at(scope, key, [index], source=source)
    return rows[0] if rows else None


def _find_turn(store: Store, scope: Scope, key: str, message: MessageRow | None) -> tuple[int, str] | None:
    """Return the turn that a message belongs to and how its prompt begins; of an agent's, that of its call."""
    agents = None
    for _ in range(_DEEPEST):
        if message is None:
            return None
        if message.turn is not None:
            return message.turn, _read_prompt(store, scope, key, message.turn)
        agents = store.list_agents(scope, key) if agents is None else agents
        started = next((agent for agent in agents if agent.file == message.source), None)
        if started is None or started.call is None or started.call_source is None:
            return None
        calls = store.list_calls_at(scope, key, [started.call], source=started.call_source)
        message = _find_message(store, scope, key, calls[0].source, calls[0].message) if calls else None
    return None


def _read_prompt(store: Store, scope: Scope, key: str, turn: int) -> str:
    turns = store.list_turns(scope, key, first=turn, count=1)
    rows = store.list_at(scope, key, [turns[0].prompt]) if turns else []
    messages = Conversation(_read_lines(store, scope, rows[0].lines)).messages if rows else ()
    return " ".join(messages[0].text.split())[:_LONGEST_PROMPT] if messages else ""

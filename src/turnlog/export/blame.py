"""Which session wrote a line: from the edits in the archive to the session, turn and prompt.

A file is followed from edit to edit. Where an edit tells what the file was before, what changed since the last
one was done by somebody else; lines that stayed keep their origin, wherever they moved. What cannot be played
again, because nobody knows what it was applied to, is remembered by its words: a line that has them is
attributed to it, and said to be unsure.

To tell what a call did to a file, the result is trusted more than the input: a person may have changed an edit
before it was made, and newer versions tell the whole file as it was before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path, PurePath

from msgspec import Struct

from turnlog.messages.tool_io import files
from turnlog.store.interface import Store, find_sessions
from turnlog.store.lists import StoredSession
from turnlog.store.model import Scope
from turnlog.store.search.language import parse_query
from turnlog.transcripts.calls import Call
from turnlog.transcripts.kinds import CallState
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import build_call, build_message, decode_lines
from turnlog.transcripts.segments import CallRecord, MessageRecord


class Replacement(Struct, frozen=True, gc=False):
    """A piece of a file, and what it became."""

    old: str
    new: str
    everywhere: bool = False


class FileEdit(Struct, frozen=True, gc=False, kw_only=True):
    """What a call did to a file: wrote all of it, or replaced pieces."""

    before: str | None = None
    """The whole file before, if that is told."""
    content: str | None = None
    """The whole file after, if it was written anew."""
    replacements: tuple[Replacement, ...] = ()


def read_edit(call: Call) -> FileEdit | None:
    """Return what a call did to its file; None if it did nothing, or does not tell."""
    if call.state is not CallState.RESOLVED:
        return None
    given, seen = call.view_input().value, call.view_result()
    told = None if seen is None else seen.value
    before = getattr(told, "original_file", None) or getattr(told, "original_file_contents", None)
    before = before if isinstance(before, str) else None
    match given:
        case files.WriteInput():
            content = told.content if isinstance(told, files.WriteResult) else None
            written = content if isinstance(content, str) else given.content
            return FileEdit(before=before, content=written) if isinstance(written, str) else None
        case files.EditInput():
            made = told if isinstance(told, files.EditResult) else given
            return FileEdit(before=before, replacements=_read_replacements((made,)))
        case files.MultiEditInput():
            several = told.edits if isinstance(told, files.MultiEditResult) else given.edits
            made_all = several if isinstance(several, tuple) else ()
            return FileEdit(before=before, replacements=_read_replacements(made_all))
        case _:
            return None


def _read_replacements(edits: tuple[object, ...]) -> tuple[Replacement, ...]:
    found = []
    for edit in edits:
        old, new = getattr(edit, "old_string", None), getattr(edit, "new_string", None)
        if isinstance(old, str) and isinstance(new, str):
            found.append(Replacement(old, new, getattr(edit, "replace_all", None) is True))
    return tuple(found)


_TELLING = 6
"""How many characters a line has at least that is recognised by its words alone."""


class Authorship(Struct, frozen=True, gc=False):
    """Where a line is from."""

    edit: int | None
    """The number of the edit that wrote it; None if none of them did."""
    sure: bool
    """Whether the way from that edit to this line is known, and not only its words."""


_NOBODY = Authorship(None, True)


def attribute(edits: Iterable[FileEdit], current: str) -> list[Authorship]:
    """Return who wrote each line of a file, given all edits in order and what it says now."""
    file = _File()
    for number, edit in enumerate(edits):
        file.play(number, edit)
    return file.finish(current.splitlines())


class _File:
    """A file on its way through its edits."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._origins: list[Authorship] = []
        self._known = False
        """Whether the lines are those of the file, and not just of parts of it."""
        self._words: dict[str, int] = {}
        """Which edit last wrote a line with these words."""

    def play(self, number: int, edit: FileEdit) -> None:
        """Take an edit."""
        if edit.before is not None:
            self._become(edit.before.splitlines(), _NOBODY)
            self._known = True
        if edit.content is not None:
            after: str | None = edit.content
        elif self._known:
            after = _replace("\n".join(self._lines), edit)
        else:
            after = None
        written = edit.content or "\n".join(each.new for each in edit.replacements)
        self._words |= {line.strip(): number for line in written.splitlines()}
        if after is None:
            self._known = False  # something was changed, and nobody knows where
            return
        self._become(after.splitlines(), Authorship(number, True))
        self._known = True

    def finish(self, lines: list[str]) -> list[Authorship]:
        """Return who wrote the lines that the file has now."""
        self._become(lines, _NOBODY)
        return [
            self._guess(line) if origin.edit is None else origin
            for line, origin in zip(self._lines, self._origins, strict=True)
        ]

    def _guess(self, line: str) -> Authorship:
        words = line.strip()
        number = self._words.get(words) if len(words) >= _TELLING else None
        return _NOBODY if number is None else Authorship(number, False)

    def _become(self, lines: list[str], origin: Authorship) -> None:
        """Make the file another; lines that stay keep their origin, all others get this one."""
        if lines == self._lines:
            return
        origins = [origin] * len(lines)
        for old, new, count in _match(self._lines, lines):
            origins[new : new + count] = self._origins[old : old + count]
        self._lines, self._origins = lines, origins


def _replace(text: str, edit: FileEdit) -> str | None:
    for each in edit.replacements:
        if each.old not in text:
            return None
        text = text.replace(each.old, each.new, -1 if each.everywhere else 1)
    return text


def _match(old: Sequence[str], new: Sequence[str]) -> Iterable[tuple[int, int, int]]:
    """Yield stretches that two texts share; what they begin and end with is found without comparing all."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    most -= head
    tail = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    yield 0, 0, head
    inner = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    for block in inner.get_matching_blocks():
        yield head + block.a, head + block.b, block.size
    yield len(old) - tail, len(new) - tail, tail


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

"""Correcting stored tool messages that have the wrong parents (spec 003).

Documents used to be stored with tool messages beside the message they were taken out of, and without the mark
of a sidechain. Readers accept both structures; this rewrites files of such documents, be they one to a line, an
array or the pretty-printed objects of `mongoexport`, and changes no byte but those of the wrong values.

A file is read twice: once for the ids, from which the right parents follow, and once to write it. So memory
holds ids, and never what the documents say. What cannot be told for sure is left as it is, and listed.

In old documents the parent of a tool message is that of the message it was taken out of, so it says little. The
name, the call's id and the messages around it say more. Only ids are kept of all that: memory does not grow
with what the documents say.

No decision rests on another document's parent, nor on the order of the file. So it is the same when it is made
again after the parents were corrected.

A call or a result that is a document of its own has the ids that tell where it belongs in one of several
places: its name (`{uuid}_tool_{i}`), the JSON text of its block, or the whole message that it was taken out of.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from enum import StrEnum
from functools import cached_property
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from turnlog.atomic_files import replacing
from turnlog.errors import MigrationError
from turnlog.messages import UNSET, Dialect, Line, Position, Raw, UnsetType, decode
from turnlog.messages.blocks import ToolResultBlock
from turnlog.messages.entries import AssistantEntry
from turnlog.messages.legacy import Api003, Document003, StoredType
from turnlog.messages.salvage import REFUSALS, decoder, text_of
from turnlog.messages.sdk.messages import AssistantMessage
from turnlog.transcripts.call_builder import find_parent, list_links, session_of
from turnlog.transcripts.calls import Pairing, Place, read_result
from turnlog.transcripts.conversation.lineage import cut_circles
from turnlog.transcripts.line_reader import LineSplitter
from turnlog.transcripts.lines.content import ResultBlock, find_stored_type, is_call, is_result, list_blocks


class CorrectionKind(StrEnum):
    """What was wrong with a tool message."""

    CALL_PARENT = "tool-use-parent"
    """A call that did not hang under the assistant it was taken out of."""
    RESULT_PARENT = "result-parent"
    """A result that did not hang under its call."""
    SIDECHAIN = "sidechain-flag"
    """The flag that marks tool messages was missing or false."""


class LeftReason(StrEnum):
    """Why something was left as it is."""

    CONTAINER_MISSING = "container-missing"
    """No assistant of this session in the file is the one that the call was taken out of."""
    CALL_MISSING = "call-missing"
    """The call that the result answers is no document of this session in the file."""
    AMBIGUOUS = "ambiguous"
    """Several parents fit."""
    CIRCLE = "circle"
    """The right parent hangs under this very document."""
    BROKEN = "broken"
    """Not a JSON object."""
    TORN = "torn"
    """The end of the file, which is not a whole object."""


class Correction(Struct, frozen=True, gc=False, kw_only=True):
    """A document that is written anew."""

    at: Position
    size: int
    """How many bytes it has in the source."""
    uuid: str | None
    kinds: tuple[CorrectionKind, ...]
    old_parent: str | None
    parent: str | None = None
    """The new parent; None where only the flag is corrected."""


class Leftover(Struct, frozen=True, gc=False):
    """Something that was left as it is; its flag may be corrected all the same."""

    at: Position
    reason: LeftReason
    uuid: str | None = None


class Migration(Struct, frozen=True, gc=False, kw_only=True):
    """What a migration found and did, in the order of the file."""

    documents: int
    """All objects of the file, of whatever type."""
    tool_uses: int
    tool_results: int
    right: int
    """Tool messages that are as they should be."""
    corrections: tuple[Correction, ...] = ()
    left: tuple[Leftover, ...] = ()

    @property
    def changed(self) -> int:
        """How many documents are written anew."""
        return len(self.corrections)

    def count_corrections(self) -> dict[CorrectionKind, int]:
        """Return how often each kind of correction was made; a document may need two."""
        found = Counter(kind for correction in self.corrections for kind in correction.kinds)
        return {kind: found[kind] for kind in CorrectionKind if found[kind]}

    def count_left(self) -> dict[LeftReason, int]:
        """Return how often each reason to leave something applied."""
        found = Counter(leftover.reason for leftover in self.left)
        return {reason: found[reason] for reason in LeftReason if found[reason]}


class _Origin:
    """What is known of a message that has calls or results in it, or could have had."""

    def __init__(self) -> None:
        self.sessions: dict[str, None] = {}  # those in which it is an assistant's
        self.calls: dict[int, str | None] = {}
        self.answers: dict[int, Answer] = {}
        self.taken_calls: dict[int, None] = {}  # those that stand as documents of their own
        self.taken_answers: dict[int, None] = {}

    def take(self, kind: StoredType, number: int) -> None:
        """Note that a call or a result stands as a document of its own."""
        (self.taken_calls if kind is StoredType.TOOL_USE else self.taken_answers)[number] = None

    @cached_property
    def numbers_calls(self) -> bool:
        """Whether the numbers of documents are places here: some count the calls alone, and not all blocks."""
        return self.taken_calls.keys() <= self.calls.keys()

    @cached_property
    def numbers_answers(self) -> bool:
        """The same for results."""
        return self.taken_answers.keys() <= self.answers.keys()


class _StoredCall(Struct, eq=False):
    """What is known of a call that stands as a document."""

    name: tuple[str, int] | None
    sessions: dict[str, None] = {}
    id: str | None = None


class StoredParents:
    """What the lines of a file tell about where its tool messages belong; all are added before it is asked."""

    def __init__(self) -> None:
        self._origins: dict[str, _Origin] = {}
        self._calls: dict[str, _StoredCall] = {}
        self._held: dict[str, dict[tuple[str, int], None]] = {}  # by the call's id: its places in messages
        self._stored: dict[str, dict[str, None]] = {}  # by the call's id: its documents
        self._found: dict[tuple[StoredType, str, str], dict[str, None]] = {}  # what was looked up by id before

    def add(self, line: Line) -> ToolDocument | None:
        """Take a line, in any order, and return what it is if it is a tool message."""
        document = find_tool(line)
        if document is None:
            self._add_message(line)
            return None
        if document.name is not None:
            self._origin(document.name[0]).take(document.kind, document.name[1])
        if document.kind is StoredType.TOOL_USE and document.uuid is not None:
            self._add_call(document.uuid, document)
        return document

    def find_home(self, document: ToolDocument) -> str | LeftReason:
        """Return the uuid of the right parent, or why it cannot be told. All lines must have been added."""
        if document.kind is StoredType.TOOL_USE:
            return self._find_container(document)
        return self._find_call(document)

    def _origin(self, uuid: str) -> _Origin:
        return self._origins.setdefault(uuid, _Origin())

    def _add_message(self, line: Line) -> None:
        uuid = Place(line, 0).uuid
        if uuid is None:
            return
        if isinstance(line.entry, AssistantEntry | AssistantMessage):
            self._origin(uuid).sessions[session_of(line)] = None
        for index, block in enumerate(list_blocks(line.entry)):
            if is_result(block):
                self._origin(uuid).answers[index] = read_answer(line, index, block)
            elif is_call(block):
                identity = block.id if isinstance(block.id, str) else None
                self._origin(uuid).calls[index] = identity
                if identity is not None:
                    self._held.setdefault(identity, {})[uuid, index] = None

    def _add_call(self, uuid: str, document: ToolDocument) -> None:
        call = self._calls.setdefault(uuid, _StoredCall(document.name))
        call.sessions[document.session] = None
        if document.tool_use_id is not None:
            call.id = document.tool_use_id
            self._stored.setdefault(document.tool_use_id, {})[uuid] = None

    def _find_container(self, document: ToolDocument) -> str | LeftReason:
        name, parent = document.name, document.parent
        if name is not None and self._is_assistant(name[0], document):
            return name[0]
        holders = self._look_up(StoredType.ASSISTANT, document.tool_use_id, document)
        if holders:
            return _choose(holders, (parent,))
        if parent is not None and (name[0] == parent if name else self._is_assistant(parent, document)):
            return parent  # as right as can be told
        return LeftReason.CONTAINER_MISSING

    def _find_call(self, document: ToolDocument) -> str | LeftReason:
        answer, links = self._find_answer(document), document.links
        identity = document.tool_use_id
        if answer is not None:
            identity = identity or answer.tool_use_id
            links = (*answer.sources, *links, *answer.parents)
        named = self._look_up(StoredType.TOOL_USE, identity, document)
        if named:
            return _choose(named, (document.parent, *links))
        for link in links:
            found = self._find_at(link, identity, document)
            if found is not None:
                return found
        if document.name is not None and document.parent == "{}_tool_{}".format(*document.name):
            return document.parent  # its call is not in the file, but this is what it must be called
        return LeftReason.CALL_MISSING

    def _find_answer(self, document: ToolDocument) -> Answer | None:
        """Return the result in the message that a document was taken out of."""
        if document.name is None:
            return None
        origin = self._origin(document.name[0])
        return origin.answers.get(document.name[1]) if origin.numbers_answers else None

    def _look_up(self, kind: StoredType, identity: str | None, document: ToolDocument) -> Collection[str]:
        """Return the assistants that hold the call with this id, or the documents that are it."""
        if identity is None:
            return ()
        key = (kind, identity, document.session)
        if key not in self._found:
            listed, is_there = self._list_calls(identity), self._is_call
            if kind is StoredType.ASSISTANT:
                listed, is_there = (uuid for uuid, _ in self._held.get(identity, ())), self._is_assistant
            self._found[key] = dict.fromkeys(uuid for uuid in listed if is_there(uuid, document))
        return self._found[key]

    def _list_calls(self, identity: str) -> Iterable[str]:
        yield from self._stored.get(identity, ())
        for uuid, index in self._held.get(identity, ()):
            named = f"{uuid}_tool_{index}"
            if named in self._calls and self._id_of(named) == identity:
                yield named

    def _id_of(self, uuid: str) -> str | None:
        """Return a call's id, be it told by its document or by the message that it was taken out of."""
        call = self._calls[uuid]
        if call.id is not None or call.name is None:
            return call.id
        origin = self._origin(call.name[0])
        return origin.calls.get(call.name[1]) if origin.numbers_calls else None

    def _find_at(self, link: str, identity: str | None, document: ToolDocument) -> str | LeftReason | None:
        """Return the call that a link leads to: a document, or the only one that fits of those of a message."""
        if self._may_answer(link, identity, document):
            return link
        if not self._is_assistant(link, document):
            return None
        origin = self._origin(link)
        names = (f"{link}_tool_{index}" for index in origin.taken_calls)
        fitting = [*islice((name for name in names if self._may_answer(name, identity, document)), 2)]
        if len(fitting) == 1 and len(origin.calls) <= len(origin.taken_calls):
            return fitting[0]
        quoted = self._look_up(StoredType.TOOL_USE, document.quoted_id, document)
        if len(quoted) == 1:
            [call] = quoted
            if call.startswith(f"{link}_tool_") and self._may_answer(call, identity, document):
                return call
        return LeftReason.AMBIGUOUS if fitting else None

    def _may_answer(self, uuid: str, identity: str | None, document: ToolDocument) -> bool:
        """Tell whether a result may answer a call: ids that differ are never joined."""
        if not self._is_call(uuid, document):
            return False
        return identity is None or self._id_of(uuid) in (None, identity)

    def _is_call(self, uuid: str, document: ToolDocument) -> bool:
        return uuid in self._calls and _is_shared(self._calls[uuid].sessions, document.session)

    def _is_assistant(self, uuid: str, document: ToolDocument) -> bool:
        return uuid in self._origins and _is_shared(self._origins[uuid].sessions, document.session)


def _is_shared(sessions: Collection[str], session: str) -> bool:
    """Tell whether one of the sessions is this one; documents that name none may belong to any."""
    return bool(sessions) and (session == "" or session in sessions or "" in sessions)


def _choose(candidates: Collection[str], preferred: Iterable[str | None]) -> str | LeftReason:
    """Return the only candidate, or the first that is preferred."""
    if len(candidates) == 1:
        return next(iter(candidates))
    return next((uuid for uuid in preferred if uuid is not None and uuid in candidates), LeftReason.AMBIGUOUS)


_NAME = re.compile(r"(.+)_(tool|result)_(0|[1-9]\d{0,8})", re.DOTALL)
_PARTS = {StoredType.TOOL_USE: "tool", StoredType.TOOL_RESULT: "result"}


class ToolDocument(Struct, frozen=True, gc=False, kw_only=True):
    """A tool message: what it is, where it stands, and whom it names."""

    at: Position
    size: int
    kind: StoredType
    uuid: str | None
    parent: str | None
    session: str
    is_sidechain: bool
    tool_use_id: str | None = None
    """The id of the call, as far as the document itself tells."""
    quoted_id: str | None = None
    """An id in a result's text, which may be the tool's own words: it only decides between calls that fit."""
    links: tuple[str, ...] = ()
    """What a result points to, the best first."""

    @property
    def name(self) -> tuple[str, int] | None:
        """The uuid of the message that it was taken out of, and its place there; None if that is not told."""
        found = _NAME.fullmatch(self.uuid or "")
        return None if found is None or found[2] != _PARTS[self.kind] else (found[1], int(found[3]))


class Answer(Struct, frozen=True, gc=False):
    """What a result tells of its call."""

    tool_use_id: str | None
    sources: tuple[str, ...]
    parents: tuple[str, ...]


class _BlockText(Struct):
    """As much of a block in JSON text as names the call; all else is skipped."""

    type: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    tool_use_id: Raw | UnsetType = UNSET


def find_tool(line: Line) -> ToolDocument | None:
    """Return what is to be known of a tool message; None for any other line, and for one without a place."""
    kind = find_stored_type(line)
    if kind is None or kind not in _PARTS or line.at is None or line.unread:
        return None
    document = ToolDocument(
        at=line.at,
        size=line.length,
        kind=kind,
        uuid=Place(line, 0).uuid,
        parent=find_parent(line),
        session=session_of(line),
        is_sidechain=getattr(line.entry, "is_sidechain", None) is True,
    )
    return _identify_call(document, line) if kind is StoredType.TOOL_USE else _identify_result(document, line)


def read_answer(line: Line, index: int, block: ResultBlock) -> Answer:
    """Return what a result tells of its call."""
    result = read_result(Place(line, index), block)
    links = list_links(result)
    return Answer(
        result.tool_use_id,
        tuple(uuid for uuid, pairing in links if pairing is Pairing.SOURCE),
        tuple(uuid for uuid, pairing in links if pairing is not Pairing.SOURCE),
    )


def _identify_call(document: ToolDocument, line: Line) -> ToolDocument:
    calls = {i: block for i, block in enumerate(list_blocks(line.entry)) if is_call(block)}
    index = _find_own(document, calls)
    told = UNSET if index is None else calls[index].id
    identity = _read_quoted(line, "id") or (told if isinstance(told, str) else None)
    return replace(document, tool_use_id=identity)


def _identify_result(document: ToolDocument, line: Line) -> ToolDocument:
    results = {i: block for i, block in enumerate(list_blocks(line.entry)) if is_result(block)}
    index = _find_own(document, results)
    answer = read_answer(line, 0, ToolResultBlock() if index is None else results[index])
    links = (*answer.sources, *answer.parents)
    quoted = _read_quoted(line, "tool_use_id")
    return replace(document, tool_use_id=answer.tool_use_id, quoted_id=quoted, links=links)


def _find_own(document: ToolDocument, blocks: Mapping[int, object]) -> int | None:
    """Return which of its blocks a document is about: it may hold the whole message it was taken out of."""
    if len(blocks) == 1:
        return next(iter(blocks))
    return document.name[1] if document.name is not None and document.name[1] in blocks else None


def _read_quoted(line: Line, key: str) -> str | None:
    """Return an id out of the block that a document holds as JSON text, if it does."""
    content = line.wire.content if isinstance(line.wire, Document003 | Api003) else None
    if not isinstance(content, str) or not content.lstrip().startswith("{"):
        return None
    try:
        block: _BlockText = decoder(_BlockText).decode(content)
    except REFUSALS:
        return None
    if _text(block.type) != find_stored_type(line):
        return None
    return _text(getattr(block, key))


def _text(raw: Raw | UnsetType) -> str | None:
    return None if isinstance(raw, UnsetType) else text_of(raw)


_PARENT_KINDS = {
    StoredType.TOOL_USE: CorrectionKind.CALL_PARENT,
    StoredType.TOOL_RESULT: CorrectionKind.RESULT_PARENT,
}


class MigrationPlanner:
    """Takes the lines of one file, and then tells which documents are to be corrected."""

    def __init__(self) -> None:
        self._parents = StoredParents()
        self._tools: list[ToolDocument] = []
        self._named_parents: dict[str, str | None] = {}  # the parent that each message names
        self._left: list[Leftover] = []
        self._documents = 0

    def add(self, line: Line) -> None:
        """Take the next line of a file."""
        if line.dialect is Dialect.UNKNOWN:
            assert line.at is not None
            self.leave(line.at, LeftReason.BROKEN)
            return
        self._documents += 1
        document = self._parents.add(line)
        if document is not None:
            self._tools.append(document)
        uuid = Place(line, 0).uuid
        if uuid is not None:
            self._named_parents.setdefault(uuid, find_parent(line))

    def leave(self, at: Position, reason: LeftReason, uuid: str | None = None) -> None:
        """Note something that stays as it is."""
        self._left.append(Leftover(at, reason, uuid))

    def build(self) -> Migration:
        """Return what is to be done."""
        homes = [self._parents.find_home(document) for document in self._tools]
        circling = self._list_circling(homes)
        corrections: list[Correction] = []
        right = 0
        for document, home in zip(self._tools, homes, strict=True):
            reason = self._find_obstacle(document, home, circling)
            correction = _correct(document, None if reason else str(home))
            if reason is not None:
                self.leave(document.at, reason, document.uuid)
            if correction is not None:
                corrections.append(correction)
            right += reason is None and correction is None
        kinds = Counter(document.kind for document in self._tools)
        return Migration(
            documents=self._documents,
            tool_uses=kinds[StoredType.TOOL_USE],
            tool_results=kinds[StoredType.TOOL_RESULT],
            right=right,
            corrections=tuple(corrections),
            left=tuple(sorted(self._left, key=lambda leftover: leftover.at.offset)),
        )

    def _find_obstacle(
        self, document: ToolDocument, home: str | LeftReason, circling: Container[str | None]
    ) -> LeftReason | None:
        if isinstance(home, LeftReason):
            return home
        return LeftReason.CIRCLE if home != document.parent and document.uuid in circling else None

    def _list_circling(self, homes: Sequence[str | LeftReason]) -> set[str]:
        """Return the uuids that would lead round in a circle if every document went to its home."""
        told = dict(self._named_parents)
        for document, home in zip(self._tools, homes, strict=True):
            if document.uuid is not None and not isinstance(home, LeftReason):
                told[document.uuid] = home
        positions = {uuid: position for position, uuid in enumerate(told)}
        parents = [None if parent is None else positions.get(parent) for parent in told.values()]
        whole, uuids, circling = list(parents), list(told), set[str]()
        for first in cut_circles(parents):
            at: int | None = first
            while at is not None and uuids[at] not in circling:
                circling.add(uuids[at])
                at = whole[at]
        return circling


def _correct(document: ToolDocument, home: str | None) -> Correction | None:
    """Return what is to be changed in a document, or None; without a home its parent is left."""
    kinds: list[CorrectionKind] = []
    moves = home is not None and home != document.parent
    if moves:
        kinds.append(_PARENT_KINDS[document.kind])
    if not document.is_sidechain:
        kinds.append(CorrectionKind.SIDECHAIN)
    if not kinds:
        return None
    return Correction(
        at=document.at,
        size=document.size,
        uuid=document.uuid,
        kinds=tuple(kinds),
        old_parent=document.parent,
        parent=home if moves else None,
    )


OnProgress = Callable[[int, int], None]
"""Is told how many bytes are done, and of how many."""
_CHUNK = 1 << 18
_OWNER_ONLY = stat.S_IRUSR | stat.S_IWUSR


def plan_migration(source: str | Path, *, on_progress: OnProgress | None = None) -> Migration:
    """Return what migrating a file would do; raises as `migrate` does."""
    with closing(_Source(Path(source), on_progress, passes=1)) as file:
        return file.plan()


def migrate(
    source: str | Path,
    target: str | Path,
    *,
    in_place: bool = False,
    force: bool = False,
    dry_run: bool = False,
    on_progress: OnProgress | None = None,
) -> Migration:
    """Write the file `source` to `target` with the tool messages corrected, and return what was done.

    `target` is whole or not there: it is written beside its place and moved at the end. Only its owner may read
    it. Migrating again changes nothing; what is migrated in place and has nothing wrong is not touched.

    Raises `MigrationError` if `target` is there and may not be overwritten (`force`), if it is `source` itself
    and that was not asked for (`in_place`), or if `source` changed meanwhile; `OSError` if reading or writing
    fails. With `dry_run` nothing is written, and all else is the same.
    """
    with closing(_Source(Path(source), on_progress, passes=1 if dry_run else 2)) as file:
        goal, itself = file.check_target(Path(target), in_place, force)
        plan = file.plan()
        if not dry_run and not (itself and not plan.corrections):
            with replacing(goal, file.mode) as copy:
                file.write(plan, copy)
                if not (itself or force):
                    _check_absent(goal)  # somebody else may have made it meanwhile
        return plan


def _check_absent(target: Path) -> None:
    if os.path.lexists(target):
        raise MigrationError("already exists", os.fspath(target))


class _Source:
    """The file that is migrated, held open from the first look to the last."""

    def __init__(self, path: Path, on_progress: OnProgress | None, passes: int) -> None:
        self._path = path
        self._on_progress = on_progress
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise MigrationError("is not a regular file", os.fspath(path))
        self._file = FileIO(os.fspath(path))
        self._status = os.fstat(self._file.fileno())
        self._total = passes * self._status.st_size
        self._done = 0

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    @property
    def mode(self) -> int:
        """The permissions of a copy: the owner's, as far as the source gives them."""
        return stat.S_IMODE(self._status.st_mode) & _OWNER_ONLY

    def check_target(self, target: Path, in_place: bool, force: bool) -> tuple[Path, bool]:
        """Return the path to write to, and whether it is the source itself."""
        if target.exists() and os.path.samestat(target.stat(), self._status):
            if not in_place:
                raise MigrationError("is the file to migrate", os.fspath(target))
            return target.resolve(), True
        if not force:
            _check_absent(target)
        if target.is_dir() or not target.parent.is_dir():
            raise MigrationError("cannot be written as a file", os.fspath(target))
        return target, False

    def plan(self) -> Migration:
        """Read the file for the first time, and return what is to be done."""
        planner, source = MigrationPlanner(), os.fspath(self._path)
        splitter = LineSplitter(source)
        for chunk in self._chunks(self._status.st_size):
            for line in splitter.feed(chunk):
                planner.add(line)
        for line in splitter.finish():
            planner.add(line)
        if splitter.tail is not None:
            planner.leave(Position(source, splitter.tail.offset), LeftReason.TORN)
        plan = planner.build()
        self._check_unchanged()
        return plan

    def write(self, plan: Migration, copy: BinaryIO) -> None:
        """Read the file for the second time, and write it with the corrections."""
        self._file.seek(0)
        for correction in plan.corrections:
            copy.writelines(self._chunks(correction.at.offset - self._file.tell()))
            copy.write(self._correct(correction))
            self._tick(correction.size)
        copy.writelines(self._chunks(self._status.st_size - self._file.tell()))
        self._check_unchanged()

    def _chunks(self, size: int) -> Iterator[bytes]:
        """Yield the next bytes, piece by piece; a file that grows meanwhile has no more of them."""
        for done in range(0, size, _CHUNK):
            chunk = self._read(min(size - done, _CHUNK))
            yield chunk
            self._tick(len(chunk))

    def _correct(self, correction: Correction) -> bytes:
        """Read the document that begins here, and return it corrected."""
        line = decode(self._read(correction.size))
        self._check_unchanged()
        changes: dict[str, Any] = {"is_sidechain": True}
        if correction.parent is not None:
            changes["parent_uuid"] = correction.parent
        return line.replace(**changes).raw

    def _read(self, size: int) -> bytes:
        pieces: list[bytes] = []
        while size > 0:
            piece = self._file.read(size)
            if not piece:
                raise self._changed()
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _check_unchanged(self) -> None:
        before, now = self._status, os.fstat(self._file.fileno())
        if (before.st_size, before.st_mtime_ns) != (now.st_size, now.st_mtime_ns):
            raise self._changed()

    def _changed(self) -> MigrationError:
        return MigrationError("changed while it was read", os.fspath(self._path))

    def _tick(self, size: int) -> None:
        self._done += size
        if self._on_progress is not None:
            self._on_progress(min(self._done, self._total), self._total)

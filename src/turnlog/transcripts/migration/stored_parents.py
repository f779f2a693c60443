"""Where the tool messages of spec 003 belong.

In old documents the parent of a tool message is that of the message it was taken out of, so it says little.
The name, the call's id and the messages around it say more. Only ids are kept of all that: memory does not grow
with what the documents say.

No decision rests on another document's parent, nor on the order of the file. So it is the same when it is made
again after the parents were corrected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import islice

from turnlog.messages import Line
from turnlog.messages.entries import AssistantEntry
from turnlog.messages.legacy import StoredType
from turnlog.messages.sdk import AssistantMessage
from turnlog.transcripts.calls.links import session_of
from turnlog.transcripts.calls.results import Place
from turnlog.transcripts.lines.blocks import is_call, is_result, list_blocks
from turnlog.transcripts.migration.report import LeftReason
from turnlog.transcripts.migration.stored_tools import Answer, ToolDocument, find_tool, read_answer


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


class _StoredCall:
    """What is known of a call that stands as a document."""

    __slots__ = ("id", "name", "sessions")

    def __init__(self, name: tuple[str, int] | None) -> None:
        self.name = name
        self.sessions: dict[str, None] = {}
        self.id: str | None = None


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
            listed = (
                self._list_holders(identity) if kind is StoredType.ASSISTANT else self._list_calls(identity)
            )
            is_there = self._is_assistant if kind is StoredType.ASSISTANT else self._is_call
            self._found[key] = dict.fromkeys(uuid for uuid in listed if is_there(uuid, document))
        return self._found[key]

    def _list_holders(self, identity: str) -> Iterable[str]:
        return (uuid for uuid, _ in self._held.get(identity, ()))

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

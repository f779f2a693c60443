"""A session as spec 003's documents: as a database keeps them (camelCase), or as the API tells them.

Each message is a document, and each call and result one of its own under it. A line that is such a document
already comes out with all that it has, whatever its fields are. Whoever made it may have left undone what the
spec asks for, and so do real sessions; what is written here keeps to the spec's rules:

- a parent is a document that is here, else the nearest message above that is; an answer that names none hangs
  under the message before it;
- a call hangs under the answer that holds it, and a result under its call. One whose answer or call is not here
  is given as the message that it would stand in;
- `_id` is the uuid, and stands once in a file: with the session before it where another session has a message
  of that uuid, since forks and resumes copy them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from turnlog.export.redaction.json_values import redact_json
from turnlog.export.redaction.redactor import Redactor
from turnlog.export.selection import EVERYTHING, Selection, select
from turnlog.messages import Line, Raw
from turnlog.messages.blocks import ToolUseBlock
from turnlog.messages.envelope import instant
from turnlog.messages.legacy import Api003, Document003, StoredType
from turnlog.messages.legacy.extended_json import StoredNumber, plain
from turnlog.messages.legacy.spec_003 import StoredUsage
from turnlog.messages.message import Message as ApiMessage
from turnlog.messages.patch import encode_value, members_of
from turnlog.messages.salvage import REFUSALS
from turnlog.messages.usage import Usage
from turnlog.transcripts.agents.places import build_conversation
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.links import find_parent
from turnlog.transcripts.calls.results import Place, Result, name_result
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.conversation.order import cut_circles, is_forward
from turnlog.transcripts.lines.blocks import (
    CallBlock,
    find_stored_type,
    has_call,
    has_result,
    is_answer,
    is_call,
    list_blocks,
)
from turnlog.transcripts.lines.categories import Role
from turnlog.transcripts.lines.texts import text_of
from turnlog.transcripts.session import Session
from turnlog.transcripts.usage.sightings import name_answer
from turnlog.transcripts.usage.tokens import Tokens

__all__ = ["render_documents"]

_TYPES = {Role.USER: StoredType.USER, Role.TOOL_RESULT: StoredType.USER, Role.SUMMARY: StoredType.SUMMARY}
_TOOLS = (StoredType.TOOL_USE, StoredType.TOOL_RESULT)
_ALIASES = {"message_uuid": "uuid", "parent_uuid_alias": "parent_uuid", "session_id_alias": "session_id"}
_SNAKE = {
    "parentUuid": "parent_uuid",
    "sessionId": "session_id",
    "createdAt": "created_at",
    "isSidechain": "is_sidechain",
    "costUsd": "cost_usd",
    "messageData": "message_data",
    "gitBranch": "git_branch",
    "leafUuid": "leaf_uuid",
}
_CAMEL = {snake: camel for camel, snake in _SNAKE.items()}
_SNAKE_USAGE = dict(zip(StoredUsage.__struct_encode_fields__, StoredUsage.__struct_fields__, strict=True))
_CAMEL_USAGE = {snake: camel for camel, snake in _SNAKE_USAGE.items()}
_DATES = {"timestamp": "timestamp", "created_at": "createdAt"}
_OWN = {"_id", "uuid", "type", "parentUuid", "parent_uuid", "sessionId", "session_id", *_ALIASES}
"""What is told of any document, and not taken over from a stored one."""
_ALWAYS = {"inputTokens", "outputTokens"}
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Raw]).decode

_Costs = Mapping[str, tuple[Decimal | None, Tokens]]


class _Draft(Struct, eq=False, kw_only=True):
    """A document to be: what it is and where it hangs. What it says is looked at when it is written."""

    uuid: str
    type: StoredType
    session: str | None
    line: Line
    """The line that it is, or the last of those that it is made of."""
    parent: str | None = None
    """What it names, or has to hang under."""
    thread: _Thread | None = None
    index: int = -1
    """Which message of its thread it belongs to, or follows; negative if none."""
    message: Message | None = None
    """The message that it is, unless it is a stored line."""
    block: Place | Result | None = None
    """The call or the result that it is, taken out of its line."""


class _Thread(Struct, eq=False):
    """A conversation, and which document each of its messages begins with."""

    conversation: Conversation
    agent: str
    """The id of the agent that it is of; empty for the transcript."""
    heads: dict[int, _Draft]


def render_documents(
    session: Session,
    selection: Selection = EVERYTHING,
    *,
    camel: bool = True,
    redactor: Redactor | None = None,
    shared: Collection[str] = (),
) -> Iterator[bytes]:
    """Yield the text of a file: a JSON array, a document on each line.

    `shared` are the uuids that messages of other sessions have, too.
    """
    first = True
    for document in _Documents(session, selection).build(shared):
        data = _encode(document if camel else _to_snake(document))
        if redactor is not None:
            data = redact_json(data, redactor)
        yield (b"[\n" if first else b",\n") + data
        first = False
    yield b"[]\n" if first else b"\n]\n"


class _Documents:
    """The documents of one session, gathered before any is written: a parent may stand further down."""

    def __init__(self, session: Session, selection: Selection) -> None:
        self._session = session
        self._selection = selection
        self._drafts: dict[tuple[str | None, str], _Draft] = {}
        """By session and uuid, in the order in which they are written."""
        self._homes: dict[str, str] = {}
        """The uuid of the document that a line is part of, by the line's own."""

    def build(self, shared: Collection[str]) -> Iterator[dict[str, Any]]:
        """Yield all documents, with the names of a database."""
        session, selection = self._session, self._selection
        self._gather(_Thread(session.conversation, "", {}), select(session, selection))
        if selection.agents:
            for agent in session.agents:
                if not agent.inline:
                    conversation = build_conversation(agent)
                    self._gather(_Thread(conversation, agent.id, {}), conversation.messages)
        self._restore_lone()
        self._settle()
        repeated = Counter(uuid for _, uuid in self._drafts)
        costs = _price(session)
        for draft in self._drafts.values():
            is_shared = draft.uuid in shared or repeated[draft.uuid] > 1
            name = f"{draft.session}:{draft.uuid}" if is_shared and draft.session else draft.uuid
            yield {"_id": name, **self._tell(draft, costs)}

    def _gather(self, thread: _Thread, messages: Iterable[Message]) -> None:
        """Add a document for each message, for each stored line, and for each call and result."""
        conversation, calls = thread.conversation, _index_calls(thread.conversation.calls)
        found: list[tuple[int, Message | Line]] = []
        if not self._selection.is_part:
            placed = zip(conversation.lines, conversation.placements, strict=True)
            found += [(at, line) for at, (line, placement) in enumerate(placed) if placement.message is None]
        for message in messages:
            if self._selection.agents or message.lane is not Lane.AGENT:
                found.append((conversation.find_line(message.lines[0]) or 0, message))
        last = -1
        for _, each in sorted(found, key=lambda item: item[0]):
            if isinstance(each, Message):
                last = each.index
                self._add_message(thread, each, calls)
            else:
                self._add_stored(each, thread, last)

    def _add_message(self, thread: _Thread, message: Message, calls: Mapping[tuple[int, int], Call]) -> None:
        lines = [line for line in message.lines if find_stored_type(line) is None]
        if lines:
            uuid = f"{thread.agent}{message.id}" if message.id.startswith("@") else message.id
            is_said = is_answer(lines[-1].entry)
            kind = StoredType.ASSISTANT if is_said else _TYPES.get(message.role, StoredType.SYSTEM)
            draft = self._draft(uuid, kind, lines[-1], thread=thread, index=message.index, message=message)
            thread.heads[message.index] = self._add(draft)
            for line in (*lines, *message.folded):
                own = Place(line, 0).uuid
                if own is not None and find_stored_type(line) is None:
                    self._homes.setdefault(own, uuid)
        for line in message.lines:
            stored = find_stored_type(line)
            if stored is not None and stored not in _TOOLS:
                self._add_stored(line, thread, message.index)
        for line in message.lines:
            for index, block in enumerate(list_blocks(line.entry)):
                call = calls.get((id(line), index)) if is_call(block) else None
                if call is not None:
                    self._add_call(thread, message, Place(line, index), call)
        for line in (*message.lines, *message.folded):
            self._add_stored(line, thread, message.index)

    def _add_call(self, thread: _Thread, message: Message, place: Place, call: Call) -> None:
        """Add a call, as it is stored or taken out of its line, and its results."""
        stored = [each.line for each in (call.place, *call.copies) if _is(each.line, StoredType.TOOL_USE)]
        if stored:
            is_alone = _is(place.line, StoredType.TOOL_USE)
            holder = None if is_alone else self._name_home(place.line, message)
            uuid = _name_stored(stored[0])
            for line in stored:
                self._add_stored(line, thread, message.index, holder)
        else:
            holder = self._name_home(place.line, message)
            uuid = place.extracted_id(StoredType.TOOL_USE) or f"{holder}_tool_{place.index}"
            self._add(self._draft(uuid, StoredType.TOOL_USE, place.line, parent=holder, block=place))
        if place == call.place:
            self._add_results(thread, message, call, uuid)

    def _add_results(self, thread: _Thread, message: Message, call: Call, parent: str) -> None:
        """Add what answered a call: the stored results; where there are none, those in other lines."""
        results = [result for result in (call.result, *call.other_results) if result is not None]
        stored = [each.place.line for each in results if _is(each.place.line, StoredType.TOOL_RESULT)]
        for line in stored:
            self._add_stored(line, thread, message.index, parent)
        if stored or not self._selection.tool_output:
            return
        for result in results:
            name = name_result(parent) if result is call.result else result.extracted_id
            uuid = name or result.extracted_id or f"{parent}_result"
            draft = self._draft(uuid, StoredType.TOOL_RESULT, result.place.line, parent=parent, block=result)
            self._add(draft)

    def _add_stored(self, line: Line, thread: _Thread, index: int, parent: str | None = None) -> None:
        """Add a line that is a document, if it is one that is wanted."""
        stored = find_stored_type(line)
        if stored is None or (stored is StoredType.TOOL_RESULT and not self._selection.tool_output):
            return
        named = parent or find_parent(line)
        draft = self._draft(_name_stored(line), stored, line, parent=named, thread=thread, index=index)
        draft.session = _told_session(line) or draft.session
        added = self._add(draft)
        if stored not in _TOOLS:
            thread.heads.setdefault(index, added)

    def _draft(self, uuid: str, type: StoredType, line: Line, **more: Any) -> _Draft:
        return _Draft(uuid=uuid, type=type, line=line, session=self._session.id or _told_session(line), **more)

    def _add(self, draft: _Draft) -> _Draft:
        return self._drafts.setdefault((draft.session, draft.uuid), draft)

    def _name_home(self, line: Line, message: Message) -> str:
        """Return the uuid of the document that holds a call."""
        if find_stored_type(line) is not None:
            return _name_stored(line)
        return self._homes.get(Place(line, 0).uuid or "", message.id)

    def _restore_lone(self) -> None:
        """Make messages of calls without an answer, and of results without a call."""
        renamed: dict[str, str] = {}
        drafts: dict[tuple[str | None, str], _Draft] = {}
        for key, draft in self._drafts.items():
            drafts[key] = draft
            if draft.type is StoredType.TOOL_USE:
                named = draft.uuid.rpartition("_tool_")[0]
                if not self._hang(draft, (draft.parent, named), StoredType.ASSISTANT):
                    taken = _take_call(draft)
                    if taken is not None:
                        renamed[draft.uuid] = taken.uuid
                        drafts[taken.session, taken.uuid] = taken
        self._drafts = drafts
        for draft in drafts.values():
            if draft.type is StoredType.TOOL_RESULT:
                parent = renamed.get(draft.parent or "", draft.parent)
                named = "_tool_".join(draft.uuid.rsplit("_result_", 1))
                if not self._hang(draft, (parent, renamed.get(named, named)), StoredType.TOOL_USE):
                    draft.type = StoredType.USER

    def _hang(self, draft: _Draft, parents: Iterable[str | None], type: StoredType) -> bool:
        """Hang a document under the first of some parents that is of a type; tell whether there is one."""
        for uuid in parents:
            above = self._find(draft.session, uuid)
            if above is not None and above.type is type:
                draft.parent = above.uuid
                return True
        return False

    def _settle(self) -> None:
        """Give each document a parent that is there, if it can have one."""
        drafts = [*self._drafts.values()]
        positions = {key: at for at, key in enumerate(self._drafts)}
        parents: list[int | None] = []
        for draft in drafts:
            above = self._find(draft.session, draft.parent)
            above = self._find_above(draft) if above is None or above is draft else above
            parents.append(None if above is None else positions[above.session, above.uuid])
        is_orderly = not any(is_forward(at, parent) for at, parent in enumerate(parents))
        cut_circles(parents)
        former: dict[tuple[str | None, int], list[int]] = {}
        for at, draft in enumerate(drafts):
            if draft.type in _TOOLS:
                continue
            anywhere = former.setdefault((draft.session, 0), [])
            here = former.setdefault((draft.session, id(draft.thread)), [])
            if parents[at] is None and draft.type is StoredType.ASSISTANT:
                before = chain(reversed(here), reversed(anywhere))
                free = (each for each in before if is_orderly or not _leads_to(parents, each, at))
                parents[at] = next(free, None)
            here.append(at)
            anywhere.append(at)
        for draft, parent in zip(drafts, parents, strict=True):
            draft.parent = None if parent is None else drafts[parent].uuid

    def _find(self, session: str | None, uuid: str | None) -> _Draft | None:
        found = self._drafts.get((session, uuid or ""))
        return found or self._drafts.get((session, self._homes.get(uuid or "", "")))

    def _find_above(self, draft: _Draft) -> _Draft | None:
        """Return the document of the nearest message above that is there."""
        if draft.thread is None or draft.index < 0:
            return None
        parents = draft.thread.conversation.tree.parents
        at = parents[draft.index]
        while at is not None:
            above = draft.thread.heads.get(at)
            if above is not None and above.session == draft.session:
                return above
            at = parents[at]
        return None

    def _tell(self, draft: _Draft, costs: _Costs) -> dict[str, Any]:
        """Return a document as it is written, but for its `_id`."""
        if isinstance(draft.block, Place):
            return _tell_block(draft, _text_of_call(draft.block))
        if isinstance(draft.block, Result):
            content = draft.block.content
            text = encode_value(content).decode("utf-8", "replace") if isinstance(content, tuple) else content
            return _tell_block(draft, text if isinstance(text, str) else None)
        if draft.message is not None:
            return self._tell_message(draft, draft.message, costs)
        return self._tell_stored(draft, costs)

    def _tell_message(self, draft: _Draft, message: Message, costs: _Costs) -> dict[str, Any]:
        blocks = tuple(
            _get_call(Place(line, index)) if is_call(block) else block
            for line in message.lines
            for index, block in enumerate(list_blocks(line.entry))
            if self._is_wanted(block)
        )
        data = getattr(draft.line.entry, "message", None)
        if isinstance(data, ApiMessage) and blocks:
            data = msgspec.structs.replace(data, content=blocks)
        said = _tell_place(draft, message.text, message.time)
        said["isSidechain"] = message.lane is not Lane.MAIN or any(map(is_call, blocks))
        if draft.type is StoredType.ASSISTANT:
            said |= {} if message.model is None else {"costUsd": None}
            said |= _tell_costs(message.model, [name_answer(line) for line in message.lines], costs)
        if isinstance(data, ApiMessage):
            said["messageData"] = Raw(encode_value(data))
        return said

    def _tell_stored(self, draft: _Draft, costs: _Costs) -> dict[str, Any]:
        """Return a stored document with all that it has, numbers and dates in plain JSON."""
        line, wire = draft.line, draft.line.wire
        assert isinstance(wire, Document003 | Api003)
        entry = line.entry
        said = _tell_place(draft, text_of(entry), instant(getattr(entry, "timestamp", None)))
        said["isSidechain"] = has_call(list_blocks(entry)) or has_result(list_blocks(entry))
        if draft.type is StoredType.ASSISTANT:
            model = getattr(getattr(entry, "message", None), "model", None)
            said |= _tell_costs(model, [name_answer(line)], costs)
        said |= {
            _CAMEL.get(key, key): value for key, value in _read_members(line, wire).items() if key not in _OWN
        }
        if draft.type in _TOOLS:
            said["isSidechain"] = True
        for name, key in _DATES.items():
            if isinstance(said.get(key), Raw):
                said[key] = _to_plain(getattr(wire, name), said[key])
        if isinstance(wire.cost_usd, StoredNumber):
            said["costUsd"] = plain(wire.cost_usd)
        if isinstance(wire.usage, StoredUsage | Usage) and isinstance(said.get("usage"), Raw):
            said["usage"] = _to_plain_usage(wire.usage, said["usage"])
        data = getattr(entry, "message", None)
        if isinstance(data, ApiMessage):
            is_lone = str(draft.type) != str(wire.type)
            content = tuple(filter(self._is_wanted, data.content)) if isinstance(data.content, tuple) else None
            if is_lone or (content is not None and content != data.content):
                key = "message" if "message" in said else "messageData"
                said[key] = Raw(encode_value(msgspec.structs.replace(data, content=content)))
        return said

    def _is_wanted(self, block: object) -> bool:
        return self._selection.thinking or "thinking" not in type(block).__name__.lower()


def _index_calls(calls: Iterable[Call]) -> dict[tuple[int, int], Call]:
    """Return calls by the lines and blocks that hold them."""
    found: dict[tuple[int, int], Call] = {}
    for call in calls:
        for place in (call.place, *call.copies):
            found.setdefault((id(place.line), place.index), call)
    return found


def _take_call(draft: _Draft) -> _Draft | None:
    """Make an answer of a call that is stored alone, and return the call as what is taken out of it."""
    draft.type = StoredType.ASSISTANT
    blocks = list_blocks(draft.line.entry)
    at = next((at for at, block in enumerate(blocks) if is_call(block)), None)
    if at is None:
        return None
    return _Draft(
        uuid=f"{draft.uuid}_tool_{at}",
        type=StoredType.TOOL_USE,
        session=draft.session,
        line=draft.line,
        parent=draft.uuid,
        block=Place(draft.line, at),
    )


def _leads_to(parents: Sequence[int | None], start: int, end: int) -> bool:
    at: int | None = start
    while at is not None and at != end:
        at = parents[at]
    return at is not None


def _tell_place(draft: _Draft, text: str | None, time: datetime | None) -> dict[str, Any]:
    """Return what any document has; what is not known is left out, but for a parent."""
    said: dict[str, Any] = {"uuid": draft.uuid, "parentUuid": draft.parent}
    if draft.session is not None:
        said["sessionId"] = draft.session
    said |= {"type": str(draft.type), "content": text}
    if time is not None:
        said |= {"timestamp": _moment(time), "createdAt": _moment(time)}
    return said


def _tell_block(draft: _Draft, text: str | None) -> dict[str, Any]:
    time = instant(getattr(draft.line.entry, "timestamp", None))
    return {**_tell_place(draft, text, time), "isSidechain": True}


def _get_call(place: Place) -> CallBlock:
    """Return a call with an id: spec 000 has none, but a message and the call taken from it must share one."""
    block: CallBlock = place.block
    name = place.extracted_id(StoredType.TOOL_USE)
    return msgspec.structs.replace(block, id=name) if block.id is UNSET and name is not None else block


def _text_of_call(place: Place) -> str:
    block = _get_call(place)
    if not isinstance(block, ToolUseBlock):
        block = ToolUseBlock(id=block.id, name=block.name, input=block.input)
    return encode_value(block).decode("utf-8", "replace")


def _tell_costs(model: object, names: Iterable[str | None], costs: _Costs) -> dict[str, Any]:
    """Return by which model an answer is, and what it used and cost, as far as that is known."""
    said: dict[str, Any] = {"model": model} if isinstance(model, str) else {}
    cost, tokens = next(filter(None, (costs.get(name or "") for name in names)), (None, None))
    if cost is not None:
        said["costUsd"] = float(cost)
    if tokens is not None:
        used = {
            "inputTokens": tokens.input,
            "outputTokens": tokens.output,
            "cacheReadInputTokens": tokens.cache_read,
            "cacheCreationInputTokens": tokens.cache_write_5m + tokens.cache_write_1h,
        }
        said["usage"] = {key: count for key, count in used.items() if count or key in _ALWAYS}
    return said


def _price(session: Session) -> _Costs:
    """Return what each answer cost and used, by what it is known by."""
    found: dict[str, tuple[Decimal | None, Tokens]] = {}
    for used in session.usage.list_messages():
        bill = session.prices.build_bill((used,))
        found[used.message] = (None if bill.unpriced else bill.cost, used.tokens)
    return found


def _read_members(line: Line, wire: Document003 | Api003) -> dict[str, Raw]:
    try:
        return _decode(line.json)
    except REFUSALS:  # what could be saved of it is in its types
        members = members_of(wire).items()
        return {key: Raw(encode_value(value)) for key, value in members if value is not UNSET}


def _to_plain(stored: Any, said: Raw) -> Any:
    """Return a date as ISO 8601; one that is none stays as it stands."""
    value = plain(stored)
    time = instant(value)
    if time is None:
        return said
    return value if isinstance(value, str) else _moment(time)


def _to_plain_usage(stored: StoredUsage | Usage, said: Raw) -> dict[str, Any]:
    """Return counts with the names of a database."""
    found: dict[str, Any] = {}
    for key, value in _decode(said).items():
        name = _CAMEL_USAGE.get(key, key)
        count = plain(getattr(stored, _SNAKE_USAGE[name])) if name in _SNAKE_USAGE else UNSET
        found[name] = value if count is UNSET else count
    return found


def _to_snake(document: Mapping[str, Any]) -> dict[str, Any]:
    said = {_SNAKE.get(key, key): value for key, value in document.items()}
    usage = said.get("usage")
    if isinstance(usage, dict):
        said["usage"] = {_SNAKE_USAGE.get(key, key): value for key, value in usage.items()}
    return said | {alias: said.get(name) for alias, name in _ALIASES.items()}


def _is(line: Line, type: StoredType) -> bool:
    return find_stored_type(line) is type


def _name_stored(line: Line) -> str:
    return Place(line, 0).uuid or f"@{0 if line.at is None else line.at.offset}"


def _told_session(line: Line) -> str | None:
    session = getattr(line.entry, "session_id", None)
    return session if isinstance(session, str) else None


def _moment(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")

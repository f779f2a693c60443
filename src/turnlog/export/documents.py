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

Where all of a session is documents that were exported before, and they are as the spec wants them, they are
given back as they are: they may be parts of several sessions by now, and say of each what was known of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from turnlog.export.conversation import EVERYTHING, Selection, select
from turnlog.export.redaction import Redactor, redact_json
from turnlog.messages import Line, Position, Raw
from turnlog.messages.base import encode_value
from turnlog.messages.blocks import ToolUseBlock
from turnlog.messages.envelope import instant
from turnlog.messages.legacy import Api003, Document003, StoredNumber, StoredType, StoredUsage, plain
from turnlog.messages.message import Message as ApiMessage
from turnlog.messages.message import Usage
from turnlog.messages.salvage import REFUSALS
from turnlog.messages.spans import members_of
from turnlog.transcripts.call_builder import find_parent
from turnlog.transcripts.calls import Call, Place, Result, name_result, read_result
from turnlog.transcripts.conversation.lineage import cut_circles, is_forward
from turnlog.transcripts.conversation.messages import Lane, Message
from turnlog.transcripts.kinds import Role
from turnlog.transcripts.lines.content import (
    CallBlock,
    find_stored_type,
    has_call,
    has_result,
    is_answer,
    is_call,
    is_result,
    list_blocks,
    text_of,
)
from turnlog.transcripts.migration import MigrationPlanner
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import Thread, decode_all, list_usage, open_agent, open_main
from turnlog.transcripts.summary import Summary
from turnlog.transcripts.usage.prices import Prices
from turnlog.transcripts.usage.sightings import name_answer
from turnlog.transcripts.usage.tokens import Tokens

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


class _Node(Struct, eq=False, kw_only=True):
    """A document to be: what it is and where it hangs, without what it says."""

    uuid: str
    type: StoredType
    session: str | None
    parent: str | None = None
    """What it names, or has to hang under."""
    thread: _Thread | None = None
    index: int = -1
    """Which message of its thread it belongs to, or follows; negative if none."""
    call_at: int = -1
    """Of a call: which block of its line that is."""
    is_written: bool = False

    @property
    def key(self) -> tuple[str | None, str]:
        """By what it is known."""
        return self.session, self.uuid


class _Thread(Struct, eq=False):
    """A conversation, and which document each of its messages begins with."""

    records: Thread
    agent: str
    """The id of the agent that it is of; empty for the transcript."""
    parents: dict[int, int | None]
    heads: dict[int, _Node]


class _Said(Struct, frozen=True, gc=False):
    """What a document is told from: a line, or the last of those that it is made of."""

    line: Line
    message: Message | None = None
    """The message that it is, unless it is a stored line."""
    block: Place | Result | None = None
    """The call or the result that it is, taken out of its line."""


def render_documents(
    session: SessionRecords,
    summary: Summary,
    selection: Selection = EVERYTHING,
    *,
    camel: bool = True,
    redactor: Redactor | None = None,
    shared: Container[str] = (),
) -> Iterator[bytes]:
    """Yield the text of a file: a JSON array, a document on each line.

    `shared` are the uuids that messages of other sessions have, too.
    """
    first = True
    for data in encode_documents(session, summary, selection, camel=camel, redactor=redactor, shared=shared):
        yield (b"[\n" if first else b",\n") + data
        first = False
    yield b"[]\n" if first else b"\n]\n"


def encode_documents(
    session: SessionRecords,
    summary: Summary,
    selection: Selection = EVERYTHING,
    *,
    camel: bool = True,
    redactor: Redactor | None = None,
    shared: Container[str] = (),
) -> Iterator[bytes]:
    """Yield each document as JSON."""
    for document in _Documents(session, summary.id, selection).build(shared):
        data = _encode(document if camel else _to_snake(document))
        yield data if redactor is None else redact_json(data, redactor)


class _Documents:
    """The documents of one session. All are walked through twice: a parent may stand further down."""

    def __init__(self, session: SessionRecords, session_id: str | None, selection: Selection) -> None:
        self._session = session
        self._session_id = session_id
        self._selection = selection
        self._threads = [_open(open_main(session), "")]
        if selection.agents:
            own = (agent for agent in session.list_agents() if not agent.inline)
            self._threads += (_open(open_agent(session, agent), agent.id) for agent in own)
        self._nodes: dict[tuple[str | None, str], _Node] = {}
        """By session and uuid, in the order in which they are written."""
        self._taken: dict[tuple[str | None, str], _Node] = {}
        """Calls that were taken out of lines which became answers, by these."""
        self._homes: dict[str, str] = {}
        """The uuid of the document that a line is part of, by the line's own."""

    def build(self, shared: Container[str]) -> Iterator[dict[str, Any]]:
        """Yield all documents, with the names of a database."""
        if self._selection == EVERYTHING and _is_settled(self._session):
            yield from self._give_back(shared)
            return
        for node, _ in self._walk():
            self._add(node)
        self._restore_lone()
        self._settle()
        repeated = Counter(uuid for _, uuid in self._nodes)
        costs = _price(self._session)
        for found, said in self._walk():
            node = self._nodes[found.key]
            if node.is_written:
                continue
            node.is_written = True
            taken = self._taken.get(node.key)
            pairs = [(node, said)]
            if taken is not None:
                pairs.append((taken, _Said(said.line, block=Place(said.line, taken.call_at))))
            for each, told in pairs:
                is_shared = each.uuid in shared or repeated[each.uuid] > 1
                yield {"_id": _name_document(each, told.line, is_shared), **self._build_node(each, told, costs)}

    def _give_back(self, shared: Container[str]) -> Iterator[dict[str, Any]]:
        """Yield stored documents that are all as the spec wants them."""
        costs = _price(self._session)
        assert self._session.main is not None
        for line in decode_all(self._session.main):
            uuid, session = _name_stored(line), _find_session_id(line)
            stored = find_stored_type(line)
            assert stored is not None
            node = _Node(uuid=uuid, type=stored, session=session, parent=find_parent(line))
            yield {
                "_id": _name_document(node, line, uuid in shared),
                **self._build_node(node, _Said(line), costs),
            }

    def _walk(self) -> Iterator[tuple[_Node, _Said]]:
        """Yield documents for all messages, stored lines, calls and results; some come more than once."""
        for thread in self._threads:
            chosen = thread.records.list_records() if thread.agent else select(self._session, self._selection)
            wanted = (row for row in chosen if self._selection.agents or row.lane != Lane.AGENT)
            others = () if self._selection.is_part else thread.records.list_unplaced()
            last = -1
            for item in thread.records.read_between(wanted, others):
                if isinstance(item, Message):
                    last = item.index
                    yield from self._walk_message(thread, item)
                else:
                    yield from self._walk_stored(item, thread, last)

    def _walk_message(self, thread: _Thread, message: Message) -> Iterator[tuple[_Node, _Said]]:
        lines = [line for line in message.lines if find_stored_type(line) is None]
        if lines:
            uuid = f"{thread.agent}{message.id}" if message.id.startswith("@") else message.id
            is_said = is_answer(lines[-1].entry)
            kind = StoredType.ASSISTANT if is_said else _TYPES.get(message.role, StoredType.SYSTEM)
            node = self._begin(uuid, kind, lines[-1], thread=thread, index=message.index)
            yield node, _Said(lines[-1], message)
            thread.heads.setdefault(message.index, self._nodes.get(node.key, node))
            for line in (*lines, *message.folded):
                own = Place(line, 0).uuid
                if own is not None and find_stored_type(line) is None:
                    self._homes.setdefault(own, uuid)
        for line in message.lines:
            stored = find_stored_type(line)
            if stored is not None and stored not in _TOOLS:
                yield from self._walk_stored(line, thread, message.index)
        calls = {(id(call.place.line), call.place.index): call for call in message.calls}
        for line in message.lines:
            for index, block in enumerate(list_blocks(line.entry)):
                if is_call(block):
                    call = calls.get((id(line), index))
                    yield from self._walk_call(thread, message, Place(line, index), call)
        for line in (*message.lines, *message.folded):
            yield from self._walk_stored(line, thread, message.index)

    def _walk_call(
        self, thread: _Thread, message: Message, place: Place, call: Call | None
    ) -> Iterator[tuple[_Node, _Said]]:
        """Yield a call, as it is stored or taken out of its line, and its results.

        A copy of a call that another message makes is no `call` here.
        """
        copies = [each for each in _list_copies(place, message) if _is(each, StoredType.TOOL_USE)]
        if copies:
            holder = None if _is(place.line, StoredType.TOOL_USE) else self._name_home(place.line, message)
            uuid = _name_stored(copies[0])
            for line in copies:
                yield from self._walk_stored(line, thread, message.index, holder)
        else:
            holder = self._name_home(place.line, message)
            uuid = place.extracted_id(StoredType.TOOL_USE) or f"{holder}_tool_{place.index}"
            node = self._begin(uuid, StoredType.TOOL_USE, place.line, parent=holder)
            yield node, _Said(place.line, block=place)
        if call is None:
            return
        results = _list_results(call, message)
        stored = [each.place.line for each in results if _is(each.place.line, StoredType.TOOL_RESULT)]
        for line in stored:
            yield from self._walk_stored(line, thread, message.index, uuid)
        if stored or not self._selection.tool_output:
            return
        for result in results:
            name = name_result(uuid) if result is call.result else result.extracted_id
            named = name or result.extracted_id or f"{uuid}_result"
            node = self._begin(named, StoredType.TOOL_RESULT, result.place.line, parent=uuid)
            yield node, _Said(result.place.line, block=result)

    def _walk_stored(
        self, line: Line, thread: _Thread, index: int, parent: str | None = None
    ) -> Iterator[tuple[_Node, _Said]]:
        """Yield a line that is a document, if it is one that is wanted."""
        stored = find_stored_type(line)
        if stored is None or (stored is StoredType.TOOL_RESULT and not self._selection.tool_output):
            return
        named = parent or find_parent(line)
        node = self._begin(_name_stored(line), stored, line, parent=named, thread=thread, index=index)
        node.session = _find_session_id(line) or node.session
        yield node, _Said(line)
        if stored not in _TOOLS:
            thread.heads.setdefault(index, self._nodes.get(node.key, node))

    def _begin(self, uuid: str, type: StoredType, line: Line, **more: Any) -> _Node:
        session = self._session_id or _find_session_id(line)
        at = -1
        if type is StoredType.TOOL_USE:
            at = next((at for at, block in enumerate(list_blocks(line.entry)) if is_call(block)), -1)
        return _Node(uuid=uuid, type=type, session=session, call_at=at, **more)

    def _add(self, node: _Node) -> None:
        self._nodes.setdefault(node.key, node)

    def _name_home(self, line: Line, message: Message) -> str:
        """Return the uuid of the document that holds a call."""
        if find_stored_type(line) is not None:
            return _name_stored(line)
        return self._homes.get(Place(line, 0).uuid or "", message.id)

    def _restore_lone(self) -> None:
        """Make messages of calls without an answer, and of results without a call."""
        renamed: dict[str, str] = {}
        nodes: dict[tuple[str | None, str], _Node] = {}
        for key, node in self._nodes.items():
            nodes[key] = node
            if node.type is StoredType.TOOL_USE:
                named = node.uuid.rpartition("_tool_")[0]
                if not self._hang(node, (node.parent, named), StoredType.ASSISTANT):
                    node.type = StoredType.ASSISTANT
                    if node.call_at >= 0:
                        taken = _Node(
                            uuid=f"{node.uuid}_tool_{node.call_at}",
                            type=StoredType.TOOL_USE,
                            session=node.session,
                            parent=node.uuid,
                            call_at=node.call_at,
                            is_written=True,
                        )
                        renamed[node.uuid] = taken.uuid
                        nodes[taken.key] = self._taken[key] = taken
        self._nodes = nodes
        for node in nodes.values():
            if node.type is StoredType.TOOL_RESULT:
                parent = renamed.get(node.parent or "", node.parent)
                named = "_tool_".join(node.uuid.rsplit("_result_", 1))
                if not self._hang(node, (parent, renamed.get(named, named)), StoredType.TOOL_USE):
                    node.type = StoredType.USER

    def _hang(self, node: _Node, parents: Iterable[str | None], type: StoredType) -> bool:
        """Hang a document under the first of some parents that is of a type; tell whether there is one."""
        for uuid in parents:
            above = self._find(node.session, uuid)
            if above is not None and above.type is type:
                node.parent = above.uuid
                return True
        return False

    def _settle(self) -> None:
        """Give each document a parent that is there, if it can have one."""
        nodes = [*self._nodes.values()]
        positions = {key: at for at, key in enumerate(self._nodes)}
        parents: list[int | None] = []
        for node in nodes:
            above = self._find(node.session, node.parent)
            above = self._find_above(node) if above is None or above is node else above
            parents.append(None if above is None else positions[above.key])
        is_orderly = not any(is_forward(at, parent) for at, parent in enumerate(parents))
        cut_circles(parents)
        former: dict[tuple[str | None, int], list[int]] = {}
        for at, node in enumerate(nodes):
            if node.type in _TOOLS:
                continue
            anywhere = former.setdefault((node.session, 0), [])
            here = former.setdefault((node.session, id(node.thread)), [])
            if parents[at] is None and node.type is StoredType.ASSISTANT:
                before = chain(reversed(here), reversed(anywhere))
                free = (each for each in before if is_orderly or not _leads_to(parents, each, at))
                parents[at] = next(free, None)
            here.append(at)
            anywhere.append(at)
        for node, parent in zip(nodes, parents, strict=True):
            node.parent = None if parent is None else nodes[parent].uuid

    def _find(self, session: str | None, uuid: str | None) -> _Node | None:
        found = self._nodes.get((session, uuid or ""))
        return found or self._nodes.get((session, self._homes.get(uuid or "", "")))

    def _find_above(self, node: _Node) -> _Node | None:
        """Return the document of the nearest message above that is there."""
        if node.thread is None or node.index < 0:
            return None
        at = node.thread.parents.get(node.index)
        while at is not None:
            above = node.thread.heads.get(at)
            if above is not None and above.session == node.session:
                return above
            at = node.thread.parents.get(at)
        return None

    def _build_node(self, node: _Node, said: _Said, costs: _Costs) -> dict[str, Any]:
        """Return a document as it is written, but for its `_id`."""
        if isinstance(said.block, Place):
            return _build_block(node, said.line, _text_of_call(said.block))
        if isinstance(said.block, Result):
            content = said.block.content
            text = encode_value(content).decode("utf-8", "replace") if isinstance(content, tuple) else content
            return _build_block(node, said.line, text if isinstance(text, str) else None)
        if said.message is not None:
            return self._build_message(node, said.line, said.message, costs)
        return self._build_stored(node, said.line, costs)

    def _build_message(self, node: _Node, line: Line, message: Message, costs: _Costs) -> dict[str, Any]:
        blocks = tuple(
            _get_call(Place(own, index)) if is_call(block) else block
            for own in message.lines
            for index, block in enumerate(list_blocks(own.entry))
            if self._is_wanted(block)
        )
        data = getattr(line.entry, "message", None)
        if isinstance(data, ApiMessage) and blocks:
            data = msgspec.structs.replace(data, content=blocks)
        said = _build_place(node, message.text, message.time)
        said["isSidechain"] = message.lane is not Lane.MAIN or any(map(is_call, blocks))
        if node.type is StoredType.ASSISTANT:
            said |= {} if message.model is None else {"costUsd": None}
            said |= _build_costs(message.model, [name_answer(own) for own in message.lines], costs)
        if isinstance(data, ApiMessage):
            said["messageData"] = Raw(encode_value(data))
        return said

    def _build_stored(self, node: _Node, line: Line, costs: _Costs) -> dict[str, Any]:
        """Return a stored document with all that it has, numbers and dates in plain JSON."""
        wire = line.wire
        assert isinstance(wire, Document003 | Api003)
        entry = line.entry
        said = _build_place(node, text_of(entry), instant(getattr(entry, "timestamp", None)))
        said["isSidechain"] = has_call(list_blocks(entry)) or has_result(list_blocks(entry))
        if node.type is StoredType.ASSISTANT:
            model = getattr(getattr(entry, "message", None), "model", None)
            said |= _build_costs(model, [name_answer(line)], costs)
        said |= {
            _CAMEL.get(key, key): value for key, value in _read_members(line, wire).items() if key not in _OWN
        }
        if node.type in _TOOLS:
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
            is_lone = str(node.type) != str(wire.type)
            content = tuple(filter(self._is_wanted, data.content)) if isinstance(data.content, tuple) else None
            if is_lone or (content is not None and content != data.content):
                key = "message" if "message" in said else "messageData"
                said[key] = Raw(encode_value(msgspec.structs.replace(data, content=content)))
        return said

    def _is_wanted(self, block: object) -> bool:
        return self._selection.thinking or "thinking" not in type(block).__name__.lower()


def _name_document(node: _Node, line: Line, is_shared: bool) -> str:
    """Return an id; one that was exported keeps a long one, since the copy that it is for may be elsewhere."""
    whole = f"{node.session}:{node.uuid}"
    is_long = is_shared or getattr(line.wire, "id", None) == whole
    return whole if is_long and node.session else node.uuid


def _is_settled(session: SessionRecords) -> bool:
    """Tell whether a session is nothing but documents that were exported before, and need no correction."""
    if session.main is None or len(session.chapters) > 1:
        return False
    planner = MigrationPlanner()
    known: set[tuple[str | None, str]] = set()
    parents: set[tuple[str | None, str]] = set()
    held: set[tuple[str, object]] = set()
    tools: dict[Position | None, tuple[str, str, object]] = {}
    for line in decode_all(session.main):
        uuid, own, parent = Place(line, 0).uuid, _find_session_id(line), find_parent(line)
        is_named = isinstance(line.wire, Document003) and line.wire.id in (uuid, f"{own}:{uuid}")
        if uuid is None or own is None or not is_named or (own, uuid) in known:
            return False
        known.add((own, uuid))
        parents |= {(own, parent)} if parent is not None else set()
        calls = [block.id for block in list_blocks(line.entry) if is_call(block)]
        if find_stored_type(line) in _TOOLS:
            tools[line.at] = uuid, parent or "", next(iter(calls), None)
        else:
            held |= {(uuid, id) for id in calls}
        planner.add(line)
    plan = planner.build()
    # Parts of several sessions may have an answer twice, as a whole and as the line that a call is named after.
    places = (*(each.at for each in plan.corrections), *(each.at for each in plan.left))
    doubtful = (tools.get(at, ("", "", None)) for at in places)
    is_right = all((above, call) in held or name_result(above) == uuid for uuid, above, call in doubtful)
    return parents <= known and is_right


def _open(records: Thread, agent: str) -> _Thread:
    return _Thread(records, agent, {row.index: row.parent for row in records.list_records()}, {})


def _list_copies(place: Place, message: Message) -> Iterator[Line]:
    """Yield the lines of a message that hold a call: its own, and those that store it once more."""
    yield place.line
    id, name = place.block.id, place.extracted_id(StoredType.TOOL_USE)
    for line in message.folded:
        own = (block for block in list_blocks(line.entry) if is_call(block))
        if any(block.id == id if isinstance(block.id, str) else Place(line, 0).uuid == name for block in own):
            yield line


def _list_results(call: Call, message: Message) -> list[Result]:
    """Return what answered a call: the result that counts, and others that are shown with it."""
    if call.result is None:
        return []
    found = [call.result]
    names = {call.result_id, call.result.extracted_id} - {None}
    for line in message.folded:
        for index, block in enumerate(list_blocks(line.entry)):
            place = Place(line, index)
            if place == call.result.place or not is_result(block):
                continue
            named = block.tool_use_id
            if named == call.id if isinstance(named, str) else place.uuid in names:
                found.append(read_result(place, block))
    return found


def _leads_to(parents: Sequence[int | None], start: int, end: int) -> bool:
    at: int | None = start
    while at is not None and at != end:
        at = parents[at]
    return at is not None


def _build_place(node: _Node, text: str | None, time: datetime | None) -> dict[str, Any]:
    """Return what any document has; what is not known is left out, but for a parent."""
    said: dict[str, Any] = {"uuid": node.uuid, "parentUuid": node.parent}
    if node.session is not None:
        said["sessionId"] = node.session
    said |= {"type": str(node.type), "content": text}
    if time is not None:
        said |= {"timestamp": _moment(time), "createdAt": _moment(time)}
    return said


def _build_block(node: _Node, line: Line, text: str | None) -> dict[str, Any]:
    time = instant(getattr(line.entry, "timestamp", None))
    return {**_build_place(node, text, time), "isSidechain": True}


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


def _build_costs(model: object, names: Iterable[str | None], costs: _Costs) -> dict[str, Any]:
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


def _price(session: SessionRecords) -> _Costs:
    """Return what each answer cost and used, by what it is known by."""
    found: dict[str, tuple[Decimal | None, Tokens]] = {}
    prices = Prices()
    for used in list_usage(session):
        bill = prices.build_bill((used,))
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


def _find_session_id(line: Line) -> str | None:
    session = getattr(line.entry, "session_id", None)
    return session if isinstance(session, str) else None


def _moment(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")

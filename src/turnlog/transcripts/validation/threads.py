"""Which message follows which, as far as rules speak of it: parents, sessions, sidechains, times.

A parent may come later in the file, so a message waits for it, and what still waits at the end has none. Of
each message a `Node` is kept, never its body.

Which result answers which call is decided in one place for all of turnlog, `CallBuilder`. It keeps lines, and
bodies are not to be kept here: so it is given lines that hold nothing but names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any

from turnlog.messages import Dialect, Line, Position
from turnlog.messages.blocks import ContentBlock, TextBlock, ToolResultBlock, ToolUseBlock
from turnlog.messages.entries import AssistantEntry, UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.legacy import Document003, StoredType
from turnlog.messages.message import Message
from turnlog.messages.system import SystemNotice
from turnlog.transcripts.call_builder import CallBuilder, find_parent
from turnlog.transcripts.calls import Call, Pairing, Place, Result
from turnlog.transcripts.conversation.lineage import cut_circles
from turnlog.transcripts.lines.content import find_stored_type, is_call, is_result
from turnlog.transcripts.validation import rules
from turnlog.transcripts.validation.rules import LineRef, Report, quote


class Kind(Enum):
    """What a message is, as far as threads go; the value is what to call it."""

    USER = "a user message"
    ASSISTANT = "an assistant message"
    CALLER = "an assistant message that calls tools"
    TOOL_USE = "a tool use"
    TOOL_RESULT = "a tool result"
    OTHER = "no part of the conversation"


_STORED: Mapping[StoredType, Kind] = {
    StoredType.USER: Kind.USER,
    StoredType.TOOL_USE: Kind.TOOL_USE,
    StoredType.TOOL_RESULT: Kind.TOOL_RESULT,
    StoredType.SUMMARY: Kind.OTHER,
}


def kind_of(line: Line, calls: bool, answers: bool) -> Kind:
    """Return what the message of a line is, given whether it calls tools, and whether it answers calls."""
    stored = None if line.wire is None else find_stored_type(line)
    if stored is not None and stored in _STORED:
        return _STORED[stored]
    if isinstance(line.entry, AssistantEntry):
        return Kind.CALLER if calls else Kind.ASSISTANT
    if isinstance(line.entry, UserEntry):
        return Kind.TOOL_RESULT if answers else Kind.USER
    return Kind.OTHER


class Node:
    """A message: its names, and its place among the others."""

    __slots__ = (
        "has_tool_child",
        "is_stored",
        "is_tool",
        "kind",
        "ordinal",
        "parent_uuid",
        "session",
        "sidechain",
        "spot",
        "time",
        "uuid",
    )

    def __init__(self, entry: Envelope, kind: Kind, time: datetime | None, spot: LineRef) -> None:
        self.spot = spot
        self.kind = kind
        self.time = time
        self.is_stored = spot.dialect is not Dialect.CLAUDE_CODE and spot.dialect in rules.STORED
        """Whether it is one of spec 003's documents."""
        self.is_tool = kind is Kind.TOOL_USE or (kind is Kind.TOOL_RESULT and self.is_stored)
        """Whether it is a message of a call or a result alone (spec 003)."""
        self.uuid = entry.uuid if type(entry.uuid) is str else ""
        self.parent_uuid = entry.parent_uuid if type(entry.parent_uuid) is str else ""
        self.session = entry.session_id if type(entry.session_id) is str else ""
        self.sidechain = entry.is_sidechain
        """As the line has it; anything but true means that it is not in a sidechain."""
        self.has_tool_child = False
        self.ordinal = -1
        """Which of the nodes that can be a parent; negative for those that cannot."""

    def shares_session(self, other: Node) -> bool:
        """Tell whether two messages can be of one session; one that names none can be of any."""
        return self.session == other.session or not self.session or not other.session


_NOTHING = TextBlock(text="")
_NAMES = ("uuid", "parent_uuid", "session_id", "is_sidechain", "agent_id")


class CallPairing:
    """Pairs calls with results, and keeps nothing of either but their names and places."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._builder = CallBuilder()
        self._spots: dict[int, LineRef] = {}

    def add(self, line: Line, blocks: Sequence[ContentBlock], spot: LineRef) -> None:
        """Take the calls and results of the next line."""
        entry = _strip(line, blocks)
        if entry is None:
            if isinstance(line.entry, Envelope):  # results may follow it, which tells something in spec 000
                self._builder.add(Line(b"", SystemNotice(**_names(line.entry)), line.dialect))
            return
        stored = find_stored_type(line)
        wire = None if stored is None else Document003(type=stored)
        self._spots[spot.index] = spot
        self._builder.add(Line(b"", entry, line.dialect, (), Position("", spot.index), wire))

    def finish(self) -> None:
        """Report what does not pair."""
        calls = self._builder.build()
        callers = {call.place.uuid: call for call in calls.calls}
        for call in calls.calls:
            self._check(call)
            if call.result is not None and call.paired_by is Pairing.ORDER:
                self._check_parent(call, call.result, callers)
        for orphan in calls.orphans:
            self._report_orphan(orphan)

    def _check(self, call: Call) -> None:
        spot = self._spot(call.place)
        if call.result is None:
            message = f"Expected a result for the call of {quote(call.name)}{_named(call.id)}, found none"
            self._report.add("003-C3-paired", spot, message, _steps(call.place, spot))
            return
        results = [call.result, *call.other_results]
        for result in results:
            answer = self._spot(result.place)
            if answer.index < spot.index:
                message = f"Expected the call before its result, found it on line {spot.number}"
                self._report.add("004-4-tool-correlation", answer, message, _steps(result.place, answer))
        self._check_repeats(call, results, spot)

    def _check_parent(self, call: Call, result: Result, callers: Mapping[str | None, Call]) -> None:
        """Report a result whose parent is another call than the one that it answers by order."""
        parent = callers.get(find_parent(result.place.line))
        if parent is None or parent is call:
            return
        expected, found = self._spot(call.place).number, self._spot(parent.place).number
        message = (
            f"Expected the call on line {expected} as parent, which the result answers according to its order"
        )
        message = f"{message}, found the call on line {found}"
        self._report.add("003-4-result-parent", self._spot(result.place), message, ("parentUuid",))

    def _check_repeats(self, call: Call, results: list[Result], spot: LineRef) -> None:
        """Report a call that was answered by more than one message; copies of one do not count."""
        places = [result.place for result in results]
        extracted = StoredType.TOOL_RESULT  # these are counted by their parents
        answers = {place.uuid for place in places if find_stored_type(place.line) is not extracted}
        if len(answers) > 1:
            message = f"Expected one result for the call of {quote(call.name)}{_named(call.id)}"
            self._report.add(
                "003-C3-paired", spot, f"{message}, found {len(answers)}", _steps(call.place, spot)
            )

    def _report_orphan(self, result: Result) -> None:
        spot = self._spot(result.place)
        stored = find_stored_type(result.place.line)
        if stored is StoredType.TOOL_RESULT:
            return  # its parent tells the same, and more
        if spot.dialect is Dialect.SPEC_000:
            self._report.add(
                "003-C2-orphaned-tool", spot, "Expected a call that the result answers, found none"
            )
        elif result.tool_use_id is not None:
            rule = "004-4-tool-correlation" if stored is None else "003-C3-paired"
            found = f"found {quote(result.tool_use_id)}, which no call has"
            steps = _steps(result.place, spot)
            self._report.add(
                rule, spot, f"Expected the id of a call, {found}", steps and (*steps, "tool_use_id")
            )

    def _spot(self, place: Place) -> LineRef:
        at = place.line.at
        return self._spots[at.offset if at is not None else 0]


def _strip(line: Line, blocks: Sequence[ContentBlock]) -> UserEntry | AssistantEntry | SystemNotice | None:
    """Return an entry with nothing but the names in a line's calls and results; None if it has neither."""
    entry = line.entry
    if isinstance(entry, SystemNotice):  # an error of spec 000, which may answer a call
        return SystemNotice(**_names(entry), is_error=entry.is_error)
    content = tuple(map(_strip_block, blocks))
    if all(block is _NOTHING for block in content):
        return None
    message = Message(content=content)
    if isinstance(entry, AssistantEntry):
        return AssistantEntry(**_names(entry), message=message)
    if isinstance(entry, UserEntry):
        source = entry.source_tool_assistant_uuid
        return UserEntry(**_names(entry), message=message, source_tool_assistant_uuid=source)
    return None


def _strip_block(block: ContentBlock) -> TextBlock | ToolUseBlock | ToolResultBlock:
    if is_call(block):
        return ToolUseBlock(id=block.id, name=block.name)
    if is_result(block):
        return ToolResultBlock(tool_use_id=block.tool_use_id)
    return _NOTHING


def _names(entry: Envelope) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in _NAMES}


def _named(identity: str | None) -> str:
    return "" if identity is None else f" {quote(identity)}"


def _steps(place: Place, spot: LineRef) -> tuple[str | int, ...]:
    if spot.dialect is Dialect.SPEC_000 or find_stored_type(place.line) is not None:
        return ()
    return ("message", "content", place.index)


def _by_dialect(other: str, stored: str, code: str, spec_004: str) -> Mapping[Dialect, str]:
    found = {Dialect.SPEC_000: other, Dialect.SPEC_004: spec_004, Dialect.CLAUDE_CODE: code}
    return {**found, **dict.fromkeys(rules.STORED, stored)}


_TWICE = _by_dialect("000-1-unique-uuid", "000-1-unique-uuid", "000-1-unique-uuid", "004-2-unique-uuid")
_MISSING = _by_dialect("000-3-parent-exists", "003-2-parent-in-session", "000-3-parent-exists", "004-3-parents")
_ELSEWHERE = _by_dialect(
    "000-3-parent-exists", "003-2-parent-in-session", "003-2-parent-in-session", "004-3-parents"
)
_CIRCLE = _by_dialect("003-C1-no-cycles", "003-C1-no-cycles", "003-C1-no-cycles", "004-3-parents")
_LEAVING = _by_dialect("000-6-sidechain", "000-6-sidechain", "000-6-sidechain", "004-5-sidechain-marker")
_DIALECTS = frozenset(_TWICE)
_ANSWERS = frozenset({Kind.ASSISTANT, Kind.CALLER})
_RETURNS = frozenset({*_ANSWERS, Kind.TOOL_RESULT})


class Threads:
    """Follows parents as messages come in; each costs the same, however many came before."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._nodes: list[Node] = []
        self._parents: list[int | None] = []
        self._forward = False
        self._by_uuid: dict[str, Node] = {}
        self._in_others: dict[tuple[str, str], Node] = {}  # the same uuid in further sessions
        self._waiting: dict[str, dict[str, list[Node]]] = {}  # by the parent's uuid, and by session
        self._has_tool_messages = False
        self._begun: set[str] = set()  # sessions of which a message was there

    def add(self, node: Node) -> None:
        """Take the next message."""
        if node.spot.dialect not in _DIALECTS:
            return
        starts = node.session not in self._begun
        if node.kind is not Kind.OTHER:
            self._begun.add(node.session)
        if node.uuid and not self._enter(node):
            return
        if node.is_tool:
            self._has_tool_messages = True
            if not node.sidechain:
                expected = f"`isSidechain: true` for {node.kind.value}"
                message = f"Expected {expected}, found {rules.show_flag(node.sidechain)}"
                self._report.add("003-3-tool-sidechain", node.spot, message)
        if node.parent_uuid:
            self._follow(node)
        elif node.is_stored:
            self._check_start(node, starts)

    def finish(self) -> None:
        """Report what can only be known when all messages are there."""
        for uuid, sessions in self._waiting.items():
            for nodes in sessions.values():
                for node in nodes:
                    self._report_unfollowed(node, self._by_uuid.get(uuid))
        if self._forward:
            self._report_circles()
        if self._has_tool_messages:
            for node in self._nodes:
                if node.kind is Kind.CALLER and not node.has_tool_child:
                    message = "Expected tool messages as children of an answer that calls tools, found none"
                    self._report.add("003-5-tool-children", node.spot, message)

    def _enter(self, node: Node) -> bool:
        """Take a message by its uuid; False for a copy, which has its place already."""
        first = self._find(node.uuid, node)
        if first is not None:
            rule = _TWICE[node.spot.dialect]
            message = f"Expected an unused uuid, found {quote(node.uuid)}, which line {first.spot.number} uses"
            self._report.add(rule, node.spot, message, ("uuid",))
            return False
        node.ordinal = len(self._nodes)
        self._nodes.append(node)
        self._parents.append(None)
        if self._by_uuid.setdefault(node.uuid, node) is not node:
            self._in_others[node.uuid, node.session] = node
        if node.uuid in self._waiting:
            self._release(node)
        return True

    def _release(self, parent: Node) -> None:
        """Put the messages that waited for this one under it: those that can be of its session."""
        sessions = self._waiting[parent.uuid]
        for session in (parent.session, "") if parent.session else tuple(sessions):
            for node in sessions.pop(session, ()):
                self._settle(node, parent)

    def _find(self, uuid: str, asking: Node) -> Node | None:
        """Return the message with this uuid in a session that can be the same, or None."""
        first = self._by_uuid.get(uuid)
        if first is None or first.shares_session(asking):
            return first
        return self._in_others.get((uuid, asking.session))

    def _follow(self, node: Node) -> None:
        parent = self._find(node.parent_uuid, node)
        if parent is None:
            self._waiting.setdefault(node.parent_uuid, {}).setdefault(node.session, []).append(node)
        else:
            self._settle(node, parent)

    def _settle(self, node: Node, parent: Node) -> None:
        """Put a message under its parent."""
        if parent.sidechain and not node.sidechain:
            self._check_leaving(node, parent)
        if node.is_tool:
            self._check_tool(node, parent)
        self._link(node, parent)
        if node.time is not None and parent.time is not None and node.time < parent.time:
            before = f"{parent.time.isoformat()} of its parent on line {parent.spot.number}"
            message = f"Expected no time earlier than {before}, found {node.time.isoformat()}"
            self._report.add("003-C4-chronology", node.spot, message, ("timestamp",))

    def _link(self, node: Node, parent: Node) -> None:
        if node.ordinal >= 0:
            self._parents[node.ordinal] = parent.ordinal
            self._forward = self._forward or parent.ordinal >= node.ordinal
        if node.is_tool:
            parent.has_tool_child = True

    def _check_leaving(self, node: Node, parent: Node) -> None:
        # Spec 000 draws how the main conversation goes on: from the sidechain's answer, with an answer.
        if parent.kind in _ANSWERS and node.kind in _RETURNS:
            return
        expected = f"`isSidechain: true` as in its parent on line {parent.spot.number}"
        message = f"Expected {expected}, found {rules.show_flag(node.sidechain)}"
        self._report.add(_LEAVING[node.spot.dialect], node.spot, message)

    def _check_tool(self, node: Node, parent: Node) -> None:
        found = f"found {parent.kind.value} on line {parent.spot.number}"
        if node.kind is Kind.TOOL_USE and parent.kind not in _ANSWERS:
            expected = "Expected the answer that calls the tool as parent"
            self._report.add("003-C2-orphaned-tool", node.spot, f"{expected}, {found}", _trace(node))
        if node.kind is not Kind.TOOL_RESULT:
            return
        if parent.kind is not Kind.TOOL_USE:
            self._report.add(
                "003-4-result-parent", node.spot, f"Expected a tool use as parent, {found}", _trace(node)
            )
        elif parent.has_tool_child:
            message = f"Expected one result for the tool use on line {parent.spot.number}, found another"
            self._report.add("003-C3-paired", node.spot, message, _trace(node))

    def _check_start(self, node: Node, starts: bool) -> None:
        if node.is_tool:
            self._report.add(
                "003-C2-orphaned-tool", node.spot, f"Expected a parent for {node.kind.value}, found none"
            )
        elif node.kind in _ANSWERS and not starts:
            self._report.add("003-1-parent-given", node.spot, "Expected a parent for an answer, found none")

    def _report_unfollowed(self, node: Node, namesake: Node | None) -> None:
        missing = _MISSING if namesake is None else _ELSEWHERE
        found = f"found {quote(node.parent_uuid)}, which is on no line"
        if namesake is not None:
            found = f"found {quote(node.parent_uuid)} of session {quote(namesake.session)}"
            self._link(node, namesake)
        rule = "003-C2-orphaned-tool" if namesake is None and node.is_tool else missing[node.spot.dialect]
        self._report.add(rule, node.spot, f"Expected a parent in the same session, {found}", _trace(node))

    def _report_circles(self) -> None:
        for first in cut_circles(self._parents):
            node = self._nodes[first]
            message = "Expected parents that lead to a root, found a cycle through this line"
            self._report.add(_CIRCLE[node.spot.dialect], node.spot, message, _trace(node))


def _trace(node: Node) -> tuple[str]:
    """Return where a message names its parent."""
    return ("parent_uuid" if node.spot.dialect is Dialect.SPEC_003_API else "parentUuid",)

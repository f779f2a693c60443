"""Calls and results, as far as rules speak of them.

Which result answers which call is decided in one place for all of turnlog, `tools.CallBuilder`. It keeps lines,
and bodies are not to be kept here: so it is given lines that hold nothing but names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnlog.messages import Dialect, Line, Position
from turnlog.messages.blocks import ContentBlock, ToolResultBlock, ToolUseBlock
from turnlog.messages.entries import AssistantEntry, UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.legacy import Document003, StoredType
from turnlog.messages.media import TextBlock
from turnlog.messages.message import Message
from turnlog.messages.system import SystemNotice
from turnlog.transcripts.calls.builder import CallBuilder
from turnlog.transcripts.calls.call import Call, Pairing
from turnlog.transcripts.calls.links import find_parent
from turnlog.transcripts.calls.results import Place, Result
from turnlog.transcripts.lines.blocks import find_stored_type, is_call, is_result
from turnlog.transcripts.validation.findings import Report, Spot, quote
from turnlog.transcripts.validation.spec_003 import ORPHANED_TOOL, PAIRED, RESULT_PARENT
from turnlog.transcripts.validation.spec_004 import CORRELATION

_NOTHING = TextBlock(text="")
_NAMES = ("uuid", "parent_uuid", "session_id", "is_sidechain", "agent_id")


class Pairs:
    """Pairs calls with results, and keeps nothing of either but their names and places."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._builder = CallBuilder()
        self._spots: dict[int, Spot] = {}

    def add(self, line: Line, blocks: Sequence[ContentBlock], spot: Spot) -> None:
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
            self._report.add(PAIRED, spot, message, _steps(call.place, spot))
            return
        results = [call.result, *call.other_results]
        for result in results:
            answer = self._spot(result.place)
            if answer.index < spot.index:
                message = f"Expected the call before its result, found it on line {spot.number}"
                self._report.add(CORRELATION, answer, message, _steps(result.place, answer))
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
        self._report.add(RESULT_PARENT, self._spot(result.place), message, ("parentUuid",))

    def _check_repeats(self, call: Call, results: list[Result], spot: Spot) -> None:
        """Report a call that was answered by more than one message; copies of one do not count."""
        places = [result.place for result in results]
        extracted = StoredType.TOOL_RESULT  # these are counted by their parents
        answers = {place.uuid for place in places if find_stored_type(place.line) is not extracted}
        if len(answers) > 1:
            message = f"Expected one result for the call of {quote(call.name)}{_named(call.id)}"
            self._report.add(PAIRED, spot, f"{message}, found {len(answers)}", _steps(call.place, spot))

    def _report_orphan(self, result: Result) -> None:
        spot = self._spot(result.place)
        stored = find_stored_type(result.place.line)
        if stored is StoredType.TOOL_RESULT:
            return  # its parent tells the same, and more
        if spot.dialect is Dialect.SPEC_000:
            self._report.add(ORPHANED_TOOL, spot, "Expected a call that the result answers, found none")
        elif result.tool_use_id is not None:
            rule = CORRELATION if stored is None else PAIRED
            found = f"found {quote(result.tool_use_id)}, which no call has"
            steps = _steps(result.place, spot)
            self._report.add(
                rule, spot, f"Expected the id of a call, {found}", steps and (*steps, "tool_use_id")
            )

    def _spot(self, place: Place) -> Spot:
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


def _steps(place: Place, spot: Spot) -> tuple[str | int, ...]:
    if spot.dialect is Dialect.SPEC_000 or find_stored_type(place.line) is not None:
        return ()
    return ("message", "content", place.index)

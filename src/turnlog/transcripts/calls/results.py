"""What came of a call: a result as it stands in its line, and what can be told from it alone.

A result says less than one would wish. Whether it failed is often left out (absent is not false), an
interruption is told by a text, and a call that runs in the background is answered at once by a placeholder.
The evidence is read once, when a result is added; `toolUseResult` gets its type only on demand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field

from turnlog.messages import UNSET, Line, Raw, UnsetType
from turnlog.messages.blocks import ContentBlock, ImageBlock, McpToolResultBlock, TextBlock, ToolResultBlock
from turnlog.messages.dialects import AnyEntry
from turnlog.messages.entries import UserEntry
from turnlog.messages.legacy import StoredType
from turnlog.messages.patch import encode_value
from turnlog.messages.salvage import REFUSALS, decoder, text_of
from turnlog.messages.system import SystemNotice
from turnlog.transcripts.kinds import CallState
from turnlog.transcripts.lines.blocks import (
    ResultBlock,
    find_stored_type,
    is_prompt,
    is_result,
    list_blocks,
    told_error,
)


class Place(Struct, frozen=True, gc=False):
    """Where a block stands."""

    line: Line
    index: int
    """Which of the line's blocks it is, from 0."""

    @property
    def block(self) -> Any:
        """The block that stands there."""
        return list_blocks(self.line.entry)[self.index]

    @property
    def uuid(self) -> str | None:
        """The uuid of the line, which need not be unique."""
        uuid = getattr(self.line.entry, "uuid", None)
        return uuid if isinstance(uuid, str) else None

    def extracted_id(self, kind: StoredType) -> str | None:
        """Return the id of the block as a message of its own (spec 003); None in a line without a uuid."""
        if find_stored_type(self.line) is kind:
            return self.uuid
        part = "tool" if kind is StoredType.TOOL_USE else "result"
        return None if self.uuid is None else f"{self.uuid}_{part}_{self.index}"


class Result(Struct, frozen=True, gc=False):
    """What a tool answered."""

    place: Place
    tool_use_id: str | None
    is_error: bool | None | UnsetType
    """What the result itself says; `UNSET` where it says nothing, which is not False."""
    state: CallState
    """What the result alone tells of the outcome."""
    denial: str | None = None
    """`toolDenialKind`."""
    offloaded_path: str | None = None
    """Where the whole of a long result is said to be. Untrusted: check where it points before reading it."""
    task_id: str | None = None
    """The background task that goes on."""
    agent_id: str | None = None
    """The agent that `toolUseResult` names."""

    @property
    def content(self) -> str | tuple[ContentBlock, ...] | None | UnsetType:
        """What the model saw; the answers of the API's own tools as JSON text."""
        entry = self.place.line.entry
        return _content(entry if type(entry) is SystemNotice else self.place.block)

    @property
    def display(self) -> Raw | UnsetType:
        """`toolUseResult`, where it belongs to this result alone; `Call.view_result` gives it a type."""
        return _display(self.place.line.entry)

    @property
    def extracted_id(self) -> str | None:
        """The id of the result by where it stands; spec 003 names it after its call (`Call.result_id`)."""
        return self.place.extracted_id(StoredType.TOOL_RESULT)

    @property
    def text(self) -> str:
        """All text of the result."""
        return _text(self.content)

    @property
    def images(self) -> tuple[ImageBlock, ...]:
        """The pictures in the result."""
        blocks = self.content if isinstance(self.content, tuple) else ()
        return tuple(block for block in blocks if isinstance(block, ImageBlock))


class _Evidence(Struct, rename="camel"):
    """What `toolUseResult` objects may tell, whatever their tool; all else is skipped."""

    status: Raw | UnsetType = UNSET
    agent_id: Raw | UnsetType = UNSET
    task_id: Raw | UnsetType = UNSET
    timeout_ms: Raw | UnsetType = UNSET
    background_task_id: Raw | UnsetType = UNSET
    detached_tool_call: Raw | UnsetType = UNSET
    interrupted: Raw | UnsetType = UNSET
    was_interrupted: Raw | UnsetType = UNSET
    persisted_output_path: Raw | UnsetType = UNSET
    teammate_id: Raw | UnsetType = field(name="agent_id", default=UNSET)


_NO_EVIDENCE = _Evidence()
_RESOLVED = CallState.RESOLVED  # looking a member up costs time for each result
_LAUNCHED = frozenset({"async_launched", "remote_launched", "queued_to_running", "sub_agent_entered"})
_LAUNCH_TEXTS = ("Async agent launched successfully", "Command running in background with ID:")
_DENIALS: Mapping[str, CallState] = MappingProxyType(
    {"interrupted": CallState.INTERRUPTED, "cancelled": CallState.INTERRUPTED}
)
"""What a `toolDenialKind` means; any other, be it `user-rejected`, `permission-rule` or new, is a refusal."""
_TEXTS: Mapping[str, CallState] = MappingProxyType(
    {
        "[Request interrupted by user": CallState.INTERRUPTED,
        "The user doesn't want to take this action right now": CallState.INTERRUPTED,
        "Permission prompt was aborted": CallState.INTERRUPTED,
        "The user doesn't want to proceed with this tool use": CallState.REJECTED,
        "User rejected tool use": CallState.REJECTED,
        "Permission to use ": CallState.REJECTED,
        "Claude requested permissions to ": CallState.REJECTED,
        "This command requires approval": CallState.REJECTED,
    }
)
"""How texts of failed results begin that tell why, in versions that have no `toolDenialKind`."""
_STARTS = tuple(_TEXTS)
_TOOL_ERROR = "<tool_use_error>"
_ERROR = "Error: "
_OFFLOADED = "<persisted-output>"
_SAVED_TO = re.compile(r"saved to: (.+)")
_AGENT_ID = re.compile(r"^agentId: ?([^\s(]+)", re.MULTILINE)


def read_result(place: Place, block: ResultBlock | SystemNotice) -> Result:
    """Return what a block tells, or (spec 000) an error line that follows a call."""
    entry = place.line.entry
    display = _display(entry)
    evidence, shown = _read_display(display)
    text, is_error = _text(_content(block)), told_error(block)
    denial = _text_or_none(entry.tool_denial_kind) if type(entry) is UserEntry else None
    return Result(
        place=place,
        tool_use_id=_text_or_none(getattr(block, "tool_use_id", None)),
        is_error=is_error,
        state=_state(denial, text, is_error, shown, evidence),
        denial=denial,
        offloaded_path=_string(evidence.persisted_output_path) or _saved_to(text),
        task_id=_string(evidence.background_task_id) or _string(evidence.task_id),
        agent_id=_string(evidence.agent_id) or _string(evidence.teammate_id),
    )


def name_result(call: str | None) -> str | None:
    """Return what spec 003 calls the result of a call: `x_result_0` for `x_tool_0`; None for any other name."""
    origin, found, index = (call or "").rpartition("_tool_")
    return f"{origin}_result_{index}" if found and origin and index.isdigit() else None


def find_agent_id(result: Result) -> str | None:
    """Return the agent that a result of an agent's call names, in its display copy or in its text."""
    if result.agent_id is not None:
        return result.agent_id
    found = _AGENT_ID.search(result.text)
    return None if found is None else found[1]


def _content(block: ResultBlock | SystemNotice) -> str | tuple[ContentBlock, ...] | None | UnsetType:
    if type(block) is ToolResultBlock or isinstance(block, McpToolResultBlock | SystemNotice):
        return block.content
    return encode_value(block.content).decode("utf-8", "replace")


def _text(content: str | tuple[ContentBlock, ...] | None | UnsetType) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, tuple) else ()
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def _display(entry: AnyEntry) -> Raw | UnsetType:
    """Return the line's `toolUseResult`, if there is only one result that it can belong to."""
    if not is_prompt(entry):
        return UNSET
    results = filter(is_result, list_blocks(entry))
    is_alone = next(results, None) is not None and next(results, None) is None
    return entry.tool_use_result if is_alone else UNSET


def _read_display(display: Raw | UnsetType) -> tuple[_Evidence, str | None]:
    """Return what `toolUseResult` tells if it is an object, and what it says if it is text."""
    if display is UNSET:
        return _NO_EVIDENCE, None
    try:
        found: _Evidence | str = decoder(_Evidence | str).decode(display)
    except REFUSALS:
        return _NO_EVIDENCE, None  # a list, or nothing that can be read
    return (_NO_EVIDENCE, found) if isinstance(found, str) else (found, None)


def _state(
    denial: str | None, text: str, is_error: bool | None | UnsetType, shown: str | None, evidence: _Evidence
) -> CallState:
    if denial is not None:
        return _DENIALS.get(denial, CallState.REJECTED)
    if _is_true(evidence.interrupted) or _is_true(evidence.was_interrupted):
        return CallState.INTERRUPTED
    if is_error is not False:
        failure = _failure(text, is_error, shown)
        if failure is not None:
            return failure
    return CallState.PLACEHOLDER if _is_launch(text, evidence) else _RESOLVED


def _failure(text: str, is_error: bool | None | UnsetType, shown: str | None) -> CallState | None:
    """Return how a call failed, or None. Where the result does not say, the texts must."""
    words = (text, (shown or "").removeprefix(_ERROR))
    reason = next((_told_by(each) for each in words if each.startswith(_STARTS)), None)
    if is_error is True:
        return reason or CallState.FAILED
    if shown is not None and (reason is not None or shown.startswith(_ERROR)):
        return reason or CallState.FAILED
    if text.startswith(("[Request interrupted by user]", "[Request interrupted by user for tool use]")):
        return CallState.INTERRUPTED
    return CallState.FAILED if text.startswith(_TOOL_ERROR) else None


def _told_by(text: str) -> CallState:
    return next(state for start, state in _TEXTS.items() if text.startswith(start))


def _is_launch(text: str, evidence: _Evidence) -> bool:
    if _is_true(evidence.detached_tool_call) or _string(evidence.background_task_id) is not None:
        return True
    watches = evidence.task_id is not UNSET and evidence.timeout_ms is not UNSET
    return watches or _string(evidence.status) in _LAUNCHED or text.startswith(_LAUNCH_TEXTS)


def _saved_to(text: str) -> str | None:
    found = _SAVED_TO.search(text) if text.startswith(_OFFLOADED) else None
    return None if found is None else found[1].strip()


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _string(raw: Raw | UnsetType) -> str | None:
    return None if raw is UNSET else text_of(raw)


def _is_true(raw: Raw | UnsetType) -> bool:
    return raw is not UNSET and bytes(raw) == b"true"

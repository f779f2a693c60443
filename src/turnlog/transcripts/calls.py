"""Tool calls with what came of them, as values.

A result says less than one would wish. Whether it failed is often left out (absent is not false), an
interruption is told by a text, and a call that runs in the background is answered at once by a placeholder.
The evidence is read once, when a result is added; `toolUseResult` gets its type only on demand.

The outcome of a call that was detached stands in the news that its task ended. It comes as a user line or a
queued command with a `<task-notification>` text, or as a message of the stream. One that never got beyond the
queue, because the person interrupted, tells of an end all the same.

Which files calls read and changed is what their inputs name, below the directory of the call's line.

Spec 003 keeps calls and results as messages of their own. A call is named after the line that holds its block
and the block's place in it, and hangs under that line. A result is named after its call, and hangs under it. A
line alone does not say where that call is: `map_parents` does, and without it a result is named after its own
line, and hangs under the line which that one names.
"""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from turnlog.messages import UNSET, AnyEntry, Line, Raw, UnsetType, View
from turnlog.messages.attachments import QueuedCommand
from turnlog.messages.base import encode_value
from turnlog.messages.blocks import (
    ContentBlock,
    ImageBlock,
    McpToolResultBlock,
    McpToolUseBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from turnlog.messages.entries import AttachmentEntry, UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.legacy import Document003, StoredType
from turnlog.messages.metadata import QueueAction, QueueOperation
from turnlog.messages.salvage import REFUSALS, decoder, text_of
from turnlog.messages.sdk.messages import TaskNotificationMessage, UserFields, UserMessage, UserMessageReplay
from turnlog.messages.system import SystemNotice
from turnlog.messages.tool_io.registry import ToolInput, ToolResult, view_input, view_result
from turnlog.transcripts.kinds import CallState, Category
from turnlog.transcripts.lines.content import (
    CallBlock,
    ResultBlock,
    find_error_flag,
    find_stored_type,
    is_call,
    is_known_tool,
    is_prompt,
    is_result,
    list_blocks,
    list_texts,
    tool_category,
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
_DENIALS: Mapping[str, CallState] = {"interrupted": CallState.INTERRUPTED, "cancelled": CallState.INTERRUPTED}
"""What a `toolDenialKind` means; any other, be it `user-rejected`, `permission-rule` or new, is a refusal."""
_TEXTS: Mapping[str, CallState] = {
    "[Request interrupted by user": CallState.INTERRUPTED,
    "The user doesn't want to take this action right now": CallState.INTERRUPTED,
    "Permission prompt was aborted": CallState.INTERRUPTED,
    "The user doesn't want to proceed with this tool use": CallState.REJECTED,
    "User rejected tool use": CallState.REJECTED,
    "Permission to use ": CallState.REJECTED,
    "Claude requested permissions to ": CallState.REJECTED,
    "This command requires approval": CallState.REJECTED,
}
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
    text, is_error = _text(_content(block)), find_error_flag(block)
    denial = _text_or_none(entry.tool_denial_kind) if type(entry) is UserEntry else None
    saved = _SAVED_TO.search(text) if text.startswith(_OFFLOADED) else None
    return Result(
        place=place,
        tool_use_id=_text_or_none(getattr(block, "tool_use_id", None)),
        is_error=is_error,
        state=_state(denial, text, is_error, shown, evidence),
        denial=denial,
        offloaded_path=_string(evidence.persisted_output_path) or (saved and saved[1].strip()),
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
    said = next((each for each in words if each.startswith(_STARTS)), None)
    reason = said and next(state for start, state in _TEXTS.items() if said.startswith(start))
    if is_error is True:
        return reason or CallState.FAILED
    if shown is not None and (reason is not None or shown.startswith(_ERROR)):
        return reason or CallState.FAILED
    if text.startswith(("[Request interrupted by user]", "[Request interrupted by user for tool use]")):
        return CallState.INTERRUPTED
    return CallState.FAILED if text.startswith(_TOOL_ERROR) else None


def _is_launch(text: str, evidence: _Evidence) -> bool:
    if _is_true(evidence.detached_tool_call) or _string(evidence.background_task_id) is not None:
        return True
    watches = evidence.task_id is not UNSET and evidence.timeout_ms is not UNSET
    return watches or _string(evidence.status) in _LAUNCHED or text.startswith(_LAUNCH_TEXTS)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _string(raw: Raw | UnsetType) -> str | None:
    return None if raw is UNSET else text_of(raw)


def _is_true(raw: Raw | UnsetType) -> bool:
    return raw is not UNSET and bytes(raw) == b"true"


_TELLING = frozenset(
    {TaskNotificationMessage, UserEntry, UserMessage, UserMessageReplay, AttachmentEntry, QueueOperation}
)
_START = "<task-notification>"
_RESULT, _RESULT_END = "<result>", "</result>"
_SUMMARY, _SUMMARY_END = "<summary>", "</summary>"
_FIELD = re.compile(r"<(task-id|tool-use-id|status)>([^<]*)</\1>")


class TaskNotice(Struct, frozen=True, gc=False):
    """The end of a background task."""

    line: Line
    status: str
    """`completed`, `failed`, `killed`, `stopped` and the like."""
    task_id: str | None = None
    tool_use_id: str | None = None

    @property
    def summary(self) -> str | None:
        """What the program says of the end, in a sentence."""
        if isinstance(self.line.entry, TaskNotificationMessage):
            told = self.line.entry.summary
            return told if isinstance(told, str) else None
        text = _text_of(self.line.entry)
        start, end = _find_summary(text)
        return text[start:end].strip() or None

    @property
    def result(self) -> str | None:
        """What the task itself said in the end: an agent's answer."""
        text = _text_of(self.line.entry)
        start = text.find(_RESULT, _find_summary(text)[1])
        end = text.rfind(_RESULT_END)
        return text[start + len(_RESULT) : end].strip() if 0 <= start < end else None


def find_notice(line: Line) -> TaskNotice | None:
    """Return the end of a task that a line tells of; None if it tells of none, or of mere events."""
    entry = line.entry
    if type(entry) not in _TELLING:  # nearly all lines
        return None
    if isinstance(entry, TaskNotificationMessage):
        call = entry.tool_use_id if isinstance(entry.tool_use_id, str) else None
        return (
            TaskNotice(line, str(entry.status), entry.task_id, call) if isinstance(entry.status, str) else None
        )
    text = _text_of(entry)
    if not text.startswith(_START):
        return None
    said: dict[str, str] = {}
    start, end = _find_summary(text)
    # What people and the task say may hold such tags, too.
    for name, value in _FIELD.findall(f"{text[:start]}{text[end:]}".partition(_RESULT)[0]):
        said.setdefault(name, value.strip())
    if not said.get("status"):
        return None
    return TaskNotice(line, said["status"], said.get("task-id"), said.get("tool-use-id"))


def _find_summary(text: str) -> tuple[int, int]:
    """Return where the summary begins and ends; nowhere at the very beginning, if there is none."""
    start = text.find(_SUMMARY)
    end = text.find(_SUMMARY_END, start) if start >= 0 else -1
    result = text.find(_RESULT)  # an answer may hold such tags, too
    return (0, 0) if end < 0 or 0 <= result < start else (start + len(_SUMMARY), end)


def _text_of(entry: AnyEntry) -> str:
    """Return where a notice would stand: the first text of a line."""
    text: object = None
    if isinstance(entry, AttachmentEntry):
        text = entry.attachment.prompt if isinstance(entry.attachment, QueuedCommand) else None
    elif isinstance(entry, QueueOperation):
        text = entry.content if entry.operation is QueueAction.ENQUEUE else None
    elif isinstance(entry, UserEntry | UserFields):
        content = entry.message.content
        text = content if isinstance(content, str) else next(iter(list_texts(entry)), "")
    return text.lstrip() if isinstance(text, str) else ""


T = TypeVar("T")


class Pairing(StrEnum):
    """By what a result was joined to its call."""

    ID = "id"
    SOURCE = "source"
    """`sourceToolAssistantUUID`"""
    PARENT = "parent"
    ORDER = "order"
    """The n-th result after n parallel calls (spec 000)."""


class Call(Struct, frozen=True, gc=False, kw_only=True):
    """A tool call with what came of it."""

    id: str | None
    """None in dialects that do not name their calls."""
    name: str
    category: Category
    known: bool
    """Whether the tool is declared; one that is not counts as built in."""
    place: Place
    told_at: Place
    """Where its block stands: its place, unless only a copy has its id."""
    state: CallState
    result: Result | None = None
    paired_by: Pairing | None = None
    notice: TaskNotice | None = None
    """The end of the background task that the call became."""
    agent_id: str | None = None
    """The agent that the call started."""
    copies: tuple[Place, ...] = ()
    """Further lines that hold the same call."""
    other_results: tuple[Result, ...] = ()
    """Results that count for less than `result`, in the order in which that turned out."""

    def __repr__(self) -> str:
        return f"Call(id={self.id!r}, name={self.name!r}, state={self.state.value!r})"

    @property
    def block(self) -> CallBlock:
        """What the model asked for."""
        block: CallBlock = self.told_at.block
        return block

    @property
    def extracted_id(self) -> str | None:
        """The id of the call as a message of its own (spec 003)."""
        return self.place.extracted_id(StoredType.TOOL_USE)

    @property
    def result_id(self) -> str | None:
        """The id of the result as a message of its own (spec 003), which is named after its call."""
        if self.result is None or find_stored_type(self.result.place.line) is StoredType.TOOL_RESULT:
            return None if self.result is None else self.result.place.uuid
        return name_result(self.extracted_id) or self.result.extracted_id

    def view_input(self) -> View[ToolInput]:
        """Look at the input as its tool's type; never raises."""
        return view_input(ToolUseBlock(name=self.name, input=self.block.input))

    def view_result(self) -> View[ToolResult] | None:
        """Look at `toolUseResult` as its tool's type; None where there is none. Never raises."""
        if self.result is None or not isinstance(self.result.display, Raw):
            return None
        return view_result(self.name, self.result.display)


_AGENT = Category.AGENT  # looking a member up costs time for each call
_WORTH: Mapping[CallState, int] = {
    CallState.RESOLVED: 2,
    CallState.FAILED: 2,
    CallState.PLACEHOLDER: 1,
    CallState.INTERRUPTED: 0,
    CallState.REJECTED: 0,
}
"""How much a result tells: of several the one that tells most counts, of equals the last."""

_ENDS: Mapping[str, CallState] = {
    "completed": CallState.RESOLVED,
    "failed": CallState.FAILED,
    "error": CallState.FAILED,
}
"""What the end of a task makes of a placeholder; any other end was a stop."""


def _weigh(result: Result, paired_by: Pairing | None) -> tuple[int, bool]:
    """Return how much a result tells: the more telling state first, then whether it names its call."""
    return _WORTH[result.state], paired_by is Pairing.ID


class CallDraft(Struct, eq=False):
    """A call in the making: what is known so far."""

    place: Place
    told_at: Place
    id: str | None
    name: str
    by_server: bool
    copies: list[Place] | None = None
    result: Result | None = None
    paired_by: Pairing | None = None
    others: list[Result] | None = None
    notice: TaskNotice | None = None
    denied: bool = False
    batch: object = None
    _call: Call | None = None

    @classmethod
    def begin(cls, block: CallBlock, place: Place) -> CallDraft:
        """Return a call of which nothing but its first block is known."""
        return cls(place, place, *_read(block))

    @property
    def is_agent(self) -> bool:
        """Whether the call starts an agent."""
        return tool_category(self.name) is _AGENT

    def add_copy(self, block: CallBlock, place: Place) -> None:
        """Note that the call stands in another line, too; a block with an id is the better one."""
        self.copies = _append(self.copies, place)
        if self.id is None:
            self.told_at = place
            self.id, self.name, self.by_server = _read(block)
        self._call = None

    def add_result(self, result: Result, paired_by: Pairing) -> None:
        """Take a result, if it tells as much as the one that is there."""
        self._call = None
        if self.result is not None:
            if _weigh(result, paired_by) < _weigh(self.result, self.paired_by):
                self.others = _append(self.others, result)
                return
            self.others = _append(self.others, self.result)
        self.result, self.paired_by = result, paired_by

    def remove_result(self, result: Result) -> list[Result]:
        """Give up a result with its copies, and return them; the best of the others counts instead."""
        known = [*(self.others or ()), *([] if self.result is None else [self.result])]
        removed: list[Result] = []
        self.result = self.paired_by = self.others = self._call = None
        for each in known:
            if each is result or (each.extracted_id == result.extracted_id and each.extracted_id is not None):
                removed.append(each)
            else:
                is_named = each.tool_use_id is not None and each.tool_use_id == self.id
                self.add_result(each, Pairing.ID if is_named else Pairing.PARENT)
        return removed

    def add_notice(self, notice: TaskNotice) -> None:
        """Take the end of the call's background task; the last one counts."""
        self.notice, self._call = notice, None

    def deny(self) -> None:
        """Note that the call was not allowed."""
        self.denied, self._call = True, None

    def build(self) -> Call:
        """Return the call as it is now."""
        if self._call is None:
            category = tool_category(self.name)
            self._call = Call(
                id=self.id,
                name=self.name,
                category=Category.MCP if self.by_server else category,
                known=self.by_server or is_known_tool(self.name),
                place=self.place,
                told_at=self.told_at,
                state=self._state(),
                result=self.result,
                paired_by=self.paired_by,
                notice=self.notice,
                agent_id=find_agent_id(self.result) if self.result is not None and category is _AGENT else None,
                copies=tuple(self.copies or ()),
                other_results=tuple(self.others or ()),
            )
        return self._call

    def _state(self) -> CallState:
        if self.result is None:
            return CallState.UNRESOLVED
        state = self.result.state
        if self.notice is not None and state is CallState.PLACEHOLDER:
            return _ENDS.get(self.notice.status, CallState.INTERRUPTED)
        return CallState.REJECTED if self.denied and state is CallState.FAILED else state


def _read(block: CallBlock) -> tuple[str | None, str, bool]:
    """Return a call's id, its name, and whether it goes to a server of the API."""
    return block.id if isinstance(block.id, str) else None, block.name, type(block) is McpToolUseBlock


def _append(items: list[T] | None, item: T) -> list[T]:
    """Return a list with one more; nearly all calls need none."""
    if items is None:
        return [item]
    items.append(item)
    return items


_FILE_TOOLS: Mapping[str, tuple[str, bool]] = {
    "Read": ("file_path", False),
    "NotebookRead": ("notebook_path", False),
    "Write": ("file_path", True),
    "Edit": ("file_path", True),
    "MultiEdit": ("file_path", True),
    "NotebookEdit": ("notebook_path", True),
}
"""The tools that work on one file: where their input names it, and whether they change it."""

NOT_DONE = frozenset({CallState.FAILED, CallState.REJECTED, CallState.INTERRUPTED})
"""What became of calls that touched nothing."""


class TouchedFile(Struct, frozen=True, gc=False):
    """A file that was read or changed."""

    path: str
    changed: bool


def list_touched_files(calls: Iterable[Call]) -> tuple[TouchedFile, ...]:
    """Return the files that some calls touched, each once, in order; calls that failed touched nothing."""
    found: dict[str, bool] = {}
    for call in calls:
        path, changes = find_file(call)
        if path is not None and call.state not in NOT_DONE:
            found[path] = found.get(path, False) or changes
    return tuple(TouchedFile(path, changed) for path, changed in found.items())


def find_file(call: Call) -> tuple[str | None, bool]:
    """Return the file that a call works on, if it is on one, and whether the call changed it."""
    field, changes = _FILE_TOOLS.get(call.name, ("", False))
    path = _read_path(call, field) if field else None
    if not isinstance(path, str):
        return None, False
    entry = call.place.line.entry
    cwd = entry.cwd if isinstance(entry, Envelope) else None
    return _resolve(path, cwd if isinstance(cwd, str) else ""), changes and call.state not in NOT_DONE


class _Paths(Struct, frozen=True, gc=False):
    """What of an input is read: nothing else of it need have a type for that."""

    file_path: str | UnsetType = UNSET
    notebook_path: str | UnsetType = UNSET


_decode_paths = msgspec.json.Decoder(_Paths).decode


def _read_path(call: Call, field: str) -> object:
    raw = call.block.input
    try:
        return None if raw is UNSET else getattr(_decode_paths(raw), field)
    except REFUSALS:
        return getattr(call.view_input().value, field, None)


def _resolve(path: str, cwd: str) -> str:
    """Return a path below the directory that it is relative to; as it stands where that is not known."""
    if not path or path.startswith(("/", "\\", "~")) or ntpath.splitdrive(path)[0]:
        return path
    if cwd.startswith("/"):
        return posixpath.normpath(posixpath.join(cwd, path))
    return ntpath.normpath(ntpath.join(cwd, path)) if ntpath.splitdrive(cwd)[0] else path


_NONE: Mapping[str, str] = {}


def map_parents(calls: Iterable[Call]) -> dict[str, str]:
    """Return the extracted id of the call for that of each result, the results that do not count too."""
    found: dict[str, str] = {}
    for call in calls:
        for result in (call.result, *call.other_results):
            if result is not None and result.extracted_id is not None and call.extracted_id is not None:
                found[result.extracted_id] = call.extracted_id
    return found


def extract(line: Line, parents: Mapping[str, str] = _NONE) -> list[Document003]:
    """Return the calls and results of a line as spec 003's documents; `turnlog.encode` writes them.

    `parents` says which call each result answers (`map_parents`).
    """
    documents: list[Document003] = []
    for index, block in enumerate(list_blocks(line.entry)):
        place = Place(line, index)
        if is_call(block):
            documents.append(_extract_call(place, block))
        elif is_result(block):
            documents.append(_extract_result(read_result(place, block), parents))
    return documents


def _extract_call(place: Place, block: CallBlock) -> Document003:
    plain = (
        block
        if isinstance(block, ToolUseBlock)
        else ToolUseBlock(id=block.id, name=block.name, input=block.input)
    )
    own = find_stored_type(place.line) is StoredType.TOOL_USE
    parent = _envelope(place.line).parent_uuid if own else place.uuid
    return _document(place, StoredType.TOOL_USE, parent, encode_value(plain).decode("utf-8", "replace"))


def _extract_result(result: Result, parents: Mapping[str, str]) -> Document003:
    call = parents.get(result.extracted_id or "")
    parent = call or _find_named_parent(result.place.line)
    content = result.content
    if isinstance(content, tuple):
        content = encode_value(content).decode("utf-8", "replace")
    document = _document(result.place, StoredType.TOOL_RESULT, parent, content)
    name = None if find_stored_type(result.place.line) is StoredType.TOOL_RESULT else name_result(call)
    return document if name is None else replace(document, uuid=name)


def _find_named_parent(line: Line) -> str | None | UnsetType:
    entry = line.entry
    if isinstance(entry, UserEntry) and isinstance(entry.source_tool_assistant_uuid, str):
        return entry.source_tool_assistant_uuid
    return _envelope(line).parent_uuid


def _document(
    place: Place, kind: StoredType, parent: str | None | UnsetType, content: str | None | UnsetType
) -> Document003:
    entry = place.line.entry
    session, time = getattr(entry, "session_id", UNSET), getattr(entry, "timestamp", UNSET)
    return Document003(
        type=kind,
        uuid=place.extracted_id(kind) or UNSET,
        parent_uuid=parent,
        session_id=session,
        timestamp=time,
        content=content,
        is_sidechain=True,
    )


def _envelope(line: Line) -> Envelope:
    """Return what the line says about itself; messages of the stream say nothing of a parent."""
    return line.entry if isinstance(line.entry, Envelope) else Envelope()

"""A tool call with what came of it, as a value; the notices of background tasks, and the files that calls
touched.

The outcome of a call that was detached stands in the news that its task ended. It comes as a user line or a
queued command with a `<task-notification>` text, or as a message of the stream. One that never got beyond the
queue, because the person interrupted, tells of an end all the same.

Which files calls read and changed is what their inputs name, below the directory of the call's line.
"""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from turnlog.messages import Line, Raw, View
from turnlog.messages.attachments import QueuedCommand
from turnlog.messages.blocks import McpToolUseBlock, ToolUseBlock
from turnlog.messages.dialects import AnyEntry
from turnlog.messages.entries import AttachmentEntry, UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.legacy import StoredType
from turnlog.messages.metadata import QueueAction, QueueOperation
from turnlog.messages.salvage import REFUSALS
from turnlog.messages.sdk import TaskNotificationMessage, UserFields, UserMessage, UserMessageReplay
from turnlog.messages.tool_io import ToolInput, ToolResult, view_input, view_result
from turnlog.transcripts.calls.results import Place, Result, find_agent_id, name_result
from turnlog.transcripts.kinds import CallState, Category
from turnlog.transcripts.lines.blocks import CallBlock, find_stored_type, list_texts
from turnlog.transcripts.lines.categories import is_known_tool, tool_category

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
    for name, value in _FIELD.findall(_head_of(text)):
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


def _head_of(text: str) -> str:
    """Return what the program says of the task; what people and the task say may hold such tags, too."""
    start, end = _find_summary(text)
    return f"{text[:start]}{text[end:]}".partition(_RESULT)[0]


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
_WORTH: Mapping[CallState, int] = MappingProxyType(
    {
        CallState.RESOLVED: 2,
        CallState.FAILED: 2,
        CallState.PLACEHOLDER: 1,
        CallState.INTERRUPTED: 0,
        CallState.REJECTED: 0,
    }
)
"""How much a result tells: of several the one that tells most counts, of equals the last."""

_ENDS: Mapping[str, CallState] = MappingProxyType(
    {"completed": CallState.RESOLVED, "failed": CallState.FAILED, "error": CallState.FAILED}
)
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


_FILE_TOOLS: Mapping[str, tuple[str, bool]] = MappingProxyType(
    {
        "Read": ("file_path", False),
        "NotebookRead": ("notebook_path", False),
        "Write": ("file_path", True),
        "Edit": ("file_path", True),
        "MultiEdit": ("file_path", True),
        "NotebookEdit": ("notebook_path", True),
    }
)
"""The tools that work on one file: where their input names it, and whether they change it."""

NOT_DONE = frozenset({CallState.FAILED, CallState.REJECTED, CallState.INTERRUPTED})
"""What became of calls that touched nothing."""


class Touched(Struct, frozen=True, gc=False):
    """A file that was read or changed."""

    path: str
    changed: bool


def list_touched(calls: Iterable[Call]) -> tuple[Touched, ...]:
    """Return the files that some calls touched, each once, in order; calls that failed touched nothing."""
    found: dict[str, bool] = {}
    for call in calls:
        path, changes = find_file(call)
        if path is not None and call.state not in NOT_DONE:
            found[path] = found.get(path, False) or changes
    return tuple(Touched(path, changed) for path, changed in found.items())


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

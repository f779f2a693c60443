"""What of a line is searched: its passages, each with what it is.

A passage is what stands together: a block of a prompt or an answer, what a tool was given, what it answered.
All of it is text that people read or may ask for. Signatures, images and what else is for machines is left out,
and so is what repeats another line: progress, the display copy of a result, a workflow's journal.

This is asked of every line of every session. So the reader of a type is looked up, and JSON that nobody decoded
yet (what tools were given) is decoded once, to its leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from turnlog.messages import Line
from turnlog.messages.attachments import (
    HOOK_ATTACHMENTS,
    AgentMention,
    DirectoryAttachment,
    FileAttachment,
    GoalStatus,
    HookBlockingError,
    HookErrorDuringExecution,
    HookNonBlockingError,
    MaxTurnsReached,
    QueuedCommand,
    SelectedLinesInDiff,
    SelectedLinesInIde,
    StructuredOutput,
    TaskStatus,
    UnknownAttachment,
)
from turnlog.messages.compaction import CompactionEntry
from turnlog.messages.control import CONTROL_TYPES
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, MetadataEntry, UnknownEntry, UserEntry
from turnlog.messages.hook_events import BaseHookInput
from turnlog.messages.message import Message
from turnlog.messages.metadata import (
    AgentName,
    AiTitle,
    CustomTitle,
    JournalFailed,
    QueueAction,
    QueueOperation,
    SavedHookContext,
    Summary,
)
from turnlog.messages.patch import encode_value
from turnlog.messages.sdk import (
    AssistantMessage,
    HookResponseMessage,
    ResultMessage,
    UserMessage,
    UserMessageReplay,
    has_failed,
)
from turnlog.messages.system import ApiErrorNotice, Level, StopHookSummary, SystemFields, TurnDuration
from turnlog.transcripts.hooks.deliveries import HookDelivery
from turnlog.transcripts.lines.categories import ROLES
from turnlog.transcripts.lines.kinds import Role
from turnlog.transcripts.lines.leaves import PLUMBING, json_text, value_text
from turnlog.transcripts.lines.passage import Passage, PassageKind, build_passages, list_hook_passages
from turnlog.transcripts.lines.spoken import read_answer, read_prompt, read_queued
from turnlog.transcripts.lines.texts import content_text, text_of

PASSAGES = 1
"""The version of these rules: what was extracted by another one is extracted anew."""

_Reader = Callable[[Any], list[Passage]]

_SUMMARY, _NOTICE, _TITLE, _HOOK = (
    PassageKind.SUMMARY,
    PassageKind.NOTICE,
    PassageKind.TITLE,
    PassageKind.HOOK,
)
_SEEN = frozenset(
    {
        FileAttachment,
        DirectoryAttachment,
        SelectedLinesInIde,
        SelectedLinesInDiff,
        AgentMention,
        StructuredOutput,
        GoalStatus,
        TaskStatus,
        MaxTurnsReached,
        UnknownAttachment,
    }
)
"""The attachments that people see; all others are for the model alone."""
_HOOKS = frozenset(HOOK_ATTACHMENTS)
_FAILED_HOOKS = frozenset({HookBlockingError, HookErrorDuringExecution, HookNonBlockingError})
_CONTROL = (cls for classes in CONTROL_TYPES.values() for cls in classes)
_SILENT = frozenset({*get_args(MetadataEntry), TurnDuration, *_CONTROL})
"""What says nothing to a reader, or repeats what stands elsewhere, unless it has a reader below."""


def list_passages(line: Line) -> list[Passage]:
    """Return what of a line is searched, in order; whatever is in it, this does not raise."""
    entry = line.entry
    kind = type(entry)
    read = _READERS.get(kind)
    if read is None:
        read = _READERS[kind] = _find_reader(kind)
    return read(entry)


def _find_reader(kind: type) -> _Reader:
    """Return how entries of a type are read that has no reader of its own."""
    if issubclass(kind, BaseHookInput):
        return _read_hook_input
    if kind in _SILENT or ROLES.get(kind) is Role.PROGRESS:
        return lambda entry: []
    return _read_system if issubclass(kind, SystemFields) else _read_other


def _read_hook_input(entry: BaseHookInput) -> list[Passage]:
    return list_hook_passages(HookDelivery(delivery_id="", received_ns=0, payload=encode_value(entry)))


def _read_attachment(entry: AttachmentEntry) -> list[Passage]:
    carried = entry.attachment
    if isinstance(carried, QueuedCommand):
        return read_queued(carried.prompt)
    kind = type(carried)
    if kind in _HOOKS:
        return build_passages(_HOOK, value_text(carried), kind in _FAILED_HOOKS)
    return build_passages(_NOTICE, value_text(carried)) if kind in _SEEN else []


def _read_queue(entry: QueueOperation) -> list[Passage]:
    return read_queued(entry.content) if entry.operation is QueueAction.ENQUEUE else []


def _read_system(entry: Any) -> list[Passage]:
    return build_passages(_NOTICE, text_of(entry), entry.level is Level.ERROR or entry.is_error is True)


def _read_api_error(entry: ApiErrorNotice) -> list[Passage]:
    parts = (entry.content, entry.error, entry.cause)
    texts = [part if isinstance(part, str) else value_text(part) for part in parts]
    return build_passages(_NOTICE, "\n".join(filter(None, texts)), True)


def _read_stop_hooks(entry: StopHookSummary) -> list[Passage]:
    errors = entry.hook_errors if isinstance(entry.hook_errors, tuple) else ()
    context = entry.hook_additional_context if isinstance(entry.hook_additional_context, tuple) else ()
    reason = (entry.stop_reason,) if isinstance(entry.stop_reason, str) else ()
    return build_passages(_HOOK, "\n".join((*errors, *context, *reason)), bool(errors))


def _read_compaction(entry: CompactionEntry) -> list[Passage]:
    parts = [content_text(part) for part in (entry.prelude, entry.recap) if isinstance(part, Message)]
    return build_passages(_SUMMARY, "\n\n".join(filter(None, parts)))


def _read_unknown(entry: UnknownEntry) -> list[Passage]:
    return build_passages(_NOTICE, json_text(entry.raw, PLUMBING))


def _read_result(entry: ResultMessage) -> list[Passage]:
    """A success repeats the last answer."""
    return build_passages(_NOTICE, text_of(entry), True) if has_failed(entry) else []


def _read_other(entry: Any) -> list[Passage]:
    return build_passages(_NOTICE, text_of(entry))


_READERS: dict[type, _Reader] = {
    AssistantEntry: read_answer,
    AssistantMessage: read_answer,
    UserEntry: read_prompt,
    UserMessage: read_prompt,
    UserMessageReplay: read_prompt,
    AttachmentEntry: _read_attachment,
    QueueOperation: _read_queue,
    Summary: lambda entry: build_passages(_TITLE, entry.summary),
    CustomTitle: lambda entry: build_passages(_TITLE, entry.custom_title),
    AiTitle: lambda entry: build_passages(_TITLE, entry.ai_title),
    AgentName: lambda entry: build_passages(_TITLE, entry.agent_name),
    SavedHookContext: lambda entry: build_passages(_HOOK, content_text(entry.content)),
    ApiErrorNotice: _read_api_error,
    StopHookSummary: _read_stop_hooks,
    CompactionEntry: _read_compaction,
    UnknownEntry: _read_unknown,
    ResultMessage: _read_result,
    HookResponseMessage: lambda entry: build_passages(_HOOK, text_of(entry)),
    JournalFailed: lambda entry: build_passages(_NOTICE, value_text(entry.error), True),
}

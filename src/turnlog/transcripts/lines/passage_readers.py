"""What of a line is searched: its passages, each with what it is.

A passage is what stands together: a block of a prompt or an answer, what a tool was given, what it answered.
All of it is text that people read or may ask for. Signatures, images and what else is for machines is left
out, and so is what repeats another line: progress, the display copy of a result, a workflow's journal.

This is asked of every line of every session. So the reader of a type is looked up, and JSON that nobody
decoded yet (what tools were given) is decoded once, to its leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, get_args

import turnlog.messages.sdk.messages as sdk
from turnlog.messages import UNSET, Line, attachments, entries, metadata
from turnlog.messages import blocks as block_types
from turnlog.messages.attachments import QueuedCommand
from turnlog.messages.base import Unknown, encode_value
from turnlog.messages.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from turnlog.messages.control.frames import CONTROL_TYPES
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, UserEntry
from turnlog.messages.hook_events import BaseHookInput
from turnlog.messages.message import Message
from turnlog.messages.metadata import QueueAction, QueueOperation
from turnlog.messages.sdk.messages import AssistantMessage, ResultMessage, UserFields, has_failed
from turnlog.messages.system import ApiErrorNotice, Level, StopHookSummary, SystemFields, TurnDuration
from turnlog.transcripts.hooks import HookDelivery
from turnlog.transcripts.kinds import Role
from turnlog.transcripts.lines.content import ROLES, content_text, find_error_flag, is_call, is_result, text_of
from turnlog.transcripts.lines.passages import (
    TECHNICAL_MEMBERS,
    Passage,
    PassageKind,
    build_passages,
    json_text,
    list_hook_passages,
    value_text,
)
from turnlog.transcripts.lines.prompts import PromptKind, kind_of, strip_command_tags

# Looking a member up costs as much as making the passage.
_PROMPT, _ANSWER, _THINKING = PassageKind.PROMPT, PassageKind.ANSWER, PassageKind.THINKING
_INPUT, _OUTPUT = PassageKind.TOOL_INPUT, PassageKind.TOOL_OUTPUT
_SUMMARY, _NOTICE = PassageKind.SUMMARY, PassageKind.NOTICE
_TITLE, _HOOK = PassageKind.TITLE, PassageKind.HOOK
_COMMAND, _RECAP = PromptKind.COMMAND, PromptKind.RECAP
_WRITTEN = frozenset(
    {PromptKind.TYPED, PromptKind.COMMAND, PromptKind.SHELL, PromptKind.TEAMMATE, PromptKind.MEMORY}
)
_TOOL_ERROR = "<tool_use_error>"

_Reader = Callable[[Any], list[Passage]]

_SEEN = frozenset({*attachments.SHOWN_ATTACHMENTS, attachments.UnknownAttachment})
_HOOKS = frozenset(attachments.HOOK_ATTACHMENTS)
_FAILED_HOOKS = frozenset(
    {attachments.HookBlockingError, attachments.HookErrorDuringExecution, attachments.HookNonBlockingError}
)
_CONTROL = (cls for classes in CONTROL_TYPES.values() for cls in classes)
_SILENT = frozenset({*get_args(entries.MetadataEntry), TurnDuration, *_CONTROL})
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


def _read_answer(entry: AssistantEntry | AssistantMessage) -> list[Passage]:
    failed = _has_failed(entry)
    said = _NOTICE if failed else _ANSWER
    content: Any = entry.message.content
    if type(content) is not tuple:
        return build_passages(said, content, failed)
    found: list[Passage] = []
    for index, block in enumerate(content):
        kind = type(block)
        what, is_error = said, failed
        if kind is TextBlock:
            text = block.text
        elif kind is ThinkingBlock:
            text, what, is_error = block.thinking, _THINKING, False
        elif kind is ToolUseBlock:
            text, what, is_error = _input_text(block.input), _INPUT, False
        else:
            text, what, is_error = _read_block(block, said)
        if text and not text.isspace():
            found.append(Passage(what, index, text, is_error))
    return found


def _read_prompt(entry: UserEntry | UserFields) -> list[Passage]:
    said = _find_kind(entry)
    content: Any = entry.message.content
    if type(content) is not tuple:
        return _read_texts((content,), said) if isinstance(content, str) else []
    found: list[Passage] = []
    for index, block in enumerate(content):
        kind = type(block)
        if kind is TextBlock:
            found += _read_text(index, block.text, said)
            continue
        if kind is ToolResultBlock:
            text, what = _output_text(block.content), _OUTPUT
            is_error = block.is_error is True or text.startswith(_TOOL_ERROR)
        else:
            text, what, is_error = _read_block(block, said or _PROMPT)
        if text and not text.isspace():
            found.append(Passage(what, index, text, is_error))
    return found


def _read_queued(prompt: object) -> list[Passage]:
    blocks: Any = (prompt,) if isinstance(prompt, str) else prompt if isinstance(prompt, tuple) else ()
    return _read_texts(getattr(block, "text", block) for block in blocks)


def _has_failed(entry: AssistantEntry | AssistantMessage) -> bool:
    if type(entry) is AssistantEntry:
        return entry.is_api_error_message is True or entry.is_error is True
    return isinstance(entry.error, str)


def _find_kind(entry: UserEntry | UserFields) -> PassageKind | None:
    """Return what all text of an entry is; None where each text tells by itself."""
    if isinstance(entry, UserFields):
        return _NOTICE if entry.is_synthetic is True else None
    if entry.is_compact_summary is True:
        return _SUMMARY
    return _NOTICE if entry.is_meta is True else None


def _read_texts(texts: Iterable[object], said: PassageKind | None = None) -> list[Passage]:
    return [each for index, text in enumerate(texts) for each in _read_text(index, text, said)]


def _read_text(index: int, text: object, said: PassageKind | None) -> list[Passage]:
    if not isinstance(text, str) or not text or text.isspace():
        return []
    if said is None:
        kind = kind_of(text)
        if kind is _COMMAND:
            text = strip_command_tags(text.lstrip())
        said = _PROMPT if kind in _WRITTEN else _SUMMARY if kind is _RECAP else _NOTICE
    return [Passage(said, index, text)]


def _read_block(block: Any, said: PassageKind) -> tuple[str, PassageKind, bool]:
    """Return what a block says that is none of the most common ones."""
    if is_call(block):
        return _input_text(block.input), _INPUT, False
    if is_result(block):
        return _output_text(block.content), _OUTPUT, find_error_flag(block) is True
    if isinstance(block, ThinkingBlock):
        return block.thinking, _THINKING, False
    if isinstance(block, block_types.CompactionBlock):
        return block.content if isinstance(block.content, str) else "", _SUMMARY, False
    if isinstance(block, block_types.DocumentBlock | block_types.SearchResultBlock | Unknown):
        return value_text(block), said, False
    return "", said, False


def _input_text(data: Any) -> str:
    return "" if data is UNSET else json_text(data)


def _output_text(content: Any) -> str:
    """Return what a tool answered: text, blocks, or the structures of the API's own tools."""
    if isinstance(content, str):
        return content
    if type(content) is not tuple:
        return value_text(content)
    shown = (block for block in content if not isinstance(block, block_types.ImageBlock))
    texts = (block.text if type(block) is TextBlock else value_text(block) for block in shown)
    return "\n".join(text for text in texts if text)


def _read_hook_input(entry: BaseHookInput) -> list[Passage]:
    return list_hook_passages(HookDelivery(delivery_id="", received_ns=0, payload=encode_value(entry)))


def _read_attachment(entry: AttachmentEntry) -> list[Passage]:
    carried = entry.attachment
    if isinstance(carried, QueuedCommand):
        return _read_queued(carried.prompt)
    kind = type(carried)
    if kind in _HOOKS:
        return build_passages(_HOOK, value_text(carried), kind in _FAILED_HOOKS)
    return build_passages(_NOTICE, value_text(carried)) if kind in _SEEN else []


def _read_queue(entry: QueueOperation) -> list[Passage]:
    return _read_queued(entry.content) if entry.operation is QueueAction.ENQUEUE else []


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


def _read_compaction(entry: entries.CompactionEntry) -> list[Passage]:
    parts = [content_text(part) for part in (entry.prelude, entry.recap) if isinstance(part, Message)]
    return build_passages(_SUMMARY, "\n\n".join(filter(None, parts)))


def _read_result(entry: ResultMessage) -> list[Passage]:
    """A success repeats the last answer."""
    return build_passages(_NOTICE, text_of(entry), True) if has_failed(entry) else []


def _read_other(entry: Any) -> list[Passage]:
    return build_passages(_NOTICE, text_of(entry))


_READERS: dict[type, _Reader] = {
    AssistantEntry: _read_answer,
    AssistantMessage: _read_answer,
    UserEntry: _read_prompt,
    sdk.UserMessage: _read_prompt,
    sdk.UserMessageReplay: _read_prompt,
    AttachmentEntry: _read_attachment,
    QueueOperation: _read_queue,
    metadata.Summary: lambda entry: build_passages(_TITLE, entry.summary),
    metadata.CustomTitle: lambda entry: build_passages(_TITLE, entry.custom_title),
    metadata.AiTitle: lambda entry: build_passages(_TITLE, entry.ai_title),
    metadata.AgentName: lambda entry: build_passages(_TITLE, entry.agent_name),
    metadata.SavedHookContext: lambda entry: build_passages(_HOOK, content_text(entry.content)),
    ApiErrorNotice: _read_api_error,
    StopHookSummary: _read_stop_hooks,
    entries.CompactionEntry: _read_compaction,
    entries.UnknownEntry: lambda entry: build_passages(_NOTICE, json_text(entry.raw, TECHNICAL_MEMBERS)),
    ResultMessage: _read_result,
    sdk.HookResponseMessage: lambda entry: build_passages(_HOOK, text_of(entry)),
    metadata.JournalFailed: lambda entry: build_passages(_NOTICE, value_text(entry.error), True),
}

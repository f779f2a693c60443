"""The passages of prompts and answers, block by block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from turnlog.messages import UNSET
from turnlog.messages.base import Unknown
from turnlog.messages.blocks import CompactionBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from turnlog.messages.entries import AssistantEntry, UserEntry
from turnlog.messages.media import DocumentBlock, ImageBlock, SearchResultBlock, TextBlock
from turnlog.messages.sdk import AssistantMessage, UserFields
from turnlog.transcripts.lines.blocks import is_call, is_result, told_error
from turnlog.transcripts.lines.leaves import json_text, value_text
from turnlog.transcripts.lines.passage import Passage, PassageKind, build_passages
from turnlog.transcripts.lines.prompts import PromptKind, kind_of, strip_command_tags

# Looking a member up costs as much as making the passage.
_PROMPT, _ANSWER, _THINKING = PassageKind.PROMPT, PassageKind.ANSWER, PassageKind.THINKING
_INPUT, _OUTPUT = PassageKind.TOOL_INPUT, PassageKind.TOOL_OUTPUT
_SUMMARY, _NOTICE = PassageKind.SUMMARY, PassageKind.NOTICE
_COMMAND, _RECAP = PromptKind.COMMAND, PromptKind.RECAP
_WRITTEN = frozenset(
    {PromptKind.TYPED, PromptKind.COMMAND, PromptKind.SHELL, PromptKind.TEAMMATE, PromptKind.MEMORY}
)
_TOOL_ERROR = "<tool_use_error>"


def read_answer(entry: AssistantEntry | AssistantMessage) -> list[Passage]:
    """Return the passages of an answer; what the program said in the model's stead is a notice."""
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


def read_prompt(entry: UserEntry | UserFields) -> list[Passage]:
    """Return the passages of what stands in the user's place: prompts, results of calls, and notices."""
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


def read_queued(prompt: object) -> list[Passage]:
    """Return the passages of a prompt that was queued."""
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
        return _output_text(block.content), _OUTPUT, told_error(block) is True
    if isinstance(block, ThinkingBlock):
        return block.thinking, _THINKING, False
    if isinstance(block, CompactionBlock):
        return block.content if isinstance(block.content, str) else "", _SUMMARY, False
    if isinstance(block, DocumentBlock | SearchResultBlock | Unknown):
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
    texts = (block.text if type(block) is TextBlock else _inner_text(block) for block in content)
    return "\n".join(text for text in texts if text)


def _inner_text(block: object) -> str:
    return "" if isinstance(block, ImageBlock) else value_text(block)

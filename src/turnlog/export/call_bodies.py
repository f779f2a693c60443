"""What tools were given and answered, as texts to be read."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec

from turnlog.export.pieces import Body, BodyKind, Picture
from turnlog.messages import Raw
from turnlog.messages.base import Unknown
from turnlog.messages.media import Base64Source, ImageBlock
from turnlog.messages.tool_io import (
    AskUserQuestionInput,
    EditInput,
    ExitPlanModeInput,
    MultiEditInput,
    TodoWriteInput,
    ToolInput,
    WriteInput,
)
from turnlog.messages.tool_io.planning import TodoItem
from turnlog.messages.tool_io.shell import CommandInput
from turnlog.transcripts.calls.call import Call

_LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        ".py": "python", ".js": "javascript", ".ts": "typescript", ".tsx": "tsx", ".jsx": "jsx",
        ".json": "json", ".md": "markdown", ".css": "css", ".html": "html", ".sh": "bash", ".rs": "rust",
        ".go": "go", ".java": "java", ".c": "c", ".h": "c", ".cpp": "cpp", ".rb": "ruby", ".yml": "yaml",
        ".yaml": "yaml", ".toml": "toml", ".sql": "sql", ".swift": "swift", ".kt": "kotlin", ".php": "php",
        ".cs": "csharp", ".xml": "xml",
    }
)  # fmt: skip
_TERMINALS = frozenset({"Bash", "PowerShell", "BashOutput", "TaskOutput", "KillShell"})
_CONTEXT = 3
"""How many lines around a change are shown."""


def describe_input(call: Call) -> tuple[Body, ...]:
    """Return what a tool was given; what only says what the call is about is left out."""
    return tuple(_describe(call.view_input().value, call.block.input))


def describe_answer(call: Call) -> Body | None:
    """Return what a tool answered; None if it did not."""
    if call.result is None:
        return None
    kind = BodyKind.TERMINAL if call.name in _TERMINALS else BodyKind.CODE
    return Body(kind, call.result.text.strip("\n"))


def list_pictures(blocks: Sequence[object]) -> tuple[Picture, ...]:
    """Return the images among blocks."""
    found = []
    for block in blocks:
        if isinstance(block, ImageBlock):
            source = block.source
            inside = isinstance(source, Base64Source) and isinstance(source.data, str)
            media_type = getattr(source, "media_type", None)
            found.append(
                Picture(
                    media_type if isinstance(media_type, str) else "image",
                    source.data if inside and isinstance(source, Base64Source) else "",
                )
            )
    return tuple(found)


def _describe(given: ToolInput | Unknown, raw: object) -> Iterator[Body]:
    match given:
        case CommandInput():
            if isinstance(given.command, str):
                yield Body(BodyKind.CODE, given.command, "bash")
        case EditInput():
            yield from _diff(given.old_string, given.new_string)
        case MultiEditInput():
            for edit in given.edits if isinstance(given.edits, tuple) else ():
                yield from _diff(edit.old_string, edit.new_string)
        case WriteInput():
            if isinstance(given.content, str):
                yield Body(BodyKind.CODE, given.content, _language_of(given.file_path))
        case ExitPlanModeInput():
            if isinstance(given.plan, str):
                yield Body(BodyKind.MARKDOWN, given.plan)
        case TodoWriteInput():
            yield Body(BodyKind.MARKDOWN, "\n".join(map(_tell_todo, given.todos)))
        case AskUserQuestionInput():
            yield Body(BodyKind.MARKDOWN, "\n\n".join(_tell_questions(given)))
        case _:
            yield from _show_json(raw)


def _tell_todo(item: TodoItem) -> str:
    ticked = "x" if item.status == "completed" else " "
    return f"- [{ticked}] {item.content}" + (" (in progress)" if item.status == "in_progress" else "")


def _tell_questions(given: AskUserQuestionInput) -> Iterator[str]:
    answers = given.answers if isinstance(given.answers, dict) else {}
    for question in given.questions if isinstance(given.questions, tuple) else ():
        yield f"**{question.question}**"
        chosen = answers.get(question.question if isinstance(question.question, str) else "", "")
        options = question.options if isinstance(question.options, tuple) else ()
        labels = [option.label for option in options if isinstance(option.label, str)]
        yield "\n".join(f"- [{'x' if label in chosen else ' '}] {label}" for label in labels)


def _diff(old: object, new: object) -> Iterator[Body]:
    before = old.splitlines() if isinstance(old, str) else []
    after = new.splitlines() if isinstance(new, str) else []
    lines = list(difflib.unified_diff(before, after, lineterm="", n=_CONTEXT))[2:]  # without names of files
    if lines:
        yield Body(BodyKind.DIFF, "\n".join(lines), "diff")


def _show_json(raw: object) -> Iterator[Body]:
    if not isinstance(raw, Raw) or _has_one_field(raw):
        return
    try:
        text = msgspec.json.format(bytes(raw), indent=2).decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = bytes(raw).decode("utf-8", "replace")
    yield Body(BodyKind.CODE, text, "json")


def _has_one_field(raw: Raw) -> bool:
    """Tell whether there is nothing but what the call is about."""
    try:
        return len(msgspec.json.decode(raw, type=dict[str, Raw])) < 2
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _language_of(path: object) -> str:
    return _LANGUAGES.get(os.path.splitext(path)[1].lower(), "") if isinstance(path, str) else ""

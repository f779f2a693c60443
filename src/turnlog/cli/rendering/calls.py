"""A tool call in one line, and what came of it in another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import msgspec
from msgspec import Raw
from rich.text import Text

from turnlog.cli.rendering.figures import plural
from turnlog.cli.terminal import clean, shorten
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.results import CallState

__all__ = ["MARKS", "render_call", "summarize_input"]

MARKS: Mapping[CallState, tuple[str, str]] = MappingProxyType(
    {
        CallState.RESOLVED: ("✓", "green"),
        CallState.FAILED: ("✗", "red"),
        CallState.INTERRUPTED: ("■", "yellow"),
        CallState.REJECTED: ("⊘", "yellow"),
        CallState.PLACEHOLDER: ("…", "cyan"),
        CallState.UNRESOLVED: ("…", "dim"),
    }
)
"""How each outcome is marked, and in which colour."""

_WORDS = {
    CallState.INTERRUPTED: "interrupted",
    CallState.REJECTED: "not allowed",
    CallState.PLACEHOLDER: "goes on in the background",
    CallState.UNRESOLVED: "no result",
}
_TELLING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Agent": ("subagent_type", "description"),
        "Task": ("subagent_type", "description"),
        "Glob": ("pattern", "path"),
        "Grep": ("pattern", "path"),
        "Skill": ("skill", "args"),
    }
)
"""What to show of a tool's input, where it takes more than one value to tell what is done."""

_USUAL = ("file_path", "notebook_path", "path", "command", "pattern", "query", "url", "description", "prompt")
_LONGEST_NAME = 80
_LONGEST_INPUT = 120
_LONGEST_RESULT = 160
_FAILED_LINES = 5


def render_call(call: Call, project: str | None, full: bool) -> Iterator[Text]:
    """Yield the call with its state, then its result: the first lines of it, or all."""
    mark, color = MARKS[call.state]
    line = Text.assemble((mark, color), " ", (shorten(call.name, _LONGEST_NAME), "bold"))
    about = summarize_input(call, project)
    if about:
        line.append(f" {about}")
    if call.state in _WORDS:
        line.append(f"  {_WORDS[call.state]}", "dim")
    if not call.known:
        line.append("  unknown tool", "yellow")
    yield line
    yield from (
        Text(f"  {text}", "red" if call.state is CallState.FAILED else "dim") for text in _result(call, full)
    )


def summarize_input(call: Call, project: str | None, length: int = _LONGEST_INPUT) -> str:
    """Return what a call is about: the path, the command, the question."""
    if not isinstance(call.block.input, Raw):
        return ""
    try:
        given = msgspec.json.decode(call.block.input, type=dict[str, Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return shorten(bytes(call.block.input).decode("utf-8", "replace"), length)
    names = _TELLING.get(call.name) or next(((name,) for name in _USUAL if name in given), ())
    told = [text for name in names if (text := _text(given.get(name)))]
    if not told:
        told = [f"{name}={bytes(value).decode('utf-8', 'replace')}" for name, value in given.items()]
    return shorten(" ".join(_within(text, project) for text in told), length)


def _text(value: Raw | None) -> str | None:
    try:
        return None if value is None else msgspec.json.decode(value, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _within(text: str, project: str | None) -> str:
    """Return a path as seen from the project."""
    return text.removeprefix(f"{project}/") if project else text


def _result(call: Call, full: bool) -> Iterator[str]:
    result = call.result
    if result is None:
        return
    if result.images:
        yield f"[{plural(len(result.images), 'image')}]"
    text = result.text.strip("\n")
    if full:
        yield from clean(text).split("\n") if text else ()
        return
    most = _FAILED_LINES if call.state is CallState.FAILED else 1
    shown = text.split("\n", most)[:most]
    yield from (shorten(line, _LONGEST_RESULT) for line in shown if line.strip())
    left = text.count("\n") + 1 - len(shown)
    if left:
        yield f"… {plural(left, 'more line')}"

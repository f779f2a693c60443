"""A tool call in one line, and what came of it in another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from rich.text import Text

from turnlog.cli.terminal import clean, shorten
from turnlog.export.plain import plural
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.calls.topics import topic_of

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
    CallState.PLACEHOLDER: "continues in the background",
    CallState.UNRESOLVED: "no result",
}
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
    return shorten(topic_of(call.name, call.block.input, project), length)


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

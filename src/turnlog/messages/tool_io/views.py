"""Looking at a tool's input or result through its type, on demand.

Where no tag tells the shapes of one tool apart, each is tried: the first that fits without a problem is the
one, else the one with the fewest problems. Without a known tool, a result's shape decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import msgspec

from turnlog.messages.base import UNSET, Raw, Unknown, UnknownBlock, Value
from turnlog.messages.blocks import ToolUseBlock
from turnlog.messages.problems import Problem, ProblemKind
from turnlog.messages.salvage import REFUSALS, View, decoder, describe, split_object, view
from turnlog.messages.text import repair_text
from turnlog.messages.tool_io.mcp import McpInput, McpObject
from turnlog.messages.tool_io.registry import INPUTS, MCP_RESULTS, RESULTS
from turnlog.messages.tool_io.unknown import UnknownToolInput, UnknownToolResult, UnparsedInput

ToolInput = Value | dict[str, Raw]
"""An input: a Struct named after its tool, or an object of any shape (see `FREE_FORM`)."""

ToolResult = Value | str | dict[str, Raw] | tuple[Value | UnknownBlock, ...]
"""A result: a Struct named after its tool, text, content blocks, or an object of any shape."""

_MCP_PREFIX = "mcp__"
_UNPARSED = "__unparsedToolInput"


def view_input(block: ToolUseBlock) -> View[ToolInput]:
    """Look at a call's input as its tool's type; never raises.

    The value is an `UnparsedInput` when the model did not write JSON, and an `UnknownToolInput` when the tool
    is not known or the input lacks what its type cannot do without.
    """
    data = b"" if block.input is UNSET else bytes(block.input)
    unknown = UnknownToolInput(data, block.name)
    if not data:
        return View(unknown, data, (_problem(ProblemKind.MISSING_FIELD, "an input", "nothing", unknown),))
    form = _input_form(block.name, data)
    if form is None:
        found = f"`{block.name}`"
        return View(unknown, data, (_problem(ProblemKind.UNKNOWN_TYPE, "a known tool", found, unknown),))
    seen = view(form, data)
    return View(unknown, data, seen.problems) if _is_lost(seen) else seen


def view_result(tool_name: str | None, raw: Raw | bytes) -> View[ToolResult]:
    """Look at a result as its tool's type; never raises.

    Without a known tool, the value is of that declared type which it fits entirely and which demands the most
    fields; of equals, the first in `RESULTS`. It is an `UnknownToolResult` when none fits.
    """
    data = bytes(raw)
    forms = _result_forms(tool_name)
    if forms is None:
        return _guess(tool_name, data)
    seen = _view_best(forms, data)
    return View(UnknownToolResult(data, tool_name), data, seen.problems) if _is_lost(seen) else seen


def _input_form(name: str, data: bytes) -> object:
    if _UNPARSED.encode() in data and list(split_object(data) or ()) == [_UNPARSED]:
        return UnparsedInput
    return McpInput if name.startswith(_MCP_PREFIX) else INPUTS.get(name)


def _result_forms(name: str | None) -> tuple[object, ...] | None:
    if name is None:
        return None
    return MCP_RESULTS if name.startswith(_MCP_PREFIX) else RESULTS.get(name)


def _problem(kind: ProblemKind, expected: str, found: str, unknown: Unknown) -> Problem:
    return Problem(kind, expected, found, (), unknown, unknown.raw)


def _is_lost(seen: View[Any]) -> bool:
    # An `UnknownBlock` is not lost: its tag says more than the tool's name does.
    return type(seen.value) is Unknown


def _view_best(forms: tuple[object, ...], data: bytes) -> View[Any]:
    for value in _list_fits(forms, data):
        return View(value, data)
    views = [view(_or_text(form), data) for form in forms]
    return min(views, key=lambda seen: (isinstance(seen.value, Unknown), len(seen.problems)))


def _guess(tool_name: str | None, data: bytes) -> View[ToolResult]:
    text, problems = repair_text(data)
    best = max(_list_fits(_guessable(), text), key=_count_demands, default=None)
    if isinstance(best, str | tuple) or _count_demands(best):
        return View(best, data, tuple(problems))
    unknown = UnknownToolResult(data, tool_name)
    problem = _problem(ProblemKind.UNKNOWN_TYPE, "a known tool's result", describe(data), unknown)
    return View(unknown, data, (*problems, problem))


@cache
def _guessable() -> tuple[object, ...]:
    """Return every declared shape once, in order; an object of any shape would fit everything."""
    forms = [form for forms in (*RESULTS.values(), MCP_RESULTS) for form in forms]
    return tuple(form for form in dict.fromkeys(forms) if form != McpObject)


def _list_fits(forms: Iterable[object], data: bytes) -> Iterator[Any]:
    """Yield `data` as each of the forms that it fits entirely."""
    for form in forms:
        try:
            yield decoder(_or_text(form)).decode(data)
        except REFUSALS:
            continue


@cache
def _or_text(form: Any) -> Any:
    return form | str


def _count_demands(value: object) -> int:
    """Count what a value's type demands; of several values the first speaks for all."""
    sample = value[0] if isinstance(value, tuple) and value else value
    return _demands(type(sample)) if isinstance(sample, Value) else 0


@cache
def _demands(cls: type[Value]) -> int:
    tagged = cls.__struct_config__.tag is not None
    return tagged + sum(info.required for info in msgspec.structs.fields(cls))

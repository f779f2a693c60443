"""Looking at the tool call inside an event through its tool's type, on demand."""

from __future__ import annotations

from turnlog.messages.base import UNSET
from turnlog.messages.blocks import ContentBlock, ToolUseBlock
from turnlog.messages.hook_events.tools import PostToolBatchToolCall, PostToolUseHookInput, ToolHookInput
from turnlog.messages.problems import Problem, ProblemKind
from turnlog.messages.salvage import View, view
from turnlog.messages.tool_io import ToolInput, ToolResult, UnknownToolResult, view_input, view_result


def view_tool_input(event: ToolHookInput | PostToolBatchToolCall) -> View[ToolInput]:
    """Look at a call's input as its tool's type; never raises."""
    return view_input(ToolUseBlock(name=event.tool_name, input=event.tool_input))


def view_tool_response(event: PostToolUseHookInput | PostToolBatchToolCall) -> View[ToolResult]:
    """Look at a call's response as its tool's type; never raises.

    One call of a batch may say what the model saw instead: text, or content blocks.
    """
    if event.tool_response is UNSET:
        return _nothing(event.tool_name)
    seen = view_result(event.tool_name, event.tool_response)
    if seen.problems and isinstance(event, PostToolBatchToolCall) and seen.raw.lstrip()[:1] == b"[":
        return view(tuple[ContentBlock, ...], seen.raw)
    return seen


def _nothing(tool_name: str) -> View[ToolResult]:
    unknown = UnknownToolResult(b"", tool_name)
    problem = Problem(ProblemKind.MISSING_FIELD, "a response", "nothing", (), unknown)
    return View(unknown, b"", (problem,))

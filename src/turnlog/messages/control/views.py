"""Looking at what a request leaves raw through its type, on demand."""

from __future__ import annotations

from turnlog.messages.base import UNSET
from turnlog.messages.blocks import ToolUseBlock
from turnlog.messages.control.asking import CanUseToolRequest, HookCallbackRequest
from turnlog.messages.hook_events import HookInput
from turnlog.messages.salvage import View, view
from turnlog.messages.tool_io import ToolInput, view_input


def view_hook_input(request: HookCallbackRequest) -> View[HookInput]:
    """Look at what a hook is told as its event's type; never raises."""
    return view(HookInput, b"" if request.input is UNSET else request.input)


def view_call(request: CanUseToolRequest) -> View[ToolInput]:
    """Look at the input of the call that is asked about as its tool's type; never raises."""
    return view_input(ToolUseBlock(name=request.tool_name, input=request.input))

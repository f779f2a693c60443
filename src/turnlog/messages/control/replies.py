"""What a granted request is answered with, by the request's subtype.

Many requests are merely acknowledged, or answered with an object that nobody declared; those stay raw.
"""

from __future__ import annotations

from turnlog.messages.base import Raw, UnknownNamed
from turnlog.messages.control.asking import ElicitationReply, UserDialogReply
from turnlog.messages.control.context_usage import ContextUsageReply
from turnlog.messages.control.costs import UsageReply
from turnlog.messages.control.files import ReadFileReply, RewindFilesReply
from turnlog.messages.control.hooks_listing import HooksListingReply
from turnlog.messages.control.reloading import ReloadOutputStylesReply, ReloadPluginsReply, ReloadSkillsReply
from turnlog.messages.control.servers import (
    McpMessageReply,
    McpReadResourceReply,
    McpSetServersReply,
    McpStatusReply,
)
from turnlog.messages.control.settings import PermissionRulesReply
from turnlog.messages.control.setup import InitializeReply
from turnlog.messages.control.steering import InterruptReply, TaskOutputReply
from turnlog.messages.hook_events import HookJSONOutput
from turnlog.messages.permissions import PermissionResult


class UnknownReply(UnknownNamed):
    """The answer to a request of an undeclared subtype, which is its `name`."""

    __slots__ = ()


Reply = (
    PermissionResult
    | HookJSONOutput
    | InitializeReply
    | InterruptReply
    | McpMessageReply
    | McpSetServersReply
    | McpStatusReply
    | RewindFilesReply
    | ElicitationReply
    | ContextUsageReply
    | ReloadPluginsReply
    | UserDialogReply
    | ReadFileReply
    | UsageReply
    | ReloadSkillsReply
    | HooksListingReply
    | PermissionRulesReply
    | ReloadOutputStylesReply
    | TaskOutputReply
    | McpReadResourceReply
    | Raw
)
"""The payload of any granted request; raw where it is untyped."""

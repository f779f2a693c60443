"""Every message of the stream, and how to tell them apart.

The decoder cannot: it knows one tag, and the stream has three (`type`, then `subtype` or `isReplay`). So a
reader takes the `StreamHead` first and asks `find_class` what the whole is. The tables are the inventory.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import get_args

from turnlog.messages.base import UNSET, Snake, UnsetType, field
from turnlog.messages.sdk.base import StreamMessage, SystemMessage, TypedMessage, UnknownMessage
from turnlog.messages.sdk.compaction import CompactBoundaryMessage
from turnlog.messages.sdk.conversation import (
    AssistantMessage,
    PartialAssistantMessage,
    UserMessage,
    UserMessageReplay,
)
from turnlog.messages.sdk.hooks import HookProgressMessage, HookResponseMessage, HookStartedMessage
from turnlog.messages.sdk.init import SystemInitMessage
from turnlog.messages.sdk.lifecycle import (
    CommandLifecycleMessage,
    CommandsChangedMessage,
    ConversationResetMessage,
    FilesPersistedEvent,
    MirrorErrorMessage,
    PluginInstallMessage,
    SessionWritesLostMessage,
    TranscriptMirrorMessage,
)
from turnlog.messages.sdk.limits import RateLimitEvent
from turnlog.messages.sdk.notices import (
    InformationalMessage,
    LocalCommandOutputMessage,
    MemoryRecallMessage,
    ModelRefusalFallbackMessage,
    ModelRefusalNoFallbackMessage,
    NotificationMessage,
    PostTurnSummaryMessage,
    PromptSuggestionMessage,
)
from turnlog.messages.sdk.result import ResultMessage
from turnlog.messages.sdk.status import (
    ActiveGoalMessage,
    ApiRetryMessage,
    AuthStatusMessage,
    ControlRequestProgressMessage,
    SessionStateChangedMessage,
    StatusMessage,
    ThinkingTokensMessage,
    WorkerShuttingDownMessage,
)
from turnlog.messages.sdk.tasks import (
    BackgroundTasksChangedMessage,
    TaskNotificationMessage,
    TaskProgressMessage,
    TaskStartedMessage,
    TaskSummaryMessage,
    TaskUpdatedMessage,
)
from turnlog.messages.sdk.tools import (
    ElicitationCompleteMessage,
    PermissionDeniedMessage,
    ToolProgressMessage,
    ToolUseSummaryMessage,
)

_TypeMessage = (
    AssistantMessage
    | UserMessage
    | ResultMessage
    | PartialAssistantMessage
    | ToolProgressMessage
    | AuthStatusMessage
    | ToolUseSummaryMessage
    | RateLimitEvent
    | PromptSuggestionMessage
    | ConversationResetMessage
    | CommandLifecycleMessage
    | ActiveGoalMessage
    | TranscriptMirrorMessage
)

SystemSubtypeMessage = (
    SystemInitMessage
    | CompactBoundaryMessage
    | StatusMessage
    | ApiRetryMessage
    | ControlRequestProgressMessage
    | ModelRefusalFallbackMessage
    | ModelRefusalNoFallbackMessage
    | LocalCommandOutputMessage
    | HookStartedMessage
    | HookProgressMessage
    | HookResponseMessage
    | PluginInstallMessage
    | TaskNotificationMessage
    | TaskStartedMessage
    | TaskUpdatedMessage
    | TaskProgressMessage
    | BackgroundTasksChangedMessage
    | ThinkingTokensMessage
    | SessionStateChangedMessage
    | WorkerShuttingDownMessage
    | CommandsChangedMessage
    | NotificationMessage
    | FilesPersistedEvent
    | MemoryRecallMessage
    | ElicitationCompleteMessage
    | PermissionDeniedMessage
    | MirrorErrorMessage
    | InformationalMessage
    | SessionWritesLostMessage
    | PostTurnSummaryMessage
    | TaskSummaryMessage
)
"""A message of `type: system`."""

SdkMessage = _TypeMessage | UserMessageReplay | SystemSubtypeMessage | UnknownMessage
"""Any message of the stream, without the control protocol."""

STREAM_TYPES: Mapping[str, type[TypedMessage]] = MappingProxyType(
    {str(cls.__struct_config__.tag): cls for cls in get_args(_TypeMessage)}
)
"""The classes by `type`; of the two for `user`, the one that is no echo."""

SYSTEM_SUBTYPES: Mapping[str, type[SystemMessage]] = MappingProxyType(
    {str(cls.__struct_config__.tag): cls for cls in get_args(SystemSubtypeMessage)}
)
"""The classes of `type: system` by `subtype`."""


class StreamHead(Snake, forbid_unknown_fields=False):
    """What tells messages of the stream apart."""

    type: str | None | UnsetType = UNSET
    subtype: str | None | UnsetType = UNSET
    is_replay: bool | None | UnsetType = field(name="isReplay", default=UNSET)


def find_class(head: StreamHead) -> type[StreamMessage] | None:
    """Return the class of the message with this head, or None if nobody declared it."""
    if head.type == "system":
        return SYSTEM_SUBTYPES.get(head.subtype) if isinstance(head.subtype, str) else None
    if head.type == "user" and head.is_replay is True:
        return UserMessageReplay
    return STREAM_TYPES.get(head.type) if isinstance(head.type, str) else None

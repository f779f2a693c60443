"""Tools that reach the user outside the conversation: messages, files and notifications."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Snake, UnsetType, field


class SendUserMessageInput(Snake):
    """A message for the user, perhaps with files."""

    message: str
    attachments: tuple[str, ...] | UnsetType = UNSET
    status: str | UnsetType = UNSET
    """`normal` or `proactive`."""


class Attachment(Camel):
    """A file that went with a message."""

    path: str
    size: int | UnsetType = UNSET
    is_image: bool | UnsetType = UNSET
    file_uuid: str | UnsetType = field(name="file_uuid", default=UNSET)
    media_type: str | UnsetType = field(name="media_type", default=UNSET)


class SendUserMessageResult(Camel):
    """A message that was sent."""

    message: str
    attachments: tuple[Attachment, ...] | UnsetType = UNSET
    sent_at: str | UnsetType = UNSET


class SendUserFileInput(Snake):
    """Files for the user."""

    files: tuple[str, ...]
    caption: str | UnsetType = UNSET
    display: str | UnsetType = UNSET
    """`render` or `attach`."""
    status: str | UnsetType = UNSET
    """`normal` or `proactive`."""


class SendUserFileResult(Camel):
    """Files that were sent."""

    attachments: tuple[Attachment, ...]
    caption: str | UnsetType = UNSET
    sent_at: str | UnsetType = UNSET


class PushNotificationInput(Snake):
    """A notification for the user's devices."""

    message: str
    status: str | UnsetType = UNSET
    """`proactive`."""


class PushNotificationResult(Camel):
    """Where a notification was sent, or why nowhere."""

    message: str | UnsetType = UNSET
    push_sent: bool
    local_sent: bool | UnsetType = UNSET
    disabled_reason: str | UnsetType = UNSET
    """`config_off`, `user_present` or `no_transport`."""
    sent_at: str | UnsetType = UNSET


class ReadNotificationsInput(Snake):
    """A question for what arrived meanwhile; it has no parameters."""


class Notification(Snake):
    """Something that arrived while the agent was busy."""

    notification_id: str
    origin: str | UnsetType = UNSET
    queued_at: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    arrived_at: str | UnsetType = UNSET


class ReadNotificationsResult(Snake):
    """What arrived, and how much is left."""

    notifications: tuple[Notification, ...]
    remaining: int | UnsetType = UNSET
    read_at: str | UnsetType = UNSET

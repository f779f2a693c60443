"""Who is told when a session waits or ends."""

from __future__ import annotations

from msgspec import Struct

from turnlog.config import Occasion
from turnlog.server.notifications.targets import Sent

__all__ = ["Notifications", "TestedNotifications", "WebhookItem"]


class WebhookItem(Struct, frozen=True, gc=False, kw_only=True):
    """An address that is told."""

    url: str
    """Without its query and secrets."""
    on: tuple[Occasion, ...]


class Notifications(Struct, frozen=True, gc=False, kw_only=True):
    """What `config.toml` says; it is not changed here."""

    desktop: bool
    webhooks: tuple[WebhookItem, ...]
    on: tuple[Occasion, ...]
    """What is told."""


class TestedNotifications(Struct, frozen=True, gc=False, kw_only=True):
    """What came of a test."""

    sent: tuple[Sent, ...]

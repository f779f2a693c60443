"""Who is told when a session waits or ends."""

from __future__ import annotations

from msgspec import Struct

from turnlog.config import Occasion
from turnlog.server.notifications.targets import Sent


class WebhookItem(Struct, frozen=True, gc=False, kw_only=True):
    """An address that receives notifications."""

    url: str
    """Without its query and secrets."""
    on: tuple[Occasion, ...]


class Notifications(Struct, frozen=True, gc=False, kw_only=True):
    """The settings in `config.toml`; they cannot be changed here."""

    desktop: bool
    webhooks: tuple[WebhookItem, ...]
    on: tuple[Occasion, ...]
    """Which events are reported."""


class TestedNotifications(Struct, frozen=True, gc=False, kw_only=True):
    """The results of a test."""

    sent: tuple[Sent, ...]

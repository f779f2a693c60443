"""Where notices go. Whatever goes wrong there is said, and harms nothing here."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from turnlog.server.notifications.notices import Notice


class SendError(Exception):
    """A notice did not arrive; says why, in a sentence."""

    def __init__(self, reason: str, *, again: bool = False) -> None:
        self.reason = reason
        self.again = again
        """Whether it may go well another time."""
        super().__init__(reason)


class Sent(Struct, frozen=True, gc=False, kw_only=True):
    """The result of a notification."""

    target: str
    """`desktop`, or the webhook's address without its query and secrets."""
    ok: bool
    message: str


class Target(Protocol):
    """Somewhere that a notice can go to."""

    @property
    def name(self) -> str:
        """What it is called, without secrets."""

    def send(self, notice: Notice) -> None:
        """Send a notice; raises `SendError`."""

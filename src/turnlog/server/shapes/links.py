"""Links: addresses by which strangers see one session, without secrets, until they end."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

LONGEST_DAYS = 365
_Word = Annotated[str, Meta(min_length=2, max_length=200)]
_Words = Annotated[tuple[_Word, ...], Meta(max_length=100)]
_Named = Annotated[str, Meta(max_length=200)]


class SharedLink(Struct, frozen=True, gc=False, kw_only=True):
    """A link; its address is shown only once, when it is created."""

    id: str
    session: str
    """The session's key."""
    title: str
    """The session's title when the link was created."""
    created_by: str | None
    """Null if it was created with the server's own token."""
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    words: tuple[str, ...]
    """Words that it hides, besides secrets."""
    opened: int
    """How often it was opened."""
    opened_at: datetime | None
    """The last time."""


class LinkAsked(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Which session strangers would see."""

    session: _Named
    words: _Words = ()
    """Words to hide from them, besides secrets."""


class LinkWanted(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Which session strangers may see, and for how long."""

    session: _Named
    days: Annotated[float, Meta(gt=0, le=LONGEST_DAYS)] = 7
    words: _Words = ()
    """Words to hide from them, besides secrets."""


class LinkMade(Struct, frozen=True, gc=False, kw_only=True):
    """A new link."""

    link: SharedLink
    path: str
    """The path on this server. It is the secret, and is shown only once."""


class LinkPreviewed(Struct, frozen=True, gc=False, kw_only=True):
    """What strangers would see of a session."""

    title: str
    project: str | None
    messages: int
    """Messages in the transcript and of all agents."""
    agents: int
    calls: int
    tools: tuple[tuple[str, int], ...]
    """How often each tool was used, most used first."""
    files: tuple[str, ...]
    """Files that calls name, at most 200."""
    redacted: tuple[tuple[str, int], ...]
    """How many values of each kind are removed."""
    excerpts: tuple[str, ...]
    """Excerpts of the first messages, as they would be shown."""

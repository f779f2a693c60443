"""Who may see sessions, and why."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from turnlog.server.shapes.links import SharedLink
from turnlog.store.people import Visibility

__all__ = ["AccessChange", "AccessChanges", "ChangedAccess", "SessionAccessItem"]

_Key = Annotated[str, Meta(max_length=200)]


class SessionAccessItem(Struct, frozen=True, gc=False, kw_only=True):
    """Who may see a session, and why."""

    key: str
    person: str | None
    """Whose it is; null if nobody said."""
    machine: str
    """Where it comes from."""
    host: str
    """As that computer calls itself; empty if that is not known."""
    chosen: Visibility | None
    """What its person said; null if the rules decide."""
    rule: str | None
    """The pattern of the rule that fits its project; null if none does."""
    visibility: Visibility
    """What follows from all of it."""
    may_change: bool
    """Whether whoever asks may say who sees it, make links to it, and delete it."""
    links: tuple[SharedLink, ...]
    """Those to it, for whoever may change it; the newest first."""


class AccessChange(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Who shall see a session."""

    visibility: Visibility | None
    """Null leaves it to the rules."""


class AccessChanges(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Who shall see some sessions."""

    keys: Annotated[tuple[_Key, ...], Meta(max_length=1000)]
    visibility: Visibility | None
    """Null leaves it to the rules."""


class ChangedAccess(Struct, frozen=True, gc=False, kw_only=True):
    """What changed."""

    changed: tuple[str, ...]
    """The keys of those of which it was not so before; others, and those of others, are left out."""

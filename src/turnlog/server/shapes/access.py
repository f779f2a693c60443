"""Who may see sessions, and why."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from turnlog.server.shapes.links import SharedLink
from turnlog.store.model import Visibility

_Key = Annotated[str, Meta(max_length=200)]


class SessionAccessItem(Struct, frozen=True, gc=False, kw_only=True):
    """Who may see a session, and why."""

    key: str
    person: str | None
    """The owner; null if there is none."""
    machine: str
    """Where it comes from."""
    host: str
    """That machine's host name; empty if unknown."""
    chosen: Visibility | None
    """What its owner chose; null if the rules decide."""
    rule: str | None
    """The pattern of the rule that matches its project; null if none does."""
    visibility: Visibility
    """The resulting visibility."""
    may_change: bool
    """Whether the caller may change who sees it, create links to it, and delete it."""
    links: tuple[SharedLink, ...]
    """Links to it, for callers who may change it; newest first."""


class AccessChange(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Who may see a session."""

    visibility: Visibility | None
    """Null leaves it to the rules."""


class AccessChanges(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Who may see several sessions."""

    keys: Annotated[tuple[_Key, ...], Meta(max_length=1000)]
    visibility: Visibility | None
    """Null leaves it to the rules."""


class ChangedAccess(Struct, frozen=True, gc=False, kw_only=True):
    """What changed."""

    changed: tuple[str, ...]
    """The keys of the sessions that changed; those of other people are left out."""

"""Rules for projects: who sees their sessions where nobody said."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from turnlog.store.model import Visibility


class RuleItem(Struct, frozen=True, gc=False, kw_only=True):
    """A rule for some projects."""

    pattern: str
    """Matches the project's path, with `*` for anything. The longest matching pattern wins."""
    visibility: Visibility


class RuleChange(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """A rule to set or remove."""

    pattern: Annotated[str, Meta(min_length=1, max_length=1000)]
    visibility: Visibility | None
    """Null removes it."""


class RuleWeight(Struct, frozen=True, gc=False, kw_only=True):
    """What a rule changes."""

    sessions: int
    """How many sessions become visible to others, or stop being visible."""

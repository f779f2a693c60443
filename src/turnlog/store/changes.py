"""Entries of the feed that are to be made, with what says who is told of them."""

from __future__ import annotations

from msgspec import Struct

from turnlog.store.interface import ChangeKind

__all__ = ["NewChange"]


class NewChange(Struct, frozen=True, gc=False, array_like=True):
    """An entry of the feed that is to be made."""

    owner: str
    kind: ChangeKind
    session: str
    """A key, or the id that hooks told."""
    revision: int
    at_ns: int
    person: str | None = None
    """Whose session it is or was, if that does not follow from the session."""
    former: str | None = None
    """Whose it was before."""
    shared: bool | None = None
    """Whether others see it, or did."""
    origin: str | None = None
    """The machine that a hook told it on."""

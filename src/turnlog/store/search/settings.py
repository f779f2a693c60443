"""Where a passage stands, as far as filters ask for it."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

__all__ = ["Setting"]


class Setting(Struct, frozen=True, gc=False, kw_only=True):
    """What filters are held against.

    None is what is known to have no value, and `UNSET` what is not known yet: a filter on it is undecided. So
    an engine that knows only the session can leave out those that cannot have a hit.
    """

    kind: str | UnsetType = UNSET
    """A `PassageKind`."""
    project: str | None | UnsetType = UNSET
    """The path of its directory."""
    session_ids: tuple[str, ...] | UnsetType = UNSET
    """All names of the session."""
    tool: str | None | UnsetType = UNSET
    model: str | None | UnsetType = UNSET
    role: str | None | UnsetType = UNSET
    category: str | None | UnsetType = UNSET
    branch: str | None | UnsetType = UNSET
    """Of git."""
    person: str | None | UnsetType = UNSET
    """Whose session it is."""
    machine: tuple[str, ...] | UnsetType = UNSET
    """The origin of the machine that it comes from, and what that calls itself."""
    file: str | None | UnsetType = UNSET
    """The path that a call works on."""
    is_error: bool | UnsetType = UNSET
    is_sidechain: bool | UnsetType = UNSET
    agents: tuple[str, ...] | UnsetType = UNSET
    """The id of the agent whose line it is, and its type; empty for the main conversation."""
    time: int | None | UnsetType = UNSET
    """Microseconds since 1970."""

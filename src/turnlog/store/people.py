"""Whose sessions are whose, and who else may see them.

A session is the person's whose machine it comes from. It is private, or shared with the team: as that person
chose, else as a rule for its project says, else it is private. The store itself knows people by name only;
`turnlog.store.accounts` knows more of them.

Every query takes a `Scope`. With a `Viewer` it answers as if there were only what that viewer may see: what is
hidden is not found, counted, added up, or told of as a change. This holds for an engine's tables as a whole
and not for each query, so that no query can forget it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from turnlog.store.identity import Scope

__all__ = ["Machine", "PeopleStore", "ProjectRule", "SessionAccess", "Visibility", "find_access"]


class Visibility(StrEnum):
    """Who sees a session, besides its owner and admins."""

    PRIVATE = "private"
    TEAM = "team"


class Machine(Struct, frozen=True, gc=False, kw_only=True):
    """Where sessions come from: one user's account on one computer."""

    origin: str
    person: str | None = None
    """The owner of these sessions; None if there is none."""
    host: str = ""
    """As the computer calls itself."""
    user: str = ""
    """As the system there calls the account."""
    first_ns: int
    last_ns: int
    """When something came from it for the first and the last time."""
    sessions: int = 0
    """How many the store has of it; of those that may be seen."""


class ProjectRule(Struct, frozen=True, gc=False):
    """Who sees the sessions of some projects, where their persons did not choose."""

    pattern: str
    """Of the project's path, with `*` for anything: `*/website`, `/srv/*`. The longest one that fits counts."""
    visibility: Visibility


class SessionAccess(Struct, frozen=True, gc=False, kw_only=True):
    """Who may see a session, and why."""

    key: str
    origin: str
    person: str | None
    chosen: Visibility | None
    """What the person said; None if the rules decide."""
    rule: str | None
    """The pattern of the rule that matches its project; None if none does."""
    visibility: Visibility
    """What follows from all of it."""


class PeopleStore(Protocol):
    """What a store does for people."""

    def save_machine(
        self,
        scope: Scope,
        origin: str,
        *,
        person: str | None = None,
        host: str = "",
        user: str = "",
        at_ns: int | None = None,
        reassign: bool = False,
    ) -> Machine:
        """Remember that something came from a machine, and whose it is; its sessions are theirs from now on.

        A machine that is somebody's stays theirs: raises `TakenMachineError` if it is another person's.
        Without `person`, nothing is said about that. Empty names leave those that are known; without `at_ns` it
        came just now.

        With `reassign` only its person changes, whosever it was, and to nobody without `person`. Raises
        `KeyError` for a machine that is not known.
        """

    def list_machines(self, scope: Scope) -> list[Machine]:
        """Return machines by host, user and origin: for a viewer, theirs and those of sessions they see."""

    def list_access(self, scope: Scope, keys: Collection[str] | None = None) -> list[SessionAccess]:
        """Return who may see sessions, all or those of some keys that are there, by key."""

    def set_visibility(
        self, scope: Scope, keys: Sequence[str], chosen: Visibility | None
    ) -> list[SessionAccess]:
        """Say who sees sessions, and return those of which it was not so before.

        None leaves it to the rules. A viewer can say so of their own only; all others are left out.
        """

    def list_rules(self, scope: Scope) -> list[ProjectRule]:
        """Return the rules for projects, by pattern; everybody may know them."""

    def set_rule(
        self, scope: Scope, pattern: str, visibility: Visibility | None, *, dry_run: bool = False
    ) -> int:
        """Set or (with None) remove a rule, and return how many sessions others see, or don't, by that.

        With `dry_run`, nothing is changed.
        """


def find_access(store: PeopleStore, scope: Scope, key: str) -> SessionAccess | None:
    """Return who may see a session; None if it is not there."""
    return next(iter(store.list_access(scope, [key])), None)

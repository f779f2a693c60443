"""What is done to a store besides keeping up and asking: repairs, forgetting, backups, hook deliveries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from turnlog.store.accounts.interface import CarriedAccounts
from turnlog.store.batch import Derived, TextFact
from turnlog.store.identity import Scope
from turnlog.store.interface import Store
from turnlog.transcripts.hooks.deliveries import EVERY_DELIVERY, DeliveryFilter, HookDelivery

NO_TEXTS: Mapping[tuple[str, int], Iterable[TextFact]] = MappingProxyType({})
NOTHING: Mapping[str, int] = MappingProxyType({})


class Flaw(Struct, frozen=True, gc=False):
    """Where a store contradicts itself."""

    session: str | None
    """The session's key; None where it cannot be told."""
    message: str
    follows: bool = False
    """Whether what is wrong follows from the bytes, so that `rewrite` mends it."""


class Forgotten(Struct, frozen=True, gc=False, kw_only=True):
    """What was forgotten at once."""

    sessions: int
    files: int
    bytes: int
    """As they were, of all generations."""
    deliveries: int
    """Of hooks."""
    scrubbed: bool = True
    """Whether nothing of it is left in the store's files; else they are still to be purged (`Maintenance`)."""


class Tombstone(Struct, frozen=True, gc=False):
    """What is left of a session that was forgotten."""

    key: str
    session_id: str | None
    """None if another session of the same person has the same."""
    at_ns: int
    person: str | None = None
    """Whose it was."""
    origin: str = ""
    """The machine that it came from."""


class Backup(Struct, frozen=True, gc=False):
    """A copy of a store that was made."""

    path: str
    at_ns: int
    size: int | None
    """None if it is not there."""


class Restored(Struct, frozen=True, gc=False):
    """What came of putting a backup in the place of a store."""

    kept: str | None
    """Where the store is that was there before."""
    forgotten: int
    """Sessions that the backup had, and that were forgotten since."""
    accounts: CarriedAccounts | None = None
    """What became of the accounts; None if the backup had none, and they are as they were."""


class CaredStore(Store, Protocol):
    """A store that can be taken care of."""

    def rewrite(
        self,
        scope: Scope,
        key: str,
        revision: int,
        derived: Derived | None,
        derivation: int = 0,
        *,
        lines: Mapping[str, int] = NOTHING,
        texts: Mapping[tuple[str, int], Iterable[TextFact]] = NO_TEXTS,
    ) -> int:
        """Write what follows from a session's bytes anew, whatever is there, and return its new revision.

        `derived` is all of it, with every chapter, and `derivation` says by which rules it was made; without
        it, what is there stays. `lines` says how many lines files have, and `texts` are what is searched of
        some generations, packed. Raises `StoreError` if the session is not there in this revision.
        """

    def check_texts(self, scope: Scope, source: str, generation: int, texts: Iterable[TextFact]) -> list[str]:
        """Return how what is searched of a generation differs from `texts`, which it should be."""

    def repair_bytes(
        self, scope: Scope, source: str, generation: int, find: Callable[[int, int], bytes | None]
    ) -> int:
        """Put bytes back in the place of damaged ones, and return how many frames were repaired.

        `find` takes a start and a length, and returns bytes that may be those, or None. Only what has the
        digest of what was kept is taken.
        """

    def list_flaws(self, scope: Scope) -> list[Flaw]:
        """Return where the store contradicts itself; whether it is what the bytes say is not its business."""

    def forget(self, scope: Scope, keys: Sequence[str], *, dry_run: bool = False) -> Forgotten:
        """Delete sessions for good: their bytes, facts, rows and hook deliveries; `dry_run` only counts them.

        They leave tombstones: batches of them are not written any more. Keys that are not there are left out.
        """

    def delete_tombstones(self, scope: Scope, keys: Sequence[str]) -> int:
        """Let sessions be kept again, and return how many; what was forgotten does not come back by that."""

    def list_tombstones(self, scope: Scope) -> list[Tombstone]:
        """Return what was forgotten, by time."""

    def back_up(
        self, target: Path, *, force: bool = False, on_progress: Callable[[int, int], None] | None = None
    ) -> Backup:
        """Write a copy of one state of the store to a file, check it, and remember it.

        Raises `StoreError` if the file is there, unless by `force`.
        """

    def list_backups(self) -> list[Backup]:
        """Return the copies that were made, by time."""

    def add_deliveries(self, scope: Scope, deliveries: Sequence[HookDelivery]) -> int:
        """Keep what hooks were given, each delivery once, and return how many are new.

        Those of sessions that were forgotten are not kept. The others outlast even a loss of power.
        """

    def list_deliveries(self, scope: Scope, which: DeliveryFilter = EVERY_DELIVERY) -> list[HookDelivery]:
        """Return deliveries, by time; those of the same moment by their `delivery_id`."""

    def count_deliveries(self, scope: Scope, session_id: str | None = None) -> int:
        """Return how many deliveries there are of a session, or of all."""

    def list_hook_sessions(self, scope: Scope, since_ns: int, count: int = 200) -> list[str]:
        """Return the ids of the sessions that hooks told of at a time or later, the latest first."""


_TOLD = DeliveryFilter(count=1, payloads=False, longest_context=0)


def is_visible(store: CaredStore, scope: Scope, name: str) -> bool:
    """Tell whether a session may be seen, by its key, or by its id if only hooks told of it."""
    if store.list_access(scope, [name]):
        return True
    return name != "" and bool(store.list_deliveries(scope, replace(_TOLD, session_id=name)))

"""Upgrading an archive of an earlier version, without its files, from the bytes that it has.

What only the archive knows is copied, everything else is derived again, and all of it is verified before the
new archive takes the place of the former one, which stays as it was until then. An interrupted upgrade
continues where it stopped; meanwhile, hooks leave their deliveries in the spool.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from enum import StrEnum

from msgspec import Struct

from turnlog.errors import StoreError
from turnlog.ingest.pipeline import sync
from turnlog.ingest.verification import check_archive
from turnlog.store.model import LOCAL, StorePlace
from turnlog.store.opening import open_store, open_upgrade

_NAMED = 3
"""How many disagreements are named."""


class Phase(StrEnum):
    """What an upgrade is at."""

    COPYING = "Copying"
    DERIVING = "Deriving"
    VERIFYING = "Verifying"


OnPhase = Callable[[Phase, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


class UpgradeReport(Struct, frozen=True, kw_only=True):
    """The result of an upgrade."""

    sessions: int
    bytes: int
    """Of the archive as it was."""
    kept: str | None = None
    """Where the former archive is, if it is kept."""
    damaged: int = 0
    """How much of it was found wrong, and is as it was."""


def upgrade_archive(
    place: StorePlace,
    *,
    origin: str,
    keep: bool = False,
    force: bool = False,
    workers: int | None = None,
    on_phase: OnPhase | None = None,
) -> UpgradeReport:
    """Make the archive at a place one of today's, and return when it is; raises `StoreError`.

    With `keep`, the former archive stays beside it. With `force`, it is done though parts are damaged: their
    bytes are kept as they are.
    """

    def tell(phase: Phase) -> Callable[[int, int], None]:
        return lambda done, whole: None if on_phase is None else on_phase(phase, done, whole)

    upgrade = open_upgrade(place)
    sessions, size = upgrade.measure()
    with upgrade.alone():
        upgrade.copy(tell(Phase.COPYING))
        with closing(open_store(upgrade.place)) as store:
            sync(
                store,
                upgrade.place,
                [],
                origin=origin,
                workers=workers,
                on_progress=tell(Phase.DERIVING),
            )
            wrong: list[str] = []
            for step in check_archive(store, LOCAL):
                wrong += [f"{each.where}: {each.message}" for each in step.checked.left]
                tell(Phase.VERIFYING)(step.done, step.total)
        if wrong and not force:
            named = "; ".join(wrong[:_NAMED])
            more = f", and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
            raise StoreError(
                f"The former archive stays, as not all of it can be derived and verified: {named}{more}; "
                "`turnlog upgrade --force` upgrades it all the same"
            )
        upgrade.check()
        kept = upgrade.finish(keep=keep)
        return UpgradeReport(sessions=sessions, bytes=size, kept=kept, damaged=len(wrong))

"""Checking all that is archived, session by session: what `turnlog verify` and the server do alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from turnlog.ingest.repair import Checked, check_session, check_usage, describe_flaw, repair_session
from turnlog.store.interface import CaredStore, Flaw, KnownSession, Maintenance
from turnlog.store.model import Scope


class Step(Struct, frozen=True, gc=False):
    """A part that was checked."""

    done: int
    total: int
    """Sessions."""
    checked: Checked


def check_archive(
    store: CaredStore, scope: Scope, chosen: Sequence[KnownSession] | None = None, *, repair: bool = False
) -> Iterator[Step]:
    """Check sessions one after the other, or all, and then the store as a whole and its usage, too.

    With `repair`, what can be mended is.
    """
    known = list(store.list_known(scope)) if chosen is None else chosen
    flaws: list[Flaw] = [] if chosen is not None else _list_flaws(store, scope, repair)
    keys = {session.key for session in known}
    stray = tuple(describe_flaw(flaw) for flaw in flaws if flaw.session not in keys)
    yield Step(0, len(known), Checked(stray))
    for done, session in enumerate(known, 1):
        own = [flaw for flaw in flaws if flaw.session == session.key]
        yield Step(done, len(known), _check(store, scope, session, own, repair))
    if chosen is None:
        yield Step(len(known), len(known), check_usage(store, scope, repair=repair))


def _list_flaws(store: CaredStore, scope: Scope, repair: bool) -> list[Flaw]:
    flaws = store.list_flaws(scope)
    if repair and any(flaw.session is None and flaw.follows for flaw in flaws):
        store.maintain(Maintenance.CLEAR_TEXTS)
        flaws = store.list_flaws(scope)
    return flaws


def _check(store: CaredStore, scope: Scope, session: KnownSession, flaws: list[Flaw], repair: bool) -> Checked:
    if repair:
        return repair_session(store, scope, session, flaws)
    return Checked((*map(describe_flaw, flaws), *check_session(store, scope, session).disagreements))

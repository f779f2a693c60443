"""Mending a store: what follows from the bytes is written anew, bytes come from the file outside.

Nothing is guessed: bytes are taken only if they have the digest of what was archived. A session whose files are
not all known any more is left as it is, since rows that follow from the rest would be wrong.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from msgspec import Struct

from turnlog.errors import StoreError
from turnlog.ingest.derivation import DERIVATION
from turnlog.ingest.verification import Disagreement, Subject, Verified, verify_session
from turnlog.store.interface import CaredStore, Flaw, KnownSession, KnownSource, Maintenance, find_known
from turnlog.store.model import Scope
from turnlog.store.usage.recounting import RecountedUsage, list_differences

_ATTEMPTS = 3
"""How often a session is checked that changes meanwhile."""


class Checked(Struct, frozen=True):
    """A session that was checked, and perhaps mended."""

    left: tuple[Disagreement, ...]
    """What a finding is about."""
    mended: tuple[Disagreement, ...] = ()
    """What did before."""


def check_session(store: CaredStore, scope: Scope, known: KnownSession) -> Verified:
    """Check one session; one that is written to meanwhile is checked again."""
    verified = verify_session(store, scope, known)
    for _ in range(_ATTEMPTS):
        if not verified.disagreements:
            break
        now = find_known(store, scope, known.key)
        if now is None:
            return Verified((), {}, None, {})
        if now.revision == known.revision:
            break
        known = now
        verified = verify_session(store, scope, known)
    return verified


def repair_session(
    store: CaredStore, scope: Scope, known: KnownSession, flaws: Collection[Flaw] = ()
) -> Checked:
    """Check one session, mend what can be mended, and check it again.

    `flaws` are those that the store has found in it.
    """
    verified = check_session(store, scope, known)
    found = (*map(describe_flaw, flaws), *verified.disagreements)
    if not found:
        return Checked(())
    if any(not flaw.follows for flaw in flaws):
        return Checked(found)
    known = find_known(store, scope, known.key) or known
    damaged = _has(verified.disagreements, Subject.BYTES)
    if damaged and _mend(store, scope, known):
        verified = verify_session(store, scope, known)
    wrong = _has(verified.disagreements, Subject.ROWS) or _has(verified.disagreements, Subject.LINES)
    derived = verified.derived if flaws or wrong else None
    if verified.lines or derived is not None or verified.texts:
        store.rewrite(
            scope, known.key, known.revision, derived, DERIVATION, lines=verified.lines, texts=verified.texts
        )
    left = verify_session(store, scope, find_known(store, scope, known.key) or known).disagreements
    mended = tuple(each for each in found if each not in left)
    return Checked(tuple(_explain(each, known) for each in left), mended)


def check_usage(store: CaredStore, scope: Scope, *, repair: bool = False) -> Checked:
    """Count all usage anew, compare it with what the store has kept up, and mend that if it is to be."""
    found = _compare_usage(store, scope)
    if not found or not repair:
        return Checked(found)
    store.maintain(Maintenance.RECOUNT)
    left = _compare_usage(store, scope)
    return Checked(left, tuple(each for each in found if each not in left))


def _compare_usage(store: CaredStore, scope: Scope) -> tuple[Disagreement, ...]:
    try:
        told = list_differences(store.read_usage(scope), RecountedUsage(store, scope))
    except StoreError as error:
        told = [str(error)]
    return tuple(Disagreement("", Subject.ROWS, "usage", message) for message in told)


def _has(found: Iterable[Disagreement], subject: Subject) -> bool:
    return any(each.subject is subject for each in found)


def describe_flaw(flaw: Flaw) -> Disagreement:
    """Return a flaw as what disagrees."""
    return Disagreement(flaw.session or "", Subject.STORE, "", flaw.message)


def _mend(store: CaredStore, scope: Scope, known: KnownSession) -> int:
    return sum(
        store.repair_bytes(scope, source.source, generation, _Outside(source).read)
        for source in known.sources
        for generation, _ in store.archive.list_generations(scope, source.source)
    )


class _Outside:
    """The file that a source was read from, as it is now."""

    def __init__(self, source: KnownSource) -> None:
        self._path = source.path

    def read(self, start: int, length: int) -> bytes | None:
        """Return bytes of it; None if it has none there, or is gone."""
        try:
            with open(self._path, "rb") as file:
                file.seek(start)
                return file.read(length)
        except OSError:
            return None


def _explain(left: Disagreement, known: KnownSession) -> Disagreement:
    """Say why bytes could not be mended."""
    if left.subject is not Subject.BYTES:
        return left
    path = next((each.path for each in known.sources if left.where.startswith(f"{each.path} (")), None)
    reason = "has different content" if path is not None and os.path.exists(path) else "is gone"
    return Disagreement(left.session, left.subject, left.where, f"{left.message}; the file outside {reason}")

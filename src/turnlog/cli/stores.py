"""The store that a command works on, and the sessions and machines that its arguments name.

An archive of an older version is brought up to date before anything else. A session is named by the beginning
of its id, or by the name that the person gave it; ids are printed as short as they stay unique.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import takewhile
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.cli.output import show_progress
from turnlog.cli.terminal import MisuseError, NothingFoundError, shorten, warn
from turnlog.config import Settings
from turnlog.errors import FormerStoreError, OlderStoreError
from turnlog.store.interface import KnownSession, MaintainedStore, Store, find_known, find_sessions
from turnlog.store.lists import SessionFilter, StoredSession
from turnlog.store.model import LOCAL, Machine, StorePlace, is_made
from turnlog.store.opening import open_store

if TYPE_CHECKING:
    from turnlog.ingest.upgrade import Phase, UpgradeReport


def find_machines(machines: Sequence[Machine], name: str) -> list[Machine]:
    """Return the machines that a name stands for: the beginning of an origin, or a host."""
    by_host = [each for each in machines if name and each.host == name]
    return by_host or [each for each in machines if name and each.origin.startswith(name)]


_NAMED = 5
"""How many sessions are named that may be meant."""
_LONGEST_TITLE = 40
_SHORTEST = 8
_SHORTENED = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
"""UUIDs and keys, of which a beginning is enough."""
_TYPED = re.compile(r"\w[\w-]*", re.ASCII)
"""Ids that a command takes for an id, as they stand."""


@contextmanager
def open_archive(
    settings: Settings, *, writing: bool = False, existing: bool = False
) -> Iterator[MaintainedStore]:
    """Open the store, and close it again; for reading, or if it is to be `existing`, it must be there."""
    place = settings.place
    if (existing or not writing) and not is_made(place):
        raise NothingFoundError(f"nothing is archived yet in {settings.home}; run `turnlog sync`")
    with closing(_open_to_write(settings) if writing else _open_to_read(place)) as store:
        yield store


def _open_to_write(settings: Settings) -> MaintainedStore:
    """Open the store for writing; one of an earlier version is upgraded before."""
    try:
        return open_store(settings.place)
    except FormerStoreError:
        upgrade_first(settings)
        return open_store(settings.place)


def _open_to_read(place: StorePlace) -> MaintainedStore:
    """Open the store for reading; one of an older version is brought up to date before."""
    try:
        return open_store(place, read_only=True)
    except FormerStoreError:
        raise
    except OlderStoreError:
        open_store(place).close()
        warn("the archive was made by an older version; run `turnlog sync` to bring it up to date")
        return open_store(place, read_only=True)


def needs_upgrade(place: StorePlace) -> bool:
    """Tell whether there is an archive of an earlier version."""
    if isinstance(place, Path) and not place.exists():
        return False
    try:
        open_store(place, read_only=True).close()
    except FormerStoreError:
        return True
    except OlderStoreError:  # opening it for writing migrates it
        return False
    return False


def upgrade_first(
    settings: Settings,
    *,
    keep: bool = False,
    force: bool = False,
    workers: int | None = None,
    is_asked: bool = False,
) -> UpgradeReport:
    """Upgrade the archive, and show how far that is."""
    # Imported here: it derives sessions, which most commands have nothing to do with.
    from turnlog.ingest.machine import find_origin
    from turnlog.ingest.upgrade import upgrade_archive

    if not is_asked:
        warn("the archive is of an earlier version, and is upgraded first; this takes a while")
    with ExitStack() as stack:
        shown: list[Phase] = []

        def on_phase(phase: Phase, done: int, whole: int) -> None:
            if phase not in shown:
                stack.close()
                shown[:] = [phase]
                progress.append(stack.enter_context(show_progress(f"{phase.value} the archive")))
            progress[-1](done, whole)

        progress: list[Callable[[int, int], None]] = []
        return upgrade_archive(
            settings.place,
            origin=find_origin(settings.home),
            keep=keep,
            force=force,
            workers=workers,
            on_phase=on_phase,
        )


def find_session(store: Store, prefix: str) -> tuple[StoredSession, KnownSession]:
    """Return the one session whose id begins with a prefix, or the name that somebody gave it.

    What is named in full is meant, though others begin with it.
    """
    found = find_sessions(store, LOCAL, prefix) or _find_named(store, prefix)
    exact = list_exact(found, prefix)
    if not found:
        raise NothingFoundError(f"no archived session begins with {prefix}")
    if len(found) > 1 and len(exact) != 1:
        names = ", ".join(_list_names(found[:_NAMED]))
        more = "" if len(found) <= _NAMED else " and others"
        raise MisuseError(f"{len(found)} sessions begin with {prefix}: {names}{more}")
    [chosen] = exact if len(exact) == 1 else found
    known = find_known(store, LOCAL, chosen.key)
    assert known is not None
    return chosen, known


def list_exact(found: Iterable[StoredSession], name: str) -> list[StoredSession]:
    """Return the sessions that are named in full: several if they share their id, as copies do."""
    return [each for each in found if name in (each.key, each.row.session_id, each.marks.name)]


def shorten_id(name: str) -> str:
    """Return as much of an id as mostly tells it from others: of one that is no UUID, all of it."""
    return name[:_SHORTEST] if _SHORTENED.fullmatch(name) else name


def shorten_ids(sessions: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Return by what commands know sessions, which are given as keys and ids: the shortest, by their keys.

    A session goes by its id, or by its key if others have the same id or it cannot be typed.
    """
    given = dict(sessions)
    shared = Counter(given.values())
    known = sorted({*given, *(name for name in given.values() if name is not None)})
    short: dict[str, str] = {}
    for key, own in given.items():
        name = key if own is None or shared[own] > 1 or not _TYPED.fullmatch(own) else own
        if _SHORTENED.fullmatch(name):
            at = bisect_left(known, name)
            beside = (*known[max(0, at - 1) : at], *known[at + 1 : at + 2])
            needed = max((_count_common(name, other) + 1 for other in beside), default=0)
            name = name[: max(_SHORTEST, needed)]
        short[key] = name
    return short


def _count_common(one: str, other: str) -> int:
    return len([*takewhile(bool, map(eq, one, other))])


def _find_named(store: Store, prefix: str) -> list[StoredSession]:
    asked = SessionFilter(name=prefix, archived=None)
    return [*store.list_sessions(LOCAL, asked).sessions] if prefix else []


def _list_names(sessions: Sequence[StoredSession]) -> Iterator[str]:
    """Yield by what sessions can be told: an id that several have is none."""
    ids = [session.row.session_id for session in sessions]
    for session in sessions:
        called = shorten(session.marks.name or session.row.title or "", _LONGEST_TITLE)
        name = session.row.session_id
        own = session.key if name is None or ids.count(name) > 1 else name
        yield f"{own} ({called})" if called else own

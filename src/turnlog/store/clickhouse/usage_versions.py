"""How often what is told of the answers of sessions became another; in the control database."""

from __future__ import annotations

from collections.abc import Iterable

from turnlog.store.clickhouse.ids import NOWHERE
from turnlog.store.clickhouse.publication import pack_ids
from turnlog.store.control.interface import Control
from turnlog.store.portable.database import Execute

__all__ = ["EVERY_SESSION", "count_versions", "find_version"]

EVERY_SESSION = NOWHERE
_COUNT = """
INSERT INTO @usage_versions AS v (session, version) VALUES (?, 1)
ON CONFLICT (session) DO UPDATE SET version = v.version + 1
"""


def count_versions(control: Control, sessions: Iterable[int]) -> None:
    """Note that what answers of some sessions used or cost is told otherwise from now on."""
    packed = pack_ids(sessions)

    def count(execute: Execute) -> None:
        for session in packed:
            execute(_COUNT, (session,))

    if packed:
        control.write(count)


def find_version(control: Control, session: int | None) -> int:
    """Return a number that grows with what is noted of a session, or of all."""
    packed = pack_ids([EVERY_SESSION] if session is None else [EVERY_SESSION, session])
    places = ", ".join("?" * len(packed))
    query = f"SELECT coalesce(sum(version), 0) FROM @usage_versions WHERE session IN ({places})"
    [(version,)] = control.read(lambda execute: execute(query, packed))
    return int(version)

"""Results that Claude Code put into files of their own.

A result says where its file is, and that is untrusted. So only its name counts, among the files of results that
the archive has of the same session.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import PurePosixPath, PureWindowsPath
from urllib.parse import quote

from turnlog.server.shapes.calls import Offloaded
from turnlog.server.views.limits import sayable
from turnlog.store.identity import Scope, SourceKind
from turnlog.store.interface import KnownSource, Store

__all__ = ["OffloadedResults"]


class OffloadedResults:
    """The files of results of one session; the store is asked when the first is looked for."""

    def __init__(self, store: Store, scope: Scope, key: str) -> None:
        self._store = store
        self._scope = scope
        self._key = key

    def find(self, told: str | None) -> Offloaded | None:
        """Return the file that a result names; None if it names none, or none that is here."""
        found = None if told is None else self._files.get(_name_of(told))
        if found is None:
            return None
        return Offloaded(
            href=f"/api/sessions/{quote(self._key, safe='')}/tool-results/{quote(found.source, safe='')}",
            name=sayable(_name_of(found.path)),
            size=found.length,
        )

    @cached_property
    def _files(self) -> dict[str, KnownSource]:
        known = self._store.find_known(self._scope, self._key)
        sources = () if known is None else known.sources
        return {_name_of(each.path): each for each in sources if each.kind is SourceKind.TOOL_RESULT}


def _name_of(path: str) -> str:
    return PureWindowsPath(PurePosixPath(path).name).name

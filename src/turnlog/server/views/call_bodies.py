"""Calls with what they were given and what they answered, read from their own lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turnlog.messages import Line
from turnlog.server.shapes.calls import Call
from turnlog.server.views.calls import view_call, view_row
from turnlog.server.views.offloaded import OffloadedResults
from turnlog.server.views.stretches import fit
from turnlog.server.views.windows import read_places
from turnlog.store.identity import Place, Scope
from turnlog.store.interface import Store
from turnlog.store.lists import StoredSession
from turnlog.store.rows import CallRow
from turnlog.transcripts.calls.builder import build_calls
from turnlog.transcripts.calls.call import Call as Built

__all__ = ["view_calls"]


def view_calls(store: Store, scope: Scope, session: StoredSession, rows: Sequence[CallRow]) -> tuple[Call, ...]:
    """Return calls with their bodies; only the first, if they are very long together."""
    rows = fit(store, scope, rows, _list_places)
    lines = read_places(store, scope, [place for row in rows for place in _list_places(row)])
    offloaded = OffloadedResults(store, scope, session.key)
    built = ((row, _build(row, lines)) for row in rows)
    return tuple(
        view_row(row) if call is None else view_call(row, call, session.key, session.row.project, offloaded)
        for row, call in built
    )


def _list_places(row: CallRow) -> list[Place]:
    """Return where a call and its result stand."""
    return list(dict.fromkeys(place for place in (row.at, row.result_at) if place is not None))


def _build(row: CallRow, lines: Mapping[Place, Line]) -> Built | None:
    """Put a call together from its line and that of its result."""
    calls = build_calls([lines[place] for place in _list_places(row)]).calls
    return next(
        (call for call in calls if call.place.line is lines[row.at] and call.place.index == row.block), None
    )

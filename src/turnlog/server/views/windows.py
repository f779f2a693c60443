"""Some messages next to each other, with what they say. Of the store only what is in the window is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from turnlog.ingest.copies import list_shared
from turnlog.messages import Line, Position, decode
from turnlog.server.errors import NotFoundError
from turnlog.server.shapes.messages import Message, MessageUsage
from turnlog.server.views.limits import head_of
from turnlog.server.views.lists import name_session
from turnlog.server.views.messages import Answer, Window, build_messages, tell, view_message, view_results
from turnlog.server.views.offloaded import OffloadedResults
from turnlog.server.views.stretches import fit
from turnlog.server.views.walks import Chapter
from turnlog.store.identity import Place, Scope
from turnlog.store.interface import Store
from turnlog.store.lists import StoredSession
from turnlog.store.rows import CallRow, MessageRow
from turnlog.transcripts.usage.charges import to_dollars
from turnlog.transcripts.usage.sightings import name_answer

__all__ = ["read_places", "read_titles", "view_window"]

_MOST_FOLDED = 200
"""Of one message, at its beginning: a call's progress may be thousands of lines that nobody is shown."""


_SHARED: WeakKeyDictionary[Store, dict[tuple[Scope, str, int], frozenset[str]]] = WeakKeyDictionary()
_MOST_SHARED = 64
"""Sessions of which this is remembered."""


def view_window(
    store: Store,
    scope: Scope,
    session: StoredSession,
    rows: Sequence[MessageRow],
    anchor: int = 0,
    chapter: Chapter | None = None,
) -> tuple[Message, ...]:
    """Return messages of one chapter with what they say; fewer, around `anchor`, if that is very much.

    Where the `chapter` is asked for results, these come behind the message with which they are shown.
    """
    if not rows:
        return ()
    calls = _list_calls(store, scope, session.key, rows)
    rows = fit(store, scope, rows, lambda row: _list_needed(row, calls.get(row.index, ())), anchor)
    places = [place for row in rows for place in _list_needed(row, calls.get(row.index, ()))]
    lines = read_places(store, scope, places)
    window = Window(
        key=session.key,
        session_id=name_session(session),
        project=session.row.project,
        lines=lines,
        built=build_messages(rows, lines),
        calls=calls,
        ids=_list_ids(store, scope, session.key, rows),
        answers=_find_answers(store, scope, lines),
        shared=_find_shared(store, scope, session.key, session.revision),
        offloaded=OffloadedResults(store, scope, session.key),
    )
    if chapter is None or not chapter.has_results:
        return tuple(view_message(row, window) for row in rows)
    found: list[Message] = []
    for row in rows:
        if chapter.is_wanted(row):
            found.append(view_message(row, window))
        if chapter.is_shown_by(row):
            found += view_results(row, window)
    return tuple(found)


def _find_shared(store: Store, scope: Scope, key: str, revision: int) -> frozenset[str]:
    """Return the uuids that other sessions have, too; what is told of a revision does not change."""
    known = _SHARED.setdefault(store, {})
    if (scope, key, revision) not in known:
        if len(known) >= _MOST_SHARED:
            known.clear()
        known[scope, key, revision] = list_shared(store, scope, key)
    return known[scope, key, revision]


def read_places(store: Store, scope: Scope, places: Sequence[Place]) -> dict[Place, Line]:
    """Return the lines at some places; raises `NotFoundError` if they were forgotten meanwhile."""
    wanted = list(dict.fromkeys(places))
    try:
        found = zip(wanted, store.read_lines(scope, wanted), strict=True)
    except KeyError:
        raise NotFoundError("Those lines no longer exist") from None
    return {place: decode(data, at=Position(place.source, place.offset)) for place, data in found}


def read_titles(store: Store, scope: Scope, rows: Sequence[MessageRow]) -> dict[int, str]:
    """Return how messages begin, by their indexes; only of the first, if they are very long together."""
    rows = fit(store, scope, rows, _list_own)
    lines = read_places(store, scope, [place for row in rows for place in _list_own(row)])
    return {row.index: head_of(tell(row, lines)) for row in rows}


def _list_own(row: MessageRow) -> Sequence[Place]:
    return row.lines[: row.own_lines]


def _list_calls(store: Store, scope: Scope, key: str, rows: Sequence[MessageRow]) -> dict[int, list[CallRow]]:
    calls: dict[int, list[CallRow]] = {}
    callers = [row.index for row in rows if row.calls]
    for call in store.list_calls_of(scope, key, callers, source=rows[0].source):
        if call.message is not None:
            calls.setdefault(call.message, []).append(call)
    return calls


def _list_needed(row: MessageRow, calls: Sequence[CallRow]) -> list[Place]:
    folded = row.lines[row.own_lines : row.own_lines + _MOST_FOLDED]
    return [
        *_list_own(row),
        *folded,
        *(call.result_at for call in calls if call.result_at is not None),
    ]


def _list_ids(store: Store, scope: Scope, key: str, rows: Sequence[MessageRow]) -> dict[int, str]:
    """Return the ids of messages, and of those that they follow."""
    ids = {row.index: row.id for row in rows}
    parents = {row.parent for row in rows if row.parent is not None and row.parent not in ids}
    if parents:
        above = store.list_at(scope, key, sorted(parents), source=rows[0].source)
        ids |= {row.index: row.id for row in above}
    return ids


def _find_answers(store: Store, scope: Scope, lines: Mapping[Place, Line]) -> dict[str, Answer]:
    """Return what the answers in some lines used, by what they are known by."""
    ids = {name_answer(line) for line in lines.values()}
    found = store.find_answers(scope, [each for each in ids if each is not None])
    return {
        use.message_id: Answer(
            usage=MessageUsage(
                input_tokens=use.input,
                output_tokens=use.output,
                cache_read_input_tokens=use.cache_read,
                cache_creation_input_tokens=use.cache_write,
            ),
            cost=None if use.cost is None else to_dollars(use.cost),
        )
        for use in found
    }

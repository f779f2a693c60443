"""A window of messages with what happened under them: hook events, and lines that are no messages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Literal

from turnlog.server.shapes.messages import Message
from turnlog.server.shapes.timeline import HookEntry, MessageEntry, NoteEntry, NoteItem, TimelineEntry
from turnlog.server.views.hook_items import HookSession, find_told, list_runs, view_hook
from turnlog.server.views.limits import head_of
from turnlog.server.views.moments import moment
from turnlog.server.views.windows import read_places
from turnlog.store.identity import Place
from turnlog.store.rows import LineFact, MessageRow
from turnlog.transcripts.actions.telling import report_of
from turnlog.transcripts.conversation.placements import Rule

__all__ = ["MOST_HOOKS", "list_notes", "view_timeline"]

MOST_HOOKS = 1000
"""Under the messages of one window."""
_TELLING = frozenset({Rule.HOOK.value, Rule.LONE_PROGRESS.value})
"""The rules of messages that may tell of a hook event."""
_NOTED: Mapping[str, Literal["queue", "snapshot", "system"]] = {
    "queue-operation": "queue",
    "file-history-snapshot": "snapshot",
    "file-history-delta": "snapshot",
    "system/turn_duration": "system",
}
"""The types of lines that are no messages, but say what happened; and their categories (spec 002)."""
_MOST_LINES = 20_000
"""That are looked through for them in one window: a call's progress may be thousands of lines."""
_AT_ONCE = 256
_NEAR = 16
_MOST_GUESSES = 8


def view_timeline(
    session: HookSession,
    rows: Sequence[MessageRow],
    messages: Sequence[Message],
    source: str | None,
    above: bool,
    notes: Mapping[int | None, Sequence[NoteEntry]] | None = None,
) -> tuple[tuple[TimelineEntry, ...], int]:
    """Return messages of one chapter with what happened under them, and how many hook events are left out.

    With `above`, the window begins with what stands above the first message.
    """
    notes = notes or {}
    shown = {message.index for message in messages}
    under = session.store.list_hooks_under(
        session.scope, session.key, session.id, sorted(shown), source=source, above=above, count=MOST_HOOKS
    )
    runs = list_runs(session, [hook for _, hook in under.hooks])
    told = _list_told(session, [row for row in rows if row.index in shown])
    hooks: dict[int | None, list[TimelineEntry]] = {}
    for at, fact in under.hooks:
        hooks.setdefault(at, []).append(HookEntry(hook=view_hook(fact, at, runs.get(fact.id, ()))))
    items: list[TimelineEntry] = [*notes.get(None, ()), *hooks.get(None, ())]
    for message in messages:
        if message.index not in told:
            items.append(MessageEntry(message=message))
        items += hooks.get(message.index, ())
        items += notes.get(message.index, ())
    return tuple(items), under.total - len(under.hooks)


def list_notes(
    session: HookSession, rows: Sequence[MessageRow], below: MessageRow | None, above: bool
) -> dict[int | None, list[NoteEntry]]:
    """Return what lines that are no messages say happened, by the message that they stand under.

    `rows` are messages next to each other, and `below` is the one behind them. With `above`, what stands above
    the first of them comes, too, under None.
    """
    if not rows:
        return {}
    begins = rows[0].lines[0]
    end = None if below is None else below.lines[0].offset
    offsets = [row.lines[0].offset for row in rows]
    shown = {place.offset for row in rows for place in row.lines}
    found: dict[Place, LineFact] = {}
    number = 0 if above else _find_number(session, begins)
    for first in range(number, number + _MOST_LINES, _AT_ONCE):
        facts = session.store.list_lines(
            session.scope, begins.source, begins.generation, first=first, count=_AT_ONCE
        )
        for fact in facts:
            if fact.type in _NOTED and (end is None or fact.offset < end) and fact.offset not in shown:
                found[Place(begins.source, begins.generation, fact.offset)] = fact
        if len(facts) < _AT_ONCE or (end is not None and facts[-1].offset >= end):
            break
    notes: dict[int | None, list[NoteEntry]] = {}
    for place, line in read_places(session.store, session.scope, list(found)).items():
        fact, text = found[place], head_of(report_of(line.entry))
        at = bisect_right(offsets, place.offset) - 1
        if text:
            message = rows[at].index if at >= 0 else None
            time = moment(fact.time)
            note = NoteItem(
                line=fact.number, message=message, category=_NOTED[fact.type], text=text, created_at=time
            )
            notes.setdefault(message, []).append(NoteEntry(note=note))
    return notes


def _find_number(session: HookSession, place: Place) -> int:
    """Return which line of its file begins at a place; lines are numbered in their order.

    Lines are of similar length by and large, so the place says roughly where to look; halving comes in where
    they are not.
    """
    known = session.store.find_known(session.scope, session.key)
    sources = () if known is None else known.sources
    source = next((each for each in sources if each.source == place.source), None)
    low, high = 0, 0 if source is None else source.lines
    starts, ends = 0, 1 if source is None else max(source.length, 1)
    guesses = _MOST_GUESSES
    while low < high:
        share = (place.offset - starts) / max(ends - starts, 1) if guesses > 0 else 0.5
        first = min(max(low, low + int((high - low) * share) - _NEAR // 2), high - 1)
        guesses -= 1
        facts = session.store.list_lines(
            session.scope, place.source, place.generation, first=first, count=_NEAR
        )
        if not facts or facts[0].offset > place.offset:
            high, ends = first, facts[0].offset if facts else ends
        elif facts[-1].offset >= place.offset:
            return next(fact.number for fact in facts if fact.offset >= place.offset)
        else:
            low, starts = facts[-1].number + 1, facts[-1].offset
    return low


def _list_told(session: HookSession, rows: Sequence[MessageRow]) -> set[int]:
    """Return the messages that say nothing but what a hook event tells."""
    telling = [row for row in rows if row.rule in _TELLING and row.own_lines == 1]
    lines = read_places(session.store, session.scope, [row.lines[0] for row in telling])
    found = find_told(session, [(lines[row.lines[0]], row.time) for row in telling])
    return {telling[number].index for number in found}

"""A window of messages with the hook events under them."""

from __future__ import annotations

from collections.abc import Sequence

from turnlog.server.shapes.messages import Message
from turnlog.server.shapes.timeline import HookEntry, MessageEntry, TimelineEntry
from turnlog.server.views.hook_items import HookSession, find_told, list_runs, view_hook
from turnlog.server.views.windows import read_places
from turnlog.store.rows import MessageRow
from turnlog.transcripts.conversation.placements import Rule

__all__ = ["MOST_HOOKS", "view_timeline"]

MOST_HOOKS = 1000
"""Under the messages of one window."""
_TELLING = frozenset({Rule.HOOK.value, Rule.LONE_PROGRESS.value})
"""The rules of messages that may tell of a hook event."""


def view_timeline(
    session: HookSession,
    rows: Sequence[MessageRow],
    messages: Sequence[Message],
    source: str | None,
    above: bool,
) -> tuple[tuple[TimelineEntry, ...], int]:
    """Return messages of one chapter with the hook events under them, and how many of these are left out.

    With `above`, the window begins with what stands above the first message.
    """
    shown = {message.index for message in messages}
    under = session.store.list_hooks_under(
        session.scope, session.key, session.id, sorted(shown), source=source, above=above, count=MOST_HOOKS
    )
    runs = list_runs(session, [hook for _, hook in under.hooks])
    told = _list_told(session, [row for row in rows if row.index in shown])
    hooks: dict[int | None, list[TimelineEntry]] = {}
    for at, fact in under.hooks:
        hooks.setdefault(at, []).append(HookEntry(hook=view_hook(fact, at, runs.get(fact.id, ()))))
    items = list(hooks.get(None, ()))
    for message in messages:
        if message.index not in told:
            items.append(MessageEntry(message=message))
        items += hooks.get(message.index, ())
    return tuple(items), under.total - len(under.hooks)


def _list_told(session: HookSession, rows: Sequence[MessageRow]) -> set[int]:
    """Return the messages that say nothing but what a hook event tells."""
    telling = [row for row in rows if row.rule in _TELLING and row.own_lines == 1]
    lines = read_places(session.store, session.scope, [row.lines[0] for row in telling])
    found = find_told(session, [(lines[row.lines[0]], row.time) for row in telling])
    return {telling[number].index for number in found}

"""When a session without hooks worked and waited, from its turns and the calls that asked the person."""

from __future__ import annotations

from turnlog.server.board.columns import Column
from turnlog.server.board.spans import Moment
from turnlog.store.identity import LOCAL
from turnlog.store.interface import Store
from turnlog.store.windows import CallFilter

__all__ = ["ASKING_TOOLS", "list_moments"]

ASKING_TOOLS = ("AskUserQuestion", "ExitPlanMode")
_MOST_TURNS = 100
_MOST_CALLS = 100


def list_moments(store: Store, key: str, now: Column) -> list[Moment]:
    """Return from when on a session stood in which column; since its last turn began it stands in `now`."""
    count = store.count_turns(LOCAL, key)
    turns = store.list_turns(LOCAL, key, first=max(count - _MOST_TURNS, 0))
    found: list[Moment] = []
    for turn in turns:
        if turn.started is None:
            continue
        found.append(Moment(turn.started * 1000, Column.WORKING))
        is_last = turn.index == count - 1
        if turn.ended is not None and not (is_last and now is Column.WORKING):
            found.append(Moment(turn.ended * 1000, now if is_last else Column.DONE))
    return sorted([*found, *_list_asked(store, key)], key=lambda each: each.at_ns)


def _list_asked(store: Store, key: str) -> list[Moment]:
    """Return when the person was asked, and when that was answered."""
    found: list[Moment] = []
    for name in ASKING_TOOLS:
        where = CallFilter(name=name)
        total = store.find_calls(LOCAL, key, where, count=1).total
        first = max(total - _MOST_CALLS, 0)
        for call in store.find_calls(LOCAL, key, where, first=first, count=_MOST_CALLS).calls if total else ():
            if call.started is not None:
                found.append(Moment(call.started * 1000, Column.NEEDS_YOU))
                found += [Moment(call.ended * 1000, Column.WORKING)] if call.ended is not None else []
    return found

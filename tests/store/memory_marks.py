"""Marks in memory: a list of entries, of which the newest counts."""

from __future__ import annotations

from collections.abc import Sequence

from store.memory_seeing import is_own
from store.memory_state import MarkEntry, State
from turnlog.store.interface import ChangeEntry, ChangeKind
from turnlog.store.lists import MarkChange, MarkedSession, Marks, undo_change
from turnlog.store.model import Scope


def find_marks(state: State, owner: str, key: str) -> Marks | None:
    own = [entry.marks for entry in state.marks if (entry.owner, entry.session) == (owner, key)]
    return own[-1] if own else None


def mark(state: State, scope: Scope, keys: Sequence[str], change: MarkChange) -> list[MarkedSession]:
    operation, owner = _next_operation(state), scope.owner
    done = []
    for key in keys:
        if is_own(state, scope, key):
            before = find_marks(state, owner, key) or Marks()
            after = change.apply(before)
            if after != before:
                _add(state, MarkEntry(owner, key, operation, None, after, _name_author(scope)))
                done.append(MarkedSession(key=key, before=before, after=after))
    return done


def undo_mark(state: State, scope: Scope) -> list[MarkedSession]:
    owner, author = scope.owner, _name_author(scope)
    own = [entry for entry in state.marks if entry.owner == owner]
    undone = {entry.undoes for entry in own}
    standing = [
        entry.operation
        for entry in own
        if entry.undoes is None
        and entry.operation not in undone
        and entry.author == author
        and is_own(state, scope, entry.session)
    ]
    if not standing:
        return []
    operation, done = _next_operation(state), []
    for entry in own:
        if entry.operation == max(standing) and is_own(state, scope, entry.session):
            earlier = [each.marks for each in own[: own.index(entry)] if each.session == entry.session]
            now = find_marks(state, owner, entry.session) or Marks()
            after = undo_change(earlier[-1] if earlier else Marks(), entry.marks, now)
            _add(state, MarkEntry(owner, entry.session, operation, entry.operation, after, author))
            done.append(MarkedSession(key=entry.session, before=now, after=after))
    return done


def _name_author(scope: Scope) -> str | None:
    return None if scope.viewer is None else scope.viewer.person


def _next_operation(state: State) -> int:
    return max((entry.operation for entry in state.marks), default=0) + 1


def _add(state: State, entry: MarkEntry) -> None:
    state.marks.append(entry)
    session = state.owners[entry.owner][entry.session]
    told = ChangeEntry(
        seq=len(state.entries) + 1,
        kind=ChangeKind.SESSION_MARKED,
        session=entry.session,
        revision=session.revision,
        at_ns=0,
    )
    state.entries.append((entry.owner, told))

"""The state of each session as hooks tell it, folded once and then kept up.

A fold rests on nothing but the deliveries of the store, in their order, so it is the same after a restart.
Deliveries that come late, from a spool, are older than what is folded already: then all is folded again.
Which deliveries are a session's is said by the store: those of its own person, whoever else uses the same id.
"""

from __future__ import annotations

from collections import OrderedDict

from msgspec import Struct

from turnlog.server.board.columns import Column, find_column
from turnlog.server.board.spans import Moment
from turnlog.store.interface import CaredStore
from turnlog.store.model import LOCAL, Scope
from turnlog.transcripts.hooks.deliveries import DeliveryFilter, HookDelivery, find_text
from turnlog.transcripts.hooks.states import AgentStatus, advance

_MOST_KEPT = 1000
_MOST_MOMENTS = 5000
_AT_ONCE = 500

_Name = tuple[str, Scope]


class HookFold(Struct):
    """What the deliveries of one session come to."""

    status: AgentStatus | None = None
    moments: list[Moment] = []
    """From when on it stood in which column, each time that this changed."""
    count: int = 0
    first_ns: int = 0
    last_ns: int = 0
    at_last: set[str] = set()
    """The ids of the deliveries that came at the last time."""
    cwd: str | None = None
    origin: str = ""
    """The machine that they come from."""

    def add(self, delivery: HookDelivery) -> None:
        """Go on by one."""
        if delivery.received_ns != self.last_ns:
            self.at_last = set()
        self.at_last.add(delivery.delivery_id)
        self.count += 1
        self.origin = self.origin or delivery.origin
        self.first_ns = self.first_ns or delivery.received_ns
        self.last_ns = delivery.received_ns
        self.status = advance(self.status, delivery)
        self.cwd = self.cwd or find_text(delivery.fields, "cwd")
        column = find_column(self.status.phase, self.status.why)
        if self._find_column() is not column:
            self.moments.append(Moment(delivery.received_ns, column))
            del self.moments[:-_MOST_MOMENTS]

    def _find_column(self) -> Column | None:
        return self.moments[-1].column if self.moments else None


class HookFolds:
    """Folds by the ids of sessions, for each scope apart; used by one thread at a time."""

    def __init__(self, store: CaredStore) -> None:
        self._store = store
        self._kept: OrderedDict[_Name, HookFold] = OrderedDict()
        self._scopes: dict[str, set[Scope]] = {}
        """For which scopes there are folds of a session."""
        self._behind: set[_Name] = set()
        """Those of which there is more."""

    def note(self, session_id: str, received_ns: int) -> None:
        """Take notice of a delivery."""
        for scope in list(self._scopes.get(session_id, ())):
            name = session_id, scope
            if received_ns < self._kept[name].last_ns:
                self._let_go(name)
            else:
                self._behind.add(name)

    def clear(self) -> None:
        """Forget all folds: nobody knows what was missed."""
        self._kept.clear()
        self._scopes.clear()
        self._behind.clear()

    def find(self, session_id: str, scope: Scope = LOCAL) -> HookFold | None:
        """Return what hooks that may be seen tell of a session; None if they never did."""
        name = session_id, scope
        fold = self._kept.get(name)
        if fold is None:
            fold = HookFold()
            self._behind.add(name)
        if name in self._behind:
            self._go_on(fold, session_id, scope)
            self._behind.discard(name)
        self._kept[name] = fold
        self._kept.move_to_end(name)
        self._scopes.setdefault(session_id, set()).add(scope)
        if len(self._kept) > _MOST_KEPT:
            self._let_go(next(iter(self._kept)))
        return fold if fold.status is not None else None

    def _let_go(self, name: _Name) -> None:
        session_id, scope = name
        del self._kept[name]
        self._behind.discard(name)
        self._scopes[session_id].discard(scope)
        if not self._scopes[session_id]:
            del self._scopes[session_id]

    def _go_on(self, fold: HookFold, session_id: str, scope: Scope) -> None:
        while True:
            which = DeliveryFilter(
                session_id=session_id,
                since_ns=fold.last_ns,
                count=_AT_ONCE + len(fold.at_last),
                longest_context=0,
            )
            found = self._store.list_deliveries(scope, which)
            new = [each for each in found if each.delivery_id not in fold.at_last]
            for delivery in new:
                fold.add(delivery)
            if len(new) < _AT_ONCE:
                return

"""Recording who looked at whose sessions, before they are shown anything of them.

A look is recorded when a session is found for whoever asked (`finding.get_session`, and what a search or an
export gives out), so no route can forget it. What follows within a quarter of an hour is the same visit, and
one entry. If it cannot be recorded, nothing is shown. What the operator looks at is not recorded: whoever has
the server's token has its files, too, the record among them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from litestar import Request
from litestar.di import NamedDependency
from litestar.params import SkipValidation
from msgspec import Struct

from turnlog.server.errors import RequestError
from turnlog.server.security.callers import Caller, CallerKind, GivenCaller
from turnlog.store.accounts.interface import Accounts, Action, AuditEntry

logger = logging.getLogger("turnlog.server")

VISIT_SECONDS = 15 * 60.0
"""After so long without a request, a visit is over."""
_MOST = 100_000
"""How many visits are remembered; of one that is not, the next look is recorded again."""

_Known = tuple[str, str | None, str, Action]


class Look(Struct, frozen=True, gc=False):
    """A session that is about to be shown."""

    session: str
    """Its key; its id, if only hooks have told of it."""
    person: str | None
    """Whose it is."""


class Auditor:
    """Keeps what people do; from any thread."""

    def __init__(self, accounts: Accounts | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._accounts = accounts
        self._clock = clock
        self._visits: OrderedDict[_Known, float] = OrderedDict()
        self._lock = threading.Lock()

    def note_looks(self, caller: Caller, looks: Iterable[Look], action: Action, client: str = "") -> None:
        """Record looks at what is not the caller's own, those that begin a visit; raises `RequestError`.

        `client` tells strangers with the same link apart.
        """
        if caller.kind is CallerKind.OPERATOR:
            return
        link = caller.link
        if link is not None:
            action = Action.LINK_OPENED
        others = [look for look in looks if link is not None or look.person != caller.name]
        by = None if link is None else link.id
        wanted = {(caller.name or "", by, f"{client} {look.session}", action): look for look in others}
        if self._go_on(wanted):
            return
        with self._lock:  # so that requests which come together are one visit
            new = {known: look for known, look in wanted.items() if not self._is_open(known)}
            if not new:
                return
            at_ns = time.time_ns()
            entries = [
                AuditEntry(
                    at_ns=at_ns,
                    who=caller.name,
                    action=action,
                    link=by,
                    session=look.session,
                    person=look.person,
                )
                for look in new.values()
            ]
            self.record(entries)
            if link is not None:
                self._count_opened(link.id)
            self._remember(new)

    def record(self, entries: Sequence[AuditEntry]) -> None:
        """Keep entries for good; raises `RequestError` if that cannot be done."""
        try:
            if self._accounts is None:
                raise RuntimeError("there is nowhere to record it")
            if entries:
                self._accounts.record(entries)
        except Exception as error:
            logger.error("the audit log cannot be written: %s", error)
            message = "Views must be recorded, which is not possible right now; try again"
            raise RequestError(503, "not_recorded", message, headers={"retry-after": "5"}) from error

    def _go_on(self, wanted: Iterable[_Known]) -> bool:
        """Tell whether all of this is part of visits that go on; then they do."""
        found = list(wanted)
        if not all(map(self._is_open, found)):
            return False
        with self._lock:
            self._remember(found)
        return True

    def _is_open(self, known: _Known) -> bool:
        last = self._visits.get(known)
        return last is not None and self._clock() - last < VISIT_SECONDS

    def _remember(self, visits: Iterable[_Known]) -> None:
        now = self._clock()
        for known in visits:
            self._visits[known] = now
            self._visits.move_to_end(known)
        while len(self._visits) > _MOST:
            self._visits.popitem(last=False)

    def _count_opened(self, id: str) -> None:
        try:
            if self._accounts is not None:
                self._accounts.note_opened(id)
        except Exception:  # it is recorded; only the count is not right
            logger.exception("an opened link could not be counted")


GivenAudit = NamedDependency[SkipValidation[Auditor]]
"""Parameter `audit`: what keeps what people do."""


class Visit(Struct, frozen=True):
    """Somebody who asks to be shown something."""

    caller: Caller
    audit: Auditor
    client: str = ""

    def note(self, looks: Iterable[Look], action: Action = Action.LOOKED) -> None:
        """Record that sessions are about to be shown; raises `RequestError` if that cannot be done."""
        self.audit.note_looks(self.caller, looks, action, self.client if self.caller.link else "")


GivenVisit = NamedDependency[SkipValidation[Visit]]
"""Parameter `visit`: who asks, for what has to be recorded."""


def build_visit(request: Request[Any, Any, Any], caller: GivenCaller, audit: GivenAudit) -> Visit:
    """Return who asks."""
    return Visit(caller, audit, request.client.host if request.client else "")

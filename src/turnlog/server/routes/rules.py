"""`/api/rules`: who sees the sessions of projects where nobody said."""

from __future__ import annotations

import time

from litestar import get, post, put
from litestar.params import JSONBody, RawBody

from turnlog.server.auditing import GivenAudit
from turnlog.server.bodies import decode_body
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.security.callers import GivenCaller
from turnlog.server.security.policies import ADMINS
from turnlog.server.shapes.rules import RuleChange, RuleItem, RuleWeight
from turnlog.store.accounts.interface import Action, AuditEntry


@get("/api/rules", sync_to_thread=True)
def list_rules(store: GivenStore, visible: GivenScope) -> list[RuleItem]:
    """List the rules for projects, by pattern."""
    return [RuleItem(pattern=rule.pattern, visibility=rule.visibility) for rule in store.list_rules(visible)]


@put("/api/rules", opt=ADMINS, sync_to_thread=True)
def set_rule(
    data: JSONBody[RuleChange],
    body: RawBody,
    store: GivenStore,
    visible: GivenScope,
    caller: GivenCaller,
    audit: GivenAudit,
) -> RuleWeight:
    """Set or remove a rule, and return for how many sessions this changes who sees them."""
    wanted = decode_body(body, RuleChange)
    sessions = store.set_rule(visible, wanted.pattern, wanted.visibility)
    said = "removed" if wanted.visibility is None else str(wanted.visibility)
    audit.record(
        [
            AuditEntry(
                at_ns=time.time_ns(),
                who=caller.name,
                action=Action.RULE_CHANGED,
                detail=f"{wanted.pattern}: {said}",
            )
        ]
    )
    return RuleWeight(sessions=sessions)


@post("/api/rules/weigh", opt=ADMINS, status_code=200, sync_to_thread=True)
def weigh_rule(data: JSONBody[RuleChange], body: RawBody, store: GivenStore, visible: GivenScope) -> RuleWeight:
    """Return what setting a rule would change, without setting it."""
    wanted = decode_body(body, RuleChange)
    return RuleWeight(sessions=store.set_rule(visible, wanted.pattern, wanted.visibility, dry_run=True))


HANDLERS = (list_rules, set_rule, weigh_rule)

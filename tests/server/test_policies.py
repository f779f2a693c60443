"""Who may use which route: all of them, for everybody who may come."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from team_server import Team, serving_team
from turnlog.server.errors import RequestError
from turnlog.server.security.callers import OPERATOR as OPERATOR_CALLER
from turnlog.server.security.callers import Caller, CallerKind, check_policy
from turnlog.store.account_model import Link, TokenKind, User, UserRole

OPERATOR = frozenset({"operator"})
ADMINS = OPERATOR | {"admin"}
WRITERS = ADMINS | {"member"}
PERSONS = WRITERS | {"viewer"}
PUSHERS = WRITERS | {"machine"}
LINKED = PERSONS | {"link"}
EVERYBODY = LINKED | {"machine", "nobody"}

ROUTES = {
    "POST /api/access": WRITERS,
    "GET /api/archive": PERSONS,
    "DELETE /api/archive/tombstones/{session_id:str}": WRITERS,
    "GET /api/archive/verify": ADMINS,
    "POST /api/archive/verify": ADMINS,
    "GET /api/audit": PERSONS,
    "GET /api/export": PERSONS,
    "GET /api/export/preview": PERSONS,
    "GET /api/health": EVERYBODY,
    "POST /api/hooks": PUSHERS,
    "POST /api/ingest": PUSHERS,
    "POST /api/ingest/hooks": PUSHERS,
    "GET /api/ingest/state": PUSHERS,
    "POST /api/keys": OPERATOR,
    "GET /api/links": PERSONS,
    "POST /api/links": WRITERS,
    "POST /api/links/preview": WRITERS,
    "DELETE /api/links/{id:str}": WRITERS,
    "GET /api/live": LINKED,
    "GET /api/login": EVERYBODY,
    "POST /api/login": EVERYBODY,
    "GET /api/login/callback": EVERYBODY,
    "GET /api/login/oidc": EVERYBODY,
    "POST /api/logout": PERSONS,
    "GET /api/machines": PERSONS,
    "PUT /api/machines/{origin:str}": ADMINS,
    "GET /api/me": LINKED,
    "GET /api/mission-control": PERSONS,
    "GET /api/notifications": ADMINS,
    "POST /api/notifications/test": OPERATOR,
    "GET /api/projects": PERSONS,
    "GET /api/ready": EVERYBODY,
    "GET /api/rules": PERSONS,
    "PUT /api/rules": ADMINS,
    "POST /api/rules/preview": ADMINS,
    "GET /api/schema": PERSONS,
    "GET /api/schema/openapi.json": PERSONS,
    "GET /api/schema/{path:str}": PERSONS,
    "GET /api/search": PERSONS,
    "GET /api/sessions": PERSONS,
    "GET /api/sessions/facets": PERSONS,
    "DELETE /api/sessions/{id:str}": WRITERS,
    "GET /api/sessions/{id:str}": LINKED,
    "GET /api/sessions/{id:str}/access": PERSONS,
    "PUT /api/sessions/{id:str}/access": WRITERS,
    "GET /api/sessions/{id:str}/actions": LINKED,
    "GET /api/sessions/{id:str}/agents": LINKED,
    "GET /api/sessions/{id:str}/calls": LINKED,
    "GET /api/sessions/{id:str}/captures": PERSONS,
    "GET /api/sessions/{id:str}/captures/{source:str}": PERSONS,
    "POST /api/sessions/{id:str}/forget": WRITERS,
    "GET /api/sessions/{id:str}/hook-events": PERSONS,
    "GET /api/sessions/{id:str}/images/{source:str}/{generation:int}/{offset:int}/{number:int}": PERSONS,
    "PATCH /api/sessions/{id:str}/marks": WRITERS,
    "GET /api/sessions/{id:str}/messages": LINKED,
    "GET /api/sessions/{id:str}/messages/{index:int}/raw": PERSONS,
    "GET /api/sessions/{id:str}/problems": PERSONS,
    "POST /api/sessions/{id:str}/restore": OPERATOR,
    "GET /api/sessions/{id:str}/sidechains": LINKED,
    "GET /api/sessions/{id:str}/sidechains/{message_uuid:str}": LINKED,
    "GET /api/sessions/{id:str}/timeline": LINKED,
    "GET /api/sessions/{id:str}/tool-results/{source:str}": PERSONS,
    "GET /api/sessions/{id:str}/tree": LINKED,
    "GET /api/sessions/{id:str}/turns": LINKED,
    "GET /api/sessions/{id:str}/deletion-preview": PERSONS,
    "GET /api/status": PERSONS,
    "GET /api/tokens": PERSONS,
    "POST /api/tokens": WRITERS,
    "DELETE /api/tokens/{id:str}": PERSONS,
    "GET /api/usage": PERSONS,
    "GET /api/users": PERSONS,
    "POST /api/users": ADMINS,
    "PATCH /api/users/{name:str}": PERSONS,
    "POST /api/users/{name:str}/disable": ADMINS,
    "POST /api/users/{name:str}/enable": ADMINS,
    "GET /metrics": ADMINS,
    "GET /open": EVERYBODY,
}
"""What everybody agreed on: a new route belongs here, with a reason to let anybody in."""


def user(role: UserRole) -> User:
    return User(name=role.value, role=role, created_ns=0)


CALLERS = {
    "operator": OPERATOR_CALLER,
    **{role.value: Caller(kind=CallerKind.PERSON, user=user(role)) for role in UserRole},
    "machine": Caller(kind=CallerKind.MACHINE, user=user(UserRole.MEMBER)),
    "link": Caller(
        kind=CallerKind.LINK,
        link=Link(id="l", session="s", title="", created_by=None, created_ns=0, expires_ns=1),
    ),
}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with serving_team(tmp_path_factory.mktemp("home")) as running:
        yield running


def list_routes(team: Team) -> Iterator[tuple[str, str, dict[str, object]]]:
    for route in team.served.app.api.routes:
        for handler in getattr(route, "route_handlers", ()):
            for method in handler.http_methods:
                if method != "OPTIONS":
                    yield method, route.path, handler.opt


def may_use(caller: Caller, opt: dict[str, object], method: str) -> bool:
    try:
        check_policy(caller, opt, method)
    except RequestError as refusal:
        return refusal.status != (404 if caller.kind is CallerKind.LINK else 403)
    return True


def test_each_route_is_for_whom_it_is_meant(team: Team) -> None:
    found = {}
    for method, path, opt in list_routes(team):
        let_in = {name for name, caller in CALLERS.items() if may_use(caller, opt, method)}
        found[f"{method} {path}"] = EVERYBODY if opt.get("public") else frozenset(let_in)
    assert found == ROUTES


def test_what_changes_something_is_never_for_strangers_nor_by_cookie_for_machines(team: Team) -> None:
    for method, path, opt in list_routes(team):
        if method != "GET":
            assert not may_use(CALLERS["link"], opt, method), path
        if opt.get("machines"):
            assert opt.get("token_only"), path


def test_machines_and_strangers_need_to_be_named() -> None:
    assert [name for name, caller in CALLERS.items() if may_use(caller, {}, "GET")] == [
        "operator",
        "admin",
        "member",
        "viewer",
    ]


def test_a_machine_of_somebody_who_has_no_sessions_pushes_nothing() -> None:
    viewer = Caller(kind=CallerKind.MACHINE, user=user(UserRole.VIEWER))
    assert not may_use(viewer, {"machines": True}, "POST")


def test_a_machine_s_token_opens_nothing_but_what_it_is_for(team: Team) -> None:
    team.add("ada")
    [_, secret] = team.accounts.create_token("ada", TokenKind.MACHINE, "laptop")
    for name, allowed in ROUTES.items():
        if allowed is EVERYBODY or "openapi" in name:
            continue
        method, _, path = name.partition(" ")
        answer = team.ask(secret, method, re.sub(r"\{\w+:int\}", "1", re.sub(r"\{\w+:str\}", "xxxx", path)))
        if "machine" in allowed:
            assert answer.status not in (401, 403, 404), name
        else:
            assert (answer.status, answer.code) == (403, "forbidden"), name


def test_the_role_counts_that_somebody_has_now(team: Team) -> None:
    token = team.add("cleo", UserRole.ADMIN)
    assert team.ask(token, "GET", "/metrics").status == 200
    team.accounts.change_user("cleo", role=UserRole.MEMBER)
    assert team.ask(token, "GET", "/metrics").status == 403

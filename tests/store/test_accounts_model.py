"""Accounts against a simple model: whatever is done in whichever order, the same people are let in."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from contracts.accounts import Clock
from turnlog.errors import AccountError
from turnlog.store.account_model import TokenKind, UserRole
from turnlog.store.accounts import open_accounts

NAMES = st.sampled_from(["ada", "ben", "cleo"])
ROLES = st.sampled_from([*UserRole])
KINDS = st.sampled_from([*TokenKind])
ORIGINS = st.sampled_from([None, "one", "two"])


class Pass:
    """What lets somebody in, as the model knows it."""

    def __init__(self, secret: str, name: str, kind: TokenKind | None, id: str, ends: int) -> None:
        self.secret, self.name, self.kind, self.id, self.ends = secret, name, kind, id, ends
        self.is_over = False
        self.origin: str | None = None


class AccountsModel(RuleBasedStateMachine):
    """Two servers take turns; the model is a few dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="turnlog-accounts-"))
        self.clock = Clock()
        place = self.folder / "turnlog.db"
        self.servers = [open_accounts(place, clock=self.clock) for _ in range(2)]
        self.roles: dict[str, UserRole] = {}
        self.disabled: set[str] = set()
        self.passes: list[Pass] = []

    def teardown(self) -> None:
        for server in self.servers:
            server.close()
        shutil.rmtree(self.folder)

    @initialize()
    def begin(self) -> None:
        self.add("ada", UserRole.ADMIN)

    def is_last_admin(self, name: str) -> bool:
        admins = {each for each, role in self.roles.items() if role is UserRole.ADMIN} - self.disabled
        return admins == {name}

    def attempt(self, is_allowed: bool, method: str, *given: object, **named: object) -> object:
        """Do something at one server, which is refused if the model says so."""
        self.servers.reverse()
        try:
            answer: object = getattr(self.servers[0], method)(*given, **named)
        except AccountError:
            assert not is_allowed, (method, given, named)
            return None
        assert is_allowed, (method, given, named)
        return answer

    @rule(name=NAMES, role=ROLES)
    def add(self, name: str, role: UserRole) -> None:
        if self.attempt(name not in self.roles, "add_user", name, role):
            self.roles[name] = role

    @rule(name=NAMES, role=ROLES)
    def change(self, name: str, role: UserRole) -> None:
        is_allowed = name in self.roles and (role is UserRole.ADMIN or not self.is_last_admin(name))
        if self.attempt(is_allowed, "change_user", name, role=role):
            self.roles[name] = role

    @rule(name=NAMES)
    def disable(self, name: str) -> None:
        is_allowed = name in self.roles and (name in self.disabled or not self.is_last_admin(name))
        if self.attempt(is_allowed, "disable_user", name):
            self.disabled.add(name)
            for each in self.passes:
                each.is_over |= each.name == name

    @rule(name=NAMES)
    def enable(self, name: str) -> None:
        if self.attempt(name in self.roles, "enable_user", name):
            self.disabled.discard(name)

    @rule(name=NAMES, kind=KINDS, seconds=st.integers(1, 5))
    def give(self, name: str, kind: TokenKind, seconds: int) -> None:
        may_come = name in self.roles and name not in self.disabled
        is_allowed = may_come and not (kind is TokenKind.MACHINE and self.roles[name] is UserRole.VIEWER)
        ends = self.clock.now + seconds * 10**9
        made: Any = self.attempt(is_allowed, "create_token", name, kind, "", expires_ns=ends)
        if made is not None:
            token, secret = made
            self.passes.append(Pass(secret, name, kind, token.id, ends))

    @rule(name=NAMES, seconds=st.integers(1, 5))
    def log_in(self, name: str, seconds: int) -> None:
        is_allowed = name in self.roles and name not in self.disabled
        if secret := self.attempt(is_allowed, "open_session", name, float(seconds)):
            self.passes.append(Pass(str(secret), name, None, "", self.clock.now + seconds * 10**9))

    @precondition(lambda self: self.passes)
    @rule(at=st.integers(0, 1000))
    def end(self, at: int) -> None:
        chosen = self.passes[at % len(self.passes)]
        if chosen.kind is None:
            self.servers[at % 2].end_session(chosen.secret)
        else:
            self.servers[at % 2].revoke_token(chosen.id)
        chosen.is_over = True

    @precondition(lambda self: self.passes)
    @rule(at=st.integers(0, 1000), origin=ORIGINS)
    def use(self, at: int, origin: str | None) -> None:
        chosen = self.passes[at % len(self.passes)]
        if chosen.kind is not None:
            found = self.servers[at % 2].find_by_token(chosen.secret, origin=origin)
            is_bound = chosen.kind is TokenKind.MACHINE and origin is not None
            if is_bound and self.is_good(chosen):
                chosen.origin = chosen.origin or origin
            is_other = is_bound and chosen.origin != origin
            assert (found is not None) == (self.is_good(chosen) and not is_other)

    @rule(seconds=st.integers(1, 3))
    def wait(self, seconds: int) -> None:
        self.clock.now += seconds * 10**9

    def is_good(self, each: Pass) -> bool:
        is_useless = each.kind is TokenKind.MACHINE and self.roles[each.name] is UserRole.VIEWER
        return not each.is_over and each.ends > self.clock.now and not is_useless

    @invariant()
    def the_same_people_are_let_in(self) -> None:
        for each in self.passes:
            for server in self.servers:
                found = (
                    server.find_by_session(each.secret)
                    if each.kind is None
                    else server.find_by_token(each.secret)
                )
                assert (found is not None) == self.is_good(each)

    @invariant()
    def the_same_users_are_there(self) -> None:
        for server in self.servers:
            found = {user.name: (user.role, user.disabled_ns is not None) for user in server.list_users()}
            assert found == {name: (role, name in self.disabled) for name, role in self.roles.items()}


AccountsModel.TestCase.settings = settings(max_examples=15, stateful_step_count=25)
TestAccounts = AccountsModel.TestCase

"""Providers of logins: who somebody is there, and who that is here.

A provider's word counts for two things: that somebody is the same as last time (its name for them), and, the
first time, that an e-mail address is theirs. Everything else it says is decoration. What talks to a provider is
loaded when one is configured (`oidc`): it needs packages that others do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Protocol

from msgspec import Struct

from turnlog.config import OidcSettings
from turnlog.errors import AccountError, ConfigError
from turnlog.store.account_model import Action, AuditEntry, Identity, PendingLogin, User
from turnlog.store.accounts import Accounts

_MOST_NAMES = 100
_UNFIT = re.compile(r"[^a-z0-9._-]+")


class RefusedLoginError(Exception):
    """A login that came to nothing; `code` is for the page, and the text for the server's log."""

    def __init__(self, code: str, reason: str) -> None:
        self.code = code
        super().__init__(reason)


class ConfirmedIdentity(Struct, frozen=True, gc=False, kw_only=True):
    """An identity that a provider has confirmed."""

    identity: Identity
    email: str = ""
    is_verified: bool = False
    """Whether the provider knows that the address is theirs."""
    full_name: str = ""


class Provider(Protocol):
    """A login provider."""

    async def begin(self, login: PendingLogin, redirect_uri: str) -> str:
        """Return the address to which a browser is sent; raises `RefusedLoginError`."""

    async def finish(
        self, login: PendingLogin, code: str, issuer: str | None, redirect_uri: str
    ) -> ConfirmedIdentity:
        """Return who came back with a code; raises `RefusedLoginError`."""


def load_provider(settings: OidcSettings | None, secret: str | None) -> Provider | None:
    """Return the provider that the settings name, if any; raises `ConfigError`."""
    if settings is None:
        return None
    try:
        module = import_module("turnlog.server.security.oidc")
    except ModuleNotFoundError as error:
        missing = f"[oidc] needs {error.name}, which is not installed: pip install 'turnlog[oidc]'"
        raise ConfigError(missing, "config.toml") from error
    provider: Provider = module.OidcProvider(settings, secret)
    return provider


def identify_user(
    accounts: Accounts, confirmed: ConfirmedIdentity, settings: OidcSettings, at_ns: int
) -> tuple[User, list[AuditEntry]]:
    """Return the user for a confirmed identity, and what to record; raises `RefusedLoginError`.

    Returning people are recognised by the provider's id for them; new ones by a verified e-mail address.
    """
    user, entries = accounts.find_identified(confirmed.identity), list[AuditEntry]()
    is_theirs = bool(confirmed.email) and confirmed.is_verified
    if not is_theirs and (user is None or settings.domains):
        raise RefusedLoginError("unverified", "the provider does not say that the address is verified")
    domain = confirmed.email.rpartition("@")[2].lower()
    if settings.domains and domain not in {each.lower().lstrip("@") for each in settings.domains}:
        raise RefusedLoginError("domain", f"addresses at {domain} are not allowed")
    if user is None:
        user = accounts.find_by_email(confirmed.email)
        if user is None:
            user = _add(accounts, confirmed, settings)
            entries.append(_build_entry(at_ns, user, Action.USER_ADDED, f"as {user.role}, at the first login"))
        _bind(accounts, user, confirmed.identity)
    if user.disabled_ns is not None:
        raise RefusedLoginError("disabled", f"{user.name} is disabled")
    return user, [*entries, _build_entry(at_ns, user, Action.LOGGED_IN, "at the provider")]


def _bind(accounts: Accounts, user: User, identity: Identity) -> None:
    if user.disabled_ns is not None:
        return
    try:
        accounts.bind_identity(user.name, identity)
    except AccountError as error:  # who had this address before is somebody else at the provider
        raise RefusedLoginError("unknown", str(error)) from error


def _add(accounts: Accounts, confirmed: ConfirmedIdentity, settings: OidcSettings) -> User:
    if not settings.create_users:
        raise RefusedLoginError("unknown", "nobody here has the address")
    for name in _list_names(confirmed.email):
        if accounts.find_user(name) is None:
            try:
                return accounts.add_user(
                    name, settings.role, full_name=confirmed.full_name, email=confirmed.email
                )
            except AccountError as error:
                raise RefusedLoginError("unknown", str(error)) from error
    raise RefusedLoginError("unknown", "all suitable names are taken")


def _list_names(email: str) -> Iterator[str]:
    """Yield what somebody with an address may be called."""
    name = _UNFIT.sub("-", email.partition("@")[0].lower()).strip("-._")[:50]
    name = name if name[:1].isalpha() else f"user-{name}".rstrip("-")
    yield name
    yield from (f"{name}-{number}" for number in range(2, _MOST_NAMES))


def _build_entry(at_ns: int, user: User, action: Action, detail: str) -> AuditEntry:
    return AuditEntry(at_ns=at_ns, who=user.name, action=action, person=user.name, detail=detail)

"""What is kept of people: their accounts, what lets them in, the links they made, and what they did.

Secrets are given out once, when they are made; only their digests are kept. Names of users are never given to
anybody else: a user who leaves is disabled, and their name stays theirs.
"""

from __future__ import annotations

import os
import re
from base64 import urlsafe_b64encode
from enum import StrEnum
from hashlib import sha256

from msgspec import Struct

from turnlog.errors import AccountError

_NAME = re.compile(r"[a-z][a-z0-9._-]{0,63}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_LONGEST_EMAIL = 254
_LONGEST_LABEL = 200
_SHOWN = 80
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def is_name(text: str) -> bool:
    """Tell whether a text can be a user's name."""
    return _NAME.fullmatch(text) is not None


def check_name(name: str) -> str:
    """Return a user's name; raises `AccountError` for what is none."""
    if not is_name(name):
        raise AccountError(
            "Expected a name of 1 to 64 lower-case letters, digits, '.', '_' and '-' that begins with a "
            f"letter, got {_show(name)}"
        )
    return name


def check_email(email: str) -> str:
    """Return an address, which may be empty; raises `AccountError` for what is none."""
    email = email.strip()
    if email and not (len(email) <= _LONGEST_EMAIL and email.isprintable() and _EMAIL.fullmatch(email)):
        raise AccountError(f"Expected an e-mail address such as ada@example.org, got {_show(email)}")
    return email


def fold_email(email: str) -> str | None:
    """Return what an address is known by; None for no address.

    Case counts for letters other than A to Z: some of them become an ordinary letter when their case is
    changed, so that whoever has an address with such a letter would be let in as somebody else.
    """
    return email.strip().translate(_LOWER) or None


def check_label(text: str, what: str) -> str:
    """Return a text that people give, without what surrounds it; raises `AccountError` if it is too long."""
    text = text.strip()
    if len(text) > _LONGEST_LABEL:
        raise AccountError(f"Expected {what} of up to {_LONGEST_LABEL} characters, got {len(text):,}")
    return text


def _show(text: str) -> str:
    shown = ascii(text) if not text.isprintable() else f"'{text}'"
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


PERSONAL = "tlp_"
MACHINE = "tlm_"
LINK = "tls_"
COOKIE = "tlc_"
_BYTES = 32
_FORM = re.compile(r"(tl[pmsc]_)[A-Za-z0-9_-]{43}")
_ID_BYTES = 6


def make_secret(prefix: str) -> str:
    """Return a new secret."""
    # As `secrets` does it, which loads much more than that.
    return prefix + urlsafe_b64encode(os.urandom(_BYTES)).rstrip(b"=").decode()


def digest_secret(secret: str) -> str:
    """Return what is kept of a secret; of any other text, too."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def has_form(secret: str, *prefixes: str) -> bool:
    """Tell whether a text looks like a secret with one of some prefixes."""
    found = _FORM.fullmatch(secret)
    return found is not None and found[1] in prefixes


def make_id() -> str:
    """Return a new name for a token or a link, by which it can be spoken of."""
    return os.urandom(_ID_BYTES).hex()


class UserRole(StrEnum):
    """What a user may do."""

    ADMIN = "admin"
    """Sees everything (which is recorded), and looks after people, rules and the archive."""
    MEMBER = "member"
    """Has sessions, and sees what is shared."""
    VIEWER = "viewer"
    """Sees what is shared, and changes nothing."""


class User(Struct, frozen=True, gc=False, kw_only=True):
    """An account."""

    name: str
    """Small letters, digits, `.`, `_` and `-`, beginning with a letter; it never changes."""
    role: UserRole
    full_name: str = ""
    email: str = ""
    """By which a login at a provider is known as this user's the first time."""
    created_ns: int
    disabled_ns: int | None = None
    """Since when nothing lets them in any more; None if they may come in."""
    seen_ns: int | None = None
    """When they were last let in by anything."""


class Identity(Struct, frozen=True, gc=False):
    """Who somebody is at a provider of logins."""

    issuer: str
    subject: str


class TokenKind(StrEnum):
    """What a token is for."""

    PERSONAL = "personal"
    """Lets its user in, as themselves."""
    MACHINE = "machine"
    """Lets one machine push its user's sessions, and nothing else."""


class Token(Struct, frozen=True, gc=False, kw_only=True):
    """What lets somebody in; not the secret itself."""

    id: str
    kind: TokenKind
    user: str
    label: str
    created_ns: int
    expires_ns: int | None = None
    used_ns: int | None = None
    """When it was last used, to the minute or so."""
    revoked_ns: int | None = None
    origin: str | None = None
    """The machine that a machine's token was first used by, and is good for alone."""


class Link(Struct, frozen=True, gc=False, kw_only=True):
    """A session shown to whoever has the address, as it is when they look; not the secret itself."""

    id: str
    session: str
    """The session's key."""
    title: str
    """What the session was called when the link was made."""
    created_by: str | None
    """None if it was made with the server's own token."""
    created_ns: int
    expires_ns: int
    revoked_ns: int | None = None
    words: tuple[str, ...] = ()
    """What it never shows, besides secrets."""
    opened: int = 0
    """How often it was opened."""
    opened_ns: int | None = None


class Action(StrEnum):
    """What is recorded."""

    VIEWED = "viewed"
    """Somebody viewed somebody else's session."""
    SEARCHED = "searched"
    """A search showed passages of somebody else's session."""
    EXPORTED = "exported"
    """Somebody else's session was exported."""
    LINK_CREATED = "link-created"
    LINK_REVOKED = "link-revoked"
    LINK_OPENED = "link-opened"
    VISIBILITY_CHANGED = "visibility-changed"
    RULE_CHANGED = "rule-changed"
    FORGOTTEN = "forgotten"
    """A session was deleted for good."""
    LOGGED_IN = "logged-in"
    LOGGED_OUT = "logged-out"
    USER_ADDED = "user-added"
    USER_CHANGED = "user-changed"
    USER_DISABLED = "user-disabled"
    USER_ENABLED = "user-enabled"
    TOKEN_CREATED = "token-created"
    TOKEN_REVOKED = "token-revoked"
    MACHINE_ASSIGNED = "machine-assigned"

    @property
    def stored(self) -> str:
        """What databases call it: two had other names, which older versions on the same archive still use."""
        return {"viewed": "looked", "searched": "found"}.get(self.value, self.value)

    @classmethod
    def _missing_(cls, value: object) -> Action | None:
        return next((each for each in cls if each.stored == value), None)


class AuditEntry(Struct, frozen=True, gc=False, kw_only=True):
    """Something that somebody did; entries are added and never changed."""

    id: int = 0
    """Given when it is kept; later ones are larger."""
    at_ns: int
    who: str | None
    """A user's name; None for the server's own token, and for strangers with a link."""
    action: Action
    link: str | None = None
    """The link's id, if that let them in or is what it is about."""
    session: str | None = None
    """A session's key."""
    person: str | None = None
    """Whose session it is, or whom it is about."""
    detail: str = ""
    """For people to read; never a secret, and nothing that was said in a session."""


class AuditFilter(Struct, frozen=True, gc=False, kw_only=True):
    """Which entries are listed: those that all of it is true for. None says nothing."""

    who: str | None = None
    person: str | None = None
    session: str | None = None
    actions: tuple[Action, ...] = ()
    since_ns: int | None = None
    until_ns: int | None = None
    about: str | None = None
    """Either `who` or `person` is this user: all that they may see themselves."""


EVERYTHING = AuditFilter()


class PendingLogin(Struct, frozen=True, gc=False, kw_only=True):
    """A login that a provider has yet to confirm."""

    state: str
    nonce: str
    verifier: str
    """Of PKCE."""
    next: str
    """Where the browser goes afterwards: a path of ours."""
    expires_ns: int


class CarriedAccounts(Struct, frozen=True, gc=False, kw_only=True):
    """What became of accounts when a backup was restored."""

    users: int
    """How many there are now."""
    newer: int = 0
    """Users, tokens and links that were made or changed after the backup, and stay so."""

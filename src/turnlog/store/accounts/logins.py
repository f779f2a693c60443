"""Browsers that are logged in, and logins that a provider has yet to confirm."""

from __future__ import annotations

from turnlog.store.accounts.credentials import COOKIE, digest_secret, has_form, make_secret
from turnlog.store.accounts.interface import PendingLogin, User
from turnlog.store.accounts.keeping import Keeping, check_instant, require_user, take_turn
from turnlog.store.accounts.users import USER_COLUMNS, build_user
from turnlog.store.catalogue.database import Execute, Row, pack_text, unpack_text

__all__ = ["Logins"]

_MINUTE_NS = 60 * 10**9
_MOST_PENDING = 10_000
"""How many logins are kept: anybody can begin one."""


class Logins(Keeping):
    """The part of accounts that is about logging in."""

    def open_session(self, user: str, seconds: float, *, token: str | None = None) -> str:
        """Return a new secret for a browser's cookie, which ends with the token that let it in."""
        secret, now = make_secret(COOKIE), self._clock()
        expires_ns = check_instant(now + int(seconds * 10**9))

        def work(execute: Execute) -> None:
            take_turn(execute, ends=False)
            require_user(execute, user)
            execute("DELETE FROM cookies WHERE expires_ns <= ?", (now,))
            values = (digest_secret(secret), user, now, expires_ns, token)
            execute("INSERT INTO cookies VALUES (?, ?, ?, ?, ?)", values)

        self._write(work)
        return secret

    def find_by_session(self, secret: str) -> User | None:
        """Return whom a cookie lets in."""
        if not has_form(secret, COOKIE):
            return None
        now = self._clock()
        query = (
            f"SELECT {USER_COLUMNS} FROM cookies AS c JOIN users AS u ON u.name = c.name "
            "WHERE c.digest = ? AND c.expires_ns > ? AND u.disabled_ns IS NULL"
        )
        rows = self._read(lambda execute: execute(query, (digest_secret(secret), now)))
        if not rows:
            return None
        user = build_user(rows[0])
        if user.seen_ns is None or abs(now - user.seen_ns) >= _MINUTE_NS:
            self._try_write(
                lambda execute: execute("UPDATE users SET seen_ns = ? WHERE name = ?", (now, user.name))
            )
        return user

    def end_session(self, secret: str) -> None:
        """Make a cookie worthless from now on."""

        def work(execute: Execute) -> None:
            take_turn(execute, ends=True)
            execute("DELETE FROM cookies WHERE digest = ?", (digest_secret(secret),))

        self._write(work, is_repeatable=True)
        self._forget_moment()

    def keep_login(self, login: PendingLogin) -> None:
        """Keep a login until it is confirmed."""
        expires_ns = check_instant(login.expires_ns)
        texts = (login.state, login.nonce, login.verifier, login.next)

        def work(execute: Execute) -> None:
            execute("DELETE FROM logins WHERE expires_ns <= ?", (self._clock(),))
            execute(
                "DELETE FROM logins WHERE digest IN "
                "(SELECT digest FROM logins ORDER BY expires_ns DESC LIMIT ? OFFSET ?)",
                (_MOST_PENDING, _MOST_PENDING - 1),
            )
            execute(
                "INSERT INTO logins VALUES (?, ?, ?, ?, ?, ?)",
                (digest_secret(login.state), *map(pack_text, texts), expires_ns),
            )

        self._write(work)

    def take_login(self, state: str) -> PendingLogin | None:
        """Return a login that is to be confirmed, once."""
        query = "DELETE FROM logins WHERE digest = ? RETURNING state, nonce, verifier, next, expires_ns"
        rows = self._write(lambda execute: execute(query, (digest_secret(state),)))
        return _build(rows[0]) if rows and rows[0][-1] > self._clock() else None


def _build(row: Row) -> PendingLogin:
    state, nonce, verifier, next_, expires_ns = row
    return PendingLogin(
        state=unpack_text(state),
        nonce=unpack_text(nonce),
        verifier=unpack_text(verifier),
        next=unpack_text(next_),
        expires_ns=expires_ns,
    )

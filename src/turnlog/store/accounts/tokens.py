"""Tokens: what lets people and machines in."""

from __future__ import annotations

from hmac import compare_digest

from turnlog.errors import AccountError
from turnlog.store.accounts.credentials import MACHINE, PERSONAL, digest_secret, has_form, make_id, make_secret
from turnlog.store.accounts.interface import Token, TokenKind, User, UserRole
from turnlog.store.accounts.keeping import Keeping, check_instant, require_user, take_turn
from turnlog.store.accounts.users import USER_COLUMNS, build_user
from turnlog.store.accounts.wording import check_label, is_name
from turnlog.store.catalogue.database import Execute, Row, pack_text, unpack_text

__all__ = ["Tokens"]

_COLUMNS = (
    "t.id, t.kind, t.name, t.label, t.created_ns, t.expires_ns, t.used_ns, t.revoked_ns, t.origin, t.digest"
)
_WIDTH = 10
_PREFIXES = {TokenKind.PERSONAL: PERSONAL, TokenKind.MACHINE: MACHINE}
_MINUTE_NS = 60 * 10**9
_WITH_USER = f"SELECT {_COLUMNS}, {USER_COLUMNS} FROM tokens AS t JOIN users AS u ON u.name = t.name"


class Tokens(Keeping):
    """The part of accounts that is about tokens."""

    def create_token(
        self, user: str, kind: TokenKind, label: str, *, expires_ns: int | None = None
    ) -> tuple[Token, str]:
        """Make a token, and return it with its secret."""
        label = check_label(label, "a label")
        expires_ns = None if expires_ns is None else check_instant(expires_ns)
        secret, id = make_secret(_PREFIXES[kind]), make_id()

        def work(execute: Execute) -> Token:
            take_turn(execute, ends=False)
            require_user(execute, user)
            [(role,)] = execute("SELECT role FROM users WHERE name = ?", (user,))
            if kind is TokenKind.MACHINE and role == UserRole.VIEWER:
                raise AccountError(
                    f"{user} is a viewer and has no sessions, so a machine token would be useless"
                )
            execute(
                "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL)",
                (id, digest_secret(secret), kind.value, user, pack_text(label), self._clock(), expires_ns),
            )
            return _get(execute, id)

        return self._write(work), secret

    def find_by_token(self, secret: str, *, origin: str | None = None) -> tuple[User, Token] | None:
        """Return whom a secret lets in."""
        if not has_form(secret, PERSONAL, MACHINE):
            return None
        digest = digest_secret(secret)
        rows = self._read(lambda execute: execute(f"{_WITH_USER} WHERE t.digest = ?", (digest,)))
        found = self._find_good(rows, digest)
        if found is not None and found[1].kind is TokenKind.MACHINE and origin is not None:
            if found[1].origin is None:
                rows = self._write(lambda execute: _bind(execute, digest, origin), is_repeatable=True)
                found = self._find_good(rows, digest)
            if found is None or found[1].origin != origin:
                return None
        if found is not None:
            self._note_used(*found)
        return found

    def list_tokens(self, user: str | None = None) -> list[Token]:
        """Return tokens, the newest first."""
        where, values = ("", ()) if user is None else (" WHERE t.name = ?", (user,))
        if user is not None and not is_name(user):
            return []
        query = f"SELECT {_COLUMNS} FROM tokens AS t{where} ORDER BY t.created_ns DESC, t.id"
        return [_build(row) for row in self._read(lambda execute: execute(query, values))]

    def revoke_token(self, id: str) -> Token:
        """Make a token worthless from now on, and the cookies that it opened."""

        def work(execute: Execute) -> Token:
            take_turn(execute, ends=True)
            _get(execute, id)
            execute("DELETE FROM cookies WHERE token = ?", (id,))
            execute("UPDATE tokens SET revoked_ns = ? WHERE id = ? AND revoked_ns IS NULL", (self._clock(), id))
            return _get(execute, id)

        token = self._write(work, is_repeatable=True)
        self._forget_moment()
        return token

    def _find_good(self, rows: list[Row], digest: str) -> tuple[User, Token] | None:
        for row in rows:
            token, user = _build(row[:_WIDTH]), build_user(row[_WIDTH:])
            is_over = token.expires_ns is not None and token.expires_ns <= self._clock()
            is_useless = token.kind is TokenKind.MACHINE and user.role is UserRole.VIEWER
            is_same = compare_digest(row[_WIDTH - 1], digest)
            if (
                is_same
                and user.disabled_ns is None
                and token.revoked_ns is None
                and not is_over
                and not is_useless
            ):
                return user, token
        return None

    def _note_used(self, user: User, token: Token) -> None:
        """Remember that a token was used, if that was not done within the last minute: it is asked often."""
        now = self._clock()
        if token.used_ns is not None and abs(now - token.used_ns) < _MINUTE_NS:
            return

        def work(execute: Execute) -> None:
            execute("UPDATE tokens SET used_ns = ? WHERE id = ?", (now, token.id))
            execute("UPDATE users SET seen_ns = ? WHERE name = ?", (now, user.name))

        self._try_write(work)


def _bind(execute: Execute, digest: str, origin: str) -> list[Row]:
    """Bind a token to a machine, unless it is bound, and return it as it is then."""
    execute("UPDATE tokens SET origin = ? WHERE digest = ? AND origin IS NULL", (pack_text(origin), digest))
    return execute(f"{_WITH_USER} WHERE t.digest = ?", (digest,))


def _get(execute: Execute, id: str) -> Token:
    rows = execute(f"SELECT {_COLUMNS} FROM tokens AS t WHERE t.id = ?", (id,)) if id.isalnum() else []
    if not rows:
        raise AccountError(f"There is no token {id if id.isprintable() else ascii(id)}")
    return _build(rows[0])


def _build(row: Row) -> Token:
    id, kind, name, label, created_ns, expires_ns, used_ns, revoked_ns, origin, _ = row
    return Token(
        id=id,
        kind=TokenKind(kind),
        user=name,
        label=unpack_text(label),
        created_ns=created_ns,
        expires_ns=expires_ns,
        used_ns=used_ns,
        revoked_ns=revoked_ns,
        origin=unpack_text(origin),
    )

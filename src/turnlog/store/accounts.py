"""Accounts in a database: users, tokens, cookies, links and the audit, on any engine.

They are in a file beside that of a store, or in a schema of a database on a PostgreSQL server. What ends, such
as a token or a link, stays as a row that says when. Secrets are not kept, only their digests.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from hmac import compare_digest
from importlib import import_module
from pathlib import Path
from typing import TypeVar, cast

from msgspec import Struct, convert

from turnlog.errors import AccountError, StoreError
from turnlog.store.account_model import (
    COOKIE,
    EVERYTHING,
    LINK,
    MACHINE,
    PERSONAL,
    AuditEntry,
    AuditFilter,
    Identity,
    Link,
    PendingLogin,
    Token,
    TokenKind,
    User,
    UserRole,
    check_email,
    check_label,
    check_name,
    digest_secret,
    fold_email,
    has_form,
    is_name,
    make_id,
    make_secret,
)
from turnlog.store.catalogue.database import Connection, Database, Execute, Row, Steps, pack_text, unpack_text
from turnlog.store.catalogue.sqlite import Options, SqliteDatabase, check_pages, open_to_read, translating
from turnlog.store.model import ACCOUNTS_SCHEMA, ServerPlace, StorePlace

_APPLICATION_ID = 0x7475726F
"""What tells a file of accounts from an archive ("turo")."""
ACCOUNT_OPTIONS = Options(cache_kib=1 << 10, application_id=_APPLICATION_ID, lasting=True)
"""How a file of accounts is opened."""
_TABLES = (
    """
CREATE TABLE state (id bigint PRIMARY KEY, version bigint NOT NULL)
""",
    "INSERT INTO state VALUES (1, 0)",
    """
CREATE TABLE users (
    name text PRIMARY KEY, role text NOT NULL, full_name @@bytes NOT NULL, email @@bytes NOT NULL,
    email_key @@bytes UNIQUE, created_ns bigint NOT NULL, disabled_ns bigint, seen_ns bigint
)
""",
    """
CREATE TABLE identities (
    issuer @@bytes NOT NULL, subject @@bytes NOT NULL, name text NOT NULL, PRIMARY KEY (issuer, subject)
)
""",
    """
CREATE TABLE tokens (
    id text PRIMARY KEY, digest text NOT NULL UNIQUE, kind text NOT NULL, name text NOT NULL,
    label @@bytes NOT NULL, created_ns bigint NOT NULL, expires_ns bigint, used_ns bigint, revoked_ns bigint,
    origin @@bytes
)
""",
    "CREATE INDEX tokens_by_name ON tokens (name)",
    """
CREATE TABLE cookies (
    digest text PRIMARY KEY, name text NOT NULL, created_ns bigint NOT NULL, expires_ns bigint NOT NULL,
    token text
)
""",
    "CREATE INDEX cookies_by_name ON cookies (name)",
    "CREATE INDEX cookies_by_token ON cookies (token)",
    """
CREATE TABLE logins (
    digest text PRIMARY KEY, state @@bytes NOT NULL, nonce @@bytes NOT NULL, verifier @@bytes NOT NULL,
    next @@bytes NOT NULL, expires_ns bigint NOT NULL
)
""",
    "CREATE INDEX logins_by_end ON logins (expires_ns)",
    """
CREATE TABLE links (
    id text PRIMARY KEY, digest text NOT NULL UNIQUE, session @@bytes NOT NULL, title @@bytes NOT NULL,
    created_by text, created_ns bigint NOT NULL, expires_ns bigint NOT NULL, revoked_ns bigint,
    words @@bytes NOT NULL, opened bigint NOT NULL, opened_ns bigint
)
""",
    "CREATE INDEX links_by_session ON links (session)",
    "CREATE INDEX links_by_creator ON links (created_by)",
    """
CREATE TABLE audit (
    id @@serial, at_ns bigint NOT NULL, who @@bytes, action text NOT NULL, link @@bytes, session @@bytes,
    person @@bytes, detail @@bytes NOT NULL
)
""",
    "CREATE INDEX audit_by_who ON audit (who, id)",
    "CREATE INDEX audit_by_person ON audit (person, id)",
    "CREATE INDEX audit_by_session ON audit (session, id)",
)
"""With `@@` before a type that engines spell differently."""


def create_tables(connection: Connection) -> None:
    """Make the tables of users, of what lets them in, of links, and of what they did."""
    for statement in _TABLES:
        connection.execute(statement)


ACCOUNT_STEPS = Steps("the accounts", (create_tables,))
"""What leads to the tables of today."""
T = TypeVar("T")
_Record = TypeVar("_Record", bound=Struct)
Clock = Callable[[], int]
"""The time, in nanoseconds since 1970."""
_MOMENT_SECONDS = 0.5
"""For how long it is not asked again whether anything ended, or whether there are users."""
_LAST_INSTANT = 2**63 - 1


class Accounts:
    """The control database. All of it may be used by several threads, and by several servers at once.

    `open_accounts` opens it. What is not known, or no longer good, raises `AccountError`, unless it says None.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._has_users: tuple[bool, float] | None = None
        self._version: tuple[int, float] | None = None

    def has_users(self) -> bool:
        """Tell whether there are any: until then a server is one person's. Cheap: each request asks it."""
        known = self._has_users
        # Users are never removed, so who has some has some for good.
        if known is not None and (known[0] or _is_fresh(known[1])):
            return known[0]
        found = bool(self._ask("SELECT 1 FROM users LIMIT 1"))
        self._has_users = (found, time.monotonic())
        return found

    def find_version(self) -> int:
        """Return a number that grows whenever anybody or anything stops being let in; cheap."""
        known = self._version
        if known is not None and _is_fresh(known[1]):
            return known[0]
        asked = time.monotonic()
        [(version,)] = self._ask("SELECT version FROM state")
        self._version = (int(version), asked)
        return int(version)

    def close(self) -> None:
        """Let go of it."""
        self._database.close()

    def _read(self, work: Callable[[Execute], T]) -> T:
        return self._database.read(lambda connection: work(connection.execute))

    def _ask(self, query: str, values: Sequence[object] = ()) -> list[Row]:
        return self._read(lambda execute: execute(query, values))

    def _write(self, work: Callable[[Execute], T], *, is_repeatable: bool = False) -> T:
        return self._database.write(lambda connection: work(connection.execute), is_repeatable=is_repeatable)

    def _try_write(self, work: Callable[[Execute], object]) -> None:
        self._database.try_write(lambda connection: work(connection.execute))

    def _forget_moment(self) -> None:
        """Ask again: something was just changed."""
        self._has_users = self._version = None

    def add_user(self, name: str, role: UserRole, *, full_name: str = "", email: str = "") -> User:
        """Make an account; raises `AccountError` for a name or an address that is taken or none."""
        check_name(name)
        full_name, email = check_label(full_name, _FULL_NAME), check_email(email)

        def work(execute: Execute) -> User:
            _take_turn(execute, ends=False)
            if _find_user(execute, name) is not None:
                raise AccountError(f"There is already a user {name}")
            if role is not UserRole.ADMIN and not execute("SELECT 1 FROM users LIMIT 1"):
                raise AccountError(
                    f"The first user must be an admin, not a {role.value}: somebody has to add the others"
                )
            _check_free(execute, email, name)
            execute(
                "INSERT INTO users VALUES (?, ?, ?, ?, ?, ?, NULL, NULL)",
                (name, role.value, pack_text(full_name), *_email_cells(email), self._clock()),
            )
            return _get_user(execute, name)

        user = self._write(work)
        self._forget_moment()
        return user

    def change_user(
        self, name: str, *, role: UserRole | None = None, full_name: str | None = None, email: str | None = None
    ) -> User:
        """Change what is given; raises `AccountError` rather than leave no admin who can come in."""
        full_name = None if full_name is None else check_label(full_name, _FULL_NAME)
        email = None if email is None else check_email(email)

        def work(execute: Execute) -> User:
            _take_turn(execute, ends=role is not None)
            _get_user(execute, name)
            if role is not None:
                if role is not UserRole.ADMIN:
                    _check_admins(execute, name)
                execute("UPDATE users SET role = ? WHERE name = ?", (role.value, name))
            if full_name is not None:
                execute("UPDATE users SET full_name = ? WHERE name = ?", (pack_text(full_name), name))
            if email is not None:
                _check_free(execute, email, name)
                execute(
                    "UPDATE users SET email = ?, email_key = ? WHERE name = ?", (*_email_cells(email), name)
                )
            return _get_user(execute, name)

        return self._change(work)

    def disable_user(self, name: str) -> User:
        """Let a user in no longer: tokens and open sessions end at once, and so do their links."""

        def work(execute: Execute) -> User:
            _take_turn(execute, ends=True)
            if _get_user(execute, name).disabled_ns is None:
                _check_admins(execute, name)
                now = self._clock()
                execute("UPDATE users SET disabled_ns = ? WHERE name = ?", (now, name))
                for table, column in (("tokens", "name"), ("links", "created_by")):
                    execute(
                        f"UPDATE {table} SET revoked_ns = ? WHERE {column} = ? AND revoked_ns IS NULL",
                        (now, name),
                    )
                execute("DELETE FROM cookies WHERE name = ?", (name,))
            return _get_user(execute, name)

        return self._change(work)

    def enable_user(self, name: str) -> User:
        """Let a user in again; their tokens and links stay ended."""

        def work(execute: Execute) -> User:
            _take_turn(execute, ends=False)
            _get_user(execute, name)
            execute("UPDATE users SET disabled_ns = NULL WHERE name = ?", (name,))
            return _get_user(execute, name)

        return self._change(work)

    def find_user(self, name: str) -> User | None:
        """Return a user."""
        return self._read(lambda execute: _find_user(execute, name))

    def list_users(self) -> list[User]:
        """Return all users, by name."""
        rows = self._ask(f"SELECT {_USER_COLUMNS} FROM users AS u")
        return sorted([_build(User, row) for row in rows], key=lambda user: user.name)

    def bind_identity(self, name: str, identity: Identity) -> None:
        """Remember who a user is at a provider, for good; raises `AccountError` if either is somebody else."""
        cells = (pack_text(identity.issuer), pack_text(identity.subject))

        def work(execute: Execute) -> None:
            _take_turn(execute, ends=False)
            _get_user(execute, name)
            found = execute("SELECT name FROM identities WHERE issuer = ? AND subject = ?", cells)
            if found and found[0][0] != name:
                raise AccountError("That login belongs to another user")
            if not found:
                # An address may be given to somebody else; who came first stays who they are.
                if execute("SELECT 1 FROM identities WHERE issuer = ? AND name = ?", (cells[0], name)):
                    raise AccountError(f"{name} is somebody else at that provider")
                execute("INSERT INTO identities VALUES (?, ?, ?)", (*cells, name))

        self._write(work, is_repeatable=True)

    def find_identified(self, identity: Identity) -> User | None:
        """Return the user who is known at a provider by this."""
        query = (
            f"SELECT {_USER_COLUMNS} FROM identities AS i JOIN users AS u ON u.name = i.name "
            "WHERE i.issuer = ? AND i.subject = ?"
        )
        cells = (pack_text(identity.issuer), pack_text(identity.subject))
        rows = self._ask(query, cells)
        return _build(User, rows[0]) if rows else None

    def find_by_email(self, email: str) -> User | None:
        """Return the user with an address, whatever the case of its letters."""
        key = pack_text(fold_email(email))
        query = f"SELECT {_USER_COLUMNS} FROM users AS u WHERE u.email_key = ?"
        rows = self._ask(query, (key,))
        return _build(User, rows[0]) if rows else None

    def _change(self, work: Callable[[Execute], User]) -> User:
        user = self._write(work, is_repeatable=True)
        self._forget_moment()
        return user

    def create_token(
        self, user: str, kind: TokenKind, label: str, *, expires_ns: int | None = None
    ) -> tuple[Token, str]:
        """Make a token, and return it with its secret, which nobody can see again."""
        label = check_label(label, "a label")
        expires_ns = None if expires_ns is None else _check_instant(expires_ns)
        secret, id = make_secret(_PREFIXES[kind]), make_id()

        def work(execute: Execute) -> Token:
            _take_turn(execute, ends=False)
            _require_user(execute, user)
            [(role,)] = execute("SELECT role FROM users WHERE name = ?", (user,))
            if kind is TokenKind.MACHINE and role == UserRole.VIEWER:
                raise AccountError(
                    f"{user} is a viewer and has no sessions, so a machine token would be useless"
                )
            execute(
                "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL)",
                (id, digest_secret(secret), kind.value, user, pack_text(label), self._clock(), expires_ns),
            )
            return _get_token(execute, id)

        return self._write(work), secret

    def find_by_token(self, secret: str, *, origin: str | None = None) -> tuple[User, Token] | None:
        """Return whom a secret lets in; None if it is not good (any more), or its user is disabled.

        `origin` binds a machine's token to the first machine that uses it; for any other it is not good.
        """
        if not has_form(secret, PERSONAL, MACHINE):
            return None
        digest = digest_secret(secret)
        rows = self._ask(f"{_WITH_USER} WHERE t.digest = ?", (digest,))
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
        """Return the tokens of one user or of all, the newest first."""
        where, values = ("", ()) if user is None else (" WHERE t.name = ?", (user,))
        if user is not None and not is_name(user):
            return []
        query = f"SELECT {_TOKEN_COLUMNS} FROM tokens AS t{where} ORDER BY t.created_ns DESC, t.id"
        return [_build(Token, row[: _WIDTH - 1]) for row in self._ask(query, values)]

    def revoke_token(self, id: str) -> Token:
        """Make a token worthless from now on."""

        def work(execute: Execute) -> Token:
            _take_turn(execute, ends=True)
            _get_token(execute, id)
            execute("DELETE FROM cookies WHERE token = ?", (id,))
            execute("UPDATE tokens SET revoked_ns = ? WHERE id = ? AND revoked_ns IS NULL", (self._clock(), id))
            return _get_token(execute, id)

        token = self._write(work, is_repeatable=True)
        self._forget_moment()
        return token

    def _find_good(self, rows: list[Row], digest: str) -> tuple[User, Token] | None:
        for row in rows:
            token, user = _build(Token, row[: _WIDTH - 1]), _build(User, row[_WIDTH:])
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

    def open_session(self, user: str, seconds: float, *, token: str | None = None) -> str:
        """Return a new secret for a browser's cookie; if a token let it in, it ends when that is revoked."""
        secret, now = make_secret(COOKIE), self._clock()
        expires_ns = _check_instant(now + int(seconds * 10**9))

        def work(execute: Execute) -> None:
            _take_turn(execute, ends=False)
            _require_user(execute, user)
            execute("DELETE FROM cookies WHERE expires_ns <= ?", (now,))
            values = (digest_secret(secret), user, now, expires_ns, token)
            execute("INSERT INTO cookies VALUES (?, ?, ?, ?, ?)", values)

        self._write(work)
        return secret

    def find_by_session(self, secret: str) -> User | None:
        """Return whom a cookie lets in; None if it is not good (any more), or its user is disabled."""
        if not has_form(secret, COOKIE):
            return None
        now = self._clock()
        query = (
            f"SELECT {_USER_COLUMNS} FROM cookies AS c JOIN users AS u ON u.name = c.name "
            "WHERE c.digest = ? AND c.expires_ns > ? AND u.disabled_ns IS NULL"
        )
        rows = self._ask(query, (digest_secret(secret), now))
        if not rows:
            return None
        user = _build(User, rows[0])
        if user.seen_ns is None or abs(now - user.seen_ns) >= _MINUTE_NS:
            self._try_write(
                lambda execute: execute("UPDATE users SET seen_ns = ? WHERE name = ?", (now, user.name))
            )
        return user

    def end_session(self, secret: str) -> None:
        """Make a cookie worthless from now on."""

        def work(execute: Execute) -> None:
            _take_turn(execute, ends=True)
            execute("DELETE FROM cookies WHERE digest = ?", (digest_secret(secret),))

        self._write(work, is_repeatable=True)
        self._forget_moment()

    def keep_login(self, login: PendingLogin) -> None:
        """Keep a login until it is confirmed."""
        expires_ns = _check_instant(login.expires_ns)
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
        """Return a login that is to be confirmed, once; None if there is none, or it took too long."""
        query = "DELETE FROM logins WHERE digest = ? RETURNING state, nonce, verifier, next, expires_ns"
        rows = self._write(lambda execute: execute(query, (digest_secret(state),)))
        return _build(PendingLogin, rows[0]) if rows and rows[0][-1] > self._clock() else None

    def create_link(
        self,
        session: str,
        *,
        title: str,
        created_by: str | None,
        expires_ns: int,
        words: Sequence[str] = (),
    ) -> tuple[Link, str]:
        """Make a link, and return it with its secret, which nobody can see again."""
        secret, id = make_secret(LINK), make_id()
        expires_ns = _check_instant(expires_ns)
        cells = (id, digest_secret(secret), pack_text(session), pack_text(title[:_LONGEST_TITLE]), created_by)

        def work(execute: Execute) -> Link:
            _take_turn(execute, ends=False)
            if created_by is not None:
                _require_user(execute, created_by)
            execute(
                "INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?, 0, NULL)",
                (*cells, self._clock(), expires_ns, json.dumps(list(words)).encode()),
            )
            return _get_link(execute, id)

        return self._write(work), secret

    def find_link(self, secret: str) -> Link | None:
        """Return the link of a secret; None if it is not good (any more), or who made it is disabled."""
        if not has_form(secret, LINK):
            return None
        query = (
            f"SELECT {_LINK_COLUMNS} FROM links AS l LEFT JOIN users AS u ON u.name = l.created_by "
            "WHERE l.digest = ? AND l.revoked_ns IS NULL AND l.expires_ns > ? AND u.disabled_ns IS NULL"
        )
        values = (digest_secret(secret), self._clock())
        rows = self._ask(query, values)
        return _build_link(rows[0]) if rows else None

    def note_opened(self, id: str) -> None:
        """Count that a link was opened."""

        def work(execute: Execute) -> None:
            _get_link(execute, id)
            execute("UPDATE links SET opened = opened + 1, opened_ns = ? WHERE id = ?", (self._clock(), id))

        self._write(work)

    def list_links(self, *, created_by: str | None = None, session: str | None = None) -> list[Link]:
        """Return the links that somebody made, or of a session, or all, the newest first; ended ones, too."""
        if created_by is not None and not is_name(created_by):
            return []
        conditions = {"l.created_by = ?": created_by, "l.session = ?": pack_text(session)}
        given = {condition: value for condition, value in conditions.items() if value is not None}
        where = f" WHERE {' AND '.join(given)}" if given else ""
        query = f"SELECT {_LINK_COLUMNS} FROM links AS l{where} ORDER BY l.created_ns DESC, l.id"
        rows = self._ask(query, tuple(given.values()))
        return [_build_link(row) for row in rows]

    def revoke_link(self, id: str) -> Link:
        """Make a link worthless from now on."""

        def work(execute: Execute) -> Link:
            _take_turn(execute, ends=True)
            _get_link(execute, id)
            execute("UPDATE links SET revoked_ns = ? WHERE id = ? AND revoked_ns IS NULL", (self._clock(), id))
            return _get_link(execute, id)

        link = self._write(work, is_repeatable=True)
        self._forget_moment()
        return link

    def revoke_links(self, sessions: Sequence[str]) -> int:
        """Make all links of some sessions worthless, and return how many were not yet."""
        query = "UPDATE links SET revoked_ns = ? WHERE session = ? AND revoked_ns IS NULL RETURNING expires_ns"

        def work(execute: Execute) -> int:
            _take_turn(execute, ends=True)
            now = self._clock()
            ended = [row for session in set(sessions) for row in execute(query, (now, pack_text(session)))]
            return sum(expires_ns > now for (expires_ns,) in ended)

        if not self._ask("SELECT 1 FROM links LIMIT 1"):
            return 0  # most archives have none, and need no file for them
        count = self._write(work)
        self._forget_moment()
        return count

    def record(self, entries: Sequence[AuditEntry]) -> None:
        """Keep what happened; when this returns, it outlasts a loss of power."""

        def work(execute: Execute) -> None:
            for entry in entries:
                texts = (entry.link, entry.session, entry.person, entry.detail)
                execute(_ADD, (entry.at_ns, pack_text(entry.who), entry.action.stored, *map(pack_text, texts)))

        if entries:
            self._write(work)

    def list_audit(
        self, asked: AuditFilter = EVERYTHING, *, before: int | None = None, limit: int = 100
    ) -> list[AuditEntry]:
        """Return entries, the newest first, from before one on."""
        conditions = list(_build_conditions(asked))
        if before is not None:
            conditions.append(("id < ?", (min(before, _LAST),)))
        where = f" WHERE {' AND '.join(text for text, _ in conditions)}" if conditions else ""
        query = f"SELECT {_AUDIT_COLUMNS} FROM audit{where} ORDER BY id DESC LIMIT ?"
        values = (*(value for _, values in conditions for value in values), min(max(limit, 0), _LAST))
        return [_build(AuditEntry, row) for row in self._ask(query, values)]


def _take_turn(execute: Execute, *, ends: bool) -> None:
    """Wait until nobody else adds, ends or changes anybody; say that something ends, if so.

    It comes first in a transaction, so that what is read behind it stays true until its end.
    """
    execute("UPDATE state SET version = version + ?", (int(ends),))


def _require_user(execute: Execute, name: str) -> str:
    """Return the name of a user who may come in; raises `AccountError` if there is none."""
    found = execute("SELECT disabled_ns FROM users WHERE name = ?", (name,)) if is_name(name) else []
    if not found:
        raise AccountError(f"There is no user {name if name.isprintable() else ascii(name)}")
    if found[0][0] is not None:
        raise AccountError(f"{name} is disabled")
    return name


def _check_instant(at_ns: int) -> int:
    """Return an instant that can be kept; raises `AccountError` for any other."""
    if not 0 <= at_ns <= _LAST_INSTANT:
        raise AccountError("Expected an instant between the years 1970 and 2262")
    return at_ns


def _is_fresh(asked: float) -> bool:
    return time.monotonic() - asked < _MOMENT_SECONDS


def _build(kind: type[_Record], row: Row) -> _Record:
    """Return a row as what it is kept of; its columns are in the order of the fields."""
    cells = (unpack_text(cell) if isinstance(cell, bytes) else cell for cell in row)
    return convert(dict(zip(kind.__struct_fields__, cells, strict=True)), kind)


_USER_COLUMNS = "u.name, u.role, u.full_name, u.email, u.created_ns, u.disabled_ns, u.seen_ns"
_FULL_NAME = "a full name"


def _find_user(execute: Execute, name: str) -> User | None:
    if not is_name(name):
        return None
    rows = execute(f"SELECT {_USER_COLUMNS} FROM users AS u WHERE u.name = ?", (name,))
    return _build(User, rows[0]) if rows else None


def _get_user(execute: Execute, name: str) -> User:
    user = _find_user(execute, name)
    if user is None:
        raise AccountError(f"There is no user {name if name.isprintable() else ascii(name)}")
    return user


def _check_free(execute: Execute, email: str, name: str) -> None:
    """Raise `AccountError` for an address that is somebody else's."""
    key = pack_text(fold_email(email))
    if key is None:
        return
    for (other,) in execute("SELECT name FROM users WHERE email_key = ? AND name <> ?", (key, name)):
        raise AccountError(f"That e-mail address belongs to {other}")


def _check_admins(execute: Execute, name: str) -> None:
    """Raise `AccountError` if nobody but this user is an admin who can come in."""
    admins = execute("SELECT name FROM users WHERE role = ? AND disabled_ns IS NULL", (UserRole.ADMIN.value,))
    if admins == [(name,)]:
        raise AccountError(f"{name} is the only admin who can log in; make somebody else an admin first")


def _email_cells(email: str) -> tuple[bytes | None, bytes | None]:
    return pack_text(email), pack_text(fold_email(email))


_TOKEN_COLUMNS = (
    "t.id, t.kind, t.name, t.label, t.created_ns, t.expires_ns, t.used_ns, t.revoked_ns, t.origin, t.digest"
)
_WIDTH = 10
_PREFIXES = {TokenKind.PERSONAL: PERSONAL, TokenKind.MACHINE: MACHINE}
_MINUTE_NS = 60 * 10**9
_WITH_USER = f"SELECT {_TOKEN_COLUMNS}, {_USER_COLUMNS} FROM tokens AS t JOIN users AS u ON u.name = t.name"


def _bind(execute: Execute, digest: str, origin: str) -> list[Row]:
    """Bind a token to a machine, unless it is bound, and return it as it is then."""
    execute("UPDATE tokens SET origin = ? WHERE digest = ? AND origin IS NULL", (pack_text(origin), digest))
    return execute(f"{_WITH_USER} WHERE t.digest = ?", (digest,))


def _get_token(execute: Execute, id: str) -> Token:
    rows = execute(f"SELECT {_TOKEN_COLUMNS} FROM tokens AS t WHERE t.id = ?", (id,)) if id.isalnum() else []
    if not rows:
        raise AccountError(f"There is no token {id if id.isprintable() else ascii(id)}")
    return _build(Token, rows[0][: _WIDTH - 1])


_MOST_PENDING = 10_000
"""How many logins are kept: anybody can begin one."""


_LINK_COLUMNS = (
    "l.id, l.session, l.title, l.created_by, l.created_ns, l.expires_ns, l.revoked_ns, l.words, l.opened, "
    "l.opened_ns"
)
_LONGEST_TITLE = 500


def _get_link(execute: Execute, id: str) -> Link:
    rows = execute(f"SELECT {_LINK_COLUMNS} FROM links AS l WHERE l.id = ?", (id,)) if id.isalnum() else []
    if not rows:
        raise AccountError(f"There is no link {id if id.isprintable() else ascii(id)}")
    return _build_link(rows[0])


def _build_link(row: Row) -> Link:
    return _build(Link, (*row[:7], json.loads(bytes(row[7])), *row[8:]))


_AUDIT_COLUMNS = "id, at_ns, who, action, link, session, person, detail"
_LAST = 2**63 - 1
_ADD = f"INSERT INTO audit ({_AUDIT_COLUMNS.removeprefix('id, ')}) VALUES (?, ?, ?, ?, ?, ?, ?)"


def _build_conditions(asked: AuditFilter) -> Iterator[tuple[str, tuple[object, ...]]]:
    for column, text in (("who", asked.who), ("person", asked.person), ("session", asked.session)):
        if text is not None:
            yield f"{column} = ?", (pack_text(text),)
    if asked.actions:
        places = ", ".join("?" * len(asked.actions))
        yield f"action IN ({places})", tuple(action.stored for action in asked.actions)
    if asked.since_ns is not None:
        yield "at_ns >= ?", (asked.since_ns,)
    if asked.until_ns is not None:
        yield "at_ns < ?", (asked.until_ns,)
    if asked.about is not None:
        yield "(who = ? OR person = ?)", (pack_text(asked.about), pack_text(asked.about))


_FILE = "accounts.db"


def find_file(place: Path) -> Path:
    """Return the file of the accounts that belong to a store in a file."""
    return place.with_name(_FILE)


def open_accounts(place: StorePlace, *, create: bool = True, clock: Clock = time.time_ns) -> Accounts:
    """Open the accounts of the store at a place, or those on a server.

    Raises `StoreError`, and `NewerStoreError` for those of a newer version. Without `create`, nothing is made
    before there is anything to keep.
    """
    database = _find_database(place)
    accounts = Accounts(database, clock)
    try:
        if create:
            database.make()
        else:
            accounts.has_users()
    except BaseException:
        accounts.close()
        raise
    return accounts


def _find_database(place: StorePlace) -> Database:
    if not isinstance(place, ServerPlace):
        return SqliteDatabase(find_file(place), ACCOUNT_STEPS, ACCOUNT_OPTIONS)
    try:
        # Loaded when it is asked for: the driver is optional.
        module = import_module("turnlog.store.catalogue.postgres")
    except ModuleNotFoundError as error:
        raise StoreError(
            f"{place} needs {error.name}, which is not installed: pip install 'turnlog[postgres]'"
        ) from error
    return cast(Database, module.PostgresDatabase(place.address, ACCOUNTS_SCHEMA, ACCOUNT_STEPS))


def check_accounts(place: StorePlace) -> list[str]:
    """Return what is wrong with the accounts of the store at a place, in words; nothing is changed."""
    try:
        found = [] if isinstance(place, ServerPlace) else _check_file(find_file(place))
        return found or _check_rows(place)
    except StoreError as error:
        return [str(error)]


def _check_file(file: Path) -> list[str]:
    if not file.exists():
        return []
    with closing(open_to_read(file, ACCOUNT_OPTIONS)) as connection, translating(file):
        return [f"{file}: {each}" for each in check_pages(connection)]


def _check_rows(place: StorePlace) -> list[str]:
    with closing(open_accounts(place, create=False)) as accounts:
        users = accounts.list_users()
        named = {token.user for token in accounts.list_tokens()}
        named |= {link.created_by for link in accounts.list_links() if link.created_by is not None}
    flaws = [
        f"There is no user {name}, who has tokens or links" for name in named - {each.name for each in users}
    ]
    if users and not any(user.role is UserRole.ADMIN and user.disabled_ns is None for user in users):
        flaws.append("There are users, but no admin who can log in")
    return sorted(flaws)

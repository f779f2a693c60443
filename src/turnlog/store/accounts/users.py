"""Users, and who they are at providers of logins."""

from __future__ import annotations

from collections.abc import Callable

from turnlog.errors import AccountError
from turnlog.store.accounts.interface import Identity, User, UserRole
from turnlog.store.accounts.keeping import Keeping, take_turn
from turnlog.store.accounts.wording import check_email, check_label, check_name, fold_email, is_name
from turnlog.store.catalogue.database import Execute, Row, pack_text, unpack_text

__all__ = ["USER_COLUMNS", "Users", "build_user"]

USER_COLUMNS = "u.name, u.role, u.full_name, u.email, u.created_ns, u.disabled_ns, u.seen_ns"
_FULL_NAME = "a full name"


def build_user(row: Row) -> User:
    """Return a user from `USER_COLUMNS`."""
    name, role, full_name, email, created_ns, disabled_ns, seen_ns = row
    return User(
        name=name,
        role=UserRole(role),
        full_name=unpack_text(full_name),
        email=unpack_text(email),
        created_ns=created_ns,
        disabled_ns=disabled_ns,
        seen_ns=seen_ns,
    )


class Users(Keeping):
    """The part of accounts that is about users."""

    def add_user(self, name: str, role: UserRole, *, full_name: str = "", email: str = "") -> User:
        """Make an account."""
        check_name(name)
        full_name, email = check_label(full_name, _FULL_NAME), check_email(email)

        def work(execute: Execute) -> User:
            take_turn(execute, ends=False)
            if _find(execute, name) is not None:
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
            return _get(execute, name)

        user = self._write(work)
        self._forget_moment()
        return user

    def change_user(
        self, name: str, *, role: UserRole | None = None, full_name: str | None = None, email: str | None = None
    ) -> User:
        """Change what is given."""
        full_name = None if full_name is None else check_label(full_name, _FULL_NAME)
        email = None if email is None else check_email(email)

        def work(execute: Execute) -> User:
            take_turn(execute, ends=role is not None)
            _get(execute, name)
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
            return _get(execute, name)

        return self._change(work)

    def disable_user(self, name: str) -> User:
        """Let a user in no longer."""

        def work(execute: Execute) -> User:
            take_turn(execute, ends=True)
            if _get(execute, name).disabled_ns is None:
                _check_admins(execute, name)
                now = self._clock()
                execute("UPDATE users SET disabled_ns = ? WHERE name = ?", (now, name))
                for table, column in (("tokens", "name"), ("links", "created_by")):
                    execute(
                        f"UPDATE {table} SET revoked_ns = ? WHERE {column} = ? AND revoked_ns IS NULL",
                        (now, name),
                    )
                execute("DELETE FROM cookies WHERE name = ?", (name,))
            return _get(execute, name)

        return self._change(work)

    def enable_user(self, name: str) -> User:
        """Let a user in again."""

        def work(execute: Execute) -> User:
            take_turn(execute, ends=False)
            _get(execute, name)
            execute("UPDATE users SET disabled_ns = NULL WHERE name = ?", (name,))
            return _get(execute, name)

        return self._change(work)

    def find_user(self, name: str) -> User | None:
        """Return a user."""
        return self._read(lambda execute: _find(execute, name))

    def list_users(self) -> list[User]:
        """Return all users, by name."""
        rows = self._read(lambda execute: execute(f"SELECT {USER_COLUMNS} FROM users AS u"))
        return sorted(map(build_user, rows), key=lambda user: user.name)

    def bind_identity(self, name: str, identity: Identity) -> None:
        """Remember who a user is at a provider."""
        cells = (pack_text(identity.issuer), pack_text(identity.subject))

        def work(execute: Execute) -> None:
            take_turn(execute, ends=False)
            _get(execute, name)
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
            f"SELECT {USER_COLUMNS} FROM identities AS i JOIN users AS u ON u.name = i.name "
            "WHERE i.issuer = ? AND i.subject = ?"
        )
        cells = (pack_text(identity.issuer), pack_text(identity.subject))
        rows = self._read(lambda execute: execute(query, cells))
        return build_user(rows[0]) if rows else None

    def find_by_email(self, email: str) -> User | None:
        """Return the user with an address."""
        key = pack_text(fold_email(email))
        query = f"SELECT {USER_COLUMNS} FROM users AS u WHERE u.email_key = ?"
        rows = self._read(lambda execute: execute(query, (key,)))
        return build_user(rows[0]) if rows else None

    def _change(self, work: Callable[[Execute], User]) -> User:
        user = self._write(work, is_repeatable=True)
        self._forget_moment()
        return user


def _find(execute: Execute, name: str) -> User | None:
    if not is_name(name):
        return None
    rows = execute(f"SELECT {USER_COLUMNS} FROM users AS u WHERE u.name = ?", (name,))
    return build_user(rows[0]) if rows else None


def _get(execute: Execute, name: str) -> User:
    user = _find(execute, name)
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

"""Links: what shows one session to whoever has the address."""

from __future__ import annotations

import json
from collections.abc import Sequence

from turnlog.errors import AccountError
from turnlog.store.accounts.credentials import LINK, digest_secret, has_form, make_id, make_secret
from turnlog.store.accounts.interface import Link
from turnlog.store.accounts.keeping import Keeping, check_instant, require_user, take_turn
from turnlog.store.accounts.wording import is_name
from turnlog.store.catalogue.database import Execute, Row, pack_text, unpack_text

__all__ = ["Links"]

_COLUMNS = (
    "l.id, l.session, l.title, l.created_by, l.created_ns, l.expires_ns, l.revoked_ns, l.words, l.opened, "
    "l.opened_ns"
)
_LONGEST_TITLE = 500


class Links(Keeping):
    """The part of accounts that is about links."""

    def create_link(
        self,
        session: str,
        *,
        title: str,
        created_by: str | None,
        expires_ns: int,
        words: Sequence[str] = (),
    ) -> tuple[Link, str]:
        """Make a link, and return it with its secret."""
        secret, id = make_secret(LINK), make_id()
        expires_ns = check_instant(expires_ns)
        cells = (id, digest_secret(secret), pack_text(session), pack_text(title[:_LONGEST_TITLE]), created_by)

        def work(execute: Execute) -> Link:
            take_turn(execute, ends=False)
            if created_by is not None:
                require_user(execute, created_by)
            execute(
                "INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?, 0, NULL)",
                (*cells, self._clock(), expires_ns, json.dumps(list(words)).encode()),
            )
            return _get(execute, id)

        return self._write(work), secret

    def find_link(self, secret: str) -> Link | None:
        """Return the link of a secret."""
        if not has_form(secret, LINK):
            return None
        query = (
            f"SELECT {_COLUMNS} FROM links AS l LEFT JOIN users AS u ON u.name = l.created_by "
            "WHERE l.digest = ? AND l.revoked_ns IS NULL AND l.expires_ns > ? AND u.disabled_ns IS NULL"
        )
        values = (digest_secret(secret), self._clock())
        rows = self._read(lambda execute: execute(query, values))
        return _build(rows[0]) if rows else None

    def note_opened(self, id: str) -> None:
        """Count that a link was opened."""

        def work(execute: Execute) -> None:
            _get(execute, id)
            execute("UPDATE links SET opened = opened + 1, opened_ns = ? WHERE id = ?", (self._clock(), id))

        self._write(work)

    def list_links(self, *, created_by: str | None = None, session: str | None = None) -> list[Link]:
        """Return links, the newest first."""
        if created_by is not None and not is_name(created_by):
            return []
        conditions = {"l.created_by = ?": created_by, "l.session = ?": pack_text(session)}
        given = {condition: value for condition, value in conditions.items() if value is not None}
        where = f" WHERE {' AND '.join(given)}" if given else ""
        query = f"SELECT {_COLUMNS} FROM links AS l{where} ORDER BY l.created_ns DESC, l.id"
        rows = self._read(lambda execute: execute(query, tuple(given.values())))
        return [_build(row) for row in rows]

    def revoke_link(self, id: str) -> Link:
        """Make a link worthless from now on."""

        def work(execute: Execute) -> Link:
            take_turn(execute, ends=True)
            _get(execute, id)
            execute("UPDATE links SET revoked_ns = ? WHERE id = ? AND revoked_ns IS NULL", (self._clock(), id))
            return _get(execute, id)

        link = self._write(work, is_repeatable=True)
        self._forget_moment()
        return link

    def revoke_links(self, sessions: Sequence[str]) -> int:
        """Make all links of some sessions worthless."""
        query = "UPDATE links SET revoked_ns = ? WHERE session = ? AND revoked_ns IS NULL RETURNING expires_ns"

        def work(execute: Execute) -> int:
            take_turn(execute, ends=True)
            now = self._clock()
            ended = [row for session in set(sessions) for row in execute(query, (now, pack_text(session)))]
            return sum(expires_ns > now for (expires_ns,) in ended)

        if not self._read(lambda execute: execute("SELECT 1 FROM links LIMIT 1")):
            return 0  # most archives have none, and need no file for them
        count = self._write(work)
        self._forget_moment()
        return count


def _get(execute: Execute, id: str) -> Link:
    rows = execute(f"SELECT {_COLUMNS} FROM links AS l WHERE l.id = ?", (id,)) if id.isalnum() else []
    if not rows:
        raise AccountError(f"There is no link {id if id.isprintable() else ascii(id)}")
    return _build(rows[0])


def _build(row: Row) -> Link:
    id, session, title, created_by, created_ns, expires_ns, revoked_ns, words, opened, opened_ns = row
    return Link(
        id=id,
        session=unpack_text(session),
        title=unpack_text(title),
        created_by=created_by,
        created_ns=created_ns,
        expires_ns=expires_ns,
        revoked_ns=revoked_ns,
        words=tuple(json.loads(bytes(words))),
        opened=opened,
        opened_ns=opened_ns,
    )

"""What people did: entries are added, and never changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turnlog.store.accounts.interface import EVERYTHING, Action, AuditEntry, AuditFilter
from turnlog.store.accounts.keeping import Keeping
from turnlog.store.catalogue.database import Execute, Row, pack_text, unpack_text

__all__ = ["Audit"]

_COLUMNS = "id, at_ns, who, action, link, session, person, detail"
_LAST = 2**63 - 1
_ADD = f"INSERT INTO audit ({_COLUMNS.removeprefix('id, ')}) VALUES (?, ?, ?, ?, ?, ?, ?)"


class Audit(Keeping):
    """The part of accounts that is about what happened."""

    def record(self, entries: Sequence[AuditEntry]) -> None:
        """Keep what happened."""

        def work(execute: Execute) -> None:
            for entry in entries:
                texts = (entry.link, entry.session, entry.person, entry.detail)
                execute(_ADD, (entry.at_ns, pack_text(entry.who), entry.action.value, *map(pack_text, texts)))

        if entries:
            self._write(work)

    def list_audit(
        self, asked: AuditFilter = EVERYTHING, *, before: int | None = None, limit: int = 100
    ) -> list[AuditEntry]:
        """Return entries, the newest first."""
        conditions = list(_build_conditions(asked))
        if before is not None:
            conditions.append(("id < ?", (min(before, _LAST),)))
        where = f" WHERE {' AND '.join(text for text, _ in conditions)}" if conditions else ""
        query = f"SELECT {_COLUMNS} FROM audit{where} ORDER BY id DESC LIMIT ?"
        values = (*(value for _, values in conditions for value in values), min(max(limit, 0), _LAST))
        return [_build(row) for row in self._read(lambda execute: execute(query, values))]


def _build_conditions(asked: AuditFilter) -> Iterator[tuple[str, tuple[object, ...]]]:
    for column, text in (("who", asked.who), ("person", asked.person), ("session", asked.session)):
        if text is not None:
            yield f"{column} = ?", (pack_text(text),)
    if asked.actions:
        places = ", ".join("?" * len(asked.actions))
        yield f"action IN ({places})", tuple(action.value for action in asked.actions)
    if asked.since_ns is not None:
        yield "at_ns >= ?", (asked.since_ns,)
    if asked.until_ns is not None:
        yield "at_ns < ?", (asked.until_ns,)
    if asked.about is not None:
        yield "(who = ? OR person = ?)", (pack_text(asked.about), pack_text(asked.about))


def _build(row: Row) -> AuditEntry:
    id, at_ns, who, action, link, session, person, detail = row
    return AuditEntry(
        id=id,
        at_ns=at_ns,
        who=unpack_text(who),
        action=Action(action),
        link=unpack_text(link),
        session=unpack_text(session),
        person=unpack_text(person),
        detail=unpack_text(detail),
    )

"""Who may see which session, kept up with all that it follows from: machines, rules, projects, what was chosen.

It is written under the feed's lock: of two that change what it follows from, the second sees what the first
did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from psycopg import Connection

from turnlog.store.packing import Cells, pack_text, unpack_text
from turnlog.store.people import ProjectRule, SessionAccess, Visibility
from turnlog.store.visibility import AccessState, RuleMatcher

__all__ = [
    "AccessRow",
    "Settled",
    "keep_access",
    "list_access",
    "list_rules",
    "settle_access",
    "show",
    "write_access",
]

_RULES = "SELECT pattern, shared FROM rules WHERE owner = %(owner)s ORDER BY pattern"
_ROWS = """
SELECT {before}e.id, e.key, e.revision, e.origin, t.project, m.origin IS NOT NULL, m.person, a.person, a.chosen,
    a.rule, a.shared
FROM sessions AS e JOIN access AS a ON a.session = e.id LEFT JOIN summaries AS t ON t.session = e.id
LEFT JOIN machines AS m ON m.owner = e.owner AND m.origin = e.origin
WHERE e.owner = %(owner)s AND {where} ORDER BY e.key
"""
_WRITTEN = _ROWS.format(
    before="".join(
        f"array(SELECT {column} FROM rules WHERE owner = %(owner)s ORDER BY pattern), "
        for column in ("pattern", "shared")
    ),
    where="e.id = ANY(%(sessions)s::bigint[])",
)
"""With all rules, so that it is asked once."""
_WRITE = """
UPDATE access AS a SET person = w.person, chosen = w.chosen, rule = w.rule, shared = w.shared
FROM unnest(%s::bigint[], %s::text[], %s::boolean[], %s::bytea[], %s::boolean[])
    AS w (session, person, chosen, rule, shared) WHERE a.session = w.session
"""
_MAKE_KNOWN = """
INSERT INTO machines (owner, origin, host, account, first_ns, last_ns)
SELECT %s, w.origin, '', '', w.at_ns, w.at_ns FROM unnest(%s::bytea[], %s::bigint[]) AS w (origin, at_ns)
ON CONFLICT DO NOTHING
"""
_SHARED_MESSAGES = """
SELECT DISTINCT t.message_id FROM sightings AS t
WHERE t.session = ANY(%s::bigint[]) AND EXISTS (
    SELECT 1 FROM sightings AS o WHERE o.message_id = t.message_id AND o.session <> t.session
)
"""


class AccessRow(Struct, frozen=True, gc=False):
    """A session, what follows for it, and from what."""

    session: int
    key: str
    revision: int
    origin: str
    project: str | None
    is_known: bool
    """Whether its machine is."""
    person: str | None
    """Its machine's."""
    state: AccessState

    @property
    def access(self) -> SessionAccess:
        """As it is told."""
        return self.state.describe(self.key, self.origin)


class Settled(Struct, frozen=True, gc=False):
    """A session of which others see more or less than before."""

    row: AccessRow
    after: AccessState


def show(shared: bool | None) -> Visibility | None:
    """Return what a cell says."""
    return None if shared is None else Visibility.TEAM if shared else Visibility.PRIVATE


def list_rules(connection: Connection, owner: str) -> list[ProjectRule]:
    """Return the rules for projects, by pattern."""
    return _unpack_rules(connection.execute(_RULES, {"owner": owner}))


def list_access(
    connection: Connection, owner: str, where: str, values: Mapping[str, object]
) -> list[AccessRow]:
    """Return sessions by their keys; `where` is a condition on `e`, `a` and `m`, with its values."""
    rows = connection.execute(_ROWS.format(before="", where=where), {"owner": owner, **values})
    return list(map(_unpack, rows))


def keep_access(connection: Connection, owner: str, sessions: Mapping[int, int]) -> set[bytes]:
    """Keep up with sessions that were written, each with the time when; the caller has the feed's lock.

    Returns the messages whose usage is to be counted anew by that.
    """
    found = connection.execute(_WRITTEN, {"owner": owner, "sessions": list(sessions)}).fetchall()
    rules = _unpack_rules(zip(*found[0][:2], strict=True)) if found else []
    rows = [_unpack(cells) for _, _, *cells in found]
    unknown = {row.origin: sessions[row.session] for row in rows if not row.is_known}
    if unknown:
        connection.execute(_MAKE_KNOWN, (owner, list(map(pack_text, unknown)), list(unknown.values())))
    return write_access(connection, settle_access(rows, rules))


def settle_access(rows: Iterable[AccessRow], rules: Iterable[ProjectRule]) -> list[Settled]:
    """Return those of which something else follows than what is there."""
    matcher = RuleMatcher(rules)
    found = (Settled(row, matcher.build_state(row.person, row.state.chosen, row.project)) for row in rows)
    return [each for each in found if each.after != each.row.state]


def write_access(connection: Connection, settled: Sequence[Settled]) -> set[bytes]:
    """Write what follows, and return the messages whose usage is to be counted anew."""
    if not settled:
        return set()
    cells = [
        (
            each.row.session,
            each.after.person,
            None if each.after.chosen is None else each.after.chosen is Visibility.TEAM,
            pack_text(each.after.rule),
            each.after.shared,
        )
        for each in settled
    ]
    connection.execute(_WRITE, [list(column) for column in zip(*cells, strict=True)])
    moved = [each.row.session for each in settled if _audience(each.row.state) != _audience(each.after)]
    if not moved:
        return set()
    return {message for (message,) in connection.execute(_SHARED_MESSAGES, (moved,))}


def _audience(state: AccessState) -> tuple[str | None, bool]:
    return state.person, state.shared


def _unpack_rules(rows: Iterable[Cells]) -> list[ProjectRule]:
    return [
        ProjectRule(unpack_text(pattern), Visibility.TEAM if shared else Visibility.PRIVATE)
        for pattern, shared in rows
    ]


def _unpack(cells: Sequence[Any]) -> AccessRow:
    session, key, revision, origin, project, is_known, machines, person, chosen, rule, shared = cells
    return AccessRow(
        session,
        key,
        revision,
        unpack_text(origin),
        unpack_text(project),
        is_known,
        machines,
        AccessState(person, show(chosen), unpack_text(rule), shared),
    )

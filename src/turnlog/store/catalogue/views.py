"""What somebody sees who may not see everything: views in the place of the tables.

A transaction for a viewer finds views where others find the tables, by the same names, and who looks is said
beside it: in a table of the connection's own on SQLite, in settings of the transaction on PostgreSQL. So all
statements stay as they are, and none can forget it. What has no view is found only by numbers of sessions,
files and groups, which nobody learns but from a view.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from turnlog.store.catalogue.database import INDEXED
from turnlog.store.catalogue.schema import HOOK_EVENTS
from turnlog.store.interface import ChangeKind


class ViewerTerms(Struct, frozen=True, gc=False):
    """How an engine spells who looks, and what the tables themselves are called."""

    owner: str
    person: str
    team: str
    """1 or 0."""
    key: str
    """Of the one session that somebody with a link sees."""
    tables: str
    """What stands before the name of a table, as `main.`."""
    views: str
    """And before that of a view."""


def list_views(terms: ViewerTerms) -> Mapping[str, str]:
    """Return the tables of which not everybody sees everything, each with the condition for its rows `t`.

    Those that others are made of come first.
    """
    tables = terms.tables

    def sees(session: str) -> str:
        """Return the condition that a row of `sessions` may be seen."""
        return (
            f"({session}.owner = {terms.owner} AND ({session}.person = {terms.person} "
            f"OR ({terms.team} = 1 AND {session}.is_shared = 1) OR {session}.key = {terms.key}))"
        )

    def of_session(number: str) -> str:
        return f"EXISTS (SELECT 1 FROM {tables}sessions AS e WHERE e.id = {number} AND {sees('e')})"

    def told_by(id: str) -> str:
        """Return the condition that a hook told something that may be seen, of the session with an id.

        The machine is the viewer's, or they see a session with that id whose person the machine's is.
        """
        machine = f"{tables}machines AS m WHERE m.owner = t.owner AND m.origin = t.origin"
        of_sessions = " OR ".join(
            f"""EXISTS (
                SELECT 1 FROM {tables}sessions AS e WHERE e.owner = t.owner
                AND substr(e.{name}, 1, {INDEXED}) = substr({id}, 1, {INDEXED}) AND e.{name} = {id}
                AND e.person IS NOT DISTINCT FROM (SELECT m.person FROM {machine}) AND {sees("e")}
            )"""
            for name in ("file_id", "session_id")
        )
        own = f"EXISTS (SELECT 1 FROM {machine} AND m.person = {terms.person})"
        return f"t.owner = {terms.owner} AND ({own} OR {of_sessions})"

    return {
        "sessions": sees("t"),
        "sources": of_session("t.session"),
        "marks": of_session("t.session"),
        "reported_costs": of_session("t.session"),
        "usage_groups": f"""EXISTS (
            SELECT 1 FROM {tables}sessions AS e WHERE e.id = t.session AND {sees("e")}
            AND t.audience IN (0, CASE WHEN e.person = {terms.person} THEN 1 ELSE 2 END)
        )""",
        "usage_prices": f"EXISTS (SELECT 1 FROM {terms.views}usage_groups)",
        "hook_deliveries": told_by("t.session_id"),
        "changes": f"""t.owner = {terms.owner} AND CASE
            WHEN t.kind IN ('{ChangeKind.SESSION_FORGOTTEN}', '{ChangeKind.SESSION_ACCESS}') THEN
                t.person = {terms.person} OR t.former = {terms.person}
                OR ({terms.team} = 1 AND t.is_shared = 1) OR @@readable(t.session) = {terms.key}
            WHEN t.kind = '{ChangeKind.HOOK_DELIVERED}' THEN {told_by("t.session")}
            ELSE EXISTS (
                SELECT 1 FROM {tables}sessions AS e
                WHERE e.owner = t.owner AND e.key = @@readable(t.session) AND {sees("e")}
            )
        END""",
        "tombstones": f"t.owner = {terms.owner} AND t.person = {terms.person}",
        "machines": f"""t.owner = {terms.owner} AND (
            t.person = {terms.person} OR t.origin IN (SELECT origin FROM {terms.views}sessions)
        )""",
        "backups": "1 = 0",
        "leases": "1 = 0",
    }


def replace_columns(terms: ViewerTerms) -> Mapping[tuple[str, str], str]:
    """Return the columns that do not show what they have, by table and name."""
    return {
        # Of whom a session was copied is told only within one person's own.
        ("sources", "copied_from"): f"""(
            SELECT c.key FROM {terms.views}sessions AS c WHERE c.owner = t.owner AND c.key = t.copied_from
            AND c.person IS NOT DISTINCT FROM (
                SELECT e.person FROM {terms.tables}sessions AS e WHERE e.id = t.session
            )
        )""",
        ("usage_groups", "audience"): "CAST(0 AS smallint)",
    }


UNSEEN = frozenset({
    "migrations", "feed", "rules", "summaries", "outlines", "generations", "frames", "tail_frames", "segments",
    "segment_data", "answers", "shared_answers", "usage_rollup",
    "cells", "new_cells", "text_runs", "vocabulary", "search_state",
    "texts", "text_words", "text_words_gone", "text_state",
})  # fmt: skip
"""The other tables: everybody may know what is in them, or it is found only by a number that a view gave."""


def build_view(terms: ViewerTerms, table: str, columns: list[str]) -> str:
    """Return the statement that shows a table's columns as its viewer sees them."""
    instead = replace_columns(terms)
    shown = ", ".join(f"{instead.get((table, name), f't.{name}')} AS {name}" for name in columns)
    return f"SELECT {shown} FROM {terms.tables}{table} AS t WHERE {list_views(terms)[table]}"


def build_hook_events(terms: ViewerTerms) -> str:
    """Return spec 002's view of the deliveries that are seen."""
    return HOOK_EVENTS.replace("FROM hook_deliveries", f"FROM {terms.views}hook_deliveries")

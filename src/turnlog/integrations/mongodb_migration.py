"""Correcting parents in a MongoDB database, in place: `turnlog migrate mongodb://…`, and taking it back.

What is corrected, and what is left, is decided as for a file (`turnlog.transcripts.migration`): from ids that
are read once through the database, in memory. No decision rests on a parent that may have been corrected
already, so a run that was killed is simply made again.

Before a document is changed, the collection `turnlog_migrations` has what it said before and what it says then.
A document is changed only if it still says the former, and taken back only if it still says the latter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

from msgspec import Struct
from pymongo import DeleteOne, ReplaceOne, UpdateOne

from turnlog.integrations.mongodb import MARKERS, SETTLING, Documents
from turnlog.integrations.mongodb_import import encode_document, list_collections, read_documents
from turnlog.messages import Position, decode
from turnlog.messages.legacy import StoredType
from turnlog.transcripts.migration import Migration, MigrationPlanner

__all__ = ["Applied", "Undone", "migrate_database", "undo_migration"]

_LOG = "turnlog_migrations"
_RUNNING = "migration"
_TOGETHER = 50
"""Small enough for servers that look through a whole collection for each document."""
_PARENT, _FLAG = "parentUuid", "isSidechain"
_TOOLS = (StoredType.TOOL_USE.value, StoredType.TOOL_RESULT.value)
_Progress = Callable[[int, int], None]


class Applied(Struct, frozen=True):
    """What was found, and what came of it."""

    plan: Migration
    """Its positions are numbers of documents, as the database has them in order."""
    lost: int = 0
    """Documents that somebody else changed meanwhile, and that stay as they are."""


class Undone(Struct, frozen=True):
    """What came of taking a migration back."""

    restored: int
    left: int
    """Documents that somebody changed or deleted since."""


@contextmanager
def _noting(database: Documents, dry_run: bool) -> Iterator[None]:
    """Have it stand in the database that somebody changes it; after a run that was killed, wait a little."""
    if dry_run:
        yield
        return
    markers = database[MARKERS]
    if markers.find_one({"_id": _RUNNING}) is None:
        markers.insert_one({"_id": _RUNNING})
    else:
        _await_quiet(database)
    yield
    markers.delete_one({"_id": _RUNNING})


_LOOKS, _MANY = 60, 1000


def _await_quiet(database: Documents) -> None:
    """Wait until no logged document changes: a server may be long at work on what a killed run sent last."""
    former, quiet = None, 0
    for _ in range(_LOOKS):
        told = _read_logged(database)
        quiet = quiet + 1 if told == former else 0
        if quiet == 2:
            return
        former = told
        time.sleep(SETTLING)


def _read_logged(database: Documents) -> dict[str, Any]:
    """Return what the log has, and what the documents say that it is about."""
    records = {each["_id"]: each for each in database[_LOG].find({}, {"collection": 1, "document": 1})}
    told: dict[str, Any] = dict.fromkeys(records)
    for collection in {each["collection"] for each in records.values()}:
        ids = [each["document"] for each in records.values() if each["collection"] == collection]
        for at in range(0, len(ids), _MANY):
            some = {"_id": {"$in": ids[at : at + _MANY]}}
            found = database[collection].find(some, {_PARENT: 1, _FLAG: 1})
            told |= {f"{collection} {each['_id']}": each for each in found}
    return told


class _Change(Struct, frozen=True, gc=False):
    """A document that is changed; a field that was missing is in neither of the values."""

    collection: str
    document: Any
    before: dict[str, Any]
    after: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.collection}/{self.document}"

    def update(self, *, back: bool = False) -> UpdateOne:
        """Return what makes a document say the one if it says the other."""
        old, new = (self.after, self.before) if back else (self.before, self.after)
        fields = self.before.keys() | self.after.keys()
        missing = {field: "" for field in fields if field not in new}
        told = {field: old.get(field, {"$exists": False}) for field in fields}
        change: dict[str, Any] = {"$set": new} if new else {}
        return UpdateOne({"_id": self.document, **told}, change | ({"$unset": missing} if missing else {}))


def migrate_database(
    database: Documents, *, dry_run: bool = False, on_progress: _Progress = lambda done, total: None
) -> Applied:
    """Correct the parents and flags of tool messages, and return what was done; the second time, nothing is."""
    with _noting(database, dry_run):
        return _migrate(database, dry_run, on_progress)


def _migrate(database: Documents, dry_run: bool, on_progress: _Progress) -> Applied:
    planner = MigrationPlanner()
    total = sum(database[name].estimated_document_count() for name in list_collections(database))
    tools: dict[int, tuple[str, Any, dict[str, Any]]] = {}
    for number, (collection, document) in enumerate(read_documents(database)):
        planner.add(decode(encode_document(document), at=Position(collection, number)))
        if document.get("type") in _TOOLS:
            told = {field: document[field] for field in (_PARENT, _FLAG) if field in document}
            tools[number] = collection, document["_id"], told
        if number % _TOGETHER == 0:
            on_progress(number, 2 * total)
    plan = planner.build()
    if dry_run:
        return Applied(plan)
    changes: list[_Change] = []
    for correction in plan.corrections:
        collection, id, told = tools[correction.at.offset]
        after: dict[str, Any] = {_FLAG: True}
        if correction.parent is not None:
            after[_PARENT] = correction.parent
        changes.append(_Change(collection, id, {key: told[key] for key in after if key in told}, after))
    lost, left = 0, iter(changes)
    done = 0
    while some := [*islice(left, _TOGETHER)]:
        lost += len(some) - _apply(database, some)
        done += len(some)
        on_progress(total + total * done // len(changes), 2 * total)
    return Applied(plan, lost)


def _apply(database: Documents, changes: list[_Change]) -> int:
    """Change documents, and return how many of them there were as they had been read."""
    log = database[_LOG]
    records = {each.name: {"_id": each.name, **_tell(each)} for each in changes}
    known = {each["_id"] for each in log.find({"_id": {"$in": [*records]}}, {"_id": 1})}
    if new := [record for name, record in records.items() if name not in known]:
        log.insert_many(new)
    if known:
        log.bulk_write([ReplaceOne({"_id": name}, records[name]) for name in known])
    return sum(
        database[collection].bulk_write([each.update() for each in some], ordered=False).matched_count
        for collection, some in _group(changes)
    )


def undo_migration(
    database: Documents, *, dry_run: bool = False, on_progress: _Progress = lambda done, total: None
) -> Undone:
    """Let documents say again what they said before they were corrected, and return how many did."""
    with _noting(database, dry_run):
        return _undo(database, dry_run, on_progress)


def _undo(database: Documents, dry_run: bool, on_progress: _Progress) -> Undone:
    log = database[_LOG]
    total = log.estimated_document_count()
    restored = left = 0
    records = iter([*log.find()])
    while some := [*islice(records, _TOGETHER)]:
        changes = [
            _Change(each["collection"], each["document"], each["before"], each["after"]) for each in some
        ]
        done: list[str] = []
        for collection, group in _group(changes):
            there = {
                each["_id"]: each
                for each in database[collection].find(
                    {"_id": {"$in": [each.document for each in group]}}, {_PARENT: 1, _FLAG: 1}
                )
            }
            own = [each for each in group if _says(there.get(each.document), each.after, each.before)]
            back = [each for each in group if _says(there.get(each.document), each.before, each.after)]
            left += len(group) - len(own) - len(back)
            restored += len(own)
            if own and not dry_run:
                database[collection].bulk_write([each.update(back=True) for each in own], ordered=False)
            done += [each.name for each in (*own, *back)]
        if done and not dry_run:
            log.bulk_write([DeleteOne({"_id": name}) for name in done], ordered=False)
        on_progress(restored + left, total)
    return Undone(restored, left)


def _says(document: Mapping[str, Any] | None, told: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether a document says just this of the fields that are in either."""
    fields = told.keys() | other.keys()
    return document is not None and {key: document[key] for key in fields if key in document} == told


def _tell(change: _Change) -> dict[str, Any]:
    return {name: getattr(change, name) for name in change.__struct_fields__}


def _group(changes: list[_Change]) -> Iterator[tuple[str, list[_Change]]]:
    for collection in dict.fromkeys(each.collection for each in changes):
        yield collection, [each for each in changes if each.collection == collection]

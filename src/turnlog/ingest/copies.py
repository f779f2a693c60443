"""Which sessions began as copies of others.

A fork, a resume of old or a file that somebody copied begins with the lines of another transcript. Which of
them is the original does not depend on the order in which they are archived: it is the one that does not say
that it is a fork, then one whose lines name the session that its file is called by, then the one with the
smallest key. Only one person's sessions are compared: nobody learns here that others have the same.

A uuid alone does not make a copy: the message must be of the same type and time as well. Names that are no
UUIDs, like `u1`, come up in sessions that have nothing to do with each other: there the first prompts must be
the same, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from msgspec.structs import replace

from turnlog.ingest.contents import repeat_unchanged
from turnlog.store.batch import SessionBatch
from turnlog.store.interface import Store, find_known
from turnlog.store.lists import SessionFilter, StoredSession
from turnlog.store.model import Scope, SessionHead, SessionRow, SourceKind

_MOST = 10_000
"""Sessions that begin with the same messages; there are never so many."""
_Rank = tuple[bool, bool, str]
_Group = tuple[object, ...]
"""Whose session it is, and with which message it begins: copies have the same."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def mark_copies(store: Store, batches: Sequence[SessionBatch]) -> list[SessionBatch]:
    """Return batches in which new sessions that are copies are marked as such.

    Sessions that are there already and turn out to be copies of one of them come behind.
    """
    new = {batch.key: (batch, head) for batch in batches if (head := _find_head(batch)) is not None}
    if not new:
        return [*batches]
    owner = batches[0].owner
    originals: dict[str, str] = {}
    told: dict[str, str | None] = {}
    own: dict[str, list[tuple[SessionBatch, SessionHead]]] = {}
    for batch, head in new.values():
        own.setdefault(head.uuid, []).append((batch, head))
    others: dict[str, list[StoredSession]] = {uuid: [] for uuid in own}
    for each in _list_with(store, Scope(owner), own):
        if each.key not in new and each.row.head is not None:
            others[each.row.head.uuid].append(each)
    for uuid, stored in others.items():
        if len(own[uuid]) + len(stored) == 1:
            continue
        for ranks in _rank_copies(store, owner, own[uuid], stored):
            original = min(ranks, key=ranks.__getitem__)
            originals |= {key: original for key in ranks if key != original}
        told |= {each.key: each.copied_from for each in stored}
    known = {batch.key for batch in batches}
    late = [key for key, original in originals.items() if key not in known and told.get(key) != original]
    return [
        *(_mark_copy(batch, originals.get(batch.key)) for batch in batches),
        *_mark_stored_copies(store, owner, {key: originals[key] for key in late}, batches[0]),
    ]


def list_shared(store: Store, scope: Scope, session: StoredSession) -> frozenset[str]:
    """Return the uuids of the lines of other sessions that begin with the same message as this one."""
    head = session.row.head
    found: set[str] = set()
    for other in () if head is None else _list_with(store, scope, [head.uuid]):
        if other.key != session.key:
            with store.open_session(scope, other.key) as records:
                lines = () if records.main is None else records.main.list_lines()
                found.update(line.uuid for line in lines if line.uuid is not None)
    return frozenset(found)


def _list_with(store: Store, scope: Scope, uuids: Iterable[str]) -> tuple[StoredSession, ...]:
    """Return the sessions whose transcripts begin with one of some messages, by key."""
    asked = SessionFilter(heads=tuple(uuids), archived=None)
    found = store.list_sessions(scope, asked, limit=_MOST).sessions
    return tuple(sorted(found, key=lambda each: each.key))


def _rank_copies(
    store: Store,
    owner: str,
    new: Sequence[tuple[SessionBatch, SessionHead]],
    stored: Sequence[StoredSession],
) -> Iterable[dict[str, _Rank]]:
    """Return what decides among the sessions that are copies of each other, where some of them are new."""
    persons = {machine.origin: machine.person for machine in store.list_machines(Scope(owner))}
    found: dict[_Group, dict[str, _Rank]] = {}
    for batch, head in new:
        row = None if batch.derived is None else batch.derived.session
        group = persons.get(batch.origin), *_comparison_key(head, row)
        found.setdefault(group, {})[batch.key] = _rank(batch.key, batch.session_id, head, row)
    for session in stored:
        row = session.row
        if row.head is not None:
            ranks = found.get((session.person, *_comparison_key(row.head, row)))
            if ranks is not None:
                ranks[session.key] = _rank(session.key, PurePath(session.path).stem, row.head, row)
    return found.values()


def _comparison_key(head: SessionHead, row: SessionRow | None) -> tuple[object, ...]:
    """Return what copies have in common besides the uuid of their first message."""
    is_unique = _UUID.fullmatch(head.uuid) is not None
    return head.type, head.time, None if is_unique or row is None else row.first_prompt


def _find_head(batch: SessionBatch) -> SessionHead | None:
    """Return the first message of a session that is new, and of which another line follows it."""
    if batch.base_revision != 0 or batch.derived is None:
        return None
    source = next((each for each in batch.sources if each.source == batch.key), None)
    is_transcript = source is not None and source.kind is SourceKind.TRANSCRIPT
    return batch.derived.session.head if is_transcript else None


def _rank(key: str, name: str, head: SessionHead, row: SessionRow | None) -> _Rank:
    is_fork = row is not None and row.forked_from is not None
    return is_fork, name != head.told_id, key


def _mark_copy(batch: SessionBatch, original: str | None) -> SessionBatch:
    if original is None:
        return batch
    sources = (
        replace(each, copied_from=original) if each.source == batch.key else each for each in batch.sources
    )
    return replace(batch, sources=tuple(sources))


def _mark_stored_copies(
    store: Store, owner: str, originals: dict[str, str], like: SessionBatch
) -> Iterable[SessionBatch]:
    for key, original in originals.items():
        known = find_known(store, Scope(owner), key)
        for source in () if known is None else known.sources:
            if known is not None and source.source == key and source.present:
                yield SessionBatch(
                    key=key,
                    owner=owner,
                    origin=known.origin or like.origin,
                    session_id=known.session_id,
                    project_folder=known.project_folder,
                    seen_ns=like.seen_ns,
                    sources=(replace(repeat_unchanged(source, source.path), copied_from=original),),
                    base_revision=known.revision,
                )

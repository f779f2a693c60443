"""Which sessions began as copies of others.

A fork, a resume of old or a file that somebody copied begins with the lines of another transcript. Which of
them is the original does not depend on the order in which they are archived: it is the one that does not say
that it is a fork, then one whose lines name the session that its file is called by, then the one with the
smallest key. Only one person's sessions are compared: nobody learns here that others have the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from msgspec import Struct, json
from msgspec.structs import replace

from turnlog.ingest.seen import confirm
from turnlog.store.batch import SessionBatch, SourceBatch
from turnlog.store.identity import Scope, SourceKind
from turnlog.store.interface import BEGINNING, Store, StoredSession, Twin
from turnlog.store.rows import LineFact, SessionRow

__all__ = ["note_copies"]


class _Origin(Struct, frozen=True, gc=False):
    """What a session's summary says about where it comes from; the rest of it is not looked at."""

    forked_from: str | None = None


_Rank = tuple[bool, bool, str]

_decode = json.Decoder(_Origin).decode


def note_copies(store: Store, batches: Sequence[SessionBatch]) -> list[SessionBatch]:
    """Return batches in which sessions that are new are said to be copies, where they are.

    Sessions that are there already and turn out to be copies of one of them come behind.
    """
    heads = {batch.key: head for batch in batches if (head := _find_head(batch)) is not None}
    if not heads:
        return [*batches]
    originals: dict[str, str] = {}
    told: dict[str, str | None] = {}
    for uuid in dict.fromkeys(uuid for uuid, _ in heads.values()):
        new = [batch for batch in batches if batch.key in heads and heads[batch.key][0] == uuid]
        stored = [twin for twin in store.list_twins(Scope(new[0].owner), uuid) if twin.key not in heads]
        if len(new) + len(stored) == 1:
            continue
        for ranks in _rank_by_person(store, new, stored, {key: head[1] for key, head in heads.items()}):
            original = min(ranks, key=ranks.__getitem__)
            originals |= {key: original for key in ranks if key != original}
        told |= {twin.key: twin.copied_from for twin in stored}
    known = {batch.key for batch in batches}
    late = [key for key, original in originals.items() if key not in known and told.get(key) != original]
    owner = batches[0].owner
    return [
        *(_say(batch, originals.get(batch.key)) for batch in batches),
        *_restate(store, owner, {key: originals[key] for key in late}, batches[0]),
    ]


def _rank_by_person(
    store: Store, new: Sequence[SessionBatch], stored: Sequence[Twin], heads: Mapping[str, Twin]
) -> Iterable[dict[str, _Rank]]:
    """Return what decides among the sessions of each person of whom some are new."""
    owner = new[0].owner
    persons = {machine.origin: machine.person for machine in store.list_machines(Scope(owner))}
    found: dict[str | None, dict[str, _Rank]] = {}
    for batch in new:
        ranks = found.setdefault(persons.get(batch.origin), {})
        ranks[batch.key] = _rank(heads[batch.key], _get_row(batch))
    for twin in stored:
        session = _find_session(store, owner, twin.key)
        if session is not None and session.person in found:
            found[session.person][twin.key] = _rank(twin, session.row)
    return found.values()


def _find_head(batch: SessionBatch) -> tuple[str, Twin] | None:
    """Return the first message of a session that is new, and of which another line follows it."""
    if batch.base_revision != 0:
        return None
    source = next((each for each in batch.sources if each.source == batch.key), None)
    if source is None or source.kind is not SourceKind.TRANSCRIPT:
        return None
    seen: set[str | None] = set()
    for line in islice(source.lines, BEGINNING):
        if line.parent_uuid is not None and line.parent_uuid in seen:
            return line.parent_uuid, _describe(batch, line)
        seen.add(line.uuid)
    return None


def _describe(batch: SessionBatch, line: LineFact) -> Twin:
    return Twin(key=batch.key, session_id=batch.session_id, told_id=line.session_id)


def _rank(twin: Twin, row: SessionRow | None) -> _Rank:
    is_fork = row is not None and _decode(row.summary).forked_from is not None
    return is_fork, twin.session_id != twin.told_id, twin.key


def _get_row(batch: SessionBatch) -> SessionRow | None:
    return None if batch.derived is None else batch.derived.session


def _find_session(store: Store, owner: str, key: str) -> StoredSession | None:
    found = store.find_sessions(Scope(owner), key)
    return next((stored for stored in found if stored.key == key), None)


def _say(batch: SessionBatch, original: str | None) -> SessionBatch:
    if original is None:
        return batch
    return replace(batch, sources=tuple(_mark(each, batch.key, original) for each in batch.sources))


def _mark(source: SourceBatch, key: str, original: str) -> SourceBatch:
    return replace(source, copied_from=original) if source.source == key else source


def _restate(store: Store, owner: str, originals: dict[str, str], like: SessionBatch) -> Iterable[SessionBatch]:
    for key, original in originals.items():
        known = store.find_known(Scope(owner), key)
        for source in () if known is None else known.sources:
            if known is not None and source.source == key and source.present:
                yield SessionBatch(
                    key=key,
                    owner=owner,
                    origin=known.origin or like.origin,
                    session_id=known.session_id,
                    project_folder=known.project_folder,
                    seen_ns=like.seen_ns,
                    sources=(replace(confirm(source, source.path), copied_from=original),),
                    base_revision=known.revision,
                )

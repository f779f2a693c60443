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
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from msgspec import Struct, json
from msgspec.structs import replace

from turnlog.ingest.seen import confirm
from turnlog.store.batch import SessionBatch, SourceBatch
from turnlog.store.identity import Scope, SourceKind
from turnlog.store.interface import BEGINNING, Store, StoredSession, Twin
from turnlog.store.rows import LineFact, SessionRow

__all__ = ["list_shared", "note_copies"]


class _Origin(Struct, frozen=True, gc=False):
    """What a session's summary says about where it comes from; the rest of it is not looked at."""

    forked_from: str | None = None
    first_prompt: str | None = None


_Rank = tuple[bool, bool, str]
_Group = tuple[object, ...]
"""Whose session it is, and with which message it begins: copies have the same."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
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
    for uuid in dict.fromkeys(head.uuid or "" for head, _ in heads.values()):
        new = [batch for batch in batches if batch.key in heads and heads[batch.key][0].uuid == uuid]
        stored = [twin for twin in store.list_twins(Scope(new[0].owner), uuid) if twin.key not in heads]
        if len(new) + len(stored) == 1:
            continue
        for ranks in _rank_copies(store, new, stored, heads):
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


def list_shared(store: Store, scope: Scope, key: str) -> frozenset[str]:
    """Return the uuids of the lines of other sessions that begin with the same message as this one."""
    lines = _list_transcript(store, scope, key, BEGINNING)
    head = _find_followed(lines)
    if head is None or head[0].uuid is None:
        return frozenset()
    others = [twin.key for twin in store.list_twins(scope, head[0].uuid) if twin.key != key]
    return frozenset(
        line.uuid for other in others for line in _list_transcript(store, scope, other) if line.uuid is not None
    )


def _list_transcript(store: Store, scope: Scope, key: str, count: int | None = None) -> list[LineFact]:
    known = store.find_known(scope, key)
    own = [] if known is None else [source for source in known.sources if source.source == key]
    return [line for each in own for line in store.list_lines(scope, key, each.generation, count=count)]


def _rank_copies(
    store: Store,
    new: Sequence[SessionBatch],
    stored: Sequence[Twin],
    heads: Mapping[str, tuple[LineFact, Twin]],
) -> Iterable[dict[str, _Rank]]:
    """Return what decides among the sessions that are copies of each other, where some of them are new."""
    owner = new[0].owner
    persons = {machine.origin: machine.person for machine in store.list_machines(Scope(owner))}
    found: dict[_Group, dict[str, _Rank]] = {}
    for batch in new:
        head, twin = heads[batch.key]
        row = _get_row(batch)
        found.setdefault((persons.get(batch.origin), *_tell_apart(head, row)), {})[batch.key] = _rank(twin, row)
    uuid = heads[new[0].key][0].uuid
    for twin in stored:
        session = _find_session(store, owner, twin.key)
        first = None if session is None else _find_line(store, owner, twin.key, uuid)
        if session is not None and first is not None:
            group = session.person, *_tell_apart(first, session.row)
            if group in found:
                found[group][twin.key] = _rank(twin, session.row)
    return found.values()


def _tell_apart(head: LineFact, row: SessionRow | None) -> tuple[object, ...]:
    """Return what copies have in common besides the uuid of their first message."""
    is_unique = _UUID.fullmatch(head.uuid or "") is not None
    prompt = None if is_unique or row is None else _decode(row.summary).first_prompt
    return head.type, head.time, prompt


def _find_line(store: Store, owner: str, key: str, uuid: str | None) -> LineFact | None:
    """Return the line of a stored session that has a uuid, if it is among the first."""
    lines = _list_transcript(store, Scope(owner), key, BEGINNING)
    return next((line for line in lines if line.uuid == uuid), None)


def _find_head(batch: SessionBatch) -> tuple[LineFact, Twin] | None:
    """Return the first message of a session that is new, and of which another line follows it."""
    if batch.base_revision != 0:
        return None
    source = next((each for each in batch.sources if each.source == batch.key), None)
    if source is None or source.kind is not SourceKind.TRANSCRIPT:
        return None
    found = _find_followed(islice(source.lines, BEGINNING))
    if found is None:
        return None
    head, follower = found
    return head, Twin(key=batch.key, session_id=batch.session_id, told_id=follower.session_id)


def _find_followed(lines: Iterable[LineFact]) -> tuple[LineFact, LineFact] | None:
    """Return the first message that another line follows, and that line."""
    seen: dict[str | None, LineFact] = {}
    for line in lines:
        if line.parent_uuid is not None and line.parent_uuid in seen:
            return seen[line.parent_uuid], line
        seen.setdefault(line.uuid, line)
    return None


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

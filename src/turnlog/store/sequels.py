"""Whether a batch follows on what a store has: the rules that are the same for every engine."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

from turnlog.errors import ArchiveError, StoreError
from turnlog.store.batch import SessionBatch, SourceBatch
from turnlog.store.identity import Place, Scope
from turnlog.transcripts.files.fingerprints import Change

__all__ = ["ReadBytes", "check_base", "follows", "is_nothing"]

ReadBytes = Callable[[Scope, Place, int], bytes]
"""As `Archive.read`."""


def check_base(batch: SessionBatch, revision: int) -> None:
    """Raise `StoreError` if a session is not in the revision that a batch is based on."""
    if batch.base_revision != revision:
        raise StoreError(
            f"Expected revision {batch.base_revision} of the session {batch.key}, "
            f"found {revision}: another writer was faster"
        )


def is_nothing(source: SourceBatch, *, is_known: bool) -> bool:
    """Tell whether there is nothing to say of a file: it was never seen, and is not there."""
    return not is_known and source.change in (Change.VANISHED, Change.UNREADABLE)


def follows(batch: SourceBatch, scope: Scope, known: tuple[int, int] | None, read: ReadBytes) -> bool:
    """Return whether a batch goes on where the store ends; False if it is what the store ends with.

    `known` are the number and the length of the newest generation. Raises `StoreError` for any other.
    """
    if batch.change in (Change.VANISHED, Change.UNREADABLE):
        return True
    _check_frames(batch)
    number, length = known or (-1, 0)
    if (batch.generation, batch.start) in ((number, length), (number + 1, 0)):
        return True
    if (batch.generation, batch.length) == (number, length) and _has(batch, scope, read):
        return False
    raise StoreError(
        f"Expected bytes of {batch.path} from {length} of generation {number} on, "
        f"found those from {batch.start} of generation {batch.generation}: another writer was faster"
    )


def _has(batch: SourceBatch, scope: Scope, read: ReadBytes) -> bool:
    """Return whether the archive has the same bytes, however they are cut by now."""
    try:
        for frame in batch.frames:
            data = read(scope, Place(batch.source, batch.generation, frame.start), frame.length)
            if blake2b(data, digest_size=16).digest() != frame.digest:
                return False
    except (KeyError, ArchiveError):
        return False
    return True


def _check_frames(batch: SourceBatch) -> None:
    position = batch.start
    for frame in batch.frames:
        if frame.start != position:
            break
        position += frame.length
    if position != batch.length:
        raise StoreError(
            f"Expected frames of {batch.path} from {batch.start} to {batch.length}, they end at {position}"
        )

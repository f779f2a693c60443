"""What a server has of a machine's sessions, as it tells the machine, which goes on from there."""

from __future__ import annotations

from msgspec import Struct

from turnlog.ingest.derivation import DERIVATION
from turnlog.ingest.uploads.protocol import name_bytes, name_text
from turnlog.store.interface import KnownSession, KnownSource
from turnlog.store.model import SourceKind
from turnlog.transcripts.files.fingerprints import Checkpoint


class KeptSource(Struct, frozen=True, gc=False, kw_only=True):
    """What a server has of a file."""

    source: str
    kind: SourceKind
    path: bytes
    present: bool
    generation: int
    length: int
    fingerprint: str
    size: int
    modified_ns: int
    inode: int
    device: int


class KeptSession(Struct, frozen=True, gc=False, kw_only=True):
    """What a server has of a session."""

    key: str
    revision: int
    session_id: bytes
    project_folder: bytes
    sources: tuple[KeptSource, ...]


def tell_session(known: KnownSession) -> KeptSession:
    """Return what a server has of a session, for the machine that it comes from."""
    return KeptSession(
        key=known.key,
        revision=known.revision,
        session_id=name_bytes(known.session_id),
        project_folder=name_bytes(known.project_folder),
        sources=tuple(map(_tell_source, known.sources)),
    )


def _tell_source(known: KnownSource) -> KeptSource:
    last = known.checkpoint or Checkpoint(known.source, known.length, known.length, "")
    return KeptSource(
        source=known.source,
        kind=known.kind,
        path=name_bytes(known.path),
        present=known.present,
        generation=known.generation,
        length=known.length,
        fingerprint=last.fingerprint,
        size=last.size,
        modified_ns=last.modified_ns,
        inode=last.inode,
        device=last.device,
    )


def learn_session(state: KeptSession, origin: str) -> KnownSession:
    """Return what a server has of a session as a sync takes it."""
    return KnownSession(
        key=state.key,
        revision=state.revision,
        session_id=name_text(state.session_id),
        project_folder=name_text(state.project_folder),
        derivation=DERIVATION,  # by which rules rows are made is the server's business
        sources=tuple(map(_learn_source, state.sources)),
        origin=origin,
    )


def _learn_source(state: KeptSource) -> KnownSource:
    return KnownSource(
        source=state.source,
        kind=state.kind,
        path=name_text(state.path),
        present=state.present,
        generation=state.generation,
        length=state.length,
        consumed=0,
        in_array=False,
        lines=0,
        checkpoint=Checkpoint(
            source=state.source,
            offset=state.length,
            size=state.size,
            fingerprint=state.fingerprint,
            inode=state.inode,
            device=state.device,
            modified_ns=state.modified_ns,
            generation=state.generation,
        ),
    )

"""What a machine pushes to a server, and what the server answers: the same on both sides of the wire.

A machine compares its files with what the server has of them, by the rules of any sync, and sends what is new
as stretches of bytes. Each stretch says on what it follows and carries its digest, so a server can check both
before it writes anything. Text that comes from names of files is sent as bytes, because it may be none.
docs/protocol.md describes all of it.
"""

from __future__ import annotations

from enum import StrEnum
from hashlib import blake2b
from typing import TypeVar

import msgspec
import zstandard
from msgspec import Struct

from turnlog.errors import UploadError
from turnlog.ingest.change_check import DERIVATION
from turnlog.store.interface import KnownSession, KnownSource
from turnlog.store.model import SourceKind
from turnlog.transcripts.session_files import Change, Checkpoint

PROTOCOL = 1
"""Which version of all this is spoken; a server that does not know it says so."""
MEDIA_TYPE = "application/octet-stream"
"""What is in it is MessagePack, compressed by zstd."""
CHUNK = 4 << 20
"""How many bytes of files are sent at once, about."""
LARGEST_BODY = 8 << 20
"""Of a request, compressed."""
LARGEST_UPLOAD = 16 << 20
"""Of the same, decompressed."""
_LEVEL = 3
_WINDOW = 8 << 20
"""What decompressing may take in memory."""


class Machine(Struct, frozen=True, gc=False, omit_defaults=True):
    """Who pushes; kept for people to read, nothing rests on it."""

    host: str = ""
    user: str = ""
    version: str = ""


class FileChunk(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What is new of one file."""

    path: bytes
    kind: SourceKind
    change: Change
    generation: int
    start: int = 0
    data: bytes = b""
    digest: bytes = b""
    """Of `data`."""
    size: int
    """Of the whole file, when it was opened."""
    modified_ns: int
    inode: int = 0
    device: int = 0
    source: str = ""
    """What the server calls the file; empty for one that it does not know."""
    follows: str = ""
    """The fingerprint of what the server has of the file."""
    agent_id: bytes | None = None
    run_id: bytes | None = None


class SessionUpload(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What is new of one session, or the first part of it."""

    revision: int
    """The session's revision that it was compared with; 0 if the server does not have it."""
    key: str = ""
    """What the server calls the session; empty for one that it does not know."""
    transcript: bytes
    """Where the transcript is, or would be."""
    session_id: bytes
    project_folder: bytes
    sources: tuple[FileChunk, ...] = ()
    gone: tuple[str, ...] = ()
    """Files that are no longer there."""
    has_more: bool = False
    """Whether further parts follow at once."""


class Upload(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What is new of some sessions of a machine; each is taken by itself."""

    protocol: int
    origin: str
    machine: Machine = Machine()
    sessions: tuple[SessionUpload, ...]


class UploadedDelivery(Struct, frozen=True, gc=False, array_like=True):
    """What a hook was given on the machine."""

    delivery_id: str
    received_ns: int
    payload: bytes


class HookUpload(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Hook deliveries, or the names of some: then the server says which of them it does not have."""

    protocol: int
    origin: str
    machine: Machine = Machine()
    offered: tuple[str, ...] = ()
    deliveries: tuple[UploadedDelivery, ...] = ()


def encode_name(text: str) -> bytes:
    """Return text that may come from the name of a file."""
    return text.encode("utf-8", "surrogateescape")


def decode_name(data: bytes) -> str:
    """Return what `encode_name` was given."""
    return data.decode("utf-8", "surrogateescape")


def digest_of(data: bytes) -> bytes:
    """Return the digest of a stretch."""
    return blake2b(data, digest_size=16).digest()


def encode_upload(upload: Upload | HookUpload) -> bytes:
    """Return the body of a request."""
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(_encode(upload))


def decode_upload(body: bytes, origin: str) -> Upload:
    """Return the upload of a machine in a body, with all of its digests checked; raises `UploadError`."""
    upload = _decode(body, origin, _decode_sessions)
    for chunk in (chunk for session in upload.sessions for chunk in session.sources):
        if digest_of(chunk.data) != chunk.digest:
            raise UploadError("damaged", "The bytes of a chunk do not match their digest")
    return upload


def decode_hooks(body: bytes, origin: str) -> HookUpload:
    """Return the upload of a machine in a body; raises `UploadError`."""
    return _decode(body, origin, _decode_hooks)


_Given = TypeVar("_Given", Upload, HookUpload)


class _Version(Struct, frozen=True):
    protocol: int = 0


_encode = msgspec.msgpack.Encoder().encode
_decode_version = msgspec.msgpack.Decoder(_Version)
_decode_sessions = msgspec.msgpack.Decoder(Upload)
_decode_hooks = msgspec.msgpack.Decoder(HookUpload)


def _decode(body: bytes, origin: str, decoder: msgspec.msgpack.Decoder[_Given]) -> _Given:
    data = _decompress(body)
    try:
        # A version that is not ours may look like anything, so it is asked for first.
        spoken = _decode_version.decode(data).protocol
        if spoken != PROTOCOL:
            raise UploadError("protocol", f"Expected version {PROTOCOL} of the protocol, got {spoken}")
        upload = decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UploadError("damaged", f"The upload cannot be read ({error})") from None
    if upload.origin != origin:
        raise UploadError("another_machine", "The upload comes from another machine than the request says")
    return upload


def _decompress(body: bytes) -> bytes:
    try:
        # The decompressor believes the header and allocates what it says, so it is checked first.
        size = zstandard.frame_content_size(body)
        if size > LARGEST_UPLOAD:
            raise UploadError(
                "too_large", f"Expected at most {LARGEST_UPLOAD:,} bytes, but the header says {size:,}"
            )
        if size < 0:
            raise UploadError("damaged", "The upload does not say how large it is")
        opened = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        return opened.decompress(body, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise UploadError("damaged", f"The upload cannot be decompressed ({error})") from None


class ServerSource(Struct, frozen=True, gc=False, kw_only=True):
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


class ServerSession(Struct, frozen=True, gc=False, kw_only=True):
    """What a server has of a session."""

    key: str
    revision: int
    session_id: bytes
    project_folder: bytes
    sources: tuple[ServerSource, ...]


def to_server_session(known: KnownSession) -> ServerSession:
    """Return what a server has of a session, for the machine that it comes from."""
    return ServerSession(
        key=known.key,
        revision=known.revision,
        session_id=encode_name(known.session_id),
        project_folder=encode_name(known.project_folder),
        sources=tuple(map(_to_server_source, known.sources)),
    )


def _to_server_source(known: KnownSource) -> ServerSource:
    last = known.checkpoint or Checkpoint(known.source, known.length, known.length, "")
    return ServerSource(
        source=known.source,
        kind=known.kind,
        path=encode_name(known.path),
        present=known.present,
        generation=known.generation,
        length=known.length,
        fingerprint=last.fingerprint,
        size=last.size,
        modified_ns=last.modified_ns,
        inode=last.inode,
        device=last.device,
    )


def from_server_session(state: ServerSession, origin: str) -> KnownSession:
    """Return what a server has of a session as a sync takes it."""
    return KnownSession(
        key=state.key,
        revision=state.revision,
        session_id=decode_name(state.session_id),
        project_folder=decode_name(state.project_folder),
        derivation=DERIVATION,  # by which rules rows are made is the server's business
        sources=tuple(map(_from_server_source, state.sources)),
        origin=origin,
    )


def _from_server_source(state: ServerSource) -> KnownSource:
    return KnownSource(
        source=state.source,
        kind=state.kind,
        path=decode_name(state.path),
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


class Outcome(StrEnum):
    """The result for a session in an upload."""

    TAKEN = "taken"
    """It is on the disk."""
    MISMATCH = "mismatch"
    """It does not continue what is stored here; the answer says what is."""
    FORGOTTEN = "forgotten"
    """The session was forgotten here, and is not taken any more."""
    DAMAGED = "damaged"
    """It says what cannot be."""
    BUSY = "busy"
    """It may be tried again."""
    FAILED = "failed"
    """It could not be stored; the server's log says why."""


class SessionAnswer(Struct, frozen=True, gc=False, kw_only=True):
    """The result for a session, and what the server has of it now."""

    outcome: Outcome
    session: ServerSession | None = None
    """null if there is nothing of it."""
    reason: str = ""


class IngestState(Struct, frozen=True, gc=False, kw_only=True):
    """A page of what the server has of a machine's sessions, by key."""

    protocol: int
    """Which version of the protocol the server speaks."""
    sessions: tuple[ServerSession, ...]
    next: str | None = None
    """Pass it as `after` for the next page; null on the last one."""
    forgotten: tuple[str, ...] = ()
    """On the first page: keys of sessions that are no longer accepted."""


class IngestReceipt(Struct, frozen=True, gc=False, kw_only=True):
    """The result of an upload; everything accepted is on disk."""

    sessions: tuple[SessionAnswer, ...]
    """In the order of the upload."""


class HookReceipts(Struct, frozen=True, gc=False, kw_only=True):
    """The result of hook deliveries, which are on disk."""

    kept: int
    missing: tuple[str, ...] = ()
    """Which of the offered deliveries are missing here."""

"""How far a file was read, as bytes: only ever read as a whole."""

from __future__ import annotations

from msgspec import msgpack

from turnlog.transcripts.files.fingerprints import Checkpoint

__all__ = ["decode_checkpoint", "encode_checkpoint"]

_decode_checkpoint = msgpack.Decoder(tuple[bytes, int, int, str, int, int, int, int, bool]).decode


def encode_checkpoint(checkpoint: Checkpoint | None) -> bytes | None:
    """Return a checkpoint as bytes; it is only ever read as a whole."""
    if checkpoint is None:
        return None
    return msgpack.encode(
        (
            checkpoint.source.encode("utf-8", "surrogateescape"),
            checkpoint.offset,
            checkpoint.size,
            checkpoint.fingerprint,
            checkpoint.inode,
            checkpoint.device,
            checkpoint.modified_ns,
            checkpoint.generation,
            checkpoint.in_array,
        )
    )


def decode_checkpoint(data: bytes | None) -> Checkpoint | None:
    """Return what `encode_checkpoint` was given."""
    if data is None:
        return None
    source, offset, size, fingerprint, inode, device, modified_ns, generation, in_array = _decode_checkpoint(
        data
    )
    return Checkpoint(
        source.decode("utf-8", "surrogateescape"),
        offset,
        size,
        fingerprint,
        inode,
        device,
        modified_ns,
        generation,
        in_array,
    )

"""turnlog keeps, explains and shows what Claude Code did."""

from turnlog.errors import (
    ChangeError,
    DecodeError,
    MalformedError,
    ProtocolError,
    TurnlogError,
    UnknownTypeError,
)
from turnlog.messages import (
    UNSET,
    Dialect,
    Entry,
    Line,
    Position,
    Problem,
    ProblemKind,
    Unknown,
    UnknownEntry,
    View,
    decode,
    decode_envelope,
    encode,
)

__all__ = [
    "UNSET",
    "ChangeError",
    "DecodeError",
    "Dialect",
    "Entry",
    "Line",
    "MalformedError",
    "Position",
    "Problem",
    "ProblemKind",
    "ProtocolError",
    "TurnlogError",
    "Unknown",
    "UnknownEntry",
    "UnknownTypeError",
    "View",
    "decode",
    "decode_envelope",
    "encode",
]

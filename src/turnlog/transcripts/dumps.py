"""A dump of a collection: one file with documents of several sessions (spec 003), as `mongoexport` writes it.

Each session in it is read as a file of its own, which does not exist: `<dump>/<session>.jsonl` has all of its
documents byte for byte. `<dump>/<session>.layout.jsonl` says where each of them stands in the dump
and what stands behind it, so that all sessions together give the dump back (`Piece`). Documents that name no
session are of the one before them. Other files with more than one session are no dumps: in Claude Code's own
files, copied lines may name the session that they come from.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

from turnlog.transcripts.session_files import SessionFiles

_LINES, _LAYOUT = ".jsonl", ".layout.jsonl"
_BEGINNING = 1 << 16
_FIRST = 1 << 12
"""How much is read at once until there is a line."""
_DOCUMENT = re.compile(rb'"(?:_id|messageData|costUsd|createdAt|content|created_at|parent_uuid)"')


class Piece(Struct, frozen=True, gc=False, array_like=True):
    """One document of a session: where it stands in the dump, and what stands around it that is of no other."""

    offset: int
    length: int
    behind: str
    """As Latin-1, so that any bytes can stand in it."""
    before: str = ""
    """Of the first document in the dump alone."""


_decode_piece = msgspec.json.Decoder(Piece).decode
_encode_piece = msgspec.json.Encoder().encode


def list_dumped(path: str | os.PathLike[str]) -> list[str]:
    """Return the sessions in a dump, in the order of their first documents; none of any other file."""
    try:
        return list(_index(path)) if os.path.isfile(path) else []
    except OSError:
        return []


def list_offsets(path: str | os.PathLike[str], session: str) -> frozenset[int]:
    """Return where the documents of a session begin in a dump; raises `KeyError` if it is not in it."""
    return frozenset(piece.offset for piece in _index(path)[session])


def list_parts(files: SessionFiles, sessions: Iterable[str]) -> list[SessionFiles]:
    """Return the sessions of a dump as files, as they would lie in a folder of its name."""
    assert files.path is not None
    found: list[SessionFiles] = []
    for session in sessions:
        name = quote(session, safe="")
        path = files.path / f"{name}{_LINES}"
        found.append(
            SessionFiles(session, path, files.project_folder, files.path / name, others=(name_layout(path),))
        )
    return found


def name_part(path: str) -> str:
    """Return which session of a dump a file is of."""
    return unquote(os.path.basename(path).removesuffix(_LINES))


def name_layout(path: str | os.PathLike[str]) -> Path:
    """Return where the layout of a session is, given where its documents are."""
    return Path(os.fspath(path).removesuffix(_LINES) + _LAYOUT)


def read_part(path: str | os.PathLike[str]) -> bytes | None:
    """Return the bytes of a file that a dump stands for; None if there is no such session in it, or no dump."""
    dump, name = os.path.split(os.fspath(path))
    ending = _LAYOUT if name.endswith(_LAYOUT) else _LINES
    pieces = _index(dump).get(unquote(name.removesuffix(ending))) if os.path.isfile(dump) else None
    if pieces is None or not name.endswith(ending):
        return None
    if ending == _LAYOUT:
        return b"".join(_encode_piece(piece) + b"\n" for piece in pieces)
    found: list[bytes] = []
    with open(dump, "rb") as file:
        for piece in pieces:
            file.seek(piece.offset)
            found += file.read(piece.length), b"\n"
    return b"".join(found)


def read_pieces(layout: Iterable[bytes]) -> list[Piece]:
    """Return what a layout says."""
    return [_decode_piece(line) for line in b"".join(layout).split(b"\n") if line]


def _index(path: str | os.PathLike[str]) -> Mapping[str, list[Piece]]:
    """Return the documents of each session of a dump; nothing for any file that is none."""
    status = os.stat(path)
    state = os.fspath(path), status.st_size, status.st_mtime_ns, status.st_ino
    return _build_index(*state) if _is_stored(*state) else {}


@lru_cache(maxsize=4096)
def _is_stored(path: str, size: int, modified_ns: int, inode: int) -> bool:
    """Tell whether a file begins with a stored document; most that do not, one can tell at a glance."""
    with open(path, "rb") as file:
        beginning = file.read(_BEGINNING).lstrip(b"\xef\xbb\xbf \t\r\n")
    line = beginning.split(b"\n", 1)[0]
    if beginning[:1] != b"[" and not (line[:1] == b"{" and (len(line) < 2 or _DOCUMENT.search(line))):
        return False
    first = next(_read_lines(path, chunk_size=_FIRST), None)
    return first is not None and bool(first.dialect.value.startswith("spec-003"))


@lru_cache(maxsize=4)
def _build_index(path: str, size: int, modified_ns: int, inode: int) -> Mapping[str, list[Piece]]:
    spots: list[tuple[int, int, str | None]] = []
    for line in _read_lines(path):
        at = -1 if line.at is None else line.at.offset
        told = getattr(line.entry, "session_id", None)
        spots.append((at, line.length, told if isinstance(told, str) and told else None))
    names = dict.fromkeys(session for _, _, session in spots if session is not None)
    if len(names) < 2:
        return {}
    found: dict[str, list[Piece]] = {name: [] for name in names}
    session = next(iter(names))
    with open(path, "rb") as file:
        ends = [*(at for at, _, _ in spots[1:]), size]
        for number, ((at, length, named), end) in enumerate(zip(spots, ends, strict=True)):
            session = named or session
            file.seek(at + length)
            behind = file.read(end - at - length).decode("latin-1")
            file.seek(0)
            before = "" if number else file.read(at).decode("latin-1")
            found[session].append(Piece(at, length, behind, before))
    return found


def _read_lines(path: str, **options: int) -> Iterator[Any]:
    # An import statement would load all types with this module, or stand inside a function.
    lines: Iterator[Any] = import_module("turnlog.transcripts.line_reader").read_lines(path, **options)
    return lines

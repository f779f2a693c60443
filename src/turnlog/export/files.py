"""Exported files: names, writing them whole or not at all, and a session's own files byte for byte.

A session's files lie under a folder as they lay under their project's: the transcript, and in the session's own
folder sub-agents, metadata, workflows and tool results. Of a file that was rewritten, earlier generations lie
in `earlier/`. Paths come from the archive, which had them from a file system: none may lead out of the folder.
The file of a session that came out of a dump is the dump, put together from all of its sessions; if one of
these was forgotten, it is what the session itself had of it.

What is asked of the archive about one session besides its records is here, too: its transcript, its summary,
and what is wrong in its files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from hashlib import sha256
from pathlib import Path, PurePath

from msgspec import Struct, json

from turnlog.errors import ExportError, RestoreError
from turnlog.messages import Position
from turnlog.store.interface import KnownSession, KnownSource, Store, find_sessions, read_all
from turnlog.store.lists import StoredSession
from turnlog.store.model import Place, Scope, SourceKind
from turnlog.transcripts.agents import LineProblem
from turnlog.transcripts.dumps import Piece, name_layout, read_pieces
from turnlog.transcripts.line_reader import decode_agent_meta, decode_workflow_record
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import list_line_problems
from turnlog.transcripts.summary import Summary

_SIDECARS = (SourceKind.AGENT_META, SourceKind.WORKFLOW)


def find_transcript(known: KnownSession) -> KnownSource | None:
    """Return the session's main file; of several, the first that is still there."""
    found = [source for source in known.sources if source.kind is SourceKind.TRANSCRIPT]
    return min(found, key=lambda source: not source.present, default=None)


def read_summary(store: Store, scope: Scope, stored: StoredSession) -> Summary:
    """Return a session at a glance; raises `KeyError` for one that is not there any more."""
    data = stored.row.summary
    if not data:  # lists leave it out
        found = [each for each in find_sessions(store, scope, stored.key) if each.key == stored.key]
        data = found[0].row.summary if found else b""
    if not data:
        raise KeyError(stored.key)
    return json.decode(data, type=Summary)


def list_problems(
    store: Store, scope: Scope, known: KnownSession, session: SessionRecords
) -> list[LineProblem]:
    """Return what is wrong or unknown in all files of a session, named by their paths."""
    found = list_line_problems(session)
    small = [source for source in known.sources if source.kind in _SIDECARS]
    for source in sorted(small, key=lambda each: (_SIDECARS.index(each.kind), Path(each.path))):
        data = b"".join(read_all(store.archive, scope, source.source, source.generation))
        is_meta = source.kind is SourceKind.AGENT_META
        seen = decode_agent_meta(data) if is_meta else decode_workflow_record(data)
        found += (LineProblem(Position(source.path, 0), problem) for problem in seen.problems)
    return found


_LONGEST = 80


def name_file(name: str, ending: str) -> str:
    """Return a name that any file system takes, for what a session is called."""
    last = re.split(r"[/\\]", name)[-1].removesuffix(".jsonl")
    kept = re.sub(r"[^\w.-]+", "-", last).strip("-.")
    return f"{kept[:_LONGEST] or 'session'}.{ending}"


def name_files(names: Iterable[str], ending: str) -> list[str]:
    """Return a file name for each of some sessions; those that share a name are numbered from 2 on."""
    found: list[str] = []
    used: set[str] = set()
    for name in names:
        first = name_file(name, ending).removesuffix(f".{ending}")
        file, number = f"{first}.{ending}", 1
        while file.casefold() in used:  # some file systems take `A.md` and `a.md` for the same
            number += 1
            file = f"{first}-{number}.{ending}"
        used.add(file.casefold())
        found.append(file)
    return found


def write_file(path: Path, pieces: Iterable[bytes], *, overwrite: bool = False) -> int:
    """Write a file that only its owner may read, and return its size.

    Raises `ExportError` if it is there, unless it may be overwritten, and if it cannot be written.
    """
    if not overwrite:
        refuse_existing(path)
    _make_folder(path.parent)
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    size = 0
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for piece in pieces:
                size += file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except OSError as error:
        raise ExportError(error.strerror or str(error), os.fspath(path)) from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
    return size


def refuse_existing(path: Path) -> None:
    """Raise `ExportError` if a file is there."""
    if path.exists():
        raise ExportError("it already exists; --force overwrites it", os.fspath(path))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExportError(f"the folder cannot be created ({error.strerror})", os.fspath(folder)) from error


_EARLIER = "earlier"


class Outcome(StrEnum):
    """What became of a file."""

    WRITTEN = "written"
    SAME = "same"
    """It was there already, with the same bytes."""
    WOULD_WRITE = "would-write"


class Exported(Struct, frozen=True, gc=False):
    """A file that was given back."""

    source: str
    generation: int
    path: Path
    size: int
    sha256: str
    outcome: Outcome


def export_raw(store: Store, scope: Scope, session: KnownSession, output: Path) -> list[Exported]:
    """Write all files of a session below a folder, which is made if it is not there.

    A file that is there with other bytes is not overwritten: raises `RestoreError`.
    """
    base = _find_base(session)
    dump, sources = _find_dump(store, scope, session)
    found = [] if dump is None else [_give(dump, output / dump.path.name, dry_run=False)]
    for source in sources:
        place = _relative(source, base)
        for generation, _ in store.archive.list_generations(scope, source.source):
            newest = generation == source.generation
            if newest and dump is not None and os.path.dirname(source.path) == os.fspath(dump.path):
                continue
            target = output / place if newest else output / _EARLIER / str(generation) / place
            found.append(_give(_open(store, scope, source, generation), target, dry_run=False))
    return found


def restore_session(
    store: Store,
    scope: Scope,
    session: KnownSession,
    *,
    dry_run: bool = False,
    within: Sequence[Path] | None = None,
) -> list[Exported]:
    """Put the files of a session back where they were, so that `claude --resume` finds them.

    What is there with the same bytes stays; a file with other bytes is never overwritten: raises `RestoreError`
    before anything is written. So it does for a file that would come to lie outside of the folders `within`.
    """
    dump, sources = _find_dump(store, scope, session)
    wanted = [
        _open(store, scope, source, source.generation)
        for source in sources
        if (source.length or source.generation)
        and (dump is None or os.path.dirname(source.path) != os.fspath(dump.path))
    ]
    wanted += [] if dump is None else [dump]
    for file in wanted:
        path = file.path
        if within is not None and not _lies_within(path, within):
            raise RestoreError("is not where Claude Code keeps sessions", os.fspath(path))
        if path.exists() and _digest_file(path) != _hash(file.read()):
            reason = "exists with different content from the archive's; move it out of the way"
            raise RestoreError(reason, os.fspath(path))
    return [_give(file, file.path, dry_run=dry_run) for file in wanted]


class _File(Struct, frozen=True, gc=False):
    """A file to give back."""

    source: str
    generation: int
    path: Path
    """Where it was."""
    read: Callable[[], Iterator[bytes]]


def _open(store: Store, scope: Scope, source: KnownSource, generation: int) -> _File:
    def read() -> Iterator[bytes]:
        return read_all(store.archive, scope, source.source, generation)

    return _File(source.source, generation, Path(source.path), read)


def _find_dump(store: Store, scope: Scope, session: KnownSession) -> tuple[_File | None, list[KnownSource]]:
    """Return the dump that a session came out of, if all of it is there, and the session's own files."""
    own = _find_part(session)
    if own is None:
        return None, [*session.sources]
    part, layout = own
    others = [each for each in session.sources if each is not layout]
    folder = os.path.dirname(part.path)
    found: list[tuple[Piece, Place]] = []
    for each in [*store.list_known(scope, session.origin or None)]:
        sibling = _find_part(each)
        if sibling is not None and os.path.dirname(sibling[0].path) == folder:
            at = 0
            for piece in read_pieces(read_all(store.archive, scope, sibling[1].source, sibling[1].generation)):
                found.append((piece, Place(sibling[0].source, sibling[0].generation, at)))
                at += piece.length + 1
    found.sort(key=lambda each: each[0].offset)
    end = 0
    for piece, _ in found:
        if piece.offset != end + len(piece.before):
            return None, others
        end = piece.offset + piece.length + len(piece.behind)

    def read() -> Iterator[bytes]:
        for piece, at in found:
            data = store.archive.read(scope, at, piece.length)
            yield piece.before.encode("latin-1") + data + piece.behind.encode("latin-1")

    return _File(part.source, part.generation, Path(folder), read), others


def _find_part(session: KnownSession) -> tuple[KnownSource, KnownSource] | None:
    """Return what a session has of a dump, and where that stands in it; None if it came out of none."""
    by_path = {source.path: source for source in session.sources}
    for path, source in by_path.items():
        layout = by_path.get(os.fspath(name_layout(path)))
        if layout is not None and layout is not source:
            return source, layout
    return None


def _give(file: _File, target: Path, *, dry_run: bool) -> Exported:
    digest, size = _hash(file.read())
    source, generation = file.source, file.generation
    if target.exists():
        if _digest_file(target) != (digest, size):
            raise RestoreError("exists with different content", os.fspath(target))
        return Exported(source, generation, target, size, digest, Outcome.SAME)
    if dry_run:
        return Exported(source, generation, target, size, digest, Outcome.WOULD_WRITE)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            for data in file.read():
                out.write(data)
            out.flush()
            os.fsync(out.fileno())
        _put(new, target)
    finally:
        new.unlink(missing_ok=True)
    return Exported(source, generation, target, size, digest, Outcome.WRITTEN)


def _put(new: Path, target: Path) -> None:
    """Give a file its name, unless another one has it by now."""
    try:
        os.link(new, target)
    except FileExistsError:
        raise RestoreError("was created in the meantime", os.fspath(target)) from None
    except OSError:  # not every file system can give a file two names
        os.replace(new, target)


def _lies_within(path: Path, folders: Sequence[Path]) -> bool:
    """Tell whether a file lies below one of some folders, wherever links on the way lead."""
    place = Path(os.path.realpath(path.parent))
    return any(place.is_relative_to(os.path.realpath(folder)) for folder in folders)


def _digest_file(path: Path) -> tuple[str, int]:
    with path.open("rb") as file:
        return _hash(iter(lambda: file.read(1 << 20), b""))


def _hash(pieces: Iterator[bytes]) -> tuple[str, int]:
    digest, size = sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
    return digest.hexdigest(), size


def _find_base(session: KnownSession) -> PurePath:
    """Return the folder that the transcript lies in."""
    own = next((source for source in session.sources if source.source == session.key), None)
    if own is not None:
        return PurePath(own.path).parent
    return PurePath(os.path.commonpath([PurePath(source.path).parent for source in session.sources]))


def _relative(source: KnownSource, base: PurePath) -> PurePath:
    path = PurePath(source.path)
    inside = path.is_relative_to(base) and ".." not in path.parts
    return path.relative_to(base) if inside else PurePath("elsewhere", source.source, path.name)

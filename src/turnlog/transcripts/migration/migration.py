"""Correcting stored tool messages that have the wrong parents (spec 003).

Documents used to be stored with tool messages beside the message they were taken out of, and without the mark
of a sidechain. Readers accept both structures; this rewrites files of such documents, be they one to a line,
an array or the pretty-printed objects of `mongoexport`, and changes no byte but those of the wrong values.

A file is read twice: once for the ids, from which the right parents follow, and once to write it. So memory
holds ids, and never what the documents say. What cannot be told for sure is left as it is, and listed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from turnlog.errors import MigrationError
from turnlog.messages import Position, decode
from turnlog.transcripts.files.records import LineSplitter
from turnlog.transcripts.migration.planner import MigrationPlanner
from turnlog.transcripts.migration.replacement import replacing
from turnlog.transcripts.migration.report import Correction, LeftReason, Migration

OnProgress = Callable[[int, int], None]
"""Is told how many bytes are done, and of how many."""

_CHUNK = 1 << 18
_OWNER_ONLY = stat.S_IRUSR | stat.S_IWUSR


def plan_migration(source: str | Path, *, on_progress: OnProgress | None = None) -> Migration:
    """Return what migrating a file would do; raises as `migrate` does."""
    with _Source(Path(source), on_progress, passes=1) as file:
        return file.plan()


def migrate(
    source: str | Path,
    target: str | Path,
    *,
    in_place: bool = False,
    force: bool = False,
    dry_run: bool = False,
    on_progress: OnProgress | None = None,
) -> Migration:
    """Write the file `source` to `target` with the tool messages corrected, and return what was done.

    `target` is whole or not there: it is written beside its place and moved at the end. Only its owner may read
    it. Migrating again changes nothing; what is migrated in place and has nothing wrong is not touched.

    Raises `MigrationError` if `target` is there and may not be overwritten (`force`), if it is `source` itself
    and that was not asked for (`in_place`), or if `source` changed meanwhile; `OSError` if reading or writing
    fails. With `dry_run` nothing is written, and all else is the same.
    """
    with _Source(Path(source), on_progress, passes=1 if dry_run else 2) as file:
        goal, itself = file.check_target(Path(target), in_place, force)
        plan = file.plan()
        if not dry_run and not (itself and not plan.corrections):
            with replacing(goal, file.mode) as copy:
                file.write(plan, copy)
                if not (itself or force):
                    _check_absent(goal)  # somebody else may have made it meanwhile
        return plan


def _check_absent(target: Path) -> None:
    if os.path.lexists(target):
        raise MigrationError("already exists", os.fspath(target))


class _Source:
    """The file that is migrated, held open from the first look to the last."""

    def __init__(self, path: Path, on_progress: OnProgress | None, passes: int) -> None:
        self._path = path
        self._on_progress = on_progress
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise MigrationError("is not a regular file", os.fspath(path))
        self._file = FileIO(os.fspath(path))
        self._status = os.fstat(self._file.fileno())
        self._total = passes * self._status.st_size
        self._done = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def mode(self) -> int:
        """The permissions of a copy: the owner's, as far as the source gives them."""
        return stat.S_IMODE(self._status.st_mode) & _OWNER_ONLY

    def check_target(self, target: Path, in_place: bool, force: bool) -> tuple[Path, bool]:
        """Return the path to write to, and whether it is the source itself."""
        if target.exists() and os.path.samestat(target.stat(), self._status):
            if not in_place:
                raise MigrationError("is the file to migrate", os.fspath(target))
            return target.resolve(), True
        if not force:
            _check_absent(target)
        if target.is_dir() or not target.parent.is_dir():
            raise MigrationError("cannot be written as a file", os.fspath(target))
        return target, False

    def plan(self) -> Migration:
        """Read the file for the first time, and return what is to be done."""
        planner, source = MigrationPlanner(), os.fspath(self._path)
        splitter = LineSplitter(source)
        for chunk in self._chunks(self._status.st_size):
            for line in splitter.feed(chunk):
                planner.add(line)
        for line in splitter.finish():
            planner.add(line)
        if splitter.tail is not None:
            planner.leave(Position(source, splitter.tail.offset), LeftReason.TORN)
        plan = planner.build()
        self._check_unchanged()
        return plan

    def write(self, plan: Migration, copy: BinaryIO) -> None:
        """Read the file for the second time, and write it with the corrections."""
        self._file.seek(0)
        for correction in plan.corrections:
            copy.writelines(self._chunks(correction.at.offset - self._file.tell()))
            copy.write(self._correct(correction))
            self._tick(correction.size)
        copy.writelines(self._chunks(self._status.st_size - self._file.tell()))
        self._check_unchanged()

    def _chunks(self, size: int) -> Iterator[bytes]:
        """Yield the next bytes, piece by piece; a file that grows meanwhile has no more of them."""
        for done in range(0, size, _CHUNK):
            chunk = self._read(min(size - done, _CHUNK))
            yield chunk
            self._tick(len(chunk))

    def _correct(self, correction: Correction) -> bytes:
        """Read the document that begins here, and return it corrected."""
        line = decode(self._read(correction.size))
        self._check_unchanged()
        changes: dict[str, Any] = {"is_sidechain": True}
        if correction.parent is not None:
            changes["parent_uuid"] = correction.parent
        return line.replace(**changes).raw

    def _read(self, size: int) -> bytes:
        pieces: list[bytes] = []
        while size > 0:
            piece = self._file.read(size)
            if not piece:
                raise self._changed()
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _check_unchanged(self) -> None:
        before, now = self._status, os.fstat(self._file.fileno())
        if (before.st_size, before.st_mtime_ns) != (now.st_size, now.st_mtime_ns):
            raise self._changed()

    def _changed(self) -> MigrationError:
        return MigrationError("changed while it was read", os.fspath(self._path))

    def _tick(self, size: int) -> None:
        self._done += size
        if self._on_progress is not None:
            self._on_progress(min(self._done, self._total), self._total)

"""Reading the files that Claude Code writes, once or again and again while they grow.

A `Checkpoint` says how far a file was read and what stood before that place; `session_files` tells by it what
became of the file, so that an appended line costs its own bytes and not the file's. When the bytes that were
read are no longer there, the file is read from its start as a new generation.

A session file is one object to a line, split on LF alone: U+2028 and its like stand raw inside strings. Real
files also hold two objects glued together, a JSON array, pretty-printed objects, NUL padding left by a crash,
and a last line that is still being written.

Every decision rests on the bytes before it, never on those to come. So it makes no difference in which pieces
the bytes arrive, and reading a growing file gives the lines that reading it at the end gives:

- an object is a line as soon as it is whole and is JSON, with a newline behind it or not;
- what is not an object is one broken line up to the newline; without a newline it waits, as the `Tail`;
- a line that opens an object and ends in `{`, `[` or `,` goes on in the next, unless that one starts anew;
- of an object of over 16 MB (`codec.LONGEST`), or a broken line, the first bytes and the last few are held, and
  the others only counted: it ends where its brackets do, whatever is between them.

The small JSON files beside transcripts may be broken, half written, or nothing that they should be. Whatever is
wrong is a `Problem`, and no more of a file is read than such a file can have.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from enum import Enum
from io import FileIO
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from turnlog.messages import Dialect, Line, Position, Problem, ProblemKind, Unknown, View, codec, decode
from turnlog.messages.codec import recover
from turnlog.messages.salvage import view
from turnlog.messages.sidecars import AgentMeta, WorkflowRecord
from turnlog.transcripts.session_files import Change, Checkpoint, compare, read_windows

META_LIMIT = 1 << 20
"""How many bytes an agent's metadata may have."""
RECORD_LIMIT = 1 << 26
"""How many bytes a workflow's record may have: it holds the script and its result."""

T = TypeVar("T")


def read_agent_meta(path: Path) -> View[AgentMeta]:
    """Read what an agent was started with; the value is an `Unknown` if nothing can be made of the file."""
    return _read(path, AgentMeta, META_LIMIT)


def read_workflow_record(path: Path) -> View[WorkflowRecord]:
    """Read what became of a workflow; the value is an `Unknown` if nothing can be made of the file."""
    return _read(path, WorkflowRecord, RECORD_LIMIT)


def decode_agent_meta(data: bytes) -> View[AgentMeta]:
    """Decode what `read_agent_meta` reads; of a longer file, a byte more than the limit will do."""
    return _decode(data, AgentMeta, META_LIMIT)


def decode_workflow_record(data: bytes) -> View[WorkflowRecord]:
    """Decode what `read_workflow_record` reads; of a longer file, a byte more than the limit will do."""
    return _decode(data, WorkflowRecord, RECORD_LIMIT)


def _read(path: Path, type_: type[T], limit: int) -> View[T]:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return _refuse("a regular file", "something else")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        return _refuse("a file that can be read", getattr(error, "strerror", None) or str(error))
    return _decode(data, type_, limit)


def _decode(data: bytes, type_: type[T], limit: int) -> View[T]:
    if len(data) > limit:
        return _refuse(f"at most {limit} bytes", "more")
    seen = view(type_, data)
    whole = recover(data) if isinstance(seen.value, Unknown) else None
    if whole is not None and whole.dialect is Dialect.UNKNOWN:  # no object at all, and that says why
        return View(seen.value, data, whole.problems)
    return seen


def _refuse(expected: str, found: str) -> View[T]:
    return View(Unknown(b""), b"", (Problem(ProblemKind.MALFORMED, expected, found, ()),))


_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\0"
_BLANKS = re.compile(rb"[ \t\r\0]*+")
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}"]', re.DOTALL)
_BRACKETS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[\[\]{}]', re.DOTALL)
_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+("?)', re.DOTALL)
_OPENERS = (b"{", b"[", b",")
_GOES_ON = b'"{}[],:-0123456789tfn'
_LARGEST_BLOCK = 64 << 20
_BROKEN = -1
_UNKNOWN = Dialect.UNKNOWN  # looking a member up costs time for each line


class Tail(Struct, frozen=True, gc=False):
    """What stands at the end of a file and is not a line yet."""

    offset: int
    size: int


class _Mode(Enum):
    LINES = "lines"
    ARRAY = "array"
    """Between the items of an array, where commas and `]` separate."""
    CLOSED = "closed"
    """Behind an array. Its `]` is not consumed, because a writer that adds an item overwrites it."""


class LineSplitter:
    """Makes lines of the bytes of one source, fed in pieces of any size."""

    def __init__(self, source: str, start: int = 0, in_array: bool = False) -> None:
        self.source = source
        self.consumed = start
        """Where to start reading to get what was not given out yet."""
        self.in_array = in_array
        """Whether `consumed` is a place between the items of an array."""
        self.tail: Tail | None = None
        """What waits for more; known after `finish`."""
        self._mode = _Mode.ARRAY if in_array else _Mode.LINES
        self._at = start  # where the line begins that `_open` holds a part of
        self._open: list[bytes] = []
        self._held = 0  # how long that is
        self._block: list[bytes] = []  # the lines of an object that goes on
        self._block_at = start
        self._block_size = 0
        self._depth = 0
        self._long: _LongText | None = None

    def feed(self, chunk: bytes) -> list[Line]:
        """Take the next bytes, and return the lines that are whole now."""
        lines: list[Line] = []
        if self._long is not None:
            chunk = self._take_long(self._long, chunk, lines)
            if self._long is not None:
                return lines
        pieces = chunk.split(b"\n")
        self._open.append(pieces[0])
        if len(pieces) > 1:
            pieces[0] = b"".join(self._open)
            self._open = [pieces.pop()]
            self._take_whole(pieces, lines)
            self._held = 0
        self._held += len(self._open[-1])
        if self._held > codec.LONGEST:
            self._shorten(lines)
        return lines

    def finish(self) -> list[Line]:
        """Return what is whole though no newline follows; the rest is the `tail`."""
        text = b"".join(self._open)
        self._open = []
        lines: list[Line] = []
        if self._long is not None:
            self.tail = Tail(self._at, self._long.size)
        else:
            self._take_any(text, False, lines)
        return lines

    def _shorten(self, lines: list[Line]) -> None:
        """Give out what is whole of much that is held; of what begins behind it, hold no more than its head."""
        text = b"".join(self._open)
        if self._block:
            self._give(self._take_block(b""), self._at, lines)
        at, _ = self._take_objects(text, 0, False, lines)
        self._at += at
        self._open, self._held = [text[at:]], len(text) - at
        if self._held > codec.LONGEST:
            self._open, self._held = [], 0
            self._long = _LongText()
            self._take_long(self._long, text[at:], lines)

    def _take_long(self, long: _LongText, chunk: bytes, lines: list[Line]) -> bytes:
        """Go on with a long object or a long broken line, and return what is behind its end."""
        newline = chunk.find(b"\n")
        text = chunk if newline < 0 else chunk[:newline]
        end = long.add(text)
        if end is not None:
            line = long.decode(Position(self.source, self._at))
            if line.dialect is not _UNKNOWN:
                self._long = None
                self._give(line, self._at + long.size, lines)
                self._at += long.size
                return chunk[end:]
            long.is_object = False
            long.add(text[end:])
        if newline < 0:
            return b""
        self._long = None
        end_at = self._at + long.size + 1
        self._give(long.decode(Position(self.source, self._at)), end_at, lines)
        self._at = end_at
        return chunk[newline + 1 :]

    def _take_whole(self, pieces: list[bytes], lines: list[Line]) -> None:
        source, at, plain, longest = self.source, self._at, self._is_plain(), codec.LONGEST
        for text in pieces:
            if plain and text[:1] == b"{" and len(text) <= longest:
                line = decode(text.rstrip(_BLANK), at=Position(source, at))
                if line.dialect is not _UNKNOWN:
                    lines.append(line)
                    at += len(text) + 1
                    continue
            if plain:
                self._consume(at)
            self._at = at
            self._take_any(text, True, lines)
            plain = self._is_plain()
            at += len(text) + 1
        self._at = at
        if plain:
            self._consume(at)

    def _is_plain(self) -> bool:
        return self._mode is _Mode.LINES and not self._block

    def _consume(self, offset: int) -> None:
        self.consumed = offset
        self.in_array = self._mode is _Mode.ARRAY

    def _give(self, line: Line, end: int, lines: list[Line]) -> None:
        if self._mode is _Mode.CLOSED:
            self._mode = _Mode.LINES
        lines.append(line)
        self._consume(end)

    def _decode(self, raw: bytes, offset: int) -> Line:
        at = Position(self.source, offset)
        if len(raw) <= codec.LONGEST:
            return decode(raw, at=at)
        return codec.decode_long(raw[: codec.LONGEST], raw[-codec.END :], len(raw), at)

    def _take_any(self, text: bytes, whole: bool, lines: list[Line]) -> None:
        if self._block:
            self._take_more(text, whole, lines)
        else:
            self._take(text, 0, whole, lines)

    def _take(self, text: bytes, at: int, whole: bool, lines: list[Line]) -> None:
        """Give out what is in a text without newlines, from `at` on; `whole` if a newline follows it."""
        at, depth = self._take_objects(text, at, whole, lines)
        if at == len(text):
            return
        if not whole:
            self.tail = Tail(self._at + at, len(text) - at)
        elif depth > 0 and len(text) - at <= codec.LONGEST and text.rstrip(_BLANK).endswith(_OPENERS):
            self._block_at, self._block_size = self._at + at, 0
            self._hold(text[at:], depth)
        else:
            broken = self._decode(text[at:].rstrip(_BLANK), self._at + at)
            self._give(broken, self._at + len(text) + 1, lines)

    def _take_objects(self, text: bytes, at: int, whole: bool, lines: list[Line]) -> tuple[int, int]:
        """Give out the objects from `at` on; return where something else begins, and how deep that is open."""
        while True:
            at = self._skip(text, at, whole)
            if at == len(text):
                return at, _BROKEN
            end, depth = _find_end(text, at, 0) if text[at] == ord("{") else (None, _BROKEN)
            if end is None:
                return at, depth
            line = self._decode(text[at:end], self._at + at)
            if line.dialect is _UNKNOWN:
                return at, _BROKEN
            self._give(line, self._at + end, lines)
            at = end

    def _take_more(self, text: bytes, whole: bool, lines: list[Line]) -> None:
        """Go on with an object that began on a line before."""
        if _starts_anew(text) or self._block_size > _LARGEST_BLOCK or len(text) > codec.LONGEST:
            self._give(self._take_block(b""), self._at, lines)
            self._take(text, 0, whole, lines)
            return
        end, depth = _find_end(text, 0, self._depth)
        if end is not None:
            line = self._decode(b"".join((*self._block, text[:end])), self._block_at)
            if line.dialect is not _UNKNOWN:
                self._block = []
                self._give(line, self._at + end, lines)
                self._take(text, end, whole, lines)
                return
        if not whole:
            self.tail = Tail(self._block_at, self._block_size + len(text))
        elif end is None and depth > 0:
            self._hold(text, depth)
        else:
            self._give(self._take_block(text), self._at + len(text) + 1, lines)

    def _hold(self, text: bytes, depth: int) -> None:
        self._block.append(text + b"\n")
        self._block_size += len(text) + 1
        self._depth = depth

    def _take_block(self, text: bytes) -> Line:
        """Return all that is held, and `text`, as one broken line."""
        raw = b"".join((*self._block, text)).rstrip(_BLANK + b"\n")
        self._block = []
        return self._decode(raw, self._block_at)

    def _skip(self, text: bytes, at: int, whole: bool) -> int:
        """Return where the next thing begins that is no separator; arrays are entered and left on the way."""
        if self._at + at == 0 and text.startswith(_BOM):
            at = len(_BOM)
        while True:
            at = _skip_blanks(text, at)
            sign = text[at : at + 1]
            if self._mode is _Mode.ARRAY and sign in (b",", b"]"):
                self._mode = _Mode.ARRAY if sign == b"," else _Mode.CLOSED
            elif self._mode is not _Mode.ARRAY and sign == b"[" and _opens_array(text, at, whole):
                self._mode = _Mode.ARRAY
            else:
                return at
            at += 1


class _LongText:
    """An object, or a broken line, of which only so much is held as it is read for."""

    def __init__(self) -> None:
        self.size = 0
        self.is_object = True
        """Whether it may yet be one."""
        self._head = self._end = self._behind = self._escape = b""
        self._blanks = self._depth = 0
        self._in_text = False

    def add(self, text: bytes) -> int | None:
        """Take the next bytes; return where in them the object ends, if it does: those behind are not taken."""
        if not self.size:
            self.is_object = text[:1] == b"{"
        end = self._find_end(text) if self.is_object else None
        text = text[:end]
        self.size += len(text)
        self._head += text[: codec.LONGEST - len(self._head)]
        bare = text.rstrip(_BLANK)
        if bare:
            self._end, self._behind = (self._end + self._behind + bare)[-codec.END :], b""
            self._blanks = 0
        self._blanks += len(text) - len(bare)
        self._behind = (self._behind + text[len(bare) :])[-codec.END :]
        return end

    def decode(self, at: Position) -> Line:
        """Return the line that it is, without blanks behind it."""
        length = self.size - self._blanks
        if length <= codec.LONGEST:
            return decode(self._head[:length], at=at)
        return codec.decode_long(self._head, self._end, length, at)

    def _find_end(self, text: bytes) -> int | None:
        data, self._escape = self._escape + text, b""
        at, before = 0, len(data) - len(text)
        if self._in_text and (rest := _REST.match(data)) is not None:
            at, self._in_text = rest.end(), not rest[1]
        for token in () if self._in_text else _BRACKETS.finditer(data, at):
            sign = token[0][:1]
            at, self._in_text = token.end(), sign == b'"' and not token[1]
            self._depth += (sign in b"{[") - (sign in b"}]")
            if self._depth == 0:
                return at - before
            if self._in_text:
                break
        if self._in_text:
            self._escape = data[at:]
        return None


def _skip_blanks(text: bytes, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def _opens_array(text: bytes, at: int, whole: bool) -> bool:
    """Tell whether the `[` at `at` opens an array of objects, and is not just how a line of a log begins."""
    following = text[(behind := _skip_blanks(text, at + 1)) : behind + 1]
    return following in (b"{", b"]") or (following == b"" and whole)


def _starts_anew(text: bytes) -> bool:
    """Tell whether a line cannot be a further line of a pretty-printed object."""
    first = text.lstrip(_BLANK)[:1]
    return text.startswith(b'{"') or (first != b"" and first not in _GOES_ON)


def _find_end(text: bytes, at: int, depth: int) -> tuple[int | None, int]:
    """Return where the value ends that is open `depth` deep at `at`, or None and how deep it is at the end."""
    for token in _TOKEN.finditer(text, at):
        sign = token[0]
        if sign == b"{" or sign == b"[":
            depth += 1
        elif sign == b"}" or sign == b"]":
            depth -= 1
            if depth == 0:
                return token.end(), 0
        elif len(sign) == 1:  # a string that does not end on its line
            return None, _BROKEN
    return None, depth


_CHUNK = 1 << 18


class Reading(Struct, frozen=True, gc=False):
    """What one look at a file gave."""

    change: Change
    lines: tuple[Line, ...] = ()
    checkpoint: Checkpoint | None = None
    """Where to go on; None when the file was never read."""
    tail: Tail | None = None
    """What waits at the end for the rest of its line."""
    more: bool = False
    """Whether reading stopped at the limit."""
    bytes_read: int = 0
    reason: str = ""
    """Why the file is unreadable."""


class LineReader:
    """The lines of one file, read when asked for: memory holds one chunk, or one line if it is larger."""

    def __init__(self, path: str, start: int, source: str, in_array: bool, chunk_size: int) -> None:
        self._path = path
        self._start = start
        self._chunk_size = chunk_size
        self._splitter = LineSplitter(source, start, in_array)
        self._lines = self._read()
        self.bytes_read = 0

    def __iter__(self) -> Iterator[Line]:
        return self._lines

    def __next__(self) -> Line:
        return next(self._lines)

    @property
    def tail(self) -> Tail | None:
        """What waits at the end of the file, once all lines were read."""
        return self._splitter.tail

    def _read(self) -> Iterator[Line]:
        with FileIO(self._path) as file:
            file.seek(self._start)
            while chunk := file.read(self._chunk_size):
                self.bytes_read += len(chunk)
                yield from self._splitter.feed(chunk)
            yield from self._splitter.finish()


def read_lines(
    path: str | Path,
    start: int = 0,
    *,
    source: str | None = None,
    in_array: bool = False,
    chunk_size: int = _CHUNK,
) -> LineReader:
    """Read the lines of a file from the offset `start` on, which must be where a line begins.

    Blank lines are skipped, broken ones are lines with a problem. Raises `OSError` if the file cannot be read.
    """
    name = os.fspath(path)
    return LineReader(name, start, source or name, in_array, chunk_size)


def read_new(
    path: str | Path,
    checkpoint: Checkpoint | None = None,
    *,
    source: str | None = None,
    limit: int | None = None,
    chunk_size: int = _CHUNK,
) -> Reading:
    """Read what came since `checkpoint`, or all of it. A file that cannot be read is a `Change`, not an error.

    With `limit`, reading stops after about so many bytes, but not before it has a line; then `more` is true.
    """
    name = source or (checkpoint.source if checkpoint else os.fspath(path))
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return Reading(Change.UNREADABLE, checkpoint=checkpoint, reason="not a regular file")
        with FileIO(os.fspath(path)) as file:
            return _Visit(file, checkpoint, name).read(limit, chunk_size)
    except (FileNotFoundError, NotADirectoryError):
        return Reading(Change.VANISHED, checkpoint=checkpoint)
    except OSError as error:
        reason = error.strerror or str(error)
        return Reading(Change.UNREADABLE, checkpoint=checkpoint, reason=reason)


class _Visit:
    """One open file, compared with what is known of it, and read on."""

    def __init__(self, file: FileIO, checkpoint: Checkpoint | None, source: str) -> None:
        self._file = file
        self._known = checkpoint
        self._source = source
        self._status = os.fstat(file.fileno())
        self._bytes_read = 0

    def read(self, limit: int | None, chunk_size: int) -> Reading:
        change = Change.NEW
        if self._known is not None:
            change, _ = compare(self._known, self._status, self._window)
        known = self._known if change in (Change.APPENDED, Change.UNCHANGED) else None
        start, in_array = (known.offset, known.in_array) if known else (0, False)
        splitter = LineSplitter(self._source, start, in_array)
        lines, more = self._lines(splitter, limit, chunk_size)
        if known is not None:
            change = Change.APPENDED if splitter.consumed > known.offset else Change.UNCHANGED
        generation = 0 if self._known is None else self._known.generation + (known is None)
        checkpoint = self._checkpoint(splitter, generation)
        return Reading(change, tuple(lines), checkpoint, splitter.tail, more, self._bytes_read)

    def _lines(self, splitter: LineSplitter, limit: int | None, chunk_size: int) -> tuple[list[Line], bool]:
        lines: list[Line] = []
        left = limit
        self._file.seek(splitter.consumed)
        while chunk := self._read(chunk_size if limit is None else max(1, min(chunk_size, limit))):
            lines += splitter.feed(chunk)
            if left is not None:
                left -= len(chunk)
                if left <= 0 and lines:
                    return lines, True
        lines += splitter.finish()
        return lines, False

    def _checkpoint(self, splitter: LineSplitter, generation: int) -> Checkpoint:
        status = self._status
        return Checkpoint(
            source=self._source,
            offset=splitter.consumed,
            size=status.st_size,
            fingerprint=read_windows(splitter.consumed, self._window).fingerprint,
            inode=status.st_ino,
            device=status.st_dev,
            modified_ns=status.st_mtime_ns,
            generation=generation,
            in_array=splitter.in_array,
        )

    def _window(self, start: int, size: int) -> bytes:
        self._file.seek(start)
        return self._read(size)

    def _read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._bytes_read += len(data)
        return data

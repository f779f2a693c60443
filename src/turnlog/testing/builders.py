"""Lines and batches for tests, valid and the same each time.

`make_batch` does in memory what a look at a session's files does: it compares them with what the store knows
and says what is new. No file is read, so a test can have a session in any state that it wants.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from types import MappingProxyType

import msgspec

from turnlog.ingest.contents import Content
from turnlog.messages import Line
from turnlog.store.batch import Derived, SessionBatch, SourceBatch
from turnlog.store.frames import cut_frames
from turnlog.store.interface import KnownSession, KnownSource
from turnlog.store.model import SourceKind, name_source
from turnlog.testing.row_builders import TIME, FileLines, make_derived
from turnlog.transcripts.line_reader import LineSplitter
from turnlog.transcripts.session_files import Change, Checkpoint

OWNER = "local"
ORIGIN = "here"
_FOLDER = "-work-project"
_NONE: Mapping[str, str] = MappingProxyType({})
_DATE = "2026-01-02T{:02}:{:02}:{:02}.000Z"


def make_line(
    number: int = 0,
    *,
    type: str = "user",
    text: str = "hello",
    session_id: str = "session-1",
    agent_id: str | None = None,
    message_id: str | None = None,
    **more: object,
) -> bytes:
    """Return a line with its newline: of a chain, in which it follows on the line with the number before."""
    name = f"{session_id}-{agent_id or 'main'}"
    content: object = [{"type": "text", "text": text}] if type == "assistant" else text
    message: dict[str, object] = {"role": type, "content": content}
    if type == "assistant":
        message["id"] = message_id or f"msg-{name}-{number}"
        message["model"] = "claude-test-1"
        message["usage"] = {"input_tokens": 10 + number, "output_tokens": 20 + number}
    entry: dict[str, object] = {
        "parentUuid": f"{name}-{number - 1}" if number else None,
        "isSidechain": agent_id is not None,
        "cwd": "/home/ada/project",
        "sessionId": session_id,
        "type": type,
        "message": message,
        "uuid": f"{name}-{number}",
        "timestamp": _DATE.format(number // 3600 % 24, number // 60 % 60, number % 60),
        **({} if agent_id is None else {"agentId": agent_id}),
        **more,
    }
    return msgspec.json.encode(entry) + b"\n"


def make_lines(
    count: int, *, first: int = 0, session_id: str = "session-1", agent_id: str | None = None
) -> bytes:
    """Return lines of a chain: prompts, and an answer behind each."""
    return b"".join(
        make_line(
            number,
            type="assistant" if number % 2 else "user",
            text=f"line {number}",
            session_id=session_id,
            agent_id=agent_id,
        )
        for number in range(first, first + count)
    )


def make_key(session_id: str = "session-1", *, origin: str = ORIGIN, project_folder: str = _FOLDER) -> str:
    """Return the key of a session: the source that its transcript is, there or not."""
    return name_source(origin, _full_path(project_folder, f"{session_id}.jsonl"))


def make_batch(
    files: Mapping[str, bytes],
    *,
    session_id: str = "session-1",
    known: KnownSession | None = None,
    moved: Mapping[str, str] = _NONE,
    derived: Derived | None = None,
    owner: str = OWNER,
    origin: str = ORIGIN,
    project_folder: str = _FOLDER,
    seen_ns: int = TIME * 1000,
) -> SessionBatch:
    """Return what a look at a session gives whose files are `files`, by their paths in the project's folder.

    Of the files that are `known`, those that are not among them have vanished; those that go on as they were
    are appended to, all others start a new generation. `moved` tells by new paths under which ones files were
    first seen. Without `derived`, records are made of the files that are there.
    """
    before = {source.source: source for source in known.sources} if known else {}
    looks: list[_Look] = []
    for path, data in files.items():
        source = name_source(origin, _full_path(project_folder, moved.get(path, path)))
        kind = _tell_kind(path, session_id)
        looks.append(_Look(source, kind, _full_path(project_folder, path), data, before.pop(source, None)))
    gone = [_vanish(source) for source in before.values() if source.present]
    if derived is None and any(look.is_new for look in looks):
        emptied = tuple(source.source for source in before.values() if source.kind.has_lines)
        derived = make_derived(
            session_id, tuple(look.lines() for look in looks), folder=project_folder, emptied=emptied
        )
    return SessionBatch(
        key=make_key(session_id, origin=origin, project_folder=project_folder),
        owner=owner,
        origin=origin,
        session_id=session_id,
        project_folder=project_folder,
        seen_ns=seen_ns,
        sources=(*(look.batch() for look in looks if look.is_new or look.is_elsewhere), *gone),
        derived=derived,
    )


class _Look:
    """One file, compared with what is known of it."""

    def __init__(
        self, source: str, kind: SourceKind, path: str, data: bytes, known: KnownSource | None
    ) -> None:
        self.source = source
        self.kind = kind
        self.path = path
        self.data = data
        self.known = known
        self.change = self._compare()
        goes_on = self.change in (Change.UNCHANGED, Change.APPENDED)
        self.base = known if goes_on else None
        self.generation = 0 if known is None else known.generation + (not goes_on)

    @property
    def is_new(self) -> bool:
        return self.change is not Change.UNCHANGED

    @property
    def is_elsewhere(self) -> bool:
        return self.known is not None and (self.path != self.known.path or not self.known.present)

    def batch(self) -> SourceBatch:
        start = self.base.length if self.base else 0
        lines, consumed, in_array = self._read(self.base)
        content = Content(self.source, self.kind, self.base)
        content.add(self.data)
        content.finish()
        frames = tuple(cut_frames(self.data[start:], start)) if len(self.data) > start else ()
        agent = self.path.rpartition("/agent-")[2].partition(".")[0]
        return SourceBatch(
            source=self.source,
            kind=self.kind,
            path=self.path,
            generation=self.generation,
            change=self.change,
            start=start,
            length=len(self.data),
            frames=frames,
            sealed=frames[-1].start if len(frames) > 1 else 0,
            consumed=consumed,
            in_array=in_array,
            checkpoint=self._checkpoint(consumed, in_array),
            lines=len(lines),
            texts=content.texts,
            texts_from=content.texts_from,
            agent_id=agent if self.kind in (SourceKind.AGENT, SourceKind.AGENT_META) else None,
        )

    def lines(self) -> FileLines:
        return FileLines(self.source, self.kind, self._read(None)[0])

    def _compare(self) -> Change:
        if self.known is None:
            return Change.NEW
        checkpoint = self.known.checkpoint
        if checkpoint is None:
            return Change.REPLACED
        if len(self.data) < self.known.length:
            return Change.TRUNCATED
        if _fingerprint(self.data[: self.known.length]) != checkpoint.fingerprint:
            return Change.REWRITTEN
        return Change.APPENDED if len(self.data) > self.known.length else Change.UNCHANGED

    def _read(self, base: KnownSource | None) -> tuple[tuple[Line, ...], int, bool]:
        if not self.kind.has_lines:
            return (), 0, False
        start, in_array = (base.consumed, base.in_array) if base else (0, False)
        splitter = LineSplitter(self.source, start, in_array)
        lines = (*splitter.feed(self.data[start:]), *splitter.finish())
        return lines, splitter.consumed, splitter.in_array

    def _checkpoint(self, consumed: int, in_array: bool) -> Checkpoint:
        return Checkpoint(
            source=self.source,
            offset=consumed,
            size=len(self.data),
            fingerprint=_fingerprint(self.data),
            inode=7,
            device=1,
            modified_ns=TIME * 1000 + len(self.data),
            generation=self.generation,
            in_array=in_array,
        )


def _vanish(known: KnownSource) -> SourceBatch:
    return SourceBatch(
        source=known.source,
        kind=known.kind,
        path=known.path,
        generation=known.generation,
        change=Change.VANISHED,
        start=known.length,
        length=known.length,
        consumed=known.consumed,
        in_array=known.in_array,
        checkpoint=known.checkpoint,
        agent_id=known.agent_id,
        run_id=known.run_id,
        copied_from=known.copied_from,
    )


def _fingerprint(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _full_path(project_folder: str, path: str) -> str:
    return f"/projects/{project_folder}/{path}"


def _tell_kind(path: str, session_id: str) -> SourceKind:
    folder, _, name = path.rpartition("/")
    if path == f"{session_id}.jsonl":
        return SourceKind.TRANSCRIPT
    if name.startswith("agent-"):
        return SourceKind.AGENT if name.endswith(".jsonl") else SourceKind.AGENT_META
    if name == "journal.jsonl":
        return SourceKind.JOURNAL
    if folder.endswith("/tool-results"):
        return SourceKind.TOOL_RESULT
    if name.endswith(".json"):
        return SourceKind.WORKFLOW if folder.endswith("/workflows") else SourceKind.META
    return SourceKind.TRANSCRIPT if name.endswith(".jsonl") else SourceKind.OTHER

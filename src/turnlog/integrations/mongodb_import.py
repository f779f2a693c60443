"""Sessions out of a MongoDB database into the archive: `turnlog sync mongodb://…`.

A database is read from its beginning to its end, in the order in which it has its documents: that is the order
in which they were written. `messages` is where spec 003 has them; claudelens has `messages_2025_08` and the
like as well, and says in `sessions` and `projects` what they are about.

Each session becomes a file in turnlog's own directory, a document on each line as `mongoexport` writes it, so
that no type is lost. What is new is appended. Where a document changed, its line is replaced in a file that
takes the place of the old one, which the archive keeps as an earlier generation. What was deleted from the
database stays. So the files say themselves what is there already, and a run that was killed needs nothing else
to go on.

What the archive itself exported into the database is not taken in once more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from bson import json_util
from bson.codec_options import CodecOptions, DatetimeConversion
from msgspec import Raw, Struct

from turnlog.atomic_files import make_folder, write_file
from turnlog.errors import MongoError
from turnlog.ingest.captured_files import append_lines
from turnlog.integrations.mongodb import MESSAGES, PROJECTS, SESSIONS, Documents, list_exported
from turnlog.transcripts.session_files import project_folder_name

__all__ = ["Imported", "Importer", "list_collections"]

_COLLECTION = re.compile(rf"{MESSAGES}(_\d{{4}}_\d\d)?")
_OPTIONS: CodecOptions[Any] = CodecOptions(tz_aware=True, datetime_conversion=DatetimeConversion.DATETIME_AUTO)
_FORM = json_util.RELAXED_JSON_OPTIONS
_TOGETHER = 32 << 20
"""How many bytes wait until they are written."""
_NAME = re.compile(r"(?!agent-)[A-Za-z0-9_-]{1,200}")
_NOWHERE = "no-session"
"""What documents that name no session are kept as."""
_dump = json.JSONEncoder(
    ensure_ascii=False,
    allow_nan=False,
    separators=(",", ":"),
    default=partial(json_util.default, json_options=_FORM),
).encode


class Imported(Struct, kw_only=True):
    """What came of reading a database."""

    documents: int = 0
    """All that it has."""
    sessions: int = 0
    added: int = 0
    """Documents that are new."""
    changed: int = 0
    own: int = 0
    """Documents that this archive exported, or that are of a session that was forgotten."""


class _Id(Struct):
    id: Raw = msgspec.field(name="_id")


_read = msgspec.json.Decoder(_Id).decode


def encode_document(document: Mapping[str, Any]) -> bytes:
    """Return a document as JSON, with what JSON has no type for as `mongoexport` writes it."""
    try:
        return _dump(document).encode()
    except (ValueError, UnicodeEncodeError):  # numbers that are none
        return json_util.dumps(document, json_options=_FORM).encode("utf-8", "backslashreplace")


def list_collections(database: Documents) -> list[str]:
    """Return the collections that have messages, the oldest first; raises `MongoError` if there are none."""
    found = sorted(name for name in database.list_collection_names() if _COLLECTION.fullmatch(name))
    if not found:
        raise MongoError(f"the database {database.name} has no collection `{MESSAGES}`")
    return found


def read_documents(database: Documents) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all messages of a database, each with its collection."""
    for name in list_collections(database):
        for document in database.get_collection(name, codec_options=_OPTIONS).find():
            yield name, document


class _SessionFile:
    """The lines of one session."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._digests: dict[bytes, bytes] = {}
        self._new: dict[bytes, bytes] = {}
        self._changed: dict[bytes, bytes] = {}
        for line in self._read():
            self._digests[bytes(_read(line).id)] = _digest(line)

    def add(self, line: bytes) -> int | None:
        """Take a document, and return how many bytes it is if it is new; negative if it has changed."""
        id, digest = bytes(_read(line).id), _digest(line)
        known = self._digests.get(id)
        if known == digest:
            return None
        self._digests[id] = digest
        is_new = known is None or id in self._new
        (self._new if is_new else self._changed)[id] = line
        return len(line) if known is None else -len(line)

    def save(self) -> None:
        """Write what was taken; the file is whole at any moment."""
        new = [line + b"\n" for line in self._new.values()]
        if self._changed or not self._is_whole():
            lines = [self._changed.get(bytes(_read(line).id), line) + b"\n" for line in self._read()]
            make_folder(self.path.parent)
            write_file(self.path, b"".join([*lines, *new]))
        elif new:
            append_lines(self.path, new)
        self._new, self._changed = {}, {}

    def _read(self) -> list[bytes]:
        """Return the lines of the file, without one that was not written to its end."""
        return self.path.read_bytes().split(b"\n")[:-1] if self.path.exists() else []

    def _is_whole(self) -> bool:
        if not self.path.exists() or not self.path.stat().st_size:
            return True
        with self.path.open("rb") as file:
            file.seek(-1, 2)
            return file.read() == b"\n"


class Importer:
    """Writes what a database has into files, as often as it is asked to."""

    def __init__(
        self, database: Documents, folder: Path, *, exported: Path, forgotten: Collection[str]
    ) -> None:
        """Take the folder for the files, where it stands what was `exported`, and what was forgotten."""
        self._database = database
        self._root = folder / "projects"
        self._exported = exported
        self._forgotten = forgotten
        self._files: dict[str, _SessionFile] = {}
        self._projects: dict[str, str] = {}

    def run(self, on_progress: Callable[[int, int], None] = lambda done, total: None) -> Imported:
        """Read the whole database, and write what is new."""
        done = Imported()
        total = sum(
            self._database[name].estimated_document_count() for name in list_collections(self._database)
        )
        self._projects = self._read_projects()
        own = list_exported(self._exported)
        there = {path.stem: path for path in self._root.glob("*/*.jsonl")}
        sessions: set[str] = set()
        waiting = 0
        for collection, document in read_documents(self._database):
            done.documents += 1
            if done.documents % 1000 == 0:
                on_progress(done.documents, total)
            told = document.get("sessionId")
            session = told if isinstance(told, str) and told else _NOWHERE
            if f"{collection}/{document['_id']}" in own or session in self._forgotten:
                done.own += 1
                continue
            sessions.add(session)
            size = self._find_file(session, document, there).add(encode_document(document))
            if size is None:
                continue
            done.added += size > 0
            done.changed += size < 0
            waiting += abs(size)
            if waiting > _TOGETHER:
                self._save()
                waiting = 0
        self._save()
        done.sessions = len(sessions)
        return done

    def _save(self) -> None:
        for file in self._files.values():
            file.save()

    def _find_file(self, session: str, document: Mapping[str, Any], there: Mapping[str, Path]) -> _SessionFile:
        if session not in self._files:
            name = session if _NAME.fullmatch(session) else f"session-{_digest(session.encode()).hex()}"
            cwd = document.get("cwd")
            project = (
                self._projects.get(session) or (cwd if isinstance(cwd, str) else "") or self._database.name
            )
            usual = self._root / project_folder_name(project) / f"{name}.jsonl"
            self._files[session] = _SessionFile(there.get(name, usual))
        return self._files[session]

    def _read_projects(self) -> dict[str, str]:
        """Return the paths of the projects that sessions are of."""
        paths = {each["_id"]: each.get("path") for each in self._database[PROJECTS].find({}, {"path": 1})}
        found = {
            each.get("sessionId"): paths.get(each.get("projectId"))
            for each in self._database[SESSIONS].find({}, {"sessionId": 1, "projectId": 1})
        }
        return {
            session: path
            for session, path in found.items()
            if isinstance(session, str) and isinstance(path, str)
        }


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=8).digest()

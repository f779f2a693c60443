"""A MongoDB database of spec 003's documents that follows the archive: `turnlog export --to mongodb://…`.

Each message is a document in `messages`, as `turnlog export --format json` writes it. `sessions` and `projects`
list what there is in the form in which claudelens keeps them. New documents are inserted, changed ones
replaced.

*Whose a document is* stands in ledgers on this machine, one for each session: first what is about to be
written, with a digest, and behind it that it was. Only what stands there is ever replaced or deleted, and
documents of a session that left the archive only if it was forgotten. What somebody else wrote is left alone. A
run that was killed goes on from there: what it was about to write is inserted once more, and if it is there
already, it is known by what it says. The collection `turnlog` has a number for each archive that writes, so
that a ledger notices that the database is another one, or older than it is itself.

*What BSON cannot hold* is written as near to it as can be: names with `.` or `$` in them with the full-width
forms of these, integers of more than 64 bits as text, halves of characters as escapes. What a server refuses
all the same, as some do arrays in arrays, is written once more with such values as JSON text.

Passwords stand in no address that others could see and in no message; they are handed over apart from it.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from enum import IntEnum
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import parse_qsl, quote, unquote
from uuid import uuid4

import bson
import msgspec
from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument
from msgspec import Struct
from pymongo import ASCENDING, MongoClient, ReplaceOne
from pymongo.collection import Collection as MongoCollection
from pymongo.database import Database
from pymongo.errors import BulkWriteError, OperationFailure, PyMongoError

from turnlog.atomic_files import write_file
from turnlog.errors import MongoError
from turnlog.export.conversation import EVERYTHING, Selection, learn_secrets
from turnlog.export.documents import encode_documents
from turnlog.export.files import read_summary
from turnlog.export.redaction import RedactionRules, Redactor
from turnlog.ingest.captured_files import append_lines, lock_file
from turnlog.ingest.machine import find_origin
from turnlog.instants import find_moment
from turnlog.store.interface import EVERY, MaintainedStore
from turnlog.store.lists import SessionFilter, StoredSession
from turnlog.store.model import LOCAL

__all__ = ["Exported", "Exporter", "name_database", "open_database"]

MESSAGES = "messages"
SESSIONS, PROJECTS, MARKERS = "sessions", "projects", "turnlog"
LEDGERS = "mongodb"
"""The folder in turnlog's own directory that has the ledgers."""
Documents = Database[Any]

_ADDRESS = re.compile(r"(mongodb(?:\+srv)?)://(?:([^/?#]*)@)?([^/?#@]+)(?:/([^?#]*))?(?:\?([^#]*))?", re.DOTALL)
_DATABASE = re.compile(r'[^\s/\\."$*<>:|?\0]+')
_LONGEST_NAME = 60
_WAITS = {"serverselectiontimeoutms": 10_000, "connecttimeoutms": 10_000, "sockettimeoutms": 120_000}
"""How long a server may take, in milliseconds, unless the address says otherwise."""


@contextmanager
def open_database(address: str, password: str | None = None) -> Iterator[Documents]:
    """Yield the database that an address names; raises `MongoError`, also for what goes wrong meanwhile."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise MongoError("Expected an address such as mongodb://user@host:27017/database")
    scheme, person, hosts, name, asked = found.groups(default="")
    options = {key.lower() for key, _ in parse_qsl(asked, keep_blank_values=True)}
    if ":" in person or any(key.endswith("password") for key in options):
        # Lists of processes and histories of shells have it by now, but no log of ours.
        raise MongoError(
            "Everybody on this machine can see a password on the command line: put it into "
            "TURNLOG_MONGODB_PASSWORD or a file (--password-file), and only the user into the address"
        )
    if not _DATABASE.fullmatch(unquote(name)):
        raise MongoError(f"Expected the name of a database behind {scheme}://{hosts}/")
    given: dict[str, Any] = {key: value for key, value in _WAITS.items() if key not in options}
    given |= {"username": unquote(person), "password": password} if person else {}
    with _reporting(hosts, password):
        address = f"{scheme}://{hosts}/{name}{'?' if asked else ''}{asked}"
        client: MongoClient[Any] = MongoClient(address, appname="turnlog", **given)
        try:
            yield client[unquote(name)]
        finally:
            client.close()


@contextmanager
def _reporting(hosts: str, password: str | None) -> Iterator[None]:
    """Turn what a driver or a server complains about into one line that tells no secret."""
    try:
        yield
    except (PyMongoError, BSONError, ValueError) as error:
        told = describe(error)
        raise MongoError(f"{hosts}: {told.replace(password, '***') if password else told}") from None


def describe(error: Exception) -> str:
    """Return what went wrong in a line, without what a driver says of itself."""
    details = error.details if isinstance(error, OperationFailure) else None
    first = next(iter((details or {}).get("writeErrors", ())), details) or {}
    text = str(first.get("errmsg") or error) or type(error).__name__
    return " ".join(re.split(r" \(configured timeouts|, Timeout: |, full error: ", text)[0].split())


def name_database(address: str) -> str:
    """Return a name for files that is another one for each database, whoever asks for it."""
    found = _ADDRESS.fullmatch(address)
    _, _, hosts, name, _ = ("",) * 5 if found is None else found.groups(default="")
    digest = blake2b(f"{','.join(sorted(hosts.lower().split(',')))}/{name}".encode(), digest_size=6).hexdigest()
    return f"{name[:_LONGEST_NAME]}-{digest}"


_ITEMS = {"$oid": bson.ObjectId, "$numberInt": int, "$numberLong": int, "$numberDouble": float}
_DATE, _DECIMAL = "$date", "$numberDecimal"
_CLEANED = str.maketrans({".": "\uff0e", "\0": "\u2400"})
_DEEPEST = 80
"""Servers know a hundred levels."""
_LONGEST = 15 << 20
"""Bytes of a document, of which servers take 16 MiB."""
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def to_bson(data: bytes, *, plain: bool = False) -> dict[str, Any]:
    """Return a document that a server takes, made of JSON; a `plain` one even by servers that take little."""
    try:
        value, is_broken = _decode(data), False
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # halves of characters
        value, is_broken = json.loads(data.decode("utf-8", "replace")), True
    found: dict[str, Any] = _convert(value, plain, is_broken, 0, False)
    return found


def _convert(value: Any, plain: bool, is_broken: bool, depth: int, is_inner: bool) -> Any:
    kind = type(value)
    if kind is str:
        return value.encode("utf-8", "backslashreplace").decode() if is_broken else value
    if kind is int and not -(1 << 63) <= value < 1 << 63:
        return str(value)
    if kind is dict:
        if len(value) == 1 and (item := _read_item(value)) is not None:
            return item
    elif kind is not list:
        return value
    if depth > _DEEPEST or (kind is list and plain and is_inner):
        return json.dumps(value)
    if kind is list:
        return [_convert(each, plain, is_broken, depth + 1, True) for each in value]
    return {
        key if key.isidentifier() and not is_broken else _clean_name(key): _convert(
            each, plain, is_broken, depth + 1, False
        )
        for key, each in value.items()
    }


def _clean_name(name: str) -> str:
    name = name.encode("utf-8", "backslashreplace").decode().translate(_CLEANED)
    return f"\uff04{name[1:]}" if name.startswith("$") else name


def _read_item(value: dict[str, Any]) -> Any:
    """Return what a value is that a database exported with its type; None for anything else."""
    [(key, told)] = value.items()
    with suppress(ValueError, TypeError, BSONError, OverflowError):
        if key in _ITEMS:
            return _ITEMS[key](told)
        if key == _DECIMAL:
            return float(told)
        if key == _DATE and isinstance(told, str):
            return datetime.fromisoformat(told)
    return None


def _shorten(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document that is not too large: what it says twice is left out first."""
    kept = {key: value for key, value in document.items() if key not in ("messageData", "message")}
    if len(bson.encode(kept)) > _LONGEST and isinstance(kept.get("content"), str):
        rest = len(bson.encode({**kept, "content": ""}))
        kept["content"] = kept["content"].encode()[: max(0, _LONGEST - rest)].decode("utf-8", "ignore")
    return kept


class _State(IntEnum):
    WRITTEN = 0
    NEW = 1
    """About to be inserted."""
    CHANGED = 2
    """About to be replaced."""


class _Record(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A line of a ledger; what it says holds in the order of its fields."""

    done: bool = False
    """What the record before was about to write is written."""
    gone: tuple[str, ...] = ()
    new: dict[str, str] = {}
    changed: dict[str, str] = {}
    signature: str | None = None
    """All is written, as of this state of the session."""
    project: str = ""
    """With a signature: what its project is called there."""
    first: dict[str, str] = {}
    """With a signature: the uuid of its first message, by the session that this names."""


class _Entry(Struct, frozen=True, gc=False):
    digest: str
    state: _State
    is_repeated: bool = False
    """Whether an earlier run was about to insert it in another form, which may be what is there."""


_MOST_RECORDS = 64


class _Ledger:
    """What was written of one session, by collection and id."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: dict[str, _Entry] = {}
        self.signature: str | None = None
        self.project = ""
        self.first: dict[str, str] = {}
        self._intended: list[str] = []
        self._records = 0
        if path.exists():
            for line in path.read_bytes().split(b"\n"):
                with suppress(msgspec.DecodeError):  # a process was killed while it wrote
                    self._apply(msgspec.json.decode(line, type=_Record))

    def add(self, record: _Record) -> None:
        """Add a record; what is about to be written is on the disk when this returns."""
        line = _encode(record) + b"\n"
        if record.new or record.changed or not self.path.exists():
            append_lines(self.path, [line])
        else:  # if it is lost, what it says is found out again
            with self.path.open("ab") as file:
                file.write(line)
        self._apply(record)
        if record.signature is not None and self._records > _MOST_RECORDS:
            self.rewrite(_State.WRITTEN)

    def rewrite(self, state: _State) -> None:
        """Write the ledger anew, with all entries in one state; only what is written has a signature."""
        signature = self.signature if state is _State.WRITTEN else None
        self.entries = {name: _Entry(entry.digest, state) for name, entry in self.entries.items()}
        told = {name: entry.digest for name, entry in self.entries.items()}
        is_done = state is _State.WRITTEN
        whole = (
            _Record(changed=told),
            _Record(done=is_done, signature=signature, project=self.project, first=self.first),
        )
        write_file(self.path, b"".join(_encode(each) + b"\n" for each in whole))
        self.signature, self._records = signature, len(whole)

    def _apply(self, record: _Record) -> None:
        self._records += 1
        if record.done:
            for name in self._intended:
                self.entries[name] = _Entry(self.entries[name].digest, _State.WRITTEN)
        for name in record.gone:
            self.entries.pop(name, None)
        for told, state in ((record.new, _State.NEW), (record.changed, _State.CHANGED)):
            self.entries |= {name: self._intend(name, digest, state) for name, digest in told.items()}
        self._intended = [*record.new, *record.changed]
        self.signature, self.project, self.first = record.signature, record.project, record.first

    def _intend(self, name: str, digest: str, state: _State) -> _Entry:
        known = self.entries.get(name)
        if state is not _State.NEW or known is None or known.state is not _State.NEW:
            return _Entry(digest, state)
        return _Entry(digest, state, known.is_repeated or known.digest != digest)


def list_exported(folder: Path) -> set[str]:
    """Return what ledgers in a folder have: collections and ids, with a slash between them."""
    return {name for path in folder.glob("*.jsonl") for name in _Ledger(path).entries}


class Exported(Struct, kw_only=True):
    """What came of an export; of a dry run, what would."""

    sessions: int = 0
    """Those that were not as they had been."""
    unchanged: int = 0
    """Sessions."""
    added: int = 0
    """Documents, as are all that follow."""
    changed: int = 0
    deleted: int = 0
    left: int = 0
    """They were there already, and somebody else wrote them."""
    refused: int = 0
    """The server takes them in no form."""
    reason: str | None = None
    """Why it refused one."""


class _Target(Struct, frozen=True):
    """Which database ledgers are about, and how many times it was written to."""

    token: str
    run: int


_TOGETHER, _REPLACED = 1000, 50
_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
SETTLING = 2.0
"""How many seconds a server is given after a run that was killed: it may still be at work on what came last."""
_FORMAT = 1
"""Raised when documents of the same session become others."""
_INDEXES = (("sessionId", "timestamp"), ("parentUuid",), ("type",), ("isSidechain",))
_KNOWN_INDEX = {85, 86}
"""Codes of servers that have an index on the same fields by another name, or with other options."""
_DUPLICATE = 11000
_EXTRACTED = re.compile(r"_(?:tool|result)_\d+$")
_Progress = Callable[[int, int], None]


class Exporter:
    """Brings a database up to date, as often as it is asked to; while it is open, no other process does."""

    def __init__(
        self,
        store: MaintainedStore,
        home: Path,
        database: Documents,
        name: str,
        *,
        rules: RedactionRules | None,
        selection: Selection = EVERYTHING,
        force: bool = False,
        dry_run: bool = False,
    ) -> None:
        """Take whose sessions go where, and by which `name` its ledgers go.

        With `force`, all is written again, and what others wrote is replaced.
        """
        self._store = store
        self._database = database
        self._origin = find_origin(home)
        self._folder = home / LEDGERS / name
        self._rules = rules
        self._selection = selection
        self._force = force
        self._dry_run = dry_run
        self._copies = _Copies(store)
        self._done = Exported()
        self._is_begun = False
        self._running: Future[None] | None = None
        self._firsts: dict[str, str] = {}
        """By their ids, the first messages of sessions: if a session lies in several files, it is one here."""
        self._is_plain = False
        """Whether the server has refused what it then took in plainer form."""

    @contextmanager
    def open(self) -> Iterator[None]:
        """Hold the ledgers; raises `MongoError` if another process does."""
        try:
            with lock_file(self._folder / "lock", waits=False) as file:
                if os.fstat(file).st_size:
                    time.sleep(SETTLING)
                os.write(file, b".")
                yield
                os.ftruncate(file, 0)
        except BlockingIOError:
            raise MongoError(f"another process is exporting to {self._database.name}") from None

    def run(
        self, keys: Collection[str] | None = None, on_progress: _Progress = lambda done, total: None
    ) -> Exported:
        """Bring some sessions up to date, or all, which deletes what is left of those that were forgotten."""
        self._done = Exported()
        if not self._dry_run and not self._is_begun:
            self._begin()
        self._is_begun = True
        asked = SessionFilter(archived=None)
        sessions = [*self._store.list_sessions(LOCAL, asked, limit=EVERY).sessions]
        sessions.sort(key=lambda each: (each.row.first_time or 0, each.key))
        epoch = self._store.read_feed(LOCAL).epoch
        self._copies.update(sessions)
        wanted = [each for each in sessions if keys is None or each.key in keys]
        projects: dict[str, bytes] = {}
        self._running, self._firsts = None, {}
        with ThreadPoolExecutor(1) as writer:
            for number, session in enumerate(wanted):
                self._export(session, epoch, projects, writer)
                on_progress(number + 1, len(wanted))
            self._hand_over(writer, lambda: None)
        ledger = self._open_ledger(PROJECTS)
        self._write(ledger, PROJECTS, projects)
        if keys is None and sessions:
            self._delete_forgotten({each.key for each in sessions})
            self._delete(ledger, ledger.entries.keys() - {f"{PROJECTS}/{id}" for id in projects})
        return self._done

    def follow(
        self,
        stop: Event,
        refresh: Callable[[], None],
        on_run: Callable[[Exported], None],
        on_failure: Callable[[str, float], None],
    ) -> None:
        """Export what is new in the archive, time and again, until told to stop; `refresh` is called before.

        What fails is told with how many seconds it will be until the next time; only the first time it raises.
        """
        seen, pause = -1, _PAUSE
        while not stop.is_set():
            refresh()
            last = self._store.read_feed(LOCAL).last
            if last != seen:
                try:
                    on_run(self.run())
                except PyMongoError as error:
                    if seen < 0:
                        raise
                    on_failure(describe(error), pause)
                    stop.wait(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
                    continue
                seen, pause, self._force = last, _PAUSE, False
            stop.wait(_PAUSE)

    def _begin(self) -> None:
        """Make the indexes, and see whether the database is what the ledgers are about."""
        for fields in _INDEXES:
            try:
                self._database[MESSAGES].create_index([(field, ASCENDING) for field in fields])
            except OperationFailure as error:
                if error.code not in _KNOWN_INDEX:
                    raise
        markers = self._database[MARKERS]
        there = markers.find_one({"_id": self._origin}) or {}
        path = self._folder / "target.json"
        known = msgspec.json.decode(path.read_bytes(), type=_Target) if path.exists() else None
        token, run = there.get("token"), there.get("run", 0)
        if known is not None and (token != known.token or run < known.run):
            for each in self._folder.glob("*.jsonl"):
                if token != known.token:
                    each.unlink()
                else:  # it was put back from a backup, and may have anything of what was written
                    _Ledger(each).rewrite(_State.CHANGED)
        if token is None:
            token = uuid4().hex
            markers.insert_one({"_id": self._origin, "token": token, "run": 0})
        run = max(run, 0 if known is None or known.token != token else known.run) + 1
        markers.update_one({"_id": self._origin}, {"$set": {"run": run}})
        write_file(path, _encode(_Target(token, run)))

    def _open_ledger(self, name: str) -> _Ledger:
        return _Ledger(self._folder / f"{quote(name, safe='')}.jsonl")

    def _export(
        self, session: StoredSession, epoch: str, projects: dict[str, bytes], writer: ThreadPoolExecutor
    ) -> None:
        ledger = self._open_ledger(session.key)
        title = session.marks.name or session.row.title
        shared = sorted(self._copies.list_shared(session.key))
        state = (_FORMAT, epoch, session.revision, title, self._rules, self._selection, shared)
        firsts = {**self._firsts}
        if ledger.signature == _sign(state, firsts, ledger.first) and not self._force:
            self._done.unchanged += 1
            if ledger.project:
                projects.setdefault(*_build_project(ledger.project))
            self._firsts |= {name: uuid for name, uuid in ledger.first.items() if name not in firsts}
            return
        self._done.sessions += 1
        project = session.row.project or session.project_folder
        wanted: set[str] = set()
        begun: dict[str, str] = {}
        with self._store.open_session(LOCAL, session.key) as records:
            summary = read_summary(self._store, LOCAL, session)
            redactor = None if self._rules is None else Redactor(self._rules)
            if redactor is not None:
                learn_secrets(records, redactor)
                project = redactor.redact(project)
                title = None if title is None else redactor.redact(title)
            documents = encode_documents(
                records, summary, self._selection, redactor=redactor, shared=self._copies
            )
            while some := [*islice(documents, _TOGETHER)]:
                batch: dict[str, bytes] = {}
                for data in some:
                    head = _read(data)
                    begun.setdefault(head.session, head.uuid)
                    batch[head.id] = _hang(data, firsts.get(head.session))
                wanted |= {f"{MESSAGES}/{id}" for id in batch}
                self._hand_over(writer, self._write, ledger, MESSAGES, batch)
        self._firsts |= {name: uuid for name, uuid in begun.items() if name not in firsts}
        listed: dict[str, bytes] = {}
        if session.row.session_id is not None:
            listed = dict([_build_session(session, project, title)])
            projects.setdefault(*_build_project(project))
        wanted |= {f"{SESSIONS}/{id}" for id in listed}
        signature = _sign(state, firsts, begun)
        record = _Record(signature=signature, project=project if listed else "", first=begun)
        self._hand_over(writer, self._finish, ledger, listed, wanted, record)

    def _hand_over(self, writer: ThreadPoolExecutor, work: Callable[..., None], *given: Any) -> None:
        """Have something done while the next documents are made, when what was to be done before is."""
        if self._running is not None:
            self._running.result()
        self._running = writer.submit(work, *given)

    def _finish(
        self, ledger: _Ledger, listed: Mapping[str, bytes], wanted: Collection[str], record: _Record
    ) -> None:
        self._write(ledger, SESSIONS, listed)
        self._delete(ledger, ledger.entries.keys() - wanted)
        if not self._dry_run:
            ledger.add(record)

    def _write(self, ledger: _Ledger, collection: str, batch: Mapping[str, bytes]) -> None:
        """Write what is new or changed of some documents, which are given as JSON by their ids."""
        new: dict[str, str] = {}
        changed: dict[str, str] = {}
        for id, data in batch.items():
            digest = blake2b(data, digest_size=8).hexdigest()
            known = ledger.entries.get(f"{collection}/{id}")
            if known is None or known.state is _State.NEW:
                new[id] = digest
            elif known.state is _State.CHANGED or known.digest != digest or self._force:
                changed[id] = digest
        is_counted = collection == MESSAGES
        self._done.added += len(new) * is_counted
        self._done.changed += len(changed) * is_counted
        if self._dry_run or not (new or changed):
            return
        before = {id: ledger.entries.get(f"{collection}/{id}") for id in new}
        told = [{f"{collection}/{id}": digest for id, digest in each.items()} for each in (new, changed)]
        ledger.add(_Record(new=told[0], changed=told[1]))
        goal = self._database[collection]
        there, refused = self._insert(goal, {id: batch[id] for id in new})
        there_before = [id for id in there if self._force or before[id] is not None]
        own = self._find_own(goal, there_before, batch, before, new) if there_before else {}
        left = [id for id in there if id not in own]
        refused += self._replace(goal, {id: batch[id] for id in [*changed, *(id for id in own if own[id])]})
        self._done.left += len(left) * is_counted
        self._done.refused += len(refused) * is_counted
        self._done.added -= sum(id in new for id in (*left, *refused)) * is_counted
        self._done.changed -= sum(id in changed for id in refused) * is_counted
        ledger.add(_Record(done=True, gone=tuple(f"{collection}/{id}" for id in (*left, *refused))))

    def _insert(self, goal: MongoCollection[Any], batch: Mapping[str, bytes]) -> tuple[list[str], list[str]]:
        """Insert documents, and return which are there already, and which the server refuses."""
        there: list[str] = []
        for plain in (self._is_plain, True):
            ids = [*batch]
            try:
                if batch:
                    goal.insert_many([_pack(each, plain=plain) for each in batch.values()], ordered=False)
                    self._is_plain = plain
                return there, []
            except BulkWriteError as error:
                failed = {ids[each["index"]]: each for each in error.details["writeErrors"]}
            there += (id for id, each in failed.items() if each["code"] == _DUPLICATE)
            batch = {id: batch[id] for id, each in failed.items() if each["code"] != _DUPLICATE}
            self._done.reason = next((each["errmsg"] for id, each in failed.items() if id in batch), None)
        return there, [*batch]

    def _find_own(
        self,
        goal: MongoCollection[Any],
        there: Sequence[str],
        batch: Mapping[str, bytes],
        before: Mapping[str, _Entry | None],
        digests: Mapping[str, str],
    ) -> dict[str, bool]:
        """Return which of the documents that are there are our own, and whether they have to be replaced."""
        found: dict[str, bool] = {}
        wanted = {to_bson(batch[id])["_id"]: id for id in there}
        for document in goal.find({"_id": {"$in": [*wanted]}}):
            id = wanted[document["_id"]]
            known = before[id]
            forms = (bson.decode(_pack(batch[id], plain=plain).raw) for plain in (False, True))
            if self._force:
                found[id] = True
            elif known is not None and (known.is_repeated or known.digest != digests[id]):
                # The session went on since then.
                found[id] = document.get("sessionId") == to_bson(batch[id]).get("sessionId")
            elif known is not None and document in forms:
                found[id] = False
        return found

    def _replace(self, goal: MongoCollection[Any], batch: Mapping[str, bytes]) -> list[str]:
        """Replace documents, and return which of them the server refuses."""
        if not batch:
            return []
        packed = {id: _pack(each) for id, each in batch.items()}
        changes = [_replacement(each) for each in packed.values()]
        try:
            # Some servers look through the whole collection for each of them, and must answer in time.
            for start in range(0, len(changes), _REPLACED):
                goal.bulk_write(changes[start : start + _REPLACED], ordered=False)
            return []
        except (BulkWriteError, KeyError, OperationFailure):
            pass  # each by itself says which it is; some servers answer with less than the driver reads
        refused: list[str] = []
        for id, document in packed.items():
            for form in (document, _pack(batch[id], plain=True)):
                try:
                    goal.replace_one({"_id": form["_id"]}, form, upsert=True)
                    break
                except OperationFailure as error:
                    self._done.reason = describe(error)
            else:
                refused.append(id)
        return refused

    def _delete(self, ledger: _Ledger, names: Collection[str]) -> None:
        """Delete documents that we wrote."""
        self._done.deleted += sum(name.startswith(f"{MESSAGES}/") for name in names)
        if self._dry_run or not names:
            return
        by_collection: dict[str, list[Any]] = {}
        for name in names:
            collection, _, id = name.partition("/")
            by_collection.setdefault(collection, []).append(id if collection == MESSAGES else bson.ObjectId(id))
        for collection, ids in by_collection.items():
            for start in range(0, len(ids), _TOGETHER):
                self._database[collection].delete_many({"_id": {"$in": ids[start : start + _TOGETHER]}})
        ledger.add(_Record(gone=tuple(names)))

    def _delete_forgotten(self, present: Collection[str]) -> None:
        for tombstone in self._store.list_tombstones(LOCAL):
            ledger = self._open_ledger(tombstone.key)
            if tombstone.key not in present and ledger.path.exists():
                self._delete(ledger, [*ledger.entries])
                if not self._dry_run:
                    ledger.path.unlink()


class _Copies:
    """Which uuids stand in several sessions: their documents are named after both."""

    def __init__(self, store: MaintainedStore) -> None:
        self._store = store
        self._sessions: dict[str, tuple[int, frozenset[str]]] = {}
        self._counts: Counter[str] = Counter()

    def __contains__(self, uuid: object) -> bool:
        """Tell whether a document needs the longer name; so do those of lines without a uuid."""
        return isinstance(uuid, str) and ("@" in uuid or self._counts[_EXTRACTED.sub("", uuid)] > 1)

    def update(self, sessions: Iterable[StoredSession]) -> None:
        """Read which uuids there are in sessions that changed."""
        now = {each.key: each.revision for each in sessions}
        for key, (revision, uuids) in [*self._sessions.items()]:
            if now.get(key) != revision:
                self._counts.subtract(uuids)
                del self._sessions[key]
        for key in now.keys() - self._sessions.keys():
            with self._store.open_session(LOCAL, key) as records:
                lines = (line for chapter in records.chapters for line in chapter.list_lines())
                uuids = frozenset(line.uuid for line in lines if line.uuid is not None)
            self._sessions[key] = now[key], uuids
            self._counts.update(uuids)

    def list_shared(self, key: str) -> list[str]:
        """Return which of a session's uuids other sessions have, too."""
        return [uuid for uuid in self._sessions[key][1] if self._counts[uuid] > 1]


class _Head(Struct):
    """How every document of a message begins."""

    id: str = msgspec.field(name="_id")
    uuid: str = ""
    session: str = msgspec.field(name="sessionId", default="")


_read = msgspec.json.Decoder(_Head).decode


def _sign(state: tuple[object, ...], firsts: Mapping[str, str], begun: Iterable[str]) -> str:
    """Return by what it is noticed that a session's documents may have changed."""
    told = {name: firsts[name] for name in begun if name in firsts}
    return blake2b(_encode((*state, told)), digest_size=8).hexdigest()


def _hang(data: bytes, parent: str | None) -> bytes:
    """Return a document that hangs under a message if it is an answer that hangs under none."""
    head, found, rest = data.partition(b',"type":"assistant",')
    if not (parent and found and b'"parentUuid":null' in head and b'"type":' not in head):
        return data
    return head.replace(b'"parentUuid":null', b'"parentUuid":' + _encode(parent), 1) + found + rest


def _pack(data: bytes, *, plain: bool = False) -> RawBSONDocument:
    document = to_bson(data, plain=plain)
    packed = bson.encode(document)
    return RawBSONDocument(packed if len(packed) <= _LONGEST else bson.encode(_shorten(document)))


def _replacement(document: RawBSONDocument) -> ReplaceOne[Any]:
    return ReplaceOne({"_id": document["_id"]}, document, upsert=True)


def _build_session(session: StoredSession, project: str, title: str | None) -> tuple[str, bytes]:
    """Return a session as lists have it, by its id."""
    row = session.row
    id = _make_id(row.session_id or session.key)
    document: dict[str, Any] = {"_id": {"$oid": id}, "sessionId": row.session_id}
    document |= {"projectId": {"$oid": _make_id(project)}, "messageCount": row.messages}
    if title is not None:
        document["summary"] = title
    first, last = find_moment(row.first_time), find_moment(row.last_time)
    times = {"startedAt": first, "endedAt": last, "createdAt": first, "updatedAt": last}
    dates = {name: {_DATE: time.isoformat()} for name, time in times.items() if time is not None}
    return id, _encode(document | dates)


def _build_project(path: str) -> tuple[str, bytes]:
    id = _make_id(path)
    document = {"_id": {"$oid": id}, "name": re.split(r"[/\\]", path.rstrip("/\\"))[-1], "path": path}
    return id, _encode(document)


def _make_id(name: str) -> str:
    return blake2b(name.encode("utf-8", "backslashreplace"), digest_size=12).hexdigest()

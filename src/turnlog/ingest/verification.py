"""Checking the store against itself, session by session, and repairing what disagrees.

The bytes are the truth. Each frame is opened and checked against its digest; from the bytes follow the lines,
from the lines the records. What disagrees is listed with its place, and the rest is checked all the same.

In a repair, what follows from the bytes is written anew, and damaged bytes are taken from the file outside.
Nothing is guessed: bytes are taken only if they have the digest of what was archived. A session whose files are
not all known any more is left as it is, since rows that follow from the rest would be wrong.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from turnlog.errors import StoreError
from turnlog.ingest.change_check import DERIVATION, is_outdated
from turnlog.ingest.contents import DERIVED_FROM, RECORDED, Content, LineCache
from turnlog.ingest.derivation import Part, assemble
from turnlog.store.batch import ChapterBatch, Derived, OutlineBatch, TextFact
from turnlog.store.interface import (
    Flaw,
    KnownSession,
    KnownSource,
    MaintainedStore,
    Maintenance,
    find_known,
    find_sessions,
    read_all,
)
from turnlog.store.model import Place, Scope, SourceKind
from turnlog.store.usage_recount import RecountedUsage, list_differences
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.queries.sessions import SessionActions
from turnlog.transcripts.segments import AGENTS, TURNS, OutlineKind, PackedSegment, unpack_segment

_MOST = 20
"""How many disagreements of one kind are listed for a session; the rest is only counted."""
_UNREADABLE = (StoreError, KeyError, ValueError, msgspec.MsgspecError)
"""What comes of rows that are damaged themselves."""
_SECTIONS = (
    ("line", "number"),
    ("message", "index"),
    ("call", "index"),
    ("event", "line"),
    ("sighting", "offset"),
)
"""The records of a segment, and what they are known by."""
T = TypeVar("T")


class Subject(StrEnum):
    """What a finding is about."""

    STORE = "store"
    """The store contradicts itself, whatever the bytes say."""

    BYTES = "bytes"
    """The archive has not what it was given."""
    LINES = "lines"
    """What is known of lines is not what the bytes say."""
    TEXTS = "texts"
    """What is searched is not what the lines say."""
    ROWS = "rows"
    """Records do not follow from the lines."""


class Disagreement(Struct, frozen=True, gc=False):
    """Something that is not as it should be."""

    session: str
    subject: Subject
    where: str
    message: str


class Verified(Struct, frozen=True):
    """A session that was checked, with what should be there in place of what disagrees."""

    disagreements: tuple[Disagreement, ...]
    lines: dict[str, int]
    """How many lines files have, by source, where that disagrees."""
    derived: Derived | None
    """None where bytes are missing, so that nothing follows."""
    texts: dict[tuple[str, int], Iterable[TextFact]]
    """What is searched of generations, where that disagrees."""


def verify_session(store: MaintainedStore, scope: Scope, known: KnownSession) -> Verified:
    """Check one session."""
    return _Verification(store, scope, known).run()


class _Verification:
    def __init__(self, store: MaintainedStore, scope: Scope, known: KnownSession) -> None:
        self._store = store
        self._scope = scope
        self._known = known
        self._found: list[Disagreement] = []
        self._lines: dict[str, int] = {}
        self._texts: dict[tuple[str, int], Iterable[TextFact]] = {}
        self._cache = LineCache()

    def run(self) -> Verified:
        contents: dict[str, Content] = {}
        whole = True
        for source in self._known.sources:
            for generation, length in self._store.archive.list_generations(self._scope, source.source):
                content = self._read(source, generation, length)
                whole = whole and content is not None
                if content is not None and generation == source.generation:
                    contents[source.source] = content
        derived = self._derive(contents) if whole and contents else None
        if derived is not None and is_outdated(self._known):
            self._report(Subject.ROWS, "session", "was derived by older rules; the next sync derives it again")
        elif derived is not None:
            self._compare_records(derived)
        return Verified(tuple(self._found), self._lines, derived, self._texts)

    def _read(self, source: KnownSource, generation: int, length: int) -> Content | None:
        archive, scope = self._store.archive, self._scope
        content = Content(
            source.source,
            source.kind,
            cache=self._cache,
            read_archive=lambda start, size: archive.read(scope, Place(source.source, generation, start), size),
        )
        where = f"{source.path} (generation {generation})"
        size = 0
        try:
            for piece in read_all(archive, scope, source.source, generation):
                content.add(piece)
                size += len(piece)
        except _UNREADABLE as error:
            self._report(Subject.BYTES, where, _explain_damage(error))
            return None
        content.finish()
        if size != length:
            self._report(Subject.BYTES, where, f"{length} bytes were archived, {size} are present")
        if generation == source.generation and content.new != source.lines:
            self._lines[source.source] = content.new
            self._report(Subject.LINES, where, f"{source.lines} lines are known, {content.new} are there")
        if not is_outdated(self._known):
            # Only the newest generation is searched.
            texts = content.texts if generation == source.generation else ()
            self._compare_texts(where, source.source, generation, texts)
        return content

    def _compare_texts(self, where: str, source: str, generation: int, texts: Iterable[TextFact]) -> None:
        told = self._load(
            Subject.TEXTS, where, lambda: self._store.check_texts(self._scope, source, generation, texts)
        )
        if told is None or told:
            self._texts[source, generation] = texts
        for message in told or ():
            self._report(Subject.TEXTS, where, message)

    def _derive(self, contents: dict[str, Content]) -> Derived:
        # As when the session was last looked at: what is there comes before what is gone.
        sources = sorted(self._known.sources, key=lambda source: not source.present)
        parts: list[Part] = []
        has_main = False
        for source in sources:
            is_main = source.kind is SourceKind.TRANSCRIPT
            if source.kind in DERIVED_FROM and not (has_main and is_main):
                has_main = has_main or is_main
                parts.append(Part(source.path, source.kind, source.run_id, contents[source.source]))
        built = assemble(parts, self._known.project_folder)
        emptied = [each.source for each in sources if each.kind in RECORDED]
        return built.derive(emptied, is_final=True)

    def _compare_records(self, derived: Derived) -> None:
        found = self._load(Subject.ROWS, "session", self._list_sessions)
        if found is not None:
            self._compare(Subject.ROWS, "session", found, [derived.session], "")
        with self._store.open_session(self._scope, self._known.key) as session:
            for outline in derived.outline:
                self._compare_outline(session, outline)
            files = self._load(Subject.ROWS, "session", lambda: {each.source: each for each in session.files})
            if files is not None:
                for chapter in derived.chapters:
                    self._compare_chapter(files.get(chapter.source), chapter)

    def _compare_outline(self, session: SessionActions, expected: OutlineBatch) -> None:
        kind: OutlineKind[Any] = TURNS if expected.kind == TURNS.name else AGENTS
        name = expected.kind.removesuffix("s")
        ask: Callable[[], Sequence[Any]] = session.list_turns if kind is TURNS else session.list_agents
        stored = self._load(Subject.ROWS, name, ask)
        if stored is not None:
            wanted = [record for _, data in expected.parts for record in kind.unpack(data)]
            self._compare(Subject.ROWS, name, stored, wanted, "index")

    def _compare_chapter(self, file: Chapter | None, expected: ChapterBatch) -> None:
        where = self._name("segment", expected.source)
        heads = [] if file is None else file.heads
        if len(heads) != expected.count:
            message = f"{len(heads)} segments are there, {expected.count} should be"
            self._report(Subject.ROWS, where, message)
        for packed in expected.segments[: len(heads)]:
            if heads[packed.head.number] != packed.head:
                self._report(Subject.ROWS, where, f"the head of segment {packed.head.number} differs")
            if file is not None:
                self._compare_segment(file, expected.source, packed)

    def _compare_segment(self, file: Chapter, source: str, expected: PackedSegment) -> None:
        where = self._name("segment", source)
        found = self._load(Subject.ROWS, where, lambda: file.load(expected.head.number))
        wanted = unpack_segment(expected.data)
        if found is None or found == wanted:
            return
        before = len(self._found)
        for name, key in _SECTIONS:
            subject = Subject.LINES if name == "line" else Subject.ROWS
            stored = self._load(subject, where, partial(getattr, found, f"{name}s"))
            if stored is not None:
                self._compare(subject, self._name(name, source), stored, getattr(wanted, f"{name}s"), key)
        if len(self._found) == before:
            # Branches follow from messages; what they disagree about alone is theirs.
            self._report(Subject.ROWS, where, f"the branches of segment {expected.head.number} differ")

    def _name(self, kind: str, source: str) -> str:
        """Return what records of a file are called: those of agents by their file."""
        found = next(each for each in self._known.sources if each.source == source)
        return kind if found.kind is SourceKind.TRANSCRIPT else f"{kind} of {Path(found.path).name}"

    def _list_sessions(self) -> list[Any]:
        found = find_sessions(self._store, self._scope, self._known.key)
        return [stored.row for stored in found if stored.key == self._known.key]

    def _load(self, subject: Subject, where: str, ask: Callable[[], T]) -> T | None:
        try:
            return ask()
        except _UNREADABLE as error:
            self._report(subject, where, f"cannot be read: {_explain_damage(error)}")
            return None

    def _compare(
        self,
        subject: Subject,
        where: str,
        stored: Sequence[Any],
        expected: Sequence[Any],
        key: str,
    ) -> None:
        """Compare records, which are known by one of their fields."""
        if list(stored) == list(expected):
            return
        told = list(_list_differences(stored, expected, lambda row: f"row {getattr(row, key) if key else 0}"))
        for message in told[:_MOST]:
            self._report(subject, where, message)
        if len(told) > _MOST:
            self._report(subject, where, f"and {len(told) - _MOST} more")

    def _report(self, subject: Subject, where: str, message: str) -> None:
        self._found.append(Disagreement(self._known.key, subject, where, message))


def _explain_damage(error: Exception) -> str:
    return str(error) or type(error).__name__


def _list_differences(
    stored: Sequence[Any], expected: Sequence[Any], name: Callable[[Any], str]
) -> Iterator[str]:
    # By what a row is called, so that one that is missing does not make all behind it differ.
    have, want = {name(row): row for row in stored}, {name(row): row for row in expected}
    for called, row in want.items():
        found = have.get(called)
        if found is None:
            yield f"{called} is missing"
        elif found != row:
            fields = [each for each in row.__struct_fields__ if getattr(found, each) != getattr(row, each)]
            yield f"{called} differs in {', '.join(fields)}"
    yield from (f"{called} should not be there" for called in have if called not in want)


_ATTEMPTS = 3
"""How often a session is checked that changes meanwhile."""


class Checked(Struct, frozen=True):
    """A session that was checked, and perhaps repaired."""

    left: tuple[Disagreement, ...]
    """What a finding is about."""
    repaired: tuple[Disagreement, ...] = ()
    """What did before."""


def check_session(store: MaintainedStore, scope: Scope, known: KnownSession) -> Verified:
    """Check one session; one that is written to meanwhile is checked again."""
    verified = verify_session(store, scope, known)
    for _ in range(_ATTEMPTS):
        if not verified.disagreements:
            break
        now = find_known(store, scope, known.key)
        if now is None:
            return Verified((), {}, None, {})
        if now.revision == known.revision:
            break
        known = now
        verified = verify_session(store, scope, known)
    return verified


def repair_session(
    store: MaintainedStore, scope: Scope, known: KnownSession, flaws: Collection[Flaw] = ()
) -> Checked:
    """Check one session, repair what can be repaired, and check it again.

    `flaws` are those that the store has found in it.
    """
    verified = check_session(store, scope, known)
    found = (*map(describe_flaw, flaws), *verified.disagreements)
    if not found:
        return Checked(())
    if any(not flaw.follows for flaw in flaws):
        return Checked(found)
    known = find_known(store, scope, known.key) or known
    damaged = _has(verified.disagreements, Subject.BYTES)
    if damaged and _repair_bytes(store, scope, known):
        verified = verify_session(store, scope, known)
    wrong = _has(verified.disagreements, Subject.ROWS) or _has(verified.disagreements, Subject.LINES)
    derived = verified.derived if flaws or wrong else None
    if verified.lines or derived is not None or verified.texts:
        store.rewrite(
            scope, known.key, known.revision, derived, DERIVATION, lines=verified.lines, texts=verified.texts
        )
    left = verify_session(store, scope, find_known(store, scope, known.key) or known).disagreements
    repaired = tuple(each for each in found if each not in left)
    return Checked(tuple(_explain_failure(each, known) for each in left), repaired)


def rebuild_index(store: MaintainedStore, scope: Scope, tell: Callable[[int, int], object]) -> None:
    """Make the index of texts and usage of a store anew, in the store itself."""
    known = list(store.list_known(scope))
    store.maintain(Maintenance.CLEAR_TEXTS)
    for done, session in enumerate(known, 1):
        repair_session(store, scope, session)
        tell(done, len(known))
    store.maintain(Maintenance.RECOUNT)
    store.maintain()


def check_usage(store: MaintainedStore, scope: Scope, *, repair: bool = False) -> Checked:
    """Count all usage anew, compare it with what the store has kept up, and repair that if it is to be."""
    found = _compare_usage(store, scope)
    if not found or not repair:
        return Checked(found)
    store.maintain(Maintenance.RECOUNT)
    left = _compare_usage(store, scope)
    return Checked(left, tuple(each for each in found if each not in left))


def _compare_usage(store: MaintainedStore, scope: Scope) -> tuple[Disagreement, ...]:
    try:
        told = list_differences(store.read_usage(scope), RecountedUsage(store, scope))
    except StoreError as error:
        told = [str(error)]
    return tuple(Disagreement("", Subject.ROWS, "usage", message) for message in told)


def _has(found: Iterable[Disagreement], subject: Subject) -> bool:
    return any(each.subject is subject for each in found)


def describe_flaw(flaw: Flaw) -> Disagreement:
    """Return a flaw as what disagrees."""
    return Disagreement(flaw.session or "", Subject.STORE, "", flaw.message)


def _repair_bytes(store: MaintainedStore, scope: Scope, known: KnownSession) -> int:
    return sum(
        store.repair_bytes(scope, source.source, generation, _Outside(source).read)
        for source in known.sources
        for generation, _ in store.archive.list_generations(scope, source.source)
    )


class _Outside:
    """The file that a source was read from, as it is now."""

    def __init__(self, source: KnownSource) -> None:
        self._path = source.path

    def read(self, start: int, length: int) -> bytes | None:
        """Return bytes of it; None if it has none there, or is gone."""
        try:
            with open(self._path, "rb") as file:
                file.seek(start)
                return file.read(length)
        except OSError:
            return None


def _explain_failure(left: Disagreement, known: KnownSession) -> Disagreement:
    """Say why bytes could not be repaired."""
    if left.subject is not Subject.BYTES:
        return left
    path = next((each.path for each in known.sources if left.where.startswith(f"{each.path} (")), None)
    reason = "has different content" if path is not None and os.path.exists(path) else "is gone"
    return Disagreement(left.session, left.subject, left.where, f"{left.message}; the file outside {reason}")


class Step(Struct, frozen=True, gc=False):
    """A part that was checked."""

    done: int
    total: int
    """Sessions."""
    checked: Checked


def check_archive(
    store: MaintainedStore, scope: Scope, chosen: Sequence[KnownSession] | None = None, *, repair: bool = False
) -> Iterator[Step]:
    """Check sessions one after the other, or all, and then the store as a whole and its usage, too.

    With `repair`, what can be repaired is.
    """
    known = list(store.list_known(scope)) if chosen is None else chosen
    flaws: list[Flaw] = [] if chosen is not None else _list_flaws(store, scope, repair)
    keys = {session.key for session in known}
    stray = tuple(describe_flaw(flaw) for flaw in flaws if flaw.session not in keys)
    yield Step(0, len(known), Checked(stray))
    for done, session in enumerate(known, 1):
        own = [flaw for flaw in flaws if flaw.session == session.key]
        yield Step(done, len(known), _check(store, scope, session, own, repair))
    if chosen is None:
        yield Step(len(known), len(known), check_usage(store, scope, repair=repair))


def _list_flaws(store: MaintainedStore, scope: Scope, repair: bool) -> list[Flaw]:
    flaws = store.list_flaws(scope)
    if repair and any(flaw.session is None and flaw.follows for flaw in flaws):
        store.maintain(Maintenance.CLEAR_TEXTS)
        flaws = store.list_flaws(scope)
    return flaws


def _check(
    store: MaintainedStore, scope: Scope, session: KnownSession, flaws: list[Flaw], repair: bool
) -> Checked:
    if repair:
        return repair_session(store, scope, session, flaws)
    return Checked((*map(describe_flaw, flaws), *check_session(store, scope, session).disagreements))

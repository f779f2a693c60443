"""Checking the store against itself: everything is derived again from the archive, and compared.

The bytes are the truth. Each frame is opened and checked against its digest; from the bytes follow the lines,
from the lines the rows. What disagrees is listed with its place, and the rest is checked all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from turnlog.errors import StoreError
from turnlog.ingest.assembly import Part, assemble
from turnlog.ingest.contents import CHAPTERS, DERIVED_FROM, Content
from turnlog.ingest.derive import derive
from turnlog.ingest.looks import LARGE, is_outdated
from turnlog.ingest.spill import Spill
from turnlog.store.batch import ChapterRows, DerivedRows
from turnlog.store.care import CaredStore
from turnlog.store.identity import Scope, SourceKind
from turnlog.store.interface import KnownSession, KnownSource
from turnlog.store.rows import DerivedRow, LineFact
from turnlog.transcripts.usage.pricing import Prices

__all__ = ["Disagreement", "Subject", "Verified", "verify_session"]

_MOST = 20
"""How many disagreements of one kind are listed for a session; the rest is only counted."""


_UNREADABLE = (StoreError, KeyError, ValueError, msgspec.MsgspecError)
"""What comes of rows that are damaged themselves."""


Row = TypeVar("Row", LineFact, DerivedRow, str)


class Subject(StrEnum):
    """What a finding is about."""

    STORE = "store"
    """The store contradicts itself, whatever the bytes say."""

    BYTES = "bytes"
    """The archive has not what it was given."""
    LINES = "lines"
    """Facts are not what the bytes say."""
    TEXTS = "texts"
    """What is searched is not what the lines say."""
    ROWS = "rows"
    """Derived rows do not follow from the lines."""


class Disagreement(Struct, frozen=True, gc=False):
    """Something that is not as it should be."""

    session: str
    subject: Subject
    where: str
    message: str


class Verified(Struct, frozen=True):
    """A session that was checked, with what should be there in place of what disagrees."""

    disagreements: tuple[Disagreement, ...]
    lines: dict[tuple[str, int], Sequence[LineFact]]
    """By source and generation, as the bytes say."""
    derived: DerivedRows | None
    """None where bytes are missing, so that nothing follows."""
    texts: dict[tuple[str, int], Sequence[bytes]]
    """What is searched of generations, where that disagrees."""


def verify_session(
    store: CaredStore, scope: Scope, known: KnownSession, prices: Prices | None = None
) -> Verified:
    """Check one session."""
    return _Verification(store, scope, known, prices).run()


class _Verification:
    def __init__(self, store: CaredStore, scope: Scope, known: KnownSession, prices: Prices | None) -> None:
        self._store = store
        self._scope = scope
        self._known = known
        self._prices = prices
        self._found: list[Disagreement] = []
        self._lines: dict[tuple[str, int], Sequence[LineFact]] = {}
        self._texts: dict[tuple[str, int], Sequence[bytes]] = {}
        is_large = sum(source.length for source in known.sources) > LARGE
        self._spill = Spill() if is_large else None

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
            self._compare_rows(derived)
        return Verified(tuple(self._found), self._lines, derived, self._texts)

    def _read(self, source: KnownSource, generation: int, length: int) -> Content | None:
        content = Content(source.source, source.kind, spill=self._spill)
        where = f"{source.path} (generation {generation})"
        size = 0
        try:
            for piece in self._store.archive.read_all(self._scope, source.source, generation):
                content.add(piece)
                size += len(piece)
        except _UNREADABLE as error:
            self._report(Subject.BYTES, where, _explain(error))
            return None
        content.finish()
        if size != length:
            self._report(Subject.BYTES, where, f"{length} bytes were archived, {size} are present")
        facts = content.facts
        self._lines[source.source, generation] = facts
        stored = self._load(
            Subject.LINES, where, lambda: self._store.list_lines(self._scope, source.source, generation)
        )
        if stored is not None:
            self._compare(Subject.LINES, where, stored, facts, lambda fact: f"line {fact.number + 1}")
        if not is_outdated(self._known):
            # Only the newest generation is searched.
            texts = content.texts if generation == source.generation else ()
            self._compare_texts(where, source.source, generation, texts)
        return content

    def _compare_texts(self, where: str, source: str, generation: int, texts: Sequence[bytes]) -> None:
        told = self._load(
            Subject.TEXTS, where, lambda: self._store.check_texts(self._scope, source, generation, texts)
        )
        if told is None or told:
            self._texts[source, generation] = texts
        for message in told or ():
            self._report(Subject.TEXTS, where, message)

    def _derive(self, contents: dict[str, Content]) -> DerivedRows:
        # As when the session was last looked at: what is there comes before what is gone.
        sources = sorted(self._known.sources, key=lambda source: not source.present)
        parts: list[Part] = []
        main: str | None = None
        for source in sources:
            if source.kind not in DERIVED_FROM or (main is not None and source.kind is SourceKind.TRANSCRIPT):
                continue
            if source.kind is SourceKind.TRANSCRIPT:
                main = source.source
            parts.append(Part(source.path, source.kind, source.run_id, contents[source.source]))
        built = assemble(parts, self._known.project_folder, self._prices)
        generations = {each.source: each.generation for each in sources}
        emptied = [each.source for each in sources if each.kind in CHAPTERS]
        return derive(built.session, main, built.chapters, generations, emptied, self._spill)

    def _compare_rows(self, derived: DerivedRows) -> None:
        store, scope, key = self._store, self._scope, self._known.key
        self._compare_kind("session", self._list_sessions, (derived.session,))
        self._compare_kind("turn", lambda: store.list_turns(scope, key), derived.turns)
        self._compare_kind("agent", lambda: store.list_agents(scope, key), derived.agents)
        for chapter in derived.chapters:
            self._compare_chapter(chapter)

    def _compare_chapter(self, rows: ChapterRows) -> None:
        store, scope, key, source = self._store, self._scope, self._known.key, rows.source
        asked: tuple[tuple[str, Callable[[], Sequence[DerivedRow]], Sequence[DerivedRow]], ...] = (
            ("message", lambda: store.list_messages(scope, key, source=source), rows.messages),
            ("call", lambda: store.list_calls(scope, key, source=source), rows.calls),
            ("placement", lambda: store.list_placements(scope, key, source), rows.placements),
            ("sighting", lambda: [*store.list_sightings(scope, key, source=source)], rows.sightings),
        )
        for name, ask, expected in asked:
            self._compare_kind(self._name(name, rows), ask, expected)

    def _name(self, kind: str, chapter: ChapterRows) -> str:
        """Return what rows of a chapter are called: those of agents by their file."""
        found = next(source for source in self._known.sources if source.source == chapter.source)
        return kind if found.kind is SourceKind.TRANSCRIPT else f"{kind} of {Path(found.path).name}"

    def _compare_kind(
        self, name: str, ask: Callable[[], Sequence[DerivedRow]], expected: Sequence[DerivedRow]
    ) -> None:
        stored = self._load(Subject.ROWS, name, ask)
        if stored is not None:
            self._compare(Subject.ROWS, name, stored, expected, lambda row: f"row {row.index}")

    def _list_sessions(self) -> list[DerivedRow]:
        found = self._store.find_sessions(self._scope, self._known.key)
        return [stored.row for stored in found if stored.key == self._known.key]

    def _load(self, subject: Subject, where: str, ask: Callable[[], Sequence[Row]]) -> Sequence[Row] | None:
        try:
            return ask()
        except _UNREADABLE as error:
            self._report(subject, where, f"cannot be read: {_explain(error)}")
            return None

    def _compare(
        self,
        subject: Subject,
        where: str,
        stored: Sequence[LineFact | DerivedRow],
        expected: Sequence[LineFact | DerivedRow],
        name: Callable[[Any], str],
    ) -> None:
        if list(stored) == list(expected):
            return
        told = list(_list_differences(stored, expected, name))
        for message in told[:_MOST]:
            self._report(subject, where, message)
        if len(told) > _MOST:
            self._report(subject, where, f"and {len(told) - _MOST} more")

    def _report(self, subject: Subject, where: str, message: str) -> None:
        self._found.append(Disagreement(self._known.key, subject, where, message))


def _explain(error: Exception) -> str:
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

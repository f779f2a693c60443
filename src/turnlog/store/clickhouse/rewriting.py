"""Mending: what follows from the bytes is written anew, whatever is there.

The digests by which differing rows are told are not asked: they may be as wrong as the rows. Lines that are
others than those that are there are published, and not staged: they take the place of what everybody reads.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.store.batch import DerivedRows
from turnlog.store.care import NO_TEXTS
from turnlog.store.changes import NewChange
from turnlog.store.clickhouse.access_states import AccessStates, settle_access
from turnlog.store.clickhouse.derived import (
    Present,
    RowPlace,
    list_all_present,
    list_parts,
    remove_parts,
    write_part,
)
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.known import LINE_COLUMNS
from turnlog.store.clickhouse.machine_writes import write_of_machines
from turnlog.store.clickhouse.publication import Staged
from turnlog.store.clickhouse.reading import Within
from turnlog.store.clickhouse.record import Session, with_summary
from turnlog.store.clickhouse.schema import GENERATIONS, LINES
from turnlog.store.clickhouse.session_schema import SESSIONS
from turnlog.store.clickhouse.sources import Generation, pack_lines
from turnlog.store.clickhouse.staging import Staging
from turnlog.store.clickhouse.texts import TextWriter
from turnlog.store.clickhouse.transaction import Connected, Write
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.packing import unpack_line, unpack_text
from turnlog.store.rows import LineFact
from turnlog.store.search.packing import unpack_texts

__all__ = ["Rewriting"]

_AT_ONCE = 10_000
"""How many lines are compared at once."""
_GENERATIONS = f"""
SELECT {", ".join(GENERATIONS.names)} FROM generations FINAL WHERE session = {{session:UInt128}}
"""
_LINES = f"""
SELECT {LINE_COLUMNS} FROM lines FINAL
WHERE session = {{session:UInt128}} AND source = {{source:UInt128}} AND generation = {{generation:Int64}}
    AND number >= {{first:Int64}} AND number < {{end:Int64}}
"""
_Place = tuple[str, int]


class Rewriting(Connected):
    """What `ClickHouseStore` does to write sessions anew."""

    def rewrite(
        self,
        scope: Scope,
        key: str,
        revision: int,
        lines: Mapping[_Place, Sequence[LineFact]],
        derived: DerivedRows | None,
        derivation: int = 0,
        texts: Mapping[_Place, Sequence[bytes]] = NO_TEXTS,
    ) -> int:
        """Write facts and derived rows of a session anew, whatever is there, and return its new revision."""
        session = self._find_revision(scope, key, revision).session
        with write_of_machines(self, scope.owner, [unpack_text(session.origin)]) as write:
            within = self._find_revision(scope, key, revision)
            rewriter = _Rewriter(within, write, scope.owner)
            rewriter.write_facts(lines, texts)
            after = within.session
            if derived is not None:
                rewriter.write_rows(derived)
                after = with_summary(replace(after, derivation=derivation), derived.session)
            rewriter.finish(self, replace(after, revision=revision + 1))
        return revision + 1

    def _find_revision(self, scope: Scope, key: str, revision: int) -> Within:
        within = self._reading(scope).within(key)
        if within is None or within.session.revision != revision:
            raise StoreError(f"Expected revision {revision} of the session {key}; it has changed, or is gone")
        return within


class _Rewriter:
    """Writes one session anew."""

    def __init__(self, within: Within, write: Write, owner: str) -> None:
        self._within = within
        self._write = write
        self._owner = owner
        self._staging = Staging(write)
        write.concern([Staged(within.session.id, within.session.born)])
        found = [Generation(*row) for row in within.query(_GENERATIONS)]
        self._generations = {(each.source, each.generation): each for each in found}
        self._changed: set[tuple[int, int]] = set()

    def write_facts(
        self, lines: Mapping[_Place, Sequence[LineFact]], texts: Mapping[_Place, Sequence[bytes]]
    ) -> None:
        """Write the lines and texts of some generations anew."""
        for place in (*lines, *texts):
            self._get(place)
        for place, facts in lines.items():
            generation = self._get(place)
            self._write.publish(LINES, self._list_other_lines(generation, facts))
            self._put(replace(generation, lines=len(facts)))
        writer = TextWriter(self._write)
        for place, packed in texts.items():
            self._put(self._get(place))
            writer.add(self._within.session, *place, unpack_texts(packed), anew=True)
        writer.close()

    def write_rows(self, derived: DerivedRows) -> None:
        """Stage all derived rows; what else is there is gone."""
        session = self._within.session
        place = RowPlace(self._owner, session.id, session.born, session.revision + 1)
        present = list_all_present(self._within.engine, session.id)
        parts = list_parts(self._owner, derived, {source for source, _ in self._generations})
        answers: set[int] = set()
        for part in parts:
            there = present.pop((session.id, part.kind.number, part.source), Present())
            answers |= write_part(self._staging, place, part, there.without_digests())[1]
        answers |= remove_parts(self._staging, place, present)
        self._staging.flush()
        self._write.note_stale(answers)

    def finish(self, parts: Connected, session: Session) -> None:
        """Have the rows of the session and its generations published."""
        write, at_ns = self._write, time.time_ns()
        changed = (self._generations[each] for each in sorted(self._changed))
        write.publish(GENERATIONS, (replace(each, write=write.number).cells for each in changed))
        key, origin = unpack_text(session.key), unpack_text(session.origin)
        states = AccessStates(parts._control, self._owner, [origin])
        [after] = settle_access(parts._engine, write, states, [session])
        write.publish(SESSIONS, [replace(after, write=write.number).cells])
        write.note_change(NewChange(self._owner, ChangeKind.SESSION_CHANGED, key, session.revision, at_ns))

    def _get(self, place: _Place) -> Generation:
        source, generation = place
        found = self._generations.get((number(self._owner, source), generation))
        if found is None:
            raise StoreError(f"There is no generation {generation} of {source}")
        return found

    def _put(self, generation: Generation) -> None:
        at = generation.source, generation.generation
        self._generations[at] = generation
        self._changed.add(at)

    def _list_other_lines(self, generation: Generation, facts: Sequence[LineFact]) -> Iterator[list[Any]]:
        """Yield the rows of lines that are not there as they should be."""
        at = LINES.names.index("write")
        for first in range(0, len(facts), _AT_ONCE):
            wanted = facts[first : first + _AT_ONCE]
            values = {
                "source": generation.source,
                "generation": generation.generation,
                "first": wanted[0].number,
                "end": wanted[-1].number + 1,
            }
            there = {line.number: line for line in map(unpack_line, self._within.query(_LINES, values))}
            others = [line for line in wanted if there.get(line.number) != line]
            for row in pack_lines(self._owner, generation, others):
                row[at] = self._write.number
                yield row

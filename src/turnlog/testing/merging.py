"""What a batch that says only what is new comes to, put together with what there was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from turnlog.errors import StoreError
from turnlog.store.batch import ChapterRows, DerivedRows
from turnlog.store.rows import DerivedRow

__all__ = ["merge_rows"]

R = TypeVar("R", bound=DerivedRow)


def merge_rows(before: DerivedRows | None, new: DerivedRows) -> DerivedRows:
    """Return all rows of a session: those that are new, and of what there was before all that stays.

    Raises `StoreError` if rows would be missing.
    """
    turns, agents = new.sizes or (None, None)
    chapters = {} if before is None else {chapter.source: chapter for chapter in before.chapters}
    for chapter in new.chapters:
        chapters[chapter.source] = _merge_chapter(chapters.get(chapter.source), chapter)
    return DerivedRows(
        session=new.session,
        turns=_merge(() if before is None else before.turns, new.turns, turns),
        agents=_merge(() if before is None else before.agents, new.agents, agents),
        chapters=tuple(chapters.values()),
    )


def _merge_chapter(before: ChapterRows | None, new: ChapterRows) -> ChapterRows:
    old = before or ChapterRows(new.source)
    messages, calls, placements, sightings = new.sizes or (None, None, None, None)
    return ChapterRows(
        new.source,
        _merge(old.messages, new.messages, messages),
        _merge(old.calls, new.calls, calls),
        _merge(old.placements, new.placements, placements),
        _merge(old.sightings, new.sightings, sightings),
    )


def _merge(before: Sequence[R], new: Sequence[R], size: int | None) -> tuple[R, ...]:
    if size is None:
        return tuple(new)
    rows = {row.index: row for row in (*before, *new)}
    missing = [index for index in range(size) if index not in rows]
    if missing:
        raise StoreError(f"Expected {size} rows without gaps, row {missing[0]} is missing")
    return tuple(rows[index] for index in range(size))

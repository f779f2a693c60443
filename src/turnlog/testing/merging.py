"""What a batch that says only what is new comes to, put together with what there was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from turnlog.errors import StoreError
from turnlog.store.batch import ChapterBatch, Derived, OutlineBatch

P = TypeVar("P")


def merge_derived(before: Derived | None, new: Derived) -> Derived:
    """Return all that is kept of a session: what is new, and of what there was before all that stays.

    Raises `StoreError` if segments or parts would be missing.
    """
    chapters = {} if before is None else {chapter.source: chapter for chapter in before.chapters}
    for chapter in new.chapters:
        known = chapters.get(chapter.source, ChapterBatch(chapter.source, 0))
        held = {each.head.number: each for each in (*known.segments, *chapter.segments)}
        chapters[chapter.source] = ChapterBatch(chapter.source, chapter.count, _take(held, chapter.count))
    outline = {} if before is None else {each.kind: each for each in before.outline}
    for each in new.outline:
        parts = dict((*outline.get(each.kind, OutlineBatch(each.kind, 0)).parts, *each.parts))
        numbered = {number: (number, data) for number, data in parts.items()}
        outline[each.kind] = OutlineBatch(each.kind, each.count, _take(numbered, each.count))
    usage = new.usage
    if before is not None and new.is_partial:
        named = {record.message_id for _, record in new.usage}
        usage = (*(each for each in before.usage if each[1].message_id not in named), *new.usage)
    return Derived(
        session=new.session, outline=tuple(outline.values()), chapters=tuple(chapters.values()), usage=usage
    )


def _take(held: Mapping[int, P], count: int) -> tuple[P, ...]:
    missing = [number for number in range(count) if number not in held]
    if missing:
        raise StoreError(f"Expected {count} parts without gaps, part {missing[0]} is missing")
    return tuple(held[number] for number in range(count))

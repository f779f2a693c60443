"""Batches that say only what is new: segments that they leave out stay, if they are based on what is there."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from pathlib import Path
from unittest import SkipTest

from msgspec.structs import replace

from turnlog.store.batch import ChapterBatch, Derived, OutlineBatch, SessionBatch
from turnlog.store.interface import Store, find_known
from turnlog.store.model import LOCAL
from turnlog.store.usage.recounting import RecountedUsage, list_differences
from turnlog.testing.answers import collect_answers
from turnlog.testing.builders import make_batch, make_key, make_lines
from turnlog.testing.contracts.base import (
    ContractBase,
    expect_derived,
    get_derived,
    keep,
    refused,
    replace_records,
    unpack_files,
)
from turnlog.testing.merging import merge_derived
from turnlog.transcripts.segments import PART, SEGMENT

_TRANSCRIPT = "session-1.jsonl"


class NewsContract(ContractBase):
    """Contracts of batches that do not name all segments."""

    def test_segments_that_are_left_out_stay(self, tmp_path: Path) -> None:
        for count in (2, SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT + 70):
            (tmp_path / str(count)).mkdir()
            with self.opened(tmp_path / str(count)) as store:
                before = get_derived(keep(store, {_TRANSCRIPT: make_lines(count)}))
                batch = _look(store, count + 2)
                news = _pick(get_derived(batch), before)
                assert len(news.chapters[0].segments) <= 2
                assert len(news.usage) <= 3
                store.apply([replace(batch, derived=news)])
                expect_derived(store, batch.key, get_derived(batch))
                assert merge_derived(before, news).chapters == get_derived(batch).chapters
                assert list_differences(store.read_usage(LOCAL), RecountedUsage(store, LOCAL)) == []

    def test_segments_and_parts_behind_the_last_are_gone(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(2 * SEGMENT + 70)})
            derived = get_derived(batch)
            [chapter] = derived.chapters
            [turns, agents] = derived.outline
            assert (chapter.count, turns.count, agents.count) == (3, 3, 0)
            for count in (3, 2, 1, 0):
                fewer = Derived(
                    session=derived.session,
                    outline=(OutlineBatch(turns.kind, count),),
                    chapters=(ChapterBatch(chapter.source, count),),
                )
                _apply_derived(store, batch, fewer)
                expect_derived(store, batch.key, merge_derived(derived, fewer))
                _apply_derived(store, batch, derived)
                expect_derived(store, batch.key, derived)

    def test_a_segment_in_the_middle_is_replaced_alone(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(2 * SEGMENT + 70)})
            derived = get_derived(batch)
            records = unpack_files(derived)[batch.key]
            messages = list(records.messages)
            messages[SEGMENT + 5] = replace(messages[SEGMENT + 5], author="somebody else")
            changed = replace_records(derived, {batch.key: replace(records, messages=tuple(messages))})
            news = _pick(changed, derived)
            assert [segment.head.number for segment in news.chapters[0].segments] == [1]
            before = getattr(store, "writes", None)
            _apply_derived(store, batch, news)
            expect_derived(store, batch.key, changed)
            if not isinstance(before, int):
                raise SkipTest("the store does not count its writes")
            assert 0 < store.writes - before < 40  # type: ignore[attr-defined]

    def test_segments_and_parts_that_are_missing_are_refused(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(SEGMENT + 5)})
            derived = get_derived(batch)
            [chapter] = derived.chapters
            [turns, _] = derived.outline
            before = collect_answers(store, LOCAL)
            for missing in (
                replace(derived, chapters=(ChapterBatch(chapter.source, 3),)),
                replace(derived, chapters=(ChapterBatch(chapter.source, 3, chapter.segments),)),
                replace(derived, outline=(OutlineBatch(turns.kind, turns.count + 1),)),
            ):
                with refused():
                    _apply_derived(store, batch, missing)
                assert collect_answers(store, LOCAL) == before

    def test_what_says_only_what_is_new_must_say_since_when(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            first = keep(store, {_TRANSCRIPT: make_lines(4)})
            batch = _look(store, 6)
            news = replace(batch, derived=_pick(get_derived(batch), get_derived(first)))
            before = collect_answers(store, LOCAL)
            for base in (None, 0, (news.base_revision or 0) + 1):
                with refused():
                    store.apply([replace(news, base_revision=base)])
                assert collect_answers(store, LOCAL) == before
            store.apply([news])
            after = collect_answers(store, LOCAL)
            store.apply([news])
            assert collect_answers(store, LOCAL) == after, "it was applied before"

    def test_answers_that_are_not_named_count_as_before(self, tmp_path: Path) -> None:
        """And those that two sessions have in common are counted once, whoever has something new."""
        with self.opened(tmp_path) as store:
            lines = make_lines(PART)
            for name in ("session-1", "session-2"):
                keep(store, {f"{name}.jsonl": lines}, session_id=name)
            first = get_derived(make_batch({_TRANSCRIPT: lines}))
            for count in (PART + 2, PART + 4):
                batch = _look(store, count)
                store.apply([replace(batch, derived=_pick(get_derived(batch), first))])
                first = get_derived(batch)
                assert list_differences(store.read_usage(LOCAL), RecountedUsage(store, LOCAL)) == []
                assert len([*store.read_usage(LOCAL).list_answers()]) == count // 2


def _look(store: Store, count: int) -> SessionBatch:
    known = find_known(store, LOCAL, make_key())
    assert known is not None
    batch = make_batch({_TRANSCRIPT: make_lines(count)}, known=known)
    return replace(batch, base_revision=known.revision)


def _apply_derived(store: Store, batch: SessionBatch, derived: Derived) -> None:
    known = find_known(store, LOCAL, batch.key)
    assert known is not None
    store.apply([replace(batch, sources=(), derived=derived, base_revision=known.revision)])


def _pick(derived: Derived, before: Derived) -> Derived:
    """Return what is new, compared with what was before."""
    [chapter], [old] = derived.chapters, before.chapters
    outline = tuple(
        OutlineBatch(new.kind, new.count, tuple(part for part in new.parts if part not in known.parts))
        for new, known in zip(derived.outline, before.outline, strict=True)
    )
    segments = tuple(each for each in chapter.segments if each not in old.segments)
    changed = {*derived.usage} ^ {*before.usage}
    answers = {record.message_id for _, record in changed}
    return replace(
        derived,
        outline=outline,
        chapters=(ChapterBatch(chapter.source, chapter.count, segments),),
        usage=tuple(each for each in derived.usage if each[1].message_id in answers),
        is_partial=True,
    )

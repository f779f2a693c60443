"""Batches that say only what is new: rows that they leave out stay, if they are based on what is there."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from unittest import SkipTest

from msgspec.structs import replace

from turnlog.store.batch import ChapterRows, DerivedRows, SessionBatch
from turnlog.store.identity import LOCAL
from turnlog.store.interface import Store
from turnlog.testing.answers import collect_answers
from turnlog.testing.builders import make_batch, make_key, make_lines
from turnlog.testing.contracts.base import ContractBase, expect_rows, keep, refused
from turnlog.testing.merging import merge_rows

__all__ = ["NewsContract"]

_TRANSCRIPT = "session-1.jsonl"


class NewsContract(ContractBase):
    """Contracts of batches that do not name all rows."""

    def test_rows_that_are_left_out_stay(self, tmp_path: Path) -> None:
        for count in (2, 199, 200, 201, 450):
            with self.opened(tmp_path / str(count)) as store:
                before = _rows(keep(store, {_TRANSCRIPT: make_lines(count)}))
                batch = _look(store, count + 2)
                news = _pick(_rows(batch), before)
                assert sum(map(len, _kinds(news.chapters[0]))) < 20
                store.apply([replace(batch, derived=news)])
                expect_rows(store, batch.key, _rows(batch))
                assert merge_rows(before, news) == _rows(batch)

    def test_rows_behind_the_last_are_gone(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(450)})
            rows = _rows(batch)
            [chapter] = rows.chapters
            for count in (450, 401, 400, 399, 3, 0):
                sizes = tuple(min(count, len(kind)) for kind in _kinds(chapter))
                fewer = ChapterRows(chapter.source, sizes=(sizes[0], sizes[1], sizes[2], sizes[3]))
                turns = min(count, len(rows.turns))
                news = DerivedRows(session=rows.session, chapters=(fewer,), sizes=(turns, 0))
                _apply_rows(store, batch, news)
                expect_rows(store, batch.key, merge_rows(rows, news))
                _apply_rows(store, batch, rows)

    def test_a_row_in_the_middle_is_replaced_alone(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(450)})
            rows = _rows(batch)
            [chapter] = rows.chapters
            other = replace(chapter.messages[211], author="somebody else")
            placed = replace(chapter.placements[13], message=None)
            one = ChapterRows(chapter.source, (other,), (), (placed,), (), _sizes(chapter))
            news = replace(
                rows, turns=(), agents=(), chapters=(one,), sizes=(len(rows.turns), len(rows.agents))
            )
            before = getattr(store, "writes", None)
            _apply_rows(store, batch, news)
            expect_rows(store, batch.key, merge_rows(rows, news))
            if not isinstance(before, int):
                raise SkipTest("the store does not count its writes")
            assert 0 < store.writes - before < 40  # type: ignore[attr-defined]

    def test_rows_that_are_missing_are_refused(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(10)})
            rows = _rows(batch)
            [chapter] = rows.chapters
            before = collect_answers(store, LOCAL)
            for kind in range(4):
                sizes = [*_sizes(chapter)]
                sizes[kind] += 1
                more = ChapterRows(chapter.source, sizes=(sizes[0], sizes[1], sizes[2], sizes[3]))
                with refused():
                    _apply_rows(store, batch, replace(rows, chapters=(more,)))
                assert collect_answers(store, LOCAL) == before

    def test_what_says_only_what_is_new_must_say_since_when(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            first = keep(store, {_TRANSCRIPT: make_lines(4)})
            batch = _look(store, 6)
            news = replace(batch, derived=_pick(_rows(batch), _rows(first)))
            before = collect_answers(store, LOCAL)
            for base in (None, 0, (news.base_revision or 0) + 1):
                with refused():
                    store.apply([replace(news, base_revision=base)])
                assert collect_answers(store, LOCAL) == before
            store.apply([news])
            after = collect_answers(store, LOCAL)
            store.apply([news])
            assert collect_answers(store, LOCAL) == after, "it was applied before"


def _rows(batch: SessionBatch) -> DerivedRows:
    assert batch.derived is not None
    return batch.derived


def _kinds(chapter: ChapterRows) -> tuple[Sequence[object], ...]:
    return chapter.messages, chapter.calls, chapter.placements, chapter.sightings


def _sizes(chapter: ChapterRows) -> tuple[int, int, int, int]:
    messages, calls, placements, sightings = map(len, _kinds(chapter))
    return messages, calls, placements, sightings


def _look(store: Store, count: int) -> SessionBatch:
    known = store.find_known(LOCAL, make_key())
    assert known is not None
    batch = make_batch({_TRANSCRIPT: make_lines(count)}, known=known)
    return replace(batch, base_revision=known.revision)


def _apply_rows(store: Store, batch: SessionBatch, rows: DerivedRows) -> None:
    known = store.find_known(LOCAL, batch.key)
    assert known is not None
    store.apply([replace(batch, sources=(), derived=rows, base_revision=known.revision)])


def _pick(rows: DerivedRows, before: DerivedRows) -> DerivedRows:
    """Return what is new of rows, compared with others."""
    [chapter], [old] = rows.chapters, before.chapters
    news = ChapterRows(
        chapter.source,
        tuple(row for row in chapter.messages if row not in old.messages[row.index : row.index + 1]),
        tuple(row for row in chapter.calls if row not in old.calls[row.index : row.index + 1]),
        tuple(row for row in chapter.placements if row not in old.placements[row.index : row.index + 1]),
        tuple(row for row in chapter.sightings if row not in old.sightings[row.index : row.index + 1]),
        _sizes(chapter),
    )
    turns = tuple(row for row in rows.turns if row not in before.turns[row.index : row.index + 1])
    sizes = (len(rows.turns), len(rows.agents))
    return replace(rows, turns=turns, chapters=(news,), sizes=sizes)

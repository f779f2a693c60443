"""Chapters: what is said of one file leaves the rows of all others alone; and what rows are based on."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from pathlib import Path
from unittest import SkipTest

from msgspec.structs import replace

from turnlog.store.batch import ChapterRows, SessionBatch
from turnlog.store.identity import LOCAL
from turnlog.store.interface import KnownSession, Store
from turnlog.testing.answers import collect_answers
from turnlog.testing.builders import make_batch, make_key, make_lines
from turnlog.testing.contracts.base import ContractBase, expect_rows, find_source, keep, refused

__all__ = ["ChapterContract"]

_TRANSCRIPT = "session-1.jsonl"
_AGENTS = tuple(f"session-1/subagents/agent-a{number}.jsonl" for number in range(1, 4))
_FILES = {_TRANSCRIPT: make_lines(6), **{path: make_lines(4, agent_id=path[-8:-6]) for path in _AGENTS}}


class ChapterContract(ContractBase):
    """Contracts of rows by chapter."""

    def test_chapters_that_are_not_named_stay_as_they_are(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            first = keep(store, _FILES)
            second = _append(store, _AGENTS[0])
            chapters = {chapter.source: chapter for chapter in _chapters(first)}
            [named] = _chapters(second)
            assert len(named.messages) == 6
            assert second.derived is not None
            rows = replace(second.derived, chapters=tuple({**chapters, named.source: named}.values()))
            expect_rows(store, first.key, rows)

    def test_rows_of_a_session_without_any_chapter_named_are_replaced_alone(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, _FILES)
            assert batch.derived is not None
            turns = batch.derived.turns[:1]
            rows = replace(batch.derived, turns=turns, agents=(), chapters=())
            store.apply([replace(batch, sources=(), derived=rows)])
            expect_rows(store, batch.key, replace(batch.derived, turns=turns, agents=()))

    def test_an_empty_chapter_is_emptied(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, _FILES)
            assert batch.derived is not None
            one, *others = batch.derived.chapters
            for emptied in (others[0].source, one.source):
                rows = replace(batch.derived, chapters=(ChapterRows(emptied),))
                store.apply([replace(batch, sources=(), derived=rows)])
                assert store.list_messages(LOCAL, batch.key, source=emptied) == []
                assert store.list_placements(LOCAL, batch.key, emptied) == []
            left = tuple(
                ChapterRows(each.source) if each in (one, others[0]) else each for each in (one, *others)
            )
            expect_rows(store, batch.key, replace(batch.derived, chapters=left))

    def test_a_line_more_in_one_file_writes_no_rows_of_others(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            if not isinstance(getattr(store, "writes", None), int):
                raise SkipTest("the store does not count its writes")
            keep(store, {_TRANSCRIPT: make_lines(2), _AGENTS[0]: make_lines(400, agent_id="a1")})
            before: int = store.writes  # type: ignore[attr-defined]
            keep(store, {_TRANSCRIPT: make_lines(3), _AGENTS[0]: make_lines(400, agent_id="a1")})
            assert 0 < store.writes - before < 40  # type: ignore[attr-defined]

    def test_a_chapter_that_is_no_file_of_the_session_is_refused(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            other = keep(store, {"session-2.jsonl": make_lines(2)}, session_id="session-2")
            batch = keep(store, _FILES)
            before = collect_answers(store, LOCAL)
            assert batch.derived is not None
            for source in (other.key, "nobody's"):
                rows = replace(batch.derived, chapters=(ChapterRows(source),))
                with refused():
                    store.apply([replace(batch, sources=(), derived=rows)])
                assert collect_answers(store, LOCAL) == before

    def test_calls_and_sightings_of_a_session_come_by_chapter_the_transcripts_first(
        self, tmp_path: Path
    ) -> None:
        """Whichever came first, so that all stores list them alike."""
        with self.opened(tmp_path) as store:
            for count in range(1, len(_FILES) + 1):
                batch = keep(store, dict(list(reversed(_FILES.items()))[:count]))
            agents = [find_source(store.find_known(LOCAL, batch.key), path).source for path in _AGENTS]
            order = [batch.key, *sorted(agents)]
            for rows in (store.list_calls(LOCAL, batch.key), list(store.list_sightings(LOCAL, batch.key))):
                places = [(order.index(row.source), row.index) for row in rows]
                assert places == sorted(places)
                assert {place for place, _ in places} == {0, 1, 2, 3}

    def test_without_a_source_messages_are_those_of_the_transcript(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {path: _FILES[path] for path in _AGENTS})
            key = make_key()
            assert store.list_messages(LOCAL, key) == []
            keep(store, _FILES)
            assert store.list_messages(LOCAL, key) == store.list_messages(LOCAL, key, source=key) != []
            assert store.list_messages(LOCAL, key, source="nobody's") == []
            assert store.list_messages(LOCAL, "nobody's", source=key) == []

    def test_of_several_transcripts_the_one_with_messages_counts(self, tmp_path: Path) -> None:
        other = "session-1 again.jsonl"
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(2), other: make_lines(4)})
            assert batch.derived is not None
            one, two = batch.derived.chapters
            for read, left in ((one, two), (two, one)):
                rows = replace(batch.derived, chapters=(read, ChapterRows(left.source)))
                store.apply([replace(batch, sources=(), derived=rows)])
                assert store.list_messages(LOCAL, batch.key) == [*read.messages]

    def test_placements_come_in_windows(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key = keep(store, {_TRANSCRIPT: make_lines(450)}).key
            rows = store.list_placements(LOCAL, key, key)
            assert [row.index for row in rows] == [*range(450)]
            for first, count in ((0, 10), (195, 10), (449, 5), (450, 1), (3, 0)):
                found = store.list_placements(LOCAL, key, key, first=first, count=count)
                assert found == rows[first : first + count]
            assert store.list_placements(LOCAL, key, key, first=440) == rows[440:]

    def test_the_derivation_is_kept_with_the_rows(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = make_batch({_TRANSCRIPT: make_lines(2)})
            store.apply([replace(batch, derivation=3)])
            assert _know(store).derivation == 3
            store.apply([replace(_look(store, {}), derivation=9)])
            assert _know(store).derivation == 3, "nothing was derived"
            seq = store.find_last_change(LOCAL)
            store.apply([replace(batch, sources=(), derivation=4)])
            assert _know(store).derivation == 4
            assert store.find_last_change(LOCAL) == seq, "no row is another one"

    def test_what_is_based_on_another_revision_is_refused(self, tmp_path: Path) -> None:
        """Two looks at once may read on in different files; their rows are of neither's state."""
        with self.opened(tmp_path) as store:
            keep(store, _FILES)
            revision = _know(store).revision
            faster = _look(store, {**_FILES, _TRANSCRIPT: make_lines(8)})
            slower = _look(store, {**_FILES, _AGENTS[0]: make_lines(6, agent_id="a1")})
            store.apply([replace(faster, base_revision=revision)])
            before = collect_answers(store, LOCAL)
            with refused():
                store.apply([replace(slower, base_revision=revision)])
            assert collect_answers(store, LOCAL) == before
            store.apply([replace(slower, base_revision=revision + 1)])
            assert _know(store).revision == revision + 2

    def test_what_was_applied_already_is_not_refused_for_its_base(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            first = replace(make_batch({_TRANSCRIPT: make_lines(2)}), base_revision=0)
            store.apply([first])
            revision = _know(store).revision
            second = replace(_look(store, {_TRANSCRIPT: make_lines(4)}), base_revision=revision)
            store.apply([second])
            anew = replace(second, sources=(), base_revision=revision)
            before = collect_answers(store, LOCAL)
            for batch in (second, anew):
                store.apply([batch])
                assert collect_answers(store, LOCAL) == before

    def test_a_session_that_was_thought_to_be_new_is_refused(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: make_lines(2)})
            before = collect_answers(store, LOCAL)
            other = make_batch({_AGENTS[0]: make_lines(4, agent_id="a1")})
            with refused():
                store.apply([replace(other, base_revision=0)])
            assert collect_answers(store, LOCAL) == before


def _know(store: Store) -> KnownSession:
    known = store.find_known(LOCAL, make_key())
    assert known is not None
    return known


def _look(store: Store, files: dict[str, bytes]) -> SessionBatch:
    return make_batch(files, known=_know(store))


def _append(store: Store, path: str) -> SessionBatch:
    """Apply what two more lines of one file give, and name its chapter alone."""
    batch = _look(store, {**_FILES, path: make_lines(6, agent_id=path[-8:-6])})
    assert batch.derived is not None
    source = find_source(_know(store), path).source
    named = tuple(chapter for chapter in batch.derived.chapters if chapter.source == source)
    batch = replace(batch, derived=replace(batch.derived, chapters=named))
    store.apply([batch])
    return batch


def _chapters(batch: SessionBatch) -> tuple[ChapterRows, ...]:
    assert batch.derived is not None
    return batch.derived.chapters

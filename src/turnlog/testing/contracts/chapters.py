"""Chapters: what is said of one file leaves the segments of all others alone; and what they are based on."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from pathlib import Path
from unittest import SkipTest

from msgspec.structs import replace

from turnlog.store.batch import ChapterBatch, SessionBatch
from turnlog.store.interface import KnownSession, Store, find_known
from turnlog.store.model import LOCAL
from turnlog.store.usage.recounting import RecountedUsage, list_differences
from turnlog.testing.answers import collect_answers
from turnlog.testing.builders import make_batch, make_key, make_lines
from turnlog.testing.contracts.base import (
    ContractBase,
    expect_derived,
    find_source,
    get_derived,
    keep,
    read_records,
    refused,
    replace_records,
    unpack_files,
)
from turnlog.testing.memory_session import FileRecords, unpack_records
from turnlog.testing.row_builders import make_message, make_outline
from turnlog.transcripts.segments import SEGMENT

_TRANSCRIPT = "session-1.jsonl"
_AGENTS = tuple(f"session-1/subagents/agent-a{number}.jsonl" for number in range(1, 4))
_FILES = {_TRANSCRIPT: make_lines(6), **{path: make_lines(4, agent_id=path[-8:-6]) for path in _AGENTS}}


class ChapterContract(ContractBase):
    """Contracts of segments by chapter."""

    def test_chapters_that_are_not_named_stay_as_they_are(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            first = keep(store, _FILES)
            second = _append(store, _AGENTS[0])
            chapters = {chapter.source: chapter for chapter in get_derived(first).chapters}
            [named] = get_derived(second).chapters
            assert len(unpack_records(named.segments).messages) == 6
            merged = tuple({**chapters, named.source: named}.values())
            expect_derived(store, first.key, replace(get_derived(second), chapters=merged))

    def test_turns_and_agents_are_replaced_alone_where_no_chapter_is_named(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, _FILES)
            with store.open_session(LOCAL, batch.key) as session:
                outline = make_outline(session.list_turns(0, 1), ())
            derived = replace(get_derived(batch), outline=outline)
            store.apply([replace(batch, sources=(), derived=replace(derived, chapters=()))])
            expect_derived(store, batch.key, derived)

    def test_an_empty_chapter_is_emptied(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, _FILES)
            one, *others = get_derived(batch).chapters
            for emptied in (others[0].source, one.source):
                derived = replace(get_derived(batch), chapters=(ChapterBatch(emptied, 0),))
                store.apply([replace(batch, sources=(), derived=derived)])
                assert read_records(store, batch.key, emptied) == FileRecords()
            left = tuple(
                ChapterBatch(each.source, 0) if each in (one, others[0]) else each for each in (one, *others)
            )
            expect_derived(store, batch.key, replace(get_derived(batch), chapters=left))

    def test_a_line_more_in_one_file_writes_nothing_of_others(self, tmp_path: Path) -> None:
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
            for source in (other.key, "nobody's"):
                derived = replace(get_derived(batch), chapters=(ChapterBatch(source, 0),))
                with refused():
                    store.apply([replace(batch, sources=(), derived=derived)])
                assert collect_answers(store, LOCAL) == before

    def test_files_of_a_session_come_by_source_the_transcript_first(self, tmp_path: Path) -> None:
        """Whichever came first, so that all stores list them alike."""
        with self.opened(tmp_path) as store:
            for count in range(1, len(_FILES) + 1):
                batch = keep(store, dict(list(reversed(_FILES.items()))[:count]))
            agents = [find_source(find_known(store, LOCAL, batch.key), path).source for path in _AGENTS]
            with store.open_session(LOCAL, batch.key) as session:
                assert [file.source for file in session.files] == [batch.key, *sorted(agents)]
                facts = [(file.facts.is_main, file.facts.generation) for file in session.files]
                assert facts == [(True, 0), (False, 0), (False, 0), (False, 0)]
                names = {file.facts.path.rpartition("/")[2]: file.facts.agent_id for file in session.files[1:]}
                assert names == {f"agent-a{number}.jsonl": f"a{number}" for number in (1, 2, 3)}

    def test_a_journal_has_lines_and_no_messages(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            path = "session-1/workflows/wf_1/journal.jsonl"
            batch = keep(store, {_TRANSCRIPT: make_lines(2), path: b'{"n":1}\n{"n":2}\n'})
            source = find_source(find_known(store, LOCAL, batch.key), path).source
            with store.open_session(LOCAL, batch.key) as session:
                assert [chapter.source for chapter in session.chapters] == [batch.key]
                assert [file.source for file in session.files] == [batch.key, source]
                assert session.files[1].read_raw([0, 1]) == {0: b'{"n":1}', 1: b'{"n":2}'}
                assert session.find_chapter(source) is None

    def test_a_session_may_get_its_transcript_late(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {path: _FILES[path] for path in _AGENTS})
            key = make_key()
            with store.open_session(LOCAL, key) as session:
                assert (len(session.chapters), session.main) == (3, None)
            keep(store, _FILES)
            with store.open_session(LOCAL, key) as session:
                assert session.main is session.find_chapter(None) is session.find_chapter(key) is not None
                assert session.find_chapter("nobody's") is None
            with store.open_session(LOCAL, "nobody's") as session:
                assert session.files == ()

    def test_of_several_transcripts_the_one_with_messages_counts(self, tmp_path: Path) -> None:
        other = "session-1 again.jsonl"
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(2), other: make_lines(4)})
            one, two = get_derived(batch).chapters
            for read, left in ((one, two), (two, one)):
                derived = replace(get_derived(batch), chapters=(read, ChapterBatch(left.source, 0)))
                store.apply([replace(batch, sources=(), derived=derived)])
                assert read_records(store, batch.key) == unpack_records(read.segments)
                with store.open_session(LOCAL, batch.key) as session:
                    assert [file.facts.is_main for file in session.files] == [True, False]

    def test_segments_come_back_as_they_were_written(self, tmp_path: Path) -> None:
        """At the ends of segments, growing from one to the next, and shrinking again."""
        with self.opened(tmp_path) as store:
            for first, count in ((0, 511), (0, 512), (0, 513), (0, 1100), (7, 1025), (7, 3)):
                batch = keep(store, {_TRANSCRIPT: make_lines(count, first=first)})
                [chapter] = get_derived(batch).chapters
                assert chapter.count == len(chapter.segments) == -(-count // SEGMENT)
                expect_derived(store, batch.key, get_derived(batch))

    def test_the_heads_of_segments_are_kept_where_nothing_else_differs(self, tmp_path: Path) -> None:
        """A segment of lines that are not shown is the same bytes, whatever number of messages is before it."""
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(600)})
            lines = tuple(replace(line, message=None) for line in read_records(store, batch.key).lines)
            for count in (10, 11, 3, 0, 7):
                messages = tuple(make_message(index, index) for index in range(count))
                records = FileRecords(lines=lines, messages=messages)
                derived = replace_records(get_derived(batch), {batch.key: records})
                store.apply([replace(batch, sources=(), derived=derived)])
                expect_derived(store, batch.key, derived)

    def test_a_file_may_move_to_another_session(self, tmp_path: Path) -> None:
        """Its segments go with it, and what it says about usage counts once."""
        with self.opened(tmp_path) as store:
            first = keep(store, _FILES)
            source = find_source(_know(store), _AGENTS[0]).source
            grown = _look(store, {_AGENTS[0]: make_lines(6, agent_id="a1")})
            other = make_batch({"session-2.jsonl": make_lines(2)}, session_id="session-2")
            moved = unpack_files(get_derived(grown))[source]
            derived = replace_records(get_derived(other), {source: moved})
            sources = *other.sources, *(each for each in grown.sources if each.source == source)
            store.apply([replace(other, sources=sources, derived=derived)])
            expect_derived(store, other.key, derived)
            with store.open_session(LOCAL, first.key) as session:
                assert source not in {file.source for file in session.files}
            left = make_batch({path: data for path, data in _FILES.items() if path != _AGENTS[0]})
            store.apply([replace(left, sources=())])
            expect_derived(store, first.key, get_derived(left))
            assert list_differences(store.read_usage(LOCAL), RecountedUsage(store, LOCAL)) == []

    def test_the_derivation_is_kept_with_the_records(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = make_batch({_TRANSCRIPT: make_lines(2)})
            store.apply([replace(batch, derivation=3)])
            assert _know(store).derivation == 3
            store.apply([replace(_look(store, {}), derivation=9)])
            assert _know(store).derivation == 3, "nothing was derived"
            seq = store.read_feed(LOCAL).last
            store.apply([replace(batch, sources=(), derivation=4)])
            assert _know(store).derivation == 4
            assert store.read_feed(LOCAL).last == seq, "no record is another one"

    def test_what_is_based_on_another_revision_is_refused(self, tmp_path: Path) -> None:
        """Two looks at once may read on in different files; their records are of neither's state."""
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
    known = find_known(store, LOCAL, make_key())
    assert known is not None
    return known


def _look(store: Store, files: dict[str, bytes]) -> SessionBatch:
    return make_batch(files, known=_know(store))


def _append(store: Store, path: str) -> SessionBatch:
    """Apply what two more lines of one file give, and name its chapter alone."""
    batch = _look(store, {**_FILES, path: make_lines(6, agent_id=path[-8:-6])})
    source = find_source(_know(store), path).source
    named = tuple(chapter for chapter in get_derived(batch).chapters if chapter.source == source)
    batch = replace(batch, derived=replace(get_derived(batch), chapters=named))
    store.apply([batch])
    return batch

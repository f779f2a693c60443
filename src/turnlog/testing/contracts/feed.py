"""The feed of changes, and what is new of a session that was known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Event, Thread
from typing import TypeVar
from unittest import SkipTest

from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.store.batch import ChapterBatch, Derived, OutlineBatch, SessionBatch
from turnlog.store.interface import ChangeKind, KnownSession, Store, find_known
from turnlog.store.model import LOCAL
from turnlog.store.usage.recounting import RecountedUsage, list_differences
from turnlog.testing.answers import collect_answers, list_records, read_bytes
from turnlog.testing.builders import make_batch, make_key, make_lines
from turnlog.testing.contracts.base import (
    ContractBase,
    expect_derived,
    get_derived,
    keep,
    read_records,
    refused,
    replace_records,
    unpack_files,
)
from turnlog.testing.row_builders import make_message, make_session_row
from turnlog.transcripts.segments import PART, SEGMENT, TurnRecord

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


_TRANSCRIPT = "session-1.jsonl"
_AGENT = "session-1/subagents/agent-a1.jsonl"
_MESSAGES = 60


class FeedContract(ContractBase):
    """Contracts of the feed, of restarts and of readers."""

    def test_the_feed_tells_what_happened_to_sessions(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for files in ({_TRANSCRIPT: make_lines(2)}, {_TRANSCRIPT: make_lines(4)}, {}):
                batch = keep(store, files)
            entries = store.read_feed(LOCAL, 0).entries
            assert [entry.kind for entry in entries] == [
                ChangeKind.SESSION_ADDED,
                ChangeKind.SESSION_CHANGED,
                ChangeKind.SESSION_GONE,
            ]
            assert {entry.session for entry in entries} == {batch.key}
            revisions = [entry.revision for entry in entries]
            assert revisions == [*range(revisions[0], revisions[0] + 3)]
            known = find_known(store, LOCAL, batch.key)
            assert known is not None
            assert known.revision == revisions[-1]

    def test_each_batch_of_a_call_has_an_entry_of_its_own(self, tmp_path: Path) -> None:
        names = [f"session-{number}" for number in range(4)]
        batches = [
            make_batch({f"{name}.jsonl": make_lines(1, session_id=name)}, session_id=name) for name in names
        ]
        with self.opened(tmp_path) as store:
            seq = store.apply(batches)
            assert store.read_feed(LOCAL).last == seq
            entries = store.read_feed(LOCAL, 0).entries
            assert [entry.session for entry in entries] == [batch.key for batch in batches]
            assert entries[-1].seq == seq

    def test_the_feed_gives_each_change_once_and_in_order_after_reopening(self, tmp_path: Path) -> None:
        seen: list[int] = []
        revisions: list[int] = []
        last = 0
        self.make_store(tmp_path).close()
        for count in range(1, 7):
            with self.reopened(tmp_path) as store:
                keep(store, {_TRANSCRIPT: make_lines(count)})
                seq = store.read_feed(LOCAL).last
                while last != seq:
                    [entry] = store.read_feed(LOCAL, after=last, limit=1).entries
                    assert entry.seq > last
                    last = entry.seq
                    seen.append(last)
                    revisions.append(entry.revision)
                assert store.read_feed(LOCAL, after=last).entries == ()
        assert seen == sorted(set(seen))
        assert revisions == [*range(revisions[0], revisions[0] + 6)]
        with self.reopened(tmp_path) as store:
            assert [entry.seq for entry in store.read_feed(LOCAL, 0).entries] == seen
            assert [entry.seq for entry in store.read_feed(LOCAL, after=seen[2], limit=2).entries] == seen[3:5]
            assert store.read_feed(LOCAL).entries == ()
            assert store.read_feed(LOCAL, last).epoch == store.read_feed(LOCAL).epoch
            assert store.read_feed(LOCAL).last == store.read_feed(LOCAL, after=seen[2], limit=2).last == last

    def test_the_feed_keeps_its_name_and_no_other_has_it(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
        with self.opened(tmp_path / "one") as store, self.opened(tmp_path / "two") as other:
            epoch = store.read_feed(LOCAL).epoch
            assert epoch
            assert other.read_feed(LOCAL).epoch != epoch
            keep(store, {_TRANSCRIPT: make_lines(2)})
            assert store.read_feed(LOCAL).epoch == epoch
        with self.reopened(tmp_path / "one") as store:
            assert store.read_feed(LOCAL).epoch == epoch

    def test_what_was_acknowledged_survives_reopening(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: make_lines(6), _AGENT: make_lines(2, agent_id="a1")})
            keep(store, {_TRANSCRIPT: make_lines(2, first=9)})
            before = collect_answers(store, LOCAL)
        with self.reopened(tmp_path) as store:
            assert collect_answers(store, LOCAL) == before
            keep(store, {_TRANSCRIPT: make_lines(5, first=9)})
            assert read_bytes(store, LOCAL, make_key(), 1) == make_lines(5, first=9)

    def test_what_was_acknowledged_is_seen_by_others_at_once(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store, self.reopened(tmp_path) as reader:
            for count in (1, 2, 5):
                keep(store, {_TRANSCRIPT: make_lines(count)})
                assert collect_answers(reader, LOCAL) == collect_answers(store, LOCAL)

    def test_two_writers_take_turns(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as one, self.reopened(tmp_path) as two:
            for count in range(1, 6):
                keep(one if count % 2 else two, {_TRANSCRIPT: make_lines(count)})
            assert collect_answers(one, LOCAL) == collect_answers(two, LOCAL)
            assert read_bytes(one, LOCAL, make_key(), 0) == make_lines(5)

    def test_a_list_that_is_read_slowly_is_of_one_state(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store, self.reopened(tmp_path) as reader:
            store.apply([_mark(name, None, 1) for name in ("session-1", "session-2")])
            expected = [*reader.list_known(LOCAL)]
            known = reader.list_known(LOCAL)
            begun = [next(known)]
            store.apply(
                [
                    _mark(name, find_known(store, LOCAL, make_key(name)), 2)
                    for name in ("session-1", "session-2")
                ]
            )
            assert [*begun, *known] == expected

    def test_a_session_stays_as_it_was_when_it_was_opened(self, tmp_path: Path) -> None:
        """Whatever is asked first, and whatever another writes meanwhile, its bytes included."""
        with self.opened(tmp_path) as store, self.reopened(tmp_path) as reader:
            keep(store, {_TRANSCRIPT: make_lines(700), _AGENT: make_lines(4, agent_id="a1")})
            [known] = reader.list_known(LOCAL)
            before = list_records(reader, LOCAL, known)
            with reader.open_session(LOCAL, known.key) as session:
                keep(store, {_TRANSCRIPT: make_lines(3, first=9)})
                keep(store, {_TRANSCRIPT: make_lines(1200, first=9)})
                assert [chapter.count_lines for chapter in session.files] == [700, 4]
                assert session.main is not None
                assert session.main.facts.generation == 0
                assert [*session.main.list_lines()][-1] in before
                assert session.main.read_raw([699])[699] == make_lines(1, first=699).rstrip(b"\n")
                assert session.list_turns() == [each for each in before if isinstance(each, TurnRecord)]
            assert list_records(reader, LOCAL, known) == list_records(store, LOCAL, known) != before

    def test_what_goes_wrong_while_a_session_is_open_is_not_the_stores(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key = keep(store, {_TRANSCRIPT: make_lines(2)}).key
            failures = [ValueError("of the caller"), OSError(28, "No space left"), KeyError("nothing")]
            caught: list[Exception] = []
            for failure in failures:
                try:
                    with store.open_session(LOCAL, key):
                        raise failure
                except (ValueError, OSError, KeyError) as error:
                    caught.append(error)
            assert caught == failures
            assert len(read_records(store, key).lines) == 2

    def test_readers_see_one_state_while_a_writer_works(self, tmp_path: Path) -> None:
        """Each batch marks all messages of a session anew; nobody may see two marks at once."""
        torn: list[set[str | None]] = []
        seen: set[str | None] = set()
        ready, done = Event(), Event()

        def read() -> None:
            with self.reopened(tmp_path) as reader:
                while not done.is_set():
                    records = read_records(reader, make_key())
                    marks = {each.model for each in records.messages} | {
                        each.model for each in records.sightings
                    }
                    if len(marks) != 1 or len(records.messages) != _MESSAGES:
                        torn.append(marks)
                    seen.update(marks)
                    ready.set()

        with self.opened(tmp_path) as store:
            store.apply([_mark("session-1", None, 1)])
            thread = Thread(target=read)
            thread.start()
            try:
                assert ready.wait(20)
                for number in range(2, 14):
                    store.apply([_mark("session-1", find_known(store, LOCAL, make_key()), number)])
            finally:
                done.set()
                thread.join()
        assert torn == []
        assert seen


def _mark(session_id: str, known: KnownSession | None, number: int) -> SessionBatch:
    """Return a batch that replaces all records of a session by ones with a mark."""
    lines = make_lines(2 * number, session_id=session_id)
    batch = make_batch({f"{session_id}.jsonl": lines}, session_id=session_id, known=known)
    derived = get_derived(batch)
    [(source, records)] = unpack_files(derived).items()
    model = f"mark-{number}"
    marked = replace(
        records,
        messages=tuple(make_message(index, model=model) for index in range(_MESSAGES)),
        sightings=tuple(replace(each, model=model) for each in records.sightings),
    )
    derived = replace_records(Derived(session=make_session_row(session_id, lines=number)), {source: marked})
    return replace(batch, derived=derived)


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

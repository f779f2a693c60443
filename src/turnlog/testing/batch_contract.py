"""Contracts of batches and of the feed: what is written is written once and whole, and reported once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import TypeVar
from unittest import SkipTest

from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.store.batch import ChapterBatch, Derived, OutlineBatch, SessionBatch
from turnlog.store.interface import ChangeKind, KnownSession, Store, find_known, read_all
from turnlog.store.lists import SessionFilter
from turnlog.store.model import LOCAL, Scope, SourceKind
from turnlog.store.usage_recount import RecountedUsage, list_differences
from turnlog.testing.builders import (
    FileRecords,
    make_batch,
    make_key,
    make_lines,
    make_message,
    make_session_row,
)
from turnlog.testing.checks import (
    ContractBase,
    collect_answers,
    expect_derived,
    find_source,
    get_derived,
    keep,
    list_records,
    read_bytes,
    read_records,
    refused,
    replace_records,
    shift_source,
    unpack_files,
)
from turnlog.transcripts.segments import PART, SEGMENT, TurnRecord
from turnlog.transcripts.session_files import Change

_TRANSCRIPT = "session-1.jsonl"
_AGENT = "session-1/subagents/agent-a1.jsonl"


class BatchContract(ContractBase):
    """Contracts of `apply`."""

    def test_an_applied_batch_can_be_read_back(self, tmp_path: Path) -> None:
        files = {_TRANSCRIPT: make_lines(6), _AGENT: make_lines(4, agent_id="a1")}
        batch = make_batch(files)
        with self.opened(tmp_path) as store:
            store.apply([batch])
            expect_derived(store, batch.key, get_derived(batch))
            [session] = store.list_sessions(LOCAL).sessions
            assert (session.key, session.project_folder) == (batch.key, batch.project_folder)
            assert (session.path, session.present) == (batch.sources[0].path, True)

    def test_transcripts_that_begin_with_the_same_message_are_found_by_it(self, tmp_path: Path) -> None:
        first, second = (
            make_batch({f"{name}.jsonl": make_lines(4, session_id="session-1")}, session_id=name)
            for name in ("session-1", "session-2")
        )
        other = make_batch({"session-3.jsonl": make_lines(4, first=2)}, session_id="session-3")
        alone = make_batch({"session-4.jsonl": make_lines(1)}, session_id="session-4")
        with self.opened(tmp_path) as store:
            assert _list_begun(store, "session-1-main-0") == []
            store.apply([first, second, other, alone])
            assert _list_begun(store, "session-1-main-0") == sorted([first.key, second.key])
            found = store.list_sessions(LOCAL, SessionFilter(heads=("session-1-main-0",))).sessions
            heads = {each.row.head for each in found}
            assert heads == {get_derived(first).session.head}
            assert [head.told_id for head in heads if head is not None] == ["session-1"]
            # What stands in no transcript, though a line follows it there, begins none.
            assert _list_begun(store, "session-1-main-1") == []
            assert _list_begun(store, "session-1-main-2") == [other.key]
            assert (
                store.list_sessions(Scope("somebody else"), SessionFilter(heads=("session-1-main-0",))).total
                == 0
            )

    def test_a_file_may_be_for_something_else_later(self, tmp_path: Path) -> None:
        """A capture that stood alone is only kept from then on, and another file is the transcript."""
        captured, own = make_lines(4), make_lines(6, first=10)
        batch = make_batch({_TRANSCRIPT: captured})
        with self.opened(tmp_path) as store:
            store.apply([batch])
            [known] = store.list_known(LOCAL)
            both = make_batch({_TRANSCRIPT: captured, "own.jsonl": own}, known=known)
            derived = get_derived(make_batch({"own.jsonl": own}))
            derived = replace(derived, chapters=(*derived.chapters, ChapterBatch(batch.key, 0)))
            left = replace(batch.sources[0], start=known.sources[0].length, frames=(), lines=0, texts=())
            left = replace(left, kind=SourceKind.CAPTURE, change=Change.UNCHANGED, texts_from=0)
            store.apply(
                [replace(both, sources=(left, *both.sources), derived=derived, base_revision=known.revision)]
            )
            [known] = store.list_known(LOCAL)
            assert {source.path.rpartition("/")[2]: source.kind for source in known.sources} == {
                _TRANSCRIPT: SourceKind.CAPTURE,
                "own.jsonl": SourceKind.TRANSCRIPT,
            }
            with store.open_session(LOCAL, batch.key) as session:
                assert [file.source for file in session.files] == [derived.chapters[0].source]
            records = read_records(store, batch.key)
            assert records == unpack_files(derived)[derived.chapters[0].source] != FileRecords()
            assert b"".join(read_all(store.archive, LOCAL, batch.key, 0)) == captured
            assert _list_begun(store, "session-1-main-10") == [batch.key]
            assert _list_begun(store, "session-1-main-0") == []

    def test_a_file_may_turn_out_to_be_a_copy_later(self, tmp_path: Path) -> None:
        batch = make_batch({_TRANSCRIPT: make_lines(4)})
        with self.opened(tmp_path) as store:
            store.apply([batch])
            [known] = store.list_known(LOCAL)
            again = make_batch({_TRANSCRIPT: make_lines(4)}, known=known)
            said = replace(batch.sources[0], start=known.sources[0].length, frames=(), lines=0, texts=())
            said = replace(said, change=Change.UNCHANGED, texts_from=None, copied_from="another")
            store.apply([replace(again, sources=(said,), derived=None, base_revision=known.revision)])
            [known] = store.list_known(LOCAL)
            [session] = store.list_sessions(LOCAL).sessions
            assert (known.sources[0].copied_from, session.copied_from) == ("another", "another")
            assert known.revision == 2

    def test_what_is_known_of_files_is_what_the_batch_said(self, tmp_path: Path) -> None:
        batch = make_batch({_TRANSCRIPT: make_lines(6) + b'{"torn', _AGENT: make_lines(4, agent_id="a1")})
        transcript, agent = batch.sources
        agent = replace(agent, run_id="wf_1", copied_from=transcript.source)
        with self.opened(tmp_path) as store:
            store.apply([replace(batch, sources=(transcript, agent))])
            known = find_known(store, LOCAL, batch.key)
            assert known is not None
            assert known.key == batch.key
            assert {source.source for source in known.sources} == {transcript.source, agent.source}
            for said, path in ((transcript, _TRANSCRIPT), (agent, _AGENT)):
                found = find_source(known, path)
                assert found.present
                assert found.lines == said.lines
                for name in ("source", "kind", "path", "generation", "length", "consumed", "in_array"):
                    assert getattr(found, name) == getattr(said, name), name
                for name in ("checkpoint", "agent_id", "run_id", "copied_from"):
                    assert getattr(found, name) == getattr(said, name), name

    def test_applying_twice_changes_nothing_and_makes_no_entry(self, tmp_path: Path) -> None:
        first = make_batch({_TRANSCRIPT: make_lines(4), _AGENT: make_lines(2, agent_id="a1")})
        with self.opened(tmp_path) as store:
            seq = store.apply([first])
            before = collect_answers(store, LOCAL)
            assert store.apply([first]) == seq
            assert collect_answers(store, LOCAL) == before
            known = find_known(store, LOCAL, first.key)
            second = make_batch({_TRANSCRIPT: make_lines(6)}, known=known)
            seq = store.apply([second])
            before = collect_answers(store, LOCAL)
            assert store.apply([second]) == seq
            assert collect_answers(store, LOCAL) == before

    def test_a_look_that_found_nothing_new_changes_nothing(self, tmp_path: Path) -> None:
        files = {_TRANSCRIPT: make_lines(4)}
        with self.opened(tmp_path) as store:
            seq = store.apply([make_batch(files)])
            before = collect_answers(store, LOCAL)
            batch = keep(store, files)
            assert (batch.sources, batch.derived) == ((), None)
            assert store.apply([]) == seq
            assert collect_answers(store, LOCAL) == before

    def test_batches_of_one_call_are_applied_whole_or_not_at_all(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {"session-0.jsonl": make_lines(2)}, session_id="session-0")
            before = collect_answers(store, LOCAL)
            good = make_batch({_TRANSCRIPT: make_lines(4)})
            for bad in _list_misfits():
                with refused():
                    store.apply([good, bad])
                assert collect_answers(store, LOCAL) == before
                assert find_known(store, LOCAL, good.key) is None
                assert read_bytes(store, LOCAL, good.key, 0) is None
            store.apply([good])
            assert len(store.list_sessions(LOCAL).sessions) == 2

    def test_a_batch_whose_second_file_does_not_fit_leaves_nothing_of_the_first(self, tmp_path: Path) -> None:
        batch = make_batch({_TRANSCRIPT: make_lines(4), _AGENT: make_lines(2, agent_id="a1")})
        transcript, agent = batch.sources
        with self.opened(tmp_path) as store:
            with refused():
                store.apply([replace(batch, sources=(transcript, replace(agent, generation=4)))])
            assert find_known(store, LOCAL, batch.key) is None
            assert store.read_feed(LOCAL, 0).entries == ()
            assert read_records(store, batch.key) == FileRecords()

    def test_a_batch_that_does_not_follow_on_what_is_there_is_refused(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: make_lines(4)})
            known = find_known(store, LOCAL, make_key())
            longer = make_batch({_TRANSCRIPT: make_lines(6)}, known=known)
            [source] = longer.sources
            before = collect_answers(store, LOCAL)
            for wrong in (
                shift_source(source, jump=1),
                shift_source(source, jump=2),
                shift_source(source, 1),
                shift_source(source, -1),
                shift_source(source, -source.start),
            ):
                with refused():
                    store.apply([replace(longer, sources=(wrong,))])
                assert collect_answers(store, LOCAL) == before

    def test_of_two_looks_at_once_the_slower_one_is_refused(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: make_lines(2)})
            known = find_known(store, LOCAL, make_key())
            slower = make_batch({_TRANSCRIPT: make_lines(4)}, known=known)
            keep(store, {_TRANSCRIPT: make_lines(6)})
            before = collect_answers(store, LOCAL)
            with refused():
                store.apply([slower])
            assert collect_answers(store, LOCAL) == before

    def test_an_old_batch_does_no_harm(self, tmp_path: Path) -> None:
        """Whether it is refused or passed over: what came after it stays."""
        with self.opened(tmp_path) as store:
            old = keep(store, {_TRANSCRIPT: make_lines(2)})
            keep(store, {_TRANSCRIPT: make_lines(6)})
            before = collect_answers(store, LOCAL)
            with suppress(StoreError):
                store.apply([old])
            assert collect_answers(store, LOCAL) == before

    def test_batches_of_one_call_may_follow_on_each_other(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            first = make_batch({_TRANSCRIPT: make_lines(2)})
            store.apply([first])
            second = make_batch({_TRANSCRIPT: make_lines(4)}, known=find_known(store, LOCAL, first.key))
        other = tmp_path / "other"
        other.mkdir()
        with self.opened(other) as store:
            store.apply([first, second])
            expect_derived(store, first.key, get_derived(second))
            assert read_bytes(store, LOCAL, first.key, 0) == make_lines(4)

    def test_a_checkpoint_alone_is_kept_and_makes_no_entry(self, tmp_path: Path) -> None:
        """A file that was touched, but is as it was, must not be opened by each look from now on."""
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(2)})
            touched = make_batch({_TRANSCRIPT: make_lines(2)}).sources[0]
            assert touched.checkpoint is not None
            checkpoint = replace(touched.checkpoint, modified_ns=99)
            touched = replace(touched, start=touched.length, frames=(), lines=0, checkpoint=checkpoint)
            seq = store.read_feed(LOCAL).last
            assert store.apply([replace(batch, sources=(touched,), derived=None)]) == seq
            assert find_source(find_known(store, LOCAL, batch.key), _TRANSCRIPT).checkpoint == checkpoint
            assert read_bytes(store, LOCAL, batch.key, 0) == make_lines(2)

    def test_what_a_later_look_does_not_say_of_a_file_stays(self, tmp_path: Path) -> None:
        first = make_batch({_AGENT: make_lines(1, agent_id="a1")})
        said = replace(first.sources[0], run_id="wf_1", copied_from="another")
        with self.opened(tmp_path) as store:
            store.apply([replace(first, sources=(said,))])
            known = find_known(store, LOCAL, first.key)
            second = make_batch({_AGENT: make_lines(2, agent_id="a1")}, known=known)
            unsaid = replace(second.sources[0], agent_id=None, run_id=None, copied_from=None)
            store.apply([replace(second, sources=(unsaid,))])
            found = find_source(find_known(store, LOCAL, first.key), _AGENT)
            assert (found.agent_id, found.run_id, found.copied_from) == ("a1", "wf_1", "another")

    def test_records_are_replaced_under_a_new_revision(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            old = keep(store, {_TRANSCRIPT: make_lines(4), _AGENT: make_lines(2, agent_id="a1")})
            [before] = store.list_sessions(LOCAL).sessions
            new = keep(store, {_TRANSCRIPT: make_lines(2, first=20)})
            [after] = store.list_sessions(LOCAL).sessions
            assert after.revision == before.revision + 1
            known = find_known(store, LOCAL, old.key)
            assert known is not None
            assert known.revision == after.revision
            expect_derived(store, old.key, get_derived(new))

    def test_records_can_be_derived_anew_without_new_bytes(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(4)})
            derived = replace(get_derived(batch), session=make_session_row(title="better"))
            records = replace(unpack_files(derived)[batch.key], calls=())
            derived = replace_records(derived, {batch.key: records})
            anew = replace(batch, sources=(), derived=derived)
            seq = store.apply([anew])
            assert read_records(store, batch.key) == records
            expect_derived(store, batch.key, derived)
            assert store.apply([anew]) == seq

    def test_records_may_change_in_the_middle_grow_and_shrink(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for number, ids in enumerate(("abcdef", "abXdef", "abXdefghi", "ab", "", "xyz"), start=1):
                batch = _with_messages(find_known(store, LOCAL, make_key()), number, ids)
                store.apply([batch])
                messages = read_records(store, batch.key).messages
                assert [(each.index, each.id) for each in messages] == [*enumerate(ids)]

    def test_what_is_as_it_was_is_not_written(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            if not isinstance(getattr(store, "writes", None), int):
                raise SkipTest("the store does not count its writes")
            keep(store, {_TRANSCRIPT: make_lines(400)})
            before: int = store.writes  # type: ignore[attr-defined]
            batch = keep(store, {_TRANSCRIPT: make_lines(401)})
            written: int = store.writes - before  # type: ignore[attr-defined]
            assert 0 < written < 60
            store.apply([batch])
            assert store.writes - before == written  # type: ignore[attr-defined]


def _list_misfits() -> Iterator[SessionBatch]:
    """Yield batches that follow on nothing that is there."""
    batch = make_batch({"session-2.jsonl": make_lines(3, session_id="session-2")}, session_id="session-2")
    [source] = batch.sources
    [frame] = source.frames
    yield replace(batch, sources=(replace(source, generation=3),))
    yield replace(batch, sources=(replace(source, start=10, length=10 + frame.length),))
    yield replace(batch, sources=(replace(source, frames=(replace(frame, start=5),)),))
    yield replace(batch, sources=(replace(source, frames=()),))
    yield replace(batch, sources=(replace(source, length=source.length + 1),))


def _with_messages(known: KnownSession | None, number: int, ids: str) -> SessionBatch:
    batch = make_batch({_TRANSCRIPT: make_lines(number)}, known=known)
    messages = tuple(make_message(index, id=name) for index, name in enumerate(ids))
    records = replace(unpack_files(get_derived(batch))[batch.key], messages=messages)
    derived = replace_records(Derived(session=make_session_row(lines=number)), {batch.key: records})
    return replace(batch, derived=derived)


def _list_begun(store: Store, uuid: str) -> list[str]:
    """Return the sessions whose transcripts begin with a message."""
    return sorted(each.key for each in store.list_sessions(LOCAL, SessionFilter(heads=(uuid,))).sessions)


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


class PartialUpdateContract(ContractBase):
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

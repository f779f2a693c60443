"""Batches: what is written is written once, as a whole, and only on top of what it was made for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest import SkipTest

from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.store.batch import ChapterBatch, Derived, SessionBatch
from turnlog.store.interface import KnownSession, Store, find_known, read_all
from turnlog.store.lists import SessionFilter
from turnlog.store.model import LOCAL, Scope, SourceKind
from turnlog.testing.answers import collect_answers, read_bytes
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
    shift_source,
    unpack_files,
)
from turnlog.testing.memory_session import FileRecords
from turnlog.testing.row_builders import make_message, make_session_row
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

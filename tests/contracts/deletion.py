"""Forgetting for good, and repairing what is damaged."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from contracts.base import EngineBase
from turnlog.errors import ArchiveError
from turnlog.store.batch import SessionBatch
from turnlog.store.interface import ChangeKind, Maintenance, find_known, read_all
from turnlog.store.model import LOCAL, Scope
from turnlog.testing.builders import (
    FileRecords,
    make_batch,
    make_key,
    make_line,
    make_lines,
    make_outline,
    make_session_row,
)
from turnlog.testing.checks import (
    collect_answers,
    expect_derived,
    find_source,
    get_derived,
    keep,
    read_bytes,
    read_records,
    refused,
    replace_records,
    unpack_files,
)

_TRANSCRIPT = "session-1.jsonl"
_AGENT = "session-1/subagents/agent-a1.jsonl"
_FILES = {_TRANSCRIPT: make_lines(4), _AGENT: make_lines(2, agent_id="a1")}
_OTHER = Scope("somebody else")
_OF_SESSION = (
    "find_sessions",
    "open_session",
    "list_generations",
    "read_all",
)
"""The queries whose answers are of the sessions that are asked for alone."""


class DeletionContract(EngineBase):
    """Contracts of `forget`, `delete_tombstones` and `list_tombstones`."""

    def test_nothing_of_a_forgotten_session_can_be_asked_for(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            batch = keep(store, _FILES)
            known = list(store.list_known(LOCAL))
            before = collect_answers(store, LOCAL)
            weight = store.forget(LOCAL, [batch.key, "nobody", batch.key], dry_run=True)
            assert collect_answers(store, LOCAL) == before
            forgotten = store.forget(LOCAL, [batch.key])
            assert replace(weight, scrubbed=forgotten.scrubbed) == forgotten
            assert (forgotten.sessions, forgotten.files, forgotten.deliveries) == (1, 2, 0)
            assert forgotten.bytes == sum(map(len, _FILES.values()))
            left = collect_answers(store, LOCAL, known)
            assert [name for name, found in left.items() if found] == ["read_feed"]
            assert read_bytes(store, LOCAL, batch.key, 0) is None
            assert store.list_flaws(LOCAL) == []
        with self.reopened_engine(tmp_path) as store:
            assert collect_answers(store, LOCAL, known) == left

    def test_all_generations_are_forgotten(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            keep(store, {_TRANSCRIPT: make_lines(2)})
            key = keep(store, {_TRANSCRIPT: make_lines(3, first=9)}).key
            size = len(make_lines(2)) + len(make_lines(3, first=9))
            assert store.forget(LOCAL, [key]).bytes == size
            assert store.archive.list_generations(LOCAL, key) == []

    def test_other_sessions_stay_as_they_are(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            key = keep(store, _FILES).key
            files = {name.replace("session-1", "session-2"): data for name, data in _FILES.items()}
            other = keep(store, files, session_id="session-2")
            kept = [known for known in store.list_known(LOCAL) if known.key == other.key]
            before = collect_answers(store, LOCAL, kept)
            store.forget(LOCAL, [key])
            after = collect_answers(store, LOCAL)
            for name in _OF_SESSION:
                assert after[name] == before[name] != [], name
            assert [known.key for known in store.list_known(LOCAL)] == [other.key]
            assert store.list_flaws(LOCAL) == []

    def test_it_is_told_in_the_feed_under_a_new_revision(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            key = keep(store, _FILES).key
            before = store.read_feed(LOCAL, 0).entries[-1]
            store.forget(LOCAL, [key])
            last = store.read_feed(LOCAL, 0).entries[-1]
            assert (last.kind, last.session) == (ChangeKind.SESSION_FORGOTTEN, key)
            assert (last.seq, last.revision) > (before.seq, before.revision)

    def test_a_forgotten_session_does_not_come_back(self, tmp_path: Path) -> None:
        """It may have been looked at before it was forgotten."""
        with self.opened_engine(tmp_path) as store:
            batch = keep(store, _FILES)
            later = make_batch(
                {**_FILES, _TRANSCRIPT: make_lines(6)}, known=find_known(store, LOCAL, batch.key)
            )
            store.forget(LOCAL, [batch.key])
            seq = store.read_feed(LOCAL).last
            for again in (batch, later):
                store.apply([again])
                assert list(store.list_known(LOCAL)) == []
                assert store.read_feed(LOCAL).last == seq

    def test_a_tombstone_says_what_was_forgotten(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            assert store.list_tombstones(LOCAL) == []
            keys = [keep(store, {f"{name}.jsonl": make_lines(2)}, session_id=name).key for name in ("b", "a")]
            for key in keys:
                store.forget(LOCAL, [key])
            found = store.list_tombstones(LOCAL)
            assert [(each.key, each.session_id) for each in found] == [(keys[0], "b"), (keys[1], "a")]
            assert found[0].at_ns <= found[1].at_ns
            assert store.list_tombstones(_OTHER) == []

    def test_of_an_id_that_a_copy_has_too_only_the_key_is_kept(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            for origin in ("here", "there"):
                store.apply([make_batch({_TRANSCRIPT: make_lines(2)}, origin=origin)])
            store.forget(LOCAL, [make_key(origin="here")])
            [tombstone] = store.list_tombstones(LOCAL)
            assert (tombstone.key, tombstone.session_id) == (make_key(origin="here"), None)
            assert [known.key for known in store.list_known(LOCAL)] == [make_key(origin="there")]

    def test_what_is_lifted_may_come_back(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            batch = keep(store, _FILES)
            store.forget(LOCAL, [batch.key])
            assert store.delete_tombstones(_OTHER, [batch.key]) == 0
            assert store.delete_tombstones(LOCAL, [batch.key, "nobody"]) == 1
            assert store.delete_tombstones(LOCAL, [batch.key]) == 0
            assert store.list_tombstones(LOCAL) == []
            assert list(store.list_known(LOCAL)) == []
            store.apply([batch])
            assert [known.key for known in store.list_known(LOCAL)] == [batch.key]

    def test_what_is_not_there_or_another_owners_is_not_forgotten(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            key = keep(store, _FILES).key
            before = collect_answers(store, LOCAL)
            assert store.forget(LOCAL, ["nobody"]).sessions == 0
            assert store.forget(LOCAL, []).sessions == 0
            assert store.forget(_OTHER, [key]).sessions == 0
            assert collect_answers(store, LOCAL) == before
            assert store.list_tombstones(LOCAL) == store.list_tombstones(_OTHER) == []

    def test_several_are_forgotten_at_once(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            keys = [keep(store, {f"{name}.jsonl": make_lines(2)}, session_id=name).key for name in "abc"]
            forgotten = store.forget(LOCAL, [keys[0], "nobody", keys[2]])
            assert (forgotten.sessions, forgotten.files) == (2, 2)
            assert [known.key for known in store.list_known(LOCAL)] == [keys[1]]

    def test_scrubbing_leaves_all_that_is_there(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            keep(store, _FILES)
            before = collect_answers(store, LOCAL)
            assert store.maintain(Maintenance.PURGE)
            assert collect_answers(store, LOCAL) == before


_MENDED_FILES = {_TRANSCRIPT: make_lines(6), _AGENT: make_lines(4, agent_id="a1")}


class RepairContract(EngineBase):
    """Contracts of `rewrite`, `mend` and `list_flaws`."""

    def test_what_is_written_again_is_the_same_under_a_new_revision(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            batch = keep(store, _MENDED_FILES)
            before = collect_answers(store, LOCAL)
            lines = {source.source: source.lines for source in batch.sources}
            assert store.rewrite(LOCAL, batch.key, 1, batch.derived, lines=lines) == 2
            after = collect_answers(store, LOCAL)
            for name in ("open_session", "find_answers", "read_usage", "search"):
                assert after[name] == before[name] != [], name
            known = find_known(store, LOCAL, batch.key)
            assert known is not None
            assert (known.revision, find_source(known, _TRANSCRIPT).lines) == (2, 6)
            last = store.read_feed(LOCAL, 0).entries[-1]
            assert (last.kind, last.session, last.revision) == (ChangeKind.SESSION_CHANGED, batch.key, 2)

    def test_records_and_counts_are_replaced_by_those_that_are_given(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            batch = keep(store, _MENDED_FILES)
            derived = get_derived(batch)
            [(one, of_one), (two, of_two)] = unpack_files(derived).items()
            derived = replace_records(
                replace(derived, session=make_session_row(title="better"), outline=make_outline((), ())),
                {one: replace(of_one, messages=of_one.messages[:2]), two: replace(of_two, calls=())},
            )
            store.rewrite(LOCAL, batch.key, 1, derived, 7, lines={batch.key: 3})
            expect_derived(store, batch.key, derived)
            known = find_known(store, LOCAL, batch.key)
            assert known is not None
            assert (known.derivation, find_source(known, _TRANSCRIPT).lines) == (7, 3)

    def test_chapters_that_are_not_written_again_are_gone(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            batch = keep(store, _MENDED_FILES)
            derived = replace(get_derived(batch), chapters=get_derived(batch).chapters[:1])
            store.rewrite(LOCAL, batch.key, 1, derived)
            expect_derived(store, batch.key, derived)
            assert read_records(store, batch.key, batch.sources[1].source) == FileRecords()

    def test_without_records_those_that_are_there_stay(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            batch = make_batch(_MENDED_FILES)
            store.apply([replace(batch, derivation=5)])
            store.rewrite(LOCAL, batch.key, 1, None, lines={batch.key: batch.sources[0].lines})
            expect_derived(store, batch.key, get_derived(batch))
            known = find_known(store, LOCAL, batch.key)
            assert known is not None
            assert known.derivation == 5

    def test_a_session_goes_on_after_it_was_rewritten(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            batch = keep(store, _MENDED_FILES)
            store.rewrite(LOCAL, batch.key, 1, batch.derived)
            later = keep(store, {**_MENDED_FILES, _TRANSCRIPT: make_lines(8)})
            expect_derived(store, batch.key, get_derived(later))
            assert find_source(find_known(store, LOCAL, batch.key), _TRANSCRIPT).lines == 8

    def test_another_revision_is_refused_and_nothing_is_written(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            batch = keep(store, _MENDED_FILES)
            before = collect_answers(store, LOCAL)
            for scope, key, revision in (
                (LOCAL, batch.key, 2),
                (LOCAL, "nobody", 1),
                (_OTHER, batch.key, 1),
            ):
                with refused():
                    store.rewrite(scope, key, revision, batch.derived, 3, lines={batch.key: 1})
            assert collect_answers(store, LOCAL) == before

    def test_a_sound_store_has_no_flaws(self, tmp_path: Path) -> None:
        with self.opened_engine(tmp_path) as store:
            assert store.list_flaws(LOCAL) == []
            batch = keep(store, _MENDED_FILES)
            keep(store, {_TRANSCRIPT: make_lines(1100, first=3)})
            keep(store, {"session-2.jsonl": make_lines(2)}, session_id="session-2", owner=_OTHER.owner)
            keep(store, {})
            store.forget(LOCAL, [keep(store, {"a.jsonl": make_lines(1)}, session_id="a").key])
            assert store.list_flaws(LOCAL) == store.list_flaws(_OTHER) == []
            assert find_known(store, LOCAL, batch.key) is not None

    def test_records_that_contradict_the_rest_are_told_and_mended_by_writing_them_again(
        self, tmp_path: Path
    ) -> None:
        with self.opened_engine(tmp_path) as store:
            batch = keep(store, _MENDED_FILES)
            keep(store, {"session-2.jsonl": make_lines(2)}, session_id="session-2")
        self.spoil_records(tmp_path, batch.key)
        with self.reopened_engine(tmp_path) as store:
            flaws = store.list_flaws(LOCAL)
            assert {(flaw.session, flaw.follows) for flaw in flaws} == {(batch.key, True)}
            assert all(flaw.message for flaw in flaws)
            assert store.list_flaws(_OTHER) == []
            store.rewrite(LOCAL, batch.key, 1, batch.derived)
            assert store.list_flaws(LOCAL) == []
            expect_derived(store, batch.key, get_derived(batch))

    def test_bytes_are_mended_by_the_very_same_alone(self, tmp_path: Path) -> None:
        data = make_line(text="x" * 1_000_000) + make_line(1)
        with self.opened_engine(tmp_path) as store:
            batch: SessionBatch = keep(store, {_TRANSCRIPT: data})
        self.spoil_bytes(tmp_path, batch.key)
        with self.reopened_engine(tmp_path) as store:
            try:
                list(read_all(store.archive, LOCAL, batch.key, 0))
            except ArchiveError:
                pass
            else:
                raise AssertionError("damaged bytes were read")

            def find(start: int, length: int) -> bytes:
                return data[start : start + length]

            assert store.repair_bytes(LOCAL, batch.key, 0, lambda start, length: None) == 0
            assert store.repair_bytes(LOCAL, batch.key, 0, lambda start, length: b"y" * length) == 0
            assert store.repair_bytes(_OTHER, batch.key, 0, find) == 0
            assert store.repair_bytes(LOCAL, batch.key, 0, find) > 0
            assert store.repair_bytes(LOCAL, batch.key, 0, find) == 0
            assert b"".join(read_all(store.archive, LOCAL, batch.key, 0)) == data

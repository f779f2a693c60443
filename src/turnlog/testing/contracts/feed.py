"""The feed, and what holds over time: restarts, and readers beside a writer."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

from msgspec.structs import replace

from turnlog.store.batch import DerivedRows, SessionBatch
from turnlog.store.identity import LOCAL
from turnlog.store.interface import ChangeKind, KnownSession
from turnlog.testing.answers import collect_answers, read_bytes
from turnlog.testing.builders import make_batch, make_key, make_lines
from turnlog.testing.contracts.base import ContractBase, keep
from turnlog.testing.row_builders import make_message_row, make_session_row

__all__ = ["FeedContract"]

_TRANSCRIPT = "session-1.jsonl"
_AGENT = "session-1/subagents/agent-a1.jsonl"
_ROWS = 60


class FeedContract(ContractBase):
    """Contracts of the feed, of restarts and of readers."""

    def test_the_feed_tells_what_happened_to_sessions(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for files in ({_TRANSCRIPT: make_lines(2)}, {_TRANSCRIPT: make_lines(4)}, {}):
                batch = keep(store, files)
            entries = store.list_changes(LOCAL)
            assert [entry.kind for entry in entries] == [
                ChangeKind.SESSION_ADDED,
                ChangeKind.SESSION_CHANGED,
                ChangeKind.SESSION_GONE,
            ]
            assert {entry.session for entry in entries} == {batch.key}
            revisions = [entry.revision for entry in entries]
            assert revisions == [*range(revisions[0], revisions[0] + 3)]
            known = store.find_known(LOCAL, batch.key)
            assert known is not None
            assert known.revision == revisions[-1]

    def test_each_batch_of_a_call_has_an_entry_of_its_own(self, tmp_path: Path) -> None:
        names = [f"session-{number}" for number in range(4)]
        batches = [
            make_batch({f"{name}.jsonl": make_lines(1, session_id=name)}, session_id=name) for name in names
        ]
        with self.opened(tmp_path) as store:
            seq = store.apply(batches)
            assert store.find_last_change(LOCAL) == seq
            entries = store.list_changes(LOCAL)
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
                seq = store.find_last_change(LOCAL)
                while last != seq:
                    [entry] = store.list_changes(LOCAL, after=last, limit=1)
                    assert entry.seq > last
                    last = entry.seq
                    seen.append(last)
                    revisions.append(entry.revision)
                assert store.list_changes(LOCAL, after=last) == []
        assert seen == sorted(set(seen))
        assert revisions == [*range(revisions[0], revisions[0] + 6)]
        with self.reopened(tmp_path) as store:
            assert [entry.seq for entry in store.list_changes(LOCAL)] == seen
            assert [entry.seq for entry in store.list_changes(LOCAL, after=seen[2], limit=2)] == seen[3:5]
            assert store.find_last_change(LOCAL) == last

    def test_the_feed_keeps_its_name_and_no_other_has_it(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
        with self.opened(tmp_path / "one") as store, self.opened(tmp_path / "two") as other:
            epoch = store.find_epoch()
            assert epoch
            assert other.find_epoch() != epoch
            keep(store, {_TRANSCRIPT: make_lines(2)})
            assert store.find_epoch() == epoch
        with self.reopened(tmp_path / "one") as store:
            assert store.find_epoch() == epoch

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
            expected = [*reader.list_known(LOCAL)], [*reader.list_sightings(LOCAL)]
            known, sightings = reader.list_known(LOCAL), reader.list_sightings(LOCAL)
            begun = [next(known)], [next(sightings)]
            store.apply(
                [_mark(name, store.find_known(LOCAL, make_key(name)), 2) for name in ("session-1", "session-2")]
            )
            assert ([*begun[0], *known], [*begun[1], *sightings]) == expected
            assert [*reader.list_sightings(LOCAL)] != expected[1]

    def test_readers_see_one_state_while_a_writer_works(self, tmp_path: Path) -> None:
        """Each batch marks all messages of a session anew; nobody may see two marks at once."""
        torn: list[set[str | None]] = []
        seen: set[str | None] = set()
        ready, done = Event(), Event()

        def read() -> None:
            with self.reopened(tmp_path) as reader:
                while not done.is_set():
                    rows = reader.list_messages(LOCAL, make_key())
                    marks = {row.model for row in rows}
                    if len(marks) != 1 or len(rows) != _ROWS:
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
                    store.apply([_mark("session-1", store.find_known(LOCAL, make_key()), number)])
            finally:
                done.set()
                thread.join()
        assert torn == []
        assert seen


def _mark(session_id: str, known: KnownSession | None, number: int) -> SessionBatch:
    """Return a batch that replaces all rows of a session by ones with a mark."""
    lines = make_lines(2 * number, session_id=session_id)
    batch = make_batch({f"{session_id}.jsonl": lines}, session_id=session_id, known=known)
    assert batch.derived is not None
    [chapter] = batch.derived.chapters
    return replace(
        batch,
        derived=DerivedRows(
            session=make_session_row(session_id, lines=number),
            chapters=(
                replace(
                    chapter,
                    messages=tuple(
                        make_message_row(index, batch.key, 0, model=f"mark-{number}") for index in range(_ROWS)
                    ),
                    sightings=tuple(replace(row, model=f"mark-{number}") for row in chapter.sightings),
                ),
            ),
        ),
    )

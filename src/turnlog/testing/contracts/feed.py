"""The feed, and what holds over time: restarts, and readers beside a writer."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

from msgspec.structs import replace

from turnlog.store.batch import Derived, SessionBatch
from turnlog.store.interface import ChangeKind, KnownSession, find_known
from turnlog.store.model import LOCAL
from turnlog.testing.answers import collect_answers, list_records, read_bytes
from turnlog.testing.builders import make_batch, make_key, make_lines
from turnlog.testing.contracts.base import (
    ContractBase,
    get_derived,
    keep,
    read_records,
    replace_records,
    unpack_files,
)
from turnlog.testing.row_builders import make_message, make_session_row
from turnlog.transcripts.records import TurnRecord

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

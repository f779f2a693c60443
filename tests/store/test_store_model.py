"""Any sequence of batches: the embedded store answers what the plain one in memory answers."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from store.memory_people import Shared
from store.memory_reference import MemoryStore
from turnlog.errors import StoreError
from turnlog.store.batch import ChapterBatch, Derived, SessionBatch
from turnlog.store.interface import ChangeEntry, Store, find_known
from turnlog.store.model import Scope, SessionRow
from turnlog.store.opening import open_store
from turnlog.testing.builders import (
    list_usage,
    make_batch,
    make_chapter,
    make_key,
    make_line,
    make_session_row,
    unpack_records,
)
from turnlog.testing.checks import Answers, collect_answers, read_file, shift_source

OWNERS = ["local", "guest"]
SESSIONS = ["one", "two"]
PARTS = [".jsonl", "/subagents/agent-a1.jsonl", "/subagents/agent-a1.meta.json", "/tool-results/b.txt"]

owners = st.sampled_from(OWNERS)
sessions = st.sampled_from(SESSIONS)
parts = st.sampled_from(PARTS)
pieces = st.one_of(
    st.builds(
        make_line,
        st.integers(0, 9),
        type=st.sampled_from(["user", "assistant"]),
        text=st.text(max_size=5),
        agent_id=st.sampled_from([None, "a1"]),
    ),
    st.binary(max_size=30),
    st.sampled_from([b"", b"\n", b'{"type":"use', b'r"}\n', b"[{},", b"{}]\n"]),
    st.just(300_000).map(lambda size: make_line(text="y" * size)),
    st.sampled_from([500, 600]).map(lambda count: b"{}\n" * count),
)

rows = st.builds(
    make_session_row,
    st.sampled_from([None, "one", "on", "two"]),
    title=st.one_of(st.none(), st.text(max_size=3)),
    project=st.sampled_from([None, "/a", "/a/b"]),
    first_time=st.one_of(st.none(), st.integers(-5, 5)),
    last_time=st.one_of(st.none(), st.integers(-5, 5)),
    cost=st.one_of(st.none(), st.decimals(0, 99, places=3).map(str)),
)


class StoreModel(RuleBasedStateMachine):
    """The files of a few sessions, changed at random, and two stores that keep up."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="turnlog-model-"))
        self.plain = MemoryStore(Shared())
        self.files: dict[tuple[str, str], dict[str, bytes]] = {}
        self.applied: list[SessionBatch] = []

    @initialize()
    def open(self) -> None:
        self.store: Store = open_store(self.folder / "turnlog.db")

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    @rule(owner=owners, session=sessions, part=parts, piece=pieces)
    def append(self, owner: str, session: str, part: str, piece: bytes) -> None:
        files = self.files.setdefault((owner, session), {})
        files[part] = files.get(part, b"") + piece
        self.apply([self.look(owner, session)])

    @rule(owner=owners, session=sessions, part=parts, piece=pieces)
    def rewrite(self, owner: str, session: str, part: str, piece: bytes) -> None:
        self.files.setdefault((owner, session), {})[part] = piece
        self.apply([self.look(owner, session)])

    @rule(session=sessions, part=parts, piece=pieces)
    def append_for_all_owners_at_once(self, session: str, part: str, piece: bytes) -> None:
        for owner in OWNERS:
            files = self.files.setdefault((owner, session), {})
            files[part] = files.get(part, b"") + piece
        self.apply([self.look(owner, session) for owner in OWNERS])

    @precondition(lambda self: any(self.files.values()))
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        owner, session = data.draw(st.sampled_from(sorted(key for key, files in self.files.items() if files)))
        files = self.files[owner, session]
        del files[data.draw(st.sampled_from(sorted(files)))]
        self.apply([self.look(owner, session)])

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def remove_all(self, data: st.DataObject) -> None:
        owner, session = data.draw(st.sampled_from(sorted(self.files)))
        self.files[owner, session] = {}
        self.apply([self.look(owner, session)])

    @precondition(lambda self: self.files)
    @rule(data=st.data(), shift=st.integers(-2, 2), jump=st.integers(0, 2))
    def apply_what_may_not_fit(self, data: st.DataObject, shift: int, jump: int) -> None:
        owner, session = data.draw(st.sampled_from(sorted(self.files)))
        files = {**self.files[owner, session], ".jsonl": b"never\n" * 9}
        good = self.look(owner, session)
        batch = self.look(owner, session, files)
        sources = tuple(shift_source(source, shift, jump) for source in batch.sources)
        if shift or jump:
            self.apply([good, replace(batch, sources=sources)])

    @precondition(lambda self: self.applied)
    @rule(data=st.data())
    def apply_what_is_old(self, data: st.DataObject) -> None:
        """A store may refuse it or pass it over; either way it answers as before."""
        batch = self.applied[data.draw(st.integers(0, len(self.applied) - 1))]
        if batch.sources and all(source.frames for source in batch.sources):
            before = ask(self.store, Scope(batch.owner))
            self.try_to_apply(self.store, [batch])
            assert ask(self.store, Scope(batch.owner)) == before

    @precondition(lambda self: self.applied)
    @rule(row=rows, keep=st.integers(0, 3), skip=st.integers(0, 3))
    def derive_anew(self, row: SessionRow, keep: int, skip: int) -> None:
        """Of one of the chapters nothing is said."""
        last = self.applied[-1]
        derived = Derived(session=row) if last.derived is None else replace(last.derived, session=row)
        chapters = [_cut(chapter, keep) for number, chapter in enumerate(derived.chapters) if number != skip]
        with self.plain.open_session(Scope(last.owner), last.key) as session:
            said = {chapter.source: read_file(chapter) for chapter in session.chapters}
        said |= {chapter.source: unpack_records(chapter.segments) for chapter in chapters}
        derived = replace(derived, chapters=tuple(chapters), usage=list_usage(said))
        self.apply([replace(last, sources=(), derived=derived, derivation=keep)])

    @precondition(lambda self: any(self.files.values()))
    @rule(data=st.data(), name=st.sampled_from(["here", "there"]))
    def move(self, data: st.DataObject, name: str) -> None:
        owner, session = data.draw(st.sampled_from(sorted(key for key, files in self.files.items() if files)))
        batch = self.look(owner, session, moved_to=name)
        self.apply([batch])

    @precondition(lambda self: self.applied)
    @rule()
    def apply_again(self) -> None:
        before = self.plain.writes
        self.apply([self.applied[-1]])
        assert self.plain.writes == before

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.open()

    @invariant()
    def both_answer_the_same(self) -> None:
        if hasattr(self, "store"):
            for owner in OWNERS:
                scope = Scope(owner)
                assert ask(self.store, scope) == ask(self.plain, scope)

    def look(
        self, owner: str, session: str, files: dict[str, bytes] | None = None, moved_to: str = ""
    ) -> SessionBatch:
        """Return what is new of a session; all of its files may be somewhere else now."""
        files = self.files[owner, session] if files is None else files
        return make_batch(
            {f"{moved_to}{session}{part}": data for part, data in files.items()},
            session_id=session,
            moved={f"{moved_to}{session}{part}": f"{session}{part}" for part in files},
            owner=owner,
            known=find_known(self.plain, Scope(owner), make_key(session)),
        )

    def apply(self, batches: list[SessionBatch]) -> None:
        outcomes = [self.try_to_apply(store, batches) for store in (self.plain, self.store)]
        assert outcomes[0] == outcomes[1]
        if outcomes[0] is not None:
            self.applied.append(batches[-1])

    @staticmethod
    def try_to_apply(store: Store, batches: list[SessionBatch]) -> int | None:
        try:
            return store.apply(batches)
        except StoreError:
            return None


def _cut(chapter: ChapterBatch, keep: int) -> ChapterBatch:
    records = unpack_records(chapter.segments)
    lines = tuple(replace(line, message=None) if line.number >= keep else line for line in records.lines)
    records = replace(
        records, lines=lines, messages=records.messages[:keep], sightings=records.sightings[keep:]
    )
    return make_chapter(chapter.source, records)


def ask(store: Store, scope: Scope) -> Answers:
    """Return all answers, but for when things happened."""
    answers = collect_answers(store, scope)
    answers["read_feed"] = [
        replace(each, at_ns=0) if isinstance(each, ChangeEntry) else each for each in answers["read_feed"]
    ]
    return answers


TestStoreModel = StoreModel.TestCase
TestStoreModel.settings = settings(
    max_examples=max(settings.default.max_examples // 10, 1) if settings.default else 30,
    stateful_step_count=25,
)

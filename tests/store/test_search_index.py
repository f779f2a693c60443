"""What the index of the embedded store keeps, gives up and mends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

import apsw
import pytest
from msgspec import msgpack
from msgspec.structs import replace

from turnlog.ingest.change_check import DERIVATION
from turnlog.ingest.pipeline import sync
from turnlog.ingest.verification import Subject, repair_session, verify_session
from turnlog.store.frames import decompress
from turnlog.store.interface import MaintainedStore, Maintenance, find_known
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.store.search.paging import SearchOrder
from turnlog.testing import make_batch, make_key, make_line
from turnlog.testing.checks import keep, search, search_all
from turnlog.transcripts import locate_sessions
from turnlog.transcripts.hooks import HookDelivery

SECRET = "xylophonesecret"
LONG = "so many words that are said again and again in the same order " * 8


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "turnlog.db"


@pytest.fixture
def store(path: Path) -> Iterator[MaintainedStore]:
    with closing(open_store(path)) as opened:
        yield opened


def ask(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(apsw.Connection(str(path))) as connection:
        return list(connection.execute(query))


def make_session(number: int, *texts: str) -> bytes:
    name = f"session-{number}"
    return b"".join(make_line(index, text=text, session_id=name) for index, text in enumerate(texts))


def keep_session(store: MaintainedStore, number: int, *texts: str) -> str:
    name = f"session-{number}"
    return keep(store, {f"{name}.jsonl": make_session(number, *texts)}, session_id=name).key


def list_vocabulary(path: Path) -> set[str]:
    rows = ask(path, "SELECT words, length FROM vocabulary")
    return {word for data, length in rows for word in decompress(data, length).decode().split("\n")}  # type: ignore[arg-type]


@pytest.mark.parametrize("settled", [False, True])
def test_no_word_of_what_was_forgotten_is_left_in_any_file(
    store: MaintainedStore, path: Path, settled: bool
) -> None:
    key = keep_session(store, 1, f"the {SECRET} is here", LONG)
    keep_session(store, 2, *(f"public {number}" for number in range(100)), LONG)
    if settled:
        store.maintain()
    assert SECRET in list_vocabulary(path)
    assert any(SECRET.encode() in file.read_bytes() for file in path.parent.iterdir())
    assert store.forget(LOCAL, [key]).scrubbed
    assert not any(SECRET.encode() in file.read_bytes() for file in path.parent.iterdir())
    assert SECRET not in list_vocabulary(path)
    assert "public" in list_vocabulary(path)
    assert len(search(store, "again")) == 1
    assert store.list_flaws(LOCAL) == []


def test_a_few_texts_wait_to_be_indexed_and_are_found_all_the_same(store: MaintainedStore, path: Path) -> None:
    keep_session(store, 1, *(f"early{number}" for number in range(100)))
    indexed = ask(path, "SELECT count(*) FROM cells_docsize")
    for number in range(2, 12):
        keep_session(store, number, f"late{number} said", "nothing", "x" * 2000)
        assert ask(path, "SELECT count(*) FROM cells_docsize") == indexed
        assert len(search(store, "said")) == number - 1
        for query in (f"late{number}", f"late{number} said", f"*ate{number}*", f'"late{number} said"'):
            assert [hit.session_id for hit in search(store, query)] == [f"session-{number}"]
    before = search(store, "said")
    assert len(search(store, "*ly1*")) == 11
    store.maintain()
    assert ask(path, "SELECT count(*) FROM new_cells") == [(0,)]
    assert search(store, "said") == before
    assert len(search(store, "*ate1*")) == 2
    assert store.forget(LOCAL, [make_key("session-11")]).scrubbed
    keep_session(store, 12, "late12 said")
    assert [hit.session_id for hit in search(store, "*ate1*")] == ["session-12", "session-10"]


def test_texts_stay_while_anybody_has_them(store: MaintainedStore, path: Path) -> None:
    keys = [keep_session(store, number, LONG) for number in range(3)]
    for left, key in zip((2, 1, 0), keys, strict=True):
        store.forget(LOCAL, [key])
        assert len(search(store, "again")) == len(search(store, "*agai*")) == left
    for table in ("cells_docsize", "new_cells", "text_runs"):
        assert ask(path, f"SELECT * FROM {table}") == [], table


def test_a_new_text_equals_one_that_only_others_still_have(store: MaintainedStore) -> None:
    first = keep_session(store, 1, LONG)
    keep_session(store, 2, LONG)
    store.forget(LOCAL, [first])
    keep_session(store, 3, LONG)
    assert [hit.session_id for hit in search(store, "again")] == ["session-3", "session-2"]


def test_runs_of_files_that_grow_side_by_side_stay_few(store: MaintainedStore, path: Path) -> None:
    texts: list[list[str]] = [[], [], []]
    for step in range(60):
        for number, held in enumerate(texts):
            held.append(f"step {step} of file {number}")
            keep_session(store, number, *held)
    [(runs,)] = ask(path, "SELECT count(*) FROM text_runs")
    assert runs == 3
    assert len(search(store, "step")) == 180
    assert len(search(store, '"file 1"')) == 60


def test_words_of_later_texts_are_listed(store: MaintainedStore, path: Path) -> None:
    keep_session(store, 1, "alpha beta")
    for number in range(2, 240):
        keep_session(store, number, f"gamma{number} delta")
    assert {"alpha", "gamma7", "gamma39"} <= list_vocabulary(path)
    assert "gamma239" not in list_vocabulary(path)
    [(portions,)] = ask(path, "SELECT count(*) FROM vocabulary")
    assert isinstance(portions, int)
    assert portions < 8
    assert len(search(store, "*amma3*")) == 11
    assert len(search(store, "*ma239*")) == 1


def test_a_large_import_is_searched_before_it_is_settled(store: MaintainedStore, path: Path) -> None:
    texts = [f"number{number} word{number % 7}" for number in range(3000)]
    keep_session(store, 1, *texts)
    [(listed,)] = ask(path, "SELECT ifnull(max(last_cell), 0) FROM vocabulary")
    assert listed == 0
    assert len(search(store, "*umber299*")) == 11
    store.maintain()
    [(listed,)] = ask(path, "SELECT ifnull(max(last_cell), 0) FROM vocabulary")
    assert listed == 3000
    assert len(search(store, "*umber299*")) == 11
    assert len(search(store, "word3 number3")) == 1


def test_a_few_pieces_of_the_index_stay_as_they_are(store: MaintainedStore, path: Path) -> None:
    pieces = "SELECT count(DISTINCT segid) FROM cells_idx"
    for session in range(3):
        keep_session(store, session, *(f"number{number}" for number in range(1000)))
    store.maintain()
    assert ask(path, pieces) == [(3,)]
    assert len(search(store, "number7")) == 3


_SETTLE = """
import os, signal, sys
from pathlib import Path
from turnlog.store.opening import open_store

store = open_store(Path(sys.argv[1]))
store.maintain(between=lambda: os.kill(os.getpid(), signal.SIGKILL))
store.close()
"""
"""Puts an index in order, and is killed behind the first piece."""


def test_an_index_whose_settling_is_killed_again_and_again_finds_everything_once(path: Path) -> None:
    said: list[str] = []
    kills = 0
    with closing(open_store(path)) as store:
        for session in range(8):
            texts = [f"number{number} word{number % 7} {make_words(session, number)}" for number in range(1500)]
            keep_session(store, session, *texts)
            said += texts
    while subprocess.run([sys.executable, "-c", _SETTLE, str(path)], check=False).returncode:
        kills += 1
        with closing(open_store(path)) as store:  # and others write meanwhile
            keep_session(store, 100 + kills, "number7 in between", "*ber199 in between")
            said += ["number7 in between", "*ber199 in between"]
            for query, wanted in (
                ("number7", "number7 "),
                ("*ber199*", "ber199"),
                ("number8 word1", "number8 "),
            ):
                found = len(search_all(store, query, 50, SearchOrder.NEWEST))
                assert found == sum(wanted in f"{text} " for text in said), (kills, query)
    assert kills > 2


def make_words(*numbers: int) -> str:
    """Return words that hardly any other text has: they make the index long."""
    digest = blake2b(repr(numbers).encode()).hexdigest()
    return " ".join(f"w{digest[at : at + 8]}" for at in range(0, len(digest), 8))


def test_files_are_looked_up_again_once_something_was_written(store: MaintainedStore) -> None:
    key = keep_session(store, 1, "first", "second")
    before = search_all(store, "is:error OR kind:prompt", 10, SearchOrder.RELEVANCE)
    assert search_all(store, "is:error OR kind:prompt", 10, SearchOrder.RELEVANCE) == before
    files = {"session-1.jsonl": make_session(1, "first", "second", "third")}
    batch = make_batch(files, session_id="session-1", known=find_known(store, LOCAL, key))
    assert batch.derived is not None
    named = replace(batch.derived.session, title="Another name")
    store.apply([replace(batch, derived=replace(batch.derived, session=named))])
    assert [hit.title for hit in search(store, "first OR third")] == ["Another name"] * 2


def list_statements(path: Path, query: str, hits: int) -> list[str]:
    """Search for what is there so often, and return the statements that it took."""
    statements: list[str] = []

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, lambda told: statements.append(told["sql"]))

    apsw.connection_hooks.append(watch)
    try:
        with closing(open_store(path, read_only=True)) as reader:
            assert len(search(reader, query)) == hits
    finally:
        apsw.connection_hooks.remove(watch)
    return statements


def test_texts_of_a_file_that_are_no_hits_take_no_statements_of_their_own(
    store: MaintainedStore, path: Path
) -> None:
    keep_session(store, 1, "north south", *(f"north {number} south" for number in range(100)))
    assert len(list_statements(path, '"north south"', 1)) < 50


def test_a_file_whose_text_is_no_hit_takes_three_statements(store: MaintainedStore, path: Path) -> None:
    # Whose it is, where the line stands, and its bytes; what the index has of many is read at once.
    keep_session(store, 1, "north south")
    for number in range(2, 102):
        keep_session(store, number, f"north {number} south")
    statements = list_statements(path, '"north south"', 1)
    assert sum("cells" not in each and "data_version" not in each for each in statements) < 3 * 100 + 40


def test_a_call_is_looked_for_where_its_result_stands(store: MaintainedStore, path: Path) -> None:
    lines = []
    for number in range(600):
        call = {"type": "tool_use", "id": f"c-{number}", "name": "Pour", "input": {"what": "tea"}}
        result = {"type": "tool_result", "tool_use_id": f"c-{number}", "content": f"poured {number}"}
        called = {"role": "assistant", "id": f"msg-{number}", "model": "claude-test-1", "content": [call]}
        lines.append(make_line(2 * number, type="assistant", message=called))
        lines.append(make_line(2 * number + 1, message={"role": "user", "content": [result]}))
    file = path.parent / "claude" / "projects" / "-tea" / "session-1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"".join(lines))
    sync(store, path, locate_sessions([path.parent / "claude"]).sessions, origin="test")
    [(segments,)] = ask(path, "SELECT count(*) FROM segments")
    assert int(str(segments)) > 4
    statements = list_statements(path, "tool:Pour kind:tool-output 599", 1)
    assert sum("d.packed" in statement for statement in statements) == 1


def test_an_archive_that_does_not_know_where_lines_are_is_told(store: MaintainedStore, path: Path) -> None:
    for number in range(3):
        keep_session(store, number, *(f"text {each} of {number}" for each in range(300)), LONG)
    store.add_deliveries(LOCAL, [HookDelivery(delivery_id="d1", received_ns=1, payload=b'{"said": "hooked"}')])
    store.close()
    runs = ask(path, "SELECT id, texts FROM text_runs ORDER BY id")
    with closing(apsw.Connection(str(path))) as connection:
        for key, data in runs:
            assert isinstance(key, int)
            assert isinstance(data, bytes)
            numbers, ordinals, blocks, states, unit, times, cells, sizes, *_ = msgpack.decode(data)
            ordinals = ordinals or [0] * len(numbers)
            former = (
                numbers,
                ordinals,
                blocks or ordinals,
                states,
                [unit * time for time in times],
                cells,
                sizes,
            )
            connection.execute("UPDATE text_runs SET texts = ? WHERE id = ?", (msgpack.encode(former), key))
        connection.execute("DELETE FROM migrations WHERE name = 'place_lines_of_texts'")
    with closing(open_store(path)) as newer:
        assert len(search(newer, '"text 299"')) == 3
        assert len(search(newer, "hooked")) == 1
    assert ask(path, "SELECT id, texts FROM text_runs ORDER BY id") == runs


DAMAGE = {
    "a text is missing": "UPDATE text_runs SET texts = (SELECT texts FROM text_runs WHERE id = 2) WHERE id = 1",
    "all texts are missing": "DELETE FROM text_runs WHERE id = 1",
    "words are missing": "DELETE FROM cells WHERE rowid = 1",
    "other words": "DELETE FROM cells WHERE rowid = 1; INSERT INTO cells (rowid, body) VALUES (1, 'others')",
    "other words wait": "UPDATE new_cells SET bodies = (SELECT bodies FROM new_cells WHERE cells = 2)",
    "words too many": "DELETE FROM cells WHERE rowid = 2; INSERT INTO cells (rowid, body) VALUES (2, 'two x')",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_not_as_the_lines_say_is_found_and_mended(path: Path, damage: str) -> None:
    with closing(open_store(path)) as store:
        _fill_derived(store, 1, "one", "two", LONG)
        _fill_derived(store, 2, LONG, "three")
        if "new_cells" not in damage:
            store.maintain()
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(damage)
    with closing(open_store(path)) as store:
        known = find_known(store, LOCAL, make_key("session-1"))
        assert known is not None
        found = verify_session(store, LOCAL, known).disagreements
        assert Subject.TEXTS in {each.subject for each in found}
        checked = repair_session(store, LOCAL, known)
        assert not [each for each in checked.left if each.subject is Subject.TEXTS]
        assert len(search(store, "one")) == len(search(store, "two")) == 1


def test_an_index_that_is_damaged_itself_is_told_and_made_anew(path: Path) -> None:
    with closing(open_store(path)) as store:
        keep_session(store, 1, *(f"word{number}" for number in range(500)))
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("UPDATE cells_data SET block = zeroblob(40) WHERE id > 10")
    with closing(open_store(path)) as store:
        [flaw] = store.list_flaws(LOCAL)
        assert flaw.follows
        assert flaw.session is None
        store.maintain(Maintenance.CLEAR_TEXTS)
        assert store.list_flaws(LOCAL) == []
        assert not search(store, "word7")
        keep_session(store, 2, "word7")
        assert len(search(store, "word7")) == 1


def _fill_derived(store: MaintainedStore, number: int, *texts: str) -> None:
    """Keep a session with the derivation of today, so that it is compared."""
    name = f"session-{number}"
    batch = make_batch({f"{name}.jsonl": make_session(number, *texts)}, session_id=name)
    store.apply([replace(batch, derivation=DERIVATION)])

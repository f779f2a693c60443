"""Marks: which texts may be kept, and that they stay and go with their session."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import apsw
import msgspec
import pytest

from turnlog.errors import MarkError
from turnlog.store.interface import MaintainedStore
from turnlog.store.lists import LONGEST_NAME, LONGEST_NOTE, LONGEST_TAG, MOST_TAGS, MarkChange, Marks
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_batch, make_key, make_lines
from turnlog.testing.store_contract import find_marks

NEEDLE = "zq8-needle"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store" / "turnlog.db"


@pytest.fixture
def store(path: Path) -> Iterator[MaintainedStore]:
    store = open_store(path)
    for name in ("one", "two"):
        store.apply([make_batch({f"{name}.jsonl": make_lines(4, session_id=name)}, session_id=name)])
    yield store
    store.close()


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("name", "x" * (LONGEST_NAME + 1), "a name of at most 200 characters, got 201"),
        ("name", "two\nlines", "a name without control characters, got U+000A"),
        ("name", "\x1b[31mred", "U+001B"),
        ("name", "\x9b31mred", "U+009B"),
        ("name", "turned \u202e around", "U+202E"),
        ("name", "\ud800", "U+D800"),
        ("name", "\u2028", "U+2028"),
        ("name", "hidden \U000e0041", "U+E0041"),
        ("note", "x" * (LONGEST_NOTE + 1), "a note of at most 10,000 characters"),
        ("note", "bell \x07", "U+0007"),
        ("tags", ("x" * (LONGEST_TAG + 1),), "a tag of at most 64"),
        ("tags", ("a b",), "a tag without spaces and commas, got 'a b'"),
        ("tags", ("a,b",), "a tag without spaces and commas"),
        ("tags", ("a\u00a0b",), "a tag without spaces and commas"),
        ("untags", (" ",), "a tag, got only spaces"),
        ("tags", ("\0",), "U+0000"),
    ],
)
def test_texts_that_may_not_be_kept_are_refused(field: str, value: str | tuple[str, ...], says: str) -> None:
    with pytest.raises(MarkError) as refused:
        MarkChange(**{field: value})  # type: ignore[arg-type]
    assert says in str(refused.value)


def test_texts_of_all_scripts_are_kept() -> None:
    change = MarkChange(name="  👩\u200d🔧 می\u200cخواهم 茶 ", note="a\n\tb", tags=("cafe\u0301", "café"))
    marks = change.apply(Marks())
    assert marks == Marks(name="👩\u200d🔧 می\u200cخواهم 茶", note="a\n\tb", tags=("café",))
    assert MarkChange(untags=("cafe\u0301",)).apply(marks).tags == ()


def test_a_session_has_only_so_many_tags() -> None:
    marks = MarkChange(tags=tuple(f"t{number}" for number in range(MOST_TAGS))).apply(Marks())
    with pytest.raises(MarkError, match="at most 100 tags, got 101"):
        MarkChange(tags=("one-more",)).apply(marks)
    assert len(MarkChange(tags=("one-more",), untags=("t0",)).apply(marks).tags) == MOST_TAGS


def test_a_change_is_read_from_json_and_checked() -> None:
    change = msgspec.json.decode(b'{"name":null,"tags":["a"],"archived":true}', type=MarkChange)
    assert change.apply(Marks(name="x", starred=True)) == Marks(tags=("a",), starred=True, archived=True)
    with pytest.raises(MarkError):
        msgspec.json.decode(b'{"name":"\\u001b"}', type=MarkChange)


def test_forgetting_takes_every_entry_along(store: MaintainedStore, path: Path) -> None:
    one, two = make_key("one"), make_key("two")
    for number in range(3):
        store.mark(
            LOCAL, [one], MarkChange(name=f"{NEEDLE}-{number}", note=NEEDLE, tags=(f"{NEEDLE}-{number}",))
        )
    store.mark(LOCAL, [one, two], MarkChange(starred=True))
    store.undo_mark(LOCAL)
    store.forget(LOCAL, [one])
    assert find_marks(store, LOCAL, one) == Marks()
    assert store.list_facets(LOCAL).tags == ()
    assert not [file.name for file in path.parent.iterdir() if NEEDLE.encode() in file.read_bytes()]
    assert store.undo_mark(LOCAL) == []  # what was left of the last change was taken back before
    store.delete_tombstones(LOCAL, [one])
    store.apply([make_batch({"one.jsonl": make_lines(4, session_id="one")}, session_id="one")])
    assert find_marks(store, LOCAL, one) == Marks()


def test_of_a_change_to_a_session_that_is_gone_the_rest_is_taken_back(store: MaintainedStore) -> None:
    one, two = make_key("one"), make_key("two")
    store.mark(LOCAL, [one, two], MarkChange(starred=True))
    store.forget(LOCAL, [one])
    assert [each.key for each in store.undo_mark(LOCAL)] == [two]


def test_a_session_that_is_written_anew_keeps_marks(store: MaintainedStore) -> None:
    batch = make_batch({"one.jsonl": make_lines(4, session_id="one")}, session_id="one")
    store.mark(LOCAL, [batch.key], MarkChange(name="Tea"))
    assert batch.derived is not None
    store.rewrite(LOCAL, batch.key, 1, batch.derived)
    assert find_marks(store, LOCAL, batch.key) == Marks(name="Tea")
    assert store.list_flaws(LOCAL) == []


def test_no_entry_is_ever_changed(store: MaintainedStore, path: Path) -> None:
    entries: list[list[object]] = []
    for change in (MarkChange(name="a"), MarkChange(name="b", tags=("t",)), None, MarkChange(starred=True)):
        if change is None:
            store.undo_mark(LOCAL)
        else:
            store.mark(LOCAL, [make_key("one")], change)
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        entries.append([*connection.execute("SELECT * FROM marks ORDER BY id")])
        connection.close()
    assert [len(each) for each in entries] == [1, 2, 3, 4]
    for before, after in pairwise(entries):
        assert after[: len(before)] == before

"""Histories with known answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnlog.export.blame import FileEdit, Replacement, attribute


def who(edits: list[FileEdit], current: str) -> list[str]:
    """Return the number of each line's edit; `-` for nobody's, `?` behind one that is unsure."""
    return [
        "-" if each.edit is None else f"{each.edit}{'' if each.sure else '?'}"
        for each in attribute(edits, current)
    ]


def replace(old: str, new: str, before: str | None = None, *, everywhere: bool = False) -> FileEdit:
    return FileEdit(before=before, replacements=(Replacement(old, new, everywhere),))


def test_a_file_that_was_written_is_of_who_wrote_it() -> None:
    assert who([FileEdit(content="a\nb\n")], "a\nb\n") == ["0", "0"]


def test_an_edit_owns_what_it_changed_and_nothing_else() -> None:
    edits = [FileEdit(content="one\ntwo\nthree\n"), replace("two", "TWO\nand more")]
    assert who(edits, "one\nTWO\nand more\nthree\n") == ["0", "1", "1", "0"]


def test_lines_keep_their_origin_when_later_edits_move_them() -> None:
    edits = [
        FileEdit(content="one\ntwo\n"),
        replace("one", "zero\none"),
        replace("two", "two\nthree\nfour"),
    ]
    assert who(edits, "zero\none\ntwo\nthree\nfour\n") == ["1", "0", "0", "2", "2"]


def test_writing_a_file_anew_takes_only_what_it_changes() -> None:
    edits = [FileEdit(content="a\nb\nc\n"), FileEdit(content="a\nB\nc\nd\n")]
    assert who(edits, "a\nB\nc\nd\n") == ["0", "1", "0", "1"]


def test_what_was_there_before_is_nobodys() -> None:
    assert who([replace("b", "B", before="a\nb\nc\n")], "a\nB\nc\n") == ["-", "0", "-"]


def test_what_a_person_changed_in_between_is_nobodys() -> None:
    edits = [FileEdit(content="a\nb\nc\n"), replace("c", "C", before="a\nby hand\nc\n")]
    assert who(edits, "a\nby hand\nC\n") == ["0", "-", "1"]


def test_what_was_changed_since_the_last_edit_is_nobodys() -> None:
    assert who([FileEdit(content="first\nsecond\n")], "first\nby hand, later\n") == ["0", "-"]


def test_a_line_that_is_known_by_its_words_alone_is_unsure() -> None:
    assert who([replace("x = 1", "x = compute()")], "import os\nx = compute()\n") == ["-", "0?"]


def test_short_lines_are_not_known_by_their_words() -> None:
    assert who([replace("x", "}")], "}\n") == ["-"]


def test_an_edit_that_does_not_fit_makes_what_follows_unsure() -> None:
    edits = [FileEdit(content="alpha line\n"), replace("not there", "another line")]
    assert who(edits, "alpha line\nanother line\n") == ["0", "1?"]


def test_all_places_can_be_replaced_at_once() -> None:
    edits = [FileEdit(content="a\nb\na\n"), replace("a", "A", everywhere=True)]
    assert who(edits, "A\nb\nA\n") == ["1", "0", "1"]


def test_no_edits_and_no_lines() -> None:
    assert who([], "a\n") == ["-"]
    assert who([FileEdit(content="")], "") == []


@given(st.lists(st.text("ab\n", max_size=8), max_size=5), st.text("ab\n", max_size=8))
def test_every_line_has_an_answer_and_the_last_writer_owns_what_is_new(contents: list[str], now: str) -> None:
    edits = [FileEdit(content=content) for content in contents]
    assert len(attribute(edits, now)) == len(now.splitlines())
    if contents:
        assert all(each.edit is not None for each in attribute(edits, contents[-1]))

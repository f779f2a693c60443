from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden
import strategies
import turnlog
from turnlog import Line
from turnlog.transcripts.titles import Title, TitleFold, TitleSource, clean_title, shorten_title


def lines(name: str) -> list[Line]:
    found = [turnlog.decode(line) for line in golden.lines(f"transcripts/titles/{name}")]
    assert not [line.problems for line in found if line.problems]
    return found


def title_of(found: list[Line]) -> tuple[str, str] | None:
    fold = TitleFold()
    for line in found:
        fold.add(line)
    return None if fold.title is None else (fold.title.source.value, fold.title.text)


def user(text: object, **more: object) -> Line:
    record = {"type": "user", "sessionId": "s", "message": {"role": "user", "content": text}, **more}
    return turnlog.decode(json.dumps(record))


def test_the_best_title_that_was_told_so_far_counts() -> None:
    found = lines("precedence")

    assert [title_of(found[:end]) for end in range(len(found) + 1)] == [
        None,
        ("last-prompt", "the last prompt"),
        ("prompt", "Boil the kettle."),
        ("agent-name", "kettle-north"),
        ("summary", "Kettle and pot"),
        ("ai", "Boiling a kettle"),
        ("ai", "Boiling the kettle"),
        ("custom", "Tea time for two"),
        ("ai", "Boiling the kettle"),
        ("custom", "Tea for two"),
    ]


def test_summaries_of_other_sessions_are_a_last_resort() -> None:
    found = lines("other-summaries")

    assert title_of(found) == ("prompt", "Sort the teas.")
    assert title_of(found[:2]) == ("other-summary", "Spoons")


def test_a_summary_counts_when_its_leaf_is_here_and_of_several_the_last() -> None:
    found = lines("own-summaries")

    assert title_of(found[:3]) == ("prompt", "Sort the teas.")
    assert title_of(found[:4]) == ("summary", "Teas sorted")
    assert title_of(found) == ("summary", "Teas sorted by colour")


def test_a_summary_without_a_leaf_is_this_sessions() -> None:
    found = [turnlog.decode(b'{"type":"summary","summary":"Teas"}'), user("Sort.")]

    assert title_of(found) == ("summary", "Teas")


def test_a_summary_that_is_written_again_is_the_last() -> None:
    def summary(text: str, leaf: str) -> Line:
        return turnlog.decode(json.dumps({"type": "summary", "summary": text, "leafUuid": leaf}))

    found = [user("a", uuid="u-1"), user("b", uuid="u-2"), summary("A", "u-1"), summary("B", "u-2")]

    assert title_of([*found, summary("C", "u-1")]) == ("summary", "C")
    assert title_of([*found, summary(" ", "u-1")]) == ("summary", "B"), "an empty one says nothing"


def test_what_the_program_sent_is_no_title() -> None:
    assert title_of([user("The task is done.", origin={"kind": "task-notification"})]) is None


def test_the_first_prompt_is_what_a_person_typed_first() -> None:
    words = (
        "Why does the kettle in the north kitchen take twice as long to boil as the one in the south kitchen…"
    )

    assert title_of(lines("first-prompt")) == ("prompt", words)
    assert title_of(lines("first-prompt")[:-2]) == ("command", "/clear")


def test_a_command_with_arguments_is_a_prompt() -> None:
    assert title_of(lines("command-with-arguments")) == ("prompt", "/brew green tea")


def test_a_session_of_bare_commands_is_called_by_the_first() -> None:
    assert title_of(lines("bare-command")) == ("command", "/init")
    assert title_of([user("<bash-input> ls </bash-input>")]) == ("command", "! ls")


def test_what_the_program_calls_the_last_prompt_comes_before_a_bare_command() -> None:
    assert title_of(lines("last-prompt")) == ("last-prompt", "/brew green tea")


def test_a_sub_agent_is_called_by_what_claude_asked() -> None:
    assert title_of(lines("sub-agent")) == ("agent-prompt", "Count the cups in the cupboard.")
    assert title_of([user('<teammate-message teammate_id="a">Pour.</teammate-message>')]) == (
        "agent-prompt",
        "Pour.",
    )


def test_a_person_comes_before_claude_wherever_they_stand() -> None:
    found = [user("asked", isSidechain=True), user("again", isSidechain=True), user("typed")]

    assert title_of(found[:2]) == ("agent-prompt", "asked")
    assert title_of(found) == ("prompt", "typed")


def test_a_warm_up_has_no_title() -> None:
    assert title_of(lines("warm-up")) is None


def test_a_queued_prompt_is_a_prompt() -> None:
    line = '{"type":"attachment","attachment":{"type":"queued_command","prompt":"Pour.","isMeta":%s}}'

    assert title_of([turnlog.decode(line % "false")]) == ("prompt", "Pour.")
    assert title_of([turnlog.decode(line % "true")]) is None


def test_deleted_prompts_are_no_titles() -> None:
    assert title_of([user("gone", isDeleted=True), user("kept")]) == ("prompt", "kept")


def test_a_message_of_the_stream_gives_a_title_too() -> None:
    line = b'{"type":"user","session_id":"s","message":{"role":"user","content":"Pour."}}'

    assert title_of([turnlog.decode(line)]) == ("prompt", "Pour.")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", ""),
        ("  a \t b\u00a0c ", "a b c"),
        ("\x1b[1;31mred\x1b[0m \x1b]0;owned\x07x\x1b]8;;http://e\x1b\\y", "red xy"),
        ("a\x00\x07\x9b31m\x7fb", "a 31m b"),
        ("e\u202egp.exe\u2066\u200b\ufeff", "egp.exe"),
        ("a\u2028b\u0085c", "a b c"),
        ("lone \ud83d half", "lone \ufffd half"),
        ("família 家族 👨\u200d👩\u200d👧", "família 家族 👨\u200d👩\u200d👧"),
    ],
)
def test_a_title_is_one_line_without_controls(text: str, title: str) -> None:
    assert clean_title(text) == title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("\n\n  \n one\ntwo", "one"),
        ("```\n---\n# Tea\nmore", "# Tea"),
        ("???\n!!!", "???"),
        (" " * 9000 + "tea", "tea"),
        ("boil it, then pour", "boil it…"),
        ("unbelievable", "unbelieva…"),
        ("一二三四五六七八九十十一", "一二三四五六七八九…"),
        ("ten chars.", "ten chars."),
    ],
)
def test_a_prompt_is_shortened_between_words(text: str, title: str) -> None:
    assert shorten_title(text, 10) == title


@given(st.text())
def test_no_text_makes_a_title_that_is_long_or_breaks_a_line(text: str) -> None:
    for title in (clean_title(text), shorten_title(text)):
        title.encode()
        assert title == title.strip()
        assert not [
            sign for sign in title if sign < " " or "\x7f" <= sign <= "\x9f" or sign in "\u2028\u2029\u202e"
        ]
        assert clean_title(title) == title
    assert len(shorten_title(text)) <= 100


@given(strategies.sessions)
def test_every_session_has_a_title_or_none(raws: list[bytes]) -> None:
    fold, shared, uuids = TitleFold(), TitleFold(), set[str]()
    for raw in raws:
        line = turnlog.decode(raw)
        fold.add(line)
        assert fold.title is None or fold.title.text

    shared = TitleFold(uuids)
    for raw in raws:
        line = turnlog.decode(raw)
        uuids.add(str(getattr(line.entry, "uuid", "")))
        shared.add(line)
    assert shared.title == fold.title, "whoever keeps the uuids"


def test_every_real_session_is_called_by_its_own_title(corpus: Path) -> None:
    found: dict[TitleSource | None, int] = {}
    for path in sorted((corpus / "sessions").rglob("*.jsonl")):
        raws = [raw for raw in path.read_bytes().split(b"\n") if raw.strip()]
        fold = TitleFold()
        for raw in raws:
            fold.add(turnlog.decode(raw))
        source = fold.title.source if fold.title else None
        found[source] = found.get(source, 0) + 1
        assert fold.title == told(raws) or source not in (TitleSource.CUSTOM, TitleSource.AI, None)
    assert found.keys() >= {TitleSource.CUSTOM, TitleSource.AI, TitleSource.SUMMARY, TitleSource.PROMPT}
    assert TitleSource.OTHER_SUMMARY not in found


def told(raws: list[bytes]) -> Title | None:
    """Return the title that lines tell outright."""
    records = [json.loads(raw) for raw in raws if raw.startswith(b"{")]
    for kind, key, source in (
        ("custom-title", "customTitle", TitleSource.CUSTOM),
        ("ai-title", "aiTitle", TitleSource.AI),
    ):
        titles = [record[key] for record in records if record.get("type") == kind]
        if titles:
            return Title(titles[-1], source)
    return None

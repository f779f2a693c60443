"""Hooks go into settings and out again without a trace, and nothing else in the file changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.ingest.hook_install import Entry, NotSettingsError, add_entries, list_entries, remove_entries

COMMAND = "if [ -r /x/hook.sh ]; then exec /bin/sh /x/hook.sh; fi"
ENTRIES = [Entry(event, COMMAND, 10) for event in ("PreToolUse", "Stop", "SessionEnd")]

THEIRS = {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo theirs"}]}


def test_a_new_file_looks_as_somebody_would_write_it() -> None:
    text = add_entries(None, ENTRIES[1:2])
    assert text == (
        b'{\n  "hooks": {\n    "Stop": [\n      {\n        "hooks": [\n          {\n'
        b'            "type": "command",\n            "command": "'
        + COMMAND.encode()
        + b' # turnlog kept-nothing",\n'
        b'            "timeout": 10\n          }\n        ]\n      }\n    ]\n  }\n}\n'
    )
    assert list_entries(text) == ENTRIES[1:2]
    assert remove_entries(text) is None


TEXTS = [
    "{}",
    "{}\n",
    "{ }",
    "{\n}",
    "{\n\n}\n",
    "\ufeff{}",
    '{"a":1}',
    '{"a": 1}\n',
    '{\n  "a": 1\n}\n',
    '{\n    "a": 1,\n    "b": [1, 2]\n}',
    '{\n\t"a": 1\n}\n',
    '{\r\n  "a": 1\r\n}\r\n',
    '{"a":1 \n}',
    '{ "hooks": {} }',
    '{"hooks":{ }}',
    '{\n  "hooks": {\n  }\n}\n',
    '{\n  "hooks": {},\n  "model": "opus"\n}\n',
    '{\n  "hooks": {\n    "Stop": []\n  },\n  "z": 1\n}\n',
    '{\n  "hooks": {\n    "Stop": [ ]\n  }\n}\n',
    '{\n  "model": "opus",\n  "hooks": {\n    "Stop": [\n      {"hooks": [{"type": "command"}]}\n'
    "    ]\n  }\n}\n",
    '{"hooks":{"Other":[{"hooks":[]}],"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}',
    '{"hooks":{"Stop":[1, null, "x", {"hooks": 1}, {"hooks": [1, {"command": 2}]}]}}',
    '{"hooks": {"A": []}, "hooks": {"Stop": []}}',
    '{"h\\u006foks": {"St\\u006fp": [{"x": 1e5}]}}',
    '{"a": "\\n  {", "b": 1.50, "c": "\u2028"}',
    '  {"a": 1}  ',
]


@pytest.mark.parametrize("text", TEXTS)
def test_in_and_out_again_leaves_every_byte(text: str) -> None:
    before = text.encode()
    installed = add_entries(before, ENTRIES)
    assert json.loads(installed.decode("utf-8-sig"))
    assert sorted(entry.event for entry in list_entries(installed)) == ["PreToolUse", "SessionEnd", "Stop"]
    assert remove_entries(installed) == before
    without = json.loads(before.decode("utf-8-sig"))
    with_them = json.loads(installed.decode("utf-8-sig"))
    assert {**with_them, "hooks": None} == {**without, "hooks": None}
    for event, groups in without.get("hooks", {}).items():
        assert with_them["hooks"][event][: len(groups)] == groups


def test_what_was_there_keeps_its_place_and_its_bytes() -> None:
    before = b'{\n    "z":   1,\n    "hooks": {\n        "Stop": [ {"hooks": []} ]\n    },\n    "a": 2\n}\n'
    installed = add_entries(before, ENTRIES[1:2])
    head, tail = before.split(b' {"hooks": []}')
    assert installed.startswith(head + b' {"hooks": []},\n')
    assert installed.endswith(tail)


def test_only_its_own_are_taken_out() -> None:
    """Whoever put something of theirs into a group of ours keeps it."""
    installed = json.loads(add_entries(b"{}", ENTRIES))
    installed["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "echo theirs"})
    installed["hooks"]["PreToolUse"].insert(0, THEIRS)
    for text in (json.dumps(installed), json.dumps(installed, indent=1), json.dumps(installed, indent=8)):
        left = remove_entries(text.encode())
        assert left is not None
        assert json.loads(left) == {
            "hooks": {
                "PreToolUse": [THEIRS],
                "Stop": [{"hooks": [{"type": "command", "command": "echo theirs"}]}],
            }
        }


def test_what_looks_like_its_own_is_not() -> None:
    for command in ("turnlog", "echo # turnlog x", "echo # turnlogs", "# turnlog\n", "echo #turnlog"):
        text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}).encode()
        assert list_entries(text) == []
        assert remove_entries(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "[]",
        "1",
        "null",
        '{"a": 1,}',
        '// comment\n{"a": 1}',
        '{"a": 1} {"b": 2}',
        '{"hooks": []}',
        '{"hooks": null}',
        '{"hooks": {"Stop": {}}}',
        '{"hooks": {"Stop": null}}',
        "[" * 100_000,
    ],
)
def test_what_is_not_settings_is_refused(text: str) -> None:
    with pytest.raises(NotSettingsError):
        add_entries(text.encode(), ENTRIES)
    with pytest.raises(NotSettingsError):
        remove_entries(text.encode())
    with pytest.raises(NotSettingsError):
        list_entries(b"\xff")


# Without braces and brackets, so that blanks go only between values.
words = st.text(max_size=5).filter(lambda text: text != "hooks" and not set("{}[]") & set(text))
names = st.sampled_from(["PreToolUse", "Stop", "SessionEnd", "Other", "a"])
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
groups = st.lists(st.just(THEIRS) | json_values, max_size=3)
settings = st.fixed_dictionaries({}, optional={"hooks": st.dictionaries(names, groups, max_size=4)}).flatmap(
    lambda fixed: st.dictionaries(words, json_values, max_size=4).map(lambda rest: {**rest, **fixed})
)
blanks = st.text(alphabet=" \t\n\r", max_size=3)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """Settings, laid out as people and programs do, and as nobody does."""
    value = draw(settings)
    indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " : ")]))
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    if draw(st.booleans()):
        text = text.replace("{}", "{" + draw(blanks) + "}").replace("[]", "[" + draw(blanks) + "]")
    return (draw(blanks) + text + draw(blanks)).encode("utf-8", "surrogatepass")


@given(text=texts(), events=st.lists(names, max_size=5, unique=True))
def test_whatever_the_settings_are_they_come_back(text: bytes, events: list[str]) -> None:
    entries = [Entry(event, COMMAND, 10) for event in events]
    installed = add_entries(text, entries)
    assert sorted(entry.event for entry in list_entries(installed)) == sorted(events)
    assert isinstance(json.loads(installed), dict)
    assert remove_entries(installed) == text


@given(value=settings, events=st.lists(names, min_size=1, max_size=5, unique=True), indent=st.integers(0, 6))
def test_settings_that_another_program_wrote_anew_lose_nothing_but_the_entries(
    value: dict[str, Any], events: list[str], indent: int
) -> None:
    text = json.dumps(value).encode("utf-8", "surrogatepass")
    installed = json.loads(add_entries(text, [Entry(event, COMMAND, 10) for event in events]))
    left = remove_entries(json.dumps(installed, indent=indent).encode("utf-8", "surrogatepass"))
    assert left is not None
    assert json.loads(left) == value

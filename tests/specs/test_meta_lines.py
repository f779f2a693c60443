"""Specs 000, 002 and 004: metadata (`isMeta`, the system subtype `meta`) is not shown to the user.

It stays in the raw view and keeps its number, so that links and search hits name what they named before.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from command_line import run_here
from reader_views import CONFIG, ask, export, served, show, write_000, write_002, write_004
from turnlog import decode, encode, read
from turnlog.export.formats import Format
from turnlog.integrations.mcp import build_server
from turnlog.messages.system import SystemNotice
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts.conversation.messages import LineDisplay, Rule

HIDDEN = ("config loaded", "by its subtype", "by its flag")


@pytest.mark.parametrize("options", [(), ("--full",), ("--tree",), ("--turns",)])
def test_show_leaves_metadata_out(tmp_path: Path, options: tuple[str, ...]) -> None:
    shown = show(write_000(tmp_path, CONFIG), *options)
    assert "Create a script" in shown
    assert not [text for text in HIDDEN if text in shown]
    assert "follows nothing above" not in shown


def test_the_raw_view_has_it(tmp_path: Path) -> None:
    shown = run_here("show", write_000(tmp_path, CONFIG), "--raw").stdout.decode()
    assert all(text in shown for text in HIDDEN)


@pytest.mark.parametrize("form", [Format.MARKDOWN, Format.HTML, Format.CSV])
def test_exports_for_readers_leave_metadata_out(tmp_path: Path, form: Format) -> None:
    exported = export(write_000(tmp_path, CONFIG), form)
    assert "Here it is." in exported
    assert not [text for text in HIDDEN if text in exported]


def test_the_lines_are_exported_as_they_are(tmp_path: Path) -> None:
    exported = export(write_000(tmp_path, CONFIG), Format.JSONL)
    assert all(text in exported for text in HIDDEN)


def test_hiding_renumbers_nothing(tmp_path: Path) -> None:
    session = read(write_000(tmp_path, CONFIG))
    assert [(message.index, message.rule, message.is_hidden) for message in session.messages] == [
        (0, Rule.PROMPT, False),
        (1, Rule.META, True),
        (2, Rule.META, True),
        (3, Rule.META, True),
        (4, Rule.ANSWER, False),
    ]
    assert {placement.display for placement in session.placements[1:4]} == {LineDisplay.HIDDEN}


def test_what_is_asked_for_by_its_number_is_shown(tmp_path: Path) -> None:
    shown = show(write_000(tmp_path, CONFIG), "--message", "1")
    assert "config loaded" in shown
    assert "by its subtype" not in shown


def test_lines_that_grow_are_hidden_as_well(tmp_path: Path) -> None:
    path = write_000(tmp_path, CONFIG)
    whole = read(path)
    lines = whole.lines
    path.write_bytes(lines[0].raw + b"\n")
    session = read(path)
    for line in lines[1:]:
        session.extend([line])
    assert [message.rule for message in session.messages] == [message.rule for message in whole.messages]


def test_all_that_calls_itself_metadata_is_hidden_in_spec_004(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"type": "human", "uuid": "h1", "message": "Parse the files"},
        {"type": "human", "uuid": "h2", "message": "in your mouth", "isMeta": True},
        {"type": "system", "uuid": "s1", "message": "about the program", "isMeta": True},
        {"type": "assistant", "uuid": "a1", "message": "said to nobody", "isMeta": True},
        {"type": "assistant", "uuid": "a2", "message": "They are parsed."},
    ]
    shown = show(write_004(tmp_path, lines), "--full")
    assert "They are parsed." in shown
    assert not [text for text in ("in your mouth", "about the program", "said to nobody") if text in shown]


def test_todays_system_lines_with_the_flag_are_hidden_and_errors_without_it_are_not(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Go"}},
        {
            "type": "system",
            "subtype": "informational",
            "uuid": "s1",
            "content": "for the program",
            "isMeta": True,
        },
        {"type": "system", "subtype": "informational", "uuid": "s2", "content": "for people", "isMeta": False},
    ]
    shown = show(write_002(tmp_path, lines), "--full")
    assert "for people" in shown
    assert "for the program" not in shown


def test_a_call_keeps_its_result_whatever_flag_is_on_it(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "made"}
    lines: list[dict[str, Any]] = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Go"}},
        {
            "type": "assistant",
            "uuid": "a1",
            "isMeta": True,
            "message": {"role": "assistant", "content": [call]},
        },
        {"type": "user", "uuid": "u2", "isMeta": True, "message": {"role": "user", "content": [result]}},
    ]
    [found] = read(write_002(tmp_path, lines)).calls
    assert found.result is not None
    assert "Bash make" in show(write_002(tmp_path, lines))


def test_the_api_marks_it_and_search_and_links_still_lead_to_it(tmp_path: Path) -> None:
    with served(write_000(tmp_path, CONFIG), tmp_path / "home") as server:
        items = ask(server, "/api/sessions/session-000/messages")["items"]
        assert [(item["index"], item["rule"], item["types"]) for item in items] == [
            (0, "prompt", ["user"]),
            (1, "meta", []),
            (2, "meta", []),
            (3, "meta", []),
            (4, "answer", ["assistant"]),
        ]
        [hit] = ask(server, "/api/search?q=%22config%20loaded%22")["items"]
        assert (hit["message"], hit["message_uuid"]) == (1, "m2")
        around = ask(server, "/api/sessions/session-000/messages?around=m2&limit=1")["items"]
        assert [item["content"] for item in around] == ["config loaded"]
        raw = server.get("/api/sessions/session-000/messages/1/raw").body
        assert json.loads(raw)["message"] == "config loaded"


def test_a_conversation_over_mcp_is_without_it_unless_it_is_asked_for(tmp_path: Path) -> None:
    with served(write_000(tmp_path, CONFIG), tmp_path / "home"):
        pass
    assert _read_over_mcp(tmp_path / "home") == ["Create a script", "Here it is."]
    asked = _read_over_mcp(tmp_path / "home", around="m2")
    assert asked == ["Create a script", "config loaded", "Here it is."]


def _read_over_mcp(home: Path, **given: object) -> list[Any]:
    async def talk() -> list[Any]:
        with closing(open_store(home / "turnlog.db")) as store:
            async with Client(build_server(store, LOCAL)) as client:
                result = await client.call_tool("read_conversation", {"session": "session-000", **given})
                messages = json.loads(result.content[0].text)["messages"]  # type: ignore[union-attr]
                return [message["untrusted"] for message in messages]

    return asyncio.run(talk())


@pytest.mark.parametrize(("subtype", "flag"), [("meta", "is_meta"), ("error", "is_error")])
def test_a_subtype_stands_for_its_flag_and_a_changed_line_does_not_gain_it(subtype: str, flag: str) -> None:
    told = {"type": "system", "uuid": "s1", "timestamp": "2026-02-22T10:00:00Z", "sessionId": "s"}
    line = decode(json.dumps(told | {"message": "one", "subtype": subtype}))
    assert isinstance(line.entry, SystemNotice)
    assert getattr(line.entry, flag) is True
    changed = json.loads(encode(line.replace(content="two")))
    assert changed == told | {"message": "two", "subtype": subtype}

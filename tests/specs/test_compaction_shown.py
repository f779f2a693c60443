"""Specs 000 and 004: what compactions kept is shown, what was restored is called so, a command is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from reader_views import ask, export, served, show, write_000, write_004
from turnlog import read
from turnlog.export.formats import Format

KEPT = (
    {"type": "human", "uuid": "h1", "message": "Create a script"},
    {"type": "compact_prelude", "uuid": "p1", "message": "Previous message content..."},
    {
        "type": "compact_recap",
        "uuid": "r1",
        "parentUuid": "p1",
        "message": "Summary of compacted conversation...",
    },
    {"type": "assistant", "uuid": "a1", "parentUuid": "r1", "message": "I go on."},
)
STEPS = (
    {"type": "user", "uuid": "m1", "message": "Create a script"},
    {"type": "compact_system", "uuid": "m2", "parentUuid": "m1", "message": "conversation_compacting"},
    {
        "type": "compact_system", "uuid": "m3", "parentUuid": "m2", "message": "conversation_compacted",
        "metadata": {"preservedMessages": 15, "totalMessages": 150, "compressionRatio": 0.1},
    },
    {"type": "compact_system", "uuid": "m4", "parentUuid": "m3", "message": "conversation_restoring"},
    {"type": "compact_system", "uuid": "m5", "parentUuid": "m4", "message": "conversation_restored"},
    {"type": "assistant", "uuid": "m6", "parentUuid": "m5", "message": "/init", "subtype": "command"},
    {"type": "assistant", "uuid": "m7", "parentUuid": "m6", "message": "Done.", "subtype": "response"},
)  # fmt: skip


@pytest.mark.parametrize("options", [(), ("--full",)])
def test_show_has_prelude_and_recap_below_the_divider(tmp_path: Path, options: tuple[str, ...]) -> None:
    shown = show(write_004(tmp_path, KEPT), *options)
    parts = [
        "──── compacted",
        "≡ kept from earlier",
        "Previous message",
        "≡ summary of",
        "Summary of compacted",
        "I go on.",
    ]
    assert [part for part in parts if part not in shown] == []
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)


@pytest.mark.parametrize("form", [Format.MARKDOWN, Format.HTML])
def test_exports_have_them(tmp_path: Path, form: Format) -> None:
    exported = export(write_004(tmp_path, KEPT), form)
    assert "Previous message content..." in exported
    assert "Summary of compacted conversation..." in exported


def test_a_compaction_has_both(tmp_path: Path) -> None:
    [compaction] = read(write_004(tmp_path, KEPT)).compactions
    assert (compaction.prelude, compaction.summary) == (
        "Previous message content...",
        "Summary of compacted conversation...",
    )


def test_restored_conversations_are_called_so(tmp_path: Path) -> None:
    path = write_000(tmp_path, STEPS)
    assert "──── restored ────" in show(path)
    assert "*conversation restored*" in export(path)
    assert "conversation restored</p>" in export(path, Format.HTML)
    with served(path, tmp_path / "home") as server:
        items = ask(server, "/api/sessions/session-000/messages")["items"]
        assert [item["content"] for item in items if item["rule"] == "compaction"] == [
            "Compacting the conversation",
            "Conversation compacted",
            "Restoring the conversation",
            "Conversation restored",
        ]


def test_an_assistants_command_is_one(tmp_path: Path) -> None:
    path = write_000(tmp_path, STEPS)
    [heading] = [line for line in show(path).splitlines() if "a command" in line]
    assert heading.startswith("● claude")
    assert "**Claude** · 10:00:05 · a command" in export(path)
    session = read(path)
    assert [(message.text, message.rule.value) for message in session.messages[-2:]] == [
        ("/init", "ran-command"),
        ("Done.", "answer"),
    ]
    assert len(session.turns) == 1


def test_a_command_with_a_call_is_still_a_call(tmp_path: Path) -> None:
    line = {
        "type": "assistant",
        "uuid": "m2",
        "subtype": "command",
        "toolName": "SlashCommand",
        "toolArguments": {"command": "/init"},
    }
    [call] = read(write_000(tmp_path, [STEPS[0], line])).calls
    assert call.name == "SlashCommand"

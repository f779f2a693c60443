"""A transcript is untrusted: whatever its strings hold, nothing of it acts on a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import invoke
from golden import DATA
from turnlog.cli.terminal import clean

POISON = "\x1b[31m\x1b]0;owned\x07\x9b2J\u202e\x7f\r\u200b\u2028[bold red]:skull:\x1b]8;;http://evil\x1b\\"
TOUR = DATA / "cli" / "tour" / "0b5c7a52-9d3e-4a6f-8c11-5e2f9a7d4c01.jsonl"
FOLDERS = ("cli", "entries", "stream", "hooks", "control", "legacy", "tools", "transcripts")
KEPT = frozenset({"type", "subtype", "role", "hook_event_name"})
"""What tells types apart: changed, a line is merely unknown."""
COMMANDS = (
    ["show"],
    ["show", "--full", "--thinking"],
    ["show", "--tree"],
    ["show", "--turns"],
    ["show", "--agents"],
    ["validate", "--severity", "note", "--all"],
    *(["usage", by, "--path"] for by in ("model", "session", "agent", "skill", "daily", "tool", "project")),
    ["usage", "--csv", "--path"],
)


def poison(value: Any, kept: frozenset[str]) -> Any:
    """Return a value with poison in each of its strings, but for those under some keys."""
    if isinstance(value, str):
        return value + POISON
    if isinstance(value, list):
        return [poison(item, kept) for item in value]
    if isinstance(value, dict):
        return {key: item if key in kept else poison(item, kept) for key, item in value.items()}
    return value


def list_objects(folder: str) -> list[Any]:
    found = []
    for path in sorted((DATA / folder).rglob("*.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


def write(path: Path, objects: list[Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in objects))
    return path


def assert_harmless(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    "kept", [KEPT, KEPT | {"id", "tool_use_id", "name", "uuid", "parentUuid"}, frozenset()]
)
@pytest.mark.parametrize("folder", FOLDERS)
def test_no_string_of_any_type_acts(folder: str, kept: frozenset[str], tmp_path: Path) -> None:
    objects = [poison(each, kept) for each in list_objects(folder)]
    assert objects
    path = write(tmp_path / "s.jsonl", objects)
    for command in COMMANDS:
        shown = invoke(*command, path)
        assert shown.exit_code in (0, 1), (command, shown.output)
        assert_harmless(shown.stdout if "--csv" not in command else clean(shown.stdout))
        assert_harmless(shown.stderr)


def test_markup_is_text(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl", [poison(json.loads(line), KEPT) for line in TOUR.read_bytes().splitlines()]
    )
    shown = invoke("show", path, "--color")
    assert "[bold red]:skull:" in shown.stdout
    assert "\x1b]" not in shown.stdout

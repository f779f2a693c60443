"""Specs 000 and 004: errors are marked wherever people read them, by a sign as well as by colour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reader_views import ask, export, served, show, write_000, write_002, write_004
from turnlog.export.formats import Format

SPEC_000 = (
    {"type": "user", "uuid": "m1", "message": "Create a script"},
    {"type": "assistant", "uuid": "m2", "parentUuid": "m1", "message": "I cannot do it.", "subtype": "error"},
    {
        "type": "system", "uuid": "m3", "parentUuid": "m2", "message": "Permission denied", "subtype": "error",
        "isError": True,
    },
    {"type": "system", "uuid": "m4", "parentUuid": "m3", "message": "No space left", "subtype": "error"},
    {"type": "assistant", "uuid": "m5", "parentUuid": "m4", "message": "It is done.", "subtype": "response"},
)  # fmt: skip
SPEC_004 = (
    {"type": "human", "uuid": "h1", "message": "Parse it"},
    {"type": "assistant", "uuid": "a1", "message": "It broke.", "isError": True},
)
TODAY: tuple[dict[str, Any], ...] = (
    {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Go"}},
    {
        "type": "assistant", "uuid": "e1", "isApiErrorMessage": True,
        "message": {"model": "<synthetic>", "role": "assistant", "content": "API Error: 529"},
    },
    {
        "type": "system", "subtype": "api_error", "uuid": "e2", "level": "error",
        "error": {"status": 529, "message": "overloaded"}, "retryAttempt": 1, "maxRetries": 10,
    },
    {
        "type": "user", "uuid": "r1",
        "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "gone", "content": "Exit code 2", "is_error": True},
        ]},
    },
)  # fmt: skip


def _list_marked(shown: str) -> list[str]:
    """Return what stands under a heading of an error."""
    lines = shown.splitlines()
    return [lines[at + 1].strip() for at, line in enumerate(lines) if line.startswith("✗ error")]


def test_each_error_of_spec_000_is_marked_in_show(tmp_path: Path) -> None:
    shown = show(write_000(tmp_path, SPEC_000))
    assert _list_marked(shown) == ["I cannot do it.", "Permission denied", "No space left"]


def test_an_error_is_red_where_there_are_colours(tmp_path: Path) -> None:
    shown = show(write_000(tmp_path, SPEC_000), "--color")
    assert "\x1b[1;31m✗ error" in shown
    assert "\x1b[31mPermission denied" in shown


def test_is_error_of_spec_004_is_marked(tmp_path: Path) -> None:
    assert _list_marked(show(write_004(tmp_path, SPEC_004))) == ["It broke."]


def test_errors_of_the_api_and_of_calls_elsewhere_are_marked(tmp_path: Path) -> None:
    shown = show(write_002(tmp_path, TODAY))
    assert _list_marked(shown) == ["API Error: 529", "overloaded 529, retry 1 of 10", "Exit code 2"]


@pytest.mark.parametrize(
    ("form", "said", "noted"),
    [
        (Format.MARKDOWN, "**Claude** · 10:00:01 · ✗ error", "*✗ error*: Permission denied"),
        (Format.HTML, '<b class="failed">✗ error</b>', '✗ error: Permission denied</p>'),
    ],
)  # fmt: skip
def test_exports_mark_them(tmp_path: Path, form: Format, said: str, noted: str) -> None:
    exported = export(write_000(tmp_path, SPEC_000), form)
    assert said in exported
    assert noted in exported
    assert exported.count("✗") == 3


def test_a_subtype_alone_makes_an_error_over_http(tmp_path: Path) -> None:
    with served(write_000(tmp_path, SPEC_000), tmp_path / "home") as server:
        items = ask(server, "/api/sessions/session-000/messages")["items"]
        assert [item["category"] for item in items] == [None, "error", "error", "error", None]

"""Settings come from the environment, and only from there."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnlog.config import Settings


def test_nothing_is_set_by_default() -> None:
    home = Path.home()
    assert Settings.from_env({}) == Settings(config_dirs=(home / ".claude", home / ".config" / "claude"))


def test_claude_s_data_may_be_in_several_places() -> None:
    settings = Settings.from_env({"CLAUDE_CONFIG_DIR": "/a,/b"})
    assert settings.config_dirs == (Path("/a"), Path("/b"))


@pytest.mark.parametrize(
    ("env", "color"),
    [
        ({}, None),
        ({"NO_COLOR": ""}, None),
        ({"NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ({"TERM": "xterm"}, None),
    ],
)
def test_colours_can_be_forbidden_and_forced(env: dict[str, str], color: bool | None) -> None:
    assert Settings.from_env(env).color is color


@pytest.mark.parametrize(
    ("env", "pager"),
    [
        ({}, None),
        ({"PAGER": "more"}, "more"),
        ({"PAGER": "more", "TURNLOG_PAGER": "less -F"}, "less -F"),
        ({"PAGER": "more", "TURNLOG_PAGER": ""}, ""),
    ],
)
def test_our_own_pager_comes_first(env: dict[str, str], pager: str | None) -> None:
    assert Settings.from_env(env).pager == pager

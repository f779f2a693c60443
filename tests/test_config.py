"""Settings come from the environment and the configuration file, and only from there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from turnlog.config import NotificationSettings, Occasion, Settings
from turnlog.errors import ConfigError
from turnlog.store.model import ServerPlace


def test_nothing_is_set_by_default(tmp_path: Path) -> None:
    home = Path.home()
    assert Settings.from_env({"TURNLOG_HOME": str(tmp_path)}) == Settings(
        home=tmp_path, config_dirs=(home / ".claude", home / ".config" / "claude")
    )


def test_our_own_data_is_where_the_platform_keeps_data() -> None:
    assert Settings.from_env({}).home.name == "turnlog"
    if sys.platform != "win32":
        assert Settings.from_env({"XDG_DATA_HOME": "/data"}).home == Path("/data/turnlog")
    if sys.platform not in ("win32", "darwin"):
        usual = Path.home() / ".local" / "share" / "turnlog"
        assert Settings.from_env({}).home == Settings.from_env({"XDG_DATA_HOME": "not/absolute"}).home == usual


def test_the_file_says_what_is_excluded(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[sync]\nexclude = ["~/secret"]\n')
    assert Settings.from_env({"TURNLOG_HOME": str(tmp_path)}).exclude == ("~/secret",)


def test_the_file_says_who_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        '[notifications]\ndesktop = true\nwebhooks = ["https://example.org/x?token=y"]\non = ["waits"]\n'
    )
    assert Settings.from_env({"TURNLOG_HOME": str(tmp_path)}).notifications == NotificationSettings(
        desktop=True, webhooks=("https://example.org/x?token=y",), on=(Occasion.WAITS,)
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[sync]\nexlude = ["~/secret"]\n', "unknown field `exlude`"),
        ("[sync]\nexclude = 5\n", "Expected `array`, got `int`"),
        ("[sync\n", "Expected"),
        ("[notifications]\ndesktop = 1\n", "Expected `bool`, got `int`"),
        ('[notifications]\non = ["sings"]\n', "Invalid enum value 'sings'"),
        ('[notifications]\nurl = "x"\n', "unknown field `url`"),
        ('[notifications]\nwebhooks = ["ftp://example.org"]\n', r"https://example.org/hook in `webhooks\[0\]`"),
        ('[notifications]\nwebhooks = ["http://"]\n', r"`webhooks\[0\]`"),
        ('[notifications]\nwebhooks = ["http://a:99999/"]\n', r"`webhooks\[0\]`"),
    ],
)
def test_a_file_that_says_something_wrong_is_refused_with_its_name(
    tmp_path: Path, text: str, reason: str
) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError, match=reason) as caught:
        Settings.from_env({"TURNLOG_HOME": str(tmp_path)})
    assert str(tmp_path / "config.toml") in str(caught.value)


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


def test_an_address_names_the_server_that_has_the_archive(tmp_path: Path) -> None:
    env = {"TURNLOG_HOME": str(tmp_path)}
    assert Settings.from_env(env).place == tmp_path / "turnlog.db"
    assert Settings.from_env({**env, "TURNLOG_STORE": ""}).place == tmp_path / "turnlog.db"
    address = "postgresql://db/turnlog"
    assert Settings.from_env({**env, "TURNLOG_STORE": address}).place == ServerPlace(address, tmp_path)


def test_an_address_of_an_engine_that_nobody_knows_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="TURNLOG_STORE"):
        Settings.from_env({"TURNLOG_HOME": str(tmp_path), "TURNLOG_STORE": "oracle://db/turnlog"})


def test_an_archive_on_an_engine_that_was_removed_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"TURNLOG_STORE.*ClickHouse.*docs/team\.md"):
        Settings.from_env({"TURNLOG_HOME": str(tmp_path), "TURNLOG_STORE": "clickhouse://db/turnlog"})

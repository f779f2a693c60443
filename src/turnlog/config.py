"""What the environment and the configuration file say.

Only the entry points (command line, server, integrations) read them, once, and hand them on. The file is
`config.toml` in turnlog's own directory, and need not be there. A name in it that nobody knows is an error: a
setting that is misspelt would otherwise do nothing, unnoticed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from platformdirs import user_data_path

from turnlog.errors import ConfigError
from turnlog.store.places import StorePlace, parse_address
from turnlog.transcripts.files.locate import list_config_dirs

__all__ = ["NotificationSettings", "Occasion", "Settings", "find_home"]

_MOST_WEBHOOKS = 10
_FILE = "turnlog.db"
_CAPTURED = "captured"


class Occasion(StrEnum):
    """When somebody is told."""

    WAITS = "waits"
    """A session needs the person: for a permission, an answer, a plan, or after an error."""
    ENDS = "ends"
    """A turn or a session ended."""


class NotificationSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is told when a session waits or ends; nobody, unless the file says so."""

    desktop: bool = False
    webhooks: tuple[str, ...] = ()
    """Addresses that are told by POST."""
    on: tuple[Occasion, ...] = (Occasion.WAITS, Occasion.ENDS)

    def __post_init__(self) -> None:
        if len(self.webhooks) > _MOST_WEBHOOKS:
            raise ValueError(f"Expected at most {_MOST_WEBHOOKS} `webhooks`, got {len(self.webhooks)}")
        for index, address in enumerate(self.webhooks):
            if not _is_address(address):  # which may hold a secret, so it is not repeated
                raise ValueError(f"Expected an address as https://example.org/hook in `webhooks[{index}]`")


class _Sync(Struct, frozen=True, forbid_unknown_fields=True):
    exclude: tuple[str, ...] = ()


class _Redaction(Struct, frozen=True, forbid_unknown_fields=True):
    words: tuple[str, ...] = ()


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    sync: _Sync = _Sync()
    notifications: NotificationSettings = NotificationSettings()
    redaction: _Redaction = _Redaction()


class Settings(Struct, frozen=True, kw_only=True):
    """All settings."""

    home: Path = Path()
    """Where turnlog keeps its own data (`TURNLOG_HOME`, else the platform's place for data)."""
    store: str | None = None
    """The address of a database server that has the archive (`TURNLOG_STORE`); None for a file in `home`."""
    config_dirs: tuple[Path, ...] = ()
    """Where Claude Code's own data may be (`CLAUDE_CONFIG_DIR`)."""
    color: bool | None = None
    """Whether to write colours (`NO_COLOR`, `FORCE_COLOR`, `TERM`); None if that is left to us."""
    pager: str | None = None
    """What shows long output (`TURNLOG_PAGER`, then `PAGER`): None if that is left to us, empty for nothing."""

    exclude: tuple[str, ...] = ()
    """What is never archived: paths of files and projects, with wildcards (`[sync] exclude` in the file)."""
    notifications: NotificationSettings = NotificationSettings()
    """Who is told when a session waits or ends (`[notifications]` in the file)."""

    redact_words: tuple[str, ...] = ()
    """What exports never tell, besides secrets (`[redaction] words` in the file)."""

    @property
    def place(self) -> StorePlace:
        """Where the archive is."""
        return self.home / _FILE if self.store is None else parse_address(self.store, self.home)

    @property
    def captured_dir(self) -> Path:
        """Where what turnlog captured itself lies, laid out as Claude Code's data."""
        return self.home / _CAPTURED

    @property
    def session_dirs(self) -> tuple[Path, ...]:
        """All that sessions are looked for in: Claude Code's own data, and what turnlog captured."""
        return (*self.config_dirs, self.captured_dir)

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Settings:
        """Read the settings; raises `ConfigError` for a file or an address that says anything wrong."""
        home = find_home(env)
        file = _read_file(home / "config.toml")
        return cls(
            home=home,
            store=_store(env, home),
            exclude=file.sync.exclude,
            notifications=file.notifications,
            redact_words=file.redaction.words,
            config_dirs=tuple(list_config_dirs(env, Path(os.path.expanduser("~")))),
            color=_color(env),
            pager=env.get("TURNLOG_PAGER", env.get("PAGER")),
        )


def find_home(env: Mapping[str, str]) -> Path:
    """Return where turnlog keeps its own data."""
    given = env.get("TURNLOG_HOME")
    return Path(os.path.expanduser(given)) if given else user_data_path("turnlog", appauthor=False)


def _store(env: Mapping[str, str], home: Path) -> str | None:
    address = env.get("TURNLOG_STORE") or None
    if address is not None:
        try:
            parse_address(address, home)
        except ValueError as error:
            raise ConfigError(str(error), "TURNLOG_STORE") from error
    return address


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and has_port and text.isprintable()


def _read_file(path: Path) -> _File:
    try:
        return msgspec.toml.decode(path.read_bytes(), type=_File)
    except (FileNotFoundError, NotADirectoryError):
        return _File()
    except OSError as error:
        raise ConfigError(error.strerror or str(error), os.fspath(path)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(str(error), os.fspath(path)) from error


def _color(env: Mapping[str, str]) -> bool | None:
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR"):
        return True
    return False if env.get("TERM") == "dumb" else None

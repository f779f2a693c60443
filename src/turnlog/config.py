"""What the environment and the configuration file say.

Only the entry points (command line, server, integrations) read them, once, and hand them on. The file is
`config.toml` in turnlog's own directory, and need not be there. A name in it that nobody knows is an error: a
setting that is misspelt would otherwise do nothing, unnoticed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from enum import StrEnum
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turnlog.errors import ConfigError
from turnlog.store.account_model import UserRole
from turnlog.store.model import (
    BLOBS_SETTING,
    INDEX_SETTING,
    STORE_SETTING,
    ServerPlace,
    StorePlace,
    find_blobs,
    find_index,
    find_place,
)
from turnlog.transcripts.session_files import list_config_dirs

PASSWORD_SETTING = "TURNLOG_MONGODB_PASSWORD"
"""Says the password of a MongoDB server, for the user that its address names."""
_MOST_WEBHOOKS = 10
_FILE = "turnlog.db"
_CAPTURED = "captured"
_PRICES = "prices.msgpack"


class Occasion(StrEnum):
    """When a notification is sent."""

    WAITS = "waits"
    """A session needs the person: for a permission, an answer, a plan, or after an error."""
    ENDS = "ends"
    """A turn or a session ended."""


class NotificationSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is notified when a session waits or ends; nobody by default."""

    desktop: bool = False
    """Whether to show notifications on the desktop."""
    webhooks: tuple[str, ...] = ()
    """Addresses that receive a POST, ten at most."""
    on: tuple[Occasion, ...] = (Occasion.WAITS, Occasion.ENDS)
    """What to notify of: a session that needs someone, a turn or a session that ends."""

    def __post_init__(self) -> None:
        if len(self.webhooks) > _MOST_WEBHOOKS:
            raise ValueError(f"Expected at most {_MOST_WEBHOOKS} `webhooks`, got {len(self.webhooks)}")
        for index, address in enumerate(self.webhooks):
            if not _is_address(address):  # which may hold a secret, so it is not repeated
                raise ValueError(f"Expected an address such as https://example.org/hook in `webhooks[{index}]`")


class OidcSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """At which provider people can log in (OpenID Connect)."""

    issuer: str
    """The provider's address, exactly as it spells it."""
    client_id: str
    """What the provider calls this server."""
    client_secret_file: str | None = None
    """The file in `TURNLOG_HOME` with this server's secret; without it, `TURNLOG_OIDC_SECRET` counts."""
    label: str = "Single sign-on"
    """The text on the button."""
    domains: tuple[str, ...] = ()
    """The domains whose e-mail addresses are accepted; all, if none are named."""
    create_users: bool = False
    """Whether everyone that the provider knows gets an account; otherwise people have to be added first."""
    role: UserRole = UserRole.MEMBER
    """The role of accounts that are created this way: `member` or `viewer`."""

    def __post_init__(self) -> None:
        if not _is_safe_address(self.issuer):
            raise ValueError("Expected an address such as https://login.example.org in `issuer`")
        if not self.client_id or not self.label:
            raise ValueError("Expected a `client_id` and a `label`")
        if self.role is UserRole.ADMIN:
            raise ValueError("Expected `member` or `viewer` in `role`: only admins can make someone an admin")


class _Server(Struct, frozen=True, forbid_unknown_fields=True):
    public_url: str | None = None
    """The address at which people reach the server, such as `https://turnlog.example.org`."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose `X-Forwarded-For` counts."""

    def __post_init__(self) -> None:
        if self.public_url is not None and not _is_public(self.public_url):
            raise ValueError("Expected an address such as https://turnlog.example.org in `public_url`")
        for index, address in enumerate(self.trusted_proxies):
            try:
                ip_network(address)
            except ValueError:
                message = f"Expected an address or a network such as 10.0.0.0/8 in `trusted_proxies[{index}]`"
                raise ValueError(message) from None


class _Sync(Struct, frozen=True, forbid_unknown_fields=True):
    exclude: tuple[str, ...] = ()
    """Paths of files and projects that are never archived or pushed, with `*` and `?`."""


class _Redaction(Struct, frozen=True, forbid_unknown_fields=True):
    words: tuple[str, ...] = ()
    """Words that exports and links replace, besides secrets."""


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    sync: _Sync = _Sync()
    notifications: NotificationSettings = NotificationSettings()
    redaction: _Redaction = _Redaction()
    server: _Server = _Server()
    oidc: OidcSettings | None = None


class Settings(Struct, frozen=True, kw_only=True):
    """All settings."""

    home: Path = Path()
    """Where turnlog keeps its own data (`TURNLOG_HOME`, else the platform's place for data)."""
    store: ServerPlace | None = None
    """The server that has the archive (`TURNLOG_STORE`, `TURNLOG_BLOBS`, `TURNLOG_INDEX`); None for a file in
    `home`."""
    config_dirs: tuple[Path, ...] = ()
    """Where Claude Code's own data may be (`CLAUDE_CONFIG_DIR`)."""
    color: bool | None = None
    """Whether to write colours (`NO_COLOR`, `FORCE_COLOR`, `TERM`); None if that is left to us."""
    pager: str | None = None
    """What shows long output (`TURNLOG_PAGER`, then `PAGER`): None if that is left to us, empty for nothing."""

    exclude: tuple[str, ...] = ()
    """What is never archived: paths of files and projects, with wildcards (`[sync] exclude` in the file)."""
    notifications: NotificationSettings = NotificationSettings()
    """Who is notified when a session waits or ends (`[notifications]` in the file)."""

    redact_words: tuple[str, ...] = ()
    """What exports never tell, besides secrets (`[redaction] words` in the file)."""

    public_url: str | None = None
    """The address under which people reach the server (`[server] public_url`, `TURNLOG_PUBLIC_URL`)."""
    trusted_proxies: tuple[str, ...] = ()
    """Whose word counts for where a request comes from (`[server] trusted_proxies`)."""
    oidc: OidcSettings | None = None
    """At which provider people can log in (`[oidc]`, `TURNLOG_OIDC_ISSUER`, `TURNLOG_OIDC_CLIENT_ID`)."""
    oidc_secret: str | None = None
    """What the provider knows this server by (`TURNLOG_OIDC_SECRET`, or a file); it must not be shown."""

    @property
    def place(self) -> StorePlace:
        """Where the archive is."""
        return self.home / _FILE if self.store is None else replace(self.store, home=self.home)

    @property
    def captured_dir(self) -> Path:
        """Where what turnlog captured itself lies, laid out as Claude Code's data."""
        return self.home / _CAPTURED

    @property
    def price_memory(self) -> Path:
        """Where prices are kept that were asked for before."""
        return self.home / _PRICES

    @property
    def session_dirs(self) -> tuple[Path, ...]:
        """All that sessions are looked for in: Claude Code's own data, and what turnlog captured."""
        return (*self.config_dirs, self.captured_dir)

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Settings:
        """Read the settings; raises `ConfigError` for a file or an address that says anything wrong."""
        home = find_home(env)
        file = _read_file(home / "config.toml")
        oidc = _oidc(env, file)
        return cls(
            home=home,
            store=_store(env, home),
            exclude=file.sync.exclude,
            notifications=file.notifications,
            redact_words=file.redaction.words,
            public_url=_public_url(env, file),
            trusted_proxies=file.server.trusted_proxies,
            oidc=oidc,
            oidc_secret=None if oidc is None else _oidc_secret(env, oidc, home),
            config_dirs=tuple(list_config_dirs(env, Path(os.path.expanduser("~")))),
            color=_color(env),
            pager=env.get("TURNLOG_PAGER", env.get("PAGER")),
        )


def find_home(env: Mapping[str, str]) -> Path:
    """Return where turnlog keeps its own data."""
    given = env.get("TURNLOG_HOME")
    return Path(os.path.expanduser(given or os.path.join(_find_data(env), "turnlog")))


def _find_data(env: Mapping[str, str]) -> str:
    """Return the folder for the user's application data."""
    if sys.platform == "win32":
        return env.get("LOCALAPPDATA") or "~/AppData/Local"
    given = env.get("XDG_DATA_HOME", "")
    if os.path.isabs(given):
        return given
    return "~/Library/Application Support" if sys.platform == "darwin" else "~/.local/share"


def _store(env: Mapping[str, str], home: Path) -> ServerPlace | None:
    for setting, find in ((BLOBS_SETTING, find_blobs), (INDEX_SETTING, find_index)):
        try:
            find(env)
        except ValueError as error:
            raise ConfigError(str(error), setting) from error
    try:
        return find_place(env, home)
    except ValueError as error:
        raise ConfigError(str(error), STORE_SETTING) from error


def _public_url(env: Mapping[str, str], file: _File) -> str | None:
    given = env.get("TURNLOG_PUBLIC_URL") or file.server.public_url
    if given is not None and not _is_public(given):
        raise ConfigError("Expected an address such as https://turnlog.example.org", "TURNLOG_PUBLIC_URL")
    return None if given is None else given.rstrip("/")


def _oidc(env: Mapping[str, str], file: _File) -> OidcSettings | None:
    given = {
        field: env[name]
        for field, name in (("issuer", "TURNLOG_OIDC_ISSUER"), ("client_id", "TURNLOG_OIDC_CLIENT_ID"))
        if env.get(name)
    }
    if not given:
        return file.oidc
    before = {} if file.oidc is None else msgspec.structs.asdict(file.oidc)
    try:
        return msgspec.convert({**before, **given}, OidcSettings)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), "TURNLOG_OIDC_ISSUER") from error


def _oidc_secret(env: Mapping[str, str], oidc: OidcSettings, home: Path) -> str | None:
    if oidc.client_secret_file is None:
        return env.get("TURNLOG_OIDC_SECRET") or None
    path = home / os.path.expanduser(oidc.client_secret_file)
    try:
        return path.read_text("utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(getattr(error, "strerror", None) or str(error), os.fspath(path)) from error


def _is_public(text: str) -> bool:
    parts = urlsplit(text) if _is_address(text) else None
    return parts is not None and parts.path in ("", "/") and not parts.query and parts.username is None


def _is_safe_address(text: str) -> bool:
    """Tell whether what comes from an address cannot be changed on the way."""
    parts = urlsplit(text) if _is_address(text) else None
    if parts is None or parts.query or parts.fragment or parts.username is not None:
        return False
    return parts.scheme == "https" or parts.hostname in ("localhost", "127.0.0.1", "::1")


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

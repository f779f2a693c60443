"""What lies around a server: where its archive is, and where Claude Code keeps what is archived."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from litestar.di import NamedDependency
from litestar.params import SkipValidation
from msgspec import Struct

from turnlog.config import NotificationSettings, OidcSettings
from turnlog.store.places import StorePlace


class Surroundings(Struct, frozen=True, kw_only=True):
    """Where things are; they do not change while the server runs."""

    place: StorePlace | None = None
    """Where the store is, if anywhere."""
    config_dirs: tuple[Path, ...] = ()
    """Where Claude Code's own data may be."""
    captured_dir: Path | None = None
    """Where what turnlog captured itself lies, if anywhere."""
    exclude: tuple[str, ...] = ()
    """What is never archived."""
    notifications: NotificationSettings = NotificationSettings()
    """Who is told when a session waits or ends."""
    public_url: str | None = None
    """The address under which people reach the server, if anybody said."""
    trusted_proxies: tuple[str, ...] = ()
    """Whose word counts for where a request comes from."""
    oidc: OidcSettings | None = None
    """At which provider people can log in."""
    oidc_secret: str | None = None
    """What that knows this server by; it must not be shown."""
    redact_words: tuple[str, ...] = ()
    """What exports never tell, besides secrets."""
    demo: bool = False
    """Whether these are the sample sessions."""
    env: Mapping[str, str] = os.environ
    """What processes beside the server find their settings in."""


NOWHERE = Surroundings()

GivenSurroundings = NamedDependency[SkipValidation[Surroundings]]
"""Parameter `surroundings`: where things are."""

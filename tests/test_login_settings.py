"""What the configuration says of a server's address, of proxies, and of the provider of logins."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnlog.config import OidcSettings, Settings
from turnlog.errors import ConfigError
from turnlog.store.account_model import UserRole

FILE = """
[server]
public_url = "https://turnlog.example.org/"
trusted_proxies = ["127.0.0.1", "10.0.0.0/8", "::1"]

[oidc]
issuer = "https://login.example.org"
client_id = "turnlog"
client_secret_file = "oidc-secret"
label = "Example"
domains = ["example.org"]
create_users = true
role = "viewer"
"""


def read(home: Path, text: str, **env: str) -> Settings:
    (home / "config.toml").write_text(text)
    return Settings.from_env({"TURNLOG_HOME": str(home), **env})


def test_all_of_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "oidc-secret").write_text("a secret\n")
    settings = read(tmp_path, FILE)
    assert settings.public_url == "https://turnlog.example.org"
    assert settings.trusted_proxies == ("127.0.0.1", "10.0.0.0/8", "::1")
    assert settings.oidc_secret == "a secret"
    assert settings.oidc == OidcSettings(
        issuer="https://login.example.org",
        client_id="turnlog",
        client_secret_file="oidc-secret",
        label="Example",
        domains=("example.org",),
        create_users=True,
        role=UserRole.VIEWER,
    )


def test_the_environment_is_enough(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        "",
        TURNLOG_PUBLIC_URL="http://box.lan:8080",
        TURNLOG_OIDC_ISSUER="http://127.0.0.1:9000",
        TURNLOG_OIDC_CLIENT_ID="other",
        TURNLOG_OIDC_SECRET="told",
    )
    assert settings.public_url == "http://box.lan:8080"
    assert settings.oidc == OidcSettings(issuer="http://127.0.0.1:9000", client_id="other")
    assert settings.oidc_secret == "told"
    assert read(tmp_path, "").oidc is None


@pytest.mark.parametrize(
    ("text", "env", "part"),
    [
        ('[server]\npublic_url = "turnlog.example.org"', {}, "public_url"),
        ('[server]\npublic_url = "https://example.org/turnlog"', {}, "public_url"),
        ('[server]\ntrusted_proxies = ["everybody"]', {}, r"trusted_proxies\[0\]"),
        ('[oidc]\nissuer = "http://login.example.org"\nclient_id = "x"', {}, "issuer"),
        ('[oidc]\nissuer = "https://login.example.org"\nclient_id = ""', {}, "client_id"),
        ('[oidc]\nissuer = "https://login.example.org"\nclient_id = "x"\nrole = "admin"', {}, "role"),
        ('[oidc]\nissuer = "https://a.org"\nclient_id = "x"\nclient_secret = "y"', {}, "client_secret"),
        ('[oidc]\nissuer = "https://a.org"\nclient_id = "x"\nclient_secret_file = "none"', {}, "none"),
        ("", {"TURNLOG_PUBLIC_URL": "nonsense"}, "TURNLOG_PUBLIC_URL"),
        ("", {"TURNLOG_OIDC_ISSUER": "https://a.org"}, "client_id"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, env: dict[str, str], part: str) -> None:
    with pytest.raises(ConfigError, match=part):
        read(tmp_path, text, **env)

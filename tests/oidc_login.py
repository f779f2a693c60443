"""A provider of logins in a process of its own, and a browser that goes there and back."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
import pytest

ACCOUNTS: Mapping[str, Mapping[str, Any]] = {
    "subject-ada": {"email": "Ada@Example.org", "email_verified": True, "name": "Ada L."},
    "subject-ben": {"email": "ben@example.org", "email_verified": True},
    "subject-new": {"email": "new.Person+x@example.org", "email_verified": True, "name": "New"},
    "subject-cat": {"email": "cat@elsewhere.org", "email_verified": True},
    "subject-bad": {"email": "ada@example.org", "email_verified": False},
    "subject-imp": {"email": "ada@example.org", "email_verified": True},
    "subject-non": {},
}
_SCRIPT = Path(__file__).with_name("oidc_provider.mjs")
_PACKAGE = _SCRIPT.parent.parent / "web" / "node_modules" / "oidc-provider"
_PATIENCE = 60.0
_MOST_STEPS = 12
_PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""All of it is HTTP; to load certificates for nothing takes long."""


class LoginProvider:
    """A provider that runs."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.port = urlsplit(issuer).port

    def tell(self, account: str, tamper: str = "") -> None:
        """Say who signs in next, and how to answer falsely."""
        httpx.get(
            f"{self.issuer}/tell",
            params={"account": account, "tamper": tamper},
            timeout=_PATIENCE,
            verify=_PLAIN,
        )


@contextmanager
def providing(**options: Any) -> Iterator[LoginProvider]:
    """Run a provider."""
    node = shutil.which("node")
    if node is None or not _PACKAGE.exists():
        pytest.fail("Node and the packages of web/ are needed; `make setup` installs them")
    given = json.dumps({"accounts": ACCOUNTS, **options})
    process = subprocess.Popen([node, _SCRIPT, given], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield LoginProvider(json.loads(process.stdout.readline())["issuer"])
    finally:
        process.stdin.close()
        try:
            process.wait(_PATIENCE)
        finally:
            process.kill()
            process.stdout.close()


class Browser:
    """Follows redirects, as far as it is told to, and keeps cookies."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.client = httpx.Client(timeout=_PATIENCE, trust_env=False, verify=_PLAIN)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.client.get(urljoin(self.origin, path), headers=headers)

    def begin(self, next: str | None = None) -> httpx.Response:
        """Begin a login, and return the redirect to the provider."""
        query = "" if next is None else str(httpx.QueryParams({"next": next}))
        return self.get(f"/api/login/oidc?{query}")

    def go_there(self, next: str | None = None) -> str:
        """Sign in at the provider, and return the address to which it sends the browser back."""
        answer = self.begin(next)
        for _ in range(_MOST_STEPS):
            assert answer.is_redirect, answer.text
            address = urljoin(str(answer.url), answer.headers["location"])
            if address.startswith(f"{self.origin}/api/login/callback"):
                return address
            answer = self.client.get(address)
        raise AssertionError("the provider goes round in circles")

    def log_in(self, next: str | None = None) -> httpx.Response:
        """Go all the way, and return what our server says in the end."""
        return self.client.get(self.go_there(next))

    @property
    def name(self) -> str | None:
        """Who is let in."""
        answer = self.get("/api/me")
        return answer.json()["name"] if answer.status_code == 200 else None


def read_query(address: str) -> dict[str, str]:
    """Return the parameters of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}

"""Webhooks: a POST with JSON to an address of the configuration, and to no other: no answer leads elsewhere."""

from __future__ import annotations

import http.client
from base64 import b64encode
from contextlib import closing
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

from turnlog.server.notifications.notices import Notice
from turnlog.server.notifications.targets import SendError

TIMEOUT = 5.0
"""Seconds, for each step of a request."""
_MOST_READ = 1 << 16


class Webhook:
    """An address that wants to know."""

    def __init__(self, address: str, timeout: float = TIMEOUT) -> None:
        self._parts = urlsplit(address)
        self._timeout = timeout

    @property
    def name(self) -> str:
        """The address without its query and secrets."""
        return show_address(self._parts)

    def send(self, notice: Notice) -> None:
        """Post a notice; raises `SendError`."""
        try:
            with closing(self._connect()) as connection:
                connection.request(
                    "POST", self._find_path(), msgspec.json.encode(notice), self._build_headers()
                )
                answer = connection.getresponse()
                answer.read(_MOST_READ)
        except TimeoutError:
            raise SendError(f"it did not respond within {self._timeout:.0f} seconds", again=True) from None
        except (OSError, http.client.HTTPException) as error:
            raise SendError(f"it cannot be reached ({error})", again=True) from error
        if not 200 <= answer.status < 300:
            again = answer.status >= 500 or answer.status == http.HTTPStatus.TOO_MANY_REQUESTS
            raise SendError(f"it responded with {answer.status} {answer.reason}".rstrip(), again=again)

    def _connect(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        return kind(self._parts.hostname or "", self._parts.port, timeout=self._timeout)

    def _find_path(self) -> str:
        query = f"?{self._parts.query}" if self._parts.query else ""
        return f"{self._parts.path or '/'}{query}"

    def _build_headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": "turnlog", "Connection": "close"}
        if self._parts.username is not None:
            secret = f"{unquote(self._parts.username)}:{unquote(self._parts.password or '')}"
            headers["Authorization"] = f"Basic {b64encode(secret.encode()).decode()}"
        return headers


def show_address(parts: SplitResult) -> str:
    """Return an address without its query and secrets."""
    host = parts.hostname or ""
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path}"

"""Talking to the server that runs already."""

from __future__ import annotations

import http.client
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from turnlog.server.presence import OpeningKey, Presence

_PATIENCE = 2.0


def find_fresh_address(presence: Presence, token_file: Path) -> str | None:
    """Return an address that lets one browser in; None if the server does not give one."""
    asked = urlsplit(presence.url)
    connection = http.client.HTTPConnection(asked.hostname or "", asked.port, timeout=_PATIENCE)
    try:
        token = token_file.read_text("ascii").strip()
        connection.request("POST", "/api/keys", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        body = answer.read(1 << 16)
        if answer.status != 201:
            return None
        return f"{presence.url}{msgspec.json.decode(body, type=OpeningKey).path}"
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()

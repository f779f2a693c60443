"""What the server writes down, without what nobody may read there.

Requests are logged by their routes, never by their addresses. Should a secret get into a message some other
way, it is taken out before it is written.
"""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import TextIO

from msgspec import json

_SECRETS = re.compile(
    r"""(\bkey=|\bauthorization['":\s]+(?:bearer\s+)?|\bbearer\s+|\bturnlog_[0-9a-f]{12}=)[^\s&;,'"]+""",
    re.IGNORECASE,
)
_KNOWN = ("Exception in ASGI application", "Cancel %s running task(s)")
_SERVER = "turnlog.server"
_REQUESTS = "turnlog.server.requests"


class LogFormat(StrEnum):
    """How the log is written."""

    TEXT = "text"
    JSON = "json"


class _Formatter(logging.Formatter):
    def __init__(self, secrets: tuple[str, ...]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record), self._secrets)


class _JsonFormatter(_Formatter):
    """Writes an object a line, for programs."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "at": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact(record.getMessage(), self._secrets),
        }
        if (seen := getattr(record, "request", None)) is not None:
            said["request"] = seen
        if record.exc_info:
            said["error"] = redact(self.formatException(record.exc_info), self._secrets)
        return json.encode(said).decode()


class _NotOurs(logging.Filter):
    """Leaves out what the gate has logged already, and that streams end with the server."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith(_KNOWN)


def redact(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return a text without keys, tokens and cookies."""
    for secret in secrets:
        text = text.replace(secret, "…")
    return _SECRETS.sub(r"\1…", text)


def write_logs(
    stream: TextIO, *, requests: bool, secrets: tuple[str, ...], form: LogFormat = LogFormat.TEXT
) -> None:
    """Write the server's log to a stream: what fails and, if asked for, each request."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter((_JsonFormatter if form is LogFormat.JSON else _Formatter)(secrets))
    handler.addFilter(_NotOurs())
    for name, level in (
        (_SERVER, logging.WARNING),
        (_REQUESTS, logging.INFO if requests else logging.WARNING),
        ("uvicorn.error", logging.ERROR),
    ):
        logger = logging.getLogger(name)
        logger.setLevel(level)
    for name in (_SERVER, "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False

"""What is found in a text: a stretch of it, and what sort of thing it is."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

__all__ = ["Finding", "Kind", "settle"]


class Kind(StrEnum):
    """What is removed."""

    PRIVATE_KEY = "private-key"
    TOKEN = "token"
    """A key or token that is known by its form."""
    PASSWORD = "password"
    """What stands behind a word such as `password`, `secret` or `api_key`, or in an address."""
    EMAIL = "email"
    HOME = "home-directory"
    USER = "user-name"
    ACCOUNT = "account-id"
    """Of an account, an organisation, a user, a device."""
    WORD = "word"
    """One that somebody wants out."""
    ENCODED = "base64"
    """Encoded text with any of these in it."""


class Finding(Struct, frozen=True, gc=False):
    """A stretch of a text that is to be taken out."""

    start: int
    end: int
    kind: Kind


def settle(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in order, none of which touches another: of those that do, what covers more stays."""
    settled: list[Finding] = []
    for finding in sorted(findings, key=lambda each: (each.start, -each.end)):
        last = settled[-1] if settled else None
        if last is None or finding.start >= last.end:
            settled.append(finding)
        elif finding.end > last.end:
            settled[-1] = Finding(last.start, finding.end, last.kind)
    return settled

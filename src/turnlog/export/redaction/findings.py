"""What is found in a text: a stretch of it, and what sort of thing it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum

from msgspec import Struct


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


def match_words(
    pattern: re.Pattern[str], text: str, words: Iterable[str], small: str | None = None
) -> Iterator[re.Match[str]]:
    """Yield what `pattern.finditer` yields for a pattern that always begins with one of some words.

    Python tries such a pattern at each character in turn; to look for the words alone is many times as fast.
    Where case does not count, they are looked for in `small`, the text in small letters.
    """
    searched = text if small is None else small
    places: list[int] = []
    for word in words:
        at = searched.find(word)
        while at >= 0:
            places.append(at)
            at = searched.find(word, at + 1)
    places.sort()
    end = 0
    for at in places:
        if at >= end and (match := pattern.match(text, at)) is not None:
            yield match
            end = match.end()


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

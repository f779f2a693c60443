"""Who somebody is and where they work: addresses, home directories, names of users, ids of accounts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.export.redaction.assignments import lower
from turnlog.export.redaction.findings import Finding, Kind, match_words

_LOCAL_PART = re.compile(r"(?<![A-Za-z0-9._%+/-])[A-Za-z0-9._%+-]{1,64}\Z")
_DOMAIN = re.compile(r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9-])")
_NOBODY = re.compile(
    r"^(?:noreply|no-reply|git)@|@(?:[a-z0-9-]+\.)*(?:example\.(?:com|org|net)|noreply\.github\.com)$", re.I
)
"""Addresses at which nobody is."""
_NAME = r"([^\s/\\\"'`<>|:*?,;()\[\]{}]{1,64})"
_HOMES = (
    ("/home/", re.compile(f"/home/{_NAME}")),
    ("/Users/", re.compile(f"(?:[A-Za-z]:)?/Users/{_NAME}")),
)
_WINDOWS_HOME = re.compile(r"[A-Za-z]:\\{1,8}Users\\{1,8}" + _NAME)
_ENCODED_HOME = re.compile(r"-(?:home|Users)-([A-Za-z0-9]{2,64})(?=-|/|$|[\"'\s])")
"""As folders of projects are named."""
_EVERYBODY = frozenset(
    {
        "admin", "administrator", "app", "codespace", "debian", "default", "dev", "example", "git", "guest",
        "home", "me", "name", "node", "nobody", "public", "root", "runner", "shared", "test", "ubuntu", "user",
        "username", "users", "vscode", "work", "www", "you",
    }
)  # fmt: skip
"""Names of users that say nothing about anybody."""
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_ACCOUNT_WORDS = (
    r"account[_-]?(?:uuid|id)|organi[sz]ation[_-]?(?:uuid|id)|org[_-]?(?:uuid|id)|workspace[_-]?(?:uuid|id)|user[_-]?(?:uuid|id)"
    r"|device[_-]?id|customer[_-]?id|tenant[_-]?id|subscription[_-]?id|owner[_-]?id|anonymous[_-]?id|machine[_-]?id"
)
_ACCOUNT = re.compile(r"id(?:\\{0,7}[\"'])?\s{0,3}[:=]\s{0,3}(?:\\{0,7}[\"'])?([a-z0-9_.|:-]{6,200})")
"""Of a text in small letters."""
_ACCOUNT_END = re.compile(rf"(?<![A-Za-z0-9])(?:{_ACCOUNT_WORDS})\Z")
_ACCOUNT_NAME = re.compile(rf"^(?:{_ACCOUNT_WORDS})$", re.IGNORECASE)
_MARKED = re.compile(
    rf"(?:account|org|organization|user)_+({_UUID}|[0-9a-f]{{32,64}})"
    r"|(?<![A-Za-z0-9_])(?:org|user|acct|cus)[-_](?=[A-Za-z]*[0-9])[A-Za-z0-9]{14,40}(?![A-Za-z0-9])"
)
_MARKS = ("account", "org", "user", "acct", "cus")
_EMPTY = frozenset({"string", "undefined", "unknown", "optional", "required"})


def find_emails(text: str) -> Iterator[Finding]:
    """Yield addresses of e-mail at which somebody may be."""
    at = text.find("@")
    while at >= 0:
        before = _LOCAL_PART.search(text, max(0, at - 65), at)
        behind = _DOMAIN.match(text, at) if before else None
        if before and behind and not _NOBODY.search(before[0] + behind[0]):
            yield Finding(before.start(), behind.end(), Kind.EMAIL)
        at = text.find("@", at + 1)


def find_homes(text: str) -> Iterator[Finding]:
    """Yield home directories, without what is in them; in names of folders, the user alone."""
    for match in _match_homes(text):
        yield Finding(match.start(), match.end(), Kind.HOME)
    for match in _match_folders(text):
        if match[1].lower() not in _EVERYBODY:
            yield Finding(match.start(1), match.end(1), Kind.USER)


def list_users(text: str) -> set[str]:
    """Return the names of users by which home directories are called, but for those that anybody may have."""
    found = {match[1] for match in (*_match_homes(text), *_match_folders(text))}
    return {name for name in found if len(name) > 2 and name.lower() not in _EVERYBODY}


def _match_homes(text: str) -> Iterator[re.Match[str]]:
    for sign, pattern in _HOMES:
        at, end = text.find(sign), 0
        while at >= 0:
            # The letter of a drive may stand before it.
            match = (pattern.match(text, at - 2) if at - 2 >= end else None) or pattern.match(text, at)
            if match is not None:
                yield match
                end = match.end()
            at = text.find(sign, max(end, at + 1))
    if "\\Users\\" in text:
        yield from _WINDOWS_HOME.finditer(text)


def _match_folders(text: str) -> Iterator[re.Match[str]]:
    if "-home-" in text or "-Users-" in text:
        yield from _ENCODED_HOME.finditer(text)


def find_accounts(text: str) -> Iterator[Finding]:
    """Yield ids of accounts, organisations, users and devices."""
    small = lower(text)
    for match in _ACCOUNT.finditer(small):
        end = match.start() + len("id")
        if _ACCOUNT_END.search(small, max(0, end - 28), end) and _tells(match[1]):
            yield Finding(match.start(1), match.end(1), Kind.ACCOUNT)
    for match in match_words(_MARKED, text, _MARKS):
        yield Finding(match.start(match.lastindex or 0), match.end(), Kind.ACCOUNT)


def _tells(value: str) -> bool:
    return value.lower() not in _EMPTY and any(sign.isdigit() for sign in value)


def is_account_name(name: str) -> bool:
    """Tell whether a field of this name holds the id of an account."""
    return bool(_ACCOUNT_NAME.match(name))

"""The secrets that let somebody in, and who holds them.

Programs use the token, which stands in a file of the owner's alone. A browser gets a cookie in exchange for a
key that is good once and for some minutes: a key in an address shows in the list of processes and in the
history, so it must be worthless by then. Keys and cookies live in memory: they end with the server, so that
a program that listens on its port afterwards learns nothing of use. Only digests are kept and
compared.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from turnlog.atomic_files import write_file
from turnlog.errors import ConfigError

TOKEN_FILE = "server-token"
"""In turnlog's own directory."""
KEY_SECONDS = 600.0
"""How long a key is good."""
COOKIE_SECONDS = 30 * 24 * 3600.0
"""How long a browser stays let in, if the server runs that long."""
_MOST = 256
"""How many keys, and how many cookies, are good at a time; the oldest end first."""
_FORM = re.compile(r"[A-Za-z0-9_-]{43}")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class TokenKeeper:
    """The token of a file, the keys and the cookies."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Read the token, or make one; raises `ConfigError` if the file is not ours, or not usable."""
        self._path = path
        self._clock = clock
        self._keys: dict[bytes, float] = {}
        self._sessions: dict[bytes, float] = {}
        self.token = _load(path)
        """As it stands in the file; it must not be shown."""
        name = sha256(b"turnlog cookie\0" + self.token.encode()).hexdigest()[:12]
        self.cookie = f"turnlog_{name}"
        """The cookie's name. Ports do not tell cookies apart, so each archive has a name of its own."""

    def is_token(self, given: str) -> bool:
        """Tell whether this is the token."""
        return hmac.compare_digest(_digest(given), _digest(self.token))

    def create_key(self) -> str:
        """Return a new key, which is good once."""
        return self._create(self._keys, KEY_SECONDS)

    def redeem_key(self, given: str) -> bool:
        """Tell whether this is a key that is still good, and use it up."""
        found = self._find(self._keys, given)
        if found is not None:
            del self._keys[found]
        return found is not None

    def open_session(self) -> str:
        """Return the value of a new cookie."""
        return self._create(self._sessions, COOKIE_SECONDS)

    def is_session(self, given: str) -> bool:
        """Tell whether this is the value of a cookie that is still good."""
        return self._find(self._sessions, given) is not None

    def end_session(self, given: str) -> None:
        """Make the value of a cookie worthless from now on."""
        found = self._find(self._sessions, given)
        if found is not None:
            del self._sessions[found]

    def rotate(self) -> None:
        """Make a new token; the old one, all keys and all cookies are worthless from now on."""
        self._keys.clear()
        self._sessions.clear()
        self.token = _write(self._path)

    def _create(self, table: dict[bytes, float], seconds: float) -> str:
        made = secrets.token_urlsafe(32)
        table[_digest(made)] = self._clock() + seconds
        while len(table) > _MOST:
            del table[next(iter(table))]
        return made

    def _find(self, table: dict[bytes, float], given: str) -> bytes | None:
        now, digest = self._clock(), _digest(given)
        for known in [known for known, end in table.items() if end <= now]:
            del table[known]
        # All of them, each in the same time: how long it takes tells nothing.
        found = [known for known in table if hmac.compare_digest(known, digest)]
        return found[0] if found else None


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogateescape")).digest()


def _load(path: Path) -> str:
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        try:
            return _write(path, overwrite=False)
        except FileExistsError:  # another process made it just now
            return _load(path)
    except OSError as error:
        raise ConfigError(error.strerror or str(error), os.fspath(path)) from error
    with os.fdopen(file, encoding="ascii", errors="replace") as opened:
        state = os.fstat(opened.fileno())
        if os.name == "posix" and state.st_uid != os.geteuid():
            raise ConfigError("the token's file belongs to another user", os.fspath(path))
        token = opened.read(1024).strip()
    if (os.name == "posix" and state.st_mode & _OTHERS) or not _FORM.fullmatch(token):
        return _write(path)  # others may have read it, or it is none
    return token


def _write(path: Path, *, overwrite: bool = True) -> str:
    """Write a new token, and return it; raises `FileExistsError` for a file that must not be overwritten."""
    token = secrets.token_urlsafe(32)
    try:
        write_file(path, f"{token}\n".encode(), overwrite=overwrite)
    except FileExistsError:
        raise
    except OSError as error:
        raise ConfigError(error.strerror or str(error), os.fspath(path)) from error
    return token

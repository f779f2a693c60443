"""Secrets that let somebody in: how they are made, what of them is kept, and what names them.

A secret has 256 random bits behind a prefix that tells what it is for, so its digest needs no salt and no
slowness: nobody finds a secret by trying, nor learns anything of one from how long looking for a digest takes.
"""

from __future__ import annotations

import re
import secrets
from hashlib import sha256

__all__ = [
    "COOKIE",
    "LINK",
    "MACHINE",
    "PERSONAL",
    "digest_secret",
    "has_form",
    "make_id",
    "make_secret",
]

PERSONAL = "tlp_"
MACHINE = "tlm_"
LINK = "tls_"
COOKIE = "tlc_"
_BYTES = 32
_FORM = re.compile(r"(tl[pmsc]_)[A-Za-z0-9_-]{43}")
_ID_BYTES = 6


def make_secret(prefix: str) -> str:
    """Return a new secret."""
    return prefix + secrets.token_urlsafe(_BYTES)


def digest_secret(secret: str) -> str:
    """Return what is kept of a secret; of any other text, too."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def has_form(secret: str, *prefixes: str) -> bool:
    """Tell whether a text looks like a secret with one of some prefixes."""
    found = _FORM.fullmatch(secret)
    return found is not None and found[1] in prefixes


def make_id() -> str:
    """Return a new name for a token or a link, by which it can be spoken of."""
    return secrets.token_hex(_ID_BYTES)

"""What names, addresses and labels may be."""

from __future__ import annotations

import re
from string import ascii_lowercase, ascii_uppercase

from turnlog.errors import AccountError

__all__ = ["check_email", "check_label", "check_name", "fold_email", "is_name"]

_NAME = re.compile(r"[a-z][a-z0-9._-]{0,63}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_LONGEST_EMAIL = 254
_LONGEST_LABEL = 200
_SHOWN = 80
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def is_name(text: str) -> bool:
    """Tell whether a text can be a user's name."""
    return _NAME.fullmatch(text) is not None


def check_name(name: str) -> str:
    """Return a user's name; raises `AccountError` for what is none."""
    if not is_name(name):
        raise AccountError(
            "Expected a name of 1 to 64 lower-case letters, digits, '.', '_' and '-' that begins with a "
            f"letter, got {_show(name)}"
        )
    return name


def check_email(email: str) -> str:
    """Return an address, which may be empty; raises `AccountError` for what is none."""
    email = email.strip()
    if email and not (len(email) <= _LONGEST_EMAIL and email.isprintable() and _EMAIL.fullmatch(email)):
        raise AccountError(f"Expected an e-mail address such as ada@example.org, got {_show(email)}")
    return email


def fold_email(email: str) -> str | None:
    """Return what an address is known by; None for no address.

    Case counts for letters other than A to Z: some of them become an ordinary letter when their case is
    changed, so that whoever has an address with such a letter would be let in as somebody else.
    """
    return email.strip().translate(_LOWER) or None


def check_label(text: str, what: str) -> str:
    """Return a text that people give, without what surrounds it; raises `AccountError` if it is too long."""
    text = text.strip()
    if len(text) > _LONGEST_LABEL:
        raise AccountError(f"Expected {what} of up to {_LONGEST_LABEL} characters, got {len(text):,}")
    return text


def _show(text: str) -> str:
    shown = ascii(text) if not text.isprintable() else f"'{text}'"
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"

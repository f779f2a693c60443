"""What a text may hold that is taken out, as can be told at a glance (`sieve`)."""

from __future__ import annotations

from enum import IntEnum


class Sign(IntEnum):
    """What there may be something of."""

    KEY = 0
    TOKEN = 1
    WORD = 2
    """A value behind a word such as `password`; those up to `ADDRESS` are other values that are named."""
    OPTION = 3
    SIGNED_ON = 4
    HEADER = 5
    BEARER = 6
    PARAMETER = 7
    ADDRESS = 8
    EMAIL = 9
    HOME = 10
    OTHER_HOME = 11
    """Not written with slashes alone."""
    ACCOUNT = 12
    ODD = 13
    ENCODED = 14


NOTHING: frozenset[Sign] = frozenset()
EVERYTHING = frozenset(Sign)

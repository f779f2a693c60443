"""Whether requests should be sent here, for whatever stands before several servers."""

from __future__ import annotations

from litestar.di import NamedDependency
from litestar.params import SkipValidation


class Readiness:
    """Ready, until the server is about to end."""

    def __init__(self) -> None:
        self.is_ending = False
        """Whether it answers for a moment longer, and wants no more requests."""


GivenReadiness = NamedDependency[SkipValidation[Readiness]]
"""Parameter `readiness`: whether requests should be sent here."""

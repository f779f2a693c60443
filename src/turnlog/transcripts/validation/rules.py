"""What a rule is: which spec asks for it, and how serious it is to break it, dialect by dialect.

In the dialects of specs 000, 003 and 004 a broken "must" is an error. Claude Code's own files break many of
those rules every day, and readers cope: there the same thing is a note, or nothing at all. So a rule has no
severity of its own, but one for each dialect it applies to.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from turnlog.messages import Dialect


class Severity(StrEnum):
    """How serious a finding is, the gravest first."""

    ERROR = "error"
    """The data is broken, or breaks what its own spec demands."""
    WARNING = "warning"
    """Something is probably wrong, or missing."""
    NOTE = "note"
    """Worth knowing, and normal in real data."""


CODE = (Dialect.CLAUDE_CODE,)
STORED = (Dialect.SPEC_003_EXTRACTED, Dialect.SPEC_003_DOCUMENT, Dialect.SPEC_003_API)
FILES = (*CODE, Dialect.SPEC_000, *STORED, Dialect.SPEC_004)
"""The dialects in which lines have a uuid and a parent."""
ALL = tuple(Dialect)


class Rule(Struct, frozen=True, gc=False, kw_only=True):
    """Something that lines are held to."""

    id: str
    spec: str
    """The spec that asks for it; empty where it is about any line."""
    section: str
    title: str
    """The requirement."""
    why: str
    severities: tuple[tuple[Dialect, Severity], ...]
    """The dialects it applies to, and how serious it is to break it there."""

    @property
    def dialects(self) -> frozenset[Dialect]:
        """The dialects it applies to."""
        return frozenset(dialect for dialect, _ in self.severities)

    @property
    def severity(self) -> Severity:
        """The gravest of its severities."""
        graded = {severity for _, severity in self.severities}
        return next(severity for severity in Severity if severity in graded)

    def find_severity(self, dialect: Dialect) -> Severity | None:
        """Return how serious it is to break the rule in a dialect; None where it does not apply."""
        for each, severity in self.severities:
            if each is dialect:
                return severity
        return None


def declare(
    id: str,
    section: str,
    title: str,
    why: str,
    *,
    error: Iterable[Dialect] = (),
    warning: Iterable[Dialect] = (),
    note: Iterable[Dialect] = (),
) -> Rule:
    """Return a rule; its spec is told by its id."""
    graded = {
        **dict.fromkeys(note, Severity.NOTE),
        **dict.fromkeys(warning, Severity.WARNING),
        **dict.fromkeys(error, Severity.ERROR),
    }
    severities = tuple((dialect, graded[dialect]) for dialect in Dialect if dialect in graded)
    spec = id[:3] if id[:3].isdigit() else ""
    return Rule(id=id, spec=spec, section=section, title=title, why=why, severities=severities)

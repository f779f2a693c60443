"""What breaks a rule, and where, in words that are safe to print.

A transcript is untrusted: what a message quotes of it is cut short, and what is no printable character in it is
escaped. Line numbers in messages count the lines that were given, from 1.

A rule says which spec asks for it, and how serious it is to break it, dialect by dialect. In the dialects of
specs 000, 003 and 004 a broken "must" is an error. Claude Code's own files break many of those rules every day,
and readers cope: there the same thing is a note, or nothing at all. So a rule has no severity of its own, but
one for each dialect it applies to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from turnlog.messages import UNSET, Dialect, Position, UnsetType
from turnlog.messages.spans import Path, render_path


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


_LONGEST_VALUE = 60
_LONGEST_TEXT = 200


class Finding(Struct, frozen=True, gc=False, kw_only=True):
    """One thing that breaks a rule."""

    rule: Rule
    severity: Severity
    """How serious it is in the line's dialect."""
    message: str
    """What is wrong and where: what was expected, and what was found."""
    index: int
    """Which of the lines, from 0."""
    at: Position | None
    """Where that line stands, as far as it says so."""
    path: str
    """Where in the line: a JSON path."""
    dialect: Dialect

    @property
    def number(self) -> int:
        """Which of the lines, from 1, as messages count them."""
        return self.index + 1


class Spot(Struct, frozen=True, gc=False):
    """A line, without its body: all that a finding needs of it."""

    index: int
    at: Position | None
    dialect: Dialect

    @property
    def number(self) -> int:
        """Which of the lines, from 1."""
        return self.index + 1


class Report:
    """Collects findings."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []

    def add(self, rule: Rule, spot: Spot, message: str, steps: Path = ()) -> None:
        """Note that a line breaks a rule, if the rule applies to the line's dialect."""
        severity = rule.find_severity(spot.dialect)
        if severity is None:
            return
        path = clean(render_path(steps), _LONGEST_TEXT)
        if steps:
            message = f"{message} - at {path}"
        self._findings.append(
            Finding(
                rule=rule,
                severity=severity,
                message=message,
                index=spot.index,
                at=spot.at,
                path=path,
                dialect=spot.dialect,
            )
        )

    def take(self) -> list[Finding]:
        """Return what was found since the last time."""
        found, self._findings = self._findings, []
        return found


def clean(text: str, longest: int = _LONGEST_TEXT) -> str:
    """Return a text that is safe to print, and not too long."""
    cut = text[:longest]
    if not cut.isprintable():
        cut = "".join(sign if sign.isprintable() else _escape(sign) for sign in cut)
    return cut if len(text) <= longest else cut + "…"


def quote(value: object) -> str:
    """Return a value of the data as a message shows it."""
    return f"`{clean(str(value), _LONGEST_VALUE)}`"


def show_flag(value: bool | None | UnsetType) -> str:
    """Return a flag as a message shows it: `nothing` if it is not there."""
    return "nothing" if value is UNSET else "null" if value is None else "`true`" if value else "`false`"


def join(names: Sequence[str], word: str = "and") -> str:
    """Return names, of which there is at least one, as a list in words."""
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"


def _escape(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")

"""Which rule fits a project, and what follows for a session: the same for every engine."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from turnlog.store.people import ProjectRule, SessionAccess, Visibility

__all__ = ["NOBODYS", "AccessState", "RuleMatcher", "decide", "fits_pattern"]

_ANYTHING = "*"


class AccessState(Struct, frozen=True, gc=False):
    """Who may see a session, as a store keeps it."""

    person: str | None = None
    chosen: Visibility | None = None
    rule: str | None = None
    """The pattern of the rule that fits, whether or not it counts."""
    shared: bool = False

    def describe(self, key: str, origin: str) -> SessionAccess:
        """Return it as it is told of a session."""
        return SessionAccess(
            key=key,
            origin=origin,
            person=self.person,
            chosen=self.chosen,
            rule=self.rule,
            visibility=Visibility.TEAM if self.shared else Visibility.PRIVATE,
        )


NOBODYS = AccessState()
"""What holds as long as nobody said anything."""


def fits_pattern(pattern: str, project: str) -> bool:
    """Tell whether a project's path is one that a pattern means.

    `*` stands for any text. A pattern without a `/` may also be the name of the folder alone.
    """
    if _matches(pattern, project):
        return True
    if "/" in pattern:
        return False
    return _matches(pattern, project.replace("\\", "/").rstrip("/").rpartition("/")[2])


def decide(chosen: Visibility | None, rule: ProjectRule | None) -> Visibility:
    """Return who sees a session: as its person chose, else as the rule says, else nobody else."""
    if chosen is not None:
        return chosen
    return Visibility.PRIVATE if rule is None else rule.visibility


class RuleMatcher:
    """Some rules, asked for many projects."""

    def __init__(self, rules: Iterable[ProjectRule]) -> None:
        self._rules = sorted(rules, key=lambda rule: (-len(rule.pattern), rule.pattern))
        self._found: dict[str, ProjectRule | None] = {}

    def find(self, project: str | None) -> ProjectRule | None:
        """Return the rule that counts for a project: the longest that fits, of those the first by its text."""
        if project is None:
            return None
        if project not in self._found:
            self._found[project] = next(
                (rule for rule in self._rules if fits_pattern(rule.pattern, project)), None
            )
        return self._found[project]

    def build_state(self, person: str | None, chosen: Visibility | None, project: str | None) -> AccessState:
        """Return who may see a session of a person and a project."""
        rule = self.find(project)
        shared = decide(chosen, rule) is Visibility.TEAM
        return AccessState(person, chosen, None if rule is None else rule.pattern, shared)


def _matches(pattern: str, text: str) -> bool:
    """Compare part by part: an expression with many stars could take forever."""
    first, *middle = pattern.split(_ANYTHING)
    if not middle:
        return pattern == text
    last = middle.pop()
    if not text.startswith(first) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return at <= end and text.endswith(last)

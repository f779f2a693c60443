"""When to look at what: often enough to be close behind, seldom enough to stay cool.

What changed is due at once, but not sooner after its last look than `GAP`; what changes meanwhile is due when
that has passed, so the last change is never missed. What failed waits, each time twice as long.
"""

from __future__ import annotations

from pathlib import Path

GAP = 0.05
LATER = 1.0
"""After how many seconds to look again at what may not have been all there, or only seemed to be gone."""
_LONGEST = 300.0


class Agenda:
    """What is due, and when. Times are those of one steady clock."""

    def __init__(self) -> None:
        self._due: dict[Path, float] = {}
        self._again: dict[Path, float] = {}
        self._looked: dict[Path, float] = {}
        self._failures: dict[Path, int] = {}

    def add(self, concern: Path, now: float) -> None:
        """Note that something changed; what waits because it failed goes on waiting."""
        self._due.setdefault(concern, max(now, self._looked.get(concern, now - GAP) + GAP))

    def add_later(self, concern: Path, now: float) -> None:
        """Note that something should be looked at once more."""
        self._again[concern] = now + LATER

    def fail(self, concern: Path, now: float) -> float:
        """Note that a look failed, and return how long it will be until the next."""
        failures = self._failures[concern] = self._failures.get(concern, 0) + 1
        pause: float = min(2.0 ** (failures - 1), _LONGEST)
        self._due[concern] = now + pause
        return pause

    def succeed(self, concern: Path) -> None:
        """Note that a look did not fail."""
        self._failures.pop(concern, None)

    def take(self, now: float) -> list[Path]:
        """Return what is due, as being looked at now."""
        ready = {path for due in (self._due, self._again) for path, when in due.items() if when <= now}
        for path in ready:
            self._due.pop(path, None)
            if self._again.get(path, now + 1) <= now:
                del self._again[path]
        self._looked = {path: when for path, when in self._looked.items() if now - when < GAP}
        self._looked.update(dict.fromkeys(ready, now))
        return sorted(ready)

    def find_next(self) -> float | None:
        """Return when something is due; None if nothing is."""
        return min((*self._due.values(), *self._again.values()), default=None)

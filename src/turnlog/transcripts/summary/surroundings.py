"""Where and when lines were written: sessions, directories, branches, versions, agents, times.

All lines of a conversation repeat these, and they seldom change. So lines are counted by the whole of what they
say about it, in one step, and taken apart only when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from operator import attrgetter

from turnlog.messages import UNSET, UnsetType
from turnlog.messages.dialects import AnyEntry
from turnlog.messages.envelope import Envelope, ForkedFrom, read_microseconds
from turnlog.messages.sdk import SystemInitMessage

_Values = tuple[str | None | UnsetType, ...]


class Feature(IntEnum):
    """What a line says about where it was written."""

    SESSION = 0
    CWD = 1
    VERSION = 2
    BRANCH = 3
    ENTRYPOINT = 4
    AGENT = 5


class Surroundings:
    """What lines say about where and when they were written, so far."""

    def __init__(self) -> None:
        self.first_time: int | None = None
        """The earliest, not the one that stands first: in file order times run backwards now and then."""
        self.last_time: int | None = None
        self.forked_from: str | None = None
        """The session that a line names as its origin, the first that one does."""
        self._lines: dict[_Values, int] = {}
        self._where: _Values = ()
        self._run = 0

    def add(self, entry: AnyEntry) -> None:
        """Take the next line's entry."""
        kind = type(entry)
        read = _READERS.get(kind)
        if read is None:
            read = _READERS[kind] = _reader_of(kind)
        where = read(entry)
        if where == self._where:  # as a rule, and quicker to see than to look up
            self._run += 1
        else:
            self._end_run()
            self._where, self._run = where, 1
        timestamp = getattr(entry, "timestamp", UNSET)
        if timestamp is not UNSET:
            self._add_time(read_microseconds(timestamp))
        origin = getattr(entry, "forked_from", UNSET)
        if origin is not UNSET and self.forked_from is None:
            self.forked_from = (origin.session_id if isinstance(origin, ForkedFrom) else origin) or None

    def count_values(self, feature: Feature) -> dict[str, int]:
        """Return how many lines say each value of a feature, in order of appearance."""
        counts: dict[str, int] = {}
        self._end_run()
        for values, lines in self._lines.items():
            value = values[feature]
            if value and value not in _NOTHING:
                counts[value] = counts.get(value, 0) + lines
        return counts

    def list_values(self, feature: Feature) -> tuple[str, ...]:
        """Return the different values of a feature, in order of appearance."""
        return tuple(self.count_values(feature))

    def _end_run(self) -> None:
        if self._run:
            self._lines[self._where] = self._lines.get(self._where, 0) + self._run
            self._run = 0

    def _add_time(self, moment: int | None) -> None:
        if moment is None:
            return
        if self.first_time is None or self.last_time is None:
            self.first_time = self.last_time = moment
        elif moment > self.last_time:
            self.last_time = moment
        elif moment < self.first_time:
            self.first_time = moment


_NAMES = ("session_id", "cwd", "version", "git_branch", "entrypoint", "agent_id")
_NOTHING = frozenset({"HEAD"})  # what stands for a branch when there is none
_READERS: dict[type, Callable[[AnyEntry], _Values]] = {}
"""How each type is read, found out when the first of it comes."""


def _reader_of(kind: type) -> Callable[[AnyEntry], _Values]:
    if issubclass(kind, Envelope):
        return attrgetter(*_NAMES)
    return _read_init if kind is SystemInitMessage else _read_other


def _read_init(entry: AnyEntry) -> _Values:
    session, cwd, _, *rest = _read_other(entry)
    return session, cwd, getattr(entry, "claude_code_version", UNSET), *rest


def _read_other(entry: AnyEntry) -> _Values:
    return tuple(getattr(entry, name, UNSET) for name in _NAMES)

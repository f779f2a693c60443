"""What the messages of one turn amount to, as they come and go."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable

from msgspec import Struct

from turnlog.transcripts.usage.election import MessageUsage
from turnlog.transcripts.usage.ledger import Bill, Ledger


class Share(Struct, frozen=True, gc=False):
    """What one message adds to its turn."""

    time: int | None = None
    """The latest that its lines bear, in microseconds since 1970."""
    calls: int = 0
    changed: tuple[str, ...] = ()
    """The files that its calls changed."""
    answers: tuple[str, ...] = ()
    """The model's answers, its own and those that its agents got."""
    agents: tuple[str, ...] = ()
    """The agents that it started, and theirs."""


class TurnTally:
    """A turn's messages, known by their numbers, and the sums of what they add."""

    def __init__(self, ledger: Ledger, find_usage: Callable[[str], MessageUsage | None]) -> None:
        """Begin with nothing, in a ledger of its own; `find_usage` tells what an answer used."""
        self.calls = 0
        self._ledger = ledger
        self._find_usage = find_usage
        self._numbers: list[int] = []
        self._shares: list[Share] = []
        self._changed: Counter[str] = Counter()
        self._agents: Counter[str] = Counter()
        self._answers: Counter[str] = Counter()
        self._usage: dict[str, MessageUsage] = {}

    @property
    def messages(self) -> int:
        """How many messages there are."""
        return len(self._numbers)

    @property
    def agents(self) -> int:
        """How many agents were started."""
        return len(self._agents)

    @property
    def files_changed(self) -> int:
        """How many files were changed."""
        return len(self._changed)

    @property
    def ended(self) -> int | None:
        """The latest time that any line bears."""
        times = [share.time for share in self._shares if share.time is not None]
        return max(times) if times else None

    @property
    def bill(self) -> Bill:
        """What it cost, and what of that is not known."""
        return self._ledger.build()

    def extend(self, numbers: Iterable[int], find_share: Callable[[int], Share]) -> None:
        """Take the messages that the turn has, of which those before the first that is new are the same."""
        for number in numbers:
            share = find_share(number)
            self._numbers.append(number)
            self._shares.append(share)
            self._add(share, 1)

    def shorten(self, number: int) -> int:
        """Take back all messages from a number on; return how many are left."""
        left = bisect_left(self._numbers, number)
        for share in self._shares[left:]:
            self._add(share, -1)
        del self._numbers[left:], self._shares[left:]
        return left

    def put(self, number: int, share: Share) -> None:
        """Take a message that has changed."""
        at = bisect_left(self._numbers, number)
        self._add(self._shares[at], -1)
        self._shares[at] = share
        self._add(share, 1)

    def refresh(self, answers: Iterable[str]) -> None:
        """Note that some answers used something else than before."""
        for answer in answers:
            if answer in self._answers:
                self._drop(answer)
                self._count(answer)

    def _add(self, share: Share, sign: int) -> None:
        self.calls += sign * share.calls
        for counter, names in ((self._changed, share.changed), (self._agents, share.agents)):
            for name in names:
                counter[name] += sign
                if not counter[name]:
                    del counter[name]
        for answer in share.answers:
            self._answers[answer] += sign
            if not self._answers[answer]:
                del self._answers[answer]
                self._drop(answer)
            elif sign > 0 and self._answers[answer] == 1:
                self._count(answer)

    def _count(self, answer: str) -> None:
        used = self._find_usage(answer)
        if used is not None:
            self._usage[answer] = used
            self._ledger.add(used)

    def _drop(self, answer: str) -> None:
        used = self._usage.pop(answer, None)
        if used is not None:
            self._ledger.remove(used)

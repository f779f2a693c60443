"""The turns of a session as records, kept up as it grows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from turnlog.transcripts.conversation.turns import Share, TurnTally, find_last_time
from turnlog.transcripts.records import TurnRecord
from turnlog.transcripts.segment_builder import build_turn
from turnlog.transcripts.session import Session

_MOST = 4
"""How many turns are held open: what comes belongs to the last, as a rule."""


class TurnBuilder:
    """All turns of a session, each with what it amounts to."""

    def __init__(self, session: Session, list_changed: Callable[[int], tuple[str, ...]]) -> None:
        """Take a session; `list_changed` returns the files that a message's calls changed."""
        self.records: list[TurnRecord] = []
        self._session = session
        self._list_changed = list_changed
        self._open: dict[int, TurnTally] = {}

    def build(self) -> Iterator[TurnRecord]:
        """Yield all turns, which are kept nowhere else."""
        for number in range(len(self._session.division.turns)):
            self._update(number, 0, (), ())
            yield self.records.pop()

    def update_all(self) -> None:
        """Build all turns."""
        self.update(range(len(self._session.division.turns)), 0, (), ())

    def update(
        self, turns: Iterable[int], message: int, touched: Sequence[int], answers: Iterable[str]
    ) -> None:
        """Build the turns that have changed.

        Messages from `message` on are new, or in other turns; before it some were `touched`; and `answers` used
        something else than before.
        """
        division = self._session.division
        for number in [number for number in self._open if number >= len(division.turns)]:
            del self._open[number]
        del self.records[len(division.turns) :]
        for number in sorted(turns):
            self._update(number, message, touched, answers)

    def _update(self, number: int, message: int, touched: Sequence[int], answers: Iterable[str]) -> None:
        division = self._session.division
        members = division.turns[number]
        tally = self._open.pop(number, None) or self._begin()
        left = tally.shorten(message)
        for own in touched:
            if own < message and left and division.turn_of[own] == number:
                tally.put(own, self._share(own))
        tally.refresh(answers)
        tally.extend(members[left:], self._share)
        self._open[number] = tally
        if len(self._open) > _MOST:
            del self._open[next(iter(self._open))]
        self.records[number : number + 1] = (self._build(number, tally),)

    def _begin(self) -> TurnTally:
        return TurnTally(self._session.prices.open_ledger(), self._session.book.find)

    def _share(self, number: int) -> Share:
        message = self._session.conversation.live_messages[number]
        work = self._session.work.get(number)
        answers = () if message.message_id is None else (message.message_id,)
        return Share(
            time=find_last_time(message),
            calls=len(message.calls),
            changed=self._list_changed(number) if message.calls else (),
            answers=answers if work is None else tuple(dict.fromkeys((*answers, *work.messages))),
            agents=() if work is None else tuple(dict.fromkeys(work.agents)),
        )

    def _build(self, number: int, tally: TurnTally) -> TurnRecord:
        division = self._session.division
        members = division.turns[number]
        return build_turn(
            number,
            self._session.conversation.live_messages[members[0]],
            members[-1],
            messages=tally.messages,
            calls=tally.calls,
            agents=tally.agents,
            files_changed=tally.files_changed,
            ended=tally.ended,
            told=division.durations.get(number),
            bill=tally.bill,
        )

"""Which messages have which answers, so that what an answer used is told to its turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turnlog.transcripts.conversation.message import Message

__all__ = ["AnswerHomes"]


class AnswerHomes:
    """The messages of each answer, by their numbers. Some that had it once may be among them."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._homes: dict[str, int] = {}
        self._others: dict[str, set[int]] = {}
        self._count = 0
        self.extend(messages, 0)

    def extend(self, messages: Sequence[Message], first: int) -> None:
        """Take all messages from one on."""
        for message in messages[first:]:
            answer = message.message_id
            if answer is not None and self._homes.setdefault(answer, message.index) != message.index:
                self._others.setdefault(answer, set()).add(message.index)
        self._count = len(messages)

    def find(self, answers: Iterable[str]) -> set[int]:
        """Return all messages that may have any of some answers."""
        found: set[int] = set()
        for answer in answers:
            if answer in self._homes:
                found |= {self._homes[answer], *self._others.get(answer, ())}
        return {number for number in found if number < self._count}

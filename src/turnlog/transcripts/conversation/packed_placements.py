"""The places of the lines of a long conversation, in a few bytes each."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import overload

from turnlog.transcripts.conversation.placements import Placement, Rule

__all__ = ["PackedPlacements"]

_RULES = tuple(Rule)
_NUMBERS = {rule: number for number, rule in enumerate(_RULES)}
_NONE = -1


class PackedPlacements(Sequence[Placement]):
    """Placements that do not change any more; each is made when it is asked for."""

    def __init__(self, rules: Iterable[Rule], messages: Iterable[int | None]) -> None:
        self._rules = array("B", map(_NUMBERS.__getitem__, rules))
        self._messages = array("i", (_NONE if each is None else each for each in messages))

    def __len__(self) -> int:
        return len(self._rules)

    @overload
    def __getitem__(self, at: int) -> Placement: ...
    @overload
    def __getitem__(self, at: slice) -> list[Placement]: ...
    def __getitem__(self, at: int | slice) -> Placement | list[Placement]:
        if isinstance(at, slice):
            return [self[each] for each in range(len(self))[at]]
        message = self._messages[at]
        return Placement(_RULES[self._rules[at]], None if message == _NONE else message)

"""The lines of a conversation by name and by identity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turnlog.messages import Line


class LineIndex:
    """Where each line stands. Of lines with the same uuid the first is the line, the others are copies."""

    def __init__(self, lines: Sequence[Line] = (), among: Sequence[Line] = ()) -> None:
        """Take the first lines; `among` are all, which may become more."""
        self.by_uuid: dict[str, int] = {}
        self.copies: dict[int, int] = {}
        """Of which earlier line a line is a copy."""
        self.awaited: set[str] = set()
        """What somebody looked for in vain: a line of that name changes what was made of others."""
        self._by_id: dict[int, int] = {}
        """Of lines that do not know it themselves."""
        self._among = among
        self._count = 0
        self.extend(lines)

    def extend(self, lines: Iterable[Line]) -> bool:
        """Take the next lines; tell whether any of them was looked for before it came."""
        by_uuid, by_id, awaited = self.by_uuid, self._by_id, self.awaited
        was_awaited, among = False, self._among
        position = self._count
        for line in lines:
            if getattr(line, "position", None) != position or not among:
                by_id[id(line)] = position
            uuid = getattr(line.entry, "uuid", None)
            if type(uuid) is str:
                first = by_uuid.setdefault(uuid, position)
                if first != position:
                    self.copies[position] = first
                elif uuid in awaited:
                    was_awaited = True
            position += 1
        self._count = position
        return was_awaited

    def finish(self) -> None:
        """Let go of all names: lines are only found by identity from now on."""
        self.by_uuid.clear()
        self.copies.clear()
        self.awaited.clear()

    def find(self, line: Line) -> int | None:
        """Return the position of a line, by identity; None if it is not among them."""
        found = self._by_id.get(id(line))
        return self._find_place(line) if found is None else found

    def _find_place(self, line: Line) -> int | None:
        """Return the position that a line says it has, if it stands there."""
        position: int | None = getattr(line, "position", None)
        if position is None or position >= len(self._among) or self._among[position] is not line:
            return None
        return position

    def look_for(self, uuid: str) -> int | None:
        """Return the position of the line with a uuid; None if there is none so far, which is noted."""
        found = self.by_uuid.get(uuid)
        if found is None:
            self.awaited.add(uuid)
        return found

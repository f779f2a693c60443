"""The lines of a conversation by name and by identity."""

from __future__ import annotations

from collections.abc import Sequence

from turnlog.messages import Line

__all__ = ["LineIndex"]


class LineIndex:
    """Where each line stands. Of lines with the same uuid the first is the line, the others are copies."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.by_uuid: dict[str, int] = {}
        self.copies: dict[int, int] = {}
        """Of which earlier line a line is a copy."""
        self._by_id = {id(line): position for position, line in enumerate(lines)}
        by_uuid = self.by_uuid
        for position, line in enumerate(lines):
            uuid = getattr(line.entry, "uuid", None)
            if type(uuid) is str:
                first = by_uuid.setdefault(uuid, position)
                if first != position:
                    self.copies[position] = first

    def find(self, line: Line) -> int | None:
        """Return the position of a line, by identity; None if it is not among them."""
        return self._by_id.get(id(line))

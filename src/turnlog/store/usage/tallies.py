"""Adding cells up."""

from __future__ import annotations

from collections.abc import Iterable

from turnlog.instants import find_moment
from turnlog.store.usage.cells import UsageCell
from turnlog.store.usage.report import BlockState, CallTally, SessionNote, UsageRow
from turnlog.transcripts.usage.charges import to_dollars

__all__ = ["NO_MODEL", "Tally", "time_text"]

NO_MODEL = "(no model)"


class Tally:
    """What some cells come to, so far."""

    __slots__ = (
        "cache_read", "cache_write_1h", "cache_write_5m", "cost", "estimated", "first", "incomplete", "input",
        "last", "messages", "output", "saved", "unpriced", "web_searches",
    )  # fmt: skip

    def __init__(self, cells: Iterable[UsageCell] = ()) -> None:
        self.messages = self.incomplete = self.input = self.output = self.cache_read = 0
        self.cache_write_5m = self.cache_write_1h = self.web_searches = self.cost = self.saved = 0
        self.first: int | None = None
        self.last: int | None = None
        self.unpriced: dict[str, int] = {}
        self.estimated: dict[str, int] = {}
        for cell in cells:
            self.add(cell)

    @property
    def tokens(self) -> int:
        """All tokens, cached or not."""
        return self.input + self.output + self.cache_read + self.cache_write_5m + self.cache_write_1h

    def add(self, cell: UsageCell) -> None:
        """Take a cell in."""
        self.messages += cell.messages
        self.incomplete += cell.incomplete
        self.input += cell.input
        self.output += cell.output
        self.cache_read += cell.cache_read
        self.cache_write_5m += cell.cache_write_5m
        self.cache_write_1h += cell.cache_write_1h
        self.web_searches += cell.web_searches
        self.cost += cell.cost
        self.saved += cell.saved
        if cell.first is not None and (self.first is None or cell.first < self.first):
            self.first = cell.first
        if cell.last is not None and (self.last is None or cell.last > self.last):
            self.last = cell.last
        if cell.unpriced:
            model = cell.model or NO_MODEL
            self.unpriced[model] = self.unpriced.get(model, 0) + cell.unpriced
        if cell.terms and cell.messages:
            for term in cell.terms.split(" "):
                self.estimated[term] = self.estimated.get(term, 0) + cell.messages

    def build_row(
        self,
        name: str | None,
        *,
        breakdown: tuple[UsageRow, ...] = (),
        session: SessionNote | None = None,
        tool: CallTally | None = None,
        block: BlockState | None = None,
    ) -> UsageRow:
        """Return it as a row of a report."""
        return UsageRow(
            name=name,
            messages=self.messages,
            incomplete=self.incomplete,
            input=self.input,
            output=self.output,
            cache_read=self.cache_read,
            cache_write_5m=self.cache_write_5m,
            cache_write_1h=self.cache_write_1h,
            web_searches=self.web_searches,
            cost_usd=to_dollars(self.cost),
            saved_usd=to_dollars(self.saved),
            unpriced=dict(sorted(self.unpriced.items())),
            estimated=dict(sorted(self.estimated.items())),
            first=time_text(self.first),
            last=time_text(self.last),
            breakdown=breakdown,
            session=session,
            tool=tool,
            block=block,
        )


def time_text(time: int | None) -> str | None:
    """Return a time in microseconds since 1970 as ISO 8601 has it, in UTC; None for one beyond the calendar."""
    moment = find_moment(time)
    return None if moment is None else f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"

"""What answers used and cost, kept up as lines come in: each answer as it is now, and the sums."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal

from msgspec import Struct

from turnlog.messages import Line
from turnlog.transcripts.usage.election import MessageUsage, Totals, build_message
from turnlog.transcripts.usage.prices import Bill, Ledger, Prices, join_bills
from turnlog.transcripts.usage.sightings import UsageFold, name_answer

_NEVER = datetime.max.replace(tzinfo=UTC)


class ModelTotals(Struct, frozen=True, gc=False):
    """What was used of one model."""

    model: str | None
    """None for answers that do not say."""
    totals: Totals
    cost: Decimal | None = None
    """In dollars; None if the model has no price, or none was asked for."""


class UsageBook:
    """The answers in a fold, and what they amount to."""

    def __init__(self, fold: UsageFold, prices: Prices | None = None) -> None:
        """Take what a fold has gathered; without `prices` nothing is priced."""
        self.fold = fold
        self._prices = prices
        self._models: dict[str | None, Ledger] = {}
        self._firsts: dict[str | None, tuple[datetime, str]] = {}
        """The first answer of each model."""
        for name in fold.list_names():
            self._settle(name, None)

    def find(self, name: str) -> MessageUsage | None:
        """Return what an answer used."""
        seen = self.fold.list_seen(name)
        return build_message(seen) if seen else None

    @property
    def totals(self) -> Totals:
        """All that was used."""
        return sum((ledger.totals for ledger in self._models.values()), Totals())

    @property
    def models(self) -> list[str]:
        """The models, in the order of their first answers."""
        return [model for model in sorted(self._firsts, key=self._firsts.__getitem__) if model]

    def add(self, lines: Iterable[Line]) -> frozenset[str]:
        """Take in further lines; return by what the answers are known that they tell of."""
        before: dict[str, MessageUsage | None] = {}
        names: set[str] = set()
        for line in lines:
            name = name_answer(line)
            if name is not None and name not in before:
                before[name] = self.find(name)
            if self.fold.add(line) is not None and name is not None:
                names.add(name)
        for name in names:
            self._settle(name, before[name])
        return frozenset(names)

    def build_bill(self) -> Bill | None:
        """Return what it all cost; None without prices."""
        return None if self._prices is None else join_bills(ledger.build() for ledger in self._models.values())

    def list_models(self) -> list[ModelTotals]:
        """Return what was used of each model, by their names."""
        named = sorted(self._models.items(), key=lambda item: (item[0] is None, item[0] or ""))
        bills = [(model, ledger.build()) for model, ledger in named]
        return [ModelTotals(model, bill.totals, self._find_cost(bill)) for model, bill in bills]

    def _find_cost(self, bill: Bill) -> Decimal | None:
        return None if self._prices is None or bill.unpriced else bill.cost

    def _open(self) -> Ledger:
        return Ledger(lambda message: None) if self._prices is None else self._prices.open_ledger()

    def _settle(self, name: str, old: MessageUsage | None) -> None:
        """Bring one answer up to date; `old` is what it was before."""
        new = build_message(self.fold.list_seen(name))
        if old == new:
            return
        if old is not None:
            self._models[old.model].remove(old)
        if new.model not in self._models:
            self._models[new.model] = self._open()
        self._models[new.model].add(new)
        if old is not None and self._firsts[old.model] == _order(old):
            self._find_first(old.model)
        self._firsts[new.model] = min(self._firsts.get(new.model, _order(new)), _order(new))

    def _find_first(self, model: str | None) -> None:
        """Look for the first answer of a model, as the one that was it is another now."""
        found = (_order(message) for message in self.fold.list_messages() if message.model == model)
        first = min(found, default=None)
        if first is None:
            del self._firsts[model], self._models[model]
        else:
            self._firsts[model] = first


def _order(message: MessageUsage) -> tuple[datetime, str]:
    return message.time or _NEVER, message.message

"""What the model's answers used, each counted once.

One answer of the API stands on several lines, in several files and, after forks, in several sessions; each
line repeats its usage, and early lines say less than the last. So the line with the most output tokens speaks
for the message, among equals the last of its file, and nothing is summed within a message.

- A message whose every line says `stop_reason: null` is incomplete: it was recorded before its end, and its
  output is a floor. A line that has no `stop_reason` at all says nothing of the kind.
- A message that stands in several sessions is owned by one: where its earliest line is, then by the smallest
  source. A session has a total of its own, by its own lines, and a unique total: of what it owns.
- What the program itself reports (`cost-state` on disk, `result` in the stream) is a running total: it is kept
  beside, the last of each session, and never added to anything. It includes calls that no transcript holds.

`UsageFold` keeps of each message what is needed and no more. Adding and merging only ever take a maximum or a
minimum, so order does not matter, and adding a line twice does no harm.

Lines are grouped by `message.id` alone: `requestId` can be absent, and replays change it. A line without an id
is a message of its own, known by its `uuid`, else by where it stands, else by its bytes.

Not seen: `<synthetic>` answers, which the program wrote itself; lines that report no usage; messages nested in
progress lines, which are copies. Lines of sub-agents and workflows are lines like any other.

`UsageBook` keeps up with what answers used and cost as lines come in: each answer as it is now, and the sums.
`read_usage` says what any file says about usage, by the full reader: arrays, older dialects, the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct, UnsetType

from turnlog.messages import Line
from turnlog.messages.codec import encode
from turnlog.messages.entries import AssistantEntry
from turnlog.messages.envelope import instant
from turnlog.messages.message import Usage
from turnlog.messages.metadata import CostState
from turnlog.messages.sdk.messages import AssistantMessage, ResultMessage
from turnlog.transcripts.line_reader import read_lines
from turnlog.transcripts.usage import tokens
from turnlog.transcripts.usage.prices import Bill, Ledger, Prices, join_bills
from turnlog.transcripts.usage.scanner import ReportedSighting, Scan, pack_sightings

T = TypeVar("T")
_SYNTHETIC = "<synthetic>"
_NOWHERE = -1


def find_sighting(line: Line) -> tokens.Sighting | None:
    """Return what a line says about the usage of one message; None if nothing."""
    entry = line.entry
    if type(entry) is not AssistantEntry and type(entry) is not AssistantMessage:
        return None
    message = entry.message
    usage = message.usage or (entry.usage if type(entry) is AssistantEntry else None)
    if not usage or message.model == _SYNTHETIC:
        return None
    source, offset = ("", _NOWHERE) if line.at is None else (line.at.source, line.at.offset)
    return tokens.Sighting(
        message=_key(line, message.id, entry.uuid),
        session=_share(entry.session_id or source),
        source=source,
        offset=offset,
        time=instant(entry.timestamp),
        model=_share(message.model or None),
        tokens=_tokens(usage),
        terms=_share_terms(usage.service_tier or None, usage.speed or None, usage.inference_geo or None),
        attribution=_find_attribution(entry),
        ended=message.stop_reason is not None,
    )


@lru_cache(maxsize=1024)
def _share(value: T) -> T:
    """Return a value that was seen before in place of an equal one: thousands of answers say the same."""
    return value


_share_terms = lru_cache(maxsize=1024)(tokens.PricingTerms)
_share_attribution = lru_cache(maxsize=1024)(tokens.Attribution)


def name_answer(line: Line) -> str | None:
    """Return by what the answer is known that a line is of: the API's id, or what stands for it; else None."""
    entry = line.entry
    if type(entry) is not AssistantEntry and type(entry) is not AssistantMessage:
        return None
    return _key(line, entry.message.id, entry.uuid)


def _key(line: Line, message: str | UnsetType, uuid: str | UnsetType) -> str:
    if message:
        return message
    if uuid:
        return f"uuid:{uuid}"
    if line.at is not None:
        return f"at:{line.at.offset}:{line.at.source}"
    return f"line:{blake2b(line.raw, digest_size=16).hexdigest()}"


def _count(value: int | None | UnsetType) -> int:
    return value if value and value > 0 else 0


def _tokens(usage: Usage) -> tokens.Tokens:
    split, tools = usage.cache_creation or None, usage.server_tool_use or None
    short = _count(split.ephemeral_5m_input_tokens) if split else 0
    long = _count(split.ephemeral_1h_input_tokens) if split else 0
    return tokens.Tokens(
        input=_count(usage.input_tokens),
        output=_count(usage.output_tokens),
        cache_read=_count(usage.cache_read_input_tokens),
        cache_write_5m=max(short, _count(usage.cache_creation_input_tokens) - long),
        cache_write_1h=long,
        web_searches=_count(tools.web_search_requests) if tools else 0,
    )


def _find_attribution(entry: AssistantEntry | AssistantMessage) -> tokens.Attribution:
    if type(entry) is AssistantEntry:
        return _share_attribution(
            entry.attribution_agent or None,
            entry.agent_id or None,
            entry.attribution_skill or None,
            entry.attribution_plugin or None,
            entry.attribution_mcp_server or None,
            entry.attribution_mcp_tool or None,
        )
    assert type(entry) is AssistantMessage
    return _share_attribution(entry.subagent_type or None, entry.agent_id or None)


_Home = tuple[str, str]
_Reported = TypeVar("_Reported", CostState, ResultMessage)
_Key = TypeVar("_Key", str, str | None)


class SessionUsage(Struct, frozen=True, gc=False):
    """What one session used, and what the program itself says about it."""

    session: str
    own: tokens.Totals
    """All messages that stand in it, by its own lines."""
    unique: tokens.Totals
    """The messages it owns: these add up over sessions."""
    cost_state: CostState | None = None
    result: ResultMessage | None = None
    """Its `total_cost_usd` and `model_usage` are running totals; its `usage` is one turn's."""


class UsageFold(tokens.SightingFold):
    """Usage gathered line by line, in any order, from any number of files."""

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        super().__init__()
        self._cost_states: dict[_Home, tuple[int, CostState]] = {}
        self._results: dict[_Home, tuple[int, ResultMessage]] = {}
        for line in lines:
            self.add(line)

    def add(self, line: Line) -> str | None:
        """Take in a line; most say nothing about usage. `line.at` tells which of several is the last.

        Return by what the message is known of which it tells; None if it tells of none.
        """
        entry = line.entry
        if type(entry) is CostState:
            _keep(self._cost_states, *_place(line, entry.session_id), entry)
        elif type(entry) is ResultMessage:
            _keep(self._results, *_place(line, entry.session_id), entry)
        else:
            sighting = find_sighting(line)
            if sighting is not None:
                self.add_sighting(sighting)
                return sighting.message
        return None

    def merge(self, other: UsageFold) -> None:
        """Take in all that another fold has gathered."""
        for sighting in other.list_sightings():
            self.add_sighting(sighting)
        for home, (offset, state) in other._cost_states.items():
            _keep(self._cost_states, home, offset, state)
        for home, (offset, result) in other._results.items():
            _keep(self._results, home, offset, result)

    def list_sessions(self) -> list[SessionUsage]:
        """Return what each session used, by the sessions' names."""
        owned = group_by_session(self.list_messages())
        own = self.list_own()
        states, results = _last(self._cost_states), _last(self._results)
        return [
            SessionUsage(
                session=session,
                own=tokens.build_total(own.get(session, [])),
                unique=tokens.build_total(owned.get(session, [])),
                cost_state=states.get(session),
                result=results.get(session),
            )
            for session in sorted({*own, *states, *results})
        ]


def group_by_model(messages: Iterable[tokens.MessageUsage]) -> dict[str | None, list[tokens.MessageUsage]]:
    """Return the messages of each model; None are those that name none."""
    return _group(messages, lambda message: message.model)


def group_by_session(messages: Iterable[tokens.MessageUsage]) -> dict[str, list[tokens.MessageUsage]]:
    """Return the messages that each session owns."""
    return _group(messages, lambda message: message.session)


def group_by_attribution(
    messages: Iterable[tokens.MessageUsage],
    name: Literal["agent", "agent_id", "skill", "plugin", "mcp_server", "mcp_tool"],
) -> dict[str | None, list[tokens.MessageUsage]]:
    """Return the messages of each agent, skill or server; None are those that name none."""
    return _group(messages, lambda message: getattr(message.attribution, name))


def group_by_day(
    messages: Iterable[tokens.MessageUsage], timezone: tzinfo
) -> dict[date | None, list[tokens.MessageUsage]]:
    """Return the messages of each day, as days are in `timezone`; None are those without a time."""
    days: dict[date | None, list[tokens.MessageUsage]] = {}
    for message in messages:
        days.setdefault(_day(message.time, timezone), []).append(message)
    return dict(sorted(days.items(), key=lambda item: (item[0] is None, item[0] or date.max)))


def find_reported_cost(entry: CostState | ResultMessage) -> Decimal | None:
    """Return the running total in dollars that the program itself reports, digit for digit."""
    cost = entry.total_cost_usd
    if isinstance(cost, UnsetType):
        return None
    amount = Decimal(str(cost))
    return amount if amount.is_finite() else None


def _group(
    messages: Iterable[tokens.MessageUsage], key: Callable[[tokens.MessageUsage], _Key]
) -> dict[_Key, list[tokens.MessageUsage]]:
    groups: dict[_Key, list[tokens.MessageUsage]] = {}
    for message in messages:
        groups.setdefault(key(message), []).append(message)
    return dict(sorted(groups.items(), key=lambda item: (item[0] is None, item[0] or "")))


def _day(time: datetime | None, timezone: tzinfo) -> date | None:
    if time is None:
        return None
    try:
        return time.astimezone(timezone).date()
    except OverflowError:  # on the first or the last day that there is
        return time.date()


def _place(line: Line, session: str | None | UnsetType) -> tuple[_Home, int]:
    source, offset = ("", -1) if line.at is None else (line.at.source, line.at.offset)
    return (session or source, source), offset


def _keep(found: dict[_Home, tuple[int, _Reported]], home: _Home, offset: int, entry: _Reported) -> None:
    """Keep the last of each file; of several whose place is unknown, the one that has run furthest."""
    if home not in found or (offset, *_amount(entry)) > (found[home][0], *_amount(found[home][1])):
        found[home] = offset, entry


def _last(found: dict[_Home, tuple[int, _Reported]]) -> dict[str, _Reported]:
    """Return one for each session: of several files', the one that has run furthest."""
    last: dict[str, _Reported] = {}
    for (session, _), (_, entry) in found.items():
        if session not in last or _amount(entry) > _amount(last[session]):
            last[session] = entry
    return last


def _amount(entry: CostState | ResultMessage) -> tuple[Decimal, bytes]:
    return find_reported_cost(entry) or Decimal(0), encode(entry)


_NEVER = datetime.max.replace(tzinfo=UTC)


class ModelTotals(Struct, frozen=True, gc=False):
    """What was used of one model."""

    model: str | None
    """None for answers that do not say."""
    totals: tokens.Totals
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

    def find(self, name: str) -> tokens.MessageUsage | None:
        """Return what an answer used."""
        seen = self.fold.list_seen(name)
        return tokens.build_message(seen) if seen else None

    @property
    def totals(self) -> tokens.Totals:
        """All that was used."""
        return sum((ledger.totals for ledger in self._models.values()), tokens.Totals())

    @property
    def models(self) -> list[str]:
        """The models, in the order of their first answers."""
        return [model for model in sorted(self._firsts, key=self._firsts.__getitem__) if model]

    def add(self, lines: Iterable[Line]) -> frozenset[str]:
        """Take in further lines; return by what the answers are known that they tell of."""
        before: dict[str, tokens.MessageUsage | None] = {}
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
        found: list[ModelTotals] = []
        for model, ledger in named:
            bill = ledger.build()
            cost = None if self._prices is None or bill.unpriced else bill.cost
            found.append(ModelTotals(model, bill.totals, cost))
        return found

    def _settle(self, name: str, old: tokens.MessageUsage | None) -> None:
        """Bring one answer up to date; `old` is what it was before."""
        new = tokens.build_message(self.fold.list_seen(name))
        if old == new:
            return
        if old is not None:
            self._models[old.model].remove(old)
        if new.model not in self._models:
            prices = self._prices
            self._models[new.model] = Ledger(lambda _: None) if prices is None else prices.open_ledger()
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


def _order(message: tokens.MessageUsage) -> tuple[datetime, str]:
    return message.time or _NEVER, message.message


def read_usage(path: Path, source: str) -> Scan:
    """Return what a file says, line by line; raises `OSError`."""
    fold = UsageFold()
    cwds: dict[str, None] = {}
    for line in read_lines(path, source=source):
        fold.add(line)
        cwd = getattr(line.entry, "cwd", None)
        if isinstance(cwd, str) and cwd:
            cwds.setdefault(cwd)
    reported = [each for session in fold.list_sessions() for each in _list_reported(session, source)]
    return pack_sightings(fold.list_sightings(), reported, [*cwds])


def _list_reported(session: SessionUsage, source: str) -> Iterator[ReportedSighting]:
    for kind, entry in (("cost-state", session.cost_state), ("result", session.result)):
        cost = None if entry is None else find_reported_cost(entry)
        if cost is not None:
            yield ReportedSighting(session.session, source, kind, cost)

"""What the model's answers used, each counted once.

One answer of the API stands on several lines, in several files and, after forks, in several sessions; each line
repeats its usage, and early lines say less than the last. So the line with the most output tokens speaks for
the message, among equals the last of its file, and nothing is summed within a message.

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
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, tzinfo
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b
from typing import Literal, TypeVar

from msgspec import Struct, UnsetType

from turnlog.messages.codec import Line, encode
from turnlog.messages.entries import AssistantEntry
from turnlog.messages.envelope import instant
from turnlog.messages.message import Usage
from turnlog.messages.metadata import CostState
from turnlog.messages.sdk import AssistantMessage, ResultMessage
from turnlog.transcripts.usage.election import MessageUsage, SightingFold, Totals, build_total
from turnlog.transcripts.usage.tokens import Attribution, Sighting, Terms, Tokens

T = TypeVar("T")
_SYNTHETIC = "<synthetic>"
_NOWHERE = -1


def find_sighting(line: Line) -> Sighting | None:
    """Return what a line says about the usage of one message; None if nothing."""
    entry = line.entry
    if type(entry) is not AssistantEntry and type(entry) is not AssistantMessage:
        return None
    message = entry.message
    usage = _usage_of(entry)
    if usage is None or message.model == _SYNTHETIC:
        return None
    source, offset = ("", _NOWHERE) if line.at is None else (line.at.source, line.at.offset)
    return Sighting(
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


_share_terms = lru_cache(maxsize=1024)(Terms)
_share_attribution = lru_cache(maxsize=1024)(Attribution)


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


def _usage_of(entry: AssistantEntry | AssistantMessage) -> Usage | None:
    return entry.message.usage or (entry.usage if type(entry) is AssistantEntry else None) or None


def _tokens(usage: Usage) -> Tokens:
    split, tools = usage.cache_creation or None, usage.server_tool_use or None
    short = _count(split.ephemeral_5m_input_tokens) if split else 0
    long = _count(split.ephemeral_1h_input_tokens) if split else 0
    return Tokens(
        input=_count(usage.input_tokens),
        output=_count(usage.output_tokens),
        cache_read=_count(usage.cache_read_input_tokens),
        cache_write_5m=max(short, _count(usage.cache_creation_input_tokens) - long),
        cache_write_1h=long,
        web_searches=_count(tools.web_search_requests) if tools else 0,
    )


def _find_attribution(entry: AssistantEntry | AssistantMessage) -> Attribution:
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
    own: Totals
    """All messages that stand in it, by its own lines."""
    unique: Totals
    """The messages it owns: these add up over sessions."""
    cost_state: CostState | None = None
    result: ResultMessage | None = None
    """Its `total_cost_usd` and `model_usage` are running totals; its `usage` is one turn's."""


class UsageFold(SightingFold):
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
                own=build_total(own.get(session, [])),
                unique=build_total(owned.get(session, [])),
                cost_state=states.get(session),
                result=results.get(session),
            )
            for session in sorted({*own, *states, *results})
        ]


def group_by_model(messages: Iterable[MessageUsage]) -> dict[str | None, list[MessageUsage]]:
    """Return the messages of each model; None are those that name none."""
    return _group(messages, lambda message: message.model)


def group_by_session(messages: Iterable[MessageUsage]) -> dict[str, list[MessageUsage]]:
    """Return the messages that each session owns."""
    return _group(messages, lambda message: message.session)


def group_by_attribution(
    messages: Iterable[MessageUsage],
    name: Literal["agent", "agent_id", "skill", "plugin", "mcp_server", "mcp_tool"],
) -> dict[str | None, list[MessageUsage]]:
    """Return the messages of each agent, skill or server; None are those that name none."""
    return _group(messages, lambda message: getattr(message.attribution, name))


def group_by_day(messages: Iterable[MessageUsage], timezone: tzinfo) -> dict[date | None, list[MessageUsage]]:
    """Return the messages of each day, as days are in `timezone`; None are those without a time."""
    days: dict[date | None, list[MessageUsage]] = {}
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
    messages: Iterable[MessageUsage], key: Callable[[MessageUsage], _Key]
) -> dict[_Key, list[MessageUsage]]:
    groups: dict[_Key, list[MessageUsage]] = {}
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

"""Reports of usage, wherever it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, tzinfo
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from turnlog.instants import find_moment, from_microseconds, to_microseconds
from turnlog.store.usage.cells import QUARTER, Days, Span, UsageCell, find_day, name_day, name_month, name_week
from turnlog.store.usage.report import (
    BlockState,
    Breakdown,
    CallTally,
    Grouping,
    ReportedCost,
    SessionNote,
    Tally,
    UsageReport,
    UsageRow,
    time_text,
)
from turnlog.store.usage.source import UsageSource, build_tool_rows
from turnlog.transcripts.usage.prices import to_dollars

_HOUR = 3_600_000_000 // QUARTER
_BLOCK = 5 * _HOUR
_MINUTE = 60_000_000
Block = tuple[str, BlockState, list[UsageCell]]


class Limit(Struct, frozen=True, gc=False):
    """How much a block may use: tokens of all kinds, or money in pico-dollars."""

    tokens: int | None = None
    cost: int | None = None


def build_blocks(
    cells: Iterable[UsageCell], zone: tzinfo, now: datetime, limit: Limit | None
) -> Iterator[Block]:
    """Yield the blocks by time, each with its name in a time zone; cells without a time are in none."""
    current = to_microseconds(now)
    for start, group in _gather(cells):
        yield _name(start, zone), _build_state(start, group, current, limit), group


def _gather(cells: Iterable[UsageCell]) -> Iterator[tuple[int, list[UsageCell]]]:
    timed = sorted(((cell.slot, cell) for cell in cells if cell.slot is not None), key=lambda item: item[0])
    start, group = 0, list[UsageCell]()
    for slot, cell in timed:
        if group and slot >= start + _BLOCK:
            yield start, group
            group = []
        if not group:
            start = slot // _HOUR * _HOUR
        group.append(cell)
    if group:
        yield start, group


def _build_state(start: int, cells: list[UsageCell], now: int, limit: Limit | None) -> BlockState:
    begin, end = start * QUARTER, (start + _BLOCK) * QUARTER
    active = begin <= now < end
    tally = Tally(cells)
    tokens, cost, rate = tally.tokens, tally.cost, 0
    left = end - now if active else 0
    if active:
        elapsed = max(now - (tally.first or begin), _MINUTE)
        rate = tokens * _MINUTE // elapsed
        tokens += tokens * left // elapsed
        cost += cost * left // elapsed
    return BlockState(
        start=time_text(begin) or "",
        end=time_text(end) or "",
        active=active,
        minutes_left=-(-left // _MINUTE),
        tokens_per_minute=rate,
        projected_tokens=tokens,
        projected_usd=to_dollars(cost),
        limit_used=_part(tally.tokens, tally.cost, limit),
        limit_projected=_part(tokens, cost, limit),
    )


def _part(tokens: int, cost: int, limit: Limit | None) -> float | None:
    if limit is None:
        return None
    parts = [used / most for used, most in ((tokens, limit.tokens), (cost, limit.cost)) if most]
    return round(max(parts), 4) if parts else None


def _name(start: int, zone: tzinfo) -> str:
    try:
        moment = from_microseconds(start * QUARTER)
        return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M")
    except OverflowError:
        return time_text(start * QUARTER) or ""


_BY_TIME = frozenset({Grouping.DAILY, Grouping.WEEKLY, Grouping.MONTHLY, Grouping.BLOCKS})
_OTHERS = "others"


def cut_rows(
    rows: Sequence[UsageRow], by: Grouping, most: int
) -> tuple[tuple[UsageRow, ...], tuple[UsageRow, ...]]:
    """Return the rows that matter most, in the order that they are in, and the others."""
    if len(rows) <= most:
        return tuple(rows), ()
    ranked = range(len(rows)) if by in _BY_TIME else sorted(range(len(rows)), key=lambda at: _rank(rows[at]))
    kept = set(ranked[len(rows) - most :])
    return (
        tuple(row for at, row in enumerate(rows) if at in kept),
        tuple(row for at, row in enumerate(rows) if at not in kept),
    )


def cut_reported(reported: Iterable[ReportedCost], most: int) -> list[ReportedCost]:
    """Return what the program itself says, in the order that it is in, of the sessions that matter most."""
    listed = list(reported)
    kept = sorted(listed, key=lambda each: each.cost_usd, reverse=True)[:most]
    names = {each.session for each in kept}
    return [each for each in listed if each.session in names]


def sum_rows(rows: Sequence[UsageRow]) -> UsageRow | None:
    """Return rows as one; None if there are none."""
    if not rows:
        return None
    tools = [row.tool for row in rows if row.tool is not None]
    return UsageRow(
        name=_OTHERS,
        messages=sum(row.messages for row in rows),
        incomplete=sum(row.incomplete for row in rows),
        input=sum(row.input for row in rows),
        output=sum(row.output for row in rows),
        cache_read=sum(row.cache_read for row in rows),
        cache_write_5m=sum(row.cache_write_5m for row in rows),
        cache_write_1h=sum(row.cache_write_1h for row in rows),
        web_searches=sum(row.web_searches for row in rows),
        cost_usd=sum((row.cost_usd for row in rows), Decimal(0)),
        saved_usd=sum((row.saved_usd for row in rows), Decimal(0)),
        unpriced=_add(row.unpriced for row in rows),
        estimated=_add(row.estimated for row in rows),
        first=min((row.first for row in rows if row.first is not None), default=None),
        last=max((row.last for row in rows if row.last is not None), default=None),
        tool=_sum_tools(tools) if tools else None,
    )


def _rank(row: UsageRow) -> tuple[Decimal, int, int, str]:
    tokens = row.input + row.output + row.cache_read + row.cache_write_5m + row.cache_write_1h
    return row.cost_usd, tokens, 0 if row.tool is None else row.tool.calls, row.name or ""


def _sum_tools(tools: Sequence[CallTally]) -> CallTally:
    return CallTally(
        sum(tool.calls for tool in tools),
        sum(tool.failed for tool in tools),
        sum(tool.seconds for tool in tools),
    )


def _add(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(sorted(total.items()))


_Namer = Callable[[UsageCell], str | None]
_ATTRIBUTES: dict[str, _Namer] = {
    "session": lambda cell: cell.session,
    "project": lambda cell: cell.home.project,
    "model": lambda cell: cell.model,
    "agent": lambda cell: cell.agent,
    "skill": lambda cell: cell.skill,
    "mcp": lambda cell: cell.mcp_server,
    "person": lambda cell: cell.home.person,
    "machine": lambda cell: cell.home.machine,
}
_PERIODS: Mapping[str, Callable[[date], str]] = {"daily": name_day, "weekly": name_week, "monthly": name_month}
"""How days are named, in the groupings by time."""


class UsageQuery(Struct, frozen=True, kw_only=True):
    """What is asked for."""

    zone: tzinfo
    """Whose days, weeks and months count."""
    now: datetime
    zone_name: str = "local"
    by: Grouping = Grouping.DAILY
    breakdown: Breakdown | None = None
    span: Span = Span()
    project: str | None = None
    """A part of the path of the projects that count."""
    limit: Limit | None = None
    """Of a block."""
    most: int | None = None
    """How many rows there may be: the dearest, or of times the newest. None for all."""

    @property
    def is_narrowed(self) -> bool:
        """Whether not everything counts."""
        return self.span != Span() or self.project is not None


def select(cells: Iterable[UsageCell], query: UsageQuery) -> list[UsageCell]:
    """Return the cells that count."""
    days, span, project = Days(query.zone), query.span, query.project
    found = list(cells) if span == Span() else [cell for cell in cells if span.has(days[cell.slot])]
    if project is None:
        return found
    return [cell for cell in found if cell.home.project is not None and project in cell.home.project]


def build_rows(
    cells: Iterable[UsageCell], query: UsageQuery, reported: Mapping[str, Decimal]
) -> tuple[UsageRow, ...]:
    """Return the rows of all groupings but by tool; `reported` are the sessions' own figures."""
    if query.by is Grouping.BLOCKS:
        blocks = build_blocks(cells, query.zone, query.now, query.limit)
        return tuple(_build_row(name, group, query, block=state) for name, state, group in blocks)
    groups = _group(cells, _namer(query))
    if query.by is Grouping.SESSION:
        return tuple(
            _build_row(name, group, query, session=_note(group, reported.get(name or "")))
            for name, group in _by_time(groups)
        )
    return tuple(_build_row(name, groups[name], query) for name in sorted(groups, key=_by_name))


def _namer(query: UsageQuery) -> _Namer:
    name = _PERIODS.get(query.by)
    if name is None:
        return _ATTRIBUTES[query.by]
    days, names = Days(query.zone), _Names(name)
    return lambda cell: names[days[cell.slot]]


class _Names(dict[date | None, str | None]):
    """What days are called; there are few."""

    def __init__(self, name: Callable[[date], str]) -> None:
        super().__init__({None: None})
        self._name = name

    def __missing__(self, day: date | None) -> str | None:
        assert day is not None
        name = self[day] = self._name(day)
        return name


def _group(cells: Iterable[UsageCell], name_of: _Namer) -> dict[str | None, list[UsageCell]]:
    groups: dict[str | None, list[UsageCell]] = {}
    for cell in cells:
        name = name_of(cell)
        group = groups.get(name)
        if group is None:
            group = groups[name] = []
        group.append(cell)
    return groups


def _build_row(
    name: str | None,
    cells: list[UsageCell],
    query: UsageQuery,
    *,
    session: SessionNote | None = None,
    block: BlockState | None = None,
) -> UsageRow:
    parts: tuple[UsageRow, ...] = ()
    if query.breakdown is not None:
        groups = _group(cells, _ATTRIBUTES[query.breakdown])
        parts = tuple(Tally(groups[part]).build_row(part) for part in sorted(groups, key=_by_name))
    return Tally(cells).build_row(name, breakdown=parts, session=session, block=block)


def _note(cells: list[UsageCell], reported: Decimal | None) -> SessionNote:
    # An answer is owned by one file, so a session's cells may have several homes: its newest speaks for it.
    home = max(cells, key=lambda cell: (cell.last is not None, cell.last or 0, cell.home.key)).home
    return SessionNote(home.project, home.title, reported)


def _by_time(groups: Mapping[str | None, list[UsageCell]]) -> list[tuple[str | None, list[UsageCell]]]:
    """Return sessions by the time of their last answer; those without any come first."""
    last = {
        name: max((cell.last for cell in group if cell.last is not None), default=None)
        for name, group in groups.items()
    }
    return sorted(
        groups.items(), key=lambda item: (last[item[0]] is not None, last[item[0]] or 0, item[0] or "")
    )


def _by_name(name: str | None) -> tuple[bool, str]:
    return name is None, name or ""


def build_report(source: UsageSource, query: UsageQuery) -> UsageReport:
    """Return what is asked for; the rows and the others add up to the total."""
    reported = source.list_reported()
    if query.by is Grouping.TOOL:
        rows, cells = _build_by_tool(source, query)
    else:
        cells = _list_cells(source, query)
        rows = build_rows(cells, query, {each.session: each.cost_usd for each in reported})
    total = Tally(cells).build_row("total")
    if query.is_narrowed:
        sessions = {cell.session for cell in cells}
        reported = [each for each in reported if each.session in sessions]
    others, left_out = None, 0
    if query.most is not None:
        reported = cut_reported(reported, query.most)
        rows, rest = cut_rows(rows, query.by, query.most)
        others, left_out = sum_rows(rest), len(rest)
    return UsageReport(
        by=query.by,
        breakdown=query.breakdown,
        timezone=query.zone_name,
        since=query.span.since,
        until=query.span.until,
        available=None if total.messages or query.span == Span() else _find_available(source, query),
        files=source.count_files(),
        rows=rows,
        others=others,
        left_out=left_out,
        total=total,
        reported=tuple(reported),
        prices=source.find_prices(),
    )


def _find_available(source: UsageSource, query: UsageQuery) -> Span | None:
    """Return from when to when there are answers, whichever days are asked for; None if there are none."""
    everything = replace(query, by=Grouping.MONTHLY, breakdown=None, span=Span(), most=None)
    tally = Tally(_list_cells(source, everything))
    first, last = find_moment(tally.first), find_moment(tally.last)
    if first is None or last is None:
        return None
    return Span(find_day(first, query.zone), find_day(last, query.zone))


def _list_cells(source: UsageSource, query: UsageQuery) -> list[UsageCell]:
    """Return all cells that count."""
    cells = select(source.list_cells(), query)
    if query.by is Grouping.BLOCKS:  # what bears no time is in no block
        return [cell for cell in cells if cell.slot is not None]
    return cells


def _build_by_tool(source: UsageSource, query: UsageQuery) -> tuple[tuple[UsageRow, ...], list[UsageCell]]:
    """Return the rows, and all cells that count."""
    answers = source.list_answers()
    cells = select((answer.cell for answer in answers), query)
    if len(cells) < len(answers):
        kept = set(map(id, cells))
        answers = [answer for answer in answers if id(answer.cell) in kept]
    return build_tool_rows(answers, source.list_calls()), cells

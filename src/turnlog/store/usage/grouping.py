"""Cells as the rows of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, tzinfo
from decimal import Decimal

from msgspec import Struct

from turnlog.store.usage.blocks import Limit, build_blocks
from turnlog.store.usage.cells import UsageCell
from turnlog.store.usage.periods import Days, Span, name_day, name_month, name_week
from turnlog.store.usage.report import BlockState, Breakdown, Grouping, SessionNote, UsageRow
from turnlog.store.usage.tallies import Tally

__all__ = ["UsageQuery", "build_rows", "select"]

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

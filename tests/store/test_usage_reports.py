"""Reports of usage, held against the slow and obvious way: each answer by itself, plain dictionaries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.instants import to_microseconds
from turnlog.store.usage_cells import (
    FULL,
    Days,
    Detail,
    Home,
    Span,
    UsageCell,
    build_cell,
    build_cells,
    find_zone,
    merge_cells,
    slot_of,
    sum_answers,
)
from turnlog.store.usage_report import (
    AnswerCell,
    Breakdown,
    CallUse,
    Grouping,
    Limit,
    ReportedCost,
    UsageQuery,
    UsageReport,
    UsageRow,
    build_report,
)
from turnlog.transcripts import Attribution, MessageUsage, Price, Prices, PricingTerms, Tokens
from turnlog.transcripts.usage.prices import Charger, PriceTable
from turnlog.transcripts.usage.scanner import pack_sightings
from turnlog.transcripts.usage.tokens import Sighting

ZONES = ["UTC", "Asia/Kathmandu", "America/St_Johns", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Chatham"]
COUNTS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_searches")
NOW = datetime(2026, 3, 29, 12, tzinfo=UTC)
# Berlin springs forward at 01:00 UTC on 29 March 2026; Lord Howe falls back by half an hour on 4 April.
TURNS = [
    datetime(2026, 3, 28, 20, tzinfo=UTC),
    datetime(2026, 4, 4, 10, tzinfo=UTC),
    datetime(2025, 12, 28, tzinfo=UTC),
]
PRICES = Prices()

times = st.one_of(
    st.none(),
    st.builds(
        lambda start, minutes, micros: start + timedelta(minutes=minutes, microseconds=micros),
        st.sampled_from(TURNS),
        st.integers(0, 60 * 30),
        st.integers(0, 60_000_000),
    ),
)
messages = st.builds(
    MessageUsage,
    message=st.uuids().map(str),
    session=st.sampled_from(["s-1", "s-2", "s-3"]),
    sessions=st.just(()),
    time=times,
    model=st.sampled_from([None, "claude-opus-5", "claude-sonnet-4-5", "glm-5"]),
    tokens=st.builds(Tokens, *[st.integers(0, 300_000)] * 5, st.integers(0, 2)),
    terms=st.builds(PricingTerms, speed=st.sampled_from([None, "fast"])),
    attribution=st.builds(
        Attribution,
        agent=st.sampled_from([None, "Explore"]),
        agent_id=st.sampled_from([None, "a1"]),
        skill=st.sampled_from([None, "brew"]),
        mcp_server=st.sampled_from([None, "kettle"]),
    ),
    complete=st.booleans(),
    source=st.sampled_from(["f-1", "f-2"]),
)
HOMES = {
    "f-1": Home("k-1", "/home/ada/tea", "Tea", "ada", "laptop"),
    "f-2": Home("k-2", "/home/ada/milk", None),
}
calls = st.builds(
    CallUse,
    message=st.none(),
    id=st.one_of(st.none(), st.sampled_from(["t-1", "t-2"])),
    name=st.sampled_from(["Bash", "Read"]),
    failed=st.booleans(),
    started=st.one_of(st.none(), st.integers(0, 9_000_000)),
    ended=st.one_of(st.none(), st.integers(0, 9_000_000)),
    source=st.sampled_from(["f-1", "f-2"]),
    order=st.integers(0, 5),
)


class Given:
    """Usage of messages that are given: in cells of a quarter of an hour."""

    def __init__(self, found: Sequence[MessageUsage], calls: Sequence[CallUse] = ()) -> None:
        self.messages = found
        self.calls = calls

    def list_cells(self, _: Detail = FULL) -> list[UsageCell]:
        charger = Charger(PRICES)
        return merge_cells(build_cell(each, charger, HOMES[each.source]) for each in self.messages)

    def list_answers(self) -> list[AnswerCell]:
        charger = Charger(PRICES)
        return [
            AnswerCell(each.message, build_cell(each, charger, HOMES[each.source])) for each in self.messages
        ]

    def list_calls(self) -> list[CallUse]:
        return [*self.calls]

    def list_reported(self) -> list[ReportedCost]:
        return [ReportedCost("s-1", "cost-state", Decimal("1.5"), Decimal("1.25"))]

    def find_prices(self) -> PriceTable | None:
        return None

    def count_files(self) -> int:
        return len(HOMES)


def ask(source: Given, by: Grouping, zone: str = "UTC", **more: object) -> UsageReport:
    query = UsageQuery(zone=find_zone(zone), zone_name=zone, now=NOW, by=by, **more)  # type: ignore[arg-type]
    return build_report(source, query)


def day_of(message: MessageUsage, zone: str) -> date | None:
    return None if message.time is None else message.time.astimezone(ZoneInfo(zone)).date()


def name_of(message: MessageUsage, by: str, zone: str) -> str | None:
    day, behalf = day_of(message, zone), message.attribution
    names: dict[str, Callable[[], str | None]] = {
        "daily": lambda: day.isoformat() if day else None,
        "weekly": lambda: day.strftime("%G-W%V") if day else None,
        "monthly": lambda: day.strftime("%Y-%m") if day else None,
        "session": lambda: message.session,
        "project": lambda: HOMES[message.source].project,
        "model": lambda: message.model,
        "agent": lambda: behalf.agent or behalf.agent_id,
        "skill": lambda: behalf.skill,
        "mcp": lambda: behalf.mcp_server,
        "person": lambda: HOMES[message.source].person,
        "machine": lambda: HOMES[message.source].machine,
    }
    return names[by]() or None


def price(message: MessageUsage) -> Price | None:
    return PRICES.find_price(message)


def saved(message: MessageUsage) -> Decimal:
    """Return what the cache saved: the same tokens as plain input, less what they cost."""
    found = price(message)
    if found is None:
        return Decimal(0)
    used = message.tokens
    band = Tokens(used.prompt)
    plain = price(MessageUsage("", "", (), message.time, message.model, band, message.terms))
    assert plain is not None
    return plain.input - found.input


def check_row(row: UsageRow, own: Sequence[MessageUsage]) -> None:
    """Check a row against the answers that should be in it."""
    assert row.messages == len(own)
    assert row.incomplete == sum(not each.complete for each in own)
    for name in COUNTS:
        assert getattr(row, name) == sum(getattr(each.tokens, name) for each in own)
    assert row.cost_usd == sum((found.total for each in own if (found := price(each))), Decimal(0))
    assert row.saved_usd == sum(map(saved, own), Decimal(0))
    unpriced, estimated = defaultdict[str, int](int), defaultdict[str, int](int)
    for each in own:
        found = price(each)
        if found is None:
            unpriced[each.model or "(no model)"] += 1
        for term in found.unpriced_terms if found else ():
            estimated[term] += 1
    assert (row.unpriced, row.estimated) == (unpriced, estimated)
    known = [each.time for each in own if each.time is not None]
    assert row.first == (text_of(min(known)) if known else None)
    assert row.last == (text_of(max(known)) if known else None)


def text_of(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def group(found: Iterable[MessageUsage], by: str, zone: str) -> dict[str | None, list[MessageUsage]]:
    groups = defaultdict[str | None, list[MessageUsage]](list)
    for message in found:
        groups[name_of(message, by, zone)].append(message)
    return groups


@pytest.mark.parametrize(
    "by",
    ["daily", "weekly", "monthly", "session", "project", "model", "agent", "skill", "mcp", "person", "machine"],
)
@given(
    found=st.lists(messages, max_size=12),
    zone=st.sampled_from(ZONES),
    breakdown=st.one_of(st.none(), st.sampled_from(Breakdown)),
    since=st.one_of(st.none(), st.sampled_from([date(2026, 3, 28), date(2026, 3, 29), date(2026, 4, 5)])),
    until=st.one_of(st.none(), st.sampled_from([date(2026, 3, 28), date(2026, 3, 29), date(2026, 4, 5)])),
    project=st.sampled_from([None, "ada", "tea"]),
)
def test_rows_are_what_each_answer_by_itself_comes_to(
    by: str,
    found: list[MessageUsage],
    zone: str,
    breakdown: Breakdown | None,
    since: date | None,
    until: date | None,
    project: str | None,
) -> None:
    span = Span(since, until)
    report = ask(Given(found), Grouping(by), zone, breakdown=breakdown, span=span, project=project)
    counted = [
        each
        for each in found
        if (since is None or ((day := day_of(each, zone)) is not None and day >= since))
        and (until is None or ((day := day_of(each, zone)) is not None and day <= until))
        and (project is None or project in (HOMES[each.source].project or ""))
    ]
    groups = group(counted, by, zone)
    assert [row.name for row in report.rows if row.name is not None] == sorted(
        (name for name in groups if name is not None),
        key=lambda name: (last_of(groups[name]) if by == "session" else NOW, name),
    )
    for row in report.rows:
        check_row(row, groups[row.name])
        parts = group(groups[row.name], breakdown, zone) if breakdown else {}
        assert {part.name for part in row.breakdown} == set(parts)
        for part in row.breakdown:
            check_row(part, parts[part.name])
    assert {row.name for row in report.rows} == set(groups)
    check_row(report.total, counted)


def last_of(found: Sequence[MessageUsage]) -> datetime:
    never = datetime.min.replace(tzinfo=UTC)
    return max((each.time for each in found if each.time is not None), default=never)


@given(st.lists(messages, max_size=12))
def test_cells_of_many_answers_are_those_of_each(found: list[MessageUsage]) -> None:
    charger = Charger(PRICES)
    cells: list[UsageCell] = []
    for source, home in HOMES.items():
        seen = [
            Sighting(
                each.message, each.session, source, 0, each.time, each.model, each.tokens, each.terms,
                each.attribution, each.complete,
            )
            for each in found if each.source == source
        ]  # fmt: skip
        scan = pack_sightings(seen, [], [])
        assert list(scan.list_sightings(source)) == seen
        cells += build_cells(sum_answers(scan.groups, scan.answers, charger), scan.groups, home)
    assert merge_cells(cells) == Given(found).list_cells()


@pytest.mark.parametrize(
    "zone", ["UTC", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia"]
)
def test_quarters_of_an_hour_are_on_the_days_of_their_zone(zone: str) -> None:
    """Where clocks change, and where a day was left out, too."""
    days, there = Days(find_zone(zone)), ZoneInfo(zone)
    for since in (
        date(2011, 12, 28),
        date(2026, 3, 27),
        date(2026, 4, 3),
        date(2026, 10, 2),
        date(2026, 10, 23),
    ):
        first = datetime(since.year, since.month, since.day, tzinfo=UTC)
        for number in range(4 * 96):
            moment = first + number * timedelta(minutes=15)
            assert days[slot_of(to_microseconds(moment))] == moment.astimezone(there).date()
    assert (days[-(1 << 40)], days[1 << 40]) == (date.min, date.max)


@given(st.lists(messages, max_size=12), st.sampled_from(ZONES))
def test_blocks_are_five_hours_long_and_begin_with_an_answer(found: list[MessageUsage], zone: str) -> None:
    report = ask(Given(found), Grouping.BLOCKS, zone)
    timed = sorted((each for each in found if each.time is not None), key=lambda each: each.time or NOW)
    expected: list[tuple[datetime, list[MessageUsage]]] = []
    for message in timed:
        assert message.time is not None
        if not expected or message.time >= expected[-1][0] + timedelta(hours=5):
            expected.append((message.time.replace(minute=0, second=0, microsecond=0), []))
        expected[-1][1].append(message)
    assert len(report.rows) == len(expected)
    for row, (start, own) in zip(report.rows, expected, strict=True):
        check_row(row, own)
        assert row.block is not None
        assert row.name == start.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")
        assert row.block.start == f"{start:%Y-%m-%dT%H:%M:%S}.000Z"
        assert row.block.active == (start <= NOW < start + timedelta(hours=5))
    check_row(report.total, timed)


def make(number: int, time: datetime, **more: object) -> MessageUsage:
    tokens = Tokens(input=1000, output=100)
    return MessageUsage(f"m-{number}", "s-1", (), time, "claude-opus-5", tokens, source="f-1", **more)  # type: ignore[arg-type]


def test_the_active_block_says_what_is_left() -> None:
    found = [make(1, NOW - timedelta(minutes=100)), make(2, NOW - timedelta(minutes=50))]
    [row] = ask(Given(found), Grouping.BLOCKS, limit=Limit(tokens=8800)).rows
    block = row.block
    assert block is not None
    # It began at 10:00, 20 minutes before the first answer; 100 minutes took 2,200 tokens.
    assert (block.start, block.end) == ("2026-03-29T10:00:00.000Z", "2026-03-29T15:00:00.000Z")
    assert (block.active, block.minutes_left, block.tokens_per_minute) == (True, 180, 22)
    assert (block.projected_tokens, block.projected_usd) == (2200 + 22 * 180, Decimal("0.042"))
    assert (block.limit_used, block.limit_projected) == (0.25, 0.7)
    [row] = ask(Given(found), Grouping.BLOCKS, limit=Limit(cost=30 * 10**9)).rows
    assert row.block is not None
    assert row.block.limit_used == 0.5


def test_a_block_that_is_over_is_what_it_was() -> None:
    [row] = ask(Given([make(1, NOW - timedelta(hours=9))]), Grouping.BLOCKS).rows
    block = row.block
    assert block is not None
    assert (block.active, block.minutes_left, block.tokens_per_minute) == (False, 0, 0)
    assert (block.projected_tokens, block.projected_usd) == (1100, row.cost_usd)


@given(st.lists(messages, max_size=8), st.data())
def test_tools_share_the_answers_that_call_them_and_add_up(
    found: list[MessageUsage], data: st.DataObject
) -> None:
    made: list[CallUse] = []
    for message in found:
        for call in data.draw(st.lists(calls, max_size=4)):
            made.append(
                CallUse(
                    **{
                        **{name: getattr(call, name) for name in call.__struct_fields__},
                        "message": message.message,
                        "person": HOMES[message.source].person,
                    }
                )
            )
    report = ask(Given(found, made), Grouping.TOOL)
    for name in ("messages", "incomplete", *COUNTS, "cost_usd", "saved_usd"):
        assert sum(getattr(row, name) for row in report.rows) == getattr(report.total, name)
    check_row(report.total, found)
    once = {(each.person, each.message, each.id or (each.source, each.order)) for each in made}
    assert sum(row.tool.calls for row in report.rows if row.tool) == len(once)


def make_call(
    id: str, name: str, order: int, ended: int | None, source: str = "f-1", failed: bool = False
) -> CallUse:
    return CallUse(
        message="m-1",
        id=id,
        name=name,
        failed=failed,
        started=0,
        ended=ended,
        source=source,
        order=order,
        person="ada",
    )


def test_calls_are_counted_once_and_the_remainder_is_the_first_one_s() -> None:
    message = make(1, NOW)
    found = [
        make_call("t-1", "Bash", 0, None),
        make_call("t-1", "Bash", 0, 2_500_000, "f-2"),
        make_call("t-2", "Read", 1, None, failed=True),
        make_call("t-3", "Read", 2, 1_000_000),
    ]
    bash, read = ask(Given([message], found), Grouping.TOOL).rows
    assert (bash.name, bash.messages, bash.input, bash.output) == ("Bash", 1, 334, 34)
    assert (read.name, read.messages, read.input, read.output) == ("Read", 0, 666, 66)
    assert bash.tool is not None
    assert read.tool is not None
    assert (bash.tool.calls, bash.tool.failed, bash.tool.seconds) == (1, 0, 2.5)
    assert (read.tool.calls, read.tool.failed, read.tool.seconds) == (2, 1, 1.0)
    [row] = ask(Given([message]), Grouping.TOOL).rows
    assert (row.name, row.tool, row.input) == (None, None, 1000)


def test_a_session_has_its_own_figure_beside_it() -> None:
    report = ask(Given([make(1, NOW)]), Grouping.SESSION)
    [row] = report.rows
    assert row.session is not None
    assert (row.session.project, row.session.title) == ("/home/ada/tea", "Tea")
    assert row.session.reported_usd == Decimal("1.5")
    assert [each.session for each in report.reported] == ["s-1"]
    narrowed = ask(Given([make(1, NOW)]), Grouping.SESSION, span=Span(since=date(2027, 1, 1)))
    assert (narrowed.rows, narrowed.reported) == ((), ())


@pytest.mark.parametrize("name", ["", "Nowhere/Atlantis", "../etc/passwd", "/etc/passwd", "UTC\0", "a" * 300])
def test_a_time_zone_that_nobody_knows_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="time zone"):
        find_zone(name)


def test_times_at_the_edge_of_the_calendar_are_counted() -> None:
    edges = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
    for by in (Grouping.DAILY, Grouping.WEEKLY, Grouping.MONTHLY, Grouping.BLOCKS):
        for zone in ZONES:
            report = ask(Given([make(at, edge) for at, edge in enumerate(edges)]), by, zone)
            assert (len(report.rows), report.total.messages) == (2, 2)


def test_every_price_of_the_list_is_a_whole_number_of_pico_dollars() -> None:
    for model in (
        "claude-opus-5",
        "claude-sonnet-4-5",
        "claude-haiku-4-5",
        "claude-opus-4-1",
        "claude-fable-5",
    ):
        quote = PRICES.find_quote(model, date(2026, 3, 1), PricingTerms())
        assert quote is not None
        for band in quote.bands:
            for name in band.__struct_fields__:
                assert getattr(band, name).scaleb(12) % 1 == 0

"""Usage in the store: each answer once, whatever came first, and whatever went again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime, timedelta
from itertools import product
from pathlib import Path

import apsw
import msgspec
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from postgres_server import make_archive
from turnlog.ingest.verification import check_usage
from turnlog.instants import to_microseconds
from turnlog.store.batch import Derived
from turnlog.store.catalogue.database import hash_text
from turnlog.store.catalogue.store import CatalogueStore
from turnlog.store.interface import Maintenance, find_known
from turnlog.store.model import ARCHIVE_SCHEMA, LOCAL, Scope, ServerPlace, StorePlace
from turnlog.store.opening import open_store
from turnlog.store.usage_cells import FULL, Detail, Home, Span, UsageCell, build_cell, find_zone, merge_cells
from turnlog.store.usage_recount import RecountedUsage, list_differences
from turnlog.store.usage_report import AnswerUse, Breakdown, Grouping, UsageQuery, build_report
from turnlog.testing.builders import make_batch, make_key, make_session_row
from turnlog.transcripts.usage.prices import Charger
from turnlog.transcripts.usage.tokens import SightingFold
from usage_sightings import FILES, GUEST, QUARTER, SESSIONS, Files, files, make_sighting, say, steps

ENGINES = ("sqlite", "postgres")


def open_catalogue(place: StorePlace) -> CatalogueStore:
    store = open_store(place)
    assert isinstance(store, CatalogueStore)
    return store


class Machine:
    """A store, and what its sessions say just now."""

    def __init__(self, place: StorePlace) -> None:
        self.place = place
        self.store = open_catalogue(place)
        self.said: dict[tuple[str, str], Files] = {}
        self.forgotten: set[tuple[str, str]] = set()
        self._lines = 0
        self._seen: dict[tuple[str, str], tuple[list[AnswerUse], tuple[int, int], int]] = {}

    def say(self, owner: str, session: str, said: Files, *, is_partial: bool = False) -> None:
        """Let the files of a session say something; what they said before does not count any more."""
        if (owner, session) in self.forgotten:
            return
        self._lines += 1
        before = self.said.get((owner, session)) if is_partial else None
        self.said[owner, session] = say(self.store, owner, session, said, self._lines, before)

    def forget(self, owner: str, session: str) -> None:
        if self.store.forget(Scope(owner), [make_key(session)]).sessions:
            self.forgotten.add((owner, session))
            del self.said[owner, session]

    def expect(self, owner: str) -> list[UsageCell]:
        """Return what `UsageFold` makes of all that is said, answer by answer."""
        fold, homes = SightingFold(), dict[str, Home]()
        for (whose, session), said in self.said.items():
            if whose == owner:
                for source, rows in said.items():
                    home = Home(make_key(session), f"/work/{session}", f"Session {session}", machine="here")
                    homes[source] = home
                    for row in rows:
                        fold.add_sighting(row.unpack(source))
        charger = Charger()
        return merge_cells(
            build_cell(message, charger, homes[message.source]) for message in fold.list_messages()
        )

    def check(self) -> None:
        """Check that the store has counted what is said, and nothing else."""
        for scope in (LOCAL, GUEST):
            usage = self.store.read_usage(scope)
            expected = self.expect(scope.owner)
            assert merge_cells(usage.list_cells()) == expected
            assert merge_cells(answer.cell for answer in usage.list_answers()) == expected
            assert list_differences(usage, RecountedUsage(self.store, scope)) == []
        self._check_versions()
        left = "SELECT count(*) FROM usage_groups WHERE id NOT IN (SELECT grp FROM answers)"
        assert execute(self.place, left) == [(0,)]

    def _check_versions(self) -> None:
        """Check that where answers are told otherwise than before, the revision or the version is another."""
        for (owner, session), said in self.said.items():
            scope, key = Scope(owner), make_key(session)
            ids = [row.message_id for rows in said.values() for row in rows]
            known = find_known(self.store, scope, key)
            assert known is not None
            usage, recounted = self.store.read_usage(scope), RecountedUsage(self.store, scope)
            version, counted = usage.find_version(key), recounted.find_version(key)
            told = usage.find_answers(ids), (known.revision, version), counted
            assert recounted.find_answers(ids) == told[0]
            before = self._seen.get((owner, session), told)
            assert before[0] == told[0] or (before[1] != told[1] and before[2] != told[2])
            self._seen[owner, session] = told


@contextmanager
def machine(engine: str = "sqlite") -> Iterator[Machine]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        made = Machine(home / "turnlog.db" if engine == "sqlite" else ServerPlace(make_archive(), home))
        try:
            yield made
        finally:
            made.store.close()


@settings(max_examples=40)
@given(steps, st.booleans())
def test_any_order_of_changes_counts_what_is_said_in_the_end(
    steps: Sequence[tuple[str, str, Files | None]], is_partial: bool
) -> None:
    check_steps("sqlite", steps, is_partial=is_partial)


@settings(max_examples=5)
@given(steps, st.booleans())
def test_any_order_of_changes_counts_the_same_on_a_server(
    steps: Sequence[tuple[str, str, Files | None]], is_partial: bool
) -> None:
    check_steps("postgres", steps, is_partial=is_partial)


def check_steps(engine: str, steps: Sequence[tuple[str, str, Files | None]], *, is_partial: bool) -> None:
    with machine(engine) as made:
        for owner, session, said in steps:
            if said is None:
                made.forget(owner, session)
            else:
                made.say(owner, session, said, is_partial=is_partial)
            made.check()


@settings(max_examples=20)
@given(st.fixed_dictionaries(dict.fromkeys(SESSIONS, files)), st.permutations(SESSIONS))
def test_the_order_of_syncing_makes_no_difference(said: dict[str, Files], order: Sequence[str]) -> None:
    with machine() as one, machine() as other:
        for session in SESSIONS:
            one.say("local", session, said[session])
        for session in order:
            other.say("local", session, said[session])
        cells = [merge_cells(each.store.read_usage(LOCAL).list_cells()) for each in (one, other)]
        assert cells[0] == cells[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_answer_that_loses_its_owner_gets_another(engine: str) -> None:
    with machine(engine) as made:
        made.say("local", "a", {".jsonl": [make_sighting("m", session_id="a", time=5)]})
        made.say("local", "b", {".jsonl": [make_sighting("m", session_id="b", time=7)]})
        [cell] = made.store.read_usage(LOCAL).list_cells()
        assert (cell.session, cell.home.project, cell.messages) == ("a", "/work/a", 1)
        made.forget("local", "a")
        [cell] = made.store.read_usage(LOCAL).list_cells()
        assert (cell.session, cell.home.project, cell.messages) == ("b", "/work/b", 1)
        made.check()


@pytest.mark.parametrize("engine", ENGINES)
def test_another_session_changes_what_is_told_of_an_answer(engine: str) -> None:
    with machine(engine) as made:
        made.say("local", "a", {".jsonl": [make_sighting("m", session_id="a", output=1)]})
        made.say("local", "b", {".jsonl": [make_sighting("other", session_id="b")]})
        made.say("guest", "b", {".jsonl": [make_sighting("other", session_id="b")]})
        guests = made.store.read_usage(GUEST).find_version(make_key("b"))
        first = [made.store.read_usage(LOCAL).find_version(make_key(name)) for name in "ab"]
        made.say("local", "c", {".jsonl": [make_sighting("m", session_id="c", output=5)]})
        [answer] = made.store.read_usage(LOCAL).find_answers(["m"])
        assert answer.output == 5
        then = [made.store.read_usage(LOCAL).find_version(make_key(name)) for name in "ab"]
        assert (then[0] > first[0], then[1]) == (True, first[1])
        assert made.store.read_usage(GUEST).find_version(make_key("b")) == guests
        made.store.maintain(Maintenance.RECOUNT)
        last = [made.store.read_usage(LOCAL).find_version(make_key(name)) for name in "ab"]
        assert (last[0] > then[0], last[1] > then[1]) == (True, True)
        assert made.store.read_usage(GUEST).find_version(make_key("b")) == guests + last[1] - then[1]


def test_words_of_what_was_forgotten_are_forgotten() -> None:
    with machine() as made:
        made.say("local", "a", {".jsonl": [make_sighting("m", skill="secret-skill", model="secret-model")]})
        made.forget("local", "a")
        made.store.close()
        assert isinstance(made.place, Path)
        assert b"secret" not in made.place.read_bytes()


@pytest.mark.parametrize("engine", ENGINES)
def test_counts_beyond_all_reason_are_kept_as_the_most_there_is(engine: str) -> None:
    most = (1 << 63) - 1
    with machine(engine) as made:
        rows = [make_sighting(name, input=most, output=most) for name in ("m", "n")]
        made.say("local", "a", {".jsonl": rows})
        [cell] = made.store.read_usage(LOCAL).list_cells()
        assert (cell.messages, cell.input, cell.cost) == (2, most, most)


AROUND = [
    datetime(2026, 3, 28, 22, tzinfo=UTC) + number * timedelta(minutes=35) for number in range(60)
] + [datetime(2025, 10, 26, hour, 50, tzinfo=UTC) for hour in range(4)]  # fmt: skip
"""Times about which clocks change in Europe, in summer and in winter."""
BEFORE = datetime(1969, 12, 31, 22, 20, tzinfo=UTC)
MOST = (1 << 63) - 1


class OneByOne(RecountedUsage):
    """Usage whose cells are given: one for each answer."""

    def __init__(self, store: CatalogueStore, scope: Scope, cells: list[UsageCell]) -> None:
        super().__init__(store, scope)
        self._cells = cells

    def list_cells(self, _: Detail = FULL) -> list[UsageCell]:
        return self._cells


@pytest.mark.parametrize(
    "others",
    [
        pytest.param({}, id="usual"),
        pytest.param({"n": None}, id="no time"),
        pytest.param({"b": to_microseconds(BEFORE), "e": 0}, id="before 1970"),
        pytest.param({"l": 1 << 62}, id="beyond the calendar"),
        pytest.param({"x": 9_000 * QUARTER, "y": 9_001 * QUARTER}, id="early"),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_added_up_in_the_database_is_what_each_answer_comes_to(
    engine: str, others: dict[str, int | None]
) -> None:
    with machine(engine) as made:
        for session, end in (("a", 0), ("b", 1)):
            rows = [
                make_sighting(
                    f"{session}-{number}",
                    session_id=session,
                    time=to_microseconds(moment),
                    model=["claude-opus-5", "glm-5", "claude-haiku-4-5"][number % 3],
                    input=number,
                    speed=[None, "fast"][number % 2],
                    skill=[None, "brew"][number // 2 % 2],
                    mcp_server=[None, "kettle"][number // 4 % 2],
                    agent=[None, "Explore"][number // 8 % 2],
                )
                for number, moment in enumerate(AROUND)
                if number % 5 != end and "b" not in others  # days of half a century are not told apart at once
            ]
            if session == "a":
                rows += [
                    make_sighting(name, input=MOST if name in "xy" else 7, time=time)
                    for name, time in others.items()
                ]
            made.say("local", session, {".jsonl": rows})
        made.say(
            "guest", "c", {".jsonl": [make_sighting("c", time=others.get("b", to_microseconds(AROUND[0])))]}
        )
        kept = made.store.read_usage(LOCAL)
        each_by_itself = OneByOne(made.store, LOCAL, [answer.cell for answer in kept.list_answers()])
        for zone, by, breakdown, span, project in product(
            ("UTC", "Europe/Berlin", "Asia/Kathmandu"),
            [each for each in Grouping if each is not Grouping.TOOL],
            (None, Breakdown.AGENT),
            (Span(), Span(since=date(2026, 3, 29)), Span(date(2025, 10, 26), date(2026, 3, 28))),
            (None, "/work/a"),
        ):
            query = UsageQuery(
                zone=find_zone(zone), now=AROUND[40], by=by, breakdown=breakdown, span=span, project=project
            )
            assert build_report(kept, query) == build_report(each_by_itself, query), query
        assert others or len(kept.list_cells(Detail(frozenset(), length=0))) == 5


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_program_itself_says_is_kept(engine: str) -> None:
    summary = {"id": "a", "reported_cost": "1.25", "cost": "1.5", "counts": {"types": {"cost-state": 2}}}
    with machine(engine) as made:
        made.say("local", "a", {})
        known = find_known(made.store, LOCAL, make_key("a"))
        row = replace(make_session_row("a"), summary=msgspec.json.encode(summary))
        data = {f"a{end}": b"{}\n" * 9 for end in FILES}
        made.store.apply([make_batch(data, session_id="a", known=known, derived=Derived(session=row))])
        [reported] = made.store.read_usage(LOCAL).list_reported()
        assert (reported.session, reported.source) == ("a", "cost-state")
        assert (str(reported.cost_usd), str(reported.computed_usd)) == ("1.25", "1.5")
        made.forget("local", "a")
        assert made.store.read_usage(LOCAL).list_reported() == []


@pytest.mark.parametrize("engine", ENGINES)
def test_another_price_list_prices_everything_anew(engine: str) -> None:
    with machine(engine) as made:
        made.say("local", "a", {".jsonl": [make_sighting("m")]})
        before = made.store.read_usage(LOCAL).list_cells()
        made.store.close()
        execute(made.place, "UPDATE usage_prices SET list = 'older', version = '0.0.1'")
        execute(made.place, "UPDATE answers SET cost = 1")
        made.store = open_catalogue(made.place)
        assert made.store.read_usage(LOCAL).list_cells() == before
        prices = made.store.read_usage(LOCAL).find_prices()
        assert prices is not None
        assert prices.version != "0.0.1"
        writes = made.store.writes
        made.store.close()
        made.store = open_catalogue(made.place)
        assert (writes > 0, made.store.writes) == (True, 0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("UPDATE answers SET output = output + 1", "the usage of m is missing or wrong"),
        ("DELETE FROM answers", "the usage of m is missing or wrong"),
        ("UPDATE usage_rollup SET cost = cost + 1", "totals per quarter of an hour do not match their answers"),
        ("DELETE FROM usage_rollup", "totals per quarter of an hour do not match their answers"),
        (
            "INSERT INTO answers (hash, message_id, grp, time, flags, input, output, cache_read, "
            f"cache_write_5m, cache_write_1h, web_searches, cost, saved) SELECT {hash_text('n')}, {{letter}}, "
            "grp, time, 0, 0, 0, 0, 0, 0, 0, 0, 1 FROM answers",
            "the usage of n should not be there",
        ),
    ],
)
def test_what_was_altered_is_found_named_and_mended(engine: str, damage: str, told: str) -> None:
    with machine(engine) as made:
        made.say("local", "a", {".jsonl": [make_sighting("m")]})
        assert check_usage(made.store, LOCAL).left == ()
        execute(made.place, damage.format(letter="x'6e'" if engine == "sqlite" else "'\\x6e'::bytea"))
        assert told in [each.message for each in check_usage(made.store, LOCAL).left]
        checked = check_usage(made.store, LOCAL, repair=True)
        assert checked.left == ()
        assert told in [each.message for each in checked.repaired]
        made.check()


def execute(place: StorePlace, statement: str) -> list[tuple[object, ...]]:
    if isinstance(place, ServerPlace):
        with psycopg.connect(place.address, options=f"-c search_path={ARCHIVE_SCHEMA}") as driver:
            cursor = driver.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []
    with closing(apsw.Connection(str(place))) as connection:
        return connection.execute(statement).fetchall()


def test_answers_are_found_and_written_without_looking_at_all_of_them() -> None:
    with machine() as made:
        made.say("local", "a", {".jsonl": [make_sighting(f"m{number}") for number in range(300)]})
        made.store.close()
        scanned: list[tuple[int, str]] = []

        def watch(connection: apsw.Connection) -> None:
            connection.trace_v2(
                apsw.SQLITE_TRACE_PROFILE,
                lambda told: scanned.append(
                    (told["stmt_status"]["SQLITE_STMTSTATUS_FULLSCAN_STEP"], told["sql"])
                ),
            )

        apsw.connection_hooks.append(watch)
        try:
            made.store = open_catalogue(made.place)
            found = made.store.read_usage(LOCAL).find_answers(["m1"])
            made.say("local", "b", {".jsonl": [make_sighting("m2", session_id="b")]})
        finally:
            apsw.connection_hooks.remove(watch)
    assert [answer.message_id for answer in found] == ["m1"]
    of_answers = [each for each in scanned if "answers" in each[1]]
    assert len(of_answers) >= 4
    assert max(of_answers)[0] < 30, max(of_answers)

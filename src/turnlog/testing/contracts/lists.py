"""Lists of sessions and projects: filters, orders, pages, and the marks that people put on sessions."""

from __future__ import annotations

from decimal import Decimal
from itertools import count
from pathlib import Path

from turnlog.errors import CursorError, MarkError
from turnlog.store.batch import Derived
from turnlog.store.interface import ChangeKind, Store, find_known, find_sessions
from turnlog.store.lists import Facets, ProjectOrder, SessionFilter, SessionOrder, StoredSession
from turnlog.store.marks import MOST_TAGS, MarkChange, MarkedSession, Marks
from turnlog.store.model import LOCAL, Scope
from turnlog.testing.builders import make_key, make_line, make_lines
from turnlog.testing.contracts.base import ContractBase, keep
from turnlog.testing.row_builders import TIME, make_session_row

_HOUR = 3_600_000_000


class ListContract(ContractBase):
    """Contracts of lists."""

    def test_sessions_are_filtered_by_project(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _add(store, "a", project="/home/ada/One")
            _add(store, "b", project="/home/ada/One/inner")
            _add(store, "c", project="/home/ada/One0")
            _add(store, "d", project=None)
            _add(store, "e", project="/home/ada/caf\udce9")
            _add(store, "f", project="C:\\work\\one")
            for asked, expected in (
                (SessionFilter(project="/home/ada/One"), "a"),
                (SessionFilter(project="/home/ada"), ""),
                (SessionFilter(under="/home/ada/One"), "ab"),
                (SessionFilter(under="/home/ada/One/"), "b"),
                (SessionFilter(under="/"), "abce"),
                (SessionFilter(under="C:\\work"), "f"),
                (SessionFilter(project_text="ONE"), "abcf"),
                (SessionFilter(project_text="ada/caf\udce9"), "e"),
                (SessionFilter(project_text="%"), ""),
            ):
                assert _ids(store, asked) == expected, asked

    def test_sessions_are_filtered_by_what_they_are_called(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _add(store, "x1", title="About Straße")
            _add(store, "x2", title=None)
            _add(store, "y1", title="50%")
            store.mark(LOCAL, [make_key("x2")], MarkChange(name="Tea Time"))
            for asked, expected in (
                (SessionFilter(session="x"), "x1x2"),
                (SessionFilter(session="X"), ""),
                (SessionFilter(session=make_key("y1")[:12]), "y1"),
                (SessionFilter(text="STRASSE"), "x1"),
                (SessionFilter(text="tea t"), "x2"),
                (SessionFilter(text="%"), "y1"),
                (SessionFilter(text="_"), ""),
                (SessionFilter(name="TEA"), "x2"),
                (SessionFilter(name="time"), ""),
                (SessionFilter(name="tea", session="y"), ""),
            ):
                assert _ids(store, asked) == expected, asked

    def test_sessions_are_filtered_by_model_and_branch(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _add(store, "a", models=("claude-opus-4-1", "claude-haiku-4-5"), branches=("main",))
            _add(store, "b", models=("claude-haiku-4-5",), branches=("Fix/Tea", "main-2"))
            _add(store, "c", models=("claude-3-5-sonnet-20241022",))
            for asked, expected in (
                (SessionFilter(model="OPUS"), "a"),
                (SessionFilter(model="Opus 4.1"), "a"),
                (SessionFilter(model="sonnet 3.5"), "c"),
                (SessionFilter(model="o_us"), ""),
                (SessionFilter(model="%opus%"), ""),
                (SessionFilter(model="claude-haiku-4-5"), "ab"),
                (SessionFilter(model='","'), ""),
                (SessionFilter(branch="main"), "ab"),
                (SessionFilter(branch="fix/"), "b"),
                (SessionFilter(branch="fix/", model="opus"), ""),
            ):
                assert _ids(store, asked) == expected, asked

    def test_sessions_are_filtered_by_marks_and_those_put_away_are_left_out(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            a, b, c, _ = [_add(store, name) for name in "abcd"]
            store.mark(LOCAL, [a, b], MarkChange(tags=("x", "y"), starred=True))
            store.mark(LOCAL, [b, c], MarkChange(archived=True, untags=("y",)))
            for asked, expected in (
                (SessionFilter(), "ad"),
                (SessionFilter(archived=True), "bc"),
                (SessionFilter(archived=None), "abcd"),
                (SessionFilter(starred=True), "a"),
                (SessionFilter(starred=False, archived=None), "cd"),
                (SessionFilter(tags=("x",), archived=None), "ab"),
                (SessionFilter(tags=("x", "y"), archived=None), "a"),
                (SessionFilter(tags=("X",), archived=None), ""),
            ):
                assert _ids(store, asked) == expected, asked
                assert store.list_sessions(LOCAL, asked, limit=1).total == len(expected)
            store.undo_mark(LOCAL)
            assert _ids(store) == "abcd"

    def test_sessions_are_filtered_by_when_something_happened_in_them(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for name, first, last in (("a", 0, 2), ("b", 1, 4), ("c", 5, 5)):
                _add(store, name, first_time=TIME + first * _HOUR, last_time=TIME + last * _HOUR)
            _add(store, "d", first_time=None, last_time=None)
            for since, until, expected in (
                (3, None, "bc"),
                (4, None, "bc"),
                (None, 1, "a"),
                (3, 5, "b"),
                (6, None, ""),
            ):
                asked = SessionFilter(
                    since=None if since is None else TIME + since * _HOUR,
                    until=None if until is None else TIME + until * _HOUR,
                )
                assert _ids(store, asked) == expected, asked

    def test_sessions_are_filtered_by_what_went_wrong(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            _add(store, "a", errors=2, problems=0)
            _add(store, "b", errors=0, problems=3)
            for asked, expected in (
                (SessionFilter(errors=True), "a"),
                (SessionFilter(errors=False), "b"),
                (SessionFilter(problems=True), "b"),
                (SessionFilter(problems=False, errors=True), "a"),
            ):
                assert _ids(store, asked) == expected, asked

    def test_facets_count_the_sessions_that_are_asked_for(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            a = _add(store, "a", models=("opus", "haiku"), branches=("main", "main"))
            b = _add(store, "b", models=("haiku",), branches=("caf\u00e9",), errors=1)
            _add(store, "c", models=("sonnet",))
            store.mark(LOCAL, [a, b], MarkChange(tags=("y", "x")))
            store.mark(LOCAL, [b], MarkChange(untags=("y",)))
            found = store.list_facets(LOCAL)
            assert found.models == (("haiku", 2), ("opus", 1), ("sonnet", 1))
            assert found.branches == (("caf\u00e9", 1), ("main", 1))
            assert found.tags == (("x", 2), ("y", 1))
            found = store.list_facets(LOCAL, SessionFilter(errors=True))
            assert (found.models, found.tags) == ((("haiku", 1),), (("x", 1),))
            assert store.list_facets(Scope("somebody else")) == Facets(models=(), branches=(), tags=())

    def test_only_here_is_what_has_no_file_outside_any_more(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            agent = {"a/subagents/agent-1.jsonl": make_line(session_id="a", agent_id="1")}
            keep(store, {"a.jsonl": make_line(session_id="a"), **agent}, session_id="a")
            keep(store, {"b.jsonl": make_line(session_id="b")}, session_id="b")
            keep(store, agent, session_id="a")
            assert _ids(store, SessionFilter(only_here=True)) == ""
            [stored] = find_sessions(store, LOCAL, make_key("a"))
            assert (stored.present, stored.only_here) == (False, False)
            keep(store, {}, session_id="a")
            assert _ids(store, SessionFilter(only_here=True)) == "a"
            assert _ids(store, SessionFilter(only_here=False)) == "b"
            assert [stored.only_here for stored in find_sessions(store, LOCAL, make_key("a"))] == [True]
            assert [project.only_here for project in store.list_projects(LOCAL)] == [1]
            keep(store, {"a.jsonl": make_line(session_id="a")}, session_id="a")
            assert _ids(store, SessionFilter(only_here=True)) == ""

    def test_sessions_are_listed_in_every_order(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for name, title, hours, messages, tokens, cost in (
                ("a", "Cherry", 3, 1, 70, "10.25"),
                ("b", "apple", 1, 30, 7, "9.5"),
                ("c", "Banana", 2, 4, 700, None),
            ):
                _add(
                    store,
                    name,
                    title=title,
                    first_time=TIME - hours * _HOUR,
                    last_time=TIME + hours,
                    messages=messages,
                    input_tokens=tokens,
                    output_tokens=1,
                    cost=cost,
                )
            store.mark(LOCAL, [make_key("c")], MarkChange(name="zebra"))
            assert {order: _ids(store, order=order) for order in SessionOrder} == {
                SessionOrder.NEWEST: "acb",
                SessionOrder.OLDEST: "bca",
                SessionOrder.TITLE: "bac",
                SessionOrder.COST: "abc",
                SessionOrder.DURATION: "acb",
                SessionOrder.MESSAGES: "bca",
                SessionOrder.TOKENS: "cab",
            }

    def test_pages_put_together_hold_each_session_once(self, tmp_path: Path) -> None:
        """Though all of them are equal in what they are ordered by: then their keys decide."""
        with self.opened(tmp_path) as store:
            for number in range(7):
                _add(store, f"s{number}", title="same", cost="1")
            for number in range(4):  # and those that lack it come last
                _add(store, f"n{number}", title=None, cost=None, first_time=None, last_time=None)
            for order in SessionOrder:
                whole = store.list_sessions(LOCAL, order=order)
                assert (len(whole.sessions), whole.next, whole.total) == (11, None, 11)
                if order not in (SessionOrder.MESSAGES, SessionOrder.TOKENS):
                    assert {(stored.row.session_id or "")[0] for stored in whole.sessions[-4:]} == {"n"}, order
                for limit in (1, 3, 11):
                    assert _walk(store, order, limit) == [*whole.sessions]
            empty = store.list_sessions(LOCAL, limit=0)
            assert (empty.sessions, empty.next, empty.total) == ((), None, 11)

    def test_sessions_that_come_in_meanwhile_shift_nothing(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for number in range(6):
                _add(store, f"old-{number}", last_time=TIME + number)
            first = store.list_sessions(LOCAL, limit=2)
            _add(store, "new", last_time=TIME + 99)
            _add(store, "between", last_time=TIME + 1)
            store.mark(LOCAL, [first.sessions[-1].key], MarkChange(archived=True))  # the one the cursor names
            second = store.list_sessions(LOCAL, limit=10, cursor=first.next)
            names = [stored.row.session_id for stored in (*first.sessions, *second.sessions)]
            assert sorted(map(str, names)) == ["between", *(f"old-{number}" for number in range(6))]
            assert second.total == 7

    def test_sessions_of_one_series_are_one_in_a_grouped_list(self, tmp_path: Path) -> None:
        """If they are three or more: the first in the list's order stands for all that are listed."""
        with self.opened(tmp_path) as store:
            for number in range(4):
                _add(store, f"n{number}", series="nightly", last_time=TIME + number, cost=str(4 - number))
            for number in range(2):
                _add(store, f"w{number}", series="weekly", last_time=TIME + 10 + number, cost="9")
            for number in range(3):  # equal in all that they are ordered by: their keys decide
                _add(
                    store,
                    f"e{number}",
                    series="equal",
                    title="same",
                    first_time=None,
                    last_time=None,
                    cost=None,
                )
            _add(store, "typed", last_time=TIME + 5, cost="2")
            for order in SessionOrder:
                every = store.list_sessions(LOCAL, order=order)
                assert (every.total, every.rows, {each.alike for each in every.sessions}) == (10, 10, {1})
                whole = store.list_sessions(LOCAL, order=order, grouped=True)
                assert (whole.total, whole.rows, whole.next) == (10, 5, None)
                firsts: dict[str, StoredSession] = {}
                for each in every.sessions:
                    series = each.row.series
                    firsts.setdefault(each.key if series in (None, "weekly") else str(series), each)
                assert [each.key for each in whole.sessions] == [each.key for each in firsts.values()], order
                alike = {each.row.series: each.alike for each in whole.sessions}
                assert alike == {"nightly": 4, "weekly": 1, "equal": 3, None: 1}
                for limit in (1, 2, 5):
                    assert _walk(store, order, limit, grouped=True) == [*whole.sessions]
            assert _ids(store, SessionFilter(series="nightly")) == "n0n1n2n3"
            assert _ids(store, SessionFilter(series="night")) == ""
            late = SessionFilter(since=TIME + 2)
            assert {each.alike for each in store.list_sessions(LOCAL, late, grouped=True).sessions} == {1}
            none = store.list_sessions(LOCAL, SessionFilter(text="nothing"), grouped=True)
            assert (none.sessions, none.total, none.rows) == ((), 0, 0)

    def test_a_series_that_grows_is_not_listed_twice(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for number in range(3):
                _add(store, f"run-{number}", series="nightly", last_time=TIME + 10 + number)
                _add(store, f"typed-{number}", last_time=TIME + number)
            first = store.list_sessions(LOCAL, limit=2, grouped=True)
            _add(store, "run-3", series="nightly", last_time=TIME + 99)
            second = store.list_sessions(LOCAL, limit=10, cursor=first.next, grouped=True)
            names = [each.row.session_id for each in (*first.sessions, *second.sessions)]
            assert names == ["run-2", "typed-2", "typed-1", "typed-0"]
            again = store.list_sessions(LOCAL, limit=1, grouped=True)
            assert (again.sessions[0].row.session_id, again.sessions[0].alike) == ("run-3", 4)

    def test_a_cursor_of_something_else_is_refused(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for number in range(3):
                _add(store, f"s{number}")
            cursor = store.list_sessions(LOCAL, limit=1).next
            assert cursor is not None
            for wrong, order in (
                ("", SessionOrder.NEWEST),
                ("x", SessionOrder.NEWEST),
                ("é", SessionOrder.NEWEST),
                (cursor[:-3], SessionOrder.NEWEST),
                ("WyJuZXdlc3QiLDFlOTksImsiLDFd", SessionOrder.NEWEST),  # one part too many
                ("WyJuZXdlc3QiLDk5OTk5OTk5OTk5OTk5OTk5OTk5OTksImsiXQ", SessionOrder.NEWEST),  # too large
                (cursor, SessionOrder.COST),
            ):
                try:
                    store.list_sessions(LOCAL, order=order, cursor=wrong)
                except CursorError:
                    continue
                raise AssertionError(f"the store took {wrong!r}")

    def test_projects_add_up_their_sessions(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            huge = (1 << 63) - 1
            _add(store, "a", project="/tea", first_time=TIME, last_time=TIME + 5, cost="0.1", input_tokens=huge)
            b = _add(
                store, "b", project="/tea", first_time=TIME - 1, last_time=TIME, cost="0.2", input_tokens=huge
            )
            _add(store, "c", project="/Coffee", cost=None, first_time=None, last_time=None)
            _add(store, "d", project=None)
            store.mark(LOCAL, [b], MarkChange(archived=True))
            tea, nowhere, coffee = store.list_projects(LOCAL)
            assert (tea.path, nowhere.path, coffee.path) == ("/tea", None, "/Coffee")
            assert (tea.sessions, tea.archived, tea.only_here) == (2, 1, 0)
            assert (tea.first_time, tea.last_time) == (TIME - 1, TIME + 5)
            assert (tea.prompts, tea.answers) == (2, 4)
            assert (tea.input_tokens, tea.output_tokens) == (2 * huge, 16)
            assert (tea.cost, tea.unpriced) == (Decimal("0.3"), 0)
            assert (coffee.cost, coffee.unpriced, coffee.first_time) == (None, 1, None)

    def test_projects_are_found_by_a_part_of_their_path_and_ordered(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            for name, project, cost, tokens in (
                ("a", "/b/tea", "1", 5),
                ("b", "/A/Tea", "2", 3),
                ("c", "/A/Tea", None, 3),
                ("d", "/c", "1.5", 1),
            ):
                _add(store, name, project=project, cost=cost, input_tokens=tokens, output_tokens=0)
            assert [each.path for each in store.list_projects(LOCAL, text="TEA")] == ["/A/Tea", "/b/tea"]
            assert store.list_projects(LOCAL, text="coffee") == []
            for order, expected in _ORDERS.items():
                assert [each.path for each in store.list_projects(LOCAL, order=order)] == expected, order


_ORDERS = {
    ProjectOrder.NEWEST: ["/A/Tea", "/b/tea", "/c"],
    ProjectOrder.NAME: ["/A/Tea", "/b/tea", "/c"],
    ProjectOrder.SESSIONS: ["/A/Tea", "/b/tea", "/c"],
    ProjectOrder.COST: ["/A/Tea", "/c", "/b/tea"],
    ProjectOrder.TOKENS: ["/A/Tea", "/b/tea", "/c"],
}


def _add(store: Store, session_id: str, **changes: object) -> str:
    """Put a session of one line into a store, with a row that says what is wanted, and return its key."""
    derived = Derived(session=make_session_row(session_id, **changes))
    files = {f"{session_id}.jsonl": make_line(session_id=session_id)}
    return keep(store, files, session_id=session_id, derived=derived).key


def _ids(store: Store, asked: SessionFilter | None = None, order: SessionOrder | None = None) -> str:
    """Return the ids of what is listed, one behind the other; without an order by their names."""
    page = store.list_sessions(LOCAL, asked or SessionFilter(), order=order or SessionOrder.NEWEST)
    ids = [stored.row.session_id or "" for stored in page.sessions]
    return "".join(sorted(ids) if order is None else ids)


def _walk(store: Store, order: SessionOrder, limit: int, *, grouped: bool = False) -> list[StoredSession]:
    """Return all sessions, page by page."""
    found: list[StoredSession] = []
    cursor: str | None = None
    for number in count():
        page = store.list_sessions(LOCAL, order=order, limit=limit, cursor=cursor, grouped=grouped)
        assert page.total == (10 if grouped else 11)
        assert number < 12
        found += page.sessions
        cursor = page.next
        if cursor is None:
            break
    return found


_TRANSCRIPT = "session-1.jsonl"
_OTHER = Scope("somebody else")


class MarkContract(ContractBase):
    """Contracts of marks."""

    def test_a_session_that_was_never_marked_has_none(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            [key] = _fill(store, 1)
            assert find_marks(store, LOCAL, key) == Marks()
            assert store.list_sessions(LOCAL).sessions[0].marks == Marks()
            assert store.list_facets(LOCAL).tags == ()
            assert store.undo_mark(LOCAL) == []

    def test_marks_add_up_and_are_there_in_every_answer(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            [key] = _fill(store, 1)
            store.mark(LOCAL, [key], MarkChange(name="Tea", tags=("b", "a")))
            store.mark(LOCAL, [key], MarkChange(starred=True, note="two\nlines", tags=("c",), untags=("b",)))
            expected = Marks(name="Tea", tags=("a", "c"), starred=True, note="two\nlines")
            assert find_marks(store, LOCAL, key) == expected
            assert [stored.marks for stored in store.list_sessions(LOCAL).sessions] == [expected]
            assert [stored.marks for stored in find_sessions(store, LOCAL, key)] == [expected]
            assert store.list_facets(LOCAL).tags == (("a", 1), ("c", 1))

    def test_an_empty_name_or_note_takes_it_away(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            [key] = _fill(store, 1)
            store.mark(LOCAL, [key], MarkChange(name="Tea", note="hot"))
            store.mark(LOCAL, [key], MarkChange(name=" ", note=None))
            assert find_marks(store, LOCAL, key) == Marks()

    def test_only_what_differs_is_told_and_is_in_the_feed(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            one, two = _fill(store, 2)
            seq = store.read_feed(LOCAL).last
            change = MarkChange(starred=True)
            first = store.mark(LOCAL, [one, one, "nobody"], change)
            assert first == [MarkedSession(key=one, before=Marks(), after=Marks(starred=True))]
            assert [each.key for each in store.mark(LOCAL, [one, two], change)] == [two]
            assert store.mark(LOCAL, [one, two], change) == []
            told = store.read_feed(LOCAL, after=seq).entries
            assert [(each.kind, each.session) for each in told] == [
                (ChangeKind.SESSION_MARKED, one),
                (ChangeKind.SESSION_MARKED, two),
            ]
            known = find_known(store, LOCAL, one)
            assert known is not None
            assert told[0].revision == known.revision

    def test_the_last_change_is_taken_back_and_then_the_one_before(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            one, two = _fill(store, 2)
            store.mark(LOCAL, [one], MarkChange(name="first"))
            store.mark(LOCAL, [one, two], MarkChange(name="both", archived=True))
            store.mark(LOCAL, [two], MarkChange(tags=("t",)))
            assert [each.key for each in store.undo_mark(LOCAL)] == [two]
            undone = store.undo_mark(LOCAL)
            assert {each.key: each.after for each in undone} == {one: Marks(name="first"), two: Marks()}
            assert find_marks(store, LOCAL, one) == Marks(name="first")
            store.mark(LOCAL, [two], MarkChange(starred=True))
            assert [each.after for each in store.undo_mark(LOCAL)] == [Marks()]
            assert [each.after for each in store.undo_mark(LOCAL)] == [Marks()]
            assert store.undo_mark(LOCAL) == []
            assert (find_marks(store, LOCAL, one), find_marks(store, LOCAL, two)) == (Marks(), Marks())

    def test_marks_stay_when_their_session_changes_and_when_its_files_are_gone(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            key = keep(store, {_TRANSCRIPT: make_lines(2)}).key
            store.mark(LOCAL, [key], MarkChange(name="Tea"))
            for files in ({_TRANSCRIPT: make_lines(4)}, {_TRANSCRIPT: make_lines(2, first=9)}, {}):
                keep(store, files)
                assert find_marks(store, LOCAL, key) == Marks(name="Tea")
        with self.reopened(tmp_path) as store:
            assert find_marks(store, LOCAL, key) == Marks(name="Tea")
            assert [each.after for each in store.undo_mark(LOCAL)] == [Marks()]

    def test_nobody_marks_or_takes_back_for_another_owner(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            [key] = _fill(store, 1)
            store.mark(LOCAL, [key], MarkChange(name="Tea"))
            seq = store.read_feed(LOCAL).last
            assert store.mark(_OTHER, [key], MarkChange(name="Coffee")) == []
            assert store.undo_mark(_OTHER) == []
            assert find_marks(store, LOCAL, key) == Marks(name="Tea")
            assert (store.read_feed(LOCAL).last, store.read_feed(_OTHER).last) == (seq, 0)

    def test_of_a_change_that_one_session_cannot_have_nothing_is_written(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            one, two = _fill(store, 2)
            store.mark(LOCAL, [two], MarkChange(tags=tuple(f"t{number}" for number in range(MOST_TAGS))))
            seq = store.read_feed(LOCAL).last
            try:
                store.mark(LOCAL, [one, two], MarkChange(tags=("more",)))
            except MarkError:
                assert find_marks(store, LOCAL, one) == Marks()
                assert store.read_feed(LOCAL).last == seq
            else:
                raise AssertionError("the store took too many tags")


def _fill(store: Store, count: int) -> list[str]:
    """Put sessions of two lines each into a store, and return their keys."""
    names = [f"session-{number}" for number in range(1, count + 1)]
    for name in names:
        keep(store, {f"{name}.jsonl": make_lines(2, session_id=name)}, session_id=name)
    return [make_key(name) for name in names]


def find_marks(store: Store, scope: Scope, key: str) -> Marks:
    """Return what is said about a session; of one that is not there, nothing is."""
    return next((found.marks for found in find_sessions(store, scope, key) if found.key == key), Marks())

"""The language: what each rule gives, and what each mistake says, and where."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.search.search_strategies import format_query, queries
from turnlog.errors import QueryError
from turnlog.store.search.language import (
    CHOICES,
    FILTERS,
    LONGEST,
    And,
    Filter,
    Form,
    Node,
    Not,
    Or,
    Query,
    Term,
    join_and,
    join_or,
    list_terms,
    negate,
    parse_query,
)
from turnlog.store.search.normal_form import normalise
from turnlog.transcripts.kinds import Category, Role
from turnlog.transcripts.lines.passages import PassageKind

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)


def word(needle: str, at: int = 0) -> Term:
    return Term(needle, Form.WORD, at)


def exact(needle: str, at: int = 0) -> Term:
    return Term(needle, Form.SUBSTRING, at)


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("foo", word("foo")),
        ("  foo\n", word("foo", 2)),
        ("été", word("été")),
        ("e\u0301te\u0301", word("e\u0301te\u0301")),
        ("foo bar", And((word("foo"), word("bar", 4)))),
        ("foo*", Term("foo", Form.PREFIX)),
        ("*foo", Term("foo", Form.SUFFIX)),
        ("*foo*", exact("foo")),
        ("***", exact("*")),
        ("fo*o", exact("fo*o")),
        ("foo_bar.baz", exact("foo_bar.baz")),
        ("--flag", exact("--flag")),
        ("src/x.py", exact("src/x.py")),
        ("C++", exact("C++")),
        ("a,b", exact("a,b")),
        ("漢字", exact("漢字")),
        ("한국", exact("한국")),
        ("ไทย", exact("ไทย")),
        ("Python入門", exact("Python入門")),
        ('"to  be"', Term("to  be", Form.PHRASE)),
        ('"a"b', And((Term("a", Form.PHRASE), word("b", 3)))),
        (r'"say \"x\" C:\\ \d"', Term('say "x" C:\\ \\d', Form.PHRASE)),
        ('"foo ba"*', Term("foo ba", Form.PREFIX)),
        ('*"o b"', Term("o b", Form.SUFFIX)),
        ('*"o b"*', exact("o b")),
        ('say"x', exact('say"x')),
        ("-foo", Not(word("foo", 1))),
        ("-foo*", Not(Term("foo", Form.PREFIX, 1))),
        ('-"a b"', Not(Term("a b", Form.PHRASE, 1))),
        ("-(-foo)", word("foo", 3)),
        ("a-b", exact("a-b")),
        ("a OR b", Or((word("a"), word("b", 5)))),
        ("a OR b OR c", Or((word("a"), word("b", 5), word("c", 10)))),
        ("a b OR c d", And((word("a"), Or((word("b", 2), word("c", 7))), word("d", 9)))),
        ("a OR -b", Or((word("a"), Not(word("b", 6))))),
        ("a or b", And((word("a"), word("or", 2), word("b", 5)))),
        ("ORDER", word("ORDER")),
        ("(a b) OR c", Or((And((word("a", 1), word("b", 3))), word("c", 9)))),
        ("((a) (b c))", And((word("a", 2), word("b", 6), word("c", 8)))),
        ("-(a OR b)", Not(Or((word("a", 2), word("b", 7))))),
        ("print(x)", exact("print(x)")),
        ("(print(x))", exact("print(x)", 1)),
        ("foo( bar", And((exact("foo("), word("bar", 5)))),
        ("http://a.b", exact("http://a.b")),
        ("std::vector", exact("std::vector")),
        ("main.py:42", exact("main.py:42")),
        ("TypeError: x", And((exact("TypeError:"), word("x", 11)))),
        ("12:30", exact("12:30")),
        ("tool:Bash", Filter("tool", ("Bash",))),
        ("TOOL:Bash", Filter("tool", ("Bash",))),
        ("tool:Bash,Read,Bash", Filter("tool", ("Bash", "Read"))),
        ("tool:Bash x tool:Read", And((Filter("tool", ("Bash", "Read")), word("x", 10)))),
        ("-tool:Bash -tool:Read", And((Not(Filter("tool", ("Bash",), 1)), Not(Filter("tool", ("Read",), 12))))),
        ('project:"my dir",x', Filter("project", ("my dir", "x"))),
        ("(file:a(1).py)", Filter("file", ("a(1).py",), 1)),
        ("project:C:\\x", Filter("project", ("C:\\x",))),
        ("is:error is:sidechain", And((Filter("is", ("error",)), Filter("is", ("sidechain",), 9)))),
        (
            "kind:Tool_Input role:tool-use",
            And((Filter("kind", ("tool-input",)), Filter("role", ("tool_use",), 16))),
        ),
    ],
)
def test_what_is_meant(text: str, root: Node) -> None:
    assert parse_query(text) == Query(root)


def test_case_and_accents_are_about_the_whole_query() -> None:
    assert parse_query("case:yes foo accents:yes") == Query(word("foo", 9), case=True, accents=True)
    assert parse_query("foo case:no") == Query(word("foo"))
    assert parse_query("foo case:yes case:yes").case


def test_a_word_that_is_being_typed_may_go_on() -> None:
    assert parse_query("foo ba", typing=True).root == And((word("foo"), Term("ba", Form.PREFIX, 4)))
    assert parse_query("foo ba ", typing=True).root == And((word("foo"), word("ba", 4)))
    assert parse_query("a -ba", typing=True).root == And((word("a"), Not(Term("ba", Form.PREFIX, 3))))
    assert parse_query("foo_b", typing=True).root == exact("foo_b")
    assert parse_query('"foo b"', typing=True).root == Term("foo b", Form.PHRASE)
    assert parse_query("*foo", typing=True).root == exact("foo")


@pytest.mark.parametrize(
    ("text", "at", "says"),
    [
        ("", 0, "Expected something to look for, got nothing"),
        ("  ", 2, "Expected something to look for, got nothing"),
        ("case:yes", 8, "Expected something to look for, got nothing"),
        ("foo -", 4, "Expected a term directly after -, got nothing"),
        ("- foo", 0, "Expected a term directly after -, got nothing"),
        ("(-)", 1, "Expected a term directly after -, got nothing"),
        ('foo "bar', 4, 'Expected a closing " for this quote, got the end'),
        (r'"bar\"', 0, 'Expected a closing " for this quote, got the end'),
        ('project:"x', 8, 'Expected a closing " for this quote, got the end'),
        ('x ""', 2, 'Expected something to look for, got ""'),
        ('"  "', 0, 'Expected something to look for, got "  "'),
        ("x *", 2, "Expected something to look for, got *"),
        ("**", 0, "Expected something to look for, got **"),
        ("x \u0301", 2, 'Expected something to look for, got "\u0301"'),
        ("a (b", 2, "Expected ) for this parenthesis, got the end"),
        ("a)", 1, "Expected a term, got ) without a matching ("),
        ("()", 1, "Expected a term between parentheses, got nothing"),
        ("OR a", 0, "Expected a term on both sides of OR, got none before it"),
        ("a OR", 2, "Expected a term after OR, got nothing"),
        ("a OR OR b", 5, "Expected a term on both sides of OR, got none before it"),
        ("(a OR) b", 3, "Expected a term after OR, got nothing"),
        ("x foo:bar", 2, "Expected one of the filters project, session, tool, "),
        ("tool:", 5, "Expected a value for tool:, got nothing"),
        ("tool:a,,b", 7, "Expected a value for tool:, got nothing"),
        ('tool:""', 5, "Expected a value for tool:, got nothing"),
        ("is:broken", 3, "Expected is: to be one of error, sidechain, got broken"),
        ("role:king", 5, "Expected role: to be one of user, assistant, "),
        ("kind:user,prompt", 5, "Expected kind: to be one of prompt, answer, "),
        ("case:maybe x", 5, "Expected case: to be one of yes, no, got maybe"),
        ("x after:soon", 8, "Expected a time like 2026-03-14, 2026-03-14T15:09, today or 7d"),
        ("before:2026-02-30", 7, "Expected a time like 2026-03-14"),
        ("before:99999999d", 7, "Expected a time like 2026-03-14"),
        ("after:999999y", 6, "Expected a time like 2026-03-14"),
        ("after:7m", 6, "Expected a time like 2026-03-14"),
        ("after:1d,2d", 0, "Expected one time for after:, got 2"),
        (
            "(case:yes x)",
            1,
            "Expected case: outside parentheses, OR and -, since it applies to the whole query",
        ),
        ("-case:yes x", 1, "Expected case: outside parentheses, OR and -"),
        ("x OR case:yes", 5, "Expected case: outside parentheses, OR and -"),
        ("case:yes OR x", 0, "Expected case: outside parentheses, OR and -"),
        ("case:yes case:no x", 9, "Expected case: once, got it twice"),
        ("x" * (LONGEST + 1), LONGEST, "Expected at most 2,000 characters, got 2,001"),
        ("(" * 40 + "x" + ")" * 40, 32, "Expected at most 32 nested parentheses, got more"),
    ],
)
def test_what_is_wrong_and_where(text: str, at: int, says: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert (caught.value.at, caught.value.reason[: len(says)]) == (at, says)
    assert str(caught.value) == f"{caught.value.reason} - at character {at + 1}"


def micros(*moment: int) -> int:
    year, month, day, *time = moment
    return int((datetime(year, month, day, tzinfo=UTC) + _time(time)).timestamp()) * 1_000_000


def _time(parts: list[int]) -> timedelta:
    hours, minutes, seconds = (*parts, 0, 0, 0)[:3]
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026", (2026, 1, 1)),
        ("2026-02", (2026, 2, 1)),
        ("2026-02-03", (2026, 2, 3)),
        ("2026-02-03T04:05", (2026, 2, 3, 4, 5)),
        ("2026-02-03t04:05:06z", (2026, 2, 3, 4, 5, 6)),
        ('"2026-02-03 04:05:06"', (2026, 2, 3, 4, 5, 6)),
        ("2026-02-03T04:05+02:00", (2026, 2, 3, 2, 5)),
        ("today", (2026, 3, 14)),
        ("Yesterday", (2026, 3, 13)),
        ("30min", (2026, 3, 14, 11, 30)),
        ("12h", (2026, 3, 14, 0)),
        ("7d", (2026, 3, 7, 12)),
        ("2w", (2026, 2, 28, 12)),
        ("1mo", (2026, 2, 12, 12)),
        ("1y", (2025, 3, 14, 12)),
    ],
)
def test_times(text: str, moment: tuple[int, ...]) -> None:
    found = parse_query(f"after:{text}", now=NOW, zone=UTC).root
    assert isinstance(found, Filter)
    assert found.instant == micros(*moment)


def test_days_begin_at_midnight_where_one_is() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    for day, offset in (("2026-01-10", 1), ("2026-07-10", 2)):
        found = parse_query(f"before:{day}", zone=berlin).root
        assert isinstance(found, Filter)
        expected = datetime.fromisoformat(day).replace(tzinfo=timezone(timedelta(hours=offset)))
        assert found.instant == int(expected.timestamp()) * 1_000_000
    late = datetime(2026, 3, 14, 23, 30, tzinfo=UTC)
    found = parse_query("after:today", now=late, zone=berlin).root
    assert isinstance(found, Filter)
    assert found.instant == micros(2026, 3, 14, 23)


def test_the_machine_has_a_zone_and_a_clock() -> None:
    found = parse_query("after:today").root
    assert isinstance(found, Filter)
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    assert found.instant == int(midnight.timestamp()) * 1_000_000


@given(
    st.text(max_size=30) | st.lists(st.sampled_from([*'"()-*:,\\ a漢', "OR", "tool:", "case:yes"])).map("".join)
)
def test_any_text_is_a_query_or_gets_a_place(text: str) -> None:
    for typing in (False, True):
        places = []
        try:
            places += [term.at for term in list_terms(parse_query(text, typing=typing).root)]
        except QueryError as error:
            places.append(error.at)
        assert all(0 <= at <= len(text) for at in places)


def without_places(node: Node) -> Node:
    if isinstance(node, Term):
        return Term(node.needle, node.form)
    if isinstance(node, Filter):
        return Filter(node.name, node.values, 0, node.instant)
    if isinstance(node, Not):
        return Not(without_places(node.part))
    return type(node)(tuple(map(without_places, node.parts)))


@given(queries)
def test_what_is_printed_is_parsed_to_the_same_tree(query: Query) -> None:
    def says_nothing(term: Term) -> bool:
        return not normalise(term.needle, case=query.case, accents=query.accents).strip()

    if any(map(says_nothing, list_terms(query.root))) or len(format_query(query)) > LONGEST:
        return
    parsed = parse_query(format_query(query))  # a tree made by hand may be built otherwise than a parsed one
    assert [term.needle for term in list_terms(parsed.root)] == [term.needle for term in list_terms(query.root)]
    again = parse_query(format_query(parsed))
    assert without_places(again.root) == without_places(parsed.root)
    assert (again.case, again.accents) == (query.case, query.accents)
    assert format_query(again) == format_query(parsed)


@pytest.mark.parametrize(
    "text",
    [
        "foo bar",
        "foo* *bar *baz*",
        "foo_bar.baz --flag src/x.py",
        '"to be" "OR"',
        "(a OR b) c",
        "(a OR b) case:yes",
        "(a b) OR c",
        "-(a OR b) -c",
        "-(--flag)",
        r'"a\"b\\"',
        '*"(x)"*',
        'tool:Bash,"a b" is:error foo',
        "foo case:yes accents:yes",
        "漢字",
        "after:7d before:2026-01-01",
    ],
)
def test_a_query_that_is_written_plainly_is_printed_as_it_is(text: str) -> None:
    assert format_query(parse_query(text)) == text


def test_trees_are_built_flat() -> None:
    a, b, c = word("a"), word("b"), word("c")
    assert join_and([And((a, b)), c]) == And((a, b, c))
    assert join_or([a, Or((b, c))]) == Or((a, b, c))
    assert join_and([a]) == join_or([a]) == negate(negate(a)) == a
    assert list_terms(And((a, Not(b))), positive_only=True) == [a]


def test_filters_know_the_words_of_their_types() -> None:
    assert CHOICES["role"] == tuple(Role)
    assert CHOICES["category"] == tuple(Category)
    assert CHOICES["kind"] == tuple(PassageKind)
    assert set(CHOICES) - {"case", "accents"} <= set(FILTERS)

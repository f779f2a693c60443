"""What is a hit, and where."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.search.matching_reference import compares, is_hit, list_places
from store.search.search_strategies import queries, terms, texts
from turnlog.store.search.language import Filter, Form, Query, Term, list_terms, parse_query
from turnlog.store.search.matcher import LineFilter, Matcher, TextAttributes
from turnlog.store.search.normal_form import normalise
from turnlog.transcripts.lines.passages import json_text

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
NOON = int(NOW.timestamp()) * 1_000_000
ATTRIBUTES = TextAttributes(
    kind="tool-output",
    project="/home/ada/Café",
    session_ids=("0a1b2c", "feed"),
    tool="mcp__git__log",
    model="claude-opus-4-5",
    role="tool_result",
    category="mcp",
    branch="feature/Search",
    person="ada.l",
    machine=("3F2a77", "Ada's Laptop"),
    file="/src/app.py",
    is_error=True,
    is_sidechain=False,
    agents=("a77", "Explore"),
    time=NOON,
)

_paths = st.sampled_from(["Bash", "/my dir/x", "a,b", "X1", 'q"r', "back\\slash", "(y)", "/src/x.py"])
settings = st.builds(
    TextAttributes,
    kind=st.sampled_from(["prompt", "tool-output"]),
    project=_paths | st.none(),
    session_ids=st.lists(_paths, max_size=2).map(tuple),
    tool=_paths | st.none(),
    model=_paths | st.none(),
    role=st.just("user"),
    category=st.none(),
    branch=_paths | st.none(),
    person=_paths | st.none(),
    machine=st.lists(_paths, min_size=1, max_size=2).map(tuple),
    file=_paths | st.none(),
    is_error=st.booleans(),
    is_sidechain=st.booleans(),
    agents=st.lists(_paths, max_size=2).map(tuple),
    time=st.just(NOON),
)


def search(query: str) -> Matcher:
    return Matcher(parse_query(query, now=NOW, zone=UTC))


@given(texts, terms, st.booleans(), st.booleans())
def test_a_term_is_where_the_reference_finds_it(text: str, term: Term, case: bool, accents: bool) -> None:
    if not normalise(term.needle, case=case, accents=accents).strip():
        return
    matcher = Matcher(Query(term, case, accents))
    for body in (text, text + term.needle, f"{text} {term.needle} {text}"):
        normal = compares(body, case, accents)
        assert matcher.normalise(body) == normal
        places = list_places(term, normal, case, accents)
        assert matcher.matches(body) is bool(places)
        spans = matcher.find_spans(body)
        assert bool(spans) is bool(places)
        for start, end in spans:
            assert 0 <= start < end <= len(body)
            assert normalise(term.needle, case=case, accents=accents).split()[0] in compares(
                body[start:end], case, accents
            )


@given(texts, queries, settings)
def test_a_query_is_true_of_what_the_reference_says(
    text: str, query: Query, attributes: TextAttributes
) -> None:
    terms = list_terms(query.root)
    if not all(normalise(term.needle, case=query.case, accents=query.accents).strip() for term in terms):
        return
    matcher = Matcher(query)
    for body in (text, " ".join([text, *(term.needle for term in terms)])):
        hit = matcher.matches(body, attributes)
        assert hit is is_hit(query, body, attributes)
        assert matcher.matches_normal(matcher.normalise(body), attributes) is hit
        assert matcher.matches_attributes(attributes) in (hit, None)
        assert matcher.matches_attributes(TextAttributes(kind=attributes.kind, project=attributes.project)) in (
            hit,
            None,
        )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("project:cafe", True),
        ("project:CAFÉ", True),
        ("project:ada/c", True),
        ("project:bob", False),
        ("session:0A1B", True),
        ("session:fee", True),
        ("session:eed", False),
        ("tool:mcp__git__log", True),
        ("tool:MCP__*", True),
        ("tool:mcp__*__log", True),
        ("tool:*__g*t__*", True),
        ("tool:mcp", False),
        ("tool:*log*log", False),
        ("tool:Bash,mcp__git__log", True),
        ("tool:Bash tool:mcp__git__log", True),
        ("-tool:Bash", True),
        ("model:*opus*", True),
        ("model:opus", True),
        ('model:"Opus 4.5"', True),
        ("model:haiku", False),
        ("role:tool-result", True),
        ("role:user", False),
        ("category:mcp", True),
        ("branch:search", True),
        ("person:Ada.L", True),
        ("person:ada", False),
        ("person:ada*", True),
        ("-person:bob", True),
        ("machine:3f2a", True),
        ("machine:f2a", False),
        ('machine:"ada\'s laptop"', True),
        ("machine:ada", False),
        ("machine:*laptop", True),
        ("-machine:3f2a", False),
        ("machine:other,3f2", True),
        ("file:app.py", True),
        ("kind:tool_output", True),
        ("kind:prompt,tool-output", True),
        ("agent:a7", True),
        ("agent:explore", True),
        ("agent:x", False),
        ("is:error", True),
        ("is:sidechain", False),
        ("is:error,sidechain", True),
        ("is:error is:sidechain", False),
        ("-is:sidechain", True),
        ("after:2026-03-14", True),
        ("after:2026-03-14T12:00Z", True),
        ("after:2026-03-14T12:00:01Z", False),
        ("before:2026-03-14T12:00Z", False),
        ("before:2026-03-15", True),
        ("after:today", True),
        ("before:today", False),
        ("after:1h", True),
        ("before:1h", False),
        ("after:2026-03 before:2026-04", True),
        ("(tool:Bash OR is:error) -role:user", True),
    ],
)
def test_filters(query: str, expected: bool) -> None:
    matcher = search(query)
    assert matcher.matches("", ATTRIBUTES) is expected
    assert matcher.matches_attributes(ATTRIBUTES) is expected
    assert matcher.matches_attributes(TextAttributes()) is None, "nothing is known yet"
    assert not matcher.matches("")


def test_what_has_no_value_has_not_that_one() -> None:
    bare = TextAttributes(project=None, tool=None, time=None, session_ids=(), agents=(), is_error=False)
    for query in ("project:x", "tool:*", "after:1y", "before:2026", "session:a", "agent:a", "is:error"):
        assert search(query).matches_attributes(bare) is False
        assert search(f"-{query}").matches_attributes(bare) is True


@pytest.mark.parametrize(
    ("query", "attributes", "expected"),
    [
        ("foo tool:Bash", TextAttributes(tool="Read"), False),
        ("foo tool:Bash", TextAttributes(tool="Bash"), None),
        ("foo OR tool:Bash", TextAttributes(tool="Bash"), True),
        ("foo OR tool:Bash", TextAttributes(tool="Read"), None),
        ("-foo tool:Bash", TextAttributes(), None),
        ("project:x tool:Bash", TextAttributes(project="y"), False),
        ("project:x tool:Bash", TextAttributes(project="x"), None),
        ("-(project:x foo)", TextAttributes(project="y"), True),
    ],
)
def test_a_setting_may_settle_it_alone(query: str, attributes: TextAttributes, expected: bool | None) -> None:
    assert search(query).matches_attributes(attributes) is expected


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("foo bar", "foo, BAR foo", ["foo", "BAR", "foo"]),
        ("foo -bar", "foo", ["foo"]),
        ("-(-foo)", "foo", ["foo"]),
        ("foo OR bar", "bar", ["bar"]),
        ("uber", "U\u0308BER", ["U\u0308BER"]),
        ("x", "e\u0301\u0323 X", ["X"]),
        ("각", "\u1100\u1161\u11a8!", ["\u1100\u1161\u11a8"]),
        ("i accents:yes", "İ i", ["i"]),
        ("*i* accents:yes", "İ i", ["İ", "i"]),
        ("oba* *foobar*", "foobarbaz", ["foobar"]),
        ("foob* *barb*", "foobarbaz", ["foobarb"]),
        ('"a b"', "a \n b", ["a \n b"]),
        ("⚠", "⚠\ufe0f x", ["⚠\ufe0f"]),
        ("*αβα", "γαβαβα", ["αβα"]),
    ],
)
def test_spans_are_told_in_the_text_itself(query: str, text: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end in search(query).find_spans(text)] == marked


_phrases = st.builds(Term, st.sampled_from(["to be", "be or not", "9 to"]), st.sampled_from(Form))
_values = st.lists(texts | st.integers() | st.sampled_from(["to", "be", "or not"]), min_size=1, max_size=3)


@given(_values, terms | _phrases, st.booleans(), st.booleans())
def test_no_line_with_a_hit_is_left_out_unread(
    values: list[str | int], term: Term, ascii_only: bool, spaced: bool
) -> None:
    separators = (" ,\n", ": ") if spaced else (",", ":")
    written = json.dumps({"a": values, "b": ""}, ensure_ascii=ascii_only, separators=separators)
    raw = written.encode("utf-8", "surrogatepass")
    query = Query(term)
    for text in (json_text(raw), *map(str, values)):
        if Matcher(query).matches(text):
            assert LineFilter(query).lets_through(raw, "tool-input")
            assert LineFilter(query).lets_through(raw, "prompt")


@pytest.mark.parametrize(
    ("query", "raw", "expected"),
    [
        ('"to be"', rb'{"text":"to  \n\tbe"}', True),
        ('"to be"', rb'{"text":"to\u001cbe"}', True),
        ('"to be"', '{"text":"to\u3000be"}'.encode(), True),
        ('"to be"', rb'{"text":"To","more":"be"}', True),
        ('"1 be"', rb'{"text":1, "more":"be"}', True),
        ('"to be"', rb'{"text":"to see or be"}', False),
        ('"to be"', rb'{"text":"to, be"}', False),
        ("cafe", '{"text":"CAF\u00c9"}'.encode(), True),
        ("tea", '{"text":"caf\u00e9 \u26a0\ufe0f"}'.encode(), False),
        ("tea", rb'{"text":"\u0074ea"}', True),
        ("tea", rb'{"text":"\u001b[1m a\\/b \\u0074"}', False),
        ("and/or", rb'{"text":"and\/or"}', True),
    ],
)
def test_a_line_is_left_out_by_its_bytes(query: str, raw: bytes, expected: bool) -> None:
    assert LineFilter(parse_query(query)).lets_through(raw, "tool-output") is expected


def test_white_space_at_the_ends_of_a_phrase_takes_no_time() -> None:
    """A pattern that tries each of many spaces anew would look at them 10,000,000,000 times."""
    assert not search('" x "').matches(" " * 100_000 + "y")


def test_case_and_accents_count_if_asked() -> None:
    assert search("foo").matches("FOO")
    assert not search("foo case:yes").matches("FOO")
    assert search("cafe").matches("Café")
    assert not search("cafe accents:yes").matches("Café")
    assert search("CAFÉ accents:yes").matches("cafe\u0301")
    assert not search("Cafe case:yes").matches("café")


def test_a_filter_that_is_made_by_hand_without_a_time_is_never_true() -> None:
    assert Matcher(Query(Filter("after", ("x",)))).matches_attributes(ATTRIBUTES) is False


def test_searching_imports_nothing_heavy() -> None:
    """The command line imports these at its start."""
    modules = ("language", "matcher", "normal_form")
    check = (
        "import sys, importlib\n"
        f"for name in {modules!r}: importlib.import_module('turnlog.store.search.' + name)\n"
        "heavy = {'turnlog.messages', 'turnlog.transcripts', 'apsw', 'asyncio'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", check], check=True)

"""The index proposes every hit: checked against the real FTS5."""

from __future__ import annotations

from collections.abc import Iterable

import apsw
import apsw.fts5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.search.search_strategies import terms, texts
from turnlog.store.search.language import LONGEST, Form, Query, Term
from turnlog.store.search.matcher import Matcher
from turnlog.store.search.normal_form import is_spaceless, is_word, normalise
from turnlog.store.search.texts import TOKENIZER, Tokens, index_form, needle_tokens, term_tokens

_CONNECTION = apsw.Connection(":memory:")
_CONNECTION.execute(f"create virtual table found using fts5(text, tokenize='{TOKENIZER}')")
_TOKENIZER = _CONNECTION.fts5_tokenizer(TOKENIZER.split()[0], TOKENIZER.split()[1:])


def tokenize(text: str) -> list[str]:
    """Return the tokens that FTS5 makes of what it is given."""
    data = text.encode("utf-8", "surrogatepass")
    given = _TOKENIZER(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
    return [str(token) for token in given]


def index(text: str) -> set[str]:
    """Put one text into the index, and return the words that it then has."""
    _CONNECTION.execute("delete from found")
    _CONNECTION.execute("insert into found(text) values (?)", (index_form(text),))
    return set(tokenize(index_form(text)))


def proposes(tokens: Tokens, vocabulary: Iterable[str]) -> bool:
    """Tell whether the text is a candidate: as an engine asks, but word by word."""
    first, *rest = tokens.words
    firsts = [first]
    if tokens.open_left:
        both = tokens.open_right and not rest
        firsts = [term for term in vocabulary if (first in term if both else term.endswith(first))]
    return any(_asks([word, *rest], tokens.open_right) for word in firsts)


def _asks(words: list[str], is_prefix: bool) -> bool:
    phrase = '"' + " ".join(words) + '"' + (" *" if is_prefix else "")
    return bool(list(_CONNECTION.execute("select 1 from found where found match ?", (phrase,))))


@given(texts, terms, st.booleans(), st.booleans())
def test_whatever_the_matcher_finds_the_index_proposes(
    text: str, term: Term, case: bool, accents: bool
) -> None:
    for body in (text, text + term.needle, f"{text} {term.needle.upper()} {text}", text + term.needle + text):
        tokens = term_tokens(term)
        if not tokens.words or not normalise(term.needle).strip():
            continue  # nothing that an index of words could help with
        if Matcher(Query(term, case, accents)).matches(body):
            assert proposes(tokens, index(body)), (body, tokens, index_form(body))


@given(texts)
def test_the_tokens_of_fts5_are_ours(text: str) -> None:
    assert tuple(tokenize(index_form(text))) == needle_tokens(text).words


def test_every_character_is_a_token_or_none_for_both() -> None:
    codes = [*range(128, 0x30000), *range(0x30000, 0x110000, 0x101)]
    for start in range(0, len(codes), 0x1000):
        text = " ".join(f"a{chr(code)}b" for code in codes[start : start + 0x1000])
        assert tokenize(index_form(text)) == list(needle_tokens(text).words)


def test_what_makes_a_token_makes_a_word() -> None:
    """Else a whole word for the matcher could be a part of one for the index."""
    for code in range(128, 0x30000):
        given = index_form(chr(code))
        assert not given.isalnum() or is_word(given), hex(code)


@pytest.mark.parametrize(
    ("needle", "form", "expected"),
    [
        ("foo", Form.WORD, Tokens(("foo",))),
        ("Foo", Form.PREFIX, Tokens(("foo",), open_right=True)),
        ("foo", Form.SUFFIX, Tokens(("foo",), open_left=True)),
        ("foo", Form.SUBSTRING, Tokens(("foo",), True, True)),
        ("foo_bar.b", Form.SUBSTRING, Tokens(("foo", "bar", "b"), True, True)),
        (".foo(", Form.SUBSTRING, Tokens(("foo",))),
        ("to be or", Form.PHRASE, Tokens(("to", "be", "or"))),
        ("東京", Form.SUBSTRING, Tokens(("東", "京"))),
        ("x東", Form.SUBSTRING, Tokens(("x", "東"), open_left=True)),
        ("Été", Form.WORD, Tokens(("ete",))),
        ("=> {", Form.PHRASE, Tokens(())),
        ("😀", Form.SUBSTRING, Tokens(())),
    ],
)
def test_tokens_of_needles(needle: str, form: Form, expected: Tokens) -> None:
    assert needle_tokens(needle, form) == expected


def test_plain_text_stays_as_it_is() -> None:
    assert index_form("Foo_Bar → “x” │ ✓") == "foo_bar → “x” │ ✓"


def test_characters_without_spaces_stand_alone() -> None:
    assert index_form("a東京b").split() == ["a", "東", "京", "b"]
    assert is_spaceless("東")


def test_runs_too_long_for_a_token_are_found_at_any_place() -> None:
    run = "".join(f"{number:05d}" for number in range(8_000))
    vocabulary = index(f"before {run} behind")
    assert max(map(len, vocabulary)) <= 8_000
    for start in range(0, len(run) - LONGEST, 777):
        assert proposes(needle_tokens(run[start : start + LONGEST]), vocabulary)
    assert proposes(needle_tokens(f"before {run[:1500]}", Form.PREFIX), vocabulary)
    assert proposes(needle_tokens(f"{run[-1500:]} behind", Form.SUFFIX), vocabulary)

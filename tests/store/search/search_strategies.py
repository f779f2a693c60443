"""What Hypothesis makes up for searching: texts in which needles are likely to be found, and queries."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from turnlog.errors import QueryError
from turnlog.store.search.language import And, Filter, Form, Node, Not, Or, Query, Term, parse_query

PIECES = [
    *"aAbBxX019_.-/*+:(){}=\"'\\ \n\t",
    *"éÉüÜßẞſıİΣσςйёЁđĐøŁµ½²Ⅷ①",
    *"e\u0301\u0323\u0302\u0338\u0327",  # marks that are composed, in any order
    *"→—“”│✓⚠\ufe0f😀🫠\u200b\u00a0\u2028",
    *"漢字東京かがガカﾞ한각하ㄱไทยที่กา",
    *"\u1112\u1161\u11ab\u3099",  # jamo, and the voicing of kana
    *"हिन्दीकשָׁلُأ",
    *"\ud83d\ue000\u0378\u19b0\U00020000\U0002ebf0𝐀𐐀𐐨",
    "foo",
    "Foo",
    "bar",
    "foo_bar",
    " foo ",
    "OR",
]
"""Letters of several scripts in all their forms, and what engines and versions disagree on."""

characters = st.sampled_from(PIECES)
texts = st.lists(characters, max_size=24).map("".join) | st.text(max_size=12)
needles = st.lists(characters, min_size=1, max_size=5).map("".join) | st.text(min_size=1, max_size=4)
terms = st.builds(Term, needles.filter(lambda text: bool(text.strip())), st.sampled_from(Form))

_words = st.sampled_from(
    ["foo", "Bar", "a_b", "x-y", "漢字", "q:r", "a b", "(", '"', "\\", "*", "OR", "--x", "é"]
)
_values = st.sampled_from(["Bash", "my dir", "a,b", "x*", 'q"', "back\\", "(y)", "/src/x.py"])
_filters = st.one_of(
    st.builds(
        lambda name, values: Filter(name, tuple(dict.fromkeys(values))),
        st.sampled_from(
            ["project", "session", "tool", "model", "branch", "person", "machine", "file", "agent"]
        ),
        st.lists(_values, min_size=1, max_size=3),
    ),
    st.builds(lambda kind: Filter("kind", (kind,)), st.sampled_from(["prompt", "tool-output"])),
    st.builds(lambda state: Filter("is", (state,)), st.sampled_from(["error", "sidechain"])),
)
_leaves: st.SearchStrategy[Node] = st.one_of(
    st.builds(Term, _words | needles.filter(lambda text: bool(text.strip())), st.sampled_from(Form)), _filters
)


def _branches(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(children, min_size=2, max_size=4).map(tuple)
    return st.one_of(st.builds(Not, children), st.builds(And, several), st.builds(Or, several))


nodes: st.SearchStrategy[Node] = st.recursive(_leaves, _branches, max_leaves=8)
queries = st.builds(Query, nodes, st.booleans(), st.booleans())


_PLAIN = re.compile(r'[^\s,"()\\]+')


def format_query(query: Query) -> str:
    """Return a text that asks for the same, and is parsed to the same tree."""
    modes = [f"{name}:yes" for name in ("case", "accents") if getattr(query, name)]
    # `OR` and a mode side by side would read as if it were about the mode.
    root = _format_inner(query.root) if modes and isinstance(query.root, Or) else _format(query.root)
    return " ".join([root, *modes])


def _format(node: Node) -> str:
    if isinstance(node, Term):
        return _format_term(node)
    if isinstance(node, Filter):
        return f"{node.name}:{','.join(map(_format_value, node.values))}"
    if isinstance(node, Not):
        inner = _format_inner(node.part)
        return f"-({inner})" if inner.startswith("-") else f"-{inner}"  # two of them are text
    return (" " if isinstance(node, And) else " OR ").join(map(_format_inner, node.parts))


def _format_inner(node: Node) -> str:
    needs = isinstance(node, And | Or)
    return f"({_format(node)})" if needs else _format(node)


def _format_term(term: Term) -> str:
    opens = "*" if term.form in (Form.SUFFIX, Form.SUBSTRING) else ""
    closes = "*" if term.form in (Form.PREFIX, Form.SUBSTRING) else ""
    for bare in (term.needle, f"{opens}{term.needle}{closes}"):
        if _reads_as(bare, term):
            return bare
    return f"{opens}{_print_quoted(term.needle)}{closes}"


def _reads_as(text: str, term: Term) -> bool:
    """Tell whether a text is this term when it stands among others."""
    try:
        found = parse_query(text).root
    except QueryError:
        return False
    return found == Term(term.needle, term.form, 0) and "(" not in text and ")" not in text


def _format_value(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else _print_quoted(value)


def _print_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

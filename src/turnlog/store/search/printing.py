"""From a query's tree back to its text."""

from __future__ import annotations

import re

from turnlog.errors import QueryError
from turnlog.store.search.language import And, Filter, Form, Node, Not, Or, Query, Term
from turnlog.store.search.parsing import parse_query

__all__ = ["format_query"]

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
    return f"{opens}{_quote(term.needle)}{closes}"


def _reads_as(text: str, term: Term) -> bool:
    """Tell whether a text is this term when it stands among others."""
    try:
        found = parse_query(text).root
    except QueryError:
        return False
    return found == Term(term.needle, term.form, 0) and "(" not in text and ")" not in text


def _format_value(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else _quote(value)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

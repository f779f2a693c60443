r"""From the text of a query to its tree.

Words side by side must all be found. `OR` joins its two neighbours before that, so that `project:x a OR b` is
what it looks like; `-` comes first of all. A parenthesis groups where a term could begin; inside a term
(`print(x)`) it is text. What looks like a filter and is none is an error, which names the way out: quotes.
"""

from __future__ import annotations

import re
from datetime import datetime, tzinfo

from turnlog.errors import QueryError
from turnlog.store.search.characters import is_word
from turnlog.store.search.dates import Clock
from turnlog.store.search.language import (
    CHOICES,
    FILTERS,
    And,
    Filter,
    Form,
    Node,
    Query,
    Term,
    join_and,
    join_or,
    list_terms,
    negate,
)
from turnlog.store.search.normal import normalise

__all__ = ["LONGEST", "parse_query"]

LONGEST = 2000
"""How many characters a query has at most."""
_DEEPEST = 32
_MODES = ("case", "accents")
_TIMES = ("after", "before")
_TIMES_LIKE = "2026-03-14, 2026-03-14T15:09, today or 7d (min, h, d, w, mo, y)"
_FILTER = re.compile(r"([A-Za-z]+):")
_OR = re.compile(r"OR(?![^\s)(\"])")
_ESCAPE = re.compile(r'\\(["\\])')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_NAMES = {*FILTERS, *_MODES}


def parse_query(
    text: str, *, typing: bool = False, now: datetime | None = None, zone: tzinfo | None = None
) -> Query:
    """Return what a text asks for; raises `QueryError`, which says what was expected, and where.

    With `typing`, a word at the very end may go on. `now` and `zone` are for dates: by default the machine's.
    """
    if len(text) > LONGEST:
        raise QueryError(f"Expected at most {LONGEST:,} characters, got {len(text):,}", LONGEST)
    return _Parser(text, typing, Clock(now, zone)).parse()


class _Parser:
    def __init__(self, text: str, typing: bool, clock: Clock) -> None:
        self._text = text
        self._typing = typing
        self._clock = clock
        self._at = 0
        self._modes: dict[str, bool] = {}

    def parse(self) -> Query:
        parts = self._parse_group(0)
        if self._at < len(self._text):
            raise QueryError("Expected a term, got ) without a matching (", self._at)
        if not parts:
            raise QueryError("Expected something to look for, got nothing", len(self._text))
        query = Query(_conjoin(parts), **self._modes)
        for term in list_terms(query.root):
            if not normalise(term.needle, case=query.case, accents=query.accents).strip():
                raise QueryError(f"Expected something to look for, got {_quote(term.needle)}", term.at)
        return query

    def _parse_group(self, depth: int) -> list[Node]:
        """Return what stands side by side, up to a closing parenthesis or the end."""
        parts: list[Node] = []
        while self._skip_space() not in ("", ")"):
            if depth == 0 and self._parse_mode():
                continue
            parts.append(self._parse_choice(depth))
        return parts

    def _parse_choice(self, depth: int) -> Node:
        choices = [self._parse_item(depth)]
        while self._skip_space() and _OR.match(self._text, self._at):
            at = self._at
            self._at += len("OR")
            if self._skip_space() in ("", ")"):
                raise QueryError("Expected a term after OR, got nothing", at)
            choices.append(self._parse_item(depth))
        return join_or(choices)

    def _parse_item(self, depth: int) -> Node:
        text, at = self._text, self._at
        if text.startswith("-", at) and not text.startswith("--", at):
            self._at += 1
            if self._peek() in ("", ")") or self._peek().isspace():
                raise QueryError("Expected a term directly after -, got nothing", at)
            return negate(self._parse_primary(depth))
        return self._parse_primary(depth)

    def _parse_primary(self, depth: int) -> Node:
        at = self._at
        if self._peek() == "(":
            return self._parse_parentheses(depth)
        if _OR.match(self._text, at):
            raise QueryError("Expected a term on both sides of OR, got none before it", at)
        star = self._text.startswith('*"', at)
        if star or self._peek() == '"':
            self._at += star
            needle = self._read_quoted()
            return self._build_term(needle, at, Form.PHRASE, star, self._skip_star())
        name = self._find_filter()
        return self._parse_term() if name is None else self._parse_filter(name)

    def _parse_parentheses(self, depth: int) -> Node:
        at = self._at
        if depth >= _DEEPEST:
            raise QueryError(f"Expected at most {_DEEPEST} nested parentheses, got more", at)
        self._at += 1
        parts = self._parse_group(depth + 1)
        if self._peek() != ")":
            raise QueryError("Expected ) for this parenthesis, got the end", at)
        if not parts:
            raise QueryError("Expected a term between parentheses, got nothing", self._at)
        self._at += 1
        return _conjoin(parts)

    def _parse_term(self) -> Node:
        at = self._at
        needle = self._read_bare("")
        opens, closes = needle.startswith("*"), len(needle) > 1 and needle.endswith("*")
        needle = needle[opens : len(needle) - closes]
        form = Form.WORD if all(map(is_word, needle)) else Form.SUBSTRING
        if self._typing and form is Form.WORD and self._at == len(self._text):
            closes = True
        return self._build_term(needle, at, form, opens, closes)

    def _build_term(self, needle: str, at: int, form: Form, opens: bool, closes: bool) -> Term:
        if not needle or needle.isspace():
            raise QueryError(f"Expected something to look for, got {self._text[at : self._at]}", at)
        if opens or closes:
            form = Form.SUBSTRING if opens and closes else Form.SUFFIX if opens else Form.PREFIX
        return Term(needle, form, at)

    def _find_filter(self) -> str | None:
        """Return the name of the filter that begins here; None if it is text, as in `http://` and `std::x`."""
        found = _FILTER.match(self._text, self._at)
        if found is None:
            return None
        name, behind = found[1].lower(), self._text[found.end() : found.end() + 2]
        if name in _NAMES:
            return name
        if not behind or behind[0].isspace() or behind[0] in ":)" or behind == "//":
            return None
        known = ", ".join((*FILTERS, *_MODES))
        raise QueryError(
            f"Expected one of the filters {known}, got {found[1]} (put text with a colon in quotes)", self._at
        )

    def _parse_filter(self, name: str) -> Filter:
        at = self._at
        self._at += len(name) + 1
        if name in _MODES:
            raise QueryError(
                f"Expected {name}: outside parentheses, OR and -, since it applies to the whole query", at
            )
        values = tuple(self._check_value(name, value, begins) for value, begins in self._read_values(name))
        if name not in _TIMES:
            return Filter(name, tuple(dict.fromkeys(values)), at)
        if len(values) > 1:
            raise QueryError(f"Expected one time for {name}:, got {len(values)}", at)
        return Filter(name, values, at, self._clock.find_instant(values[0]))

    def _parse_mode(self) -> bool:
        found = _FILTER.match(self._text, self._at)
        if found is None or found[1].lower() not in _MODES:
            return False
        at, name = self._at, found[1].lower()
        self._at = found.end()
        values = [self._check_value(name, value, begins) for value, begins in self._read_values(name)]
        if len(values) > 1 or self._modes.get(name, values[0] == "yes") is not (values[0] == "yes"):
            raise QueryError(f"Expected {name}: once, got it twice", at)
        self._modes[name] = values[0] == "yes"
        if self._skip_space() and _OR.match(self._text, self._at):
            raise QueryError(
                f"Expected {name}: outside parentheses, OR and -, since it applies to the whole query", at
            )
        return True

    def _check_value(self, name: str, value: str, at: int) -> str:
        if name in _TIMES and self._clock.find_instant(value) is None:
            raise QueryError(f"Expected a time like {_TIMES_LIKE}, got {value}", at)
        if name not in CHOICES:
            return value
        plain = value.lower().replace("-", "_")
        for choice in CHOICES[name]:
            if choice.replace("-", "_") == plain:
                return choice
        raise QueryError(f"Expected {name}: to be one of {', '.join(CHOICES[name])}, got {value}", at)

    def _read_values(self, name: str) -> list[tuple[str, int]]:
        values: list[tuple[str, int]] = []
        while not values or self._peek() == ",":
            self._at += bool(values)
            at = self._at
            value = self._read_quoted() if self._peek() == '"' else self._read_bare(",")
            if not value.strip():
                raise QueryError(f"Expected a value for {name}:, got nothing", at)
            values.append((value, at))
        return values

    def _read_quoted(self) -> str:
        found = _QUOTED.match(self._text, self._at)
        if found is None:
            raise QueryError('Expected a closing " for this quote, got the end', self._at)
        self._at = found.end()
        return _ESCAPE.sub(r"\1", found[1])

    def _read_bare(self, stops: str) -> str:
        """Return what goes on without white space; parentheses that it opens, it may close."""
        start, depth = self._at, 0
        while (character := self._peek()) and not character.isspace() and character not in stops:
            depth += (character == "(") - (character == ")")
            if depth < 0:
                break
            self._at += 1
        return self._text[start : self._at]

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip_star(self) -> bool:
        star = self._peek() == "*"
        self._at += star
        return star

    def _skip_space(self) -> str:
        while self._peek().isspace():
            self._at += 1
        return self._peek()


def _conjoin(parts: list[Node]) -> Node:
    """Join what stands side by side; a filter that is repeated means any of its values."""
    joined = join_and(parts)
    if not isinstance(joined, And):
        return joined
    kept: list[Node] = []
    places: dict[str, int] = {}
    for part in joined.parts:
        if not isinstance(part, Filter) or part.name in (*_TIMES, "is"):
            kept.append(part)
        elif part.name in places:
            first = kept[places[part.name]]
            assert isinstance(first, Filter)
            values = tuple(dict.fromkeys((*first.values, *part.values)))
            kept[places[part.name]] = Filter(part.name, values, first.at)
        else:
            places[part.name] = len(kept)
            kept.append(part)
    return join_and(kept)


def _quote(needle: str) -> str:
    return f'"{needle}"'

"""What a query is, once it is understood: a tree of terms and filters.

`parse_query` makes it from text, `matcher` holds it against passages, and an engine reads it to propose some.
Whatever stands side by side must all be true of one passage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from turnlog.errors import QueryError
from turnlog.instants import to_microseconds
from turnlog.store.search.normal_form import is_word, normalise


class Form(StrEnum):
    """Where a needle may begin and end. Only letters, digits and marks on them make words."""

    __hash__ = str.__hash__  # that of enums is written in Python

    WORD = "word"
    """A whole word."""
    PREFIX = "prefix"
    """From the beginning of a word on."""
    SUFFIX = "suffix"
    """Up to the end of a word."""
    SUBSTRING = "substring"
    """Anywhere."""
    PHRASE = "phrase"
    """As quoted: it breaks no word at its ends, and any white space is as good as any other."""

    @property
    def begins_word(self) -> bool:
        """Whether a letter at its beginning must begin a word."""
        return self is not Form.SUFFIX and self is not Form.SUBSTRING

    @property
    def ends_word(self) -> bool:
        """Whether a letter at its end must end a word."""
        return self is not Form.PREFIX and self is not Form.SUBSTRING


class Term(Struct, frozen=True, gc=False):
    """Something to look for in the text."""

    needle: str
    """As it was written, not normalised."""
    form: Form
    at: int = 0
    """Where in the query it stands, in characters."""


class Filter(Struct, frozen=True, gc=False):
    """What must be true of where a text stands: one of some values."""

    name: str
    values: tuple[str, ...]
    at: int = 0
    instant: int | None = None
    """Of `after` and `before`: microseconds since 1970."""


class Not(Struct, frozen=True):
    """Whatever its part is not true of."""

    part: Node


class And(Struct, frozen=True):
    """All of its parts."""

    parts: tuple[Node, ...]


class Or(Struct, frozen=True):
    """Any of its parts."""

    parts: tuple[Node, ...]


Node = Term | Filter | Not | And | Or


class Query(Struct, frozen=True):
    """What to find."""

    root: Node
    case: bool = False
    """Whether capitals differ from small letters."""
    accents: bool = False
    """Whether letters differ from those with accents."""


FILTERS = (
    "project",
    "session",
    "tool",
    "model",
    "role",
    "category",
    "branch",
    "person",
    "machine",
    "file",
    "kind",
    "agent",
    "is",
    "after",
    "before",
)
"""The names of filters, besides `case` and `accents`, which are about the whole query."""
CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "role": ("user", "assistant", "tool_use", "tool_result", "system", "progress", "summary"),
        "category": (
            "skill",
            "mcp",
            "builtin",
            "agent",
            "hook",
            "hook_progress",
            "error",
            "system",
            "snapshot",
            "queue",
        ),
        "kind": (
            "prompt",
            "answer",
            "thinking",
            "tool-input",
            "tool-output",
            "summary",
            "notice",
            "title",
            "hook",
        ),
        "is": ("error", "sidechain"),
        "case": ("yes", "no"),
        "accents": ("yes", "no"),
    }
)
"""What filters may say that know only so many words; written out, so that parsing needs nothing else."""


def join_and(parts: list[Node]) -> Node:
    """Return what is true if all parts are: one part by itself, and no conjunction inside another."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, And) else (part,))]
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def join_or(parts: list[Node]) -> Node:
    """Return what is true if any part is: one part by itself, and no disjunction inside another."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Or) else (part,))]
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def negate(part: Node) -> Node:
    """Return what is true if a part is not."""
    return part.part if isinstance(part, Not) else Not(part)


def list_terms(node: Node, *, positive_only: bool = False) -> list[Term]:
    """Return the terms of a tree, in order; `positive_only` leaves out those that must not be there."""
    return [term for term, positive in _walk(node, True) if positive or not positive_only]


def _walk(node: Node, positive: bool) -> Iterator[tuple[Term, bool]]:
    if isinstance(node, Term):
        yield node, positive
    elif isinstance(node, Not):
        yield from _walk(node.part, not positive)
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from _walk(part, positive)


_AGO = re.compile(r"(\d{1,6})(min|h|d|w|mo|y)", re.ASCII)
_UNITS = {
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "mo": timedelta(days=30),
    "y": timedelta(days=365),
}
_DAY = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)
_MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:[Zz]|[+-]\d{2}:\d{2})?", re.ASCII
)
_NAMED = {"today": 0, "yesterday": 1}


class Clock:
    """What time it is, and where: days begin at midnight in `zone`, by default that of the machine."""

    def __init__(self, now: datetime | None = None, zone: tzinfo | None = None) -> None:
        self._now = datetime.now(UTC) if now is None else now
        self._zone = zone

    def find_instant(self, text: str) -> int | None:
        """Return when something begins, in microseconds since 1970; None if the text names no time.

        Texts are `2026`, `2026-03`, `2026-03-14`, `2026-03-14T15:09`, `today`, `yesterday` and `7d`: ago, in
        `min`, `h`, `d`, `w`, `mo` (30 days) and `y` (365 days).
        """
        try:
            moment = self._find(text.lower())
        except (ValueError, OverflowError):  # as the 30th of February, or before there were years
            return None
        return None if moment is None else to_microseconds(moment)

    def _find(self, text: str) -> datetime | None:
        if text in _NAMED:
            today = self._now.astimezone(self._zone).date()
            return self._midnight(today - timedelta(days=_NAMED[text]))
        if (ago := _AGO.fullmatch(text)) is not None:
            return self._now - int(ago[1]) * _UNITS[ago[2]]
        if (day := _DAY.fullmatch(text)) is not None:
            return self._midnight(date(int(day[1]), int(day[2] or 1), int(day[3] or 1)))
        if _MOMENT.fullmatch(text) is None:
            return None
        moment = datetime.fromisoformat(text.upper())
        return moment if moment.tzinfo is not None else self._local(moment)

    def _midnight(self, day: date) -> datetime:
        return self._local(datetime(day.year, day.month, day.day))

    def _local(self, moment: datetime) -> datetime:
        return moment.astimezone() if self._zone is None else moment.replace(tzinfo=self._zone)


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
            closes = self._peek() == "*"
            self._at += closes
            return self._build_term(needle, at, Form.PHRASE, star, closes)
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

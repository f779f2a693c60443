"""Whether a passage is a hit, and where in it.

This alone decides, whichever engine proposed the passage. A needle and a text are compared in the normal form
that the query asks for; filters are held against the passage's `TextAttributes`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from operator import contains

from msgspec import UNSET, Struct, UnsetType, json

from turnlog.store.lists import list_model_forms
from turnlog.store.search.language import And, Filter, Node, Not, Or, Query, Term, list_terms
from turnlog.store.search.normal_form import Span, is_word, normalise, restore_spans


class TextAttributes(Struct, frozen=True, gc=False, kw_only=True):
    """What filters are held against.

    None is what is known to have no value, and `UNSET` what is not known yet: a filter on it is undecided. So
    an engine that knows only the session can leave out those that cannot have a hit.
    """

    kind: str | UnsetType = UNSET
    """A `PassageKind`."""
    project: str | None | UnsetType = UNSET
    """The path of its directory."""
    session_ids: tuple[str, ...] | UnsetType = UNSET
    """All names of the session."""
    tool: str | None | UnsetType = UNSET
    model: str | None | UnsetType = UNSET
    role: str | None | UnsetType = UNSET
    category: str | None | UnsetType = UNSET
    branch: str | None | UnsetType = UNSET
    """Of git."""
    person: str | None | UnsetType = UNSET
    """Whose session it is."""
    machine: tuple[str, ...] | UnsetType = UNSET
    """The origin of the machine that it comes from, and what that calls itself."""
    file: str | None | UnsetType = UNSET
    """The path that a call works on."""
    is_error: bool | UnsetType = UNSET
    is_sidechain: bool | UnsetType = UNSET
    agents: tuple[str, ...] | UnsetType = UNSET
    """The id of the agent whose line it is, and its type; empty for the main conversation."""
    time: int | None | UnsetType = UNSET
    """Microseconds since 1970."""


Test = Callable[[TextAttributes], bool | None]
_FIELDS: Mapping[str, str] = {
    "project": "project",
    "session": "session_ids",
    "tool": "tool",
    "model": "model",
    "role": "role",
    "category": "category",
    "branch": "branch",
    "person": "person",
    "file": "file",
    "kind": "kind",
    "agent": "agents",
}
_PARTS = frozenset({"project", "branch", "file"})
_BEGINNINGS = frozenset({"session", "agent"})
_STATES: Mapping[str, str] = {"error": "is_error", "sidechain": "is_sidechain"}


def build_test(part: Filter) -> Test:
    """Return what decides a filter; it says None where the attributes do not tell."""
    if part.name == "is":
        return _build_state_test(part)
    if part.name in ("after", "before"):
        return _build_time_test(part)
    if part.name == "machine":
        return _build_machine_test(part)
    field, wanted = _FIELDS[part.name], [normalise(value) for value in part.values]
    if part.name == "model":
        wanted = [f"*{form}*" for value in wanted for form in list_model_forms(value)]
    fits = contains if part.name in _PARTS else _fits_beginning if part.name in _BEGINNINGS else _fits_whole

    def test(attributes: TextAttributes) -> bool | None:
        found: str | tuple[str, ...] | None | UnsetType = getattr(attributes, field)
        if found is UNSET:
            return None
        values = (found,) if isinstance(found, str) else found or ()
        return any(fits(normalise(value), each) for value in values for each in wanted)

    return test


def _build_machine_test(part: Filter) -> Test:
    wanted = [normalise(value) for value in part.values]

    def test(attributes: TextAttributes) -> bool | None:
        if attributes.machine is UNSET:
            return None
        origin, *hosts = map(normalise, attributes.machine or ("",))
        return any(
            _fits_beginning(origin, each) or any(_fits_whole(host, each) for host in hosts) for each in wanted
        )

    return test


def _build_state_test(part: Filter) -> Test:
    fields = [_STATES[value] for value in part.values]

    def test(attributes: TextAttributes) -> bool | None:
        found = [getattr(attributes, field) for field in fields]
        return True if True in found else None if UNSET in found else False

    return test


def _build_time_test(part: Filter) -> Test:
    instant, is_after = part.instant, part.name == "after"

    def test(attributes: TextAttributes) -> bool | None:
        time = attributes.time
        if time is UNSET:
            return None
        return time is not None and instant is not None and (time >= instant if is_after else time < instant)

    return test


def _fits_beginning(value: str, wanted: str) -> bool:
    return value.startswith(wanted)


def _fits_whole(value: str, wanted: str) -> bool:
    if "*" not in wanted:
        return value == wanted
    first, *between, last = wanted.split("*")
    if len(value) < len(first) + len(last) or not value.startswith(first) or not value.endswith(last):
        return False
    at, end = len(first), len(value) - len(last)
    for piece in between:
        found = value.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


_SPACES = re.compile(r"\s+")
_LETTER = "[0-9A-Za-z]"
"""Most of what makes words. To compile a pattern of all of it takes longer than to look a few up."""


class Needle:
    """A term in a normal form."""

    def __init__(self, term: Term, *, case: bool = False, accents: bool = False) -> None:
        normal = normalise(term.needle, case=case, accents=accents)
        self._pieces = normal.split()
        self._begins = term.form.begins_word and is_word(normal[:1])
        self._ends = term.form.ends_word and is_word(normal[-1:])
        self._search = re.compile(self._build_pattern(normal)).search
        self._is_plain = self._pieces == [normal] and not self._begins and not self._ends

    def is_in(self, text: str) -> bool:
        """Tell whether it is somewhere in a text of the same normal form."""
        for piece in self._pieces:  # most texts lack one, and this is much faster than a pattern
            if piece not in text:
                return False
        return self._is_plain or next(self.find_spans(text), None) is not None

    def find_spans(self, text: str) -> Iterator[Span]:
        """Yield where it is, one behind the other."""
        at = 0
        while (found := self._search(text, at)) is not None:
            start, end = found.span()
            is_free = self._is_free(text, start, end)
            if is_free:
                yield start, end
            at = end if is_free else start + 1

    def _build_pattern(self, normal: str) -> str:
        """Return a pattern that begins with the text itself, since that is what is searched for fast.

        One white space at either end is enough, and keeps the time in proportion to the length.
        """
        first, *rest = (re.escape(piece) for piece in _SPACES.split(normal))
        if self._begins:
            first += f"(?<!{_LETTER}{first})"
        pattern = r"\s+".join((first, *rest)) if rest else first
        pattern = re.sub(r"^\\s\+|\\s\+$", r"\\s", pattern)
        return pattern + f"(?!{_LETTER})" if self._ends else pattern

    def _is_free(self, text: str, start: int, end: int) -> bool:
        if self._begins and start and is_word(text[start - 1]):
            return False
        return not (self._ends and end < len(text) and is_word(text[end]))


_Decision = Callable[[str | None, TextAttributes], bool | None]
"""Of a normalised text, or of no text yet, with some attributes: yes, no, or None for undecided."""
_MOST = 1000
"""How many places of each term are told; nobody looks at more."""
_NO_ATTRIBUTES = TextAttributes()


class Matcher:
    """A query that is ready to be held against passages."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self._decide = self._build(query.root)
        self._wanted = [self._build_needle(term) for term in list_terms(query.root, positive_only=True)]

    def normalise(self, text: str) -> str:
        """Return a text as this query compares it."""
        return normalise(text, case=self.query.case, accents=self.query.accents)

    def matches(self, text: str, attributes: TextAttributes = _NO_ATTRIBUTES) -> bool:
        """Tell whether a passage is a hit; one that its attributes leave undecided is none."""
        return self.matches_normal(self.normalise(text), attributes)

    def matches_normal(self, normal: str, attributes: TextAttributes = _NO_ATTRIBUTES) -> bool:
        """Tell whether a passage is a hit whose text is `normalise`d already."""
        return self._decide(normal, attributes) is True

    def matches_attributes(self, attributes: TextAttributes) -> bool | None:
        """Tell whether all passages with some attributes are hits, or none is; None if that depends on more."""
        return self._decide(None, attributes)

    def may_match(self, normal: str, attributes: TextAttributes) -> bool:
        """Tell whether a passage, `normalise`d already, may be a hit once more is known of its attributes."""
        return self._decide(normal, attributes) is not False

    def find_spans(self, text: str) -> list[Span]:
        """Return where in a text the terms are that it should have: in order, and as one where they overlap."""
        normal = self.normalise(text)
        found = sorted(span for needle in self._wanted for span in islice(needle.find_spans(normal), _MOST))
        return restore_spans(text, _merge(found), case=self.query.case, accents=self.query.accents)

    def _build_needle(self, term: Term) -> Needle:
        return Needle(term, case=self.query.case, accents=self.query.accents)

    def _build(self, node: Node) -> _Decision:
        if isinstance(node, Term):
            needle = self._build_needle(node)
            return lambda text, attributes: None if text is None else needle.is_in(text)
        if isinstance(node, Filter):
            test = build_test(node)
            return lambda text, attributes: test(attributes)
        if isinstance(node, Not):
            decide = self._build(node.part)
            return lambda text, attributes: None if (said := decide(text, attributes)) is None else not said
        # Filters first: they are cheap, and may settle it without the text.
        parts = sorted(node.parts, key=lambda part: not isinstance(part, Filter))
        return _join([self._build(part) for part in parts], settles=not isinstance(node, And))


def _join(decisions: list[_Decision], *, settles: bool) -> _Decision:
    """Return what is settled as soon as one part says so: by True for any of them, by False for all."""

    def decide(text: str | None, attributes: TextAttributes) -> bool | None:
        outcome: bool | None = not settles
        for each in decisions:
            said = each(text, attributes)
            if said is settles:
                return settles
            if said is None:
                outcome = None
        return outcome

    return decide


def _merge(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


_RUNS_OF_SPACES = re.compile(r"\s+")
_WORD_END = 24
"""How far a cut may move to fall between words."""
_CUT = "…"


class Snippet(Struct, frozen=True, gc=False):
    """A piece of text in one line."""

    text: str
    marks: tuple[Span, ...] = ()
    """Where in it the terms are."""


def build_snippet(text: str, spans: Sequence[Span] = (), width: int = 160) -> Snippet:
    """Return at most `width` characters of a text where most of `spans` are, else its beginning.

    White space becomes one space; `…` stands where text was left out. The spans are in order and apart.
    """
    width = max(width, 16)
    shown = _find_densest(spans, width)
    start = shown[0][0] if shown else 0
    low, high = max(0, start - 2 * width), min(len(text), start + 4 * width)
    low += len(text[low:high]) - len(text[low:high].lstrip())
    line = _collapse(text[low:high].rstrip())
    marks = [(_move(text, low, a), _move(text, low, b)) for a, b in shown if b > low and a < high]
    return _cut(line, marks, width, bool(text[:low].strip()), bool(text[high:].strip()))


def _find_densest(spans: Sequence[Span], width: int) -> Sequence[Span]:
    """Return the spans of the stretch that has the most, the first of them where there are several."""
    best: Sequence[Span] = ()
    last = 0
    for first, (start, _) in enumerate(spans):
        last = max(last, first + 1)
        while last < len(spans) and spans[last][1] <= start + width * 3 // 4:
            last += 1
        if last - first > len(best):
            best = spans[first:last]
    return best


def _collapse(text: str) -> str:
    return _RUNS_OF_SPACES.sub(" ", text)


def _move(text: str, low: int, place: int) -> int:
    """Return where a place of a text is once the white space before it is collapsed, counted from `low`."""
    return len(_collapse(text[low : max(low, place)]))


def _cut(line: str, marks: list[Span], width: int, has_before: bool, has_behind: bool) -> Snippet:
    room = width - 2 * len(_CUT)
    begin, end = 0, len(line)
    if len(line) > width or has_before or has_behind:
        first, last = (marks[0][0], min(marks[-1][1], marks[0][0] + room)) if marks else (0, 0)
        begin = max(0, min(first - (room - (last - first)) // 3, len(line) - room))
        end = min(len(line), begin + room)
        begin, end = _to_words(line, begin, end, first, last)
    before = _CUT if begin > 0 or has_before else ""
    behind = _CUT if end < len(line) or has_behind else ""
    shift = len(before) - begin
    kept = [(max(a, begin) + shift, min(b, end) + shift) for a, b in marks if a < end and b > begin]
    return Snippet(before + line[begin:end] + behind, tuple(kept))


def _to_words(line: str, begin: int, end: int, first: int, last: int) -> Span:
    """Return a cut that splits no word, if the ends of words are near, and leaves in what is marked."""
    if begin > 0 and line[begin - 1] != " ":
        space = line.find(" ", begin, min(first, begin + _WORD_END))
        begin = begin if space < 0 else space + 1
    if end < len(line) and line[end] != " ":
        space = line.rfind(" ", max(last, end - _WORD_END), end)
        end = end if space < 0 else space
    return begin, end


_ASCII = bytes(range(128))
_ODD_ESCAPE = re.compile(rb"\\u(?!00(?:0[0-79a-fA-F]|1))")
"""A character in a spelling that needles do not have: only control characters must be spelled so."""
_GAP = (
    rb"(?:[\t-\r\x1c-\x20]|\\[tnrf]|\\u00(?:0[9a-d]|1[c-f])|\xc2[\x85\xa0]|\xe1\x9a\x80"
    rb"|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)"
)
"""A character of white space, in UTF-8, or as JSON escapes it."""
_LITERAL = frozenset({"answer", "thinking", "tool-input", "tool-output"})
"""The kinds of passages whose text is as it stands in the line. Others may have numbers in another spelling,"""
_NUMBER = frozenset(b"0123456789.+-e")
_TAKEN_OUT = b"<command-"
"""or be without the tags of a command."""
_LOOK = b"\xef\xb8\x8f"
"""What says that a character is to be shown as an emoji; no normal form has it."""
_Test = Callable[[bytes], bool]


class LineFilter:
    """Tells lines that may have hits of a query from those that cannot."""

    def __init__(self, query: Query) -> None:
        self._test = _build(query.root)
        pieces = [piece for term in list_terms(query.root) for piece in _list_pieces(term) or ()]
        self._asks_number = any(_NUMBER.issuperset(piece) for piece in pieces)

    def lets_through(self, raw: bytes, kind: str) -> bool:
        """Tell whether a passage of a kind may be a hit, by the bytes of its line."""
        if self._test is None or (kind not in _LITERAL and (self._asks_number or _TAKEN_OUT in raw)):
            return True
        return self._test(raw.lower()) or _is_odd(raw) or (not raw.isascii() and self._lets_foreign(raw))

    def _lets_foreign(self, raw: bytes) -> bool:
        """Tell whether it may be one where characters become others in the normal form."""
        assert self._test is not None
        data = raw.replace(_LOOK, b"")
        if _is_plain(data):
            return len(data) < len(raw) and self._test(data.lower())
        try:
            return self._test(normalise(data.decode()).encode())
        except UnicodeDecodeError:
            return True


def _is_odd(raw: bytes) -> bool:
    """Tell whether JSON spells any character otherwise than it has to."""
    if b"\\u" not in raw and b"\\/" not in raw:
        return False
    data = raw.replace(b"\\\\", b"")
    return b"\\/" in data or _ODD_ESCAPE.search(data) is not None


def _build(node: Node) -> _Test | None:
    """Return what tells whether a line in lower case may have what a node asks for; None if any may."""
    if isinstance(node, Term):
        return _build_term(node)
    if isinstance(node, And):
        tests = [test for test in map(_build, node.parts) if test is not None]
        return (lambda raw: all(test(raw) for test in tests)) if tests else None
    if isinstance(node, Or):
        found = [_build(part) for part in node.parts]
        tests = [test for test in found if test is not None]
        return (lambda raw: any(test(raw) for test in tests)) if len(tests) == len(found) else None
    return None


def _build_term(term: Term) -> _Test | None:
    pieces = _list_pieces(term)
    if not pieces:
        return None
    if len(pieces) == 1:
        return lambda raw: pieces[0] in raw
    follows = re.compile(_build_phrase(pieces)).search
    # To look for the pieces first is faster than the pattern, and mostly one of them is not there.
    return lambda raw: all(piece in raw for piece in pieces) and follows(raw) is not None


def _list_pieces(term: Term) -> list[bytes] | None:
    """Return what a term has between white space, as JSON spells it; None for half a character."""
    try:
        return [json.encode(piece)[1:-1].lower() for piece in normalise(term.needle).split()]
    except UnicodeEncodeError:
        return None


def _build_phrase(pieces: Sequence[bytes]) -> bytes:
    """Return a pattern of pieces with white space between them, or with the end of a string or a number.

    White space in a passage may be that between several of these in the line.
    """
    *others, last = pieces
    pattern = re.escape(last)
    for piece in reversed(others):
        end = rb'[",\]}]' if piece[-1:].isdigit() else b'"'
        pattern = re.escape(piece) + b"(?:%b+%b|%b*%b)" % (_GAP, pattern, _GAP, end)
    return pattern


def _is_plain(raw: bytes) -> bool:
    """Tell whether no character of a line becomes another in the normal form, but for capitals of ASCII."""
    if raw.isascii():
        return True
    try:
        foreign = set(raw.translate(None, _ASCII).decode())
    except UnicodeDecodeError:
        return False
    if foreign <= _settled:
        return True
    _settled.update(filter(_is_settled, foreign - _settled))
    return foreign <= _settled


_settled: set[str] = set()
"""Characters that are known to stay as they are."""


def _is_settled(character: str) -> bool:
    between = f"a{character}a"
    is_loose = unicodedata.category(character)[0] == "M" or "\u1100" <= character <= "\u11ff"
    return not is_loose and normalise(between) == between

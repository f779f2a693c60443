"""What an index of words is given, and what it is asked for.

The tokenizer that we build on is FTS5's `unicode61`, which other engines can imitate: it makes tokens of
letters and digits. `index_form` gives it the normal form, in which

- characters of scripts without spaces stand alone between spaces, and so are tokens of one character;
- whatever else it takes for a letter and we do not (what was unassigned when its tables were made, as most
  emoji) is left out, and so is what it would fold otherwise;
- a run that is longer than a token may be is cut, with overlaps as long as the longest query.

Then each character decides by itself which token it belongs to. So wherever a needle is found in a text, the
tokens of the needle are tokens of the text, one behind the other; only the first may have more before it, and
the last more behind it. An index that is asked for them proposes every hit, and some that are none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from turnlog.store.batch import TextFact
from turnlog.store.search.language import Form, Term
from turnlog.store.search.normal_form import (
    LOWER,
    SPACELESS,
    Normaliser,
    is_loose,
    is_spaceless,
    normalise,
    split_foreign,
)

if TYPE_CHECKING:
    from turnlog.transcripts.lines.passages import Passage

TOKENIZER = "unicode61 remove_diacritics 0"
_LONGEST = 8000
"""How many characters a token has at most; FTS5 cuts tokens at 32,768 bytes, without a word."""
_OVERLAP = 2000
"""At least `language.LONGEST`."""
_TOKEN = re.compile(r"[^\W_]+")
_DISAGREED = re.compile("[\u19b0-\u19c0\u19c8-\u19c9\u1cf2-\u1cf3]")
"""Letters that were marks when `unicode61` was made."""
_SEPARATORS = re.compile(
    "[\u00a1-\u00a9\u00ab-\u00ac\u00ae-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf"
    "\u2010-\u2027\u2030-\u205e\u2190-\u23f3\u2500-\u26ff\u2701-\u2775\u2794-\u27bf]"
)
"""What neither takes for a letter: all that most text has besides ASCII, so it may stay."""


class Tokens(Struct, frozen=True, gc=False):
    """The tokens of a needle: to be found one behind the other."""

    words: tuple[str, ...]
    """None if an index of words is of no help, as for `=> {`."""
    open_left: bool = False
    """Whether the first may be the end of a longer one."""
    open_right: bool = False
    """Whether the last may be the beginning of a longer one."""


def index_form(text: str) -> str:
    """Return the text that is given to an index's tokenizer, with one space wherever there is white space."""
    return _build_body(*split_foreign(text))


def _build_body(data: bytes, foreign: set[str]) -> str:
    return cut_runs(_BLANKS.sub(b" ", _space(data, foreign)).decode())


def _space(data: bytes, foreign: set[str]) -> bytes:
    """Return a text with each character as the index takes it, and white space as spaces."""
    data = _TAKEN.apply_to(data, foreign)
    if any(map(is_spaceless, foreign)):
        data = re.sub(_ALONE, lambda run: f" {' '.join(run[0])} ", data.decode()).encode()
    return data


def cut_runs(text: str) -> str:
    """Return a text in which runs are cut that are longer than a token may be."""
    return _TOKEN.sub(_cut_run, text) if len(text) > _LONGEST and _has_long_run(text) else text


def split_run(run: str) -> tuple[str, str | None]:
    """Cut a run in two, with an overlap, where it is cut anyway; the second is None if it is too short.

    With a space between them, what `cut_runs` makes of both is what it makes of the run, however it goes on.
    """
    step = _LONGEST - _OVERLAP
    steps = (len(run) - _OVERLAP - 1) // step
    return (run[: steps * step + _OVERLAP], run[steps * step :]) if steps > 0 else (run, None)


def needle_tokens(needle: str, form: Form = Form.SUBSTRING) -> Tokens:
    """Return what to ask an index for, to be shown all that may hold a needle."""
    normal = normalise(needle)
    words = tuple(_TOKEN.findall(index_form(normal)))
    return Tokens(
        words,
        open_left=not form.begins_word and _is_joined(normal[:1]),
        open_right=not form.ends_word and _is_joined(normal[-1:]),
    )


def term_tokens(term: Term) -> Tokens:
    """Return what to ask an index for, to be shown all that a term may be in: with any case and accents."""
    return needle_tokens(term.needle, term.form)


def _is_joined(character: str) -> bool:
    """Tell whether a character makes one token with those beside it."""
    return not is_spaceless(character) and _TOKEN.fullmatch(_take(character)) is not None


def _take(character: str) -> str:
    """Return a character as the index takes it, if it does."""
    if character.isascii() or _SEPARATORS.match(character):
        return character
    if not character.isalnum() or _DISAGREED.match(character) or character > "\U0002ceaf":
        return " "
    return character if character <= "\uffff" or is_spaceless(character) else " "


def _has_long_run(text: str) -> bool:
    """Tell whether a run may be too long: then it fills one of these windows."""
    half = _LONGEST // 2
    return any(text[start : start + half].isalnum() for start in range(0, len(text), half))


def _cut_run(found: re.Match[str]) -> str:
    run = found[0]
    if len(run) <= _LONGEST:
        return run
    step = _LONGEST - _OVERLAP
    return " ".join(run[start : start + _LONGEST] for start in range(0, len(run) - _OVERLAP, step))


# No engine can keep a zero.
_TAKEN = Normaliser(
    then=_take, plain=LOWER.translate(bytes.maketrans(b"\0\t\n\v\f\r\x1c\x1d\x1e\x1f", b" " * 10))
)
_BLANKS = re.compile(b"  +")
OVERLAP = 100
"""How long a needle may be, in characters, to be whole in a cell."""
# Compiled when there is a text with such characters: that takes longer than opening the store.
_ALONE = f"[{SPACELESS}]+"
_RUN = rf" [{SPACELESS}](?: [{SPACELESS}](?!\S))+"
_SIZE = 800
_LEAST = 300
"""How far a cell goes at least, for the sake of ending between words."""


def cut_cells(text: str) -> list[str]:
    """Return a text as the index takes it: in cells, of which a short one has one."""
    data, foreign = split_foreign(text)
    cells = list(_cut(_build_body(data, foreign).strip(" ")))
    return list(map(pair_characters, cells)) if any(map(is_spaceless, foreign)) else cells


def pair_characters(body: str) -> str:
    """Return a text, its words one space apart, with pairs of characters in the place of single ones."""
    return body if body.isascii() else re.sub(_RUN, _pair, f" {body}")[1:]


def _pair(run: re.Match[str]) -> str:
    characters = run[0][1::2]
    # With the last one by itself, each character begins a word.
    return " ".join(("", *map("".join, pairwise(characters)), characters[-1]))


class CellCutter:
    """Cuts a text that comes in pieces of any size: into the cells that `cut_cells` gives of the whole."""

    def __init__(self) -> None:
        self._held = ""
        self._has_blank = False
        """Whether a space is to come before the next word."""

    def add(self, piece: str) -> list[str]:
        """Take the next piece, in which words are one space apart, and return the cells that are whole now."""
        body = piece.strip(" ")
        if not body:
            self._has_blank = self._has_blank or piece != ""
            return []
        blank = " " if self._held and (self._has_blank or piece[0] == " ") else ""
        self._has_blank = piece[-1] == " "
        # The last is not known to be whole, and the one before it tells where it begins.
        *cells, self._held = _cut(f"{self._held}{blank}{body}")
        return list(map(pair_characters, cells))

    def finish(self) -> list[str]:
        """Return the rest."""
        return list(map(pair_characters, _cut(self._held)))


def _cut(body: str) -> Iterator[str]:
    start, end = 0, _SIZE
    while end < len(body):
        found = body.rfind(" ", start + _LEAST, end)
        end = end if found < 0 else found
        yield body[start:end]
        # The next one begins at a word, and far enough before the end of this one.
        found = body.rfind(" ", start + 1, end - OVERLAP + 1)
        start = end - OVERLAP if found < 0 else found + 1
        end = start + _SIZE
    yield body[start:]


KINDS = (
    "prompt",
    "answer",
    "thinking",
    "tool-input",
    "tool-output",
    "summary",
    "notice",
    "title",
    "hook",
)
"""The kinds of passages by their numbers, which are kept and never change; new ones come last."""
_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_LONG = 1 << 20
"""From how many characters on a text is taken in pieces."""
_PIECE = 1 << 18
_KEPT = 1 << 20
"""The cells of so many characters are at hand, or of twice as many."""
_NEAR = 4096
_LAST_BREAK = re.compile(r"[\W_](?=[^\W_]*\Z)")


def build_text(
    number: int, ordinal: int, passage: Passage, time: int | None, offset: int = 0, length: int = 0
) -> TextFact:
    """Return a passage as the index takes it; its line begins at `offset`, if it is in a file."""
    text = passage.text
    cells: Collection[str] = LongText(text) if len(text) > _LONG else _cells.cut(text)
    return TextFact(
        number,
        ordinal,
        passage.block,
        _NUMBERS[passage.kind],
        passage.is_error,
        time or 0,
        cells,
        offset,
        length,
    )


class CellCache:
    """The cells of the last texts.

    Two fifths of what sessions say was said before, most of it not long ago.
    """

    def __init__(self) -> None:
        self._recent: dict[str, tuple[str, ...]] = {}
        self._former: dict[str, tuple[str, ...]] = {}
        self._size = 0

    def cut(self, text: str) -> tuple[str, ...]:
        """Return what `cut_cells` gives of a text."""
        cells = self._recent.get(text)
        if cells is None:
            cells = self._former.get(text) or tuple(cut_cells(text))
            if len(text) <= _KEPT // 16:
                self._recent[text] = cells
                self._size += len(text)
            if self._size > _KEPT:
                self._recent, self._former, self._size = {}, self._recent, 0
        return cells


_cells = CellCache()


class LongText(Collection[str]):
    """The cells of a very long text; they are cut whenever somebody goes through them."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __iter__(self) -> Iterator[str]:
        cutter = CellCutter()
        for body in self._list_bodies():
            yield from cutter.add(body)
        yield from cutter.finish()

    def __len__(self) -> int:
        return self._count

    def __contains__(self, cell: object) -> bool:
        return any(each == cell for each in self)

    @cached_property
    def _count(self) -> int:
        return sum(1 for _ in self)

    def _list_bodies(self) -> Iterator[str]:
        pieces = (self._text[start : start + _PIECE] for start in range(0, len(self._text), _PIECE))
        bodies = _cut_runs(_space(*split_foreign(piece)).decode() for piece in _regroup(pieces))
        return (_BLANKS.sub(b" ", body.encode()).decode() for body in bodies)


def _regroup(pieces: Iterable[str]) -> Iterator[str]:
    """Yield a text in pieces none of which begins with what is composed with the one before."""
    held = ""
    for piece in pieces:
        held += piece
        if len(held) >= _PIECE:
            end = _find_cut(held)
            if end:
                yield held[:end]
                held = held[end:]
    if held:
        yield held


def _find_cut(text: str) -> int:
    found = text.rfind(" ", len(text) - _NEAR)
    if found > 0:
        return found
    near = range(len(text) - 1, len(text) - _NEAR, -1)
    return next((at for at in near if text[at].isascii() or not is_loose(text[at])), 0)


def _cut_runs(pieces: Iterable[str]) -> Iterator[str]:
    """Yield pieces in which no run of letters and digits is too long; none begins in the midst of one."""
    held = ""
    for piece in pieces:
        held += piece
        found = _LAST_BREAK.search(held, max(0, len(held) - _NEAR))
        if found is not None:
            yield cut_runs(held[: found.end()])
            held = held[found.end() :]
        elif len(held) >= _PIECE:
            start = _find_run(held)
            begun, following = split_run(held[start:])
            if following is None:
                begun, following = "", begun
            yield cut_runs(held[:start] + begun)
            if begun:
                yield " "
            held = following
    yield cut_runs(held)


def _find_run(text: str) -> int:
    """Return where the run begins that a text ends with."""
    end = len(text)
    while end > 0:
        start = max(0, end - _NEAR)
        found = _LAST_BREAK.search(text[start:end])
        if found is not None:
            return start + found.end()
        end = start
    return 0

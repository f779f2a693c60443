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

from msgspec import Struct

from turnlog.store.search.characters import is_spaceless
from turnlog.store.search.language import Form, Term
from turnlog.store.search.normal import Normaliser, normalise

__all__ = [
    "INDEX_FORM",
    "TOKENIZER",
    "Tokens",
    "cut_runs",
    "index_form",
    "needle_tokens",
    "plain_form",
    "split_run",
    "term_tokens",
]

INDEX_FORM = 1
"""The version of these rules and of `normalise`: an index of another one is made anew."""
TOKENIZER = "unicode61 remove_diacritics 0"

_LONGEST = 8000
"""How many characters a token has at most; FTS5 cuts tokens at 32,768 bytes, without a word."""
_OVERLAP = 2000
"""At least `parsing.LONGEST`."""
_TOKEN = re.compile(r"[^\W_]+")
_DISAGREED = re.compile("[\u19b0-\u19c0\u19c8-\u19c9\u1cf2-\u1cf3]")
"""Letters that were marks when `unicode61` was made."""
_SEPARATORS = re.compile(
    "[\u00a0-\u00a9\u00ab-\u00ac\u00ae-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf"
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
    """Return the text that is given to an index's tokenizer."""
    return cut_runs(plain_form(text))


def plain_form(text: str) -> str:
    """Return a text with each character as the index takes it."""
    return text.lower() if text.isascii() else _SPACED.apply(text)


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
    return _TOKEN.fullmatch(_space(character)) is not None


def _space(character: str) -> str:
    if character.isascii() or _SEPARATORS.match(character):
        return character
    if not character.isalnum() or _DISAGREED.match(character) or character > "\U0002ceaf":
        return " "
    if is_spaceless(character):
        return f" {character} "
    return character if character <= "\uffff" else " "


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


_SPACED = Normaliser(then=_space)

"""At a glance, which sorts of things a text may hold that are taken out: most hold none.

The finders know exactly what they look for, and take their time. Here all of it is looked for at once, by what
it has in any case, in one pass of RE2, which goes through bytes ten times as fast as Python's own expressions.
So a finder is only asked about texts in which there may be something for it.

Whole lines can be sifted before their JSON is decoded. What JSON may do to a text is allowed for: a quote with
backslashes before it, a newline that is written as two characters. Where anything else is escaped that need not
be, or where a character is in the text that some take for a letter of ASCII, all finders are asked.

Forms that count characters are counted here no further than is of use: what RE2 has to keep in mind for that
takes long to make.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import re2  # type: ignore[import-untyped]

from turnlog.export.redaction.assignments import SECRET_WORDS
from turnlog.export.redaction.signs import EVERYTHING, NOTHING, Sign
from turnlog.export.redaction.token_forms import TOKEN_FORMS

_GAP = r"(?:\\+[nrt]|\\+u[0-9a-fA-F]{4}|[^A-Za-z0-9:=])*"
"""What may stand between a name and its colon: blanks, brackets and quotes, escaped or not."""
_LEAST = 8
_COUNT = re.compile(r"\{(\d+)(?:,\d*)?\}")
_ACCOUNT = (
    r"(?i:(?:account|organi[sz]ation|org|workspace|user|device|customer|tenant|subscription|owner|anonymous",
    rf"|machine)[_-]?(?:uu)?id{_GAP}[:=])",
    r"|(?:account|org|organization|user)_+[0-9a-fA-F]{8}|(?:org|user|acct|cus)[-_][A-Za-z0-9]{14}",
)
_NAME = rb"([^\s/\\\"'`<>|:*?,;()\[\]{}]{0,64}(?:\\u)?)"
_HOMES = tuple((sign, re.compile(sign + _NAME)) for sign in (b"/home/", b"/Users/"))
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_SHAPES = bytes(ord("x") if code in _LETTERS else ord(" ") for code in range(256))
"""Which bytes encoded text is made of."""
_RUN = b"x" * 40
_LETTER_LIKE = r"\xe2\x84\xaa|\xc5\xbf|\\u212[aA]|\\u017[fF]"
"""The signs of Kelvin and the long s, escaped or not: without regard to case, they are a k and an s."""


def _shorten(form: str) -> str:
    """Return a form with small counts in it, which finds all that it finds."""
    return _COUNT.sub(lambda found: f"{{{min(_LEAST, int(found[1]))},}}", form)


_PATTERNS = {
    Sign.KEY: r"PRIVATE KEY|PuTTY-User-Key",
    Sign.TOKEN: rf"(?:^|[^A-Za-z0-9]|\\[nrtbf]|\\u[0-9a-fA-F]{{4}})(?:{'|'.join(map(_shorten, TOKEN_FORMS))})",
    Sign.WORD: rf"(?i:(?:{SECRET_WORDS})(?:[_.-][A-Za-z0-9]+)*{_GAP}[:=])",
    Sign.OPTION: r"(?i:--(?:password|passwd|token|secret|api-key|client-secret|auth-token)[ =])",
    Sign.SIGNED_ON: r"(?:-u|--user)[ =]+\\*[\"']?[^\s:\"'$]+:",
    Sign.HEADER: rf"(?i:(?:authorization|api-key|-token|x-[a-z-]+-key){_GAP}[:=])",
    Sign.BEARER: r"(?i:(?:bearer|basic)(?:\\+[nrt]|\\+u[0-9a-f]{4}|[^A-Za-z0-9])+[A-Za-z0-9+/_.=~-]{16})",
    Sign.PARAMETER: (
        r"(?i:[?&](?:access_token|token|sig|signature|x-amz-[a-z-]+|x-goog-signature|api_?key|key|secret|password"
        r"|code|client_secret)=)"
    ),
    Sign.ADDRESS: r":(?:\\*/){2}[^\s/:@\"'<>\\]*:[^\s/@\"'<>\\]+@",
    Sign.EMAIL: r"[A-Za-z0-9._%+-]@[A-Za-z0-9][A-Za-z0-9-]*\.[A-Za-z0-9]",
    Sign.HOME: r"/home/|/Users/",
    Sign.OTHER_HOME: r"\\Users\\|-(?:home|Users)-",
    Sign.ACCOUNT: "".join(_ACCOUNT),
    Sign.ODD: rf"\\u00[2-7]|\\/|{_LETTER_LIKE}",
}


@cache
def _build() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 64 << 20
    found = re2.Set.SearchSet(options)
    for pattern in _PATTERNS.values():
        found.Add(pattern)
    found.Compile()
    return found.Match


_SIGNS = tuple(_PATTERNS)


def sift(data: bytes) -> frozenset[Sign]:
    """Return what a line or a text, as UTF-8, may hold."""
    found = _build()(data)
    # To search for forty equal bytes takes half as long as to have RE2 look for forty letters.
    encoded = len(data) >= len(_RUN) and _RUN in data.translate(_SHAPES)
    return _share(tuple(found or ()), encoded) if found or encoded else NOTHING


def list_runs(data: bytes) -> Iterator[int]:
    """Yield where runs of letters begin that are long enough to be encoded text."""
    shapes = data.translate(_SHAPES)
    at = shapes.find(_RUN)
    while at >= 0:
        if at == 0 or data[at - 1] not in b"_-":
            yield at
        end = shapes.find(b" ", at)
        at = shapes.find(_RUN, end) if end >= 0 else -1


def list_homes(data: bytes) -> list[bytes]:
    """Return the names of home directories that a line has, with `\\u` behind those that may go on."""
    return [name for sign, pattern in _HOMES if sign in data for name in pattern.findall(data)]


def sift_text(text: str) -> frozenset[Sign]:
    """Return what a text may hold."""
    return sift(text.encode("utf-8", "surrogatepass"))


@cache
def _share(found: tuple[int, ...], has_encoded: bool) -> frozenset[Sign]:
    signs = {_SIGNS[each] for each in found}
    if Sign.ODD in signs:
        return EVERYTHING
    return frozenset(signs | {Sign.ENCODED} if has_encoded else signs)

"""Text that JSON forbids but real files hold.

Decoders refuse lone surrogates (`\\ud83d` without its other half, as cut-off emoji leave them), bytes that are
not UTF-8, and a byte-order mark. The line's bytes are kept as they are; what is decoded has U+FFFD there.
"""

from __future__ import annotations

import re

from turnlog.messages.problems import Problem, ProblemKind

__all__ = ["repair_text"]

_BOM = b"\xef\xbb\xbf"
_ESCAPE = re.compile(
    rb"(\\\\)"  # an escaped backslash: what follows it is no escape
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a whole pair
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"  # half of one
)


def repair_text(data: bytes) -> tuple[bytes, list[Problem]]:
    """Return `data` with U+FFFD for each piece that is no text, and the problems; unharmed if there is none."""
    problems: list[Problem] = []
    text = data
    if text.startswith(_BOM):
        problems.append(_problem("an object", "a byte-order mark", 0))
        text = text[len(_BOM) :]
    try:
        text.decode()
    except UnicodeDecodeError as error:
        problems.append(_problem("UTF-8", f"byte 0x{text[error.start]:02x}", data.find(text) + error.start))
        text = text.decode("utf-8", "replace").encode()
    if b"\\u" in text:
        text = _repair_escapes(text, problems)
    return text, problems


def _repair_escapes(text: bytes, problems: list[Problem]) -> bytes:
    def mend(match: re.Match[bytes]) -> bytes:
        half = match[2]
        if half is None:
            return match[0]
        problems.append(_problem("text", f"a lone surrogate `{half.decode()}`", match.start()))
        return rb"\ufffd"

    return _ESCAPE.sub(mend, text)


def _problem(expected: str, found: str, offset: int) -> Problem:
    return Problem(ProblemKind.BAD_TEXT, expected, found, (), known_offset=offset)

"""Text that JSON forbids but real files hold.

Decoders refuse lone surrogates (`\\ud83d` without its other half, as cut-off emoji leave them), bytes that are
not UTF-8, and a byte-order mark. The line's bytes are kept as they are; what is decoded has U+FFFD there.
"""

from __future__ import annotations

import re

from turnlog.messages.problems import Problem, ProblemKind

__all__ = ["original_offset", "repair_text"]

_BOM = b"\xef\xbb\xbf"
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_ESCAPE = re.compile(
    rb"(\\\\)"  # an escaped backslash: what follows it is no escape
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a whole pair
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"  # half of one
)


def repair_text(data: bytes) -> tuple[bytes, list[Problem]]:
    """Return `data` with U+FFFD for each piece that is no text, and the problems."""
    problems: list[Problem] = []
    text = data
    if text.startswith(_BOM):
        problems.append(_problem("an object", "a byte-order mark", 0))
        text = text[len(_BOM) :]
    if not text.isascii():
        text = _repair_bytes(data, text, problems)
    if b"\\u" in text:
        text = _repair_escapes(data, text, problems)
    return text, problems


def original_offset(data: bytes, text: bytes, offset: int) -> int:
    """Return where in `data` the byte stands that is at `offset` of its repaired text."""
    if data == text:
        return offset
    cut = len(_BOM) if data.startswith(_BOM) and not text.startswith(_BOM) else 0
    characters = len(text[:offset].decode("utf-8", "replace"))
    original = data[cut:].decode("utf-8", "surrogateescape")
    return cut + len(original[:characters].encode("utf-8", "surrogateescape"))


def _repair_bytes(data: bytes, text: bytes, problems: list[Problem]) -> bytes:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        offset = len(data) - len(text) + error.start
        problems.append(_problem("UTF-8", f"byte 0x{data[offset]:02x}", offset))
        # One character for each byte that is no UTF-8, so that offsets can be found again.
        return _NOT_UTF8.sub("\ufffd", text.decode("utf-8", "surrogateescape")).encode()
    return text


def _repair_escapes(data: bytes, text: bytes, problems: list[Problem]) -> bytes:
    def mend(match: re.Match[bytes]) -> bytes:
        half = match[2]
        if half is None:
            return match[0]
        offset = original_offset(data, text, match.start())
        problems.append(_problem("text", f"a lone surrogate `{half.decode()}`", offset))
        return rb"\ufffd"

    return _ESCAPE.sub(mend, text)


def _problem(expected: str, found: str, offset: int) -> Problem:
    return Problem(ProblemKind.BAD_TEXT, expected, found, (), known_offset=offset)

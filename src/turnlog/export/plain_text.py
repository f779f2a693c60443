"""Text of a transcript on its way into a file: nothing in it may act on whoever reads it."""

from __future__ import annotations

import re
from functools import cache

_SEQUENCE = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[@-Z\\-_])"
_INVISIBLE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_PLAIN = bytes((*b"\t\n", *range(0x20, 0x7F)))

_compile = cache(re.compile)  # not all who load this have such text


def strip_colors(text: str) -> str:
    """Return what a terminal would show, without colours and movements."""
    return show_controls(_compile(_SEQUENCE).sub("", text) if "\x1b" in text else text)


def show_controls(text: str) -> str:
    r"""Return a text with a visible escape, such as `\u202e`, for what is not seen and turns text around."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    # Nearly all that is written can be printed but for its lines and tabs, and that is quick to see.
    if text.isascii():
        if not text.encode().translate(None, _PLAIN):
            return text
    elif text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _compile(_INVISIBLE).sub(_show, text)


def _show(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"

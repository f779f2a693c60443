"""What passes between a command and the person at the terminal: safe text, errors, exit statuses, questions.

A transcript is untrusted: it can hold sequences that recolour or retitle a terminal, move its cursor, write to
its clipboard, or turn text around so that it reads as something else. `clean` makes all of that visible instead
of acting, and all data that is printed for people passes through it. Escaped are control characters but newline
and tab (C0, DEL, C1), lone surrogates, and the invisible characters that steer how text is laid out:
bidirectional controls, zero-width characters, line separators, tags. Joiners stay between characters that are
not ASCII, where emoji and several scripts need them.

What goes wrong is one clear line and an exit status: 0 done, 1 found problems or nothing, 2 misuse,
130 interrupted, 141 nobody reads on. What cannot be undone is asked first; without a terminal to ask on,
`--yes` or `--dry-run` must have been given.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Final

import click

_UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\xad\u180e\u200b-\u200f\u2060-\u206f\ufeff"  # soft hyphen, zero-width characters, marks, isolates
    "\u061c\u2028-\u202e"  # Arabic letter mark; line separators, embeddings and overrides
    "\ufff9-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # annotations, music …
    "\U000e0000-\U000e007f"  # tags: invisible ASCII
    "\ud800-\udfff"  # halves of characters
)
_UNSAFE_CHARACTER = rf"(?<=[^\0-\x7f{_UNSAFE}])([\u200c\u200d])(?=[^\0-\x7f{_UNSAFE}])|[{_UNSAFE}]"
_UNSAFE_IN_JSON = rf"[{_UNSAFE}]"
_BLANKS = re.compile(r"\s+")
_compile = cache(re.compile)  # sets so large take a while, and most text is printable: none of it is in them


def clean(text: str) -> str:
    r"""Return `text` with a visible escape, such as `\x1b`, for all that must not reach a terminal."""
    if text.isprintable():
        return text
    return _compile(_UNSAFE_CHARACTER).sub(_show, text.replace("\r\n", "\n"))


def clean_line(text: str) -> str:
    """Return `text` cleaned and on one line, with one space for each run of blanks."""
    return clean(_BLANKS.sub(" ", text).strip())


def shorten(text: str, length: int) -> str:
    """Return the beginning of `text`, cleaned and on one line, in at most `length` characters."""
    # What is far behind the end is not looked at: results can have megabytes.
    line = clean_line(text[: 8 * length])
    return line if len(line) <= length and len(text) <= 8 * length else line[: length - 1].rstrip() + "…"


def escape_json(data: bytes) -> bytes:
    r"""Return JSON text with `\uXXXX` for all that must not reach a terminal; it means the same."""
    return _compile(_UNSAFE_IN_JSON).sub(_escape, data.decode()).encode()


def bold(text: str, color: bool) -> str:
    """Return text that stands out."""
    return f"\x1b[1m{text}\x1b[0m" if color else text


def dim(text: str, color: bool) -> str:
    """Return text that stands back."""
    return f"\x1b[2m{text}\x1b[0m" if color else text


def _show(match: re.Match[str]) -> str:
    if match[1]:
        return match[0]
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


FOUND_PROBLEMS: Final = 1
MISUSE: Final = 2
INTERRUPTED: Final = 130
NOBODY_READS: Final = 141


class MisuseError(click.ClickException):
    """A command was used wrongly."""

    exit_code = MISUSE


class NothingFoundError(click.ClickException):
    """A command found nothing."""

    exit_code = FOUND_PROBLEMS


def describe_os_error(error: OSError) -> str:
    """Return what the system says about a file, in a line."""
    reason = error.strerror or str(error) or type(error).__name__
    return reason if error.filename is None else f"{os.fsdecode(error.filename)}: {reason}"


dry_option = click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


def warn(message: str) -> None:
    """Say something on the way."""
    click.echo(f"turnlog: {clean_line(message)}", err=True)


@contextmanager
def handling_signals(handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Have interruption and termination handled by a function for as long as this lasts."""
    before = [(number, signal.signal(number, handle)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """End in an orderly way when interrupted or terminated; at the second time, at once."""
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        stop()
        signal.signal(number, signal.default_int_handler)

    with handling_signals(handle):
        yield
    if signal.SIGINT in received:
        raise KeyboardInterrupt

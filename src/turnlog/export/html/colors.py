"""Terminal output with its colours; all else that such output can do is shown and does nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from turnlog.export.plain import strip_colors

_COLOR = re.compile(r"\x1b\[([0-9;:]*)m")
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def render_terminal(text: str) -> str:
    """Return what a terminal would show, as HTML."""
    if "\x1b" not in text:
        return escape(strip_colors(text), quote=False)
    return "".join(_render_parts(text))


def _render_parts(text: str) -> Iterator[str]:
    styles: dict[str, str] = {}
    at = 0
    for match in _COLOR.finditer(text):
        yield _wrap(text[at : match.start()], styles)
        _apply(match[1], styles)
        at = match.end()
    yield _wrap(text[at:], styles)


def _wrap(text: str, styles: dict[str, str]) -> str:
    shown = escape(strip_colors(text), quote=False)
    return f'<span class="{" ".join(styles.values())}">{shown}</span>' if shown and styles else shown


def _apply(codes: str, styles: dict[str, str]) -> None:
    numbers = iter([int(code) if code else 0 for code in re.split("[;:]", codes)] or [0])
    for number in numbers:
        if number == 0:
            styles.clear()
        elif number == 1:
            styles["weight"] = "bold"
        elif number == 2:
            styles["weight"] = "dim"
        elif number in (3, 4):
            styles[f"form{number}"] = "italic" if number == 3 else "underlined"
        elif number == 22:
            styles.pop("weight", None)
        elif number in (23, 24):
            styles.pop(f"form{number - 20}", None)
        elif 30 <= number <= 37 or 90 <= number <= 97:
            styles["color"] = f"c-{_NAMES[number % 10]}"
        elif number == 39:
            styles.pop("color", None)
        elif number in (38, 48):
            _skip(numbers)  # one of many colours: those of the page are few, and must stay readable


def _skip(numbers: Iterator[int]) -> None:
    for _ in range({5: 1, 2: 3}.get(next(numbers, 0), 0)):
        next(numbers, None)

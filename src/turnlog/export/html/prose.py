"""Markdown of a transcript as HTML: nothing in it runs, loads or hides where it leads.

pyromark reads the Markdown, many times as fast as a parser in Python, and tells what it found; every element is
written here. So there is no HTML in the output that is not ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from pyromark import Options, events

from turnlog.export.plain import show_controls

_OPTIONS = Options.ENABLE_TABLES | Options.ENABLE_STRIKETHROUGH | Options.ENABLE_TASKLISTS
_LONGEST = 500_000
"""How many characters are still read as Markdown; more is data."""
_ELEMENTS = {
    "Paragraph": "p",
    "Strong": "strong",
    "Emphasis": "em",
    "Strikethrough": "del",
    "Item": "li",
    "BlockQuote": "blockquote",
    "Table": "table",
    "TableRow": "tr",
    "TableCell": "td",
}
_LONE = {"SoftBreak": "\n", "HardBreak": "<br>\n", "Rule": "<hr>\n"}
_BLOCKS = frozenset({"Paragraph", "Item", "BlockQuote", "Table", "TableRow"})


def render_prose(text: str) -> str:
    """Return Markdown as HTML."""
    shown = show_controls(text)
    if len(shown) > _LONGEST:
        return f"<pre>{escape(shown, quote=False)}</pre>"
    return "".join(_render(events(shown, options=_OPTIONS)))


def _render(found: Iterable[Any]) -> Iterator[str]:
    addresses: list[str] = []
    said: list[str] = []
    for event in found:
        if isinstance(event, str):
            yield _LONE.get(event, "")
            continue
        ((kind, value),) = event.items()
        if kind == "Start":
            yield _begin(value, addresses, said)
        elif kind == "End":
            yield _end(value, addresses, said)
        elif kind == "Code":
            yield f"<code>{escape(value, quote=False)}</code>"
        elif kind == "TaskListMarker":
            yield "☑ " if value else "☐ "
        else:  # text, and HTML, which is text here
            if addresses:
                said.append(str(value))
            yield escape(str(value), quote=False)


def _begin(tag: Any, addresses: list[str], said: list[str]) -> str:
    name, data = _read(tag)
    if name in ("Link", "Image"):
        addresses.append(data["dest_url"])
        said.clear()
        return '<span class="link">'
    if name == "Heading":
        return f"<{data['level'].lower()}>"
    if name == "List":
        return "<ul>\n" if data is None else f'<ol start="{int(data)}">\n'
    if name == "CodeBlock":
        return "<pre><code>"
    if name == "TableHead":
        return "<thead><tr>"
    return f"<{_ELEMENTS[name]}>" if name in _ELEMENTS else ""


def _end(tag: Any, addresses: list[str], said: list[str]) -> str:
    name, data = _read(tag)
    if name in ("Link", "Image"):
        address = addresses.pop()
        told = "" if "".join(said) == address else f' <span class="address">{escape(address)}</span>'
        return f"</span>{told}"
    if name == "Heading":
        return f"</{data.lower()}>\n"
    if name == "List":
        return "</ol>\n" if data else "</ul>\n"
    if name == "CodeBlock":
        return "</code></pre>\n"
    if name == "TableHead":
        return "</tr></thead>\n"
    end = "\n" if name in _BLOCKS else ""
    return f"</{_ELEMENTS[name]}>{end}" if name in _ELEMENTS else ""


def _read(tag: Any) -> tuple[str, Any]:
    return (tag, None) if isinstance(tag, str) else next(iter(tag.items()))

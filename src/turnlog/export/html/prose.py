"""Markdown of a transcript as HTML: nothing in it runs, loads or hides where it leads."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from turnlog.export.plain import show_controls

__all__ = ["render_prose"]

_LONGEST = 200_000
"""How many characters are still read as Markdown; more is data."""


class _Renderer(RendererHTML):
    """Shows addresses beside what they are called, and follows none."""

    def link_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        env.setdefault("addresses", []).append(str(tokens[index].attrGet("href") or ""))
        return '<span class="link">'

    def link_close(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        address = env["addresses"].pop()
        before = tokens[index - 1].content if index else ""
        told = "" if before == address else f' <span class="address">{escape(address)}</span>'
        return f"</span>{told}"

    def image(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        called, address = escape(tokens[index].content), escape(str(tokens[index].attrGet("src") or ""))
        return f'<span class="link">{called}</span> <span class="address">{address}</span>'


_parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable(["table", "strikethrough"])


def render_prose(text: str) -> str:
    """Return Markdown as HTML."""
    shown = show_controls(text)
    if len(shown) > _LONGEST:
        return f"<pre>{escape(shown, quote=False)}</pre>"
    return str(_parser.render(shown, {}))

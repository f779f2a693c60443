"""What strangers would see of a session, in a few lines."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.cli.terminal import clean_line, shorten
from turnlog.export.link_preview import LinkPreview
from turnlog.export.plain import plural

_MOST = 12
_LONGEST = 100


def describe_preview(preview: LinkPreview) -> Iterator[str]:
    """Yield what a link would show, and what is taken out."""
    yield "Anyone with the link would see:"
    yield f"  {shorten(preview.title, _LONGEST)}"
    if preview.project:
        yield f"  project: {clean_line(preview.project)}"
    counts = (
        plural(preview.messages, "message"),
        plural(preview.calls, "call"),
        plural(preview.agents, "agent"),
    )
    yield f"  {', '.join(counts)}"
    if preview.tools:
        yield f"  tools: {_join([f'{clean_line(name)} {times:,}' for name, times in preview.tools])}"
    if preview.files:
        yield f"  files: {_join([clean_line(path) for path in preview.files])}"
    for text in preview.excerpts:
        yield f"  “{shorten(text, _LONGEST)}”"
    taken = [f"{clean_line(kind)} {times:,} times" for kind, times in preview.redacted]
    yield f"Redacted: {', '.join(taken) or 'nothing was found that looks like a secret'}"


def _join(parts: list[str]) -> str:
    more = f" and {len(parts) - _MOST:,} more" if len(parts) > _MOST else ""
    return ", ".join(parts[:_MOST]) + more

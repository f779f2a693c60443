"""What a migration did, in a few lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.text import Text

from turnlog.cli.terminal import clean_line
from turnlog.export.plain import plural
from turnlog.transcripts.migration import Leftover, Migration

_LISTED = 20


def render_migration(migration: Migration, dry_run: bool) -> Iterator[Text]:
    """Yield what was corrected, and what was left as it is and why."""
    documents = plural(migration.documents, "document")
    messages = plural(migration.tool_uses + migration.tool_results, "tool message")
    yield Text(f"{documents}, {messages}: {migration.right:,} right as they were")
    verb = "to correct" if dry_run else "corrected"
    yield _counted(verb, migration.changed, migration.count_corrections().items())
    if migration.left:
        yield _counted("left as they are", len(migration.left), migration.count_left().items())
        yield from (Text(_leftover(each), style="dim") for each in migration.left[:_LISTED])
        if len(migration.left) > _LISTED:
            yield Text(f"  … and {len(migration.left) - _LISTED:,} more (--json lists all)", style="dim")


def _counted(verb: str, count: int, kinds: Iterable[tuple[str, int]]) -> Text:
    details = ", ".join(f"{kind} {number:,}" for kind, number in kinds)
    return Text(f"{verb}: {count:,}" + (f" ({details})" if details else ""))


def _leftover(left: Leftover) -> str:
    named = f", {clean_line(left.uuid)}" if left.uuid else ""
    return f"  byte {left.at.offset}{named}: {left.reason}"

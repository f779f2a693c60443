"""The conversation as a tree: a line for each message, side branches to the right of what goes on.

What is in use stays in one column; an abandoned branch is drawn beside it, before the one that goes on. So
even a prompt that was edited a hundred times takes two columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.text import Text

from turnlog.cli.clock import local_time
from turnlog.cli.output import Row
from turnlog.cli.rendering.messages import heading_of, label_of
from turnlog.cli.terminal import shorten
from turnlog.export.plain import plural
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.conversation.tree import Branch
from turnlog.transcripts.queries.threads import Thread, build_tree
from turnlog.transcripts.records import MessageRecord

_LONGEST_LINE = 90
_DEEPEST = 20


class _Stretch(Struct, frozen=True, gc=False):
    """A branch to draw, in a column."""

    branch: Branch
    depth: int
    is_side: bool


def render_tree(thread: Thread) -> Iterator[Row]:
    """Yield the tree of a conversation, the active branch marked."""
    tree, records = build_tree(thread), [*thread.list_records()]
    active = frozenset(tree.active)
    offshoots: dict[int | None, list[Branch]] = {}
    for branch in tree.branches:
        offshoots.setdefault(branch.parent, []).append(branch)
    trunks = offshoots.get(None, [])
    todo = [_Stretch(trunk, 0, False) for trunk in reversed(trunks)]
    while todo:
        stretch = todo.pop()
        if all(records[index].rule == Rule.META for index in stretch.branch.messages):
            todo += reversed(_list_next(stretch, offshoots.get(stretch.branch.index, [])))
            continue
        if stretch.branch.parent is None and stretch.branch is not trunks[0]:
            yield Row(Text("── follows no message above", "dim"))
        yield from _draw(stretch, thread, records, active)
        todo += reversed(_list_next(stretch, offshoots.get(stretch.branch.index, [])))


def _list_next(stretch: _Stretch, offshoots: list[Branch]) -> list[_Stretch]:
    """Return what leaves a branch: the ones that were left, then the one that goes on."""
    if not offshoots:
        return []
    main = next((branch for branch in offshoots if branch.active), offshoots[-1])
    side = [_Stretch(branch, stretch.depth + 1, True) for branch in offshoots if branch is not main]
    return [*side, _Stretch(main, stretch.depth, False)]


def _draw(
    stretch: _Stretch, thread: Thread, records: Sequence[MessageRecord], active: frozenset[int]
) -> Iterator[Row]:
    bar = Text("│ " * min(stretch.depth, _DEEPEST), "dim")
    if stretch.is_side:
        left = plural(len(stretch.branch.messages), "message")
        yield Row(Text(f"├─╮ an abandoned branch, {left}", "yellow"), bar[:-2])
    shown = (records[index] for index in stretch.branch.messages if records[index].rule != Rule.META)
    for message in thread.read(shown):
        yield Row(_line(message, message.index in active), bar)


def _line(message: Message, active: bool) -> Text:
    heading = heading_of(message)
    nested = "  ↳ " if message.lane is Lane.AGENT else ""
    line = Text.assemble(
        ("● " if active else "○ ", "green" if active else "dim"), (f"{message.index:>4} ", "dim")
    )
    line.append(f"{nested}{heading.name}", heading.style)
    if message.time is not None:
        line.append(f" {local_time(message.time):%H:%M:%S}", "dim")
    text = shorten(message.text, _LONGEST_LINE) or ("" if message.calls else label_of(message))
    if text:
        line.append(f"  {text}")
    if message.calls:
        line.append(f"  {_calls(message)}", "dim")
    return line


def _calls(message: Message) -> str:
    names: dict[str, int] = {}
    for call in message.calls:
        names[call.name] = names.get(call.name, 0) + 1
    shown = ", ".join(name if count == 1 else f"{count} {name}" for name, count in names.items())
    return f"[{shorten(shown, _LONGEST_LINE)}]"

"""A message as people read it: who speaks and when, what was said, and what was done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from types import MappingProxyType

from msgspec import Struct
from rich.text import Text

from turnlog.cli.clock import local_time
from turnlog.cli.terminal import clean, clean_line, shorten
from turnlog.messages.base import UnknownBlock
from turnlog.messages.blocks import ContentBlock, RedactedThinkingBlock, ThinkingBlock
from turnlog.messages.entries import AttachmentEntry, UnknownEntry
from turnlog.messages.media import TextBlock
from turnlog.transcripts.conversation.compactions import has_kept
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.lines.blocks import is_call, is_result, told_error
from turnlog.transcripts.lines.categories import Author
from turnlog.transcripts.lines.kinds import Category, Role


class Detail(Struct, frozen=True, gc=False):
    """How much is shown."""

    thinking: bool = False
    full: bool = False
    """Results and what the program says whole, not just their beginning."""
    project: str | None = None
    """Paths inside it are shown from there."""


class Heading(Struct, frozen=True, gc=False):
    """What stands above a message; messages in a row that share it have it once."""

    mark: str
    name: str
    style: str


_AUTHORS: Mapping[Author, Heading] = MappingProxyType(
    {
        Author.HUMAN: Heading(">", "you", "bold green"),
        Author.CLAUDE: Heading("●", "claude", "bold blue"),
        Author.AGENT: Heading("●", "agent", "bold magenta"),
        Author.SYSTEM: Heading("∙", "system", "dim"),
    }
)
_TO_AGENT = Heading(">", "claude", "bold blue")
_ERROR = Heading("✗", "error", "bold red")
_KEPT = Heading("≡", "kept from earlier", "cyan")
_RULES: Mapping[Rule, Heading] = MappingProxyType(
    {
        Rule.NOTICE: Heading("◆", "task", "cyan"),
        Rule.INTERRUPTION: Heading("■", "interrupted", "yellow"),
        Rule.COMPACTION: Heading("─", "compaction", "cyan"),
        Rule.RECAP: Heading("≡", "summary of what came before", "cyan"),
        Rule.SUMMARY: Heading("≡", "summary", "cyan"),
        Rule.HOOK: Heading("⚙", "hook", "dim"),
        Rule.LONE_PROGRESS: Heading("…", "progress", "dim"),
        Rule.META: Heading("∙", "metadata, normally hidden", "dim"),
        Rule.CONTEXT_SHOWN: Heading("+", "context", "dim"),
        Rule.UNKNOWN: Heading("?", "unknown", "yellow"),
    }
)
_UNTYPED = Heading("?", "unknown line", "yellow")
_REMARKS = {
    Rule.QUEUED: "while it was working",
    Rule.WAITING: "still waiting",
    Rule.LONE_RESULT: "result without a call",
    Rule.RAN_COMMAND: "a command",
}
_BRIEF = frozenset(
    (Rule.RECAP, Rule.COMPACTION, Rule.SYSTEM, Rule.HOOK, Rule.CONTEXT_SHOWN, Rule.UNKNOWN, Rule.LONE_PROGRESS)
)
"""What is shown in a line, unless all of it is asked for."""
_LONGEST_LINE = 300


def heading_of(message: Message) -> Heading:
    """Return what stands above a message."""
    if is_error(message):
        return _ERROR
    if message.rule is Rule.COMPACTION and has_kept(message):
        return _RULES[Rule.RECAP] if message.role is Role.SUMMARY else _KEPT
    author = message.author
    if author is Author.CLAUDE and message.role is Role.USER:
        return _TO_AGENT
    if message.rule is Rule.UNKNOWN and not getattr(message.lines[0].entry, "type", None):
        return _UNTYPED
    return _RULES.get(message.rule) or _AUTHORS[author]


def is_error(message: Message) -> bool:
    """Tell whether a message reports an error: of the model, the API, the program or a call."""
    if message.category is Category.ERROR:
        return True
    return message.rule is Rule.LONE_RESULT and any(
        is_result(block) and told_error(block) is True for block in message.blocks
    )


def label_of(message: Message) -> str:
    """Return what a message is that has no text: the type of its line, or of what that carries."""
    entry = message.lines[0].entry
    if isinstance(entry, UnknownEntry):
        return entry.type or "a broken line"
    carried = entry.attachment if isinstance(entry, AttachmentEntry) else entry
    return str(getattr(carried, "type", None) or tag_of(carried))


def tag_of(value: object) -> str:
    """Return by what name the data calls the type of a value."""
    config = value.__struct_config__ if isinstance(value, Struct) else None
    return str(config.tag) if config is not None and config.tag is not None else type(value).__name__


def render_heading(message: Message, last_day: date | None, *remarks: str) -> Text:
    """Return the line above a message; the day is said where it is another than before."""
    heading = heading_of(message)
    line = Text.assemble((f"{heading.mark} {heading.name}", heading.style))
    if heading is _RULES[Rule.UNKNOWN]:
        line.append(f" {clean_line(label_of(message))}", heading.style)
    if message.time is not None:
        moment = local_time(message.time)
        line.append(
            moment.strftime("  %H:%M:%S" if moment.date() == last_day else "  %Y-%m-%d %H:%M:%S"), "dim"
        )
    for remark in (*_list_remarks(message), *remarks):
        line.append(f"  {remark}", "dim")
    return line


def render_body(message: Message, detail: Detail) -> Iterator[Text]:
    """Yield what a message says; what it did is shown apart."""
    if detail.thinking and message.thinking:
        yield Text(clean(message.thinking.strip()), "dim italic")
    text = message.text.strip()
    style = "red" if is_error(message) else ""
    if message.rule in _BRIEF and not detail.full:
        yield Text(shorten(text or label_of(message), _LONGEST_LINE), style or "dim")
    elif text:
        yield Text(clean(text), style)
    for block in message.blocks:
        described = _describe(block)
        if described is not None:
            yield Text(described, "yellow" if isinstance(block, UnknownBlock) else "dim")


def _list_remarks(message: Message) -> Iterator[str]:
    if message.rule in _REMARKS:
        yield _REMARKS[message.rule]
    if message.aborted:
        yield "cut off"


def _describe(block: ContentBlock) -> str | None:
    """Return a line for a block that is neither text nor thinking nor part of a call."""
    if (
        isinstance(block, TextBlock | ThinkingBlock | RedactedThinkingBlock)
        or is_call(block)
        or is_result(block)
    ):
        return None
    if isinstance(block, UnknownBlock):
        return f"? unknown block {shorten(block.raw.decode('utf-8', 'replace'), _LONGEST_LINE)}"
    return f"[{clean_line(tag_of(block))}]"

"""How `turnlog run` shows turns while they happen: text as it is written, calls with what came of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from turnlog.cli.terminal import clean, clean_line, shorten
from turnlog.export.plain import plural
from turnlog.messages.blocks import ContentBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from turnlog.messages.media import TextBlock
from turnlog.messages.sdk import (
    AssistantMessage,
    PartialAssistantMessage,
    ResultMessage,
    SystemInitMessage,
    UserMessage,
    has_failed,
)
from turnlog.messages.sdk.messages import ContentBlockDelta, MessageStart, TextDelta, ThinkingDelta
from turnlog.transcripts.calls.topics import topic_of
from turnlog.transcripts.usage.prices import money_text
from turnlog.transcripts.usage.sightings import find_reported_cost

_LONGEST = 160
_LINES = 5
_NESTED = "│ "


class Display:
    """Writes to a terminal or a pipe; all data is cleaned."""

    def __init__(self, console: Console, *, thinking: bool = False) -> None:
        self._console = console
        self._thinking = thinking
        self._is_open = False
        """Whether something stands on the last line."""
        self._streamed: set[str] = set()
        """Messages whose text was shown while it was written."""
        self._calls: dict[str, tuple[str, str]] = {}
        self._project: str | None = None
        self._session: str | None = None

    def tell(self, text: str, style: str = "dim") -> None:
        """Show a line of our own; what comes from data must have been cleaned."""
        self.end_line()
        self._console.print(Text(text, style), soft_wrap=True)

    def ask(self, prompt: str) -> None:
        """Show what is asked, and leave the cursor behind it."""
        self.end_line()
        self._console.out(prompt, end="", highlight=False)
        self._console.file.flush()
        self._is_open = True

    def note_typed(self, typed: bytes) -> None:
        """Note that the person typed something, and where that left the cursor."""
        self._is_open = not typed.endswith(b"\n")

    def end_line(self) -> None:
        """Go to the beginning of a line."""
        if self._is_open:
            self._console.out("", highlight=False)
            self._is_open = False

    def show(self, message: object) -> None:
        """Show a message of the program, if people want to see it."""
        match message:
            case SystemInitMessage():
                self._begin(message)
            case PartialAssistantMessage():
                self._stream(message)
            case AssistantMessage():
                self._show_answer(message)
            case UserMessage():
                self._show_results(message)
            case ResultMessage():
                self._end(message)

    def _begin(self, message: SystemInitMessage) -> None:
        self._project = message.cwd or None
        if message.session_id and message.session_id != self._session:
            self._session = message.session_id
            parts = (f"session {message.session_id}", message.model, message.permission_mode)
            self.tell(" · ".join(clean_line(str(part)) for part in parts if part))

    def _stream(self, part: PartialAssistantMessage) -> None:
        if part.parent_tool_use_id:
            return  # an agent's text is shown when it is whole
        event = part.event
        if isinstance(event, MessageStart) and event.message.id:
            self._streamed.add(event.message.id)
            self.end_line()
        elif isinstance(event, ContentBlockDelta):
            if isinstance(event.delta, TextDelta):
                self._write(event.delta.text)
            elif isinstance(event.delta, ThinkingDelta) and self._thinking:
                self._write(event.delta.thinking, "dim italic")

    def _write(self, text: str, style: str | None = None) -> None:
        shown = clean(text)
        if shown:
            self._console.out(shown, style=style, end="", highlight=False)
            self._console.file.flush()
            self._is_open = not shown.endswith("\n")

    def _show_answer(self, message: AssistantMessage) -> None:
        inside = _NESTED if message.parent_tool_use_id else ""
        is_new = bool(inside) or message.message.id not in self._streamed
        for block in _list_blocks(message.message.content):
            if isinstance(block, ToolUseBlock):
                name, topic = block.name or "a tool", topic_of(block.name or "", block.input, self._project)
                if block.id:
                    self._calls[block.id] = name, topic
                self._line(f"{inside}→ ", "cyan", f"{shorten(name, 80)} {shorten(topic, _LONGEST)}")
            elif isinstance(block, TextBlock) and is_new:
                for line in clean(block.text).split("\n"):
                    self._line(inside, "dim", line)
            elif isinstance(block, ThinkingBlock) and is_new and self._thinking:
                self.tell(f"{inside}{clean(block.thinking)}", "dim italic")

    def _show_results(self, message: UserMessage) -> None:
        inside = _NESTED if message.parent_tool_use_id else ""
        for block in _list_blocks(message.message.content):
            if isinstance(block, ToolResultBlock):
                failed = block.is_error is True
                name, topic = self._calls.pop(block.tool_use_id or "", ("a tool", ""))
                mark, style = ("✗ ", "red") if failed else ("✓ ", "green")
                self._line(f"{inside}{mark}", style, f"{shorten(name, 80)} {shorten(topic, _LONGEST)}")
                for line in _shorten_result("\n".join(_list_texts(block))):
                    self.tell(f"{inside}  {line}", "red" if failed else "dim")

    def _end(self, message: ResultMessage) -> None:
        cost = find_reported_cost(message)
        parts = [
            f"{message.duration_ms / 1000:,.1f} s" if isinstance(message.duration_ms, int | float) else "",
            f"{money_text(cost)} so far" if cost is not None else "",
        ]
        failed = has_failed(message)
        self.tell(
            " · ".join(["failed" if failed else "done", *filter(None, parts)]), "red" if failed else "dim"
        )
        errors = message.errors if isinstance(message.errors, tuple) else ()
        for error in errors if failed else ():
            self.tell(f"  {shorten(error, _LONGEST)}", "red")

    def _line(self, mark: str, style: str, text: str) -> None:
        self.end_line()
        self._console.print(Text.assemble((mark, style), text.rstrip()), soft_wrap=True)


def _list_blocks(content: object) -> Sequence[ContentBlock]:
    return content if isinstance(content, tuple) else ()


def _list_texts(block: ToolResultBlock) -> Iterator[str]:
    if isinstance(block.content, str):
        yield block.content
    for each in _list_blocks(block.content):
        if isinstance(each, TextBlock):
            yield each.text


def _shorten_result(text: str) -> Iterator[str]:
    lines = text.strip("\n").split("\n") if text.strip() else []
    yield from (shorten(line, _LONGEST) for line in lines[:_LINES])
    if len(lines) > _LINES:
        yield f"… {plural(len(lines) - _LINES, 'more line')}"

"""A session at a glance, its messages and calls with agents inside, the tree of branches, an excerpt.

A message stands under a heading that says who speaks and when; a call is one line, what came of it another.
Agents start agents, to any depth, so a conversation is rendered with a stack of its own and not recursively. In
the tree, what is in use stays in one column; an abandoned branch is drawn beside it, before the one that goes
on, so that even a prompt that was edited a hundred times takes two columns.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from types import MappingProxyType

from msgspec import Struct
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from turnlog.cli.output import Row
from turnlog.cli.plain_text import count_text, duration_text, local_time
from turnlog.cli.terminal import MisuseError, NothingFoundError, clean, clean_line, shorten
from turnlog.export.plain_text import plural
from turnlog.instants import from_microseconds
from turnlog.messages import Line
from turnlog.messages.base import UnknownBlock
from turnlog.messages.blocks import ContentBlock, RedactedThinkingBlock, TextBlock, ThinkingBlock
from turnlog.messages.entries import AttachmentEntry, UnknownEntry
from turnlog.transcripts.actions import join_reports, report_of
from turnlog.transcripts.calls import Call
from turnlog.transcripts.conversation.messages import COMPACTED, Compaction, Lane, Message, Rule, has_kept
from turnlog.transcripts.conversation.tree import Branch
from turnlog.transcripts.kinds import AgentState, CallState, Category, Role, topic_of
from turnlog.transcripts.lines.content import Author, find_error_flag, is_call, is_result
from turnlog.transcripts.queries import threads
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.segments import AgentRecord, MessageRecord
from turnlog.transcripts.summary import Summary
from turnlog.transcripts.usage.prices import Prices, bill_text, cost_text, money_text
from turnlog.transcripts.usage.tokens import build_total

MARKS: Mapping[CallState, tuple[str, str]] = MappingProxyType(
    {
        CallState.RESOLVED: ("✓", "green"),
        CallState.FAILED: ("✗", "red"),
        CallState.INTERRUPTED: ("■", "yellow"),
        CallState.REJECTED: ("⊘", "yellow"),
        CallState.PLACEHOLDER: ("…", "cyan"),
        CallState.UNRESOLVED: ("…", "dim"),
    }
)
"""How each outcome is marked, and in which colour."""

_WORDS = {
    CallState.INTERRUPTED: "interrupted",
    CallState.REJECTED: "not allowed",
    CallState.PLACEHOLDER: "continues in the background",
    CallState.UNRESOLVED: "no result",
}
_LONGEST_NAME = 80
_LONGEST_INPUT = 120
_LONGEST_RESULT = 160
_FAILED_LINES = 5


def render_call(call: Call, project: str | None, full: bool) -> Iterator[Text]:
    """Yield the call with its state, then its result: the first lines of it, or all."""
    mark, color = MARKS[call.state]
    line = Text.assemble((mark, color), " ", (shorten(call.name, _LONGEST_NAME), "bold"))
    about = summarize_input(call, project)
    if about:
        line.append(f" {about}")
    if call.state in _WORDS:
        line.append(f"  {_WORDS[call.state]}", "dim")
    if not call.known:
        line.append("  unknown tool", "yellow")
    yield line
    yield from (
        Text(f"  {text}", "red" if call.state is CallState.FAILED else "dim")
        for text in _render_result(call, full)
    )


def summarize_input(call: Call, project: str | None, length: int = _LONGEST_INPUT) -> str:
    """Return what a call is about: the path, the command, the question."""
    return shorten(topic_of(call.name, call.block.input, project), length)


def _render_result(call: Call, full: bool) -> Iterator[str]:
    result = call.result
    if result is None:
        return
    if result.images:
        yield f"[{plural(len(result.images), 'image')}]"
    text = result.text.strip("\n")
    if full:
        yield from clean(text).split("\n") if text else ()
        return
    most = _FAILED_LINES if call.state is CallState.FAILED else 1
    shown = text.split("\n", most)[:most]
    yield from (shorten(line, _LONGEST_RESULT) for line in shown if line.strip())
    left = text.count("\n") + 1 - len(shown)
    if left:
        yield f"… {plural(left, 'more line')}"


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
        is_result(block) and find_error_flag(block) is True for block in message.blocks
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
    """Return the line above a message; with the day if it differs from the previous one."""
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
        described = _describe_block(block)
        if described is not None:
            yield Text(described, "yellow" if isinstance(block, UnknownBlock) else "dim")


def _list_remarks(message: Message) -> Iterator[str]:
    if message.rule in _REMARKS:
        yield _REMARKS[message.rule]
    if message.aborted:
        yield "cut off"


def _describe_block(block: ContentBlock) -> str | None:
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


_DEEPEST_AGENT = 12
_RULE_WIDTH = 4
_LONGEST_NOTE = 200


_DIVIDER = Heading("", "", "")


class Nested(Struct, frozen=True):
    """A conversation inside another."""

    title: Text
    thread: threads.Thread
    compactions: Sequence[Compaction]
    records: Iterable[MessageRecord] | None = None
    """Which of its messages are shown; None for all."""
    remarks: Mapping[int, str] = MappingProxyType({})
    """What to say of some messages, by their index."""
    has_notes: bool = True
    """Whether to show what happened between messages."""


FindNested = Callable[[Call], Iterable[Nested]]
"""Returns the conversations of the agents that a call started."""


def render_conversation(outermost: Nested, find_nested: FindNested, detail: Detail) -> Iterator[Row]:
    """Yield a conversation and all that is inside it."""
    levels = [_Level(outermost, 0, find_nested, detail).render()]
    while levels:
        part = next(levels[-1], None)
        if part is None:
            levels.pop()
        elif isinstance(part, Row):
            yield part
        else:
            depth = len(levels)
            yield Row(part.title, _gutter(depth))
            levels.append(_Level(part, depth, find_nested, detail).render())


class _Level:
    """One conversation, on its way out."""

    def __init__(self, nested: Nested, depth: int, find_nested: FindNested, detail: Detail) -> None:
        self._thread = nested.thread
        self._records = nested.records
        self._remarks = nested.remarks
        self._notes = sorted(nested.thread.notes, reverse=True) if nested.has_notes else []
        self._compactions = {each.messages[0]: each for each in nested.compactions}
        self._find_nested = find_nested
        self._detail = detail
        self._gutter = _gutter(depth)
        self._heading: Heading | None = None
        self._day: date | None = None

    def render(self) -> Iterator[Row | Nested]:
        for message in self._thread.read(self._records):
            yield from self._render_notes(message.index)
            if message.index in self._compactions:
                if self._heading is not None:
                    yield Row(Text(), self._gutter)
                yield Row(render_compaction(self._compactions[message.index]), self._gutter)
                self._heading = _DIVIDER
            if message.is_hidden and message.index not in self._remarks:
                continue
            if message.rule is not Rule.COMPACTION or has_kept(message):
                yield from self._render_message(message)
        yield from self._render_notes(None)

    def _render_notes(self, below: int | None) -> Iterator[Row]:
        """Yield what happened above a message, or all that is left."""
        lines: list[Line] = []
        while self._notes and (below is None or self._notes[-1] < below):
            lines += self._thread.read_notes(self._notes.pop())
        reports = [report_of(line.entry) for line in lines]
        if not self._detail.full:
            reports = [join_reports(line.entry for line in lines)] if lines else []
        inner = Text.assemble(self._gutter, "  ")
        yield from (Row(Text(f"∙ {shorten(report, _LONGEST_NOTE)}", "dim"), inner) for report in reports)

    def _render_message(self, message: Message) -> Iterator[Row | Nested]:
        body = list(render_body(message, self._detail))
        heading = heading_of(message)
        marked = message.index in self._remarks
        begins = heading != self._heading or message.rule is Rule.PROMPT or marked or is_error(message)
        if self._heading is not None and (begins or body):
            yield Row(Text(), self._gutter)
        if begins:
            remarks = [self._remarks[message.index]] if marked else []
            yield Row(render_heading(message, self._day, *remarks), self._gutter)
        self._heading = heading
        if message.time is not None:
            self._day = local_time(message.time).date()
        inner = Text.assemble(self._gutter, "  ")
        yield from (Row(text, inner) for text in body)
        for call in message.calls:
            yield from (Row(text, inner) for text in render_call(call, self._detail.project, self._detail.full))
            yield from self._find_nested(call)


def render_compaction(compaction: Compaction) -> Text:
    """Return the line that divides what was left out from what follows."""
    rule = "─" * _RULE_WIDTH
    told = [clean_line(str(compaction.state)) + (" a little" if compaction.micro else "")]
    if compaction.trigger:
        told.append(clean_line(compaction.trigger))
    if compaction.tokens_before is not None:
        after = "" if compaction.tokens_after is None else f" → {count_text(compaction.tokens_after)}"
        told.append(f"{count_text(compaction.tokens_before)}{after} tokens")
    return Text(f"{rule} {', '.join(told)} {rule}", "cyan")


def _gutter(depth: int) -> Text:
    return Text("  │ " * min(depth, _DEEPEST_AGENT), "dim" if depth else "")


_LONGEST_TREE_LINE = 90
_DEEPEST_BRANCH = 20


class _DrawnBranch(Struct, frozen=True, gc=False):
    """A branch to draw, in a column."""

    branch: Branch
    depth: int
    is_side: bool


def render_tree(thread: threads.Thread) -> Iterator[Row]:
    """Yield the tree of a conversation, the active branch marked."""
    tree, records = threads.build_tree(thread), [*thread.list_records()]
    active = frozenset(tree.active)
    offshoots: dict[int | None, list[Branch]] = {}
    for branch in tree.branches:
        offshoots.setdefault(branch.parent, []).append(branch)
    trunks = offshoots.get(None, [])
    todo = [_DrawnBranch(trunk, 0, False) for trunk in reversed(trunks)]
    while todo:
        stretch = todo.pop()
        if all(records[index].rule == Rule.META for index in stretch.branch.messages):
            todo += reversed(_list_offshoots(stretch, offshoots.get(stretch.branch.index, [])))
            continue
        if stretch.branch.parent is None and stretch.branch is not trunks[0]:
            yield Row(Text("── follows no message above", "dim"))
        yield from _draw_branch(stretch, thread, records, active)
        todo += reversed(_list_offshoots(stretch, offshoots.get(stretch.branch.index, [])))


def _list_offshoots(stretch: _DrawnBranch, offshoots: list[Branch]) -> list[_DrawnBranch]:
    """Return what leaves a branch: the ones that were left, then the one that goes on."""
    if not offshoots:
        return []
    main = next((branch for branch in offshoots if branch.active), offshoots[-1])
    side = [_DrawnBranch(branch, stretch.depth + 1, True) for branch in offshoots if branch is not main]
    return [*side, _DrawnBranch(main, stretch.depth, False)]


def _draw_branch(
    stretch: _DrawnBranch, thread: threads.Thread, records: Sequence[MessageRecord], active: frozenset[int]
) -> Iterator[Row]:
    bar = Text("│ " * min(stretch.depth, _DEEPEST_BRANCH), "dim")
    if stretch.is_side:
        left = plural(len(stretch.branch.messages), "message")
        yield Row(Text(f"├─╮ an abandoned branch, {left}", "yellow"), bar[:-2])
    shown = (records[index] for index in stretch.branch.messages if records[index].rule != Rule.META)
    for message in thread.read(shown):
        yield Row(_draw_message(message, message.index in active), bar)


def _draw_message(message: Message, active: bool) -> Text:
    heading = heading_of(message)
    nested = "  ↳ " if message.lane is Lane.AGENT else ""
    line = Text.assemble(
        ("● " if active else "○ ", "green" if active else "dim"), (f"{message.index:>4} ", "dim")
    )
    line.append(f"{nested}{heading.name}", heading.style)
    if message.time is not None:
        line.append(f" {local_time(message.time):%H:%M:%S}", "dim")
    text = shorten(message.text, _LONGEST_TREE_LINE) or ("" if message.calls else label_of(message))
    if text:
        line.append(f"  {text}")
    if message.calls:
        line.append(f"  {_count_calls(message)}", "dim")
    return line


def _count_calls(message: Message) -> str:
    names: dict[str, int] = {}
    for call in message.calls:
        names[call.name] = names.get(call.name, 0) + 1
    shown = ", ".join(name if count == 1 else f"{count} {name}" for name, count in names.items())
    return f"[{shorten(shown, _LONGEST_TREE_LINE)}]"


_USUAL_CONTEXT = 3


class Excerpt(Struct, frozen=True):
    """Messages of a conversation that follow on each other."""

    thread: threads.Thread
    agent: str | None
    chosen: int
    """The place of the message that was asked for in its conversation, from 0."""
    first: int
    end: int

    @property
    def records(self) -> list[MessageRecord]:
        """What is shown."""
        return self.thread.list_some(self.first, self.end)


def find_excerpt(session: SessionRecords, message: str, agent: str | None, context: int | None) -> Excerpt:
    """Return a message with some around it.

    It is known by its id, in whichever conversation of the session it stands, or by its index in the main one,
    or in that of an agent. Raises `NothingFoundError` for what is not there.
    """
    around = _USUAL_CONTEXT if context is None else context
    for name, thread in _list_threads(session, agent):
        count = len(thread.messages)
        if name == agent and message.isdecimal():
            found = int(message) if int(message) < count else None
        else:
            found = thread.find_place(message)
        if found is not None:
            return Excerpt(thread, name, found, max(found - around, 0), min(found + around + 1, count))
    where = "the session" if agent is None else f"the agent {agent}"
    raise NothingFoundError(f"{where} has no message {message}")


def render_excerpt(excerpt: Excerpt, detail: Detail) -> Iterator[Row]:
    """Yield the messages, and what is left out before and behind them; agents are not opened."""
    thread, records, count = excerpt.thread, excerpt.records, len(excerpt.thread.messages)
    whose = "" if excerpt.agent is None else f" of the agent {clean_line(excerpt.agent)}"
    yield Row(Text(f"messages {excerpt.first} to {excerpt.end - 1} of {count:,}, from 0{whose}", "dim"))
    yield Row(Text())
    chosen = records[excerpt.chosen - excerpt.first].index
    compactions = thread.compactions if any(row.rule in COMPACTED for row in records) else ()
    nested = Nested(
        Text(), thread, compactions, records, {chosen: f"◀ message {excerpt.chosen}"}, has_notes=False
    )
    yield from render_conversation(nested, lambda _: (), detail)


def _list_threads(session: SessionRecords, agent: str | None) -> Iterator[tuple[str | None, threads.Thread]]:
    """Yield where to look: the main conversation and then those of agents, or that of one agent."""
    agents = session.list_agents()
    if agent is None:
        yield None, threads.open_main(session)
        own = [each for each in agents if not each.inline]
    else:
        own = [_find_agent(agents, agent)]
    for each in own:
        yield each.id if agent is None else agent, threads.open_agent(session, each, inherited=True)


def _find_agent(agents: Sequence[AgentRecord], prefix: str) -> AgentRecord:
    found = [each for each in agents if each.id == prefix] or [
        each for each in agents if each.id.startswith(prefix)
    ]
    if not found:
        raise NothingFoundError(f"the session has no agent {prefix}")
    if len(found) > 1:
        names = ", ".join(each.id for each in found[:5])
        raise MisuseError(f"{len(found)} agents begin with {prefix}: {names}")
    return found[0]


def render_header(summary: Summary, turns: int, agents: int, problems: int, argument: str) -> Iterator[Text]:
    """Yield what a session is called, where and when it ran, and how much is in it.

    `argument` is what the session was asked for by: the command that lists its problems takes the same.
    """
    title = clean_line(summary.title.text) if summary.title else "(no title)"
    yield Text(title, "bold")
    for parts in (
        _list_places(summary),
        _list_times(summary),
        _list_counts(summary, turns, agents),
        _list_costs(summary),
    ):
        line = " · ".join(part for part in parts if part)
        if line:
            yield Text(line, "dim")
    if problems:
        command = clean_line(f"turnlog validate {shlex.quote(argument)} --severity note")
        yield Text(f"{plural(problems, 'problem')} in the data: see `{command}`", "yellow")
    yield Text()


def _list_places(summary: Summary) -> Iterator[str]:
    yield clean_line(summary.project or "")
    yield _join_names(summary.branches)
    yield f"session {clean_line(summary.id)}" if summary.id else ""


def _list_times(summary: Summary) -> Iterator[str]:
    first, last = summary.first_time, summary.last_time
    if first is not None and last is not None:
        begin, end = local_time(first), local_time(last)
        ending = f"{end:%H:%M}" if begin.date() == end.date() else f"{end:%Y-%m-%d %H:%M}"
        yield f"{begin:%Y-%m-%d %H:%M} to {ending}"
        yield duration_text((last - first).total_seconds())
    yield f"Claude Code {_join_names(summary.versions)}" if summary.versions else ""
    yield _join_names(summary.models)


def _list_counts(summary: Summary, turns: int, agents: int) -> Iterator[str]:
    counts = summary.counts
    yield plural(turns, "turn")
    yield plural(counts.answers, "answer")
    failed = f" ({counts.failed_calls:,} failed)" if counts.failed_calls else ""
    yield plural(counts.calls, "call") + failed
    yield plural(agents, "agent") if agents else ""
    yield plural(counts.compactions, "compaction") if counts.compactions else ""
    yield plural(counts.lines, "line")


def _list_costs(summary: Summary) -> Iterator[str]:
    totals = summary.totals
    if not totals.messages:
        return
    least = "≥" if totals.incomplete else ""
    yield f"{count_text(totals.tokens.prompt)} tokens in, {least}{count_text(totals.tokens.output)} out"
    if summary.cost is not None:
        unpriced = [each.model or "(no model)" for each in summary.model_totals if each.cost is None]
        floor = bool(totals.incomplete or unpriced)
        yield cost_text(summary.cost, bool(summary.unpriced_terms), floor)
        yield f"without {_join_names(unpriced)}" if unpriced else ""
    if summary.reported_cost is not None:
        yield f"Claude Code says {money_text(summary.reported_cost)}"


def _join_names(names: list[str] | tuple[str, ...]) -> str:
    shown = ", ".join(clean_line(name) for name in names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown


_LONGEST_PROMPT = 60


def render_turns(session: SessionRecords) -> Iterator[RenderableType]:
    """Yield the table: a row for each turn."""
    turns, prices = threads.list_turn_uses(session), Prices()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("#", justify="right")
    table.add_column("started", no_wrap=True)
    table.add_column("took", justify="right", no_wrap=True)
    table.add_column("prompt", overflow="fold")
    for name in ("messages", "calls", "agents", "files", "tokens in", "out", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for turn, prompt in zip(turns, threads.read_prompts(session), strict=True):
        table.add_row(*_turn_cells(turn, prompt, prices))
    yield table


def _turn_cells(turn: threads.TurnUse, prompt: str, prices: Prices) -> Iterator[Text]:
    record, bill = turn.record, prices.build_bill(turn.usage)
    floor = "≥" if bill.totals.incomplete else ""
    changed = sum(file.changed for file in turn.files)
    started = None if record.started is None else local_time(from_microseconds(record.started))
    yield Text(str(record.index + 1), "dim")
    yield Text("" if started is None else f"{started:%Y-%m-%d %H:%M}", "dim")
    yield Text("" if record.duration_ms is None else duration_text(record.duration_ms / 1000))
    yield Text(shorten(prompt, _LONGEST_PROMPT))
    yield Text(count_text(record.messages))
    yield Text(count_text(record.calls) + (f" ({turn.failed_calls} ✗)" if turn.failed_calls else ""))
    yield Text(count_text(record.agents))
    yield Text(count_text(len(turn.files)) + (f" ({changed} changed)" if changed else ""))
    yield Text(count_text(bill.totals.tokens.prompt))
    yield Text(floor + count_text(bill.totals.tokens.output))
    yield Text(bill_text(bill))


_MARKS: Mapping[AgentState, tuple[str, str]] = MappingProxyType(
    {
        AgentState.DONE: ("✓", "green"),
        AgentState.FAILED: ("✗", "red"),
        AgentState.STOPPED: ("■", "yellow"),
        AgentState.RUNNING: ("…", "cyan"),
        AgentState.UNKNOWN: ("?", "dim"),
    }
)
_LONGEST_TEXT = 60
_DEEPEST = 12


def list_in_order(agents: Sequence[AgentRecord]) -> Iterator[AgentRecord]:
    """Yield all agents, each behind the one that started it."""
    children: dict[str | None, list[AgentRecord]] = {}
    for agent in agents:
        children.setdefault(agent.parent_id, []).append(agent)
    todo = children.pop(None, [])[::-1]
    while todo:
        agent = todo.pop()
        yield agent
        todo += reversed(children.pop(agent.id, []))


def render_agents(session: SessionRecords, agents: Sequence[AgentRecord]) -> Iterator[RenderableType]:
    """Yield a table of agents, each under the one that started it."""
    prices = Prices()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("agent", "type", "for"):
        table.add_column(name, overflow="fold")
    for name in ("calls", "tokens in", "out", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("linked by")
    for agent in list_in_order(agents):
        table.add_row(*_agent_cells(session, agent, prices))
    yield table


def _agent_cells(session: SessionRecords, agent: AgentRecord, prices: Prices) -> Iterator[Text]:
    used = threads.list_agent_usage(session, agent)
    total = build_total(used)
    indent = "  " * min(agent.depth - 1, _DEEPEST)
    yield Text.assemble(indent, _MARKS[AgentState(agent.state)], " ", clean_line(agent.id))
    yield Text(clean_line(agent.type or ""))
    yield Text(shorten(agent.description or threads.read_agent_prompt(session, agent) or "", _LONGEST_TEXT))
    yield Text(count_text(threads.count_agent_calls(session, agent)))
    yield Text(count_text(total.tokens.prompt))
    yield Text(("≥" if total.incomplete else "") + count_text(total.tokens.output))
    yield Text(bill_text(prices.build_bill(used)))
    yield Text("no call" if agent.linked_by is None else agent.linked_by, "dim")


def open_nested(session: SessionRecords, agent: AgentRecord) -> Nested:
    """Return an agent's conversation, to be shown inside another."""
    thread = threads.open_agent(session, agent)
    return Nested(_agent_title(agent), thread, thread.compactions)


def _agent_title(agent: AgentRecord) -> Text:
    mark, color = _MARKS[AgentState(agent.state)]
    title = Text.assemble(
        (f"{mark} ", color), ("agent ", "magenta"), (clean_line(agent.type or agent.id), "bold magenta")
    )
    if agent.description:
        title.append(f"  {shorten(agent.description, _LONGEST_TEXT)}")
    if agent.background:
        title.append("  in the background", "dim")
    return title

"""A conversation as a stream of pieces, which each format writes in its own way.

What is inside something else comes between its beginning and its end, so that agents inside agents need no
recursion, and a writer holds one piece at a time. A `Selection` says what of a session is given out; what tools
were given and answered comes as texts to be read. With a redactor, nothing is left in any piece that is to be
taken out: the whole session is read for secrets and names first. A heading says what the session is, when it
was, and what it took.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turnlog.errors import SelectionError
from turnlog.export.plain_text import plural, strip_colors
from turnlog.export.redaction import Redactor, list_strings
from turnlog.messages import Line, Raw
from turnlog.messages.base import Unknown, UnknownBlock
from turnlog.messages.blocks import Base64Source, ImageBlock
from turnlog.messages.tool_io.files import EditInput, MultiEditInput, WriteInput
from turnlog.messages.tool_io.planning import AskUserQuestionInput, ExitPlanModeInput, TodoItem, TodoWriteInput
from turnlog.messages.tool_io.registry import ToolInput
from turnlog.messages.tool_io.shell import CommandInput
from turnlog.transcripts.actions import report_of
from turnlog.transcripts.calls import Call
from turnlog.transcripts.conversation.messages import Compaction, Message, Rule, has_kept
from turnlog.transcripts.kinds import AgentState, CallState, Category, Role, topic_of
from turnlog.transcripts.lines.content import Author
from turnlog.transcripts.lines.passages import value_text
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import AgentPlaces, Thread, open_agent, open_main, read_json
from turnlog.transcripts.segments import AgentRecord, MessageRecord
from turnlog.transcripts.summary import Summary
from turnlog.transcripts.usage.prices import cost_text


class Heading(Struct, frozen=True, gc=False, kw_only=True):
    """A session at a glance, for readers."""

    title: str
    session_id: str
    project: str | None
    branch: str | None
    models: tuple[str, ...]
    started_at: datetime | None
    ended_at: datetime | None
    turns: int
    calls: int
    agents: int
    cost: str
    """In dollars, with what is not known of it; empty if nothing was answered."""

    @property
    def counts(self) -> tuple[str, ...]:
        """How much there is of what, and what it cost."""
        counts = ((self.turns, "turn"), (self.calls, "call"), (self.agents, "agent"))
        return (*(plural(count, noun) for count, noun in counts), *filter(None, (self.cost,)))


def build_heading(session: SessionRecords, summary: Summary, name: str | None = None) -> Heading:
    """Return what stands above a session; `name` is one that somebody gave it."""
    main = session.main
    return Heading(
        title=name or (summary.title.text if summary.title is not None else summary.id or "Session"),
        session_id=summary.id or "",
        project=summary.project,
        branch=summary.branches[-1] if summary.branches else None,
        models=summary.models,
        started_at=summary.first_time,
        ended_at=summary.last_time,
        turns=session.count_turns(),
        calls=0 if main is None else main.count_calls,
        agents=len(session.list_agents()),
        cost=_describe_cost(summary),
    )


def _describe_cost(summary: Summary) -> str:
    """Return what a session cost, with what is not known of it; nothing, if there were no answers."""
    if not summary.totals.messages:
        return ""
    unpriced = sorted(each.model or "an unknown model" for each in summary.model_totals if each.cost is None)
    if len(unpriced) == len(summary.model_totals) or summary.cost is None:
        return "unpriced"
    is_floor = bool(summary.totals.incomplete or unpriced)
    cost = cost_text(summary.cost, bool(summary.unpriced_terms), is_floor)
    return f"{cost} without {', '.join(unpriced)}" if unpriced and summary.cost else cost


class BodyKind(StrEnum):
    """How a text is to be read."""

    CODE = "code"
    DIFF = "diff"
    TERMINAL = "terminal"
    MARKDOWN = "markdown"


class Body(Struct, frozen=True, gc=False):
    """A text that a tool was given or gave back."""

    kind: BodyKind
    text: str
    language: str = ""
    """Of code, as fences call it."""


class InlineImage(Struct, frozen=True, gc=False):
    """An image; without `data` where its bytes are elsewhere."""

    media_type: str
    data: str
    """In base64."""


class TurnStart(Struct, frozen=True, gc=False):
    """A turn; it lasts until the next one."""

    number: int
    """From 1."""
    anchor: str


class MessagePiece(Struct, frozen=True, gc=False, kw_only=True):
    """Something that somebody said, in Markdown."""

    author: Author
    text: str
    thinking: str = ""
    time: datetime | None = None
    anchor: str
    model: str | None = None
    remark: str = ""
    failed: bool = False
    """Whether it is an error."""
    pictures: tuple[InlineImage, ...] = ()


class NotePiece(Struct, frozen=True, gc=False, kw_only=True):
    """Something that the program noted: a compaction, an interruption, a hook, what nobody knows."""

    kind: str
    text: str
    time: datetime | None = None
    anchor: str
    failed: bool = False
    """Whether it is an error."""


class CallPiece(Struct, frozen=True, gc=False, kw_only=True):
    """A tool call with what came of it."""

    name: str
    category: Category
    state: CallState
    topic: str
    given: tuple[Body, ...]
    answered: Body | None
    """None where there is no result, or where it was left out."""
    pictures: tuple[InlineImage, ...] = ()
    time: datetime | None = None
    anchor: str


class AgentStart(Struct, frozen=True, gc=False):
    """The conversation of a sub-agent."""

    title: str
    description: str
    state: AgentState
    depth: int


class AgentEnd(Struct, frozen=True, gc=False):
    """The end of what an agent said and did."""

    depth: int


Piece = TurnStart | MessagePiece | NotePiece | CallPiece | AgentStart | AgentEnd


SPEAKERS: Mapping[Author, str] = MappingProxyType(
    {Author.HUMAN: "You", Author.CLAUDE: "Claude", Author.AGENT: "Agent", Author.SYSTEM: "System"}
)
STATES: Mapping[CallState, str] = MappingProxyType(
    {
        CallState.FAILED: "failed",
        CallState.INTERRUPTED: "interrupted",
        CallState.REJECTED: "not allowed",
        CallState.PLACEHOLDER: "continues in the background",
        CallState.UNRESOLVED: "no result",
    }
)
"""Of a call that went well, nothing is said."""
_LONGEST_TOPIC = 200


def shorten_topic(topic: str) -> str:
    """Return what a call is about, on one line that is not too long."""
    line = " ".join(strip_colors(topic).split())
    return line if len(line) <= _LONGEST_TOPIC else line[: _LONGEST_TOPIC - 1] + "…"


class Selection(Struct, frozen=True, gc=False, kw_only=True):
    """What of a session is given out."""

    first_turn: int | None = None
    """From 1."""
    last_turn: int | None = None
    branch: int | None = None
    """The number of a branch: that and what it grew from; None for all of them."""
    thinking: bool = True
    tool_output: bool = True
    agents: bool = True

    @property
    def is_part(self) -> bool:
        """Whether only some turns, or one branch, are given out."""
        return any(each is not None for each in (self.first_turn, self.last_turn, self.branch))


EVERYTHING = Selection()


def select(session: SessionRecords, selection: Selection) -> Iterable[MessageRecord]:
    """Return the messages of the transcript that are given out; raises `SelectionError` if there are none."""
    main = session.main
    path: set[int] | None = None
    if selection.branch is not None:
        branches = [] if main is None else main.list_branches()
        if main is None or not 0 <= selection.branch < len(branches):
            raise SelectionError(
                f"there is no branch {selection.branch}; branches are numbered 0 to {len(branches) - 1}"
            )
        path = set()
        at: int | None = branches[selection.branch].last
        while at is not None:
            path.add(at)
            [row] = main.list_at([at])
            at = row.parent
    chosen: range | None = None
    if selection.first_turn is not None or selection.last_turn is not None:
        count = session.count_turns()
        first, last = selection.first_turn or 1, selection.last_turn or count
        chosen = range(count)[max(first - 1, 0) : last]
        if not chosen:
            raise SelectionError(f"there are no turns {first} to {last}; turns are numbered 1 to {count}")
    return (
        row
        for row in (() if main is None else main.list_messages())
        if (path is None or row.index in path) and (chosen is None or row.turn in chosen)
    )


_LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        ".py": "python", ".js": "javascript", ".ts": "typescript", ".tsx": "tsx", ".jsx": "jsx",
        ".json": "json", ".md": "markdown", ".css": "css", ".html": "html", ".sh": "bash", ".rs": "rust",
        ".go": "go", ".java": "java", ".c": "c", ".h": "c", ".cpp": "cpp", ".rb": "ruby", ".yml": "yaml",
        ".yaml": "yaml", ".toml": "toml", ".sql": "sql", ".swift": "swift", ".kt": "kotlin", ".php": "php",
        ".cs": "csharp", ".xml": "xml",
    }
)  # fmt: skip
_TERMINALS = frozenset({"Bash", "PowerShell", "BashOutput", "TaskOutput", "KillShell"})
_CONTEXT = 3
"""How many lines around a change are shown."""


def describe_input(call: Call) -> tuple[Body, ...]:
    """Return what a tool was given; what only says what the call is about is left out."""
    return tuple(_describe(call.view_input().value, call.block.input))


def describe_answer(call: Call) -> Body | None:
    """Return what a tool answered; None if it did not."""
    if call.result is None:
        return None
    kind = BodyKind.TERMINAL if call.name in _TERMINALS else BodyKind.CODE
    return Body(kind, call.result.text.strip("\n"))


def list_pictures(blocks: Sequence[object]) -> tuple[InlineImage, ...]:
    """Return the images among blocks."""
    found = []
    for block in blocks:
        if isinstance(block, ImageBlock):
            source = block.source
            inside = isinstance(source, Base64Source) and isinstance(source.data, str)
            media_type = getattr(source, "media_type", None)
            found.append(
                InlineImage(
                    media_type if isinstance(media_type, str) else "image",
                    source.data if inside and isinstance(source, Base64Source) else "",
                )
            )
    return tuple(found)


def _describe(given: ToolInput | Unknown, raw: object) -> Iterator[Body]:
    match given:
        case CommandInput():
            if isinstance(given.command, str):
                yield Body(BodyKind.CODE, given.command, "bash")
        case EditInput():
            yield from _diff(given.old_string, given.new_string)
        case MultiEditInput():
            for edit in given.edits if isinstance(given.edits, tuple) else ():
                yield from _diff(edit.old_string, edit.new_string)
        case WriteInput():
            if isinstance(given.content, str):
                yield Body(BodyKind.CODE, given.content, _language_of(given.file_path))
        case ExitPlanModeInput():
            if isinstance(given.plan, str):
                yield Body(BodyKind.MARKDOWN, given.plan)
        case TodoWriteInput():
            yield Body(BodyKind.MARKDOWN, "\n".join(map(_describe_todo, given.todos)))
        case AskUserQuestionInput():
            yield Body(BodyKind.MARKDOWN, "\n\n".join(_describe_questions(given)))
        case _:
            yield from _show_json(raw)


def _describe_todo(item: TodoItem) -> str:
    ticked = "x" if item.status == "completed" else " "
    return f"- [{ticked}] {item.content}" + (" (in progress)" if item.status == "in_progress" else "")


def _describe_questions(given: AskUserQuestionInput) -> Iterator[str]:
    answers = given.answers if isinstance(given.answers, dict) else {}
    for question in given.questions if isinstance(given.questions, tuple) else ():
        yield f"**{question.question}**"
        chosen = answers.get(question.question if isinstance(question.question, str) else "", "")
        options = question.options if isinstance(question.options, tuple) else ()
        labels = [option.label for option in options if isinstance(option.label, str)]
        yield "\n".join(f"- [{'x' if label in chosen else ' '}] {label}" for label in labels)


def _diff(old: object, new: object) -> Iterator[Body]:
    before = old.splitlines() if isinstance(old, str) else []
    after = new.splitlines() if isinstance(new, str) else []
    lines = list(difflib.unified_diff(before, after, lineterm="", n=_CONTEXT))[2:]  # without names of files
    if lines:
        yield Body(BodyKind.DIFF, "\n".join(lines), "diff")


def _show_json(raw: object) -> Iterator[Body]:
    if not isinstance(raw, Raw) or _has_one_field(raw):
        return
    try:
        text = msgspec.json.format(bytes(raw), indent=2).decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = bytes(raw).decode("utf-8", "replace")
    yield Body(BodyKind.CODE, text, "json")


_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


def _has_one_field(raw: Raw) -> bool:
    """Tell whether there is nothing but what the call is about."""
    try:
        return len(_decode_fields(raw)) < 2
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _language_of(path: object) -> str:
    return _LANGUAGES.get(os.path.splitext(path)[1].lower(), "") if isinstance(path, str) else ""


_SAID = frozenset(
    {
        Rule.PROMPT, Rule.COMMAND, Rule.QUEUED, Rule.WAITING, Rule.ANSWER, Rule.RAN_COMMAND, Rule.LONE_THINKING,
    }
)  # fmt: skip
_REMARKS: Mapping[Rule, str] = MappingProxyType(
    {
        Rule.QUEUED: "while it was working",
        Rule.WAITING: "still waiting",
        Rule.COMMAND: "a command",
        Rule.RAN_COMMAND: "a command",
    }
)
_KINDS: Mapping[Rule, str] = MappingProxyType(
    {
        Rule.LONE_PROGRESS: "progress",
        Rule.LONE_OUTPUT: "output",
        Rule.LONE_RESULT: "result without its call",
        Rule.CONTEXT_SHOWN: "context",
        Rule.RECAP: "summary of what came before",
        Rule.NOTICE: "background task",
    }
)
"""What notes are called, where their rule says it for those who know the rules."""


def build_pieces(
    session: SessionRecords, selection: Selection = EVERYTHING, project: str | None = None
) -> Iterator[Piece]:
    """Yield a session piece by piece, agents under the calls that started them.

    What is inside `project` is told by its path from there. Raises `SelectionError` if nothing is left to give
    out.
    """
    places = AgentPlaces(session) if selection.agents else None
    records = (row for row in select(session, selection) if places is None or places.is_main(row))
    turns = {prompt: number for number, prompt in enumerate(session.list_prompts(), 1)}
    walk = _Walk(session, places, selection, project)
    yield from walk.run(open_main(session), records, turns)
    for agent in places.take_left() if places is not None and not selection.is_part else ():
        yield from walk.run_agent(agent)


class _Walk:
    """The way through a conversation and all that is inside it, by a stack of its own."""

    def __init__(
        self, session: SessionRecords, places: AgentPlaces | None, selection: Selection, project: str | None
    ) -> None:
        self._session = session
        self._places = places
        self._selection = selection
        self._project = project

    def run(
        self, thread: Thread, records: Iterable[MessageRecord], turns: Mapping[int, int]
    ) -> Iterator[Piece]:
        yield from self._descend([self._build_pieces(thread, records, turns, 0)])

    def run_agent(self, agent: AgentRecord) -> Iterator[Piece]:
        yield _begin(agent, 1)
        yield from self._descend([iter(()), self._open(agent, 1)])

    def _descend(self, levels: list[Iterator[Piece | AgentRecord]]) -> Iterator[Piece]:
        while levels:
            part = next(levels[-1], None)
            if part is None:
                levels.pop()
                if levels:
                    yield AgentEnd(len(levels))
            elif isinstance(part, AgentRecord):
                yield _begin(part, len(levels))
                levels.append(self._open(part, len(levels)))
            else:
                yield part

    def _open(self, agent: AgentRecord, depth: int) -> Iterator[Piece | AgentRecord]:
        thread = open_agent(self._session, agent)
        return self._build_pieces(thread, None, {}, depth)

    def _build_pieces(
        self, thread: Thread, records: Iterable[MessageRecord] | None, turns: Mapping[int, int], depth: int
    ) -> Iterator[Piece | AgentRecord]:
        divided = {each.messages[0]: each for each in thread.compactions}
        begins = thread.messages[0] if thread.messages else None
        for message in thread.read(records):
            if message.index == begins:
                yield from _build_notes(thread.read_notes(-1), f"{depth}-above")
            if message.is_hidden:
                continue
            anchor = message.id if not depth else f"{depth}-{message.id}"
            if message.index in turns:
                yield TurnStart(turns[message.index], anchor)
            if message.index in divided:
                compaction = divided[message.index]
                kind, told = f"conversation {compaction.state}", _describe_compaction(compaction)
                yield NotePiece(kind=kind, text=told, time=message.time, anchor=anchor)
            if message.rule is not Rule.COMPACTION or has_kept(message):
                yield from self._build_message(message, anchor)
            yield from _build_notes(thread.read_notes(message.index), anchor)

    def _build_message(self, message: Message, anchor: str) -> Iterator[Piece | AgentRecord]:
        text, blocks = message.text.strip(), message.blocks
        pictures = list_pictures(blocks)
        thinking = message.thinking if self._selection.thinking else ""
        failed = message.category is Category.ERROR
        if message.rule not in _SAID:
            kind = "error" if failed else _name_note(message)
            yield NotePiece(kind=kind, text=text, time=message.time, anchor=anchor, failed=failed)
        elif text or thinking or pictures:
            yield MessagePiece(
                author=message.author,
                text=text,
                thinking=thinking.strip(),
                time=message.time,
                anchor=anchor,
                model=message.model,
                remark="cut off" if message.aborted else _REMARKS.get(message.rule, ""),
                failed=failed,
                pictures=pictures,
            )
        for block in blocks:
            if isinstance(block, UnknownBlock):
                yield NotePiece(kind="unknown", text=value_text(block), time=message.time, anchor=anchor)
        for number, call in enumerate(message.calls):
            yield self._build_call(call, message, f"{anchor}-call-{number}")
            if self._places is not None:
                yield from self._places.take_started(call)

    def _build_call(self, call: Call, message: Message, anchor: str) -> CallPiece:
        result = call.result
        shown = self._selection.tool_output and result is not None
        return CallPiece(
            name=call.name,
            category=call.category,
            state=call.state,
            topic=topic_of(call.name, call.block.input, self._project),
            given=describe_input(call),
            answered=describe_answer(call) if shown else None,
            pictures=list_pictures(result.images) if shown and result is not None else (),
            time=message.time,
            anchor=anchor,
        )


def _begin(agent: AgentRecord, depth: int) -> AgentStart:
    return AgentStart(agent.type or agent.id, agent.description or "", AgentState(agent.state), depth)


def _name_note(message: Message) -> str:
    if message.rule is Rule.COMPACTION:
        return _KINDS[Rule.RECAP] if message.role is Role.SUMMARY else "kept from earlier"
    return _KINDS.get(message.rule, str(message.rule))


def _build_notes(lines: Iterable[Line], anchor: str) -> Iterator[NotePiece]:
    for number, line in enumerate(lines):
        time = getattr(line.entry, "time", None)
        yield NotePiece(kind="note", text=report_of(line.entry), time=time, anchor=f"{anchor}-note-{number}")


def _describe_compaction(compaction: Compaction) -> str:
    told = [compaction.trigger] if compaction.trigger else []
    if compaction.tokens_before is not None:
        after = "" if compaction.tokens_after is None else f" → {compaction.tokens_after:,}"
        told.append(f"{compaction.tokens_before:,}{after} tokens")
    return ", ".join(told)


def learn_secrets(session: SessionRecords, redactor: Redactor) -> None:
    """Have all lines of a session read for secrets and names, before any of it is given out."""
    redactor.learn_lines(
        (line for chapter in session.list_conversations() for line in read_json(chapter)), list_strings
    )


def redact_pieces(pieces: Iterable[Piece], redactor: Redactor) -> Iterator[Piece]:
    """Yield pieces, in each text of which nothing is left that is to be taken out."""
    redact = redactor.redact
    for piece in pieces:
        match piece:
            case MessagePiece():
                yield replace(piece, text=redact(piece.text), thinking=redact(piece.thinking))
            case NotePiece():
                yield replace(piece, text=redact(piece.text))
            case AgentStart():
                yield replace(piece, title=redact(piece.title), description=redact(piece.description))
            case CallPiece():
                answered = piece.answered
                yield replace(
                    piece,
                    topic=redact(piece.topic),
                    given=tuple([_redact_body(body, redact) for body in piece.given]),
                    answered=None if answered is None else _redact_body(answered, redact),
                )
            case _:
                yield piece


def _redact_body(body: Body, redact: Callable[[str], str]) -> Body:
    text = redact(body.text)
    return body if text is body.text else Body(body.kind, text, body.language)

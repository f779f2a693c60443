"""What `turnlog run` says to the program, and what it makes of what the program says: all but the I/O.

The program asks the person whether a tool may run, and what it wants to know. All that is shown comes from a
model or from files that it read, so it is shown whole and cleaned, and nothing is allowed by an answer that is
not clearly a yes. Turns are shown while they happen: text as it is written, calls with what came of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw
from rich.console import Console
from rich.text import Text

from turnlog.cli.terminal import clean, clean_line, shorten
from turnlog.errors import ProtocolError
from turnlog.export.plain_text import plural
from turnlog.messages import Line, encode, permissions
from turnlog.messages.base import Value
from turnlog.messages.blocks import ContentBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from turnlog.messages.control import frames, requests
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.sdk import messages as sdk
from turnlog.messages.sdk.stream import is_idle, new_user_message
from turnlog.transcripts.kinds import topic_of
from turnlog.transcripts.usage.prices import money_text
from turnlog.transcripts.usage.sightings import find_reported_cost

NOBODY = "Nobody can be asked: turnlog runs without a terminal."
_NO = "The user said no."
_YES, _REFUSALS, _ALWAYS = ("y", "yes"), ("", "n", "no"), ("a", "always")
_ASK = "AskUserQuestion"


class Question:
    """A request that waits for the person."""

    def __init__(self, request_id: str, request: requests.CanUseToolRequest) -> None:
        self.request_id = request_id
        self._request = request
        self._input = _decode(request.input)
        self._answers: dict[str, str] = {}
        self._questions = self._list_questions()

    def describe(self) -> Iterator[str]:
        """Yield what is wanted, line by line."""
        request = self._request
        if self._questions:
            yield from self._describe_next()
            return
        who = f" (agent {clean_line(request.agent_id)})" if request.agent_id else ""
        yield f"{clean_line(request.tool_name)}{who} asks for permission:"
        for reason in (request.description, request.decision_reason):
            if reason:
                yield f"  {clean_line(reason)}"
        yield from (f"  {line}" for line in _describe_input(self._input))

    @property
    def prompt(self) -> str:
        """What to ask."""
        if self._questions:
            return "Number, or your own answer: "
        always = "" if self._request.suppress_always_allow_rule is True else "  [a]lways"
        return f"Allow? [y]es  [n]o{always}, or say why not: "

    def answer(self, said: str) -> permissions.PermissionAllow | permissions.PermissionDeny | None:
        """Take what the person said, and return the reply; None if there is more to ask."""
        if self._questions:
            return self._answer_question(said)
        word = said.strip().lower()
        if word in _YES:
            return permissions.PermissionAllow(updated_input=self._request.input)
        if word in _ALWAYS and self._request.suppress_always_allow_rule is not True:
            return permissions.PermissionAllow(
                updated_input=self._request.input, updated_permissions=self._list_rules()
            )
        return permissions.PermissionDeny(message=_NO if word in _REFUSALS else said.strip())

    def refuse(self, reason: str = _NO, *, interrupt: bool = False) -> permissions.PermissionDeny:
        """Return a no."""
        return permissions.PermissionDeny(message=reason, interrupt=True if interrupt else UNSET)

    def _list_rules(self) -> tuple[permissions.PermissionUpdate, ...]:
        suggested = self._request.permission_suggestions
        if isinstance(suggested, tuple) and suggested:
            return suggested
        rule = permissions.PermissionRuleValue(tool_name=self._request.tool_name)
        return (
            permissions.AddRules(
                rules=(rule,),
                behavior=permissions.PermissionBehavior.ALLOW,
                destination=permissions.PermissionUpdateDestination.SESSION,
            ),
        )

    def _list_questions(self) -> list[dict[str, Any]]:
        if self._request.tool_name != _ASK or not isinstance(self._input, dict):
            return []
        asked = self._input.get("questions")
        found = [each for each in asked if isinstance(each, dict)] if isinstance(asked, list) else []
        return [each for each in found if isinstance(each.get("question"), str)]

    def _describe_next(self) -> Iterator[str]:
        question = self._questions[0]
        yield clean_line(question["question"])
        for number, option in enumerate(_list_options(question), 1):
            more = option.get("description")
            yield f"  {number}. {clean_line(option['label'])}" + (
                f": {clean_line(more)}" if isinstance(more, str) else ""
            )

    def _answer_question(self, said: str) -> permissions.PermissionAllow | permissions.PermissionDeny | None:
        if not said.strip():
            return permissions.PermissionDeny(message="The user did not answer.")
        question = self._questions.pop(0)
        labels = [option["label"] for option in _list_options(question)]
        words = [word.strip() for word in said.split(",")]
        chosen = [labels[int(word) - 1] for word in words if word.isdecimal() and 0 < int(word) <= len(labels)]
        self._answers[question["question"]] = ", ".join(chosen) if len(chosen) == len(words) else said.strip()
        if self._questions:
            return None
        given = {**self._input, "answers": self._answers}
        return permissions.PermissionAllow(updated_input=Raw(msgspec.json.encode(given)))


def _list_options(question: dict[str, Any]) -> list[dict[str, Any]]:
    options = question.get("options")
    found = [each for each in options if isinstance(each, dict)] if isinstance(options, list) else []
    return [each for each in found if isinstance(each.get("label"), str)]


def _decode(given: object) -> Any:
    try:
        return msgspec.json.decode(given) if isinstance(given, Raw) else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return bytes(given).decode("utf-8", "backslashreplace") if isinstance(given, Raw) else None


def _describe_input(given: Any) -> Iterator[str]:
    """Yield what a tool is given: each value under its name, whole."""
    if not isinstance(given, dict):
        yield from clean("" if given is None else str(given)).split("\n")
        return
    for name, value in given.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8", "replace")
        first, *others = clean(text).split("\n")
        yield f"{clean_line(name)}: {first}"
        yield from (f"    {line}" for line in others)


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

    def print_line(self, text: str, style: str = "dim") -> None:
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
            case sdk.SystemInitMessage():
                self._begin(message)
            case sdk.PartialAssistantMessage():
                self._stream(message)
            case sdk.AssistantMessage():
                self._show_answer(message)
            case sdk.UserMessage():
                self._show_results(message)
            case sdk.ResultMessage():
                self._end(message)

    def _begin(self, message: sdk.SystemInitMessage) -> None:
        self._project = message.cwd or None
        if message.session_id and message.session_id != self._session:
            self._session = message.session_id
            parts = (f"session {message.session_id}", message.model, message.permission_mode)
            self.print_line(" · ".join(clean_line(str(part)) for part in parts if part))

    def _stream(self, part: sdk.PartialAssistantMessage) -> None:
        if part.parent_tool_use_id:
            return  # an agent's text is shown when it is whole
        event = part.event
        if isinstance(event, sdk.MessageStart) and event.message.id:
            self._streamed.add(event.message.id)
            self.end_line()
        elif isinstance(event, sdk.ContentBlockDelta):
            if isinstance(event.delta, sdk.TextDelta):
                self._write(event.delta.text)
            elif isinstance(event.delta, sdk.ThinkingDelta) and self._thinking:
                self._write(event.delta.thinking, "dim italic")

    def _write(self, text: str, style: str | None = None) -> None:
        shown = clean(text)
        if shown:
            self._console.out(shown, style=style, end="", highlight=False)
            self._console.file.flush()
            self._is_open = not shown.endswith("\n")

    def _show_answer(self, message: sdk.AssistantMessage) -> None:
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
                self.print_line(f"{inside}{clean(block.thinking)}", "dim italic")

    def _show_results(self, message: sdk.UserMessage) -> None:
        inside = _NESTED if message.parent_tool_use_id else ""
        for block in _list_blocks(message.message.content):
            if isinstance(block, ToolResultBlock):
                failed = block.is_error is True
                name, topic = self._calls.pop(block.tool_use_id or "", ("a tool", ""))
                mark, style = ("✗ ", "red") if failed else ("✓ ", "green")
                self._line(f"{inside}{mark}", style, f"{shorten(name, 80)} {shorten(topic, _LONGEST)}")
                for line in _shorten_result("\n".join(_list_texts(block))):
                    self.print_line(f"{inside}  {line}", "red" if failed else "dim")

    def _end(self, message: sdk.ResultMessage) -> None:
        cost = find_reported_cost(message)
        parts = [
            f"{message.duration_ms / 1000:,.1f} s" if isinstance(message.duration_ms, int | float) else "",
            f"{money_text(cost)} so far" if cost is not None else "",
        ]
        failed = sdk.has_failed(message)
        self.print_line(
            " · ".join(["failed" if failed else "done", *filter(None, parts)]), "red" if failed else "dim"
        )
        errors = message.errors if isinstance(message.errors, tuple) else ()
        for error in errors if failed else ():
            self.print_line(f"  {shorten(error, _LONGEST)}", "red")

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


_PATIENCE = 60.0


class Dialogue:
    """One conversation with the program."""

    def __init__(self, display: Display, *, attended: bool) -> None:
        """Take whether somebody is there to be asked."""
        self.outgoing: list[bytes] = []
        self.is_ready = False
        """Whether the program said that it takes prompts."""
        self.failure: str | None = None
        """Why there is no use in going on."""
        self.unanswered: list[str] = []
        """Prompts whose turn has not ended."""
        self.ended_turns = 0
        self.tasks: set[str] = set()
        """What works on in the background."""
        self.is_idle = False
        """Whether the program said for certain that nothing runs."""
        self._display = display
        self._attended = attended
        self._is_turning = False
        self._peer = frames.ControlPeer(frames.Sender.HOST)
        self._questions: deque[Question] = deque()

    @property
    def is_busy(self) -> bool:
        """Whether a turn is under way: one that was asked for, or that something in the background led to."""
        return bool(self.unanswered) or self._is_turning

    @property
    def is_waiting(self) -> bool:
        """Whether the program still has to answer a request of ours."""
        return bool(self._peer.sent)

    @property
    def question(self) -> Question | None:
        """What the person is asked now."""
        return self._questions[0] if self._questions else None

    def start(self, now: float) -> None:
        """Introduce us."""
        self._request(requests.InitializeRequest(hooks=None), now)

    def say(self, prompt: str) -> None:
        """Send a prompt."""
        self.unanswered.append(prompt)
        self.is_idle = False
        self.outgoing.append(encode(new_user_message(prompt, "")) + b"\n")

    def command(self, said: str, now: float) -> bool:
        """Do what is for us and not for the model; tell whether it was."""
        word, _, value = said.strip().partition(" ")
        if word == "/model":
            self._request(requests.SetModelRequest(model=value.strip() or None), now)
        elif word == "/mode":
            try:
                mode = PermissionMode(value.strip())
            except ValueError:
                names = ", ".join(each.value for each in PermissionMode)
                self._display.print_line(f"the mode must be one of: {names}", "yellow")
                return True
            self._request(requests.SetPermissionModeRequest(mode=mode), now)
        else:
            return False
        return True

    def interrupt(self, now: float) -> None:
        """Ask the program to end the turn; what it asked for is refused."""
        while self._questions:
            question = self._questions.popleft()
            self._reply(question.request_id, question.refuse("The user interrupted.", interrupt=True))
        self._request(requests.InterruptRequest(), now)

    def answer(self, said: str) -> None:
        """Take what the person answers to the question."""
        question = self._questions[0]
        reply = question.answer(said)
        if reply is None:
            self._ask()
            return
        self._questions.popleft()
        self._reply(question.request_id, reply)
        if self._questions:
            self._ask()

    def receive(self, line: Line) -> None:
        """Take what the program says."""
        entry = line.entry
        if isinstance(
            entry,
            frames.ControlRequest
            | frames.ControlResponse
            | frames.FlatControlResponse
            | frames.ControlCancelRequest
            | frames.KeepAlive,
        ):
            self._take(self._peer.receive(entry))
            return
        if isinstance(entry, sdk.TaskStartedMessage) and entry.task_id:
            self.tasks.add(entry.task_id)
        elif isinstance(entry, sdk.TaskNotificationMessage) and entry.task_id:
            self.tasks.discard(entry.task_id)
        elif (
            isinstance(entry, sdk.AssistantMessage | sdk.PartialAssistantMessage)
            and not entry.parent_tool_use_id
        ):
            self._is_turning = True
        elif isinstance(entry, sdk.ResultMessage):
            self.ended_turns += 1
            self._is_turning = False
            del self.unanswered[:1]
        self.is_idle = self.is_idle or is_idle(entry)
        self._display.show(entry)

    def expire(self, now: float) -> None:
        """Give up on what was not answered in time."""
        for event in self._peer.expire(now):
            self._take(event)

    def close(self) -> None:
        """End the conversation: the program is gone."""
        self._questions.clear()
        self._peer.close()

    def _take(self, event: frames.Event) -> None:
        match event:
            case frames.Requested(request_id, requests.CanUseToolRequest() as request):
                self._queue_question(Question(request_id, request))
            case frames.Requested(request_id):
                self._send(self._peer.fail(request_id, "turnlog run does not support this"))
            case frames.Replied():
                self._take_reply(event)
            case frames.Cancelled(request_id):
                self._questions = deque(each for each in self._questions if each.request_id != request_id)
                self._display.print_line("the question was withdrawn")
            case frames.Fault(answer=answer, reason=reason):
                self._display.print_line(f"the program broke the protocol: {clean_line(reason)}", "yellow")
                if answer is not None:
                    self._send(answer)
            case frames.TimedOut(_, request) | frames.Lost(_, request):
                self._fail(request, "the program does not answer")

    def _queue_question(self, question: Question) -> None:
        if not self._attended:
            self._reply(question.request_id, question.refuse(NOBODY))
            return
        self._questions.append(question)
        if len(self._questions) == 1:
            self._ask()

    def _ask(self) -> None:
        question = self._questions[0]
        for line in question.describe():
            self._display.print_line(line, "yellow")
        self._display.ask(question.prompt)

    def _take_reply(self, reply: frames.Replied) -> None:
        if reply.error is not None:
            self._fail(reply.request, reply.error)
        elif isinstance(reply.request, requests.InitializeRequest):
            self.is_ready = True
        elif isinstance(reply.request, requests.SetModelRequest):
            model = reply.request.model
            self._display.print_line(f"model: {clean_line(model) if isinstance(model, str) else 'the default'}")
        elif isinstance(reply.request, requests.SetPermissionModeRequest):
            self._display.print_line(f"mode: {clean_line(reply.request.mode.value)}")

    def _fail(self, request: object, reason: str) -> None:
        if isinstance(request, requests.InitializeRequest):
            self.failure = reason
        else:
            self._display.print_line(f"the program refused: {clean_line(reason)}", "yellow")

    def _request(self, request: requests.RequestBody, now: float) -> None:
        self._send(self._peer.request(request, now=now, timeout=_PATIENCE))

    def _reply(self, request_id: str, payload: Value | Raw) -> None:
        try:
            self._send(self._peer.reply(request_id, payload))
        except ProtocolError:
            return  # it was withdrawn in this very moment

    def _send(self, frame: Value) -> None:
        self.outgoing.append(encode(frame) + b"\n")

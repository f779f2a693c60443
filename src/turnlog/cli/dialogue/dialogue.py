"""What `turnlog run` says to the program, and what it makes of what the program says: all but the I/O.

Frames to send are put into `outgoing`, in their order. One question is put to the person at a time; others
wait.
"""

from __future__ import annotations

from collections import deque

from turnlog.cli.dialogue.display import Display
from turnlog.cli.dialogue.questions import NOBODY, Question
from turnlog.cli.terminal import clean_line
from turnlog.errors import ProtocolError
from turnlog.messages import Line, encode
from turnlog.messages.base import Raw, Value
from turnlog.messages.control import (
    CanUseToolRequest,
    ControlCancelRequest,
    ControlPeer,
    ControlRequest,
    ControlResponse,
    FlatControlResponse,
    InitializeRequest,
    InterruptRequest,
    KeepAlive,
    Sender,
    SetModelRequest,
    SetPermissionModeRequest,
)
from turnlog.messages.control.peer import Cancelled, Event, Fault, Lost, Replied, Requested, TimedOut
from turnlog.messages.control.requests import RequestBody
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.sdk import (
    AssistantMessage,
    PartialAssistantMessage,
    ResultMessage,
    TaskNotificationMessage,
    TaskStartedMessage,
    is_idle,
    new_user_message,
)

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
        self._peer = ControlPeer(Sender.HOST)
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
        self._request(InitializeRequest(hooks=None), now)

    def say(self, prompt: str) -> None:
        """Send a prompt."""
        self.unanswered.append(prompt)
        self.is_idle = False
        self.outgoing.append(encode(new_user_message(prompt, "")) + b"\n")

    def command(self, said: str, now: float) -> bool:
        """Do what is for us and not for the model; tell whether it was."""
        word, _, value = said.strip().partition(" ")
        if word == "/model":
            self._request(SetModelRequest(model=value.strip() or None), now)
        elif word == "/mode":
            try:
                mode = PermissionMode(value.strip())
            except ValueError:
                names = ", ".join(each.value for each in PermissionMode)
                self._display.tell(f"the mode must be one of: {names}", "yellow")
                return True
            self._request(SetPermissionModeRequest(mode=mode), now)
        else:
            return False
        return True

    def interrupt(self, now: float) -> None:
        """Ask the program to end the turn; what it asked for is refused."""
        while self._questions:
            question = self._questions.popleft()
            self._reply(question.request_id, question.refuse("The user interrupted.", interrupt=True))
        self._request(InterruptRequest(), now)

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
            entry, ControlRequest | ControlResponse | FlatControlResponse | ControlCancelRequest | KeepAlive
        ):
            self._take(self._peer.receive(entry))
            return
        if isinstance(entry, TaskStartedMessage) and entry.task_id:
            self.tasks.add(entry.task_id)
        elif isinstance(entry, TaskNotificationMessage) and entry.task_id:
            self.tasks.discard(entry.task_id)
        elif isinstance(entry, AssistantMessage | PartialAssistantMessage) and not entry.parent_tool_use_id:
            self._is_turning = True
        elif isinstance(entry, ResultMessage):
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

    def _take(self, event: Event) -> None:
        match event:
            case Requested(request_id, CanUseToolRequest() as request):
                self._consider(Question(request_id, request))
            case Requested(request_id):
                self._send(self._peer.fail(request_id, "turnlog run does not support this"))
            case Replied():
                self._take_reply(event)
            case Cancelled(request_id):
                self._questions = deque(each for each in self._questions if each.request_id != request_id)
                self._display.tell("the question was withdrawn")
            case Fault(answer=answer, reason=reason):
                self._display.tell(f"the program broke the protocol: {clean_line(reason)}", "yellow")
                if answer is not None:
                    self._send(answer)
            case TimedOut(_, request) | Lost(_, request):
                self._fail(request, "the program does not answer")

    def _consider(self, question: Question) -> None:
        if not self._attended:
            self._reply(question.request_id, question.refuse(NOBODY))
            return
        self._questions.append(question)
        if len(self._questions) == 1:
            self._ask()

    def _ask(self) -> None:
        question = self._questions[0]
        for line in question.describe():
            self._display.tell(line, "yellow")
        self._display.ask(question.prompt)

    def _take_reply(self, reply: Replied) -> None:
        if reply.error is not None:
            self._fail(reply.request, reply.error)
        elif isinstance(reply.request, InitializeRequest):
            self.is_ready = True
        elif isinstance(reply.request, SetModelRequest):
            model = reply.request.model
            self._display.tell(f"model: {clean_line(model) if isinstance(model, str) else 'the default'}")
        elif isinstance(reply.request, SetPermissionModeRequest):
            self._display.tell(f"mode: {clean_line(reply.request.mode.value)}")

    def _fail(self, request: object, reason: str) -> None:
        if isinstance(request, InitializeRequest):
            self.failure = reason
        else:
            self._display.tell(f"the program refused: {clean_line(reason)}", "yellow")

    def _request(self, request: RequestBody, now: float) -> None:
        self._send(self._peer.request(request, now=now, timeout=_PATIENCE))

    def _reply(self, request_id: str, payload: Value | Raw) -> None:
        try:
            self._send(self._peer.reply(request_id, payload))
        except ProtocolError:
            return  # it was withdrawn in this very moment

    def _send(self, frame: Value) -> None:
        self.outgoing.append(encode(frame) + b"\n")

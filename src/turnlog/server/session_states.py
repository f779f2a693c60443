"""What a session is doing, and in which column of mission control that puts it.

Hooks report states directly. A transcript tells when something ended, and not what is waited for: a call
without a result may run, or wait for a permission. So a session without hooks needs the person only where the
transcript says so: at a question or a plan without an answer, and where a request failed for good.

What hooks report is folded one by one. A fold rests on nothing but the deliveries in the store, in their order,
so it is the same after a restart. Deliveries that come late, from a spool, are older than what is folded
already: then all is folded again. Which deliveries belong to a session is decided by the store: those of its
own person, whoever else uses the same id.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec
from msgspec import UNSET, Raw, Struct

from turnlog.errors import TurnlogError
from turnlog.messages import Line
from turnlog.messages.entries import AssistantEntry
from turnlog.server.values import one_line
from turnlog.shapes import fill
from turnlog.store.interface import MaintainedStore, Store
from turnlog.store.lists import StoredSession
from turnlog.store.model import LOCAL, Scope
from turnlog.transcripts.agent_status import AgentPhase, AgentStatus, WaitReason, advance
from turnlog.transcripts.conversation.messages import Rule
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery, decode_object, find_text
from turnlog.transcripts.kinds import CallState, topic_of
from turnlog.transcripts.lines.content import Author, list_blocks
from turnlog.transcripts.queries.chapters import CallFilter, Chapter, MessageFilter
from turnlog.transcripts.queries.threads import build_message, decode_lines
from turnlog.transcripts.segment_builder import time_of
from turnlog.transcripts.segments import CallRecord, MessageRecord

_SECOND = 1_000_000_000
_FORGOTTEN_NS = 3600 * _SECOND
"""After an hour without a sign, nobody believes that a session works whose process is not known."""


class Column(StrEnum):
    """The column a session is in."""

    NEEDS_YOU = "needs_you"
    WORKING = "working"
    DONE = "done"


class ListedState(StrEnum):
    """What a session is doing, as one word for lists."""

    NEEDS_YOU = "needs_you"
    WORKING = "working"
    DONE = "done"
    STOPPED = "stopped"
    """By an error, or because its process ended in the middle of the work."""
    IDLE = "idle"
    """It was opened, and nobody asked anything yet; or nobody has seen a sign of it for an hour."""


class Evidence(StrEnum):
    """Where a state comes from."""

    HOOKS = "hooks"
    TRANSCRIPT = "transcript"


class ProcessState(StrEnum):
    """What is known about a session's process."""

    ALIVE = "alive"
    GONE = "gone"
    UNKNOWN = "unknown"


class SessionState(Struct, frozen=True, gc=False, kw_only=True):
    """What a session does."""

    phase: AgentPhase
    why: WaitReason | None = None
    since_ns: int | None
    detail: str | None = None
    tool_name: str | None = None
    tool_use_id: str | None = None
    tool_since_ns: int | None = None
    agent_id: str | None = None
    """The sub-agent that waits for the person."""
    evidence: Evidence
    seen_ns: int
    """The last sign of it."""
    cut_off: bool = False
    """Whether its process ended in the middle of the work."""

    @property
    def column(self) -> Column:
        """The column of mission control."""
        return find_column(self.phase, self.why)


class StateChange(Struct, frozen=True, gc=False, kw_only=True):
    """A session that stands elsewhere, or for another reason."""

    session_id: str
    key: str | None = None
    """None if it is known only from hooks."""
    before: Column | None
    """None if nobody knew of it."""
    state: SessionState
    title: str | None
    project: str | None


def find_column(phase: AgentPhase, why: WaitReason | None) -> Column:
    """Return where a session stands: one whose turn ended waits for nothing that it has begun."""
    if phase is AgentPhase.NEEDS_YOU and why is not WaitReason.TURN_ENDED:
        return Column.NEEDS_YOU
    return Column.WORKING if phase is AgentPhase.AUTONOMOUS else Column.DONE


def to_listed_state(state: SessionState) -> ListedState:
    """Return the state as lists show it."""
    if state.cut_off or state.why is WaitReason.FAILED:
        return ListedState.STOPPED
    if state.phase is AgentPhase.IDLE:
        return ListedState.IDLE
    return ListedState(state.column.value)


def state_from_hooks(status: AgentStatus, seen_ns: int) -> SessionState:
    """Return the state that hooks report."""
    tool_since = status.since_ns if status.tool_since_ns is None else status.tool_since_ns
    return fill(SessionState, status, tool_since_ns=tool_since, evidence=Evidence.HOOKS, seen_ns=seen_ns)


def combine_states(
    hooks: SessionState | None, transcript: SessionState | None, process: ProcessState, now_ns: int
) -> SessionState | None:
    """Return the state of a session from hooks, transcript and process; None if nothing is known.

    Hooks know more, but not all: Esc fires none, and they may have been taken away. So what the transcript
    shows counts where it began after the last hook. A session without its process has ended, whatever they say.
    """
    known = transcript if hooks is None else hooks
    if hooks is not None and transcript is not None and _is_later(transcript, hooks):
        known = transcript
    if known is None or known.phase is AgentPhase.ENDED:
        return known
    seen_ns = max(state.seen_ns for state in (hooks, transcript) if state is not None)
    if process is ProcessState.GONE:
        return _end(known, AgentPhase.ENDED, seen_ns)
    if (
        process is ProcessState.UNKNOWN
        and known.phase is AgentPhase.AUTONOMOUS
        and now_ns - seen_ns > _FORGOTTEN_NS
    ):
        return _end(known, AgentPhase.IDLE, seen_ns)
    return known


def _is_later(transcript: SessionState, hooks: SessionState) -> bool:
    """Tell whether the transcript knows of something that came after the last hook, and is not the same."""
    since = transcript.since_ns
    if since is None or since <= hooks.seen_ns + _SECOND:
        return False
    return (transcript.phase, transcript.why) != (hooks.phase, hooks.why)


def _end(known: SessionState, phase: AgentPhase, seen_ns: int) -> SessionState:
    return SessionState(
        phase=phase,
        since_ns=seen_ns,
        evidence=known.evidence,
        seen_ns=seen_ns,
        cut_off=phase is AgentPhase.ENDED and known.phase is AgentPhase.AUTONOMOUS,
    )


_SILENCE_NS = 120 * 1_000_000_000
"""After so long without anything more, an answer that does not say whether it is complete is taken for it."""
_ASKING = {
    "AskUserQuestion": WaitReason.QUESTION,
    "ExitPlanMode": WaitReason.PLAN,
    "exit_plan_mode": WaitReason.PLAN,
}


class LastKind(StrEnum):
    """What kind of message is the last one."""

    PROMPT = "prompt"
    ANSWER = "answer"
    INTERRUPTION = "interruption"


class LastMessage(Struct, frozen=True, gc=False, kw_only=True):
    """The last thing that somebody said in the main conversation."""

    kind: LastKind
    at_ns: int | None
    calls: int = 0
    """How many calls an answer makes."""
    results_ns: int | None = None
    """When the last of them had its result."""
    complete: bool | None = None
    """Whether an answer says that it is all; None if it says nothing."""
    aborted: bool = False
    error: str | None = None
    """What went wrong, if the program says this in the place of an answer."""
    words: str | None = None
    """How it begins."""


class OpenCall(Struct, frozen=True, gc=False, kw_only=True):
    """A call of the last turn that has no result."""

    name: str
    id: str | None
    started_ns: int | None
    detail: str | None = None
    """The question, or how the plan begins."""


class Transcript(Struct, frozen=True, gc=False, kw_only=True):
    """The parts of a transcript that its state is inferred from."""

    last: LastMessage | None
    calls: tuple[OpenCall, ...] = ()
    seen_ns: int
    """When anything was written last."""


def infer_state(transcript: Transcript, now_ns: int) -> SessionState:
    """Infer the state from a transcript, at a time."""
    last = transcript.last
    if last is None:
        return _build_state(transcript, AgentPhase.IDLE, transcript.seen_ns)
    if last.kind is LastKind.INTERRUPTION or last.aborted:
        return _build_state(transcript, AgentPhase.NEEDS_YOU, last.at_ns, WaitReason.TURN_ENDED, last.words)
    asking = next((call for call in transcript.calls if call.name in _ASKING), None)
    if asking is not None:
        why = _ASKING[asking.name]
        return _build_state(transcript, AgentPhase.NEEDS_YOU, asking.started_ns, why, asking.detail, asking)
    if transcript.calls:
        call = transcript.calls[-1]
        return _build_state(transcript, AgentPhase.AUTONOMOUS, call.started_ns, call=call)
    if last.error is not None:
        return _build_state(transcript, AgentPhase.NEEDS_YOU, last.at_ns, WaitReason.FAILED, last.error)
    if last.kind is LastKind.ANSWER and _is_complete(last, transcript.seen_ns, now_ns):
        return _build_state(transcript, AgentPhase.NEEDS_YOU, last.at_ns, WaitReason.TURN_ENDED, last.words)
    return _build_state(transcript, AgentPhase.AUTONOMOUS, last.results_ns or last.at_ns)


def _is_complete(last: LastMessage, seen_ns: int, now_ns: int) -> bool:
    if last.calls:
        return False
    return now_ns - seen_ns > _SILENCE_NS if last.complete is None else last.complete


def _build_state(
    transcript: Transcript,
    phase: AgentPhase,
    since_ns: int | None,
    why: WaitReason | None = None,
    detail: str | None = None,
    call: OpenCall | None = None,
) -> SessionState:
    return SessionState(
        phase=phase,
        why=why,
        since_ns=since_ns,
        detail=detail,
        tool_name=None if call is None else call.name,
        tool_use_id=None if call is None else call.id,
        tool_since_ns=None if call is None else call.started_ns,
        evidence=Evidence.TRANSCRIPT,
        seen_ns=transcript.seen_ns,
    )


class SpanKind(StrEnum):
    """A session's state during a period."""

    WORKING = "working"
    WAITING = "waiting"
    DONE = "done"


_KINDS = {Column.NEEDS_YOU: SpanKind.WAITING, Column.WORKING: SpanKind.WORKING, Column.DONE: SpanKind.DONE}


class ColumnChange(Struct, frozen=True, gc=False):
    """When a session entered a column."""

    at_ns: int
    column: Column


class Interval(Struct, frozen=True, gc=False):
    """A period in which a session's state did not change."""

    start_ns: int
    end_ns: int
    kind: SpanKind


def build_intervals(moments: Iterable[ColumnChange], now_ns: int) -> list[Interval]:
    """Return the intervals between changes, the last until now; equal neighbours are merged."""
    found: list[Interval] = []
    previous: ColumnChange | None = None
    for moment in [*moments, ColumnChange(now_ns, Column.DONE)]:
        if previous is not None and moment.at_ns > previous.at_ns:
            kind = _KINDS[previous.column]
            if found and found[-1].kind is kind and found[-1].end_ns == previous.at_ns:
                found[-1] = Interval(found[-1].start_ns, moment.at_ns, kind)
            else:
                found.append(Interval(previous.at_ns, moment.at_ns, kind))
        # Deliveries that were late may be older than what came before them.
        previous = (
            moment if previous is None else ColumnChange(max(moment.at_ns, previous.at_ns), moment.column)
        )
    return found


def clip_intervals(intervals: Iterable[Interval], since_ns: int) -> list[Interval]:
    """Return the parts of intervals after a time."""
    return [
        Interval(max(each.start_ns, since_ns), each.end_ns, each.kind)
        for each in intervals
        if each.end_ns > since_ns
    ]


def sum_waits(intervals: Sequence[Interval]) -> int:
    """Return the total waiting time, in nanoseconds."""
    return sum(each.end_ns - each.start_ns for each in intervals if each.kind is SpanKind.WAITING)


_MOST_KEPT = 1000
_MOST_MOMENTS = 5000
_AT_ONCE = 500

_Name = tuple[str, Scope]


class HookHistory(Struct):
    """The state and history of one session, folded from its hook deliveries."""

    status: AgentStatus | None = None
    moments: list[ColumnChange] = []
    """From when on it stood in which column, each time that this changed."""
    count: int = 0
    first_ns: int = 0
    last_ns: int = 0
    at_last: set[str] = set()
    """The ids of the deliveries that came at the last time."""
    cwd: str | None = None
    origin: str = ""
    """The machine that they come from."""

    def add(self, delivery: HookDelivery) -> None:
        """Apply a delivery."""
        if delivery.received_ns != self.last_ns:
            self.at_last = set()
        self.at_last.add(delivery.delivery_id)
        self.count += 1
        self.origin = self.origin or delivery.origin
        self.first_ns = self.first_ns or delivery.received_ns
        self.last_ns = delivery.received_ns
        self.status = advance(self.status, delivery)
        self.cwd = self.cwd or find_text(delivery.fields, "cwd")
        column = find_column(self.status.phase, self.status.why)
        if not self.moments or self.moments[-1].column is not column:
            self.moments.append(ColumnChange(delivery.received_ns, column))
            del self.moments[:-_MOST_MOMENTS]


class HookHistories:
    """Histories by session id, separately for each scope; used by one thread at a time."""

    def __init__(self, store: MaintainedStore) -> None:
        self._store = store
        self._kept: OrderedDict[_Name, HookHistory] = OrderedDict()
        self._scopes: dict[str, set[Scope]] = {}
        """For which scopes there are folds of a session."""
        self._behind: set[_Name] = set()
        """Those of which there is more."""

    def note(self, session_id: str, received_ns: int) -> None:
        """Note that there is a new delivery."""
        for scope in list(self._scopes.get(session_id, ())):
            name = session_id, scope
            if received_ns < self._kept[name].last_ns:
                self._let_go(name)
            else:
                self._behind.add(name)

    def clear(self) -> None:
        """Drop all histories: entries of the feed may have been missed."""
        self._kept.clear()
        self._scopes.clear()
        self._behind.clear()

    def find(self, session_id: str, scope: Scope = LOCAL) -> HookHistory | None:
        """Return the history of a session's visible hook deliveries; None if there are none."""
        name = session_id, scope
        fold = self._kept.get(name)
        if fold is None:
            fold = HookHistory()
            self._behind.add(name)
        if name in self._behind:
            self._go_on(fold, session_id, scope)
            self._behind.discard(name)
        self._kept[name] = fold
        self._kept.move_to_end(name)
        self._scopes.setdefault(session_id, set()).add(scope)
        if len(self._kept) > _MOST_KEPT:
            self._let_go(next(iter(self._kept)))
        return fold if fold.status is not None else None

    def _let_go(self, name: _Name) -> None:
        session_id, scope = name
        del self._kept[name]
        self._behind.discard(name)
        self._scopes[session_id].discard(scope)
        if not self._scopes[session_id]:
            del self._scopes[session_id]

    def _go_on(self, fold: HookHistory, session_id: str, scope: Scope) -> None:
        while True:
            which = DeliveryFilter(
                session_id=session_id,
                since_ns=fold.last_ns,
                count=_AT_ONCE + len(fold.at_last),
                longest_context=0,
            )
            found = self._store.list_deliveries(scope, which)
            new = [each for each in found if each.delivery_id not in fold.at_last]
            for delivery in new:
                fold.add(delivery)
            if len(new) < _AT_ONCE:
                return


_LOOKED_AT = 12
"""How many messages are looked at from the end; what is not told there is not told at all."""
_MOST_OPEN = 50
_MOST_OPTIONS, _LONGEST_OPTION = 10, 200
_LARGEST = 4 << 20
"""Bytes of a line that is still read."""
_PROMPTS = frozenset({Rule.PROMPT, Rule.COMMAND, Rule.QUEUED, Rule.NOTICE})
_ANSWERS = frozenset({Rule.ANSWER, Rule.RAN_COMMAND, Rule.LONE_THINKING})
_PLAN = "plan"


class AskedQuestion(Struct, frozen=True, gc=False):
    """A question, and the answers to choose from."""

    question: str | None = None
    options: tuple[str, ...] = ()


class _Option(Struct):
    label: str = ""


class _Question(Struct):
    question: str = ""
    options: tuple[_Option, ...] = ()


class TranscriptFacts(Struct, frozen=True, gc=False, kw_only=True):
    """What of a session follows from its transcript in one revision."""

    transcript: Transcript
    titles: Mapping[str, str]
    """What open calls are about, by their ids."""
    options: Mapping[str, tuple[str, ...]]
    """The answers that open questions offer, by the ids of their calls."""
    model: str | None
    context_tokens: int | None


def read_transcript(store: Store, session: StoredSession) -> TranscriptFacts:
    """Return what is known of a session's transcript; only its end is looked at."""
    with store.open_session(LOCAL, session.key) as opened:
        main = opened.main
        where = MessageFilter(lanes=("main", "tool"), active=True)
        rows = [] if main is None else main.list_before(session.row.messages, _LOOKED_AT, where)
        spoken = [row for row in rows if _kind_of(row) is not None]
        calls = [] if main is None or not rows else _list_open(main, rows)
        answer = next((row for row in reversed(spoken) if _is_answer_of_model(row)), None)
        told = [*spoken[-1:], *([] if answer is None else [answer])]
        wanted = {*(number for row in told for number in _own(row)), *(call.line for call in calls)}
        lines = {} if main is None else _read(main, wanted)
        made = {} if main is None else main.list_calls_of(spoken[-1:])
    own = [] if answer is None else [lines[number] for number in _own(answer) if number in lines]
    inputs = {call.id: _find_input(call, lines) for call in calls if call.id is not None}
    project = session.row.project
    return TranscriptFacts(
        transcript=Transcript(
            last=_view_last(spoken[-1], made.get(spoken[-1].index, ()), lines) if spoken else None,
            calls=tuple(_view_open(call, inputs.get(call.id or "")) for call in calls),
            seen_ns=_ns(session.row.last_time) or 0,
        ),
        titles={
            call.id: one_line(topic_of(call.name, inputs[call.id], project))
            for call in calls
            if call.id is not None
        },
        options={id: read_question(given).options for id, given in inputs.items() if given is not None},
        model=answer.model if answer is not None else None,
        context_tokens=_count_context(own),
    )


def read_question(given: Raw | None) -> AskedQuestion:
    """Return the first question of an input; nothing if it has none, or is of another form."""
    questions = _fields_of(given).get("questions")
    if questions is None:
        return AskedQuestion()
    try:
        found = msgspec.json.decode(questions, type=list[_Question])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return AskedQuestion()
    first = next(iter(found), _Question())
    labels = (" ".join(option.label.split())[:_LONGEST_OPTION] for option in first.options[:_MOST_OPTIONS])
    return AskedQuestion(first.question or None, tuple(filter(None, labels)))


def _fields_of(given: Raw | None) -> Mapping[str, Raw]:
    """Return the fields of what a tool was given."""
    return (None if given is None else decode_object(given)) or {}


def _own(row: MessageRecord) -> Sequence[int]:
    return row.lines[: row.own_lines]


def _kind_of(row: MessageRecord) -> LastKind | None:
    if row.rule == Rule.INTERRUPTION:
        return LastKind.INTERRUPTION
    if row.rule in _ANSWERS:
        return LastKind.ANSWER
    if row.rule == Rule.COMMAND and len(row.lines) > row.own_lines:
        return None  # it has printed what it had to, and the model was not asked
    return LastKind.PROMPT if row.rule in _PROMPTS else None


def _is_answer_of_model(row: MessageRecord) -> bool:
    return row.rule == Rule.ANSWER and row.author == Author.CLAUDE and row.model is not None


def _list_open(main: Chapter, rows: Sequence[MessageRecord]) -> list[CallRecord]:
    """Return the calls of the last turn that have no result, in order."""
    begins = (row.index for row in rows if _kind_of(row) in (LastKind.PROMPT, LastKind.INTERRUPTION))
    since = max(begins, default=0)
    found = [*main.list_calls(CallFilter(states=(CallState.UNRESOLVED,)), since=since)][-_MOST_OPEN:]
    calls = [call for call in found if call.message is not None and call.message >= since]
    made = main.list_at(call.message or 0 for call in calls)
    own = {row.index for row in made if row.lane != "agent" and row.active}
    return [call for call in calls if call.message in own]


def _read(main: Chapter, numbers: Iterable[int]) -> dict[int, Line]:
    """Return lines that are not too long; none if they were deleted meanwhile, or are damaged."""
    try:
        return decode_lines(main, (each for each in numbers if main.get_line(each).length <= _LARGEST))
    except (KeyError, TurnlogError):
        return {}


def _view_last(row: MessageRecord, calls: Sequence[CallRecord], lines: Mapping[int, Line]) -> LastMessage:
    last = lines.get(_own(row)[-1]) if row.own_lines else None
    kind = _kind_of(row)
    assert kind is not None
    failed = kind is LastKind.ANSWER and row.author == Author.SYSTEM
    words = one_line(build_message(row, lines).text) if all(number in lines for number in _own(row)) else None
    results = (call.ended for call in calls if call.ended is not None)
    return LastMessage(
        kind=kind,
        at_ns=_ns((None if last is None else time_of(last)) or row.time),
        calls=row.calls,
        results_ns=_ns(max(results, default=None)),
        complete=None if last is None else _says_complete(last),
        aborted=row.aborted,
        error=(words or "The request failed") if failed else None,
        words=words,
    )


def _says_complete(line: Line) -> bool | None:
    reason = getattr(getattr(line.entry, "message", None), "stop_reason", None)
    return None if reason is None or reason is UNSET else str(reason) not in ("tool_use", "pause_turn")


def _find_input(call: CallRecord, lines: Mapping[int, Line]) -> Raw | None:
    line = lines.get(call.line)
    blocks = [] if line is None else list_blocks(line.entry)
    given = getattr(blocks[call.block], "input", None) if call.block < len(blocks) else None
    return given if isinstance(given, Raw) else None


def _view_open(call: CallRecord, given: Raw | None) -> OpenCall:
    question = read_question(given).question
    plan = _fields_of(given).get(_PLAN)
    said = question or (None if plan is None else bytes(plan).decode("utf-8", "replace").strip('"'))
    return OpenCall(
        name=call.name,
        id=call.id,
        started_ns=_ns(call.started),
        detail=None if said is None else one_line(said),
    )


def _count_context(lines: Sequence[Line]) -> int | None:
    """Return how much the model read for its last answer: what went in, from the cache or not."""
    for line in reversed(lines):
        usage = line.entry.message.usage if isinstance(line.entry, AssistantEntry) else None
        counted = [
            getattr(usage, name, None)
            for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        ]
        if isinstance(counted[0], int):
            return sum(count for count in counted if isinstance(count, int))
    return None


def _ns(microseconds: int | None) -> int | None:
    return None if microseconds is None else microseconds * 1000

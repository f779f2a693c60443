"""Checks the messages of the stream against spec 001, §3 to §5."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from msgspec import Struct

from turnlog.messages import Line, Problem, ProblemKind
from turnlog.messages.entries import UnknownEntry
from turnlog.messages.sdk import (
    AssistantMessage,
    HookProgressMessage,
    HookResponseMessage,
    HookStartedMessage,
    PartialAssistantMessage,
    ResultMessage,
    StreamHead,
    StreamMessage,
    SystemInitMessage,
    find_class,
)
from turnlog.messages.spans import Path
from turnlog.transcripts.validation.findings import Report, Spot, quote
from turnlog.transcripts.validation.rules import Rule, Severity
from turnlog.transcripts.validation.spec_001 import Check, Demand, check_given, declare_stream
from turnlog.transcripts.validation.stream_conversation import (
    BLOCK_FIELDS,
    BLOCK_SURPLUS,
    CONVERSATION_CHECKS,
    CONVERSATION_DEMANDS,
    CONVERSATION_RULES,
    MESSAGE_FIELDS,
    check_base,
)
from turnlog.transcripts.validation.stream_notices import (
    HOOK_LIFECYCLE,
    NOTICE_CHECKS,
    NOTICE_DEMANDS,
    NOTICE_RULES,
)
from turnlog.transcripts.validation.stream_session import (
    INIT_FIRST,
    RESULT_SUBTYPE,
    SESSION_CHECKS,
    SESSION_DEMANDS,
    SESSION_RULES,
)

_KNOWN_TYPE = declare_stream(
    "3-known-type",
    "§3, §4.1, §5.1",
    Severity.WARNING,
    "The type and the subtype belong to the union",
    "The spec calls any other an error; newer versions add some, which are kept and shown as unknown.",
)
_SYSTEM_SUBTYPE = declare_stream(
    "5.1-system-subtype",
    "§5.1",
    Severity.ERROR,
    "A system message has a subtype",
    "Nothing else says what the message is.",
)

STREAM_RULES = (_KNOWN_TYPE, _SYSTEM_SUBTYPE, *CONVERSATION_RULES, *SESSION_RULES, *NOTICE_RULES)

_DEMANDS: Mapping[type[Struct], Demand] = MappingProxyType(
    {**CONVERSATION_DEMANDS, **SESSION_DEMANDS, **NOTICE_DEMANDS}
)
_CHECKS: Mapping[type[Struct], Check] = MappingProxyType(
    {**CONVERSATION_CHECKS, **SESSION_CHECKS, **NOTICE_CHECKS}
)
_BLOCK_KEYS = frozenset({"text", "id", "name", "input", "thinking"})
_ANSWERS = frozenset({AssistantMessage, PartialAssistantMessage, ResultMessage})


def claim(line: Line, problem: Problem) -> Rule | None:
    """Return the rule that a problem breaks, or None."""
    entry, steps = line.entry, problem.steps
    in_block = steps[:2] == ("message", "content") and len(steps) > 2
    match problem.kind:
        case ProblemKind.UNKNOWN_TYPE if isinstance(entry, ResultMessage):
            return RESULT_SUBTYPE
        case ProblemKind.UNKNOWN_TYPE if isinstance(entry, UnknownEntry):
            no_subtype = entry.type == "system" and entry.subtype is None
            return _SYSTEM_SUBTYPE if no_subtype else _KNOWN_TYPE
        case ProblemKind.UNKNOWN_FIELD if in_block and len(steps) == 4 and steps[-1] in _BLOCK_KEYS:
            return BLOCK_SURPLUS
        case ProblemKind.MISSING_FIELD | ProblemKind.WRONG_TYPE if in_block:
            return BLOCK_FIELDS
        case ProblemKind.MISSING_FIELD | ProblemKind.WRONG_TYPE:
            cls = _class_of(entry)
            inside = cls is AssistantMessage and len(steps) > 1 and steps[0] == "message"
            demand = _DEMANDS.get(cls) if cls is not None else None
            return MESSAGE_FIELDS if inside else demand.rule if demand is not None else None
    return None


def _class_of(entry: object) -> type[Struct] | None:
    """Return what a message is, or would be if nothing were missing."""
    if isinstance(entry, UnknownEntry):
        return find_class(StreamHead(type=entry.type, subtype=entry.subtype))
    return type(entry) if isinstance(entry, StreamMessage) else None


class Stream:
    """Checks messages one by one, and remembers which sessions and hooks have started."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._sessions: set[str] = set()
        self._hooks: dict[str, Spot] = {}

    def add(self, line: Line, faults: Collection[Path], spot: Spot) -> None:
        """Take the next message."""
        message = line.entry
        if not isinstance(message, StreamMessage):
            return
        check_base(message, faults, spot, self._report)
        demand = _DEMANDS.get(type(message))
        if demand is not None:
            check_given(demand, message, (), faults, spot, self._report)
        check = _CHECKS.get(type(message))
        if check is not None:
            check(message, faults, spot, self._report)
        self._check_start(message, spot)
        if isinstance(message, HookStartedMessage | HookProgressMessage | HookResponseMessage):
            self._check_hook(message, spot)

    def finish(self) -> None:
        """Report the hooks that have not ended."""
        for hook, spot in self._hooks.items():
            self._report.add(HOOK_LIFECYCLE, spot, f"Expected a hook_response for {quote(hook)}, found none")

    def _check_start(self, message: StreamMessage, spot: Spot) -> None:
        session = message.session_id if isinstance(message.session_id, str) else ""
        if session in self._sessions:
            return
        if isinstance(message, SystemInitMessage):
            self._sessions.add(session)
        elif type(message) in _ANSWERS:
            self._sessions.add(session)
            found = f"found none before the first answer of session {quote(session)}"
            self._report.add(INIT_FIRST, spot, f"Expected an init message, {found}")

    def _check_hook(
        self, message: HookStartedMessage | HookProgressMessage | HookResponseMessage, spot: Spot
    ) -> None:
        hook = message.hook_id
        if not isinstance(hook, str):
            return
        if isinstance(message, HookStartedMessage):
            self._hooks[hook] = spot
            return
        if hook not in self._hooks:
            self._report.add(
                HOOK_LIFECYCLE, spot, f"Expected an earlier hook_started for {quote(hook)}, found none"
            )
        if isinstance(message, HookResponseMessage):
            self._hooks.pop(hook, None)

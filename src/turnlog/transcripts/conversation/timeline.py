"""From lines to messages: each line gets its place, and lines that belong together become one message.

File order is the order of messages. A message stands where its first line stands; lines that come later
(further blocks of the same `message.id`, results, progress) are folded into it. Some things can only be told
from what comes later, so lines are first gathered, then placed: thinking waits for its answer (spec 002 §2.1),
a result may come before its call, and a prompt may never leave the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from turnlog.messages import Line
from turnlog.messages.attachments import HookSuccess, QueuedCommand
from turnlog.messages.channels import AnyEntry
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, ProgressEntry, UserEntry
from turnlog.messages.legacy import StoredType
from turnlog.messages.metadata import QueueOperation, Summary
from turnlog.messages.sdk import AssistantMessage, ToolProgressMessage, UserMessage, UserMessageReplay
from turnlog.messages.system import LocalCommand, ModelRefusalFallback, StopHookSummary, SystemNotice
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.results import Place
from turnlog.transcripts.conversation.line_index import LineIndex
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.conversation.placements import (
    ATTACHMENT_RULES,
    ENTRY_RULES,
    FATES,
    Fate,
    Placement,
    Rule,
)
from turnlog.transcripts.conversation.prompt_queue import PromptQueue
from turnlog.transcripts.lines.authors import is_sidechain
from turnlog.transcripts.lines.blocks import find_stored_type, list_blocks, list_texts
from turnlog.transcripts.lines.categories import MessageType, Role, list_message_types, role_of
from turnlog.transcripts.lines.prompts import Prompt, PromptKind, read_prompt
from turnlog.transcripts.lines.texts import content_text

__all__ = ["Timeline", "build_timeline"]

_FILLERS = frozenset({"No response requested."})
_SYNTHETIC = "<synthetic>"
_AROUND = frozenset({PromptKind.CONTEXT, PromptKind.REMINDER, PromptKind.CAVEAT})
_PROMPT_RULES: Mapping[PromptKind, Rule] = {
    PromptKind.COMMAND: Rule.COMMAND,
    PromptKind.SHELL: Rule.COMMAND,
    PromptKind.NOTICE: Rule.NOTICE,
    PromptKind.INTERRUPTION: Rule.INTERRUPTION,
    PromptKind.RECAP: Rule.RECAP,
}
"""The rule of what stands in the user's place; all else that has a text is a prompt."""
_OUTPUTS = frozenset({PromptKind.COMMAND_OUTPUT, PromptKind.SHELL_OUTPUT})
_ROLES = (
    (MessageType.ASSISTANT, Role.ASSISTANT),
    (MessageType.TOOL_USE, Role.TOOL_USE),
    (MessageType.TOOL_RESULT, Role.TOOL_RESULT),
)
"""The role of an answer is that of the most telling thing in it; thinking alone is the assistant's."""
_TOOL_ROLES = (Role.TOOL_USE, Role.TOOL_RESULT)
_ENDS_THINKING = (Rule.PROMPT, Rule.COMMAND, Rule.INTERRUPTION, Rule.RECAP)
"""What comes between thinking and its answer."""
_SILENT = {
    kind: rule
    for kind, rule in ENTRY_RULES.items()
    if FATES[rule] is not Fate.SHOWN and kind is not QueueOperation
}
"""Entries of which nothing is shown, whatever they say."""
_UNSHOWN = {rule: Placement(rule) for rule in Rule}
# Looking up a member of an enum takes as long as all else that is done with it.
_ANSWER, _LONE_THINKING, _PART, _RESULT = Rule.ANSWER, Rule.LONE_THINKING, Rule.PART, Rule.RESULT
_ASSISTANT, _THINKING, _TOOL_USE = MessageType.ASSISTANT, MessageType.THINKING, MessageType.TOOL_USE
_TOOL_RESULT, _MAIN_LANE, _TOOL_LANE = Role.TOOL_RESULT, Lane.MAIN, Lane.TOOL


class Timeline(Struct, frozen=True, gc=False):
    """The messages of some lines, and the place of each line."""

    messages: tuple[Message, ...]
    placements: tuple[Placement, ...]
    """One for each line."""


def build_timeline(lines: Sequence[Line], calls: Iterable[Call], index: LineIndex | None = None) -> Timeline:
    """Return the messages of all lines of a file; `calls` and `index` are those of the same lines."""
    gathering = _Gathering(lines, calls, index or LineIndex(lines))
    gathering.gather()
    gathering.settle()
    return gathering.build()


class _Draft:
    """A message in the making."""

    __slots__ = ("aborted", "folded", "lane", "lines", "prompt", "rule", "types")

    def __init__(self, rule: Rule, line: int, lane: object, types: list[MessageType]) -> None:
        self.rule = rule
        self.lines = [line]
        self.lane = lane
        self.types = types
        self.folded: list[int] | None = None
        self.prompt: Prompt | None = None
        self.aborted = False


class _Gathering:
    """What the lines so far amount to."""

    def __init__(self, lines: Sequence[Line], calls: Iterable[Call], index: LineIndex) -> None:
        self.lines = lines
        self.rules: list[Rule] = [Rule.SYSTEM] * len(lines)
        self.drafts: list[_Draft] = []
        self.draft_of: dict[int, _Draft] = {}
        self.folds: list[tuple[int, int]] = []
        """Lines that are folded into the message of another line."""
        self.answers: dict[tuple[object, str], _Draft] = {}
        self.last_answer: dict[object, _Draft] = {}
        self.last_command: dict[object, _Draft] = {}
        self.by_uuid = index.by_uuid
        self.copies = index.copies
        self.superseded: list[str] = []
        self.queue = PromptQueue()
        self.calls_at: dict[int, list[Call]] = {}
        self.call_of: dict[int, int] = {}
        """The line of the call that a line answers, or repeats."""
        self.call_at: dict[str, int] = {}
        for call in calls:
            at = index.find(call.place.line)
            if at is None:
                continue
            self.calls_at.setdefault(at, []).append(call)
            if call.id is not None:
                self.call_at[call.id] = at
            for place in _list_places(call):
                found = index.find(place.line)
                if found is not None:
                    self.call_of.setdefault(found, at)

    def gather(self) -> None:
        copies = self.copies
        for index, line in enumerate(self.lines):
            entry = line.entry
            silent = _SILENT.get(type(entry))
            if silent is not None:
                self.rules[index] = silent
                continue
            if index in copies:
                self._fold(index, copies[index], Rule.COPY)
            elif getattr(entry, "is_deleted", None) is True:
                self.rules[index] = Rule.DELETED
            else:
                add = _HANDLERS.get(type(entry))
                if add is None:
                    self._show(index, ENTRY_RULES.get(type(entry), Rule.SYSTEM))
                else:
                    add(self, index, line, entry)

    def settle(self) -> None:
        """Decide what could not be told before all was there."""
        self._settle_queue()
        self._settle_superseded()
        self._settle_thinking()
        for index, home in self.folds:
            draft = self.draft_of.get(home)
            if draft is None:
                self.rules[index] = self.rules[home]  # what belongs to something hidden is hidden with it
            elif index not in self.draft_of:
                self.draft_of[index] = draft
                if draft.folded is None:
                    draft.folded = []
                draft.folded.append(index)

    def build(self) -> Timeline:
        numbers: dict[int, int] = {}
        messages: list[Message] = []
        for draft in self.drafts:
            if draft.lines:
                numbers[id(draft)] = len(messages)
                messages.append(self._build_message(len(messages), draft))
        draft_of = self.draft_of
        placements = [
            Placement(rule, numbers[id(draft_of[index])]) if index in draft_of else _UNSHOWN[rule]
            for index, rule in enumerate(self.rules)
        ]
        return Timeline(tuple(messages), tuple(placements))

    def add_user(self, index: int, line: Line, entry: Any) -> None:
        role = role_of(line)
        if role is _TOOL_RESULT:
            self._add_result(index, entry)
        elif role is Role.SYSTEM:
            self.rules[index] = Rule.META
        elif role is Role.SUMMARY:
            draft = self._start(index, Rule.RECAP, _lane_of(line), [MessageType.SUMMARY])
            draft.prompt = _merge_prompts(list_texts(entry))
        else:
            texts = list_texts(entry)
            self.queue.record(index, texts[0] if texts else "")
            self._add_prompt(index, line, _merge_prompts(texts))

    def add_answer(self, index: int, line: Line, entry: Any) -> None:
        if index in self.call_of and find_stored_type(line) is StoredType.TOOL_USE:
            self._fold(index, self.call_of[index], Rule.COPY)
            return
        types = list_message_types(line)
        lane = _lane_of(line)
        identity = entry.message.id
        draft = self.answers.get((lane, identity)) if type(identity) is str else None
        if type(getattr(entry, "supersedes_uuids", None)) is tuple:
            self.superseded += entry.supersedes_uuids
        if draft is None:
            if not types:
                self.rules[index] = Rule.EMPTY
                return
            if entry.message.model == _SYNTHETIC and content_text(entry.message.content) in _FILLERS:
                self.rules[index] = Rule.FILLER
                return
            draft = self._start(index, _ANSWER, lane, types)
            if type(identity) is str:
                self.answers[lane, identity] = draft
        else:
            self.rules[index] = _PART
            self.draft_of[index] = draft
            draft.lines.append(index)
            draft.types += types
        self.last_answer[lane] = draft
        self.last_command.pop(lane, None)
        if getattr(entry, "is_aborted_mid_stream", None) is True or getattr(entry, "is_aborted", None) is True:
            draft.aborted = True

    def add_attachment(self, index: int, line: Line, entry: Any) -> None:
        carried = entry.attachment
        if type(carried) is QueuedCommand:
            text = content_text(carried.prompt)
            self.queue.record(index, text, within=True)
            self._add_prompt(index, line, read_prompt(text), queued=True)
            return
        rule = ATTACHMENT_RULES.get(type(carried), Rule.CONTEXT)
        about = carried.tool_use_id if type(carried) is HookSuccess else None
        home = self.call_at.get(about) if type(about) is str else None
        if home is not None:
            self._fold(index, home, Rule.HOOK_RAN)
        else:
            self._show(index, rule)

    def add_progress(self, index: int, line: Line, entry: Any) -> None:
        for name in ("parent_tool_use_id", "tool_use_id"):
            home = self.call_at.get(getattr(entry, name, None) or "")
            if home is not None:
                self._fold(index, home, Rule.PROGRESS)
                return
        self._show(index, Rule.LONE_PROGRESS)

    def add_notice(self, index: int, line: Line, entry: Any) -> None:
        if index in self.call_of:  # in spec 000 an error line is what became of a call
            self._fold(index, self.call_of[index], Rule.RESULT)
        else:
            self._show(index, Rule.SYSTEM)

    def add_local_command(self, index: int, line: Line, entry: Any) -> None:
        self._add_prompt(index, line, read_prompt(content_text(entry.content)))

    def add_hook_summary(self, index: int, line: Line, entry: Any) -> None:
        raised = bool(entry.hook_errors) or entry.prevented_continuation is True
        self._show(index, Rule.HOOK if raised else Rule.FOOTER)

    def add_summary(self, index: int, line: Line, entry: Any) -> None:
        here = type(entry.leaf_uuid) is not str or entry.leaf_uuid in self.by_uuid
        self._show(index, Rule.SUMMARY if here else Rule.ELSEWHERE)

    def add_queue_operation(self, index: int, line: Line, entry: Any) -> None:
        self.rules[index] = Rule.QUEUE
        self.queue.add(index, entry)

    def add_refusal(self, index: int, line: Line, entry: Any) -> None:
        if type(entry.retracted_message_uuids) is tuple:
            self.superseded += entry.retracted_message_uuids
        self._show(index, Rule.SYSTEM)

    def _start(self, index: int, rule: Rule, lane: object, types: list[MessageType]) -> _Draft:
        draft = _Draft(rule, index, lane, types)
        self.rules[index] = rule
        self.drafts.append(draft)
        self.draft_of[index] = draft
        if getattr(self.lines[index].entry, "is_aborted", None) is True:
            draft.aborted = True
        return draft

    def _show(self, index: int, rule: Rule) -> None:
        if FATES[rule] is not Fate.SHOWN:
            self.rules[index] = rule
            return
        line = self.lines[index]
        self._start(index, rule, _lane_of(line), list_message_types(line))

    def _fold(self, index: int, home: int, rule: Rule) -> None:
        self.rules[index] = rule
        self.folds.append((index, home))

    def _add_result(self, index: int, entry: AnyEntry) -> None:
        home = self.call_of.get(index)
        if home is None or (len(list_blocks(entry)) > 1 and list_texts(entry)):
            lane = _lane_of(self.lines[index])
            self._start(index, Rule.LONE_RESULT, lane, [MessageType.TOOL_RESULT])
        else:
            self._fold(index, home, _RESULT)

    def _add_prompt(self, index: int, line: Line, prompt: Prompt, queued: bool = False) -> None:
        lane = _lane_of(line)
        if prompt.kind in _OUTPUTS:
            command = self.last_command.get(lane)
            if command is not None:
                self._fold(index, command.lines[0], Rule.OUTPUT)
            else:
                self._start(index, Rule.LONE_OUTPUT, lane, [MessageType.SYSTEM]).prompt = prompt
            return
        if prompt.kind in _AROUND:
            self.rules[index] = Rule.CONTEXT
            return
        if not prompt.text.strip() and not list_blocks(line.entry):
            self.rules[index] = Rule.EMPTY
            return
        rule = _PROMPT_RULES.get(prompt.kind, Rule.QUEUED if queued else Rule.PROMPT)
        draft = self._start(index, rule, lane, [_prompt_type(rule)])
        draft.prompt = prompt
        if rule is Rule.INTERRUPTION:
            self._abort(lane, getattr(line.entry, "interrupted_message_id", None))
        if rule is Rule.COMMAND:
            self.last_command[lane] = draft
        elif not queued:
            self.last_command.pop(lane, None)
            self.last_answer.pop(lane, None)

    def _abort(self, lane: object, identity: object) -> None:
        named = self.answers.get((lane, identity)) if isinstance(identity, str) else None
        answer = named or self.last_answer.get(lane)
        if answer is not None:
            answer.aborted = True

    def _settle_queue(self) -> None:
        """Show what still waits, and what was delivered and stands nowhere else."""
        shown = [(*item, Rule.WAITING) for item in self.queue.list_waiting()]
        shown += [(*item, Rule.QUEUED) for item in self.queue.list_unrecorded()]
        for index, text, rule in shown:
            prompt = read_prompt(text)
            if prompt.text.strip():
                rule = _PROMPT_RULES.get(prompt.kind, rule)
                self._start(index, rule, None, [_prompt_type(rule)]).prompt = prompt
        if shown:
            self.drafts.sort(key=lambda draft: draft.lines[0])

    def _settle_superseded(self) -> None:
        for uuid in self.superseded:
            index = self.by_uuid.get(uuid)
            draft = None if index is None else self.draft_of.pop(index, None)
            if draft is None or index is None:
                continue
            self.rules[index] = Rule.SUPERSEDED
            if index in draft.lines:
                draft.lines.remove(index)
            if draft.lines:
                self.rules[draft.lines[0]] = draft.rule

    def _settle_thinking(self) -> None:
        """Hand thinking that stands alone to the next answer of its lane, if one comes before a prompt."""
        waiting: dict[object, _Draft] = {}
        for draft in self.drafts:
            if draft.rule in _ENDS_THINKING:
                waiting.pop(draft.lane, None)
            elif draft.rule is _ANSWER and draft.lines:
                before = waiting.pop(draft.lane, None)
                if before is not None:
                    self._hand_over(before, draft)
                if draft.types.count(_THINKING) == len(draft.types):
                    draft.rule = self.rules[draft.lines[0]] = _LONE_THINKING
                    waiting[draft.lane] = draft

    def _hand_over(self, thinking: _Draft, answer: _Draft) -> None:
        for index in thinking.lines:
            self.rules[index] = Rule.THINKING
            self.draft_of[index] = answer
        answer.lines = thinking.lines + answer.lines
        answer.types = thinking.types + answer.types
        thinking.lines = []

    def _build_message(self, number: int, draft: _Draft) -> Message:
        first = self.lines[draft.lines[0]]
        at = self.lines[draft.lines[-1]]
        answer = draft.rule is _ANSWER or draft.rule is _LONE_THINKING
        types = tuple(draft.types)
        if len(types) > 1:
            types = tuple(dict.fromkeys(types))
            if _ASSISTANT in types:  # an answer that says something is more than its calls
                types = tuple([each for each in types if each is not _TOOL_USE])
        role = _answer_role(types) if answer else Role.USER if type(at.entry) is QueueOperation else role_of(at)
        agent = getattr(first.entry, "agent_id", None)
        calls = [call for index in draft.lines for call in self.calls_at.get(index, ())] if answer else []
        lane = _MAIN_LANE
        if draft.lane is not None:
            lane = Lane.AGENT
        elif role in _TOOL_ROLES or (not answer and draft.rule is Rule.LONE_PROGRESS):
            lane = _TOOL_LANE
        return Message(
            index=number,
            rule=draft.rule,
            role=role,
            types=types,
            lane=lane,
            agent_id=agent if type(agent) is str else None,
            lines=tuple([self.lines[index] for index in draft.lines]),
            folded=tuple([self.lines[index] for index in draft.folded or ()]),
            calls=tuple(calls),
            prompt=draft.prompt,
            aborted=draft.aborted,
        )


_HANDLERS: dict[type, Callable[[_Gathering, int, Line, Any], None]] = {
    UserEntry: _Gathering.add_user,
    UserMessage: _Gathering.add_user,
    UserMessageReplay: _Gathering.add_user,
    AssistantEntry: _Gathering.add_answer,
    AssistantMessage: _Gathering.add_answer,
    AttachmentEntry: _Gathering.add_attachment,
    ProgressEntry: _Gathering.add_progress,
    ToolProgressMessage: _Gathering.add_progress,
    SystemNotice: _Gathering.add_notice,
    LocalCommand: _Gathering.add_local_command,
    StopHookSummary: _Gathering.add_hook_summary,
    Summary: _Gathering.add_summary,
    QueueOperation: _Gathering.add_queue_operation,
    ModelRefusalFallback: _Gathering.add_refusal,
}


def _list_places(call: Call) -> Iterator[Place]:
    """Yield where a call is repeated, and where it is answered."""
    yield from call.copies
    if call.result is not None:
        yield call.result.place
    for result in call.other_results:
        yield result.place


def _lane_of(line: Line) -> object:
    """Return whose conversation a line is in: None for the main one."""
    if getattr(line.entry, "is_sidechain", True) is not True or not is_sidechain(line):
        return None
    return getattr(line.entry, "agent_id", None) or getattr(line.entry, "parent_tool_use_id", None) or True


def _merge_prompts(texts: list[str]) -> Prompt:
    """Return what several texts in the user's place are together: what the IDE shows has a block of its own."""
    if len(texts) == 1:
        return read_prompt(texts[0])
    prompts = [read_prompt(text) for text in texts]
    said = [prompt for prompt in prompts if prompt.kind not in _AROUND] or prompts
    if len(said) == 1:
        return said[0]
    if not said:
        return Prompt(PromptKind.TYPED, "")
    first = said[0]
    return Prompt(first.kind, "\n\n".join(p.text for p in said), first.command, first.arguments)


def _prompt_type(rule: Rule) -> MessageType:
    if rule is Rule.RECAP:
        return MessageType.SUMMARY
    return MessageType.SYSTEM if rule in (Rule.NOTICE, Rule.INTERRUPTION) else MessageType.USER


def _answer_role(types: tuple[MessageType, ...]) -> Role:
    return next((role for type_, role in _ROLES if type_ in types), Role.ASSISTANT)

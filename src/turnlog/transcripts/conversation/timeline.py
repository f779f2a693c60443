"""From lines to messages: each line gets its place, and lines that belong together become one message.

File order is the order of messages. A message stands where its first line stands; lines that come later
(further blocks of the same `message.id`, results, progress) are folded into it. Some things can only be told
from what comes later, so lines are first gathered, then placed: thinking waits for its answer (spec 002 §2.1),
a result may come before its call, and a prompt may never leave the queue.

A file that grows is gathered on; what was settled is settled anew from the first message that the new lines
have to do with. What changes earlier ones in other ways is rare, and then all of it is built anew.

Prompts that are typed while Claude works wait in a queue. A prompt enters it and leaves it again: taken out
for a turn of its own, delivered within a turn, or taken back by the person. What is delivered within a turn
stands in the transcript as a queued command, but before version 2.1.90 it stood nowhere else: then the line
that put it in is all there is to show.

Only newer versions say which prompt was delivered. Else it was the newest: what waits for a turn of its own
stays behind.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

import turnlog.messages.sdk.messages as sdk
from turnlog.messages import AnyEntry, Line, system
from turnlog.messages.attachments import HookSuccess, QueuedCommand
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, ProgressEntry, UserEntry
from turnlog.messages.legacy import AssistantAction, StoredType
from turnlog.messages.metadata import QueueAction, QueueOperation, Summary
from turnlog.transcripts.calls import Call
from turnlog.transcripts.conversation.lineage import CallPlaces, LineIndex
from turnlog.transcripts.conversation.messages import (
    ATTACHMENT_RULES,
    DISPLAYS,
    ENTRY_RULES,
    Lane,
    LineDisplay,
    Message,
    Placement,
    Rule,
)
from turnlog.transcripts.kinds import MessageType, Role
from turnlog.transcripts.lines import content
from turnlog.transcripts.lines.prompts import ENVELOPE_KINDS, Prompt, PromptKind, join_prompts, read_prompt


class PromptQueue:
    """What entered the queue and what became of it. Prompts are known by the position of their line."""

    def __init__(self) -> None:
        # A plain dict gets slow when many leave it at its front.
        self._waiting: OrderedDict[int, str] = OrderedDict()
        self._by_text: dict[str, OrderedDict[int, None]] = {}
        self._removed: list[tuple[int, str]] = []
        self._recorded: dict[str, list[int]] = {}
        self._delivered: Counter[str] = Counter()
        self.has_changed = False
        """Whether anything was added or recorded; whoever has looked takes it back."""

    def add(self, position: int, entry: QueueOperation) -> str:
        """Take the next operation, and return the prompt that it is about; empty if it is about none or all."""
        self.has_changed = True
        text = content.content_text(entry.content).strip()
        if entry.operation is QueueAction.ENQUEUE:
            self._waiting[position] = text
            self._by_text.setdefault(text, OrderedDict())[position] = None
        elif entry.operation is QueueAction.POP_ALL:
            self._waiting.clear()
            self._by_text.clear()
            return ""
        elif self._waiting:
            within = entry.operation is QueueAction.REMOVE
            taken = self._take(text, newest=within)
            if within:
                self._removed.append(taken)
            return taken[1]
        return text

    def record(self, position: int, text: str, *, within: bool = False) -> None:
        """Note that a prompt stands in the transcript, be it that it was delivered within a turn."""
        text = text.strip()
        self._recorded.setdefault(text, []).append(position)
        if within:
            self._delivered[text] += 1
        self.has_changed = True

    def list_waiting(self) -> list[tuple[int, str]]:
        """Return what is still in the queue, and stands nowhere else: where it was put in, and its text."""
        return [
            (position, text)
            for position, text in self._waiting.items()
            if self._recorded.get(text, [-1])[-1] < position
        ]

    def list_unrecorded(self) -> list[tuple[int, str]]:
        """Return what was delivered within a turn and stands nowhere else."""
        delivered = self._delivered.copy()
        found = []
        for position, text in self._removed:
            if delivered[text] > 0:
                delivered[text] -= 1
            else:
                found.append((position, text))
        return found

    def _take(self, text: str, *, newest: bool) -> tuple[int, str]:
        """Take the prompt with this text out of the queue, else the newest or the oldest."""
        same = self._by_text.get(text) if text else None
        position = (
            next(iter(same)) if same else next(reversed(self._waiting) if newest else iter(self._waiting))
        )
        taken = self._waiting.pop(position)
        del self._by_text[taken][position]
        return position, taken


_ROLES = (
    (MessageType.ASSISTANT, Role.ASSISTANT),
    (MessageType.TOOL_USE, Role.TOOL_USE),
    (MessageType.TOOL_RESULT, Role.TOOL_RESULT),
)
"""The role of an answer is that of the most telling thing in it; thinking alone is the assistant's."""
_TOOL_ROLES = (Role.TOOL_USE, Role.TOOL_RESULT)
# Looking up a member of an enum takes as long as all else that is done with it.
_ANSWER, _LONE_THINKING = Rule.ANSWER, Rule.LONE_THINKING
_ASSISTANT, _TOOL_USE = MessageType.ASSISTANT, MessageType.TOOL_USE
_MAIN_LANE, _TOOL_LANE = Lane.MAIN, Lane.TOOL
_SHARED: dict[tuple[MessageType, ...], tuple[MessageType, ...]] = {}
"""There are few of them, and many messages."""


class Draft(Struct, eq=False):
    """A message in the making: what was gathered for it, and what it is for now."""

    rule: Rule
    first: int
    """The line that began it, and by which messages are in order."""
    lane: object
    gathered: list[int]
    """The lines that it is made of by itself."""
    lines: list[int]
    """With the thinking that waited for it; none if it was itself handed to another."""
    gathered_types: tuple[MessageType, ...]
    types: tuple[MessageType, ...]
    folded: list[int] | None = None
    prompt: Prompt | None = None
    aborted: bool = False
    is_lone: bool = False
    """Whether it is thinking that no answer followed so far."""
    is_cut: bool = False
    """Whether lines of it were replaced by others."""
    taken: Draft | None = None
    """The thinking that was handed to it."""
    taker: Draft | None = None
    """The answer that it was handed to."""
    number: int | None = None
    """Which message it is."""

    def find_shown(self) -> Draft:
        """Return the draft that is shown in its place."""
        draft = self
        while draft.taker is not None:
            draft = draft.taker
        return draft

    def find_origin(self) -> Draft:
        """Return the first draft of the thinking that was handed to it, if any was."""
        draft = self
        while draft.taken is not None:
            draft = draft.taken
        return draft

    def list_folded(self) -> list[int]:
        """Return the lines that are folded into it, those that came with its thinking included."""
        if self.taken is None:
            return self.folded or []
        found: list[int] = []
        draft: Draft | None = self
        while draft is not None:
            found += draft.folded or ()
            draft = draft.taken
        return sorted(found)


class DraftTable:
    """What becomes of each line, as far as it is known."""

    def __init__(self, lines: Sequence[Line]) -> None:
        """Begin with lines of which none has a place; more may come behind them."""
        self.lines = lines
        self.rules: list[Rule] = []
        self.drafts: list[Draft] = []
        """In file order; one that has lost all its lines is none."""
        self.draft_of: list[Draft | None] = []
        """The one that each line is in."""
        self.folds: list[tuple[int, int]] = []
        """Lines that are folded into the message of another line, and were not put there yet."""
        self.grown: list[Draft] = []
        """Those that got further lines."""
        self.touched: list[Draft] = []
        """Those of which anything else has changed."""

    def find_ordinal(self, draft: Draft) -> int:
        """Return which of the drafts one is."""
        return self.find_place(draft.first)

    def find_place(self, line: int) -> int:
        """Return which draft begins with a line; if none does, the next one."""
        return bisect_left(self.drafts, line, key=lambda draft: draft.first)

    def grow(self) -> None:
        """Make room for the lines that came."""
        missing = len(self.lines) - len(self.rules)
        self.rules += [Rule.SYSTEM] * missing
        self.draft_of += [None] * missing

    def start(self, index: int, rule: Rule, lane: object, types: list[MessageType]) -> Draft:
        """Begin a message with a line."""
        own, shown = [index], _share(types)
        draft = Draft(rule, index, lane, own, own, shown, shown)
        self.rules[index] = rule
        self.drafts.append(draft)
        self.draft_of[index] = draft
        if getattr(self.lines[index].entry, "is_aborted", None) is True:
            draft.aborted = True
        return draft

    def join(self, index: int, draft: Draft, types: list[MessageType]) -> None:
        """Add a further line to a message."""
        self.rules[index] = Rule.PART
        self.draft_of[index] = draft
        draft.gathered.append(index)
        is_alone = draft.types is draft.gathered_types
        draft.gathered_types = _share((*draft.gathered_types, *types))
        if is_alone:
            draft.types = draft.gathered_types
        self.grown.append(draft)

    def abort(self, draft: Draft) -> None:
        """Note that a message was cut off."""
        draft.aborted = True
        self.touched.append(draft)

    def show(self, index: int, rule: Rule) -> None:
        """Give a line a place of its own, if its rule is to show it."""
        if DISPLAYS[rule] is not LineDisplay.SHOWN:
            self.rules[index] = rule
            return
        line = self.lines[index]
        self.start(index, rule, lane_of(line), content.list_message_types(line))

    def fold(self, index: int, home: int, rule: Rule) -> None:
        """Put a line into the message of another, which need not have come yet."""
        self.rules[index] = rule
        self.folds.append((index, home))

    def settle_folds(self) -> None:
        """Put what was folded where it belongs; what belongs to something hidden is hidden with it."""
        for index, home in self.folds:
            draft = self.draft_of[home]
            if draft is None:
                self.rules[index] = self.rules[home]
            elif self.draft_of[index] is None:
                self.draft_of[index] = draft
                if draft.folded is None:
                    draft.folded = []
                draft.folded.append(index)
                self.touched.append(draft)
        self.folds.clear()

    def build_message(self, draft: Draft, number: int, places: CallPlaces) -> Message:
        """Make a message of a draft."""
        lines = self.lines
        first, at = lines[draft.lines[0]], lines[draft.lines[-1]]
        answer = draft.rule is _ANSWER
        types = draft.types
        if len(types) > 1:
            types = tuple(dict.fromkeys(types))
            if _ASSISTANT in types:  # an answer that says something is more than its calls
                types = tuple([each for each in types if each is not _TOOL_USE])
        if answer:
            role = next((role for type_, role in _ROLES if type_ in types), Role.ASSISTANT)
        else:
            role = Role.USER if type(at.entry) is QueueOperation else content.role_of(at)
        agent = getattr(first.entry, "agent_id", None)
        lane = _MAIN_LANE
        if draft.lane is not None:
            lane = Lane.AGENT
        elif role in _TOOL_ROLES or (not answer and draft.rule is Rule.LONE_PROGRESS):
            lane = _TOOL_LANE
        return Message(
            index=number,
            rule=_LONE_THINKING if draft.is_lone else draft.rule,
            role=role,
            types=_share(types),
            lane=lane,
            agent_id=agent if type(agent) is str else None,
            lines=tuple([lines[index] for index in draft.lines]),
            folded=tuple([lines[index] for index in draft.list_folded()]),
            calls=tuple(places.list_made(draft.lines)) if answer else (),
            prompt=draft.prompt,
            aborted=draft.aborted,
        )


def _share(types: Iterable[MessageType]) -> tuple[MessageType, ...]:
    found = tuple(types)
    return _SHARED.setdefault(found, found)


def lane_of(line: Line) -> object:
    """Return whose conversation a line is in: None for the main one."""
    if getattr(line.entry, "is_sidechain", True) is not True or not content.is_sidechain(line):
        return None
    return getattr(line.entry, "agent_id", None) or getattr(line.entry, "parent_tool_use_id", None) or True


_FILLERS = frozenset({"No response requested."})
_SYNTHETIC = "<synthetic>"
PROMPT_RULES: Mapping[PromptKind, Rule] = {
    PromptKind.COMMAND: Rule.COMMAND,
    PromptKind.SHELL: Rule.COMMAND,
    PromptKind.NOTICE: Rule.NOTICE,
    PromptKind.INTERRUPTION: Rule.INTERRUPTION,
    PromptKind.RECAP: Rule.RECAP,
}
"""The rule of what stands in the user's place; all else that has a text is a prompt."""
_OUTPUTS = frozenset({PromptKind.COMMAND_OUTPUT, PromptKind.SHELL_OUTPUT})
_NEVER_METADATA = frozenset(
    {UserEntry, *(kind for kind, rule in ENTRY_RULES.items() if rule is Rule.COMPACTION)}
)
_RAN = AssistantAction.COMMAND.value
_SILENT = {
    kind: rule
    for kind, rule in ENTRY_RULES.items()
    if DISPLAYS[rule] is not LineDisplay.SHOWN and kind is not QueueOperation
}
"""Entries of which nothing is shown, whatever they say."""
# Looking up a member of an enum takes as long as all else that is done with it.
_ANSWER, _RESULT, _TOOL_RESULT = Rule.ANSWER, Rule.RESULT, Role.TOOL_RESULT


class MessageGatherer:
    """What the lines so far amount to."""

    def __init__(self, table: DraftTable, calls: CallPlaces, index: LineIndex) -> None:
        self.table = table
        self.calls = calls
        self.index = index
        self.queue = PromptQueue()
        self.superseded: list[str] = []
        """The uuids of lines that others replace."""
        self.is_entangled = False
        """Whether what becomes of a line depends on the queue as it is when the file ends."""
        self._answers: dict[object, dict[str, Draft]] = {}
        """By lane and `message.id`."""
        self._last_answer: dict[object, Draft] = {}
        self._last_command: dict[object, Draft] = {}

    def gather(self, first: int = 0) -> None:
        """Take all lines from one on, in file order."""
        copies, rules, lines = self.index.copies, self.table.rules, self.table.lines
        for index in range(first, len(lines)):
            line = lines[index]
            entry = line.entry
            silent = _SILENT.get(type(entry))
            if silent is not None:
                rules[index] = silent
            elif index in copies:
                self._add_copy(index, copies[index])
            elif getattr(entry, "is_deleted", None) is True:
                rules[index] = Rule.DELETED
            elif getattr(entry, "is_meta", None) is True and self._is_metadata(index, entry):
                self.table.start(index, Rule.META, lane_of(line), [])
            else:
                add = _HANDLERS.get(type(entry))
                if add is None:
                    self.table.show(index, ENTRY_RULES.get(type(entry), Rule.SYSTEM))
                else:
                    add(self, index, line, entry)

    def _is_metadata(self, index: int, entry: Any) -> bool:
        """Tell whether a line that calls itself so is for nobody to read.

        What stands in the user's place has rules of its own, results and calls belong together, and where a
        conversation was made shorter is always told.
        """
        if (
            type(entry) in _NEVER_METADATA
            or index in self.calls.homes
            or content.has_call(content.list_blocks(entry))
        ):
            return False
        return type(entry) is not AttachmentEntry or type(entry.attachment) is not QueuedCommand

    def _add_copy(self, index: int, first: int) -> None:
        self.table.fold(index, first, Rule.COPY)
        if type(self.table.lines[first].entry) is QueueOperation:
            self.is_entangled = True

    def _add_user(self, index: int, line: Line, entry: Any) -> None:
        role = content.role_of(line)
        if role is _TOOL_RESULT:
            self._take_result(index, entry)
        elif role is Role.SYSTEM:
            self.table.rules[index] = Rule.META
        elif role is Role.SUMMARY:
            draft = self.table.start(index, Rule.RECAP, lane_of(line), [MessageType.SUMMARY])
            draft.prompt = join_prompts(content.list_texts(entry))
        else:
            texts = content.list_texts(entry)
            self.queue.record(index, texts[0] if texts else "")
            self._take_prompt(index, line, join_prompts(texts))

    def _add_answer(self, index: int, line: Line, entry: Any) -> None:
        if index in self.calls.homes and content.find_stored_type(line) is StoredType.TOOL_USE:
            self.table.fold(index, self.calls.homes[index], Rule.COPY)
            return
        types = content.list_message_types(line)
        lane = lane_of(line)
        if getattr(entry, "subtype", None) == _RAN and not content.has_call(content.list_blocks(entry)):
            self.table.start(index, Rule.RAN_COMMAND, lane, types)
            return
        identity = entry.message.id
        draft = self._answers.get(lane, {}).get(identity) if type(identity) is str else None
        if type(getattr(entry, "supersedes_uuids", None)) is tuple:
            self.superseded += entry.supersedes_uuids
        if draft is None:
            if not types:
                self.table.rules[index] = Rule.EMPTY
                return
            if entry.message.model == _SYNTHETIC and content.content_text(entry.message.content) in _FILLERS:
                self.table.rules[index] = Rule.FILLER
                return
            draft = self.table.start(index, _ANSWER, lane, types)
            if type(identity) is str:
                self._answers.setdefault(lane, {})[identity] = draft
        else:
            self.table.join(index, draft, types)
        self._last_answer[lane] = draft
        self._last_command.pop(lane, None)
        if getattr(entry, "is_aborted_mid_stream", None) is True or getattr(entry, "is_aborted", None) is True:
            self.table.abort(draft)

    def _add_attachment(self, index: int, line: Line, entry: Any) -> None:
        carried = entry.attachment
        if type(carried) is QueuedCommand:
            text = content.content_text(carried.prompt)
            self.queue.record(index, text, within=True)
            self._take_prompt(index, line, read_prompt(text), queued=True)
            return
        rule = ATTACHMENT_RULES.get(type(carried), Rule.CONTEXT)
        about = carried.tool_use_id if type(carried) is HookSuccess else None
        home = self.calls.look_for(about) if type(about) is str else None
        if home is not None:
            self.table.fold(index, home, Rule.HOOK_RAN)
        else:
            self.table.show(index, rule)

    def _add_progress(self, index: int, line: Line, entry: Any) -> None:
        for name in ("parent_tool_use_id", "tool_use_id"):
            home = self.calls.look_for(getattr(entry, name, None) or "")
            if home is not None:
                self.table.fold(index, home, Rule.PROGRESS)
                return
        self.table.show(index, Rule.LONE_PROGRESS)

    def _add_notice(self, index: int, line: Line, entry: Any) -> None:
        if index in self.calls.homes:  # in spec 000 an error line is what became of a call
            self.table.fold(index, self.calls.homes[index], Rule.RESULT)
        else:
            self.table.show(index, Rule.SYSTEM)

    def _add_local_command(self, index: int, line: Line, entry: Any) -> None:
        self._take_prompt(index, line, read_prompt(content.content_text(entry.content)))

    def _add_hook_summary(self, index: int, line: Line, entry: Any) -> None:
        raised = bool(entry.hook_errors) or entry.prevented_continuation is True
        self.table.show(index, Rule.HOOK if raised else Rule.FOOTER)

    def _add_summary(self, index: int, line: Line, entry: Any) -> None:
        here = type(entry.leaf_uuid) is not str or self.index.look_for(entry.leaf_uuid) is not None
        self.table.show(index, Rule.SUMMARY if here else Rule.ELSEWHERE)

    def _add_queue_operation(self, index: int, line: Line, entry: Any) -> None:
        self.table.rules[index] = Rule.QUEUE
        self.queue.add(index, entry)

    def _add_refusal(self, index: int, line: Line, entry: Any) -> None:
        if type(entry.retracted_message_uuids) is tuple:
            self.superseded += entry.retracted_message_uuids
        self.table.show(index, Rule.SYSTEM)

    def _take_result(self, index: int, entry: AnyEntry) -> None:
        home = self.calls.homes.get(index)
        # What a line does itself has no other place to be shown.
        if home is None or home == index or (len(content.list_blocks(entry)) > 1 and content.list_texts(entry)):
            lane = lane_of(self.table.lines[index])
            self.table.start(index, Rule.LONE_RESULT, lane, [MessageType.TOOL_RESULT])
        else:
            self.table.fold(index, home, _RESULT)

    def _take_prompt(self, index: int, line: Line, prompt: Prompt, queued: bool = False) -> None:
        lane = lane_of(line)
        if prompt.kind in _OUTPUTS:
            command = self._last_command.get(lane)
            if command is not None:
                self.table.fold(index, command.first, Rule.OUTPUT)
            else:
                self.table.start(index, Rule.LONE_OUTPUT, lane, [MessageType.SYSTEM]).prompt = prompt
            return
        if prompt.kind in ENVELOPE_KINDS:
            self.table.rules[index] = Rule.CONTEXT
            return
        if not prompt.text.strip() and not content.list_blocks(line.entry):
            self.table.rules[index] = Rule.EMPTY
            return
        rule = PROMPT_RULES.get(prompt.kind, Rule.QUEUED if queued else Rule.PROMPT)
        draft = self.table.start(index, rule, lane, [prompt_type(rule)])
        draft.prompt = prompt
        if rule is Rule.INTERRUPTION:
            self._abort(lane, getattr(line.entry, "interrupted_message_id", None))
        if rule is Rule.COMMAND:
            self._last_command[lane] = draft
        elif not queued:
            self._last_command.pop(lane, None)
            self._last_answer.pop(lane, None)

    def _abort(self, lane: object, identity: object) -> None:
        named = self._answers.get(lane, {}).get(identity) if isinstance(identity, str) else None
        answer = named or self._last_answer.get(lane)
        if answer is not None:
            self.table.abort(answer)


_HANDLERS: dict[type, Callable[[MessageGatherer, int, Line, Any], None]] = {
    UserEntry: MessageGatherer._add_user,
    sdk.UserMessage: MessageGatherer._add_user,
    sdk.UserMessageReplay: MessageGatherer._add_user,
    AssistantEntry: MessageGatherer._add_answer,
    sdk.AssistantMessage: MessageGatherer._add_answer,
    AttachmentEntry: MessageGatherer._add_attachment,
    ProgressEntry: MessageGatherer._add_progress,
    sdk.ToolProgressMessage: MessageGatherer._add_progress,
    system.SystemNotice: MessageGatherer._add_notice,
    system.LocalCommand: MessageGatherer._add_local_command,
    system.StopHookSummary: MessageGatherer._add_hook_summary,
    Summary: MessageGatherer._add_summary,
    QueueOperation: MessageGatherer._add_queue_operation,
    system.ModelRefusalFallback: MessageGatherer._add_refusal,
}


def prompt_type(rule: Rule) -> MessageType:
    """Return how what stands in the user's place is shown."""
    if rule is Rule.RECAP:
        return MessageType.SUMMARY
    return MessageType.SYSTEM if rule in (Rule.NOTICE, Rule.INTERRUPTION) else MessageType.USER


_ENDS_THINKING = (Rule.PROMPT, Rule.COMMAND, Rule.INTERRUPTION, Rule.RECAP)
"""What comes between thinking and its answer."""
_THINKING = MessageType.THINKING
_NOBODY: Mapping[object, Draft] = {}


class QueueSettler:
    """Shows what still waits in the queue, and what was delivered and stands nowhere else."""

    def __init__(self, table: DraftTable, queue: PromptQueue) -> None:
        self._table = table
        self._queue = queue
        self._shown: dict[int, Rule] = {}
        self._vacated: list[int] = []

    def settle(self, low: int) -> int:
        """Show what is to be shown now; return from which draft on others stand there than before."""
        if not self._queue.has_changed:
            return low
        self._queue.has_changed = False
        wanted = self._list_wanted()
        rules = {at: rule for at, (_, rule) in wanted.items()}
        changed = {at for at in self._shown.keys() | rules.keys() if self._shown.get(at) != rules.get(at)}
        if not changed:
            return low
        table = self._table
        low = min(low, table.find_place(min(changed)))
        table.drafts[low:] = [draft for draft in table.drafts[low:] if draft.first not in changed]
        for at in sorted(changed):
            table.draft_of[at] = None
            table.rules[at] = Rule.QUEUE
            if at in wanted:
                prompt, rule = wanted[at]
                table.start(at, rule, None, [prompt_type(rule)]).prompt = prompt
        table.drafts[low:] = sorted(table.drafts[low:], key=lambda draft: draft.first)
        self._vacated += changed
        self._shown = rules
        return low

    def take_vacated(self) -> list[int]:
        """Return the lines whose place has changed, once."""
        vacated, self._vacated = self._vacated, []
        return vacated

    def _list_wanted(self) -> dict[int, tuple[Prompt, Rule]]:
        shown = [(*item, Rule.WAITING) for item in self._queue.list_waiting()]
        shown += [(*item, Rule.QUEUED) for item in self._queue.list_unrecorded()]
        wanted: dict[int, tuple[Prompt, Rule]] = {}
        for at, text, rule in shown:
            prompt = read_prompt(text)
            if prompt.text.strip():
                wanted[at] = prompt, PROMPT_RULES.get(prompt.kind, rule)
        return wanted


class ThinkingSettler:
    """Hands thinking that stands alone to the next answer of its lane, if one comes before a prompt."""

    def __init__(self, table: DraftTable) -> None:
        self._table = table
        self._before: list[Mapping[object, Draft]] = []
        """What waited before each draft, by lane."""
        self._waiting = _NOBODY
        """What waits behind the last."""

    def settle(self, low: int) -> int:
        """Settle all drafts from one on; return from which on any is another than before."""
        drafts = self._table.drafts
        if self._before:
            low = self._find_chains(low)
            for draft in drafts[low:]:
                self._reset(draft)
        waiting = self._before[low] if low < len(self._before) else self._waiting
        del self._before[low:]
        for draft in drafts[low:]:
            self._before.append(waiting)
            if draft.rule in _ENDS_THINKING:
                waiting = _without(waiting, draft.lane)
            elif draft.rule is _ANSWER and draft.lines:
                thinking = waiting.get(draft.lane)
                if thinking is not None:
                    waiting = _without(waiting, draft.lane)
                    self._hand_over(thinking, draft)
                    low = min(low, self._table.find_ordinal(thinking.find_origin()))
                if draft.types.count(_THINKING) == len(draft.types):
                    draft.is_lone = True
                    self._table.rules[draft.lines[0]] = Rule.LONE_THINKING
                    waiting = {**waiting, draft.lane: draft}
        self._waiting = waiting
        return low

    def _find_chains(self, low: int) -> int:
        """Return the first draft from which on none has thinking from one before."""
        at = len(self._table.drafts)
        while at > low:
            at -= 1
            taken = self._table.drafts[at].taken
            if taken is not None:
                low = min(low, self._table.find_ordinal(taken))
        return low

    def _reset(self, draft: Draft) -> None:
        if not (draft.is_lone or draft.taken or draft.taker):
            return
        draft.lines, draft.types = draft.gathered, draft.gathered_types
        draft.is_lone, draft.taken, draft.taker = False, None, None
        for line in draft.gathered:
            self._table.rules[line] = Rule.PART
        if draft.gathered:
            self._table.rules[draft.gathered[0]] = draft.rule

    def _hand_over(self, thinking: Draft, answer: Draft) -> None:
        for line in thinking.lines:
            self._table.rules[line] = Rule.THINKING
        answer.lines = thinking.lines + answer.gathered
        answer.types = thinking.types + answer.gathered_types
        answer.taken, thinking.taker = thinking, answer
        thinking.lines = []


def settle_superseded(table: DraftTable, superseded: Iterable[str], index: LineIndex) -> None:
    """Hide what other lines say that they replace."""
    for uuid in superseded:
        at = index.look_for(uuid)
        draft = None if at is None else table.draft_of[at]
        if draft is None or at is None:
            continue
        table.draft_of[at] = None
        table.rules[at] = Rule.SUPERSEDED
        draft.is_cut = True
        if at in draft.gathered:
            draft.gathered.remove(at)
        if draft.gathered:
            table.rules[draft.gathered[0]] = draft.rule


def _without(waiting: Mapping[object, Draft], lane: object) -> Mapping[object, Draft]:
    if lane not in waiting:
        return waiting
    return {key: draft for key, draft in waiting.items() if key != lane}


_UNSHOWN = {rule: Placement(rule) for rule in Rule}


class Timeline(Struct, frozen=True, gc=False):
    """The messages of some lines, and the place of each line."""

    messages: tuple[Message, ...]
    placements: tuple[Placement, ...]
    """One for each line."""


class Growth(Struct, frozen=True, gc=False):
    """What of a conversation is new, or may be another than it was."""

    line: int
    """From which line on lines are new."""
    message: int
    """From which message on messages are new: 0 if all of them were built anew."""
    touched: frozenset[int] = frozenset()
    """Messages before to which something was added."""
    flipped: frozenset[int] = frozenset()
    """Messages before that came on the active way, or off it."""
    moved: tuple[int, ...] = ()
    """Lines before whose places were written anew: they may belong to other messages."""
    calls: tuple[int, ...] = ()
    """Calls that are new or have changed, in order."""
    anchored: int = 0
    """From which line on lines may stand at or below other messages than before."""


def build_timeline(lines: Sequence[Line], calls: Sequence[Call], index: LineIndex | None = None) -> Timeline:
    """Return the messages of all lines of a file; `calls` and `index` are those of the same lines."""
    index = index or LineIndex(lines)
    builder = TimelineBuilder(lines, CallPlaces(calls, index), index)
    builder.extend()
    return Timeline(tuple(builder.messages), tuple(builder.placements))


class TimelineBuilder:
    """The messages of lines that become more."""

    def __init__(self, lines: Sequence[Line], calls: CallPlaces, index: LineIndex) -> None:
        self.messages: list[Message] = []
        self.placements: list[Placement] = []
        self._calls = calls
        self._index = index
        self._begin(lines)

    def _begin(self, lines: Sequence[Line]) -> None:
        self._table = DraftTable(lines)
        self._gathering = MessageGatherer(self._table, self._calls, self._index)
        self._queue = QueueSettler(self._table, self._gathering.queue)
        self._thinking = ThinkingSettler(self._table)

    def extend(self, calls: Iterable[int] = (), *, is_last: bool = False) -> Growth | None:
        """Take the lines that came, and the calls that are new or changed with them.

        Return what is new; None if that cannot be told, and all has to be built anew. If this `is_last`, it
        takes less memory, and nothing may come behind it.
        """
        table, gathering = self._table, self._gathering
        start, drafts = len(self.placements), len(table.drafts)
        table.grow()
        gathering.gather(start)
        if start and (gathering.superseded or gathering.is_entangled or any(d.is_cut for d in table.grown)):
            return None
        low = min((table.find_ordinal(draft) for draft in table.grown if draft.first < start), default=drafts)
        low = self._queue.settle(low)
        settle_superseded(table, gathering.superseded, self._index)
        gathering.superseded.clear()
        low = self._thinking.settle(low)
        table.settle_folds()
        if is_last:
            del gathering  # all drafts are in it
            self._build_last()
            return Growth(0, 0)
        first = self._build_messages(low)
        touched = self._build_touched(first, calls) if first else frozenset()
        moved = self._list_moved(low) if start else []
        self._place((*moved, *range(start, len(table.rules))))
        table.grown.clear()
        table.touched.clear()
        return Growth(start, first, touched, moved=tuple(moved), anchored=min((start, *moved)))

    def _build_last(self) -> None:
        """Build all messages, and let go of each draft as it is built: nothing comes any more."""
        table = self._table
        for number, draft in enumerate(draft for draft in table.drafts if draft.lines):
            draft.number = number
        self._place(range(len(table.rules)))
        self._begin(())
        drafts = table.drafts
        drafts.reverse()
        for others in (table.draft_of, table.grown, table.touched):
            others.clear()
        while drafts:
            draft = drafts.pop()
            if draft.number is not None and draft.lines:
                self.messages.append(table.build_message(draft, draft.number, self._calls))

    def _build_messages(self, low: int) -> int:
        """Build the messages of all drafts from one on anew; return the number of the first."""
        table, calls, messages = self._table, self._calls, self.messages
        before = (table.drafts[at] for at in range(low - 1, -1, -1))
        first = next((draft.number + 1 for draft in before if draft.lines and draft.number is not None), 0)
        del messages[first:]
        for draft in table.drafts[low:]:
            if draft.lines:
                draft.number = len(messages)
                messages.append(table.build_message(draft, draft.number, calls))
        return first

    def _build_touched(self, first: int, calls: Iterable[int]) -> frozenset[int]:
        """Build those messages anew that stay what they were but for what was added to them."""
        table = self._table
        touched = [draft.find_shown() for draft in (*table.touched, *self._list_callers(calls))]
        found = {draft.number: draft for draft in touched if draft.number is not None and draft.number < first}
        for number, draft in found.items():
            self.messages[number] = table.build_message(draft, number, self._calls)
        return frozenset(found)

    def _list_callers(self, calls: Iterable[int]) -> list[Draft]:
        lines = (self._index.find(self._calls.calls[position].place.line) for position in calls)
        drafts = (None if line is None else self._table.draft_of[line] for line in lines)
        return [draft for draft in drafts if draft is not None]

    def _list_moved(self, low: int) -> list[int]:
        start = len(self.placements)
        lines = [*self._queue.take_vacated()]
        for draft in self._table.drafts[low:]:
            lines += draft.gathered
            lines += draft.folded or ()
        return sorted(line for line in lines if line < start)

    def _place(self, lines: Iterable[int]) -> None:
        placements, rules, draft_of = self.placements, self._table.rules, self._table.draft_of
        placements += [_UNSHOWN[Rule.SYSTEM]] * (len(rules) - len(placements))
        for index in lines:
            draft = draft_of[index]
            if draft is None:
                placements[index] = _UNSHOWN[rules[index]]
                continue
            while draft.taker is not None:
                draft = draft.taker
            placements[index] = Placement(rules[index], draft.number)

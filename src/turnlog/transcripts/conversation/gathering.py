"""Giving each line a place by what it is, one line after the other.

What only later lines can tell is noted here and settled by `timeline`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from turnlog.messages import Line
from turnlog.messages.attachments import HookSuccess, QueuedCommand
from turnlog.messages.dialects import AnyEntry
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, ProgressEntry, UserEntry
from turnlog.messages.legacy import AssistantAction, StoredType
from turnlog.messages.metadata import QueueOperation, Summary
from turnlog.messages.sdk import AssistantMessage, ToolProgressMessage, UserMessage, UserMessageReplay
from turnlog.messages.system import LocalCommand, ModelRefusalFallback, StopHookSummary, SystemNotice
from turnlog.transcripts.conversation.call_places import CallPlaces
from turnlog.transcripts.conversation.drafts import Board, Draft, lane_of
from turnlog.transcripts.conversation.line_index import LineIndex
from turnlog.transcripts.conversation.placements import ATTACHMENT_RULES, ENTRY_RULES, FATES, Fate, Rule
from turnlog.transcripts.conversation.prompt_queue import PromptQueue
from turnlog.transcripts.lines.blocks import content_text, find_stored_type, has_call, list_blocks, list_texts
from turnlog.transcripts.lines.categories import list_message_types, role_of
from turnlog.transcripts.lines.kinds import MessageType, Role
from turnlog.transcripts.lines.prompts import ENVELOPE_KINDS, Prompt, PromptKind, join_prompts, read_prompt

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
    if FATES[rule] is not Fate.SHOWN and kind is not QueueOperation
}
"""Entries of which nothing is shown, whatever they say."""
# Looking up a member of an enum takes as long as all else that is done with it.
_ANSWER, _RESULT, _TOOL_RESULT = Rule.ANSWER, Rule.RESULT, Role.TOOL_RESULT


class Gathering:
    """What the lines so far amount to."""

    def __init__(self, board: Board, calls: CallPlaces, index: LineIndex) -> None:
        self.board = board
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
        copies, rules, lines = self.index.copies, self.board.rules, self.board.lines
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
                self.board.start(index, Rule.META, lane_of(line), [])
            else:
                add = _HANDLERS.get(type(entry))
                if add is None:
                    self.board.show(index, ENTRY_RULES.get(type(entry), Rule.SYSTEM))
                else:
                    add(self, index, line, entry)

    def _is_metadata(self, index: int, entry: Any) -> bool:
        """Tell whether a line that calls itself so is for nobody to read.

        What stands in the user's place has rules of its own, results and calls belong together, and where a
        conversation was made shorter is always told.
        """
        if type(entry) in _NEVER_METADATA or index in self.calls.homes or has_call(list_blocks(entry)):
            return False
        return type(entry) is not AttachmentEntry or type(entry.attachment) is not QueuedCommand

    def _add_copy(self, index: int, first: int) -> None:
        self.board.fold(index, first, Rule.COPY)
        if type(self.board.lines[first].entry) is QueueOperation:
            self.is_entangled = True

    def _add_user(self, index: int, line: Line, entry: Any) -> None:
        role = role_of(line)
        if role is _TOOL_RESULT:
            self._take_result(index, entry)
        elif role is Role.SYSTEM:
            self.board.rules[index] = Rule.META
        elif role is Role.SUMMARY:
            draft = self.board.start(index, Rule.RECAP, lane_of(line), [MessageType.SUMMARY])
            draft.prompt = join_prompts(list_texts(entry))
        else:
            texts = list_texts(entry)
            self.queue.record(index, texts[0] if texts else "")
            self._take_prompt(index, line, join_prompts(texts))

    def _add_answer(self, index: int, line: Line, entry: Any) -> None:
        if index in self.calls.homes and find_stored_type(line) is StoredType.TOOL_USE:
            self.board.fold(index, self.calls.homes[index], Rule.COPY)
            return
        types = list_message_types(line)
        lane = lane_of(line)
        if getattr(entry, "subtype", None) == _RAN and not has_call(list_blocks(entry)):
            self.board.start(index, Rule.RAN_COMMAND, lane, types)
            return
        identity = entry.message.id
        draft = self._answers.get(lane, {}).get(identity) if type(identity) is str else None
        if type(getattr(entry, "supersedes_uuids", None)) is tuple:
            self.superseded += entry.supersedes_uuids
        if draft is None:
            if not types:
                self.board.rules[index] = Rule.EMPTY
                return
            if entry.message.model == _SYNTHETIC and content_text(entry.message.content) in _FILLERS:
                self.board.rules[index] = Rule.FILLER
                return
            draft = self.board.start(index, _ANSWER, lane, types)
            if type(identity) is str:
                self._answers.setdefault(lane, {})[identity] = draft
        else:
            self.board.join(index, draft, types)
        self._last_answer[lane] = draft
        self._last_command.pop(lane, None)
        if getattr(entry, "is_aborted_mid_stream", None) is True or getattr(entry, "is_aborted", None) is True:
            self.board.abort(draft)

    def _add_attachment(self, index: int, line: Line, entry: Any) -> None:
        carried = entry.attachment
        if type(carried) is QueuedCommand:
            text = content_text(carried.prompt)
            self.queue.record(index, text, within=True)
            self._take_prompt(index, line, read_prompt(text), queued=True)
            return
        rule = ATTACHMENT_RULES.get(type(carried), Rule.CONTEXT)
        about = carried.tool_use_id if type(carried) is HookSuccess else None
        home = self.calls.look_for(about) if type(about) is str else None
        if home is not None:
            self.board.fold(index, home, Rule.HOOK_RAN)
        else:
            self.board.show(index, rule)

    def _add_progress(self, index: int, line: Line, entry: Any) -> None:
        for name in ("parent_tool_use_id", "tool_use_id"):
            home = self.calls.look_for(getattr(entry, name, None) or "")
            if home is not None:
                self.board.fold(index, home, Rule.PROGRESS)
                return
        self.board.show(index, Rule.LONE_PROGRESS)

    def _add_notice(self, index: int, line: Line, entry: Any) -> None:
        if index in self.calls.homes:  # in spec 000 an error line is what became of a call
            self.board.fold(index, self.calls.homes[index], Rule.RESULT)
        else:
            self.board.show(index, Rule.SYSTEM)

    def _add_local_command(self, index: int, line: Line, entry: Any) -> None:
        self._take_prompt(index, line, read_prompt(content_text(entry.content)))

    def _add_hook_summary(self, index: int, line: Line, entry: Any) -> None:
        raised = bool(entry.hook_errors) or entry.prevented_continuation is True
        self.board.show(index, Rule.HOOK if raised else Rule.FOOTER)

    def _add_summary(self, index: int, line: Line, entry: Any) -> None:
        here = type(entry.leaf_uuid) is not str or self.index.look_for(entry.leaf_uuid) is not None
        self.board.show(index, Rule.SUMMARY if here else Rule.ELSEWHERE)

    def _add_queue_operation(self, index: int, line: Line, entry: Any) -> None:
        self.board.rules[index] = Rule.QUEUE
        self.queue.add(index, entry)

    def _add_refusal(self, index: int, line: Line, entry: Any) -> None:
        if type(entry.retracted_message_uuids) is tuple:
            self.superseded += entry.retracted_message_uuids
        self.board.show(index, Rule.SYSTEM)

    def _take_result(self, index: int, entry: AnyEntry) -> None:
        home = self.calls.homes.get(index)
        # What a line does itself has no other place to be shown.
        if home is None or home == index or (len(list_blocks(entry)) > 1 and list_texts(entry)):
            lane = lane_of(self.board.lines[index])
            self.board.start(index, Rule.LONE_RESULT, lane, [MessageType.TOOL_RESULT])
        else:
            self.board.fold(index, home, _RESULT)

    def _take_prompt(self, index: int, line: Line, prompt: Prompt, queued: bool = False) -> None:
        lane = lane_of(line)
        if prompt.kind in _OUTPUTS:
            command = self._last_command.get(lane)
            if command is not None:
                self.board.fold(index, command.first, Rule.OUTPUT)
            else:
                self.board.start(index, Rule.LONE_OUTPUT, lane, [MessageType.SYSTEM]).prompt = prompt
            return
        if prompt.kind in ENVELOPE_KINDS:
            self.board.rules[index] = Rule.CONTEXT
            return
        if not prompt.text.strip() and not list_blocks(line.entry):
            self.board.rules[index] = Rule.EMPTY
            return
        rule = PROMPT_RULES.get(prompt.kind, Rule.QUEUED if queued else Rule.PROMPT)
        draft = self.board.start(index, rule, lane, [prompt_type(rule)])
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
            self.board.abort(answer)


_HANDLERS: dict[type, Callable[[Gathering, int, Line, Any], None]] = {
    UserEntry: Gathering._add_user,
    UserMessage: Gathering._add_user,
    UserMessageReplay: Gathering._add_user,
    AssistantEntry: Gathering._add_answer,
    AssistantMessage: Gathering._add_answer,
    AttachmentEntry: Gathering._add_attachment,
    ProgressEntry: Gathering._add_progress,
    ToolProgressMessage: Gathering._add_progress,
    SystemNotice: Gathering._add_notice,
    LocalCommand: Gathering._add_local_command,
    StopHookSummary: Gathering._add_hook_summary,
    Summary: Gathering._add_summary,
    QueueOperation: Gathering._add_queue_operation,
    ModelRefusalFallback: Gathering._add_refusal,
}


def prompt_type(rule: Rule) -> MessageType:
    """Return how what stands in the user's place is shown."""
    if rule is Rule.RECAP:
        return MessageType.SUMMARY
    return MessageType.SYSTEM if rule in (Rule.NOTICE, Rule.INTERRUPTION) else MessageType.USER

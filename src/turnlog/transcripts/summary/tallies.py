"""How many prompts, answers and other things lines hold.

A prompt is what a person typed, or showed; slash commands and shell commands are counted apart, because most of
them ask nothing of the model. An answer is one `message.id`, however many lines it is on, a sub-agent's too;
what the program wrote in a model's place is none. Deleted lines are counted as such, and as nothing else.
"""

from __future__ import annotations

from turnlog.messages import Line
from turnlog.messages.attachments import QueuedCommand
from turnlog.messages.compaction import CompactionEntry, CompactionPhase
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, UserEntry
from turnlog.messages.media import TextBlock
from turnlog.messages.metadata import LastPrompt
from turnlog.messages.sdk import (
    ApiRetryMessage,
    AssistantMessage,
    CompactBoundaryMessage,
    UserMessage,
    UserMessageReplay,
)
from turnlog.messages.system import ApiErrorNotice, CompactBoundary
from turnlog.transcripts.lines.blocks import is_result
from turnlog.transcripts.lines.categories import Author, author_of
from turnlog.transcripts.lines.prompts import PROGRAM_KINDS, PromptKind, kind_of, list_prompt_texts, read_prompt
from turnlog.transcripts.summary.titles import shorten_title

_SYNTHETIC = "<synthetic>"
_LONGEST_PROMPT = 200
_AROUND = PROGRAM_KINDS | {PromptKind.CONTEXT}
_COUNTED = frozenset(  # asking a set is much faster than trying types one by one
    {
        ApiErrorNotice,
        ApiRetryMessage,
        AssistantMessage,
        AttachmentEntry,
        CompactBoundary,
        CompactBoundaryMessage,
        CompactionEntry,
        LastPrompt,
    }
)


class Tally:
    """What lines hold, so far."""

    def __init__(self) -> None:
        self.prompts = 0
        self.commands = 0
        self.shell_commands = 0
        self.compactions = 0
        self.api_errors = 0
        self.api_retries = 0
        self.interruptions = 0
        self.deleted = 0
        self.models: dict[str, None] = {}
        """In order of first use."""
        self._first_prompt = ""
        self._last_prompt = ""
        self._answers: set[str] = set()
        self._nameless = 0
        self._aborted: set[str] = set()

    def finish(self) -> None:
        """Let go of the names of answers: nothing comes any more."""
        self._nameless += len(self._answers)
        self._answers.clear()

    @property
    def answers(self) -> int:
        """How many answers there are."""
        return len(self._answers) + self._nameless

    @property
    def aborted(self) -> int:
        """How many messages were cut off."""
        return len(self._aborted)

    @property
    def first_prompt(self) -> str | None:
        """The first line of the first prompt, shortened."""
        return shorten_title(self.read_first_prompt(), _LONGEST_PROMPT) or None

    @property
    def last_prompt(self) -> str | None:
        """The first line of what was typed last, or of what the program says was."""
        return shorten_title(read_prompt(self._last_prompt).text, _LONGEST_PROMPT) or None

    def read_first_prompt(self) -> str:
        """Return all of the first prompt, without tags and envelopes; empty if there is none."""
        return read_prompt(self._first_prompt).text

    def add(self, line: Line) -> None:
        """Take the next line, unless it is a copy of one before."""
        entry = line.entry
        if getattr(entry, "is_deleted", None) is True:
            self.deleted += 1
        elif type(entry) is AssistantEntry:
            self._add_answer(entry, entry.is_api_error_message is True)
            if entry.is_aborted_mid_stream is True or entry.is_aborted is True:
                self._aborted.add(entry.message.id or entry.uuid or "")
        elif type(entry) is UserEntry or type(entry) is UserMessage or type(entry) is UserMessageReplay:
            self._add_prompt(line, entry.message.content)
        elif type(entry) in _COUNTED:
            self._count(line)

    def _count(self, line: Line) -> None:
        match line.entry:
            case AttachmentEntry(attachment=QueuedCommand(prompt=queued)):
                self._add_prompt(line, queued)
            case AssistantMessage() as entry:
                self._add_answer(entry, isinstance(entry.error, str))
                if entry.aborted is True:
                    self._aborted.add(entry.message.id or entry.uuid or "")
            case CompactBoundary() | CompactBoundaryMessage():
                self.compactions += 1
            case CompactionEntry(phase=CompactionPhase.COMPACTED):
                self.compactions += 1
            case ApiErrorNotice() | ApiRetryMessage():
                self.api_retries += 1
            case LastPrompt(last_prompt=str(text)) if text.strip():
                self._last_prompt = text

    def _add_answer(self, entry: AssistantEntry | AssistantMessage, failed: bool) -> None:
        message = entry.message
        if failed:
            self.api_errors += 1
        elif message.model != _SYNTHETIC:
            if message.model:
                self.models[message.model] = None
            key = message.id or entry.uuid
            if key:
                self._answers.add(key)
            else:
                self._nameless += 1

    def _add_prompt(self, line: Line, content: object) -> None:
        blocks = content if isinstance(content, tuple) else ()
        if len(blocks) == 1 and is_result(blocks[0]):
            return
        said = {text: kind_of(text) for text in list_prompt_texts(line.entry)}
        if PromptKind.INTERRUPTION in said.values():
            self.interruptions += 1
        if (said and all(kind in PROGRAM_KINDS for kind in said.values())) or not _is_human(line):
            return
        typed = {text: kind for text, kind in said.items() if kind not in _AROUND}
        if PromptKind.COMMAND in typed.values():
            self.commands += 1
        elif PromptKind.SHELL in typed.values():
            self.shell_commands += 1
        elif typed or any(type(block) is not TextBlock for block in blocks):
            self.prompts += 1
        self._last_prompt = next(iter(typed), self._last_prompt)
        self._first_prompt = self._first_prompt or next(iter(typed), "")


def _is_human(line: Line) -> bool:
    entry = line.entry
    meta = isinstance(entry, AttachmentEntry) and getattr(entry.attachment, "is_meta", None) is True
    return not meta and author_of(line) is Author.HUMAN

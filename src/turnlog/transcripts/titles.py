"""What to call a session.

The title that the person gave comes first, then the one that a model made, then an old `summary`, the session's
display name, and the first prompt that somebody typed. The rest are last resorts.

A `summary` names the leaf that it describes. Files of old begin with summaries of other sessions, whose leaves
stand in other files: such a one says nothing about this session, and is used only where there is nothing else.
Of several that belong here, the last counts; so it is with titles, and an empty one takes the title away.

A sub-agent's file has no prompt of a person's: what Claude asked the agent stands for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Any

from msgspec import Struct

from turnlog.messages import UNSET, Line, metadata
from turnlog.messages.attachments import QueuedCommand
from turnlog.messages.entries import AttachmentEntry, UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.sdk.messages import UserMessage, UserMessageReplay
from turnlog.transcripts.kinds import Role
from turnlog.transcripts.lines.content import Author, author_of, list_prompts, role_of
from turnlog.transcripts.lines.prompts import Prompt, PromptKind, read_prompt

_LONGEST = 100
_LONGEST_LOOK = 4000
_WARMUP = "Warmup"


class TitleSource(StrEnum):
    """Where a title comes from, the best first."""

    CUSTOM = "custom"
    AI = "ai"
    SUMMARY = "summary"
    AGENT_NAME = "agent-name"
    PROMPT = "prompt"
    """The first prompt of a person's."""
    LAST_PROMPT = "last-prompt"
    COMMAND = "command"
    """The first command without arguments, of a session that has nothing but such."""
    AGENT_PROMPT = "agent-prompt"
    """What Claude or another agent asked."""
    OTHER_SUMMARY = "other-summary"
    """The last summary, though it describes another session."""


class Title(Struct, frozen=True, gc=False):
    """What a session is called, on one line."""

    text: str
    source: TitleSource


class TitleFold:
    """The title of a session, as its lines come in."""

    def __init__(self, uuids: AbstractSet[str] | None = None) -> None:
        """Begin with nothing; `uuids` are those of the lines so far, where somebody else keeps them."""
        self._titles: dict[TitleSource, str] = {}
        self._summaries: dict[str | None, str] = {}  # by leaf, the last at the end
        self._own_uuids: set[str] | None = set() if uuids is None else None
        self._uuids = uuids
        self._last_prompt = ""
        self._has_prompt = False
        self._has_agent_prompt = False

    def add(self, line: Line) -> None:
        """Take the next line."""
        entry = line.entry
        add = _HANDLERS.get(type(entry))
        if add is not None:
            add(self, line)
        if self._own_uuids is not None:
            uuid = getattr(entry, "uuid", UNSET)
            if uuid is not UNSET:
                self._own_uuids.add(uuid)

    @property
    def title(self) -> Title | None:
        """The best title so far; None if there is nothing to call the session by."""
        told = self._titles | self._list_summaries()
        told[TitleSource.LAST_PROMPT] = _read_title([read_prompt(self._last_prompt)])[1]
        return next((Title(told[source], source) for source in TitleSource if told.get(source)), None)

    def _list_summaries(self) -> dict[TitleSource, str]:
        found: dict[TitleSource, str] = {}
        uuids = self._own_uuids if self._uuids is None else self._uuids
        for leaf, text in self._summaries.items():
            here = leaf is None or leaf in (uuids or ())
            found[TitleSource.SUMMARY if here else TitleSource.OTHER_SUMMARY] = text
        return found

    def _add_title(self, line: Line) -> None:
        source, name = _TITLES[type(line.entry)]
        self._titles[source] = clean_title(getattr(line.entry, name) or "")

    def _add_summary(self, line: Line) -> None:
        entry: Any = line.entry
        text = clean_title(entry.summary)
        if text:
            leaf = entry.leaf_uuid or None
            self._summaries.pop(leaf, None)
            self._summaries[leaf] = text

    def _add_last_prompt(self, line: Line) -> None:
        entry: Any = line.entry
        self._last_prompt = entry.last_prompt or self._last_prompt

    def _add_prompt(self, line: Line) -> None:
        entry = line.entry
        if self._has_prompt or (self._has_agent_prompt and getattr(entry, "is_sidechain", None) is True):
            return
        source, text = _read_title(list_prompts(entry)) if is_prompt(line) else (None, "")
        author = Author.SYSTEM if source is None else author_of(line)
        if source is None or author is Author.SYSTEM:
            return
        source = source if author is Author.HUMAN else TitleSource.AGENT_PROMPT
        self._titles.setdefault(source, text)
        self._has_prompt |= source is TitleSource.PROMPT
        self._has_agent_prompt |= source is TitleSource.AGENT_PROMPT


_TITLES = {
    metadata.CustomTitle: (TitleSource.CUSTOM, "custom_title"),
    metadata.AiTitle: (TitleSource.AI, "ai_title"),
    metadata.AgentName: (TitleSource.AGENT_NAME, "agent_name"),
}
_HANDLERS: dict[type, Callable[[TitleFold, Line], None]] = {
    **dict.fromkeys(_TITLES, TitleFold._add_title),
    metadata.Summary: TitleFold._add_summary,
    metadata.LastPrompt: TitleFold._add_last_prompt,
    UserEntry: TitleFold._add_prompt,
    UserMessage: TitleFold._add_prompt,
    UserMessageReplay: TitleFold._add_prompt,
    AttachmentEntry: TitleFold._add_prompt,
}
TITLE_TYPES = frozenset(_HANDLERS)
"""The entries that a title may come from. Others need not be added, if somebody else keeps the uuids."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-9:;<=>?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean_title(text: str) -> str:
    """Return a text on one line, without anything that a terminal would obey or a reader could not see."""
    if text.isprintable():
        return " ".join(text.split())
    text = _CONTROLS.sub(" ", _ESCAPES.sub("", text))
    return " ".join(_SURROGATES.sub("\ufffd", _INVISIBLE.sub("", text)).split())


def shorten_title(text: str, longest: int = _LONGEST) -> str:
    """Return the first line that says something, of at most `longest` characters, cut between words."""
    first = ""
    for line in text.lstrip()[:_LONGEST_LOOK].splitlines():
        words = clean_title(line)
        if any(map(str.isalnum, words)):
            return _cut(words, longest)
        first = first or words
    return _cut(first, longest)


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    end = text.rfind(" ", 0, longest)
    # A text without spaces, as in Chinese, has no better place.
    return text[: end if end > longest // 2 else longest - 1].rstrip(" ,;:.") + "…"


def is_prompt(line: Line) -> bool:
    """Tell whether a line stands for a prompt, whoever wrote it: no result, no meta line, not deleted."""
    entry = line.entry
    if isinstance(entry, Envelope) and entry.is_deleted is True:
        return False
    if isinstance(entry, AttachmentEntry) and isinstance(entry.attachment, QueuedCommand):
        return entry.attachment.is_meta is not True
    return role_of(line) is Role.USER


def _read_title(prompts: list[Prompt]) -> tuple[TitleSource | None, str]:
    """Return what a prompt makes a title of, if it does: what was typed, else a bare command."""
    command = ""
    for prompt in prompts:
        text = shorten_title(prompt.text)
        if prompt.kind is PromptKind.COMMAND and prompt.arguments is None:
            command = command or text
        elif prompt.kind is PromptKind.SHELL:
            command = command or f"! {text}"
        elif text and text != _WARMUP and prompt.kind in _TYPED:
            return TitleSource.PROMPT, text
    return (TitleSource.COMMAND, command) if command else (None, "")


_TYPED = frozenset({PromptKind.TYPED, PromptKind.COMMAND, PromptKind.TEAMMATE, PromptKind.MEMORY})

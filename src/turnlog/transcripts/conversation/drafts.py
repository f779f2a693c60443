"""Messages in the making, and the places of lines so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turnlog.messages import Line
from turnlog.messages.metadata import QueueOperation
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.conversation.placements import FATES, Fate, Rule
from turnlog.transcripts.lines.authors import is_sidechain
from turnlog.transcripts.lines.categories import MessageType, Role, list_message_types, role_of
from turnlog.transcripts.lines.prompts import Prompt

__all__ = ["Board", "Draft", "lane_of"]

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


class Draft:
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


class Board:
    """What becomes of each line, as far as it is known."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self.rules: list[Rule] = [Rule.SYSTEM] * len(lines)
        self.drafts: list[Draft] = []
        """In file order; one that has lost all its lines is none."""
        self.draft_of: dict[int, Draft] = {}
        self.folds: list[tuple[int, int]] = []
        """Lines that are folded into the message of another line."""

    def start(self, index: int, rule: Rule, lane: object, types: list[MessageType]) -> Draft:
        """Begin a message with a line."""
        draft = Draft(rule, index, lane, types)
        self.rules[index] = rule
        self.drafts.append(draft)
        self.draft_of[index] = draft
        if getattr(self.lines[index].entry, "is_aborted", None) is True:
            draft.aborted = True
        return draft

    def show(self, index: int, rule: Rule) -> None:
        """Give a line a place of its own, if its rule is to show it."""
        if FATES[rule] is not Fate.SHOWN:
            self.rules[index] = rule
            return
        line = self.lines[index]
        self.start(index, rule, lane_of(line), list_message_types(line))

    def fold(self, index: int, home: int, rule: Rule) -> None:
        """Put a line into the message of another, which need not have come yet."""
        self.rules[index] = rule
        self.folds.append((index, home))

    def settle_folds(self) -> None:
        """Put what was folded where it belongs; what belongs to something hidden is hidden with it."""
        for index, home in self.folds:
            draft = self.draft_of.get(home)
            if draft is None:
                self.rules[index] = self.rules[home]
            elif index not in self.draft_of:
                self.draft_of[index] = draft
                if draft.folded is None:
                    draft.folded = []
                draft.folded.append(index)

    def build_message(self, number: int, draft: Draft, made: Mapping[int, list[Call]]) -> Message:
        """Make a message of a draft; `made` are the calls of each line."""
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
        calls = [call for index in draft.lines for call in made.get(index, ())] if answer else []
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


def lane_of(line: Line) -> object:
    """Return whose conversation a line is in: None for the main one."""
    if getattr(line.entry, "is_sidechain", True) is not True or not is_sidechain(line):
        return None
    return getattr(line.entry, "agent_id", None) or getattr(line.entry, "parent_tool_use_id", None) or True


def _answer_role(types: tuple[MessageType, ...]) -> Role:
    return next((role for type_, role in _ROLES if type_ in types), Role.ASSISTANT)

"""Messages in the making, and the places of lines so far."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from turnlog.messages import Line
from turnlog.messages.metadata import QueueOperation
from turnlog.transcripts.conversation.call_places import CallPlaces
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.conversation.placements import FATES, Fate, Rule
from turnlog.transcripts.lines.categories import is_sidechain, list_message_types, role_of
from turnlog.transcripts.lines.kinds import MessageType, Role
from turnlog.transcripts.lines.prompts import Prompt

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


class Draft:
    """A message in the making: what was gathered for it, and what it is for now."""

    __slots__ = (
        "aborted", "first", "folded", "gathered", "gathered_types", "is_cut", "is_lone", "lane", "lines",
        "number", "prompt", "rule", "taken", "taker", "types",
    )  # fmt: skip

    def __init__(self, rule: Rule, line: int, lane: object, types: tuple[MessageType, ...]) -> None:
        self.rule = rule
        self.first = line
        """The line that began it, and by which messages are in order."""
        self.gathered = [line]
        """The lines that it is made of by itself."""
        self.lines = self.gathered
        """With the thinking that waited for it; none if it was itself handed to another."""
        self.lane = lane
        self.gathered_types = types
        self.types = types
        self.folded: list[int] | None = None
        self.prompt: Prompt | None = None
        self.aborted = False
        self.is_lone = False
        """Whether it is thinking that no answer followed so far."""
        self.is_cut = False
        """Whether lines of it were replaced by others."""
        self.taken: Draft | None = None
        """The thinking that was handed to it."""
        self.taker: Draft | None = None
        """The answer that it was handed to."""
        self.number: int | None = None
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


class Board:
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
        draft = Draft(rule, index, lane, _share(types))
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
        role = _answer_role(types) if answer else Role.USER if type(at.entry) is QueueOperation else role_of(at)
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
    if getattr(line.entry, "is_sidechain", True) is not True or not is_sidechain(line):
        return None
    return getattr(line.entry, "agent_id", None) or getattr(line.entry, "parent_tool_use_id", None) or True


def _answer_role(types: tuple[MessageType, ...]) -> Role:
    return next((role for type_, role in _ROLES if type_ in types), Role.ASSISTANT)

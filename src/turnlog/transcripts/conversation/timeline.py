"""From lines to messages: each line gets its place, and lines that belong together become one message.

File order is the order of messages. A message stands where its first line stands; lines that come later
(further blocks of the same `message.id`, results, progress) are folded into it. Some things can only be told
from what comes later, so lines are first gathered, then placed: thinking waits for its answer (spec 002 §2.1),
a result may come before its call, and a prompt may never leave the queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from turnlog.messages import Line
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.conversation.call_places import CallPlaces
from turnlog.transcripts.conversation.drafts import Board, Draft
from turnlog.transcripts.conversation.gathering import PROMPT_RULES, Gathering, prompt_type
from turnlog.transcripts.conversation.line_index import LineIndex
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.conversation.placements import Placement, Rule
from turnlog.transcripts.conversation.prompt_queue import PromptQueue
from turnlog.transcripts.lines.categories import MessageType
from turnlog.transcripts.lines.prompts import read_prompt

__all__ = ["Timeline", "build_timeline"]

_ENDS_THINKING = (Rule.PROMPT, Rule.COMMAND, Rule.INTERRUPTION, Rule.RECAP)
"""What comes between thinking and its answer."""
_UNSHOWN = {rule: Placement(rule) for rule in Rule}
_ANSWER, _LONE_THINKING, _THINKING = Rule.ANSWER, Rule.LONE_THINKING, MessageType.THINKING


class Timeline(Struct, frozen=True, gc=False):
    """The messages of some lines, and the place of each line."""

    messages: tuple[Message, ...]
    placements: tuple[Placement, ...]
    """One for each line."""


def build_timeline(lines: Sequence[Line], calls: Iterable[Call], index: LineIndex | None = None) -> Timeline:
    """Return the messages of all lines of a file; `calls` and `index` are those of the same lines."""
    index = index or LineIndex(lines)
    board, places = Board(lines), CallPlaces(calls, index)
    gathering = Gathering(board, places, index)
    gathering.gather()
    _settle_queue(board, gathering.queue)
    _settle_superseded(board, gathering.superseded, index)
    _settle_thinking(board)
    board.settle_folds()
    return _build(board, places)


def _settle_queue(board: Board, queue: PromptQueue) -> None:
    """Show what still waits, and what was delivered and stands nowhere else."""
    shown = [(*item, Rule.WAITING) for item in queue.list_waiting()]
    shown += [(*item, Rule.QUEUED) for item in queue.list_unrecorded()]
    for index, text, rule in shown:
        prompt = read_prompt(text)
        if prompt.text.strip():
            rule = PROMPT_RULES.get(prompt.kind, rule)
            board.start(index, rule, None, [prompt_type(rule)]).prompt = prompt
    if shown:
        board.drafts.sort(key=lambda draft: draft.lines[0])


def _settle_superseded(board: Board, superseded: Iterable[str], index: LineIndex) -> None:
    """Hide what other lines say that they replace."""
    for uuid in superseded:
        at = index.by_uuid.get(uuid)
        draft = None if at is None else board.draft_of.pop(at, None)
        if draft is None or at is None:
            continue
        board.rules[at] = Rule.SUPERSEDED
        if at in draft.lines:
            draft.lines.remove(at)
        if draft.lines:
            board.rules[draft.lines[0]] = draft.rule


def _settle_thinking(board: Board) -> None:
    """Hand thinking that stands alone to the next answer of its lane, if one comes before a prompt."""
    waiting: dict[object, Draft] = {}
    for draft in board.drafts:
        if draft.rule in _ENDS_THINKING:
            waiting.pop(draft.lane, None)
        elif draft.rule is _ANSWER and draft.lines:
            before = waiting.pop(draft.lane, None)
            if before is not None:
                _hand_over(board, before, draft)
            if draft.types.count(_THINKING) == len(draft.types):
                draft.rule = board.rules[draft.lines[0]] = _LONE_THINKING
                waiting[draft.lane] = draft


def _hand_over(board: Board, thinking: Draft, answer: Draft) -> None:
    for index in thinking.lines:
        board.rules[index] = Rule.THINKING
        board.draft_of[index] = answer
    answer.lines = thinking.lines + answer.lines
    answer.types = thinking.types + answer.types
    thinking.lines = []


def _build(board: Board, places: CallPlaces) -> Timeline:
    numbers: dict[int, int] = {}
    messages: list[Message] = []
    for draft in board.drafts:
        if draft.lines:
            numbers[id(draft)] = len(messages)
            messages.append(board.build_message(len(messages), draft, places.made))
    draft_of = board.draft_of
    placements = [
        Placement(rule, numbers[id(draft_of[index])]) if index in draft_of else _UNSHOWN[rule]
        for index, rule in enumerate(board.rules)
    ]
    return Timeline(tuple(messages), tuple(placements))

"""What can be told of messages only from what comes later, settled as often as lines come.

Messages are settled from one on: from there all is taken back that depends on what follows, and done again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from turnlog.transcripts.conversation.drafts import Board, Draft
from turnlog.transcripts.conversation.gathering import PROMPT_RULES, prompt_type
from turnlog.transcripts.conversation.line_index import LineIndex
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.conversation.prompt_queue import PromptQueue
from turnlog.transcripts.lines.kinds import MessageType
from turnlog.transcripts.lines.prompts import Prompt, read_prompt

_ENDS_THINKING = (Rule.PROMPT, Rule.COMMAND, Rule.INTERRUPTION, Rule.RECAP)
"""What comes between thinking and its answer."""
_ANSWER, _THINKING = Rule.ANSWER, MessageType.THINKING
_NOBODY: Mapping[object, Draft] = {}


class QueueSettler:
    """Shows what still waits in the queue, and what was delivered and stands nowhere else."""

    def __init__(self, board: Board, queue: PromptQueue) -> None:
        self._board = board
        self._queue = queue
        self._shown: dict[int, Rule] = {}
        self._vacated: list[int] = []

    def settle(self, low: int) -> int:
        """Show what is to be shown now; return from which draft on others stand there than before."""
        if not self._queue.has_changed:
            return low
        self._queue.has_changed = False
        wanted = self._list_wanted()
        changed = {at for at in self._shown.keys() | wanted.keys() if self._shown.get(at) != _rule(wanted, at)}
        if not changed:
            return low
        board = self._board
        low = min(low, board.find_place(min(changed)))
        board.drafts[low:] = [draft for draft in board.drafts[low:] if draft.first not in changed]
        for at in sorted(changed):
            board.draft_of[at] = None
            board.rules[at] = Rule.QUEUE
            if at in wanted:
                prompt, rule = wanted[at]
                board.start(at, rule, None, [prompt_type(rule)]).prompt = prompt
        board.drafts[low:] = sorted(board.drafts[low:], key=lambda draft: draft.first)
        self._vacated += changed
        self._shown = {at: rule for at, (_, rule) in wanted.items()}
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

    def __init__(self, board: Board) -> None:
        self._board = board
        self._before: list[Mapping[object, Draft]] = []
        """What waited before each draft, by lane."""
        self._waiting = _NOBODY
        """What waits behind the last."""

    def settle(self, low: int) -> int:
        """Settle all drafts from one on; return from which on any is another than before."""
        drafts = self._board.drafts
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
                    low = min(low, self._board.find_ordinal(thinking.find_origin()))
                if draft.types.count(_THINKING) == len(draft.types):
                    draft.is_lone = True
                    self._board.rules[draft.lines[0]] = Rule.LONE_THINKING
                    waiting = {**waiting, draft.lane: draft}
        self._waiting = waiting
        return low

    def _find_chains(self, low: int) -> int:
        """Return the first draft from which on none has thinking from one before."""
        at = len(self._board.drafts)
        while at > low:
            at -= 1
            taken = self._board.drafts[at].taken
            if taken is not None:
                low = min(low, self._board.find_ordinal(taken))
        return low

    def _reset(self, draft: Draft) -> None:
        if not (draft.is_lone or draft.taken or draft.taker):
            return
        draft.lines, draft.types = draft.gathered, draft.gathered_types
        draft.is_lone, draft.taken, draft.taker = False, None, None
        for line in draft.gathered:
            self._board.rules[line] = Rule.PART
        if draft.gathered:
            self._board.rules[draft.gathered[0]] = draft.rule

    def _hand_over(self, thinking: Draft, answer: Draft) -> None:
        for line in thinking.lines:
            self._board.rules[line] = Rule.THINKING
        answer.lines = thinking.lines + answer.gathered
        answer.types = thinking.types + answer.gathered_types
        answer.taken, thinking.taker = thinking, answer
        thinking.lines = []


def settle_superseded(board: Board, superseded: Iterable[str], index: LineIndex) -> None:
    """Hide what other lines say that they replace."""
    for uuid in superseded:
        at = index.look_for(uuid)
        draft = None if at is None else board.draft_of[at]
        if draft is None or at is None:
            continue
        board.draft_of[at] = None
        board.rules[at] = Rule.SUPERSEDED
        draft.is_cut = True
        if at in draft.gathered:
            draft.gathered.remove(at)
        if draft.gathered:
            board.rules[draft.gathered[0]] = draft.rule


def _rule(wanted: Mapping[int, tuple[Prompt, Rule]], at: int) -> Rule | None:
    return wanted[at][1] if at in wanted else None


def _without(waiting: Mapping[object, Draft], lane: object) -> Mapping[object, Draft]:
    if lane not in waiting:
        return waiting
    return {key: draft for key, draft in waiting.items() if key != lane}

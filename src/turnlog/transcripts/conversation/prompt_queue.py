"""The queue of prompts that are typed while Claude works.

A prompt enters it and leaves it again: taken out for a turn of its own, delivered within a turn, or taken back
by the person. What is delivered within a turn stands in the transcript as a queued command, but before version
2.1.90 it stood nowhere else: then the line that put it in is all there is to show.

Only newer versions say which prompt was delivered. Else it was the newest: what waits for a turn of its own
stays behind.
"""

from __future__ import annotations

from collections import Counter, OrderedDict

from turnlog.messages.metadata import QueueAction, QueueOperation
from turnlog.transcripts.lines.blocks import content_text


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
        text = content_text(entry.content).strip()
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

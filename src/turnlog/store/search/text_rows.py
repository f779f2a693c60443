"""The rows around a text, as an engine looks them up: its file and session, message, call, hook delivery."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from turnlog.store.search.hits import TextKey
from turnlog.transcripts.hooks.deliveries import HookDelivery

__all__ = ["HOOKS", "Call", "Chapter", "Delivery", "Message", "Proposed", "TextFacts", "TextRows"]

HOOKS = 0
"""The generation that texts of hook deliveries are said to be of."""


class Chapter(Struct, frozen=True, gc=False):
    """A file of lines, and the session that it is of."""

    number: int
    """Of its generation, for the engine."""
    generation: int
    source: int
    name: str
    agent_id: str | None
    session: int
    key: str
    names: tuple[str, ...]
    """Of the session: all of its ids."""
    session_id: str
    project: str | None
    title: str | None
    branches: tuple[str, ...] | None
    """All that its lines name, but for `HEAD`; None if that is not known."""
    person: str | None = None
    """Whose session it is."""
    machine: tuple[str, ...] = ()
    """The origin of its machine, and behind `load_chapters` what that calls itself."""


class Message(Struct, frozen=True, gc=False):
    """A message, or what there is of a line that belongs to none."""

    index: int | None = None
    id: str | None = None
    role: str | None = None
    category: str | None = None
    model: str | None = None
    agent_id: str | None = None
    is_sidechain: bool = False


class Call(Struct, frozen=True, gc=False):
    """A tool call."""

    index: int
    tool: str
    category: str | None
    path: str | None


class Delivery(Struct, frozen=True, gc=False):
    """A hook delivery, and the session that it is of, if that is known."""

    delivery_id: str
    session_id: str
    tool: str | None
    key: str | None
    project: str | None
    title: str | None
    person: str | None = None
    """Whose machine it comes from; where nobody said, whose the session is."""
    machine: tuple[str, ...] = ()
    """Its origin, and what that calls itself, if it may be known."""


class TextFacts(Protocol):
    """A text as an index knows it."""

    @property
    def number(self) -> int:
        """Of its line; of a hook delivery, its own."""

    @property
    def ordinal(self) -> int:
        """Which passage of the line it is."""

    @property
    def block(self) -> int:
        """Of which block of the line."""

    @property
    def kind(self) -> int:
        """Of `KINDS`."""

    @property
    def is_error(self) -> bool:
        """Whether it tells of one."""

    @property
    def time(self) -> int:
        """Microseconds since 1970; 0 if it has none."""


class Proposed(Protocol):
    """A text that an engine proposes."""

    @property
    def key(self) -> TextKey:
        """By which it is ordered."""

    @property
    def generation(self) -> int:
        """The engine's number of its file as it was read; `HOOKS` for hook deliveries."""

    @property
    def text(self) -> TextFacts:
        """What the index knows of it."""


class TextRows(Protocol):
    """Looks up the rows of one owner around texts."""

    def find_chapter(self, generation: int) -> Chapter | None:
        """Return the file that a generation is of; None if it is somebody else's."""

    def load_chapters(self) -> None:
        """Look up all files at once, for a query that asks for each where it is."""

    def find_line(self, generation: int, number: int) -> tuple[int, int, bool] | None:
        """Return where a line begins, how long it is, and whether it calls itself a sidechain's."""

    def find_message(self, chapter: Chapter, number: int) -> Message | None:
        """Return the message that a line belongs to."""

    def find_call(
        self, chapter: Chapter, kind: str, number: int, block: int, *, all_at_once: bool
    ) -> Call | None:
        """Return the call whose input or output a block is; `all_at_once` pays if most are asked for."""

    def list_agent_names(self, chapter: Chapter, agent_id: str | None) -> tuple[str, ...]:
        """Return the id and the type of an agent."""

    def is_seen(self, proposal: Proposed) -> bool:
        """Tell whether a text may be seen; of a file the index was told before."""

    def load_delivery(self, number: int) -> HookDelivery | None:
        """Return a hook delivery with its payload."""

    def find_delivery(self, number: int) -> Delivery | None:
        """Return a hook delivery, and the session that it is of."""

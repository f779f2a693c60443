"""What a scenario is made of: the program is started, told things and ended, and the model has replies."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID, uuid5

from real_program.stand_in_api import Reply

_IDS = UUID("7b5f3d62-6a0c-4c55-9d0e-0d6a3c6f9d11")


@dataclass(frozen=True)
class Say:
    """Give the program a prompt, and wait for the end of the turn."""

    prompt: str


@dataclass(frozen=True)
class Touch:
    """Make the file that something in the background waits for, and wait for the turn that it leads to."""

    file: str


@dataclass(frozen=True)
class SetModel:
    """Ask the program to go on with another model."""

    model: str


@dataclass(frozen=True)
class Interrupt:
    """Give a prompt, ask the program to stop once a sign has been seen, and wait for the end of the turn."""

    prompt: str
    sign: str
    """Text in the stream."""
    file: str | None = None
    """A file that has to be there, too."""


@dataclass(frozen=True)
class Stop:
    """Give a prompt, and end the program by a signal while a tool runs."""

    prompt: str
    sign: str
    """Text in a transcript: the program writes a little later than it acts."""
    file: str
    """A file that has to be there, too."""
    signal: signal.Signals


Step = Say | Touch | SetModel | Interrupt | Stop


@dataclass(frozen=True)
class Run:
    """One start of the program."""

    steps: tuple[Step, ...]
    session: Literal["new", "resumed", "forked"] = "new"
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """One recording."""

    name: str
    runs: tuple[Run, ...]
    replies: tuple[Reply, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What lies in the project's folder at first."""
    model: str = "claude-opus-5-5"

    @property
    def session_id(self) -> str:
        return str(uuid5(_IDS, self.name))

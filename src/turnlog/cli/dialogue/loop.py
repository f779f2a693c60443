"""What passes between the program that `turnlog run` wraps and the person at the terminal.

Everything is waited for in one place. Ctrl-C interrupts the turn, and pressed twice ends the program. All lines
of both directions are kept before anything is made of them. What is typed ahead is the next prompt, and never
the answer to a question that was not there yet.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack

import click

from turnlog.cli.dialogue.dialogue import Dialogue
from turnlog.cli.dialogue.display import Display
from turnlog.cli.dialogue.program import Program
from turnlog.cli.terminal import clean
from turnlog.ingest.capture.stream import StreamCapture
from turnlog.messages import decode

_PIECE = 1 << 16
GRACE = 5.0
"""How long the program has to end by itself, and background work to lead to another turn."""
_LONGEST_WAIT = 1.0
_ENOUGH = 2
"""How often somebody presses Ctrl-C who means the program, and not the turn."""


class Loop:
    """One run of a program."""

    def __init__(
        self,
        program: Program,
        dialogue: Dialogue,
        display: Display,
        capture: StreamCapture,
        *,
        typing: int | None,
        copy: Callable[[bytes], None] | None = None,
    ) -> None:
        """Take the program, and the terminal where somebody types, if anybody does.

        `copy` takes the program's lines as they are.
        """
        self._program = program
        self._dialogue = dialogue
        self._display = display
        self._capture = capture
        self._typing = typing
        self._copy = copy
        self._typed = b""
        self._ahead: deque[str] = deque()
        self._is_single = typing is None
        self._is_asking = False
        self._had_tasks = False
        self._interrupts = 0
        self._turns = 0
        self._due: float | None = None
        """When the program is to be told that nothing more comes."""
        self._ends: float | None = None
        """When it is ended by force."""

    @property
    def lost(self) -> list[str]:
        """What was said or typed, and not answered."""
        return [*self._dialogue.unanswered, *self._ahead]

    def run(self, prompt: str | None) -> int:
        """Say a prompt, or what is typed, until there is no more to say; return the program's exit status."""
        if prompt is not None:
            self._is_single = True
            self._ahead.append(prompt)
        with ExitStack() as ending:
            wakeup = _catch_signals(ending)
            try:
                self._dialogue.start(time.monotonic())
                self._go_on(wakeup)
            finally:
                self._dialogue.close()
                self._program.wait()
                self._display.end_line()
                self._capture.finish()
        return self._program.status

    def _go_on(self, wakeup: int) -> None:
        program = self._program
        open_ = {program.out, program.err}
        while program.out in open_:
            self._do_what_is_due(time.monotonic())
            self._flush()
            typing = self._typing if self._wants_input() else None
            asked = [*open_, wakeup, *([] if typing is None else [typing])]
            ready, _, _ = select.select(asked, [], [], _LONGEST_WAIT)
            if wakeup in ready:
                self._note_signals(os.read(wakeup, 64))
            for file in open_ & {*ready}:
                lines, is_open = program.read(file)
                self._take_lines(lines, file)
                open_ -= set() if is_open else {file}
            if typing is not None and typing in ready:
                self._take_typed(os.read(typing, _PIECE))
            self._flush()

    def _do_what_is_due(self, now: float) -> None:
        dialogue = self._dialogue
        dialogue.expire(now)
        if dialogue.ended_turns != self._turns:
            self._turns, self._interrupts = dialogue.ended_turns, 0
        if dialogue.failure is not None:
            self._close(now)
        if self._ends is not None and now >= self._ends:
            self._program.kill()
        if self._ends is None and dialogue.is_ready and not dialogue.is_busy and not dialogue.is_waiting:
            if self._ahead:
                self._say(self._ahead.popleft(), now)
            elif self._is_single:
                self._find_end(now)
            elif not self._is_asking:
                self._is_asking = True
                self._display.ask("> ")

    def _find_end(self, now: float) -> None:
        """End when all is done; what works in the background may lead to another turn."""
        if self._dialogue.tasks:
            self._had_tasks, self._due = True, None
            return
        is_certain = not self._had_tasks or self._dialogue.is_idle
        self._due = self._due or now + (0.0 if is_certain else GRACE)
        if now >= self._due:
            self._close(now)

    def _wants_input(self) -> bool:
        return self._ends is None and (self._dialogue.question is not None or self._is_asking)

    def _say(self, said: str, now: float) -> None:
        self._is_asking = False
        self._interrupts = 0
        self._due = None
        if not self._dialogue.command(said, now):
            self._dialogue.say(said)

    def _take_typed(self, typed: bytes) -> None:
        self._interrupts = 0
        self._display.note_typed(typed)
        if not typed:  # Ctrl-D
            self._display.end_line()
            self._close(time.monotonic())
            return
        for said in self._split(typed):
            if self._dialogue.question is not None:
                self._dialogue.answer(said)
            elif said.strip():
                self._ahead.append(said)
            else:
                self._is_asking = False

    def _take_typed_ahead(self) -> None:
        """Take what was typed before a question is asked, so that it does not answer it."""
        if self._typing is None or not self._dialogue.is_busy or self._dialogue.question is not None:
            return
        if select.select([self._typing], [], [], 0)[0]:
            self._ahead.extend(said for said in self._split(os.read(self._typing, _PIECE)) if said.strip())

    def _split(self, typed: bytes) -> list[str]:
        *lines, self._typed = (self._typed + typed).split(b"\n")
        return [line.decode("utf-8", "replace") for line in lines]

    def _take_lines(self, lines: list[bytes], file: int) -> None:
        if file == self._program.err:
            self._display.end_line()
            click.echo(clean(b"".join(lines).decode("utf-8", "backslashreplace")), nl=False, err=True)
            return
        self._capture.feed(lines)
        for line in lines:
            if self._copy is not None:
                self._copy(line)
            self._take_typed_ahead()
            self._dialogue.receive(decode(line.rstrip(b"\r\n")))

    def _flush(self) -> None:
        """Send what is to be sent, once it is kept."""
        frames, self._dialogue.outgoing = self._dialogue.outgoing, []
        self._capture.feed(frames)
        for frame in frames:
            self._program.send(frame)

    def _close(self, now: float) -> None:
        """Tell the program that nothing more comes; it is ended by force if it takes too long."""
        if self._ends is None:
            self._program.close_input()
            self._ends = now + GRACE

    def _note_signals(self, numbers: bytes) -> None:
        now = time.monotonic()
        self._interrupts += numbers.count(signal.SIGINT) + _ENOUGH * numbers.count(signal.SIGTERM)
        if self._interrupts >= _ENOUGH:
            self._display.tell("ending the program")
            self._program.terminate()
            self._close(now)
        elif self._interrupts and self._dialogue.is_busy:
            self._display.tell("interrupting; Ctrl-C again ends the program")
            self._dialogue.interrupt(now)
        elif self._interrupts:
            self._display.tell("Ctrl-C again or Ctrl-D ends the program")
            self._is_asking = False


def _catch_signals(ending: ExitStack) -> int:
    """Have signals come as bytes of a pipe until the end, and return where it is read."""
    reading, writing = os.pipe()
    ending.callback(os.close, reading)
    ending.callback(os.close, writing)
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    ending.callback(signal.set_wakeup_fd, before)
    for number in (signal.SIGINT, signal.SIGTERM):
        ending.callback(signal.signal, number, signal.signal(number, lambda *_: None))
    return reading

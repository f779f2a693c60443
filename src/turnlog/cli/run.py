"""`turnlog run`: start Claude Code, show its turns as they happen, and keep them.

The program is started as the Agent SDK does it, unless it was told otherwise, and is written to without ever
waiting for it. What it says and what the person says meet in one loop (`Loop`); what to make of either is the
dialogue's (`run_dialogue`).
"""

from __future__ import annotations

import os
import queue
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import click
from msgspec import Struct
from rich.console import Console

from turnlog.cli.ingest import archive_captured
from turnlog.cli.output import Output, output_options
from turnlog.cli.run_dialogue import Dialogue, Display
from turnlog.cli.terminal import MisuseError, clean, warn
from turnlog.config import Settings
from turnlog.ingest.capture import StreamCapture
from turnlog.messages import decode
from turnlog.transcripts.session_files import project_folder_name

_STREAM = "stream-json"
_FORMATS = ("--output-format", "--input-format")
_FLAGS = ("--verbose", "--include-partial-messages")
_PERMISSIONS = "--permission-prompt-tool"
_PRINT = ("-p", "--print")


class LaunchPlan(Struct, frozen=True):
    """A program, its arguments, and its first prompt."""

    command: tuple[str, ...]
    prompt: str | None


def plan_launch(given: Sequence[str], prompt: str | None) -> LaunchPlan:
    """Return how to start a program; a prompt among its own arguments is taken out, and said over the stream.

    Raises `MisuseError` for what cannot be wrapped.
    """
    name, *rest = given or ("claude",)
    found = shutil.which(name)
    if found is None:
        raise MisuseError(
            f"{name}: no such program; install Claude Code, or give its path: turnlog run -- PATH"
        )
    rest, own = _take_prompt(rest)
    if prompt is not None and own is not None:
        raise MisuseError("two prompts were given: one to turnlog, one to the program")
    for option in _FORMATS:
        value = _find_value(rest, option)
        if value not in (None, _STREAM):
            raise MisuseError(f"`turnlog run` needs {option} {_STREAM}, got {value}")
        rest += [] if value else [option, _STREAM]
    rest += [flag for flag in _FLAGS if flag not in rest]
    rest += [] if _find_value(rest, _PERMISSIONS) else [_PERMISSIONS, "stdio"]
    return LaunchPlan((found, *rest), prompt if own is None else own)


def _take_prompt(arguments: list[str]) -> tuple[list[str], str | None]:
    """Take `-p PROMPT` out: with a stream as its input, the program takes prompts from nowhere else."""
    for index, argument in enumerate(arguments):
        if argument in _PRINT:
            behind = arguments[index + 1 : index + 2]
            taken = [each for each in behind if not each.startswith("-")]
            rest = arguments[:index] + arguments[index + 1 + len(taken) :]
            return rest, taken[0] if taken else None
    return arguments, None


def _find_value(arguments: Sequence[str], option: str) -> str | None:
    for index, argument in enumerate(arguments):
        if argument == option:
            return "".join(arguments[index + 1 : index + 2])
        if argument.startswith(f"{option}="):
            return argument.removeprefix(f"{option}=")
    return None


_PIECE = 1 << 16


class Program:
    """A process in a session of its own, so that Ctrl-C does not reach it."""

    def __init__(self, command: Sequence[str], patience: float) -> None:
        """Start it; raises `OSError`. `patience` is how long it may take to end by itself."""
        self._patience = patience
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.out, self.err = self._process.stdout.fileno(), self._process.stderr.fileno()
        self._rests = {self.out: b"", self.err: b""}
        self._writing: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._write, daemon=True).start()

    @property
    def status(self) -> int:
        """How it ended, as a shell tells it."""
        code = self._process.returncode
        return 128 - code if code < 0 else code

    def send(self, frame: bytes) -> None:
        """Write to it when it reads."""
        self._writing.put(frame)

    def close_input(self) -> None:
        """Tell it that nothing more comes."""
        self._writing.put(None)

    def read(self, file: int) -> tuple[list[bytes], bool]:
        """Return the lines that are there, and whether more may come."""
        piece = os.read(file, _PIECE)
        *lines, rest = (self._rests[file] + piece).split(b"\n")
        if not piece and rest:
            lines, rest = [rest], b""
        self._rests[file] = rest
        return [line + b"\n" for line in lines], bool(piece)

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End it."""
        self._process.kill()

    def wait(self) -> None:
        """Wait until it has ended, and see to that if it takes too long."""
        self.close_input()
        try:
            self._process.wait(self._patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _write(self) -> None:
        assert self._process.stdin is not None
        try:
            while (frame := self._writing.get()) is not None:
                self._process.stdin.write(frame)
                self._process.stdin.flush()
            self._process.stdin.close()
        except OSError:
            return  # it is gone, which its output tells


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
    def unanswered(self) -> list[str]:
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
            self._run_due_actions(time.monotonic())
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

    def _run_due_actions(self, now: float) -> None:
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
            self._display.print_line("ending the program")
            self._program.terminate()
            self._close(now)
        elif self._interrupts and self._dialogue.is_busy:
            self._display.print_line("interrupting; Ctrl-C again ends the program")
            self._dialogue.interrupt(now)
        elif self._interrupts:
            self._display.print_line("Ctrl-C again or Ctrl-D ends the program")
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


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-p", "--prompt", metavar="PROMPT", help="Send this prompt, and end when it is done.")
@click.option("--thinking", is_flag=True, help="Show thinking, too.")
@output_options()
@click.argument("program", metavar="[-- PROGRAM [ARGUMENT]...]", nargs=-1, type=click.UNPROCESSED)
def run_command(prompt: str | None, thinking: bool, output: Output, program: tuple[str, ...]) -> None:
    """Run Claude Code, show its turns and archive them.

    turnlog exchanges stream messages with the program, and keeps every line of both sides. When a tool needs
    permission, you are asked; without a terminal, the answer is no. With --json, the program's own lines are
    printed. The exit status is that of the program.

    Examples:
      turnlog run                                     a conversation with `claude`
      turnlog run -- claude --model opus              with options for `claude`
      turnlog run -p "Fix the tests" -- claude        one turn, for scripts

    At the prompt:
      /model NAME      change the model               /mode NAME   change the permission mode
      Ctrl-C           interrupt the turn; press it twice to end the program        Ctrl-D   end it
    """
    if os.name == "nt":
        raise MisuseError("`turnlog run` needs Linux or macOS")
    settings = Settings.from_env()
    start = plan_launch(program, prompt)
    typing = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
    said = start.prompt
    if said is None and typing is None:
        said = sys.stdin.read() if sys.stdin is not None else ""
    stream = sys.stderr if output.as_json else sys.stdout
    console = Console(
        file=stream,
        markup=False,
        emoji=False,
        highlight=False,
        force_terminal=output.has_color,
        color_system="standard" if output.has_color else None,
        width=output.width,
    )
    display = Display(console, thinking=thinking)
    dialogue = Dialogue(display, attended=typing is not None)
    capture = StreamCapture(settings.captured_dir, folder=project_folder_name(os.path.realpath(os.curdir)))
    copy = (lambda line: output.print_bytes([line])) if output.as_json else None
    loop = Loop(Program(start.command, GRACE), dialogue, display, capture, typing=typing, copy=copy)
    status = loop.run(said)
    if dialogue.failure is not None:
        warn(f"could not communicate with the program: {dialogue.failure}")
    for text in loop.unanswered:
        warn(f"this was not answered: {clean(text)}")
    archive_captured(settings, capture.captured)
    raise click.exceptions.Exit(status)

"""`turnlog run`: wrap the program, show its turns as they happen, and keep them."""

from __future__ import annotations

import os
import sys

import click
from rich.console import Console

from turnlog.cli.capture_ending import archive_captured
from turnlog.cli.dialogue.arguments import plan_start
from turnlog.cli.dialogue.dialogue import Dialogue
from turnlog.cli.dialogue.display import Display
from turnlog.cli.dialogue.loop import GRACE, Loop
from turnlog.cli.dialogue.program import Program
from turnlog.cli.failures import MisuseError
from turnlog.cli.files import warn
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.terminal import clean
from turnlog.config import Settings
from turnlog.ingest.capture.stream import StreamCapture
from turnlog.transcripts.files.session_files import project_folder_name


@click.command(
    "run",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="""\b
Examples:
  turnlog run                                     a conversation with `claude`
  turnlog run -- claude --model opus              with options for `claude`
  turnlog run -p "Fix the tests" -- claude        one turn, for scripts
\b
At the prompt:
  /model NAME      change the model               /mode NAME   change the permission mode
  Ctrl-C           interrupt the turn; press it twice to end the program        Ctrl-D   end it
""",
)
@click.option("-p", "--prompt", metavar="PROMPT", help="Send this prompt, and end when it is done.")
@click.option("--thinking", is_flag=True, help="Show thinking, too.")
@json_option
@color_option
@click.argument("program", metavar="[-- PROGRAM [ARGUMENT]...]", nargs=-1, type=click.UNPROCESSED)
def command(
    prompt: str | None, thinking: bool, as_json: bool, color: bool | None, program: tuple[str, ...]
) -> None:
    """Run Claude Code, show its turns as they happen, and archive them.

    turnlog exchanges stream messages with the program, and keeps every line of both sides. When a tool needs
    permission, you are asked; without a terminal, the answer is no. With --json, the program's own lines are
    printed. The exit status is that of the program.
    """
    if os.name == "nt":
        raise MisuseError("`turnlog run` needs Linux or macOS")
    settings = Settings.from_env()
    start = plan_start(program, prompt)
    typing = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
    said = start.prompt
    if said is None and typing is None:
        said = sys.stdin.read() if sys.stdin is not None else ""
    output = Output(settings, color, pager=False)
    stream = sys.stderr if as_json else sys.stdout
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
    copy = (lambda line: output.print_bytes([line])) if as_json else None
    loop = Loop(Program(start.command, GRACE), dialogue, display, capture, typing=typing, copy=copy)
    status = loop.run(said)
    if dialogue.failure is not None:
        warn(f"could not communicate with the program: {dialogue.failure}")
    for text in loop.lost:
        warn(f"this was not answered: {clean(text)}")
    archive_captured(settings, capture.captured)
    raise click.exceptions.Exit(status)

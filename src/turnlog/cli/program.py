"""The command `turnlog`: its subcommands, and what becomes of errors.

A subcommand's module is imported when it runs or is asked for help, so that `turnlog --help` and completion
need click alone. For that the first sentence of each one's help stands here, too.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import cleandoc
from types import MappingProxyType
from typing import NoReturn

import click
from click.shell_completion import CompletionItem, shell_complete

from turnlog.cli.terminal import INTERRUPTED, MISUSE, NOBODY_READS, clean_line, describe_os_error
from turnlog.errors import TurnlogError

NAME = "turnlog"
COMPLETE = "_TURNLOG_COMPLETE"

SECTIONS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "Archive": {
            "sync": "Archive every byte of every session, for good.",
            "run": "Run Claude Code, show its turns and archive them.",
            "ingest": "Archive a stream of Claude Code as a session, as it arrives.",
            "hooks": "Have Claude Code report events as they happen.",
            "service": "Keep `turnlog sync --watch` running in the background.",
            "push": "Keep a server up to date with the sessions of this machine.",
        },
        "Find and read": {
            "serve": "Show all sessions in the browser, updated live.",
            "sessions": "List archived sessions.",
            "projects": "List archived projects, and what they used.",
            "search": "Search prompts, answers, thinking, tool calls and hooks.",
            "show": "Show a session as a readable conversation.",
            "usage": "Count tokens and cost, each answer once.",
            "status": "Show what is archived, and how much exists only there.",
            "statusline": "Print one line for Claude Code's status line.",
            "blame": "Show which session wrote each line of a file.",
            "mark": "Give sessions names, tags, stars and notes of your own.",
        },
        "Share": {
            "export": "Export sessions to read, to share, or as they were.",
            "mcp": "Let other programs read the archive over MCP.",
            "share": "Set who sees single sessions: the team, or only their owner.",
            "rules": "Set who sees the sessions of a whole project.",
            "links": "Share sessions with anybody, through links that expire.",
        },
        "Teams": {
            "users": "Add people to a team's archive, and set what they may do.",
            "tokens": "Create and revoke access tokens for people and machines.",
            "machines": "List machines, and say who owns them.",
            "audit": "List who looked at whose sessions, and who changed what.",
        },
        "Maintenance": {
            "verify": "Derive everything again from the bytes, and compare.",
            "backup": "Copy the archive into one file, even while it is in use.",
            "restore": "Put a deleted session back where it was.",
            "forget": "Remove sessions from the archive, for good.",
            "prune": "Remove all sessions that match, for good.",
            "upgrade": "Upgrade an archive of an earlier version.",
            "blobs": "Move bytes and segments from the database to blobs.",
            "reindex": "Build the index of texts and usage anew.",
            "validate": "Check session files against the rules of their dialects.",
            "migrate": "Correct stored tool messages that have the wrong parents.",
            "notify": "Test the notifications for sessions that wait or end.",
            "doctor": "Check this machine for problems with turnlog.",
            "completion": "Print the completion script for a shell.",
        },
    }
)
"""What each command does. It is the object `show_command`, and so on, of the module of its own name."""
COMMANDS: Mapping[str, str] = MappingProxyType(
    {name: text for section in SECTIONS.values() for name, text in section.items()}
)

_MODULES: Mapping[str, str] = MappingProxyType(
    {
        "push": "service",
        "notify": "doctor",
        "projects": "sessions",
        "mark": "sessions",
        "validate": "validation",
        "migrate": "validation",
        "mcp": "search",
        "users": "people",
        "tokens": "people",
        "machines": "people",
        "rules": "sharing",
        "share": "sharing",
        "links": "sharing",
        "audit": "sharing",
        "restore": "maintenance",
        "forget": "maintenance",
        "prune": "maintenance",
        "backup": "maintenance",
        "verify": "maintenance",
        "upgrade": "maintenance",
        "blobs": "maintenance",
        "reindex": "maintenance",
    }
)
"""Where the other commands are."""


class Program(click.Group):
    """Commands that are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"turnlog.cli.{_MODULES.get(cmd_name, cmd_name)}")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)
        text, has_examples, examples = cleandoc(command.help or "").partition("\n\nExamples:\n")
        if has_examples:  # they come after the options, with each line as it stands
            parts = f"Examples:\n{examples}".split("\n\n")
            command.help, command.epilog = text, "\n\n".join(f"\b\n{part}" for part in parts)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        width = max(map(len, COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command without importing any."""
        names = (name for name in COMMANDS if name.startswith(incomplete))
        items = [CompletionItem(name, help=COMMANDS[name]) for name in names]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(
    NAME,
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 done, 1 found problems or nothing, 2 misuse.",
)
@click.version_option(package_name=NAME, message="%(prog)s %(version)s")
def program() -> None:
    """Keep, find, read and count what Claude Code did."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line, and exit with its status."""
    gc.set_threshold(100_000)  # what a command reads lives as long as the command
    atexit.register(gc.freeze)  # and goes with the process: looking through it once more would take 12 ms
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show ✓ is no reason to fail
    sys.exit(run(list(sys.argv[1:] if args is None else args)))


def run(args: list[str]) -> int:
    """Run a command, say what is wrong in a line, and return its status."""
    try:
        if COMPLETE in os.environ:
            return shell_complete(program, {}, NAME, COMPLETE, os.environ[COMPLETE])
        with program.make_context(NAME, args) as context:
            program.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # What is still buffered goes nowhere, or Python would complain about it while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return NOBODY_READS
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else NAME
        return _complain(f"{error.format_message().rstrip('.')} (see `{path} --help`)", error.exit_code)
    except click.ClickException as error:
        return _complain(error.format_message(), error.exit_code)
    except OSError as error:
        return _complain(describe_os_error(error), MISUSE)
    except TurnlogError as error:
        return _complain(str(error), MISUSE)
    return 0


def _complain(message: str, status: int) -> int:
    click.echo(f"{NAME}: {clean_line(message)}", err=True)
    return status

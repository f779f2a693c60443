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
from types import MappingProxyType
from typing import NoReturn

import click
from click.shell_completion import CompletionItem, shell_complete

from turnlog.cli.terminal import INTERRUPTED, MISUSE, NOBODY_READS, clean_line, explain
from turnlog.errors import TurnlogError

NAME = "turnlog"
COMPLETE = "_TURNLOG_COMPLETE"

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "sync": "Keep what Claude Code wrote: every byte of every session, for good.",
        "run": "Run Claude Code, show its turns as they happen, and archive them.",
        "ingest": "Keep a stream of Claude Code (`--output-format stream-json`) as a session, as it arrives.",
        "serve": "Show all sessions in the browser, updated live.",
        "status": "Show what is archived, and how much of it exists only there.",
        "push": "Keep a server up to date with the sessions of this machine.",
        "service": "Keep `turnlog sync --watch` running, so that nothing is deleted before it is archived.",
        "hooks": "Have Claude Code report events to turnlog as they happen.",
        "notify": "Test the notifications for sessions that wait or end.",
        "sessions": "List archived sessions.",
        "projects": "List archived projects: their sessions, when they ran, and what they used.",
        "search": "Search prompts, answers, thinking, tool inputs and outputs, titles and hooks.",
        "show": "Show a session as a readable conversation.",
        "mark": "Mark sessions with your own names, tags, stars and notes.",
        "usage": "Count tokens and cost, each answer once.",
        "statusline": "Print one line for Claude Code's status line, from its JSON on standard input.",
        "validate": "Check session files against the rules of their dialects.",
        "migrate": "Correct stored tool messages that have the wrong parents.",
        "blame": "Show which session wrote each line of a file.",
        "export": "Export sessions as files: to read, to share, or as they were.",
        "mcp": "Let other programs read the archive over MCP.",
        "users": "Add people to a team's archive, and set what they may do.",
        "tokens": "Create and revoke access tokens for people and machines.",
        "machines": "List the machines that sessions come from, and say who owns them.",
        "rules": "Set who sees the sessions of a whole project.",
        "share": "Set who sees sessions: the team, or only their owner and admins.",
        "links": "Share single sessions with people without an account, through links that expire.",
        "audit": "List who looked at whose sessions, and who changed what.",
        "restore": "Put a deleted session back where it was.",
        "forget": "Forget sessions: remove them from the archive, for good.",
        "prune": "Forget all sessions that match, as `turnlog forget` does.",
        "backup": "Copy the archive into one file, even while it is in use.",
        "verify": "Derive everything again from the archived bytes, and list what disagrees.",
        "upgrade": "Upgrade an archive of an earlier version, from what it has itself.",
        "doctor": "Check this machine for problems with turnlog.",
        "completion": "Print the completion script for a shell.",
    }
)
"""What each command does. It is the object `show_command`, and so on, of the module of its own name."""

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
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

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
    """Show, check and count what Claude Code did.

    turnlog reads session files as Claude Code writes them, its older forms, and the SDK's stream.
    """


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line, and exit with its status."""
    gc.set_threshold(100_000)  # what a command reads lives as long as the command
    atexit.register(gc.freeze)  # and goes with the process: looking through it once more would take 12 ms
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show ✓ is no reason to fail
    sys.exit(_run(list(sys.argv[1:] if args is None else args)))


def _run(args: list[str]) -> int:
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
        return _complain(explain(error), MISUSE)
    except TurnlogError as error:
        return _complain(str(error), MISUSE)
    return 0


def _complain(message: str, status: int) -> int:
    click.echo(f"{NAME}: {clean_line(message)}", err=True)
    return status

"""How the program is started that `turnlog run` wraps: as the Agent SDK does, unless it was told otherwise."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from msgspec import Struct

from turnlog.cli.failures import MisuseError

_STREAM = "stream-json"
_FORMATS = ("--output-format", "--input-format")
_FLAGS = ("--verbose", "--include-partial-messages")
_PERMISSIONS = "--permission-prompt-tool"
_PRINT = ("-p", "--print")


class Start(Struct, frozen=True):
    """A program, its arguments, and what it is told first."""

    command: tuple[str, ...]
    prompt: str | None


def plan_start(given: Sequence[str], prompt: str | None) -> Start:
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
    return Start((found, *rest), prompt if own is None else own)


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

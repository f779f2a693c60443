"""What can go wrong between a person and the command line: one clear line, and an exit status.

0 done · 1 found problems, or nothing · 2 misuse · 130 interrupted · 141 nobody reads on
"""

from __future__ import annotations

import os
from typing import Final

import click

FOUND_PROBLEMS: Final = 1
MISUSE: Final = 2
INTERRUPTED: Final = 130
NOBODY_READS: Final = 141


class MisuseError(click.ClickException):
    """A command was asked for what cannot be done."""

    exit_code = MISUSE


class NothingFoundError(click.ClickException):
    """A command looked where it was told to, and there was nothing of its kind."""

    exit_code = FOUND_PROBLEMS


def explain(error: OSError) -> str:
    """Return what the system says about a file, in a line."""
    reason = error.strerror or str(error) or type(error).__name__
    return reason if error.filename is None else f"{os.fsdecode(error.filename)}: {reason}"

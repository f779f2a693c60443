"""The command line: `turnlog --help`."""

from turnlog.cli.program import main

__all__ = ["main"]

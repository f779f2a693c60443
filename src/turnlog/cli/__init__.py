"""The command line: `turnlog --help`."""

from turnlog.cli.program import main as main

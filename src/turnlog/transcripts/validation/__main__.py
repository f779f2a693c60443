"""Prints the table of all rules, as docs/rules.md holds it."""

from __future__ import annotations

import sys

from turnlog.transcripts.validation.validator import render_table

if __name__ == "__main__":
    sys.stdout.write(render_table())

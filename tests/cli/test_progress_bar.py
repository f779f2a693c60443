"""What takes long says so on a terminal, and nothing in a pipe."""

from __future__ import annotations

import subprocess
import sys

import pytest

from command_line import environment, show_in_terminal
from turnlog.cli.output import PATIENCE

SLOW = f"""
import time
from turnlog.cli.output import track, show_progress
for item in track([1, 2, 3, 4], "Counting \\x1b]0;owned\\x07 [bold]teas", 4):
    time.sleep({PATIENCE} / 3)
with show_progress("Steeping") as report:
    time.sleep({PATIENCE} * 1.2)
    report(1, 2)
    time.sleep(0.3)
"""
QUICK = f"""
import time
from turnlog.cli.output import track, show_progress
list(track([1, 2], "Counting", 2))
with show_progress("Steeping"):
    time.sleep({PATIENCE} / 10)
"""


def show(script: str) -> str:
    shown = show_in_terminal(command=(sys.executable, "-c", script))
    assert shown.status == 0, shown.text
    return shown.text


def test_slow_work_is_shown() -> None:
    text = show(SLOW)
    assert "teas" in text
    assert "Steeping" in text


def test_a_label_cannot_act_on_the_terminal() -> None:
    text = show(SLOW)
    assert "\\x1b]0;owned\\x07 [bold]" in text
    assert "\x1b]" not in text


def test_quick_work_is_not_shown() -> None:
    assert show(QUICK) == ""


@pytest.mark.parametrize("script", [SLOW, QUICK])
def test_nothing_is_shown_in_a_pipe(script: str) -> None:
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment(), check=True)
    assert (ran.stdout, ran.stderr) == (b"", b"")

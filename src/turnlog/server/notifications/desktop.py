"""Notifications on the desktop: by `notify-send` on Linux, by `osascript` on macOS.

Titles of sessions are anybody's text. They are handed over as arguments, never as a part of a program, and
without what a notification could take for markup.
"""

from __future__ import annotations

import html
import shutil
import subprocess
import sys

from turnlog.server.notifications.notices import Notice
from turnlog.server.notifications.targets import SendError

_TIMEOUT = 5.0
_LONGEST = 300
_HEAD = "turnlog"
_SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)


class Desktop:
    """The screen that somebody sits at."""

    name = "desktop"

    def send(self, notice: Notice) -> None:
        """Show a notice; raises `SendError`."""
        command = build_command(notice, sys.platform)
        if command is None:
            raise SendError(f"there is no way to show notifications on {sys.platform}")
        if shutil.which(command[0]) is None:
            raise SendError(f"{command[0]} is not installed")
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT, check=False
            )
        except subprocess.TimeoutExpired:
            raise SendError(f"{command[0]} did not finish within {_TIMEOUT:.0f} seconds") from None
        except OSError as error:
            raise SendError(f"{command[0]} cannot be run ({error.strerror or error})") from error
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise SendError(f"{command[0]} failed" + (f": {said[0][:_LONGEST]}" if said else ""))


def build_command(notice: Notice, system: str) -> list[str] | None:
    """Return the command that shows a notice; None where there is none."""
    text = _clean(notice.text)
    if notice.project is not None:
        text = f"{text}\n{_clean(notice.project)}"
    if system == "darwin":
        return ["osascript", *(part for line in _SCRIPT for part in ("-e", line)), _HEAD, text]
    if system == "linux":
        return ["notify-send", "--app-name=turnlog", "--", _HEAD, html.escape(text, quote=False)]
    return None


def _clean(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)[:_LONGEST]

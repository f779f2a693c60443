"""`turnlog notify`: whether notifications arrive."""

from __future__ import annotations

import sys

import click
from msgspec import Struct

from turnlog.cli.failures import FOUND_PROBLEMS
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.terminal import clean_line
from turnlog.config import Settings
from turnlog.server.notifications import Sent, list_targets, send_test


class NotifyDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog notify test --json` prints."""

    sent: tuple[Sent, ...]


@click.group(
    "notify",
    epilog="""\b
Examples:
  turnlog notify test

\b
In config.toml:
  [notifications]
  desktop = true
  webhooks = ["https://example.org/hook"]
  on = ["waits", "ends"]
""",
)
def command() -> None:
    """Test the notifications for sessions that wait or end.

    They are set up in config.toml, and sent by `turnlog serve`.
    """


@command.command("test")
@json_option
@color_option
def _test(as_json: bool, color: bool | None) -> None:
    """Send one to every target in config.toml, and show the outcome."""
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    sent = tuple(send_test(list_targets(settings.notifications)))
    if as_json:
        output.print_json(NotifyDocument(sent=sent))
    elif not sent:
        path = settings.home / "config.toml"
        output.print([clean_line(f"Nobody would be notified: {path} has no [notifications] with targets.")])
    else:
        output.print(clean_line(f"{each.target}: {each.message}") for each in sent)
    if not sent or not all(each.ok for each in sent):
        sys.exit(FOUND_PROBLEMS)

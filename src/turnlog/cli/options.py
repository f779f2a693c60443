"""Options that several commands share."""

from __future__ import annotations

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

color_option = click.option(
    "--color/--no-color",
    default=None,
    help="Use colours or not.  [default: on a terminal, unless NO_COLOR is set; FORCE_COLOR for pipes, too]",
)

pager_option = click.option(
    "--pager/--no-pager",
    default=None,
    help="Show output longer than the screen in TURNLOG_PAGER, PAGER or less.  [default: on a terminal]",
)

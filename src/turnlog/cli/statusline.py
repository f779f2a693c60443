"""`turnlog statusline`: one line for Claude Code's own status line.

Claude Code runs it after every message and waits for it, so it never fails, never waits for long, and never
brings the archive up to date: it shows what is there.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from decimal import Decimal

import click
import msgspec
from msgspec import Raw, Struct

from turnlog.cli.output import color_option, json_option
from turnlog.cli.plain_text import LOCAL, cents_text, duration_text
from turnlog.cli.terminal import bold, dim, shorten
from turnlog.config import Settings
from turnlog.store.usage_cells import Days, Detail, UsageCell, find_zone
from turnlog.store.usage_report import Tally, build_blocks
from turnlog.transcripts.usage.prices import to_dollars

_PATIENCE = 1.0
"""Seconds to wait for what is on standard input."""
_LARGEST = 1 << 20
_LONGEST = 40
_TOLD_APART = Detail(frozenset({"session"}))
_REFUSALS = (msgspec.DecodeError, UnicodeDecodeError)


class _Model(Struct, frozen=True):
    id: str | None = None
    display_name: str | None = None


class _Cost(Struct, frozen=True):
    total_cost_usd: float | None = None


class _Context(Struct, frozen=True):
    used_percentage: float | None = None


class _Limit(Struct, frozen=True):
    used_percentage: float | None = None
    resets_at: float | None = None


class _Limits(Struct, frozen=True):
    five_hour: _Limit | None = None


class StatusInput(Struct, frozen=True):
    """What Claude Code says on standard input, as far as it is shown."""

    session_id: str | None = None
    model: _Model | None = None
    cost: _Cost | None = None
    context_window: _Context | None = None
    rate_limits: _Limits | None = None


class StatusDocument(Struct, frozen=True):
    """What `turnlog statusline --json` prints; None is what nobody knows."""

    model: str | None = None
    session_usd: Decimal | None = None
    today_usd: Decimal | None = None
    block_usd: Decimal | None = None
    block_used: float | None = None
    """In percent, as the program tells it."""
    block_minutes: int | None = None
    """How many are left."""
    context_used: float | None = None
    """In percent."""


@click.command("statusline")
@click.option(
    "--timezone", "zone_name", metavar="ZONE", help="The time zone of today.  [default: this machine's]"
)
@json_option
@color_option
def statusline_command(zone_name: str | None, as_json: bool, color: bool | None) -> None:
    """Print one line for Claude Code's status line.

    Reads the JSON that Claude Code writes to its standard input. Shows the model, the cost of the session and
    of today, the current block of five hours, and how full the context is. Without an archive, it shows only
    what is in the input. Never fails.

    Examples:
      in Claude Code's settings.json:
      "statusLine": {"type": "command", "command": "turnlog statusline"}
    """
    try:
        document = _build(_read_input(), zone_name)
    except Exception:  # noqa: BLE001  # whatever it is, a session must not suffer from it
        document = StatusDocument()
    if as_json:
        sys.stdout.write(f"{msgspec.json.Encoder(decimal_format='number').encode(document).decode()}\n")
    else:
        line = dim(" | ", bool(color)).join(_list_parts(document, bool(color)))
        sys.stdout.write(f"{line or 'turnlog'}\n")


def _read_input() -> StatusInput:
    """Return what can be understood of the input: a part of the wrong form is left out, the others count."""
    found: dict[str, object] = {}
    with suppress(*_REFUSALS):
        members = msgspec.json.decode(_read_all(), type=dict[str, Raw])
        for field in msgspec.structs.fields(StatusInput):
            with suppress(*_REFUSALS):
                if field.name in members:
                    found[field.name] = msgspec.json.decode(members[field.name], type=field.type)
    return msgspec.structs.replace(StatusInput(), **found)


def _read_all() -> bytes:
    """Return what is on standard input, as much as comes in time."""
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    data, end = bytearray(), time.monotonic() + _PATIENCE
    while len(data) < _LARGEST:
        if os.name == "posix":
            ready, _, _ = select.select([sys.stdin.fileno()], [], [], max(end - time.monotonic(), 0.0))
            if not ready:
                break
        piece = os.read(sys.stdin.fileno(), 1 << 16)
        if not piece:
            break
        data += piece
    return bytes(data)


def _build(asked: StatusInput, zone_name: str | None) -> StatusDocument:
    limit = (asked.rate_limits or _Limits()).five_hour or _Limit()
    model, said = asked.model or _Model(), (asked.cost or _Cost()).total_cost_usd
    document = _read_archive(asked, zone_name)
    # Where the program tells it, it knows better.
    minutes = document.block_minutes
    if limit.resets_at is not None:
        minutes = max(round((limit.resets_at - time.time()) / 60), 0)
    return msgspec.structs.replace(
        document,
        model=model.display_name or model.id,
        session_usd=document.session_usd if said is None else _money(said),
        context_used=(asked.context_window or _Context()).used_percentage,
        block_used=limit.used_percentage,
        block_minutes=minutes,
    )


def _read_archive(asked: StatusInput, zone_name: str | None) -> StatusDocument:
    """Return what the archive has; nothing if there is none, or it cannot be read."""
    from turnlog.errors import TurnlogError
    from turnlog.store.model import LOCAL as OWNER
    from turnlog.store.model import is_made
    from turnlog.store.opening import open_store

    try:
        place = Settings.from_env().place
        if not is_made(place):
            return StatusDocument()
        with closing(open_store(place, read_only=True)) as store:
            return _count(store.read_usage(OWNER).list_cells(_TOLD_APART), asked, zone_name)
    except (TurnlogError, OSError, ValueError):
        return StatusDocument()


def _count(cells: list[UsageCell], asked: StatusInput, zone_name: str | None) -> StatusDocument:
    zone = LOCAL if zone_name is None else find_zone(zone_name)
    now, days = datetime.now(UTC), Days(zone)
    today = now.astimezone(zone).date()
    session = Tally(cell for cell in cells if cell.session == asked.session_id)
    spent = Tally(cell for cell in cells if days[cell.slot] == today)
    active = [(state, Tally(group)) for _, state, group in build_blocks(cells, zone, now, None) if state.active]
    return StatusDocument(
        session_usd=to_dollars(session.cost) if session.messages else None,
        today_usd=to_dollars(spent.cost),
        block_usd=to_dollars(active[-1][1].cost) if active else None,
        block_minutes=active[-1][0].minutes_left if active else None,
    )


def _list_parts(document: StatusDocument, color: bool) -> Iterator[str]:
    if document.model:
        yield bold(shorten(document.model, _LONGEST), color)
    if document.session_usd is not None:
        yield f"{cents_text(document.session_usd)} session"
    if document.today_usd is not None:
        yield f"{cents_text(document.today_usd)} today"
    spent = "" if document.block_usd is None else f"{cents_text(document.block_usd)} block"
    used = "" if document.block_used is None else f"{document.block_used:.0f}% of 5 h"
    left = f"{duration_text(document.block_minutes * 60)} left" if document.block_minutes else ""
    if spent or used:
        yield ", ".join(part for part in (spent, used, left) if part)
    if document.context_used is not None:
        yield f"context {document.context_used:.0f}%"


def _money(amount: float) -> Decimal:
    found = Decimal(str(amount))
    return found if found.is_finite() else Decimal(0)

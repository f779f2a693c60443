"""All sample sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from turnlog.demo.plays import done, live, short
from turnlog.demo.stage import Stage

PLAYS: Sequence[Callable[[datetime], Stage]] = (
    live.add_rate_limit,
    live.wait_for_permission,
    done.fix_flaky_test,
    done.speed_up_import,
    done.write_release_notes,
    short.translate_strings,
    short.stop_and_ask,
    short.explain_regex,
)

"""What a line says about itself: are its dialect's required fields there, is its time in the right form?

Today's lines beside the conversation (titles, modes, checkpoints) have no uuid and no time by design, so only
those of the conversation are asked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import get_args

from turnlog.messages import UNSET, Dialect
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, ProgressEntry, UserEntry
from turnlog.messages.envelope import Envelope, instant
from turnlog.messages.spans import Path
from turnlog.messages.system import SystemNotice, SystemSubtype
from turnlog.transcripts.validation.findings import Report, Spot, join, quote
from turnlog.transcripts.validation.rules import STORED, Rule
from turnlog.transcripts.validation.spec_000 import ISO_TIME, REQUIRED_FIELDS
from turnlog.transcripts.validation.spec_004 import FIELD_TYPES, REQUIRED_FIELDS_004

_CONVERSATION = frozenset(
    {UserEntry, AssistantEntry, AttachmentEntry, ProgressEntry, SystemNotice, *get_args(SystemSubtype)}
)
_FIELDS = {"uuid": "uuid", "session_id": "sessionId", "timestamp": "timestamp"}
_REQUIRED: Mapping[Dialect, tuple[Rule, Mapping[str, str]]] = MappingProxyType(
    {
        Dialect.CLAUDE_CODE: (REQUIRED_FIELDS, _FIELDS),
        Dialect.SPEC_000: (REQUIRED_FIELDS, _FIELDS),
        Dialect.SPEC_004: (REQUIRED_FIELDS_004, {"parent_uuid": "parentUuid", **_FIELDS}),
    }
)
_ISO = frozenset({Dialect.CLAUDE_CODE, Dialect.SPEC_000, *STORED})
_ABSENT = (UNSET, None, "")


def check_envelope(
    entry: Envelope, faults: Collection[Path], spot: Spot, report: Report, *, is_date: bool = False
) -> datetime | None:
    """Check a line's envelope, and return its time; a database's own `$date` may be a number."""
    if spot.dialect is Dialect.CLAUDE_CODE and type(entry) not in _CONVERSATION:
        return None
    stamp = entry.timestamp
    if not (entry.uuid and entry.session_id and stamp) or entry.parent_uuid is UNSET:
        _check_required(entry, faults, spot, report)
    time = instant(stamp)
    if stamp is UNSET:
        return None
    if spot.dialect in _ISO:
        if time is None or (type(stamp) is not str and not is_date):
            report.add(ISO_TIME, spot, f"Expected a time in ISO 8601, found {quote(stamp)}", ("timestamp",))
    elif spot.dialect is Dialect.SPEC_004 and (time is None or type(stamp) is str):
        message = f"Expected Unix milliseconds, found {quote(stamp)}"
        report.add(FIELD_TYPES, spot, message, ("timestamp",))
    return time


def _check_required(entry: Envelope, faults: Collection[Path], spot: Spot, report: Report) -> None:
    if spot.dialect not in _REQUIRED:
        return
    rule, fields = _REQUIRED[spot.dialect]
    missing = []
    for name, key in fields.items():
        value = getattr(entry, name)
        absent = value is UNSET if name == "parent_uuid" else value in _ABSENT
        if absent and (key,) not in faults:
            missing.append(key)
    if missing:
        report.add(rule, spot, f"Expected {join(missing)}, found nothing")

"""What a case is: lines that break a rule, all that is found in them, and lines that keep it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

import turnlog
from turnlog.messages import Line
from turnlog.transcripts.validation.rules import Finding

Raw = dict[str, Any] | bytes


class Case(Struct, frozen=True):
    """One way to break a rule."""

    rule: str
    broken: Sequence[Raw]
    found: Sequence[str]
    """All findings: the line's number, the severity, the rule and the message."""
    kept: Sequence[Raw] = ()
    """The same put right: nothing is found."""


def lines(raws: Sequence[Raw]) -> list[Line]:
    """Return lines, given as objects or as bytes."""
    return [turnlog.decode(raw if isinstance(raw, bytes) else json.dumps(raw).encode()) for raw in raws]


def tell(finding: Finding) -> str:
    """Return a finding as cases spell it."""
    return f"{finding.number} {finding.severity} {finding.rule.id}: {finding.message}"


def without(line: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return a line without some of its keys."""
    assert set(keys) <= set(line)
    return {key: value for key, value in line.items() if key not in keys}

"""Spec 001: how its declarations become rules.

The spec is a set of type declarations: a field that they do not call optional has to be there. The stream is
also what today's versions write, and where these are known to differ from the spec the rule is milder: what
some versions leave out is a warning, what newer versions add or do otherwise is a note.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from turnlog.messages import UNSET, Dialect
from turnlog.messages.spans import Path
from turnlog.transcripts.validation.findings import Report, Spot, join
from turnlog.transcripts.validation.rules import Rule, Severity, declare

Check = Callable[[Any, Collection[Path], Spot, Report], None]
"""Checks one message: the message, the places of its problems, where it stands, and where to report."""


class Demand(Struct, frozen=True):
    """The fields that an object has to have."""

    rule: Rule
    what: str
    """What to call the object."""
    fields: tuple[str, ...]


def declare_stream(id: str, section: str, severity: Severity, title: str, why: str) -> Rule:
    """Return a rule for the messages of the stream."""
    graded = {severity.value: (Dialect.STREAM,)}
    return declare(f"001-{id}", section, title, why, **graded)


def check_given(
    demand: Demand, value: Struct, steps: Path, faults: Collection[Path], spot: Spot, report: Report
) -> None:
    """Report the fields that are not there; one that holds a wrong value is reported as that."""
    keys = _keys(type(value))
    missing = [
        keys[name]
        for name in demand.fields
        if getattr(value, name) is UNSET and (*steps, keys[name]) not in faults
    ]
    if missing:
        report.add(demand.rule, spot, f"Expected {join(missing)} in {demand.what}, found nothing", steps)


@cache
def _keys(cls: type[Struct]) -> Mapping[str, str]:
    return dict(zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True))

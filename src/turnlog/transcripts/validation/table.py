"""All rules, in one table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from turnlog.messages import Dialect
from turnlog.transcripts.validation.control_rules import CONTROL_RULES
from turnlog.transcripts.validation.findings import Finding
from turnlog.transcripts.validation.line_rules import LINE_RULES
from turnlog.transcripts.validation.rules import ALL, STORED, Rule, Severity
from turnlog.transcripts.validation.spec_000 import RULES_000
from turnlog.transcripts.validation.spec_003 import RULES_003
from turnlog.transcripts.validation.spec_004 import RULES_004
from turnlog.transcripts.validation.stream import STREAM_RULES


def _position(rule: Rule) -> tuple[int, ...]:
    """Return where a rule of spec 001 stands: by its section, and as declared within that."""
    return tuple(int(part) for part in rule.id.split("-")[1].split("."))


RULES: tuple[Rule, ...] = (
    *LINE_RULES,
    *RULES_000,
    *sorted((*STREAM_RULES, *CONTROL_RULES), key=_position),
    *RULES_003,
    *RULES_004,
)
"""Every rule: those of any line first, then spec by spec."""

_ORDER: Mapping[str, int] = MappingProxyType({rule.id: index for index, rule in enumerate(RULES)})
_ROW = "| {} |"


def sort_findings(findings: list[Finding]) -> list[Finding]:
    """Return findings line by line, for each line in the order of the rules, and else as they came."""
    return sorted(findings, key=lambda finding: (finding.index, _ORDER[finding.rule.id]))


def render_table() -> str:
    """Return the table of all rules in Markdown, with a line break at its end."""
    heads = ("Rule", "Section of the spec", "Requirement", "Why", "Severity")
    rows = [heads, tuple("---" for _ in heads), *map(_cells, RULES)]
    return "".join(_ROW.format(" | ".join(cells)) + "\n" for cells in rows)


def _cells(rule: Rule) -> tuple[str, ...]:
    source = f"{rule.spec}: {rule.section}" if rule.spec else "any line"
    return f"`{rule.id}`", source, rule.title, rule.why, _render_severities(rule)


def _render_severities(rule: Rule) -> str:
    parts = []
    for severity in Severity:
        dialects = [dialect for dialect, each in rule.severities if each is severity]
        if dialects:
            parts.append(f"{severity}: {_render_dialects(dialects)}")
    return "; ".join(parts)


def _render_dialects(dialects: list[Dialect]) -> str:
    if len(dialects) == len(ALL):
        return "all"
    names = [dialect.value for dialect in dialects if dialect not in STORED]
    if set(STORED) <= set(dialects):
        names.append("spec-003")
    return ", ".join(sorted(names))

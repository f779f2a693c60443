"""What validation found, and the rules themselves, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from turnlog.cli.terminal import clean_line
from turnlog.cli.validation_report import FileReport, FindingItem, ValidationReport
from turnlog.export.plain import plural
from turnlog.transcripts.validation.findings import Rule, Severity
from turnlog.transcripts.validation.validator import RULES

_STYLES: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}
)
_LISTED = 10
"""How many findings of one rule are listed for a file, unless all are asked for."""


def render_findings(report: ValidationReport, everything: bool) -> Iterator[RenderableType]:
    """Yield the findings of each file, the gravest first, and what they come to."""
    for file in report.files:
        if file.findings:
            yield Text(clean_line(file.path), "bold")
            yield _table(file, everything)
            yield Text()
    yield _total(report)


def render_rules() -> Iterator[RenderableType]:
    """Yield the table of all rules."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("rule", "at worst", "spec", "what has to be so"):
        table.add_column(name, overflow="fold", no_wrap=name in ("rule", "at worst"))
    for rule in RULES:
        table.add_row(rule.id, Text(rule.severity, _STYLES[rule.severity]), _origin(rule), rule.title)
    yield table


def _table(file: FileReport, everything: bool) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1))
    for name in ("severity", "line", "rule"):
        table.add_column(name, no_wrap=True, justify="right" if name == "line" else "left")
    table.add_column("message", overflow="fold")
    for severity in Severity:
        listed: Counter[str] = Counter()
        for item in (item for item in file.findings if item.severity is severity):
            listed[item.rule] += 1
            if everything or listed[item.rule] <= _LISTED:
                table.add_row(*_cells(item))
        for rule, count in listed.items():
            if not everything and count > _LISTED:
                table.add_row(
                    Text(severity, _STYLES[severity]),
                    "",
                    rule,
                    f"… and {count - _LISTED:,} more (list them with --all)",
                )
    return table


def _cells(item: FindingItem) -> Iterator[Text]:
    yield Text(item.severity, _STYLES[item.severity])
    yield Text(f"line {item.line}")
    yield Text(item.rule, "dim")
    yield Text(clean_line(item.message))


def _total(report: ValidationReport) -> Text:
    counts = ", ".join(plural(count, severity) for severity, count in report.counts.items() if count)
    scope = f"{plural(len(report.files), 'file')}, {plural(report.lines, 'line')}"
    worst = next((severity for severity, count in report.counts.items() if count), Severity.NOTE)
    return Text(f"{scope}: {counts or 'no problems'}", _STYLES[worst] if counts else "green")


def _origin(rule: Rule) -> str:
    return f"{rule.spec} {rule.section}" if rule.spec else "any line"

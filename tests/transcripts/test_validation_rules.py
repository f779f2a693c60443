"""Every rule: lines that break it are found, with what, where and why; lines that keep it are not."""

from __future__ import annotations

import pytest

from turnlog.transcripts.validation.rules import RULES
from turnlog.transcripts.validation.validator import validate
from validation_cases import any_line, control, spec_000, spec_003, spec_004, stream
from validation_cases.base import Case, lines, tell

MODULES = (any_line, spec_000, stream, control, spec_003, spec_004)
CASES: list[Case] = [case for module in MODULES for case in module.CASES]
IDS = [case.rule for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_what_breaks_a_rule_is_found(case: Case) -> None:
    found = [tell(finding) for finding in validate(lines(case.broken))]
    assert found == list(case.found)
    assert any(f" {case.rule}: " in line for line in found)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_what_keeps_a_rule_is_not(case: Case) -> None:
    assert [tell(finding) for finding in validate(lines(case.kept))] == []


def test_every_rule_is_broken_by_a_case() -> None:
    # `line-torn` is about what is no line: test_validation.py breaks it. Long lines are in test_long_lines.py.
    assert {rule.id for rule in RULES} - {case.rule for case in CASES} == {"line-torn", "line-too-long"}

"""Rules, changes to them, and answers, in today's form and in that of spec 001."""

from __future__ import annotations

import json
from typing import get_args

import msgspec
import pytest

from golden import fields_declared, fields_set, lines, walk
from turnlog.messages import permissions
from turnlog.messages.base import Value
from turnlog.messages.permissions import (
    AddRules,
    PermissionAllow,
    PermissionAsk,
    PermissionBehavior,
    PermissionDeny,
    PermissionResult,
    PermissionRuleValue,
    PermissionUpdate,
    PermissionUpdateDestination,
    RemoveRules,
    UnknownPermissionResult,
    UnknownPermissionUpdate,
)
from turnlog.messages.salvage import ProblemKind, view

UPDATES = lines("hooks/permission_updates")
RESULTS = lines("hooks/permission_results")
UPDATE = msgspec.json.Decoder(PermissionUpdate)
RESULT = msgspec.json.Decoder(PermissionResult)

KINDS = {
    "addRules": permissions.AddRules,
    "replaceRules": permissions.ReplaceRules,
    "removeRules": permissions.RemoveRules,
    "setMode": permissions.SetMode,
    "addDirectories": permissions.AddDirectories,
    "removeDirectories": permissions.RemoveDirectories,
}
ANSWERS = {"allow": PermissionAllow, "deny": PermissionDeny, "ask": PermissionAsk}


def samples() -> list[Value]:
    decoded = (*(UPDATE.decode(line) for line in UPDATES), *(RESULT.decode(line) for line in RESULTS))
    return list(walk(decoded))


@pytest.mark.parametrize("line", UPDATES)
def test_a_change_decodes_to_its_class_and_encodes_to_the_same_json(line: bytes) -> None:
    update = UPDATE.decode(line)

    assert type(update) is KINDS[json.loads(line)["type"]]
    assert json.loads(msgspec.json.encode(update)) == json.loads(line)


@pytest.mark.parametrize("line", RESULTS)
def test_an_answer_decodes_to_its_class_and_encodes_to_the_same_json(line: bytes) -> None:
    result = RESULT.decode(line)

    assert type(result) is ANSWERS[json.loads(line)["behavior"]]
    assert json.loads(msgspec.json.encode(result)) == json.loads(line)


def test_every_kind_has_a_sample() -> None:
    assert {json.loads(line)["type"] for line in UPDATES} == set(KINDS)
    assert {json.loads(line)["behavior"] for line in RESULTS} == set(ANSWERS)


def test_the_samples_set_every_declared_field() -> None:
    assert fields_declared(permissions) - fields_set(samples()) == set()


def test_a_rule_means_the_same_in_either_spelling() -> None:
    today = PermissionRuleValue(tool_name="Bash", rule_content="ls:*")
    then = PermissionRuleValue(snake_tool_name="Bash", snake_rule_content="ls:*")

    assert (today.tool, today.content) == (then.tool, then.content) == ("Bash", "ls:*")


def test_a_rule_without_content_means_all_calls() -> None:
    bare, null = (
        PermissionRuleValue(tool_name="Read"),
        PermissionRuleValue(tool_name="Read", rule_content=None),
    )

    assert bare.content is None
    assert null.content is None
    assert PermissionRuleValue().tool is None


def test_a_change_lists_its_rules_in_either_form() -> None:
    rule = PermissionRuleValue(tool_name="Bash")

    assert AddRules(rules=(rule, rule)).values == (rule, rule)
    assert AddRules(rule=rule).values == (rule,)
    assert RemoveRules().values == ()


def test_an_unknown_change_and_an_unknown_answer_stay_visible() -> None:
    update = view(PermissionUpdate, b'{"type":"renameRules"}')
    result = view(PermissionResult, b'{"behavior":"wait"}')

    assert update.value == UnknownPermissionUpdate(b'{"type":"renameRules"}', "renameRules")
    assert result.value == UnknownPermissionResult(b'{"behavior":"wait"}', "wait")
    assert [problem.kind for problem in update.problems + result.problems] == [ProblemKind.UNKNOWN_TYPE] * 2


def test_an_unknown_value_stays_visible() -> None:
    seen = view(PermissionUpdate, b'{"type":"setMode","mode":"plan","destination":"cloud"}')

    assert isinstance(seen.value, permissions.SetMode)
    assert seen.value.destination == PermissionUpdateDestination.of("cloud")
    assert [problem.kind for problem in seen.problems] == [ProblemKind.UNKNOWN_VALUE]


@pytest.mark.parametrize(
    "line", [b'{"type":"setMode","colour":"red"}', b'{"type":"addRules","behavior":"maybe"}']
)
def test_what_is_not_declared_is_refused(line: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        UPDATE.decode(line)


def test_the_unions_hold_exactly_the_known_kinds() -> None:
    updates, results = get_args(PermissionUpdate)[0], get_args(PermissionResult)[0]

    assert {each.__struct_config__.tag: each for each in get_args(updates)} == KINDS
    assert {each.__struct_config__.tag: each for each in get_args(results)} == ANSWERS
    assert set(PermissionBehavior) == set(ANSWERS)

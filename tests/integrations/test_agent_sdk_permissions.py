"""The SDK's permissions and ours: there and back, and what either cannot say."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any

import claude_agent_sdk as official
import pytest
from claude_agent_sdk.types import PermissionRuleValue as OfficialRule
from hypothesis import given
from hypothesis import strategies as st

import golden
from sdk_losses import PAGE
from strategies import json_objects, texts
from turnlog.errors import ChangeError, DecodeError
from turnlog.integrations.agent_sdk import (
    can_use_tool_from_sdk,
    can_use_tool_to_sdk,
    permission_request_from_sdk,
    permission_request_to_sdk,
    permission_result_from_sdk,
    permission_result_to_sdk,
    permission_rule_from_sdk,
    permission_rule_to_sdk,
    permission_update_from_sdk,
    permission_update_to_sdk,
)
from turnlog.messages import encode, view
from turnlog.messages.base import Raw
from turnlog.messages.control.requests import CanUseToolRequest
from turnlog.messages.permissions import (
    AddDirectories,
    AddRules,
    PermissionAllow,
    PermissionAsk,
    PermissionDecisionClassification,
    PermissionDeny,
    PermissionResult,
    PermissionRuleValue,
    PermissionUpdate,
    RemoveDirectories,
    RemoveRules,
    ReplaceRules,
    SetMode,
    UnknownPermissionUpdate,
)

RULES = [OfficialRule("Bash", "git *"), OfficialRule("Read")]
UPDATES: list[tuple[official.PermissionUpdate, type]] = [
    (
        official.PermissionUpdate(type="addRules", rules=RULES, behavior="allow", destination="session"),
        AddRules,
    ),
    (official.PermissionUpdate(type="replaceRules", rules=[], behavior="ask"), ReplaceRules),
    (official.PermissionUpdate(type="removeRules", behavior="deny"), RemoveRules),
    (official.PermissionUpdate(type="setMode", mode="plan", destination="userSettings"), SetMode),
    (official.PermissionUpdate(type="addDirectories", directories=["/a", "/b"]), AddDirectories),
    (official.PermissionUpdate(type="removeDirectories", directories=[]), RemoveDirectories),
]
RESULTS: list[tuple[official.PermissionResult, type]] = [
    (official.PermissionResultAllow(), PermissionAllow),
    (
        official.PermissionResultAllow(
            updated_input={"command": "ls", "n": [1, 2.5, None]},
            updated_permissions=[update for update, _ in UPDATES],
        ),
        PermissionAllow,
    ),
    (official.PermissionResultAllow(updated_input={}, updated_permissions=[]), PermissionAllow),
    (official.PermissionResultDeny(), PermissionDeny),
    (official.PermissionResultDeny(message="no", interrupt=True), PermissionDeny),
]
CONTEXTS = [
    official.ToolPermissionContext(),
    official.ToolPermissionContext(
        suggestions=[update for update, _ in UPDATES],
        tool_use_id="t",
        agent_id="a",
        blocked_path="/p",
        decision_reason="why",
        title="May I?",
        display_name="Run",
        description="Runs it.",
    ),
]


def said(theirs: Any) -> set[str]:
    """Return the fields of an SDK object that differ from their defaults, as `Class.field`."""
    found = set()
    for each in dataclasses.fields(theirs):
        default = each.default
        if each.default_factory is not dataclasses.MISSING:
            default = each.default_factory()
        if getattr(theirs, each.name) != default:
            found.add(f"{type(theirs).__name__}.{each.name}")
    return found


@pytest.mark.parametrize(("theirs", "cls"), UPDATES, ids=lambda value: getattr(value, "type", ""))
def test_a_change_of_permissions_comes_back_the_same(theirs: official.PermissionUpdate, cls: type) -> None:
    ours = permission_update_from_sdk(theirs)
    assert type(ours) is cls
    assert permission_update_to_sdk(ours) == theirs


@pytest.mark.parametrize("theirs", [update for update, _ in UPDATES], ids=lambda update: update.type)
def test_a_change_says_what_the_sdk_would_write(theirs: official.PermissionUpdate) -> None:
    written = theirs.to_dict()
    for rule in written.get("rules", []):
        if rule["ruleContent"] is None:
            del rule["ruleContent"]
    ours = permission_update_from_sdk(theirs)
    assert not isinstance(ours, UnknownPermissionUpdate)
    assert json.loads(encode(ours)) == written


@pytest.mark.parametrize("theirs", RULES, ids=lambda rule: rule.tool_name)
def test_a_rule_comes_back_the_same(theirs: OfficialRule) -> None:
    assert permission_rule_to_sdk(permission_rule_from_sdk(theirs)) == theirs


@pytest.mark.parametrize(("theirs", "cls"), RESULTS)
def test_an_answer_comes_back_the_same(theirs: official.PermissionResult, cls: type) -> None:
    ours = permission_result_from_sdk(theirs)
    assert type(ours) is cls
    assert permission_result_to_sdk(ours) == theirs


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_question_comes_back_the_same(context: official.ToolPermissionContext) -> None:
    request = permission_request_from_sdk("Bash", {"command": "ls"}, context)
    assert permission_request_to_sdk(request) == ("Bash", {"command": "ls"}, context)


def test_every_field_of_the_sdks_classes_is_set_by_an_example() -> None:
    examples = [*RULES, *(update for update, _ in UPDATES), *(result for result, _ in RESULTS), *CONTEXTS]
    classes = {type(example) for example in examples}
    declared = {f"{cls.__name__}.{each.name}" for cls in classes for each in dataclasses.fields(cls)}
    constant = {"PermissionResultAllow.behavior", "PermissionResultDeny.behavior"}
    refused = {"ToolPermissionContext.signal"}
    assert set().union(*map(said, examples)) == declared - constant - refused


@given(st.builds(OfficialRule, texts, st.none() | texts))
def test_any_rule_comes_back_the_same(theirs: OfficialRule) -> None:
    assert permission_rule_to_sdk(permission_rule_from_sdk(theirs)) == theirs


@given(json_objects)
def test_any_input_comes_back_the_same(tool_input: dict[str, Any]) -> None:
    theirs = official.PermissionResultAllow(updated_input=tool_input)
    assert permission_result_to_sdk(permission_result_from_sdk(theirs)) == theirs


@pytest.mark.parametrize("line", golden.lines("hooks/permission_updates"))
def test_golden_changes_survive_the_sdk(line: bytes) -> None:
    update: Any = view(PermissionUpdate, line).value
    theirs = permission_update_to_sdk(update)
    assert permission_update_to_sdk(permission_update_from_sdk(theirs)) == theirs


def test_a_rule_in_the_spelling_of_spec_001_is_a_rule_of_the_sdk() -> None:
    rule = PermissionRuleValue(snake_tool_name="Bash", snake_rule_content="ls")
    theirs = permission_update_to_sdk(AddRules(rule=rule))
    assert theirs.rules == [OfficialRule("Bash", "ls")]


def test_a_change_that_says_what_its_kind_cannot_say_is_refused() -> None:
    with pytest.raises(DecodeError, match="`mode`"):
        permission_update_from_sdk(official.PermissionUpdate(type="addRules", mode="plan"))


def test_a_change_of_an_unknown_kind_stays_visible_and_is_refused_on_the_way_back() -> None:
    ours = permission_update_from_sdk(official.PermissionUpdate(type="new"))  # type: ignore[arg-type]
    assert isinstance(ours, UnknownPermissionUpdate)
    with pytest.raises(ChangeError, match="no such permission update"):
        permission_update_to_sdk(ours)


def test_a_rule_without_a_tool_is_refused() -> None:
    with pytest.raises(ChangeError, match="name of a tool"):
        permission_rule_to_sdk(PermissionRuleValue())


@pytest.mark.parametrize(
    ("result", "match"),
    [
        (PermissionAsk(), "no such permission result"),
        (PermissionAllow(message="go"), "`message` of PermissionAllow"),
        (PermissionAllow(tool_use_id="t"), "`tool_use_id` of PermissionAllow"),
        (PermissionAllow(updated_input=Raw(b"[]")), "expects an object"),
        (
            PermissionDeny(decision_classification=PermissionDecisionClassification.USER_REJECT),
            "`decision_classification` of PermissionDeny",
        ),
    ],
)
def test_an_answer_that_the_sdk_cannot_give_is_refused(result: PermissionResult, match: str) -> None:
    with pytest.raises(ChangeError, match=match):
        permission_result_to_sdk(result)


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(TypeError, match="not a permission result of the SDK"):
        permission_result_from_sdk("yes")  # type: ignore[arg-type]


def test_a_signal_and_an_input_without_json_form_are_refused() -> None:
    with pytest.raises(ChangeError, match="signal"):
        permission_request_from_sdk("Bash", {}, official.ToolPermissionContext(signal=object()))
    with pytest.raises(ChangeError, match="object has no JSON form"):
        permission_result_from_sdk(official.PermissionResultAllow(updated_input={"a": object()}))
    with pytest.raises(ChangeError, match="not JSON compliant"):
        permission_result_from_sdk(official.PermissionResultAllow(updated_input={"a": float("nan")}))


def test_what_a_question_loses_is_what_the_page_says() -> None:
    kept = {each.name for each in dataclasses.fields(official.ToolPermissionContext)}
    kept |= {"tool_name", "input", "permission_suggestions"}
    lost = sorted(set(CanUseToolRequest.__struct_fields__) - kept)
    assert f"| `CanUseToolRequest` | {', '.join(f'`{name}`' for name in lost)} |" in PAGE.read_text()


async def theirs_asked(
    tool_name: str, tool_input: dict[str, Any], context: official.ToolPermissionContext
) -> official.PermissionResult:
    return official.PermissionResultDeny(message=f"{tool_name} {tool_input} {context.title}")


async def ours_asked(request: CanUseToolRequest) -> PermissionResult:
    return PermissionDeny(message=f"{request.tool_name} {request.title}")


def test_a_function_of_the_sdk_is_called_with_our_types() -> None:
    function = can_use_tool_from_sdk(theirs_asked)
    asked = CanUseToolRequest(tool_name="Bash", input=Raw(b'{"a":1}'), title="May I?")
    assert asyncio.run(_result(function(asked))) == PermissionDeny(message="Bash {'a': 1} May I?")
    assert can_use_tool_to_sdk(function) is theirs_asked


def test_a_function_of_ours_is_called_with_the_sdks_types() -> None:
    function = can_use_tool_to_sdk(ours_asked)
    answer = function("Bash", {}, official.ToolPermissionContext(title="May I?"))
    assert asyncio.run(_result(answer)) == official.PermissionResultDeny(message="Bash May I?")
    assert can_use_tool_from_sdk(function) is ours_asked


async def _result(answer: Any) -> Any:
    return await answer

"""What may be done without asking: rules, changes to them, and the answers to "may this tool run?".

Today's spelling is that of the SDK: `rules`, `toolName`, `ruleContent`. Spec 001 knew one `rule` to a change,
snake_case inside it, and `ask` as an answer; those are read too, as fields and a member of their own, so that
nothing is rewritten. `values` and `tool` say what a change or a rule means in either form.
"""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Open, OpenEnum, Raw, UnknownTagged, UnsetType, field
from turnlog.messages.envelope import PermissionMode

__all__ = [
    "AddDirectories", "AddRules", "PermissionAllow", "PermissionAsk", "PermissionBehavior",
    "PermissionDecisionClassification", "PermissionDeny", "PermissionResult", "PermissionRuleValue",
    "PermissionUpdate", "PermissionUpdateDestination", "RemoveDirectories", "RemoveRules", "ReplaceRules",
    "SetMode", "UnknownPermissionResult", "UnknownPermissionUpdate",
]  # fmt: skip


class PermissionBehavior(OpenEnum):
    """What a rule says of the calls that it matches."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


class PermissionUpdateDestination(OpenEnum):
    """Where a change of permissions is kept."""

    USER_SETTINGS = "userSettings"
    PROJECT_SETTINGS = "projectSettings"
    LOCAL_SETTINGS = "localSettings"
    SESSION = "session"
    CLI_ARG = "cliArg"


class PermissionDecisionClassification(OpenEnum):
    """How the person decided: for once, for good, or against."""

    USER_TEMPORARY = "user_temporary"
    USER_PERMANENT = "user_permanent"
    USER_REJECT = "user_reject"


class PermissionRuleValue(Camel):
    """A tool, and which of its calls are meant; without content, all of them."""

    tool_name: str | UnsetType = UNSET
    rule_content: str | None | UnsetType = UNSET
    snake_tool_name: str | UnsetType = field(name="tool_name", default=UNSET)
    """Spec 001's spelling, as the next."""
    snake_rule_content: str | None | UnsetType = field(name="rule_content", default=UNSET)

    @property
    def tool(self) -> str | None:
        """The tool's name in whichever spelling."""
        name = self.snake_tool_name if self.tool_name is UNSET else self.tool_name
        return None if name is UNSET else name

    @property
    def content(self) -> str | None:
        """The pattern of the calls that are meant, in whichever spelling; None means all."""
        content = self.snake_rule_content if self.rule_content is UNSET else self.rule_content
        return None if content is UNSET else content


class _Update(Camel, tag_field="type"):
    """A change of permissions, and where it is kept."""

    type: ClassVar[str]
    destination: PermissionUpdateDestination | UnsetType = UNSET


class _RulesUpdate(_Update):
    """A change of rules."""

    rules: tuple[PermissionRuleValue, ...] | UnsetType = UNSET
    behavior: PermissionBehavior | UnsetType = UNSET
    rule: PermissionRuleValue | None | UnsetType = UNSET
    """Spec 001: the only rule."""

    @property
    def values(self) -> tuple[PermissionRuleValue, ...]:
        """The rules in whichever form they came."""
        if isinstance(self.rules, tuple):
            return self.rules
        return (self.rule,) if isinstance(self.rule, PermissionRuleValue) else ()


class AddRules(_RulesUpdate, tag="addRules"):
    """Rules that join those already there."""


class ReplaceRules(_RulesUpdate, tag="replaceRules"):
    """Rules that take the place of those already there."""


class RemoveRules(_RulesUpdate, tag="removeRules"):
    """Rules that no longer hold."""


class SetMode(_Update, tag="setMode"):
    """Another permission mode."""

    mode: PermissionMode | UnsetType = UNSET


class AddDirectories(_Update, tag="addDirectories"):
    """Directories in which to work as well."""

    directories: tuple[str, ...] | UnsetType = UNSET


class RemoveDirectories(_Update, tag="removeDirectories"):
    """Directories in which to work no longer."""

    directories: tuple[str, ...] | UnsetType = UNSET


class UnknownPermissionUpdate(UnknownTagged):
    """A change of permissions of an unknown kind."""


PermissionUpdate = Open[
    AddRules | ReplaceRules | RemoveRules | SetMode | AddDirectories | RemoveDirectories,
    UnknownPermissionUpdate,
]
"""Any change of permissions, told apart by `type`."""


class _Result(Camel, tag_field="behavior"):
    """An answer to "may this tool run?"."""

    behavior: ClassVar[str]
    message: str | None | UnsetType = UNSET
    """What the model is told; only a refusal needs it."""
    tool_use_id: str | None | UnsetType = field(name="toolUseID", default=UNSET)
    decision_classification: PermissionDecisionClassification | None | UnsetType = UNSET


class PermissionAllow(_Result, tag="allow"):
    """Yes, perhaps with another input, and perhaps for good."""

    updated_input: Raw | UnsetType = UNSET
    updated_permissions: tuple[PermissionUpdate, ...] | None | UnsetType = UNSET


class PermissionDeny(_Result, tag="deny"):
    """No, and perhaps the whole turn ends."""

    interrupt: bool | None | UnsetType = UNSET


class PermissionAsk(_Result, tag="ask"):
    """Spec 001 only: let the person decide."""

    updated_input: Raw | UnsetType = UNSET
    updated_permissions: tuple[PermissionUpdate, ...] | None | UnsetType = UNSET


class UnknownPermissionResult(UnknownTagged):
    """An answer of an unknown kind."""


PermissionResult = Open[PermissionAllow | PermissionDeny | PermissionAsk, UnknownPermissionResult]
"""Any answer to "may this tool run?", told apart by `behavior`; also what a PermissionRequest hook decides."""

"""What a host asks about settings and permission rules, and how it changes them."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, OpenEnum, Raw, Snake, UnsetType
from turnlog.messages.control.base import SnakeRequest
from turnlog.messages.control.hooks_listing import SettingsParseError
from turnlog.messages.permissions import PermissionBehavior


class ApplyFlagSettingsRequest(SnakeRequest, tag="apply_flag_settings"):
    """Merge settings into the layer of the command line's flags; null takes one away."""

    settings: dict[str, Raw]


class GetSettingsRequest(SnakeRequest, tag="get_settings"):
    """Return the settings in effect, and those of each source."""


class SettingsTarget(OpenEnum):
    """The settings file to write to."""

    LOCAL_SETTINGS = "localSettings"
    USER_SETTINGS = "userSettings"


class UpdateSettingsRequest(SnakeRequest, tag="update_settings"):
    """Write settings into a file; only some keys may be written."""

    source: SettingsTarget
    settings: dict[str, Raw]


class ListPermissionRulesRequest(SnakeRequest, tag="list_permission_rules"):
    """Return the permission rules and the directories of the workspace."""


class RuleSource(OpenEnum):
    """Where a permission rule came from."""

    USER_SETTINGS = "userSettings"
    PROJECT_SETTINGS = "projectSettings"
    LOCAL_SETTINGS = "localSettings"
    FLAG_SETTINGS = "flagSettings"
    POLICY_SETTINGS = "policySettings"
    CLI_ARG = "cliArg"
    COMMAND = "command"
    SESSION = "session"
    MCP_MOUNT = "mcpMount"
    TOOLS_NARROWING = "toolsNarrowing"
    MCP_SERVER_POLICY = "mcpServerPolicy"
    HOST_CREDENTIAL = "hostCredential"


class RuleEditability(OpenEnum):
    """Whether a rule can be changed, and for how long."""

    PERSISTENT = "persistent"
    SESSION = "session"
    READONLY = "readonly"


class RuleDescription(Camel):
    """A rule in words, in three pieces."""

    prefix: str
    emphasis: str | UnsetType = UNSET
    suffix: str | UnsetType = UNSET


class ListedRule(Camel):
    """One permission rule."""

    behavior: PermissionBehavior
    source: RuleSource | UnsetType = UNSET
    rule: str
    description: RuleDescription | UnsetType = UNSET
    editability: RuleEditability | UnsetType = UNSET
    not_in_effect: bool | UnsetType = UNSET


class WorkspaceDirectory(Camel):
    """A directory in which Claude Code may work."""

    path: str
    source: str | UnsetType = UNSET


class PermissionRulesState(Camel):
    """All rules and directories, as they are now."""

    rules: tuple[ListedRule, ...] | UnsetType = UNSET
    workspace_directories: tuple[WorkspaceDirectory, ...] | UnsetType = UNSET
    original_cwd: str | UnsetType = UNSET
    managed_only: bool | UnsetType = UNSET
    errors: tuple[SettingsParseError, ...] | UnsetType = UNSET
    withheld: bool | UnsetType = UNSET


class PermissionRulesReply(Snake):
    """The permission rules."""

    state: PermissionRulesState

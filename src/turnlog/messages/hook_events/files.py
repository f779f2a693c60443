"""Events of files and directories: settings, instructions, worktrees, where to work."""

from __future__ import annotations

from turnlog.messages.base import UNSET, OpenEnum, UnsetType
from turnlog.messages.hook_events.base import BaseHookInput


class ConfigChangeSource(OpenEnum):
    """Which settings changed."""

    USER_SETTINGS = "user_settings"
    PROJECT_SETTINGS = "project_settings"
    LOCAL_SETTINGS = "local_settings"
    POLICY_SETTINGS = "policy_settings"
    SKILLS = "skills"


class InstructionsMemoryType(OpenEnum):
    """Whose instructions they are."""

    USER = "User"
    PROJECT = "Project"
    LOCAL = "Local"
    MANAGED = "Managed"


class InstructionsLoadReason(OpenEnum):
    """Why instructions were read."""

    SESSION_START = "session_start"
    NESTED_TRAVERSAL = "nested_traversal"
    PATH_GLOB_MATCH = "path_glob_match"
    INCLUDE = "include"
    COMPACT = "compact"


class FileChange(OpenEnum):
    """What happened to a file."""

    CHANGE = "change"
    ADD = "add"
    UNLINK = "unlink"


class DirectoryAddedSource(OpenEnum):
    """Who added a directory."""

    SLASH_COMMAND = "slash_command"
    REGISTER_REPO_ROOT = "register_repo_root"


class ConfigChangeHookInput(BaseHookInput, tag="ConfigChange"):
    """Settings changed while the session ran."""

    source: ConfigChangeSource | UnsetType = UNSET
    file_path: str | None | UnsetType = UNSET


class InstructionsLoadedHookInput(BaseHookInput, tag="InstructionsLoaded"):
    """A file of instructions was read."""

    file_path: str | UnsetType = UNSET
    memory_type: InstructionsMemoryType | UnsetType = UNSET
    load_reason: InstructionsLoadReason | UnsetType = UNSET
    globs: tuple[str, ...] | None | UnsetType = UNSET
    """The patterns of files that the instructions are for."""
    trigger_file_path: str | None | UnsetType = UNSET
    parent_file_path: str | None | UnsetType = UNSET
    """The file that includes this one."""


class WorktreeCreateHookInput(BaseHookInput, tag="WorktreeCreate"):
    """A worktree is to be made."""

    name: str | UnsetType = UNSET


class WorktreeRemoveHookInput(BaseHookInput, tag="WorktreeRemove"):
    """A worktree is to be removed."""

    worktree_path: str | UnsetType = UNSET


class CwdChangedHookInput(BaseHookInput, tag="CwdChanged"):
    """The working directory is another."""

    old_cwd: str | UnsetType = UNSET
    new_cwd: str | UnsetType = UNSET


class FileChangedHookInput(BaseHookInput, tag="FileChanged"):
    """A watched file is another."""

    file_path: str | UnsetType = UNSET
    event: FileChange | UnsetType = UNSET


class DirectoryAddedHookInput(BaseHookInput, tag="DirectoryAdded"):
    """There is one more directory in which to work."""

    directory: str | UnsetType = UNSET
    source: DirectoryAddedSource | UnsetType = UNSET

"""What the model is told about where it runs, as whom, and with which prompt."""

from __future__ import annotations

from turnlog.messages.attachments.base import AttachmentBase
from turnlog.messages.base import UNSET, Camel, Raw, UnsetType, field


class EnvironmentSnapshot(Camel):
    """The machine and the directories at one moment."""

    working_directory: str | None | UnsetType = UNSET
    is_worktree: bool | UnsetType = UNSET
    is_git_repo: bool | UnsetType = UNSET
    additional_working_directories: tuple[str, ...] | None | UnsetType = UNSET
    platform: str | None | UnsetType = UNSET
    shell: str | None | UnsetType = UNSET
    os_version: str | None | UnsetType = UNSET
    scratchpad_directory: str | None | UnsetType = UNSET


class EnvironmentChange(Camel):
    """A part of the environment that is not what it was."""

    field_name: str | UnsetType = field(name="field", default=UNSET)
    previous: str | bool | None | UnsetType = field(name="from", default=UNSET)
    added: tuple[str, ...] | None | UnsetType = UNSET
    removed: tuple[str, ...] | None | UnsetType = UNSET


class EnvironmentAttachment(AttachmentBase, tag="environment"):
    """The machine and the directories that the model works with."""

    snapshot: EnvironmentSnapshot | UnsetType = UNSET
    changes: tuple[EnvironmentChange, ...] | None | UnsetType = UNSET


class SessionFacts(Camel):
    """What is known about the person and the repository; private."""

    user_email: str | None | UnsetType = UNSET
    git_status: str | None | UnsetType = UNSET


class SessionContext(AttachmentBase, tag="session_context"):
    """What the model is told about the person and the repository."""

    context: SessionFacts | None | UnsetType = UNSET
    changed: bool | UnsetType = UNSET
    reason: str | None | UnsetType = UNSET


class ModelIdentity(Camel):
    """A model's names and the end of its knowledge."""

    model_id: str | UnsetType = UNSET
    marketing_name: str | None | UnsetType = UNSET
    knowledge_cutoff: str | None | UnsetType = UNSET


class ModelAttachment(AttachmentBase, tag="model"):
    """What the model is told about itself."""

    identity: ModelIdentity | None | UnsetType = UNSET
    text: str | None | UnsetType = UNSET


class DateAttachment(AttachmentBase, tag="date"):
    """Today's date."""

    date: str | UnsetType = UNSET
    changed: bool | UnsetType = UNSET


class DateChange(AttachmentBase, tag="date_change"):
    """A new day, as older versions told it."""

    new_date: str | UnsetType = UNSET


class SnapshotTool(Camel):
    """A tool as it was offered to the model."""

    name: str | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    schema: Raw | UnsetType = UNSET


class PromptSnapshot(AttachmentBase, tag="prompt_snapshot"):
    """The system prompt and the tools of a request; large, and not shown to the model."""

    system_prompt: tuple[str, ...] | UnsetType = UNSET
    tools: tuple[SnapshotTool, ...] | None | UnsetType = UNSET
    cli_prefix: str | None | UnsetType = UNSET
    host_prompt: str | None | UnsetType = UNSET
    context_rendering: str | None | UnsetType = UNSET
    reminder_fold: bool | UnsetType = UNSET
    echo_wire_tool_inputs: bool | UnsetType = UNSET
    system_turns: bool | UnsetType = UNSET
    tool_change_header: bool | UnsetType = UNSET
    inline_tools: bool | UnsetType = UNSET
    kept_reminders: bool | UnsetType = UNSET


class OutputStyle(AttachmentBase, tag="output_style"):
    """A reminder of the style in which to answer."""

    style: str | UnsetType = UNSET
    turn_reminder: str | None | UnsetType = UNSET


class OutputStylePrompt(Camel):
    """A style's name and rules."""

    name: str | UnsetType = UNSET
    prompt: str | None | UnsetType = UNSET


class OutputStyleInstructions(AttachmentBase, tag="output_style_instructions"):
    """The rules of the style in which to answer."""

    style: OutputStylePrompt | None | UnsetType = UNSET


class LanguageAttachment(AttachmentBase, tag="language"):
    """The language in which to answer."""

    language: str | None | UnsetType = UNSET


class RemoteSessionChange(AttachmentBase, tag="remote_session_change"):
    """Where the session can be seen from elsewhere, and how to sign commits and pull requests."""

    url: str | None | UnsetType = UNSET
    commit: str | None | UnsetType = UNSET
    pr: str | None | UnsetType = UNSET
    send_user_file_hint: bool | UnsetType = UNSET
    managed_commit: bool | UnsetType = UNSET
    managed_pr: bool | UnsetType = UNSET


class CredentialOrg(AttachmentBase, tag="credential_org"):
    """The organization that the session is charged to; private."""

    organization_uuid: str | None | UnsetType = UNSET


class CompanionIntro(AttachmentBase, tag="companion_intro"):
    """The pet beside the prompt introduces itself."""

    name: str | UnsetType = UNSET
    species: str | None | UnsetType = UNSET

"""What surrounds the conversation: plugins, commands, files, the store, a fresh start, losses at the end."""

from __future__ import annotations

from turnlog.messages.base import UNSET, OpenEnum, Raw, Snake, UnsetType, field
from turnlog.messages.control.requests import SlashCommand
from turnlog.messages.options import SessionKey
from turnlog.messages.sdk.base import SystemMessage, TypedMessage


class PluginInstallStatus(OpenEnum):
    """How far the installation of plugins has come."""

    STARTED = "started"
    INSTALLED = "installed"
    FAILED = "failed"
    COMPLETED = "completed"


class PluginInstallMessage(SystemMessage, tag="plugin_install"):
    """Plugins are being installed; `name` says which one was, or failed."""

    status: PluginInstallStatus | UnsetType = UNSET
    name: str | UnsetType = UNSET
    error: str | UnsetType = UNSET


class CommandsChangedMessage(SystemMessage, tag="commands_changed"):
    """All commands that there are now."""

    commands: tuple[SlashCommand, ...]


class PersistedFile(Snake):
    """A file that was uploaded."""

    filename: str | UnsetType = UNSET
    file_id: str | UnsetType = UNSET


class FailedFile(Snake):
    """A file that was not uploaded."""

    filename: str | UnsetType = UNSET
    error: str | UnsetType = UNSET


class FilesPersistedEvent(SystemMessage, tag="files_persisted"):
    """Files were uploaded."""

    files: tuple[PersistedFile, ...] | UnsetType = UNSET
    failed: tuple[FailedFile, ...] | UnsetType = UNSET
    processed_at: str | UnsetType = UNSET


class MirrorErrorMessage(SystemMessage, tag="mirror_error"):
    """The host's store failed, and lines were dropped."""

    error: str | UnsetType = UNSET
    key: SessionKey | UnsetType = UNSET


class TranscriptMirrorMessage(TypedMessage, tag="transcript_mirror"):
    """Lines that were added to a session file, for the host's store."""

    file_path: str | UnsetType = field(name="filePath", default=UNSET)
    entries: tuple[Raw, ...] | UnsetType = UNSET
    """`turnlog.decode` gives each a type."""


class ResetTrigger(OpenEnum):
    """What made a conversation start afresh."""

    CLEAR = "clear"
    PLAN_MODE_EXIT = "plan_mode_exit"
    FRESH_SESSION = "fresh_session"
    ONBOARDING = "onboarding"


class ConversationResetMessage(TypedMessage, tag="conversation_reset"):
    """A fresh conversation starts here."""

    new_conversation_id: str | UnsetType = UNSET
    trigger: ResetTrigger | UnsetType = UNSET
    user_message_uuid: str | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET


class CommandState(OpenEnum):
    """How far the program is with a prompt."""

    QUEUED = "queued"
    STARTED = "started"
    COMPLETED = "completed"


class CommandLifecycleMessage(TypedMessage, tag="command_lifecycle"):
    """How far the program is with a prompt that the host gave a name; observed, not documented."""

    command_uuid: str | UnsetType = UNSET
    """The prompt, by the name the host gave it."""
    state: CommandState | UnsetType = UNSET


class WriteErrorCode(OpenEnum):
    """Why nothing could be written: the disk or the quota is full."""

    ENOSPC = "ENOSPC"
    EDQUOT = "EDQUOT"


class LostRecord(OpenEnum):
    """What was not saved."""

    TRANSCRIPT = "transcript"
    GLOBAL_CONFIG = "global_config"


class SessionWritesLostMessage(SystemMessage, tag="session_writes_lost"):
    """The program ended without saving everything."""

    error_code: WriteErrorCode | UnsetType = UNSET
    lost: tuple[LostRecord, ...] | UnsetType = UNSET
    transcript_session_ids: tuple[str, ...] | UnsetType = UNSET

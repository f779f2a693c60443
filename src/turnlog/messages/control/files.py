"""What a host asks about files: reading, completing and restoring them."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, UnsetType
from turnlog.messages.control.base import SnakeRequest


class FileEncoding(OpenEnum):
    """How a file's contents are written into JSON."""

    UTF_8 = "utf-8"
    BASE64 = "base64"


class ReadFileRequest(SnakeRequest, tag="read_file"):
    """Read a file, under the rules of the Read tool."""

    path: str
    max_bytes: int | UnsetType = UNSET
    encoding: FileEncoding | UnsetType = UNSET


class ReadFileReply(Camel):
    """A file's contents."""

    contents: str
    abs_path: str | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET
    encoding: FileEncoding | UnsetType = UNSET
    """Only where the contents are base64."""
    lossy: bool | UnsetType = UNSET


class SeedReadStateRequest(SnakeRequest, tag="seed_read_state"):
    """Tell Claude Code that a file was read already, and when it had last changed."""

    path: str
    mtime: Number


class FileSuggestionsRequest(SnakeRequest, tag="file_suggestions"):
    """Return the files that an @-mention may mean."""

    query: str


class RewindFilesRequest(SnakeRequest, tag="rewind_files"):
    """Restore the files to what they were at a prompt."""

    user_message_id: str
    dry_run: bool | UnsetType = UNSET


class RewindFilesReply(Camel):
    """What restoring the files changed, or would change."""

    can_rewind: bool
    error: str | None | UnsetType = UNSET
    files_changed: tuple[str, ...] | None | UnsetType = UNSET
    insertions: int | None | UnsetType = UNSET
    deletions: int | None | UnsetType = UNSET
    skipped_links: int | None | UnsetType = UNSET


class RegisterRepoRootRequest(SnakeRequest, tag="register_repo_root"):
    """Add a directory to work in, and perhaps read again what it brings."""

    directory: str
    reload_claude_md: bool | UnsetType = UNSET
    reload_plugins: bool | UnsetType = UNSET
    reload_skills: bool | UnsetType = UNSET


class GetWorkspaceDiffRequest(SnakeRequest, tag="get_workspace_diff"):
    """Return what changed in the workspace; its fields are not documented."""

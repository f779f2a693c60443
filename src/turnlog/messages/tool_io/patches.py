"""How a result tells what changed in a file."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, OpenEnum, UnsetType


class PatchHunk(Camel):
    """A run of changed lines with the lines around it, as in a unified diff."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]


class GitDiffStatus(OpenEnum):
    """What git says happened to the file."""

    MODIFIED = "modified"
    ADDED = "added"


class GitDiff(Camel):
    """A file's change against its repository, as remote sessions report it."""

    filename: str
    status: GitDiffStatus | UnsetType = UNSET
    additions: int | UnsetType = UNSET
    deletions: int | UnsetType = UNSET
    changes: int | UnsetType = UNSET
    patch: str | UnsetType = UNSET
    repository: str | None | UnsetType = UNSET

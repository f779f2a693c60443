"""Tools that write files: Write, Edit, MultiEdit and NotebookEdit.

Edit and Write also say whether the user changed the text before accepting it, and keep the file as it was
before; newer versions leave that out of large results (`original_file` is null).
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, OpenEnum, Snake, UnsetType
from turnlog.messages.tool_io.patches import GitDiff, PatchHunk


class WriteInput(Snake):
    """A whole file to write."""

    file_path: str
    content: str | UnsetType = UNSET


class WriteKind(OpenEnum):
    """Whether the file was there before."""

    CREATE = "create"
    UPDATE = "update"


class WriteResult(Camel):
    """A file that was written."""

    type: WriteKind
    file_path: str
    content: str | UnsetType = UNSET
    structured_patch: tuple[PatchHunk, ...] | UnsetType = UNSET
    original_file: str | None | UnsetType = UNSET
    """The file before; null when it was created or not kept."""
    git_diff: GitDiff | UnsetType = UNSET
    user_modified: bool | UnsetType = UNSET
    staged: bool | UnsetType = UNSET
    memdir_stamped: bool | UnsetType = UNSET


class EditInput(Snake):
    """A piece of a file to replace."""

    file_path: str
    old_string: str | UnsetType = UNSET
    new_string: str | UnsetType = UNSET
    replace_all: bool | UnsetType = UNSET


class EditResult(Camel):
    """A file in which a piece was replaced."""

    file_path: str
    old_string: str
    new_string: str
    original_file: str | None | UnsetType = UNSET
    structured_patch: tuple[PatchHunk, ...] | UnsetType = UNSET
    user_modified: bool | UnsetType = UNSET
    replace_all: bool | UnsetType = UNSET
    git_diff: GitDiff | UnsetType = UNSET
    staged: bool | UnsetType = UNSET
    stale_recovered: bool | UnsetType = UNSET
    content_not_in_model_context: bool | UnsetType = UNSET
    memdir_stamped: bool | UnsetType = UNSET


class Replacement(Snake):
    """One of several replacements in the same file."""

    old_string: str | UnsetType = UNSET
    new_string: str | UnsetType = UNSET
    replace_all: bool | UnsetType = UNSET


class MultiEditInput(Snake):
    """Several pieces of a file to replace, in order; version 1 had this tool."""

    file_path: str
    edits: tuple[Replacement, ...] | UnsetType = UNSET


class MultiEditResult(Camel):
    """A file in which several pieces were replaced."""

    file_path: str
    edits: tuple[Replacement, ...]
    original_file_contents: str | None | UnsetType = UNSET
    structured_patch: tuple[PatchHunk, ...] | UnsetType = UNSET
    user_modified: bool | UnsetType = UNSET


class NotebookEditInput(Snake):
    """A notebook cell to replace, insert or delete."""

    notebook_path: str
    cell_id: str | UnsetType = UNSET
    cell_number: int | UnsetType = UNSET
    """How early versions named the cell."""
    new_source: str | UnsetType = UNSET
    cell_type: str | UnsetType = UNSET
    """`code` or `markdown`."""
    edit_mode: str | UnsetType = UNSET
    """`replace`, `insert` or `delete`."""


class NotebookEditResult(Snake):
    """A notebook in which a cell was changed."""

    notebook_path: str
    new_source: str
    old_source: str | UnsetType = UNSET
    cell_id: str | UnsetType = UNSET
    cell_number: int | UnsetType = UNSET
    cell_type: str | UnsetType = UNSET
    language: str | UnsetType = UNSET
    edit_mode: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    original_file: str | None | UnsetType = UNSET
    updated_file: str | None | UnsetType = UNSET

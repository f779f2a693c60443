"""What the editor told: selections, open files and diagnostics."""

from __future__ import annotations

from turnlog.messages.attachments.base import AttachmentBase
from turnlog.messages.base import UNSET, Camel, UnsetType


class DiagnosticPosition(Camel):
    """A place in a file, counted from zero."""

    line: int | UnsetType = UNSET
    character: int | UnsetType = UNSET


class DiagnosticRange(Camel):
    """From where to where a remark applies."""

    start: DiagnosticPosition | UnsetType = UNSET
    end: DiagnosticPosition | UnsetType = UNSET


class Diagnostic(Camel):
    """One remark of a language server."""

    message: str | UnsetType = UNSET
    severity: str | int | None | UnsetType = UNSET
    range: DiagnosticRange | None | UnsetType = UNSET
    source: str | None | UnsetType = UNSET
    code: str | int | None | UnsetType = UNSET


class FileDiagnostics(Camel):
    """The remarks on one file."""

    uri: str | UnsetType = UNSET
    diagnostics: tuple[Diagnostic, ...] | UnsetType = UNSET


class DiagnosticsAttachment(AttachmentBase, tag="diagnostics"):
    """New remarks of the language servers."""

    files: tuple[FileDiagnostics, ...] | UnsetType = UNSET
    is_new: bool | UnsetType = UNSET


class SelectedLinesInIde(AttachmentBase, tag="selected_lines_in_ide"):
    """What is selected in the editor."""

    ide_name: str | None | UnsetType = UNSET
    line_start: int | UnsetType = UNSET
    line_end: int | UnsetType = UNSET
    filename: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    display_path: str | None | UnsetType = UNSET


class SelectedLinesInDiff(AttachmentBase, tag="selected_lines_in_diff"):
    """What is selected in a view of changes."""

    line_count: int | UnsetType = UNSET
    content: str | UnsetType = UNSET
    file_path: str | None | UnsetType = UNSET


class OpenedFileInIde(AttachmentBase, tag="opened_file_in_ide"):
    """The file that is open in the editor."""

    filename: str | UnsetType = UNSET
    display_path: str | None | UnsetType = UNSET

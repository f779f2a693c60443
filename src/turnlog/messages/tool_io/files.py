"""Tools that read, write and search files.

Read has a result for each kind of file. Edit and Write also say whether the user changed the text before
accepting it, and keep the file as it was before; newer versions leave that out of large results
(`original_file` is null).
"""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Number, Open, OpenEnum, Snake, UnknownBlock, UnsetType, field


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


class ReadInput(Snake):
    """A file to read, or a part of it."""

    file_path: str
    offset: int | UnsetType = UNSET
    """The first line, counted from 1."""
    limit: int | UnsetType = UNSET
    pages: str | UnsetType = UNSET
    """A range of a PDF's pages, such as `1-5`."""
    allow_large: bool | UnsetType = UNSET


class NotebookReadInput(Snake):
    """A notebook to read; version 1 had a tool of its own for it."""

    notebook_path: str
    cell_id: str | UnsetType = UNSET


class ArtifactRead(Camel):
    """The published artifact that was read."""

    slug: str
    ver: str | UnsetType = UNSET
    seeded: bool | UnsetType = UNSET


class ReadResultBase(Camel, tag_field="type"):
    """What every result of Read has: a type."""

    type: ClassVar[str]


class TextFile(Camel):
    """Lines of a text file."""

    file_path: str
    content: str
    num_lines: int | UnsetType = UNSET
    start_line: int | UnsetType = UNSET
    total_lines: int | UnsetType = UNSET
    truncated_by_token_cap: bool | UnsetType = UNSET


class ReadTextResult(ReadResultBase, tag="text"):
    """A text file, or a part of it."""

    file: TextFile
    artifact_read: ArtifactRead | None | UnsetType = UNSET


class ImageDimensions(Camel):
    """How large an image is, and how large the model saw it."""

    original_width: int | UnsetType = UNSET
    original_height: int | UnsetType = UNSET
    display_width: int | UnsetType = UNSET
    display_height: int | UnsetType = UNSET


class ImageFile(Camel):
    """An image's bytes."""

    base64: str
    type: str | UnsetType = UNSET
    """The media type, such as `image/png`."""
    original_size: int | UnsetType = UNSET
    dimensions: ImageDimensions | None | UnsetType = UNSET
    file_path: str | UnsetType = UNSET


class ReadImageResult(ReadResultBase, tag="image"):
    """An image."""

    file: ImageFile


class NotebookPicture(Snake):
    """A picture that a cell drew."""

    image_data: str
    media_type: str | UnsetType = UNSET


class NotebookOutput(Snake):
    """Something that a cell printed or drew."""

    output_type: str
    text: str | UnsetType = UNSET
    image: NotebookPicture | UnsetType = UNSET


class NotebookCell(Snake):
    """A cell of a notebook."""

    cell_type: str | UnsetType = field(name="cellType", default=UNSET)
    """`code` or `markdown`."""
    source: str
    cell_id: str | UnsetType = UNSET
    cell: int | UnsetType = UNSET
    """How early versions numbered the cell."""
    execution_count: int | None | UnsetType = UNSET
    language: str | UnsetType = UNSET
    outputs: tuple[NotebookOutput, ...] | UnsetType = UNSET


class NotebookFile(Camel):
    """A notebook's cells."""

    file_path: str
    cells: tuple[NotebookCell, ...]


class ReadNotebookResult(ReadResultBase, tag="notebook"):
    """A notebook."""

    file: NotebookFile


class PdfFile(Camel):
    """A PDF's bytes."""

    file_path: str
    base64: str
    original_size: int | UnsetType = UNSET


class ReadPdfResult(ReadResultBase, tag="pdf"):
    """A PDF that was read whole."""

    file: PdfFile


class PdfPartsFile(Camel):
    """A PDF that was split into pictures of its pages."""

    file_path: str
    original_size: int | UnsetType = UNSET
    count: int | UnsetType = UNSET
    output_dir: str | UnsetType = UNSET


class PageImage(Camel):
    """A picture of a page."""

    base64: str
    media_type: str | UnsetType = UNSET
    error: str | None | UnsetType = UNSET


class ReadPartsResult(ReadResultBase, tag="parts"):
    """Some pages of a PDF, as pictures."""

    file: PdfPartsFile
    first_page: int | UnsetType = UNSET
    pages: tuple[PageImage, ...] | None | UnsetType = UNSET


class UnchangedFile(Camel):
    """A file that the model has seen already."""

    file_path: str


class ReadUnchangedResult(ReadResultBase, tag="file_unchanged"):
    """A file that has not changed since it was last read."""

    file: UnchangedFile
    source: str | UnsetType = UNSET


ReadResult = Open[
    ReadTextResult
    | ReadImageResult
    | ReadNotebookResult
    | ReadPdfResult
    | ReadPartsResult
    | ReadUnchangedResult,
    UnknownBlock,
]


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


class GlobInput(Snake):
    """A pattern of file names."""

    pattern: str
    path: str | UnsetType = UNSET


class GlobResult(Camel):
    """The files whose names fit a pattern."""

    filenames: tuple[str, ...]
    num_files: int | UnsetType = UNSET
    duration_ms: Number
    truncated: bool | UnsetType = UNSET
    total_matches: int | UnsetType = UNSET
    count_is_complete: bool | UnsetType = UNSET
    timed_out: bool | UnsetType = UNSET


class GrepInput(Snake):
    """A regular expression to look for, with ripgrep's options."""

    pattern: str
    path: str | UnsetType = UNSET
    glob: str | UnsetType = UNSET
    include: str | UnsetType = UNSET
    """How early versions spelled `glob`."""
    type: str | UnsetType = UNSET
    output_mode: str | UnsetType = UNSET
    """`content`, `files_with_matches` or `count`."""
    lines_before: int | UnsetType = field(name="-B", default=UNSET)
    lines_after: int | UnsetType = field(name="-A", default=UNSET)
    lines_around: int | UnsetType = field(name="-C", default=UNSET)
    context: int | UnsetType = UNSET
    line_numbers: bool | UnsetType = field(name="-n", default=UNSET)
    ignore_case: bool | UnsetType = field(name="-i", default=UNSET)
    only_matching: bool | UnsetType = field(name="-o", default=UNSET)
    head_limit: int | UnsetType = UNSET
    offset: int | UnsetType = UNSET
    multiline: bool | UnsetType = UNSET


class GrepMode(OpenEnum):
    """What a search lists."""

    CONTENT = "content"
    FILES_WITH_MATCHES = "files_with_matches"
    COUNT = "count"


class GrepResult(Camel):
    """What a search found: lines in `content`, or the files that hold them."""

    mode: GrepMode | UnsetType = UNSET
    num_files: int
    filenames: tuple[str, ...]
    content: str | UnsetType = UNSET
    num_lines: int | UnsetType = UNSET
    num_matches: int | UnsetType = UNSET
    total_files: int | UnsetType = UNSET
    total_lines: int | UnsetType = UNSET
    applied_limit: int | UnsetType = UNSET
    applied_offset: int | UnsetType = UNSET
    timed_out: bool | UnsetType = UNSET


class LSInput(Snake):
    """A folder to list; version 1 had this tool, and its result is text."""

    path: str
    ignore: tuple[str, ...] | UnsetType = UNSET


class LSPInput(Camel):
    """A question to a language server about a place in a file."""

    operation: str
    """`goToDefinition`, `findReferences`, `hover`, `documentSymbol`, `workspaceSymbol` and the like."""
    file_path: str | UnsetType = UNSET
    line: int | UnsetType = UNSET
    character: int | UnsetType = UNSET
    query: str | UnsetType = UNSET


class LSPResult(Camel):
    """A language server's answer, put into words."""

    operation: str
    result: str | UnsetType = UNSET
    file_path: str | UnsetType = UNSET
    result_count: int | UnsetType = UNSET
    file_count: int | UnsetType = UNSET

"""Tools that look for files and code: Glob, Grep, LS and LSP."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, Snake, UnsetType, field


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
